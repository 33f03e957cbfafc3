/* trie_onpair.c - making and growing the structure of trie_onpair.h. In: tokens, one at a time.
 * Out: their ids. The trick: a new token becomes the answer of every node below it that had a
 * shorter one. A node's answer is never shorter than its parent's, so the walk over the nodes below
 * stops early. Refuses nothing but a lack of memory; the caller sees to it that no more than
 * `capacity` tokens come. */
#include "trie_onpair.h"

#include <string.h>

static uint32_t log2_ceiling(uint64_t value) {
    uint32_t bits = 0;
    while (1ull << bits < value) bits++;
    return bits;
}

fastpair_status fp_trie_open(fp_trie *trie, fp_tokens *tokens, uint32_t capacity,
                             const fastpair_allocator *allocator, fastpair_error *error) {
    /* A token needs at most three nodes and one end, so neither table gets fuller than three
     * quarters. */
    uint32_t node_bits = log2_ceiling(4ull * capacity), end_bits = log2_ceiling(2ull * capacity);
    *trie = (fp_trie){.tokens = tokens,
                      .node_shift = 64 - node_bits,
                      .node_mask = (1u << node_bits) - 1,
                      .end_shift = FP_TRIE_END_BITS - end_bits,
                      .end_mask = (1u << end_bits) - 1};
    trie->roots = fp_allocate(allocator, 65536, sizeof *trie->roots);
    trie->nodes = fp_allocate_zero(allocator, 1ull << node_bits, sizeof *trie->nodes);
    trie->links = fp_allocate(allocator, 1ull << node_bits, sizeof *trie->links);
    trie->ends = fp_allocate_zero(allocator, 1ull << end_bits, sizeof *trie->ends);
    fastpair_status status = FASTPAIR_OK;
    if (!trie->roots || !trie->nodes || !trie->links || !trie->ends)
        status = fp_fail_memory(error, (sizeof *trie->nodes + sizeof *trie->links) << node_bits);
    if (!status && tokens->max_token > FP_SHORT_TOKEN) {
        trie->stubs = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *trie->stubs);
        status = trie->stubs ? fp_long_trie_open(&trie->long_trie, tokens->cells, tokens->stride,
                                                 capacity, allocator, error)
                             : fp_fail_memory(error, FP_MAX_TOKENS * sizeof *trie->stubs);
    }
    if (status) {
        fp_trie_close(trie, allocator);
        return status;
    }
    for (uint32_t pair = 0; pair < 65536; pair++)
        trie->roots[pair] = (fp_trie_root){.best = (uint16_t)(pair & 0xff), .best_length = 1};
    return FASTPAIR_OK;
}

void fp_trie_close(fp_trie *trie, const fastpair_allocator *allocator) {
    fp_release(allocator, trie->roots);
    fp_release(allocator, trie->nodes);
    fp_release(allocator, trie->links);
    fp_release(allocator, trie->ends);
    fp_release(allocator, trie->stubs);
    fp_long_trie_close(&trie->long_trie, allocator);
    *trie = (fp_trie){0};
}

/* What a node or root has of the nodes below it. */
typedef struct children {
    uint32_t *first;
    uint64_t *below;
} children;

/* Makes the node of the first `depth` of these bytes, whose key is low and high, and hangs it below
 * its parent. */
static fp_trie_node *add_node(fp_trie *trie, uint64_t low, uint32_t high, uint32_t depth,
                              const uint8_t bytes[16], children parent) {
    fp_match best = fp_trie_match_short(trie, bytes, depth); /* while the node does not exist */
    uint32_t slot = (uint32_t)(fp_trie_hash_node(low, high, depth) >> trie->node_shift);
    while (trie->nodes[slot].depth) slot = (slot + 1) & trie->node_mask;
    trie->nodes[slot] = (fp_trie_node){.key_low = low,
                                       .key_high = high,
                                       .best = (uint16_t)best.id,
                                       .best_length = (uint8_t)best.length,
                                       .depth = (uint8_t)depth};
    trie->links[slot] = (fp_trie_links){0, *parent.first};
    *parent.first = slot + 1;
    *parent.below |= fp_trie_below_bit(depth == 4   ? (uint32_t)low >> 16
                                       : depth == 8 ? (uint32_t)(low >> 32)
                                                    : high);
    return &trie->nodes[slot];
}

/* Makes token `id` the answer of all nodes in the list, and below them, that begin with its bytes
 * and had a shorter answer. */
