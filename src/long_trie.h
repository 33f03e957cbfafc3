/* long_trie.h - tokens of more than 16 bytes, past their first 16. The matcher and the growing trie
 * of training find the first 16 bytes, a *stub*, with their own tables; the rest is found here.
 *
 * In: a stub's node and text. Out: the longest token with that stub that the text begins with. A
 * radix trie per stub: a node is a prefix of tokens where two of them part or one ends. A child is
 * found by a hash of its parent and its first byte. The trick: bytes are compared with a token
 * below the node, so labels take no memory of their own. A match takes at most 48 steps, and
 * mostly one or two. */
#ifndef FP_LONG_TRIE_H
#define FP_LONG_TRIE_H

#include "format.h"
#include "tokens.h"

#define FP_LONG_NONE UINT32_MAX

typedef struct fp_long_node {
    uint32_t token; /* index of a cell that begins with the node's bytes */
    uint32_t depth; /* bytes of the node, the stub's 16 counted */
    uint32_t id;    /* of the token that the node is, or FP_LONG_NONE */
} fp_long_node;

/* All zero is a trie without room. Cells are borrowed from whoever owns the tokens. */
typedef struct fp_long_trie {
    const uint8_t *cells;
    uint32_t stride;
    uint32_t count; /* nodes; node 0 is none */
    fp_long_node *nodes;
    uint64_t *edges; /* a hash table: parent << 8 | byte from bit 32 on, and the child; 0 is free */
    uint32_t edge_shift, edge_mask;
} fp_long_trie;

/* Opens a trie for at most `capacity` tokens. */
fastpair_status fp_long_trie_open(fp_long_trie *trie, const uint8_t *cells, uint32_t stride,
                                  uint32_t capacity, const fastpair_allocator *allocator,
                                  fastpair_error *error);
void fp_long_trie_close(fp_long_trie *trie, const fastpair_allocator *allocator);

/* Makes the node of a stub, the first 16 bytes of the cell; `id` is what fp_long_match answers if no
 * longer token matches. */
uint32_t fp_long_trie_stub(fp_long_trie *trie, uint32_t cell, uint32_t id);

/* Puts in the token of a cell, which has `length` bytes, more than 16, and begins with the stub. */
void fp_long_trie_insert(fp_long_trie *trie, uint32_t stub, uint32_t cell, uint32_t length,
                         uint32_t id);

static inline uint64_t fp_long_key(uint32_t parent, uint8_t byte) {
    return (uint64_t)parent << 8 | byte;
}

static inline uint32_t fp_long_home(const fp_long_trie *trie, uint64_t key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> trie->edge_shift);
}

/* The child of a node whose bytes go on with `byte`; 0 if there is none. */
static inline uint32_t fp_long_child(const fp_long_trie *trie, uint32_t parent, uint8_t byte) {
    const uint64_t key = fp_long_key(parent, byte);
    for (uint32_t slot = fp_long_home(trie, key);; slot = (slot + 1) & trie->edge_mask) {
        uint64_t edge = trie->edges[slot];
        if (edge >> 32 == key || !edge) return (uint32_t)edge;
    }
}

/* Whether text and token are equal from byte `from` up to `to`, given that they are before. `to` is
 * at least 8, so the last word may overlap what is known to be equal. */
static inline int fp_long_equal(const uint8_t *text, const uint8_t *token, uint32_t from,
                                uint32_t to) {
    for (; to - from > 8; from += 8)
        if (fp_load64(text + from) != fp_load64(token + from)) return 0;
    return fp_load64(text + to - 8) == fp_load64(token + to - 8);
}

/* The id of the longest token below a stub that text[0 .. left) begins with, or the stub's own id.
 * The text begins with the stub. */
static inline uint32_t fp_long_match(const fp_long_trie *trie, uint32_t stub, const uint8_t *text,
                                     uint64_t left) {
    uint32_t node = stub, id = trie->nodes[stub].id, depth = FP_SHORT_TOKEN;
    while (depth < left && (node = fp_long_child(trie, node, text[depth]))) {
        const fp_long_node *at = &trie->nodes[node];
        if (at->depth > left ||
            !fp_long_equal(text, trie->cells + (size_t)at->token * trie->stride, depth, at->depth))
            break;
        depth = at->depth;
        if (at->id != FP_LONG_NONE) id = at->id;
    }
    return id;
}

#endif
