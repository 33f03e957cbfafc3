/* reference.c - the loop of the paper's Listing 1. In: codes already widened to 16 bits, tokens
 * back to back, and a table of (offset << 16 | length). Out: the tokens in the codes' order.
 *
 * As the paper describes it: unrolled four times, sixteen bytes copied whatever the length, the
 * output advanced by the true length. It trusts its input and writes up to 16 bytes too many. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

struct fp_reference {
    uint64_t *table; /* one entry per code */
    uint8_t *tokens; /* back to back, readable 16 bytes beyond the last */
};

fp_reference *fp_reference_open(const uint8_t (*cells)[16], const uint8_t *lengths,
                                uint32_t count) {
    fp_reference *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->table = malloc((size_t)count * sizeof *made->table);
    made->tokens = calloc((size_t)count + 1, 16);
    if (!made->table || !made->tokens) {
        fp_reference_close(made);
        return NULL;
    }
    uint64_t offset = 0;
    for (uint32_t code = 0; code < count; code++) {
        made->table[code] = offset << 16 | lengths[code];
        memcpy(made->tokens + offset, cells[code], lengths[code]);
        offset += lengths[code];
    }
    return made;
}

void fp_reference_close(fp_reference *reference) {
    if (!reference) return;
    free(reference->table);
    free(reference->tokens);
    free(reference);
}

static inline uint8_t *copy_token(const uint64_t *table, const uint8_t *tokens, uint16_t code,
                                  uint8_t *out) {
    uint64_t entry = table[code];
    memcpy(out, tokens + (entry >> 16), 16);
    return out + (entry & 0xffff);
}

uint64_t fp_reference_decode(const fp_reference *reference, const uint16_t *codes, uint64_t count,
                             uint8_t *out) {
    const uint64_t *table = reference->table;
    const uint8_t *tokens = reference->tokens;
    uint8_t *cursor = out;
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        cursor = copy_token(table, tokens, codes[i], cursor);
        cursor = copy_token(table, tokens, codes[i + 1], cursor);
        cursor = copy_token(table, tokens, codes[i + 2], cursor);
        cursor = copy_token(table, tokens, codes[i + 3], cursor);
    }
    for (; i < count; i++) cursor = copy_token(table, tokens, codes[i], cursor);
    return (uint64_t)(cursor - out);
}
