/* long_trie.c - the radix trie of long tokens, filled token by token. In: cells. Out: nodes and
 * edges of long_trie.h. The trick: a token makes at most two nodes, one where it leaves what is
 * there and one where it ends; so the room is known from the start. Refuses nothing but a lack of
 * memory. */
#include "long_trie.h"

fastpair_status fp_long_trie_open(fp_long_trie *trie, const uint8_t *cells, uint32_t stride,
                                  uint32_t capacity, const fastpair_allocator *allocator,
                                  fastpair_error *error) {
    /* A token makes a stub at most, and two nodes below it, each with an edge. */
    uint32_t bits = 4;
    while (1ull << bits < 4ull * capacity) bits++;
    *trie = (fp_long_trie){.cells = cells,
                           .stride = stride,
                           .count = 1,
                           .edge_shift = 64 - bits,
                           .edge_mask = (1u << bits) - 1};
    trie->nodes = fp_allocate(allocator, 3ull * capacity + 1, sizeof *trie->nodes);
    trie->edges = fp_allocate_zero(allocator, 1ull << bits, sizeof *trie->edges);
    if (trie->nodes && trie->edges) return FASTPAIR_OK;
    fp_long_trie_close(trie, allocator);
    return fp_fail_memory(error, sizeof *trie->edges << bits);
}

void fp_long_trie_close(fp_long_trie *trie, const fastpair_allocator *allocator) {
    fp_release(allocator, trie->nodes);
    fp_release(allocator, trie->edges);
    *trie = (fp_long_trie){0};
}

static uint32_t add_node(fp_long_trie *trie, uint32_t cell, uint32_t depth, uint32_t id) {
    trie->nodes[trie->count] = (fp_long_node){cell, depth, id};
    return trie->count++;
}

uint32_t fp_long_trie_stub(fp_long_trie *trie, uint32_t cell, uint32_t id) {
    return add_node(trie, cell, FP_SHORT_TOKEN, id);
}

/* Sets the child of a node for a byte, whether it had one or not. */
static void set_child(fp_long_trie *trie, uint32_t parent, uint8_t byte, uint32_t child) {
    const uint64_t key = fp_long_key(parent, byte);
    uint32_t slot = fp_long_home(trie, key);
    while (trie->edges[slot] && trie->edges[slot] >> 32 != key) slot = (slot + 1) & trie->edge_mask;
    trie->edges[slot] = key << 32 | child;
}

void fp_long_trie_insert(fp_long_trie *trie, uint32_t stub, uint32_t cell, uint32_t length,
                         uint32_t id) {
    const uint8_t *bytes = trie->cells + (size_t)cell * trie->stride;
    uint32_t node = stub, depth = FP_SHORT_TOKEN;
    while (depth < length) {
        uint32_t child = fp_long_child(trie, node, bytes[depth]);
        if (!child) {
            set_child(trie, node, bytes[depth], add_node(trie, cell, length, id));
            return;
        }
        const fp_long_node below = trie->nodes[child];
        const uint8_t *label = trie->cells + (size_t)below.token * trie->stride;
        uint32_t common = depth + 1;
        while (common < below.depth && common < length && bytes[common] == label[common]) common++;
        if (common < below.depth) { /* they part here, or the token ends: a node between */
            uint32_t between = add_node(trie, below.token, common, FP_LONG_NONE);
            set_child(trie, node, bytes[depth], between);
            set_child(trie, between, label[common], child);
            child = between;
        }
        node = child;
        depth = common;
    }
    if (trie->nodes[node].id == FP_LONG_NONE) trie->nodes[node].id = id;
}
