/* tokens.c - the list of tokens that training fills. In: byte strings. Out: ids. Refuses nothing
 * but a lack of memory: callers see to it that there is room. */
#include "tokens.h"

fastpair_status fp_tokens_open(fp_tokens *tokens, uint32_t max_token,
                               const fastpair_allocator *allocator, fastpair_error *error) {
    *tokens = (fp_tokens){.max_token = max_token,
                          .stride = max_token > FP_SHORT_TOKEN ? max_token : FP_SHORT_TOKEN};
    tokens->cells = fp_allocate_zero(allocator, FP_MAX_TOKENS, tokens->stride);
    tokens->lengths = fp_allocate_zero(allocator, FP_MAX_TOKENS, 1);
    if (!tokens->cells || !tokens->lengths) {
        uint64_t size = FP_MAX_TOKENS * (tokens->stride + 1ull);
        fp_tokens_close(tokens, allocator);
        return fp_fail_memory(error, size);
    }
    for (uint32_t byte = 0; byte < 256; byte++) fp_tokens_add(tokens, &(uint8_t){(uint8_t)byte}, 1);
    return FASTPAIR_OK;
}

void fp_tokens_close(fp_tokens *tokens, const fastpair_allocator *allocator) {
    fp_release(allocator, tokens->cells);
    fp_release(allocator, tokens->lengths);
    *tokens = (fp_tokens){0};
}

uint32_t fp_tokens_add(fp_tokens *tokens, const uint8_t *bytes, uint32_t length) {
    uint32_t id = tokens->count++;
    memcpy(fp_token(tokens, id), bytes, length);
    tokens->lengths[id] = (uint8_t)length;
    return id;
}

void fp_tokens_cut(fp_tokens *tokens, uint32_t count) {
    memset(fp_token(tokens, count), 0, (size_t)(tokens->count - count) * tokens->stride);
    memset(tokens->lengths + count, 0, tokens->count - count);
    tokens->count = count;
}

void fp_tokens_copy(const fp_tokens *from, fp_tokens *to) {
    fp_tokens_cut(to, 256);
    for (uint32_t id = 256; id < from->count; id++)
        fp_tokens_add(to, fp_token(from, id), from->lengths[id]);
}
