/* search_predicate.h - a predicate that was checked: a tree whose leaves have automata. */
#ifndef FP_SEARCH_PREDICATE_H
#define FP_SEARCH_PREDICATE_H

#include "search_like.h"
#include "search_trie.h"

#define FP_MOST_PREDICATE_DEPTH 32u
#define FP_MOST_PREDICATE_NODES 4096u
#define FP_MOST_PATTERN_BYTES   (16ull << 20)

/* Leaves with more patterns than this are not compared with bounds: it would take too long. */
#define FP_MOST_ANCHORS 64u

/* A row can pass a leaf only if it passes one of these tests, which bounds can answer. */
typedef struct fp_anchor {
    fastpair_row_test test;
    uint64_t size;
    uint8_t *bytes;
} fp_anchor;

/* A leaf with patterns. */
typedef struct fp_leaf {
    fp_automaton automaton; /* its `next` is NULL if the patterns are too many for one */
    fp_pattern_trie trie;   /* then this is run; else it is empty */
    uint32_t anchors;       /* 0: bounds say nothing of the leaf */
    fp_anchor *anchor;
    uint8_t *anchor_bytes;
} fp_leaf;

/* Nodes are in the order of the tree: a node's children come right after it. */
typedef struct fp_predicate_node {
    fastpair_predicate_kind kind;
    int negate;
    uint32_t end;  /* the first node after this one and all below it */
    uint32_t leaf; /* of a node with patterns */
} fp_predicate_node;

/* What a predicate is for a row, as SQL has it. */
typedef enum fp_truth { FP_FALSE, FP_TRUE, FP_NULL } fp_truth;

typedef struct fp_predicate {
    uint32_t nodes, leaves;
    fp_predicate_node *node;
    fp_leaf *leaf;
    uint32_t depth;        /* of the tree: 1 for a single leaf */
    fp_truth for_null_row; /* what it is for every row that is null */
} fp_predicate;

/* Checks a predicate and builds its automata. Nothing points to the caller's memory afterwards.
 * Statuses: INVALID_ARGUMENT, LIMIT, OUT_OF_MEMORY. On failure nothing needs to be closed. */
fastpair_status fp_predicate_open(const fastpair_predicate *given,
                                  const fastpair_allocator *allocator, fp_predicate *predicate,
                                  fastpair_error *error);
void fp_predicate_close(fp_predicate *predicate, const fastpair_allocator *allocator);

#endif
