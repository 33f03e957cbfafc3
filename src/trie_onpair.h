/* trie_onpair.h - longest match over a set of tokens that grows while it is searched; private to
 * OnPair training.
 *
 * In: text. Out: the longest token the text begins with. The trick: tokens hang from nodes for
 * prefixes of 2 bytes (a direct table) and of 4, 8 and 12 bytes (a hash table). A node knows the
 * longest token that is a prefix of its own prefix. It has a 64-bit filter of the tokens that end
 * past it and before the next level. So a search finds the deepest node, asks the filter which of
 * the 1..4 lengths there can match, and looks up those few. Adding a token is slower: it must tell
 * the nodes below that there is a longer answer. Tokens of more than 16 bytes are in it with their
 * first 16, under the id of one of them; the rest is in a long trie. */
#ifndef FP_TRIE_ONPAIR_H
#define FP_TRIE_ONPAIR_H

#include "long_trie.h"

/* The node of a 4, 8 or 12 byte prefix. */
typedef struct fp_trie_node {
    uint64_t key_low;  /* the prefix's first 8 bytes, zero-padded */
    uint32_t key_high; /* and its last 4 at depth 12 */
    uint16_t best;     /* the longest token that is a prefix of this prefix */
    uint8_t best_length;
    uint8_t depth;  /* 4, 8 or 12; 0 marks a free slot */
    uint64_t ends;  /* filter: a bit for each token that ends past this depth and before the next */
    uint64_t below; /* filter: a bit for each node one level down */
} fp_trie_node;

/* The lists by which fp_trie_insert reaches the nodes below a node; slot + 1, so that 0 is none. */
typedef struct fp_trie_links {
    uint32_t first_child;
    uint32_t next_sibling;
} fp_trie_links;

/* The node of a 2-byte prefix. */
typedef struct fp_trie_root {
    uint64_t ends;
    uint64_t below;
    uint32_t first_child;
    uint16_t best;
    uint16_t best_length;
} fp_trie_root;

typedef struct fp_trie {
    fp_tokens *tokens;    /* borrowed; fp_trie_add appends to it */
    fp_trie_root *roots;  /* 65536 */
    fp_trie_node *nodes;  /* a hash table by prefix */
    fp_trie_links *links; /* of the nodes, by slot */
    uint64_t *ends; /* a hash table of the tokens in the filters: 48 bits of the hash, then the id;
                     * 0 is free */
    uint32_t node_shift, node_mask;
    uint32_t end_shift, end_mask;
    fp_long_trie long_trie;
    uint32_t *stubs; /* by id of what has 16 bytes here: its node in the long trie, 0 for none; NULL
                      * if no token may be longer */
} fp_trie;

typedef struct fp_match {
    uint32_t id;
    uint32_t length;
} fp_match;

/* Opens the structure for `tokens` (which holds the single bytes only) and at most `capacity`
 * more. */
fastpair_status fp_trie_open(fp_trie *trie, fp_tokens *tokens, uint32_t capacity,
                             const fastpair_allocator *allocator, fastpair_error *error);
void fp_trie_close(fp_trie *trie, const fastpair_allocator *allocator);

/* Puts token `id`, which is in the list and not yet in the structure, into it. */
void fp_trie_insert(fp_trie *trie, uint32_t id);

/* Adds a token of 2 bytes or more, zero-padded to the tokens' stride, and returns its id; or the id
 * it already has. */
uint32_t fp_trie_add(fp_trie *trie, const uint8_t *bytes, uint32_t length);