static void tell_below(fp_trie *trie, uint32_t list, uint32_t id, uint32_t length, uint64_t low,
                       uint64_t high) {
    const uint64_t low_mask = length >= 8 ? ~0ull : (1ull << 8 * length) - 1;
    const uint64_t high_mask = length <= 8 ? 0 : ~0ull >> 8 * (16 - length);
    while (list) {
        fp_trie_node *node = &trie->nodes[list - 1];
        const fp_trie_links *links = &trie->links[list - 1];
        list = links->next_sibling;
        if (node->best_length >= length) continue;
        if (((node->key_low ^ low) & low_mask) | ((node->key_high ^ high) & high_mask)) continue;
        node->best = (uint16_t)id;
        node->best_length = (uint8_t)length;
        /* There are but three levels. */
        tell_below(trie, links->first_child, id, length, low, high);
    }
}

static inline uint32_t next_depth(uint32_t depth) { return depth == 2 ? 4 : depth + 4; }

/* Puts the first `length` bytes of token `id` into the tables; 2..16. */
static void insert_short(fp_trie *trie, uint32_t id, uint32_t length) {
    const uint8_t *bytes = fp_token(trie->tokens, id);
    const uint64_t low = fp_load64(bytes), high = fp_load64(bytes + 8);
    fp_trie_root *root = &trie->roots[low & 0xffff];
    fp_trie_node *node = NULL;
    uint32_t depth = 2;
    children parent = {&root->first_child, &root->below};
    while (depth < 12 && next_depth(depth) <= length) {
        depth = next_depth(depth);
        uint64_t node_low = depth == 4 ? low & 0xffffffffu : low;
        uint32_t node_high = depth == 12 ? (uint32_t)high : 0;
        node = fp_trie_find(trie, node_low, node_high, depth);
        if (!node) node = add_node(trie, node_low, node_high, depth, bytes, parent);
        parent = (children){&trie->links[node - trie->nodes].first_child, &node->below};
    }
    if (length > depth) {
        uint32_t name = node ? fp_trie_name(trie, node) : (uint32_t)(low & 0xffff), suffix = 0;
        memcpy(&suffix, bytes + depth, length - depth);
        uint64_t hash = fp_trie_hash_end(name, suffix, length - depth);
        uint32_t slot = (uint32_t)(hash >> trie->end_shift);
        while (trie->ends[slot]) slot = (slot + 1) & trie->end_mask;
        trie->ends[slot] = hash << 16 | id;
        *(node ? &node->ends : &root->ends) |= fp_trie_ends_bit(hash);
    } else if (node) {
        node->best = (uint16_t)id;
        node->best_length = (uint8_t)length;
    } else {
        root->best = (uint16_t)id;
        root->best_length = 2;
    }
    tell_below(trie, *parent.first, id, length, low, high);
}

void fp_trie_insert(fp_trie *trie, uint32_t id) {
    const uint32_t length = trie->tokens->lengths[id];
    if (length < FP_SHORT_TOKEN || !trie->stubs) {
        insert_short(trie, id, length);
        return;
    }
    fp_match known = fp_trie_match_short(trie, fp_token(trie->tokens, id), FP_SHORT_TOKEN);
    if (known.length < FP_SHORT_TOKEN) {
        insert_short(trie, id, FP_SHORT_TOKEN);
        known.id = id;
    }
    uint32_t *stub = &trie->stubs[known.id];
    if (length > FP_SHORT_TOKEN) {
        if (!*stub)
            *stub =
                fp_long_trie_stub(&trie->long_trie, id, known.id == id ? FP_LONG_NONE : known.id);
        fp_long_trie_insert(&trie->long_trie, *stub, id, length, id);
    } else if (*stub) {
        trie->long_trie.nodes[*stub].id = id;
    }
}

fp_match fp_trie_match_long(const fp_trie *trie, fp_match found, const uint8_t *text,
                            uint64_t left) {
    const uint32_t stub = trie->stubs[found.id];
    if (!stub) return found;
    uint32_t id = fp_long_match(&trie->long_trie, stub, text, left);
    if (id == FP_LONG_NONE) return fp_trie_match_short(trie, text, FP_SHORT_TOKEN - 1);
    return (fp_match){id, trie->tokens->lengths[id]};
}

uint32_t fp_trie_add(fp_trie *trie, const uint8_t *bytes, uint32_t length) {
    fp_match known = fp_trie_match(trie, bytes, length);
    if (known.length == length) return known.id;
    uint32_t id = fp_tokens_add(trie->tokens, bytes, length);
    fp_trie_insert(trie, id);
    return id;
}
