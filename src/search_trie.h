/* search_trie.h - patterns as a trie, for equals, starts with, ends with and contains. */
#ifndef FP_SEARCH_TRIE_H
#define FP_SEARCH_TRIE_H

#include "search_automaton.h"

/* Patterns that a row is compared with, and how. */
typedef struct fp_pattern_set {
    const fastpair_pattern *patterns;
    uint64_t count;
    uint64_t bytes;     /* of all patterns together */
    int anywhere;       /* a match may begin anywhere in the row, not at its start alone */
    int anything_after; /* a match need not end where the row does */
    int ignore_case;
} fp_pattern_set;

/* A trie whose root is node 0. It is kept only where no automaton of FP_MOST_STATES can hold the
 * patterns: one step of it costs a walk over siblings. */
typedef struct fp_pattern_trie {
    uint32_t nodes; /* 0: there is no trie */
    int anywhere, anything_after, ignore_case;
    uint32_t *child, *sibling; /* 0: none */
    uint32_t *fallback;        /* the node of the longest proper suffix; NULL unless `anywhere` */
    uint8_t *byte;             /* that leads here from the parent */
    uint8_t *ends;             /* 1: a pattern ends here, or, if `anywhere`, at a suffix of it */
    uint32_t *order;           /* nodes, parents first */
} fp_pattern_trie;

/* Makes the automaton, or, where it would be too large, the trie alone: then automaton->next is
 * NULL. */
fastpair_status fp_pattern_trie_build(const fp_pattern_set *set,
                                      const fastpair_allocator *allocator, fp_pattern_trie *trie,
                                      fp_automaton *automaton, fastpair_error *error);
void fp_pattern_trie_close(fp_pattern_trie *trie, const fastpair_allocator *allocator);

/* The node after a byte from node `node`, or FP_NO_STATE, which is never left and never matches. A
 * node whose pattern ends is not left if anything may come after. */
uint32_t fp_pattern_trie_step(const fp_pattern_trie *trie, uint32_t node, uint8_t byte);

/* Whether a row matches that ends in this node. */
static inline int fp_pattern_trie_accepts(const fp_pattern_trie *trie, uint32_t node) {
    return node != FP_NO_STATE && trie->ends[node];
}

#endif