static inline uint64_t fp_trie_hash_node(uint64_t low, uint32_t high, uint32_t depth) {
    return (low ^ (uint64_t)(high + depth) * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;
}

/* A node's name in fp_trie_hash_end, of 19 bits. A root's name is its two bytes. */
static inline uint32_t fp_trie_name(const fp_trie *trie, const fp_trie_node *node) {
    return 0x10000u + (uint32_t)(node - trie->nodes);
}

/* The hash of a token that ends `more` (1..4) bytes past a node or root; `suffix` is those bytes.
 * The hash is one-to-one in 53 bits. Its highest bits say the slot, which holds its lowest 48 bits.
 * So what is found there is what was asked for, unless it lies thousands of slots from home. */
#define FP_TRIE_END_BITS 53u
static inline uint64_t fp_trie_hash_end(uint32_t name, uint32_t suffix, uint32_t more) {
    uint64_t key = (uint64_t)name << 34 | (uint64_t)(more - 1) << 32 | suffix;
    return key * 0x9e3779b97f4a7c15u & ((1ull << FP_TRIE_END_BITS) - 1);
}

static inline uint64_t fp_trie_ends_bit(uint64_t hash) { return 1ull << (hash >> 30 & 63); }

/* `suffix` is what the prefix of the node below has more than the node's own. */
static inline uint64_t fp_trie_below_bit(uint32_t suffix) {
    return 1ull << (suffix * 0x9e3779b97f4a7c15u >> 58);
}

static inline fp_trie_node *fp_trie_find(const fp_trie *trie, uint64_t low, uint32_t high,
                                         uint32_t depth) {
    uint32_t slot = (uint32_t)(fp_trie_hash_node(low, high, depth) >> trie->node_shift);
    for (;; slot = (slot + 1) & trie->node_mask) {
        fp_trie_node *node = &trie->nodes[slot];
        if (node->key_low == low && node->key_high == high && node->depth == depth) return node;
        if (!node->depth) return NULL;
    }
}

/* The id of the token with this hash, or 0, which is a single byte's. */
static inline uint32_t fp_trie_find_end(const fp_trie *trie, uint64_t hash) {
    for (uint32_t slot = (uint32_t)(hash >> trie->end_shift);; slot = (slot + 1) & trie->end_mask) {
        uint64_t end = trie->ends[slot];
        if (((end >> 16) ^ hash) << 16 == 0 || !end) return end & 0xffff;
    }
}

/* Asks the caches for what fp_trie_match will read at `text`, which is readable for 16 bytes. */
static inline void fp_trie_prefetch(const fp_trie *trie, const uint8_t *text) {
    uint64_t low = fp_load64(text);
    uint32_t high = fp_load32(text + 8);
    __builtin_prefetch(&trie->roots[low & 0xffff]);
    __builtin_prefetch(
        &trie->nodes[fp_trie_hash_node(low & 0xffffffffu, 0, 4) >> trie->node_shift]);
    __builtin_prefetch(&trie->nodes[fp_trie_hash_node(low, 0, 8) >> trie->node_shift]);
    __builtin_prefetch(&trie->nodes[fp_trie_hash_node(low, high, 12) >> trie->node_shift]);
}

/* The longest token of up to 16 bytes, or stub, that text[0 .. left) begins with; left >= 1, and text
 * is readable for 16 bytes. */
static inline fp_match fp_trie_match_short(const fp_trie *trie, const uint8_t *text,
                                           uint64_t left) {
    if (left == 1) return (fp_match){text[0], 1};
    const uint64_t low = fp_load64(text), high = fp_load64(text + 8);
    const uint32_t low_high = (uint32_t)(low >> 32), high_low = (uint32_t)high;
    const fp_trie_root *root = &trie->roots[low & 0xffff];
    const fp_trie_node *node = NULL, *deeper;
    if (left >= 4 && (root->below & fp_trie_below_bit((uint32_t)low >> 16)) &&
        (deeper = fp_trie_find(trie, low & 0xffffffffu, 0, 4))) {
        node = deeper;
        if (left >= 8 && (node->below & fp_trie_below_bit(low_high)) &&
            (deeper = fp_trie_find(trie, low, 0, 8))) {
            node = deeper;
            if (left >= 12 && (node->below & fp_trie_below_bit(high_low)) &&
                (deeper = fp_trie_find(trie, low, high_low, 12)))
                node = deeper;
        }
    }
    uint32_t depth = 2, most = 1, name = (uint32_t)(low & 0xffff), suffix = (uint32_t)(low >> 16);
    uint64_t ends = root->ends;
    fp_match best = {root->best, root->best_length};
    if (node) {
        depth = node->depth;
        most = depth == 12 ? 4 : 3;
        name = fp_trie_name(trie, node);
        suffix = depth == 4 ? low_high : depth == 8 ? high_low : (uint32_t)(high >> 32);
        ends = node->ends;
        best = (fp_match){node->best, node->best_length};
    }
    if (most > left - depth) most = (uint32_t)(left - depth);
    for (uint32_t more = most; more; more--) {
        uint64_t hash = fp_trie_hash_end(name, suffix & 0xffffffffu >> (32 - 8 * more), more);
        uint32_t id = ends & fp_trie_ends_bit(hash) ? fp_trie_find_end(trie, hash) : 0;
        if (id) return (fp_match){id, depth + more};
    }
    return best;
}

/* The longest token, given the one or the stub of 16 bytes that fp_trie_match_short has found. */
fp_match fp_trie_match_long(const fp_trie *trie, fp_match found, const uint8_t *text,
                            uint64_t left);

/* The longest token that text[0 .. left) begins with; the same is asked of `left` and text. */
static inline fp_match fp_trie_match(const fp_trie *trie, const uint8_t *text, uint64_t left) {
    fp_match match = fp_trie_match_short(trie, text, left);
    if (!trie->stubs || match.length < FP_SHORT_TOKEN) return match;
    return fp_trie_match_long(trie, match, text, left);
}

#endif
