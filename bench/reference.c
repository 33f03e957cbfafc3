/* reference.c - the loop of the paper's Listing 1. In: codes already widened to 16 bits, tokens
 * back to back, and a table of (offset << 16 | length). Out: the tokens in the codes' order.
 *
 * As the paper describes it: unrolled four times, sixteen bytes copied whatever the length, the
 * output advanced by the true length. Where tokens are longer than the paper has them, 32 or 64 bytes
 * are copied. It trusts its input and writes up to as many bytes too many. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

struct fp_reference {
    uint64_t *table; /* one entry per code */
    uint8_t *tokens; /* back to back, readable `copied` bytes beyond the last */
    uint32_t copied; /* 16, 32 or 64 */
};

fp_reference *fp_reference_open(const uint8_t (*cells)[64], const uint8_t *lengths,
                                uint32_t count) {
    fp_reference *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->table = malloc((size_t)count * sizeof *made->table);
    made->copied = 16;
    for (uint32_t code = 0; code < count; code++)
        while (lengths[code] > made->copied) made->copied *= 2;
    made->tokens = calloc((size_t)count + 1, made->copied);
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

#define INLINE static inline __attribute__((always_inline))

INLINE uint8_t *copy_token(const uint64_t *table, const uint8_t *tokens, uint16_t code,
                           uint8_t *out, size_t copied) {
    uint64_t entry = table[code];
    memcpy(out, tokens + (entry >> 16), copied);
    return out + (entry & 0xffff);
}

/* `copied` is a constant where this is called. */
INLINE uint64_t decode(const fp_reference *reference, const uint16_t *codes, uint64_t count,
                       uint8_t *out, size_t copied) {
    const uint64_t *table = reference->table;
    const uint8_t *tokens = reference->tokens;
    uint8_t *cursor = out;
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        cursor = copy_token(table, tokens, codes[i], cursor, copied);
        cursor = copy_token(table, tokens, codes[i + 1], cursor, copied);
        cursor = copy_token(table, tokens, codes[i + 2], cursor, copied);
        cursor = copy_token(table, tokens, codes[i + 3], cursor, copied);
    }
    for (; i < count; i++) cursor = copy_token(table, tokens, codes[i], cursor, copied);
    return (uint64_t)(cursor - out);
}

uint64_t fp_reference_decode(const fp_reference *reference, const uint16_t *codes, uint64_t count,
                             uint8_t *out) {
    return reference->copied == 16   ? decode(reference, codes, count, out, 16)
           : reference->copied == 32 ? decode(reference, codes, count, out, 32)
                                     : decode(reference, codes, count, out, 64);
}
