/* matcher_long.c - the matcher's tokens of more than 16 bytes. In: sorted ids. Out: a long trie, and
 * which of the sorted ids the other tables need. The trick: tokens that share their first 16 bytes
 * are neighbours in the order, the shortest first. So the first of them stands for all, and what is
 * left of the match where no long one fits is the first itself or its longest prefix. Refuses
 * nothing but a lack of memory. */
#include "matcher_private.h"

fastpair_status fp_matcher_add_long(fp_matcher *matcher, const fp_tokens *tokens, uint32_t *order,
                                    uint32_t *ordered, const fastpair_allocator *allocator,
                                    fastpair_error *error) {
    const uint32_t stride = tokens->stride;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < *ordered; i++) capacity += tokens->lengths[order[i]] > FP_SHORT_TOKEN;
    matcher->long_cells = fp_allocate(allocator, capacity, stride);
    matcher->stubs = fp_allocate_zero(allocator, tokens->count, sizeof *matcher->stubs);
    if (!matcher->long_cells || !matcher->stubs)
        return fp_fail_memory(error, (uint64_t)capacity * stride + tokens->count * 4ull);
    fp_long_trie *trie = &matcher->long_trie;
    fastpair_status status =
        fp_long_trie_open(trie, matcher->long_cells, stride, capacity, allocator, error);
    if (status) return status;

    uint32_t left = 0, first = UINT32_MAX, cell = 0; /* first: of those that share 16 bytes */
    for (uint32_t i = 0; i < *ordered; i++) {
        const uint32_t id = order[i], length = tokens->lengths[id];
        const uint8_t *bytes = fp_token(tokens, id);
        if (length < FP_SHORT_TOKEN || first == UINT32_MAX ||
            memcmp(bytes, fp_token(tokens, first), FP_SHORT_TOKEN) != 0) {
            first = length < FP_SHORT_TOKEN ? UINT32_MAX : id;
            order[left++] = id;
        }
        if (length <= FP_SHORT_TOKEN) continue;
        memcpy(matcher->long_cells + (size_t)cell * stride, bytes, stride);
        uint32_t *stub = &matcher->stubs[first];
        if (!*stub)
            *stub = fp_long_trie_stub(
                trie, cell,
                tokens->lengths[first] == FP_SHORT_TOKEN ? first : matcher->prefix_of[first]);
        fp_long_trie_insert(trie, *stub, cell++, length, id);
    }
    *ordered = left;
    return FASTPAIR_OK;
}
