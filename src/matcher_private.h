/* matcher_private.h - the matcher's tables. matcher.c and matcher_build.c fill them, parse.c reads
 * them.
 *
 * A *node* is a prefix of tokens: a *stem* of 1, 5, 9 or 13 bytes, or a *fork*, a stem and two
 * bytes more. So every token is a stem, a fork, or a node and one last byte, its *leaf*. A node has
 * an answer: the longest token that the node is or begins with. The longest match of a window, the
 * next 16 bytes of a row, takes three steps. No step searches or branches:
 *   1. the longest stem that the window begins with; each stem length has a hash table;
 *   2. whether this stem and the next two bytes are a fork; one hash table for all;
 *   3. whether this node and the next byte make a leaf; if not, the match is the node's answer.
 * Why the longest stem is the right one: the tables hold only stems of tokens at most three bytes
 * longer. A window that begins with a longer token begins with that token's own, longer stem.
 *
 * Hash tables are perfect: a key is in its one slot or nowhere. Leaves need no hash: nodes are
 * numbered so that `number + last byte` is a different place for every leaf.
 *
 * Tokens of more than 16 bytes are in these tables with their first 16, a *stub*, which is a leaf
 * with the id of the first of them. A fourth step finds their rest in a long trie. */
#ifndef FP_MATCHER_PRIVATE_H
#define FP_MATCHER_PRIVATE_H

#include "long_trie.h"
#include "matcher.h"

/* A perfect hash. The top bits of a key's hash say its bucket. Each bucket has a multiplier, found
 * when the table was made, with which all keys of all buckets get different slots. Slot 0 is for
 * key 0 alone, whose hash is 0. */
typedef struct fp_slots {
    uint16_t *multipliers;
    uint32_t bucket_shift;
    uint32_t slot_shift;
} fp_slots;

static inline uint64_t fp_slot(const fp_slots *slots, uint64_t hash) {
    return hash * slots->multipliers[hash >> slots->bucket_shift] >> slots->slot_shift;
}

/* The keys of one hash table. */
typedef struct fp_keys {
    uint64_t *hashes;
    uint32_t *slot_of; /* by key: the slot that was found */
    uint32_t count;
} fp_keys;

/* Finds slots for keys by their hashes. *found is 0 if the hashes do not allow it (some are equal,
 * or bad luck): the caller tries other hashes. The multipliers are the caller's to release. */
fastpair_status fp_slots_find(const fp_keys *keys, const fastpair_allocator *allocator,
                              fp_slots *slots, int *found, fastpair_error *error);

static inline uint64_t fp_slots_size(const fp_slots *slots) {
    return 1ull << (64 - slots->slot_shift);
}

/* Numbers nodes. Node i has the leaves bytes[starts[i] .. starts[i+1]), all different, and gets
 * numbers[i]. No two nodes get the same number, and no two leaves the same `number + byte`. Numbers
 * stay below FP_NODE_LIMIT. */
fastpair_status fp_number_nodes(const uint32_t *starts, const uint8_t *bytes, uint32_t nodes,
                                const fastpair_allocator *allocator, uint32_t *numbers,
                                fastpair_error *error);

#define FP_NODE_LIMIT (1u << 21)

/* A hash table. An entry is one word, or two if the key has more than 40 bits: then the first word
 * is bytes 0..7 of the key. The last word has the rest of the key in bits 24..63, and the node
 * below them: for forks its number, for stems four times its number plus the stem's class. */
typedef struct fp_table {
    fp_slots slots;
    uint64_t *entries;
} fp_table;

/* Stems have classes 0..3; their length is 4 * class + 1. Classes 1..3 have tables 1..3. Class 0
 * needs none, so table 0 has the forks. */
#define FP_CLASSES            4u
#define FP_TABLE_WORDS(which) ((which) < 2 ? 1u : 2u)

#define FP_LEAF_NONE (1u << 24) /* in `leaves`: no leaf here */

struct fp_matcher {
    uint32_t longest;      /* token: 1..64 bytes */
    uint64_t factors[2];   /* hash = first word of the key * factors[0] + second * factors[1] */
    uint32_t stems_1[256]; /* by byte: four times its number */
    fp_table tables[FP_CLASSES];
    uint32_t *answers;   /* by node number: id, and the length from bit 16 on */
    uint32_t *leaves;    /* by node number + byte: id, and the byte from bit 16 on */
    uint16_t *prefix_of; /* by id: the longest token that is a proper prefix of this one */
    uint8_t *lengths;    /* by id */
    /* For tokens of more than 16 bytes; NULL without such tokens. */
    fp_long_trie long_trie;
    uint8_t *long_cells; /* the tokens in it */
    uint32_t *stubs;     /* by id of a leaf of 16 bytes: its stub in the long trie; 0: none */
};

/* The id of the longest match, given the id that steps 1 to 3 have found, 16 bytes long. */
static inline uint32_t fp_match_long(const fp_matcher *matcher, uint32_t id, const uint8_t *text,
                                     uint64_t left) {
    const uint32_t stub = matcher->stubs[id];
    return stub ? fp_long_match(&matcher->long_trie, stub, text, left) : id;
}

/* Puts the tokens of more than 16 bytes into the long trie (matcher_long.c). `order` lists ids
 * sorted by bytes, then length, and prefix_of is filled in. What is left in the order are tokens of
 * up to 16 bytes, and one id per stub that is no token. */
fastpair_status fp_matcher_add_long(fp_matcher *matcher, const fp_tokens *tokens, uint32_t *order,
                                    uint32_t *ordered, const fastpair_allocator *allocator,
                                    fastpair_error *error);

/* The bytes of a token that are in the tables. */
static inline uint32_t fp_short_length(uint32_t length) {
    return length < FP_SHORT_TOKEN ? length : FP_SHORT_TOKEN;
}

static inline uint64_t fp_fork_key(uint64_t stem_number, uint64_t two_bytes) {
    return stem_number << 16 | two_bytes;
}

#endif
