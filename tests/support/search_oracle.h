/* search_oracle.h - what a predicate is for a row, the slow way, and predicates to try. Shares nothing
 * with the library: substrings are found by comparing bytes, LIKE by trying all ways. */
#ifndef FP_TESTS_SEARCH_ORACLE_H
#define FP_TESTS_SEARCH_ORACLE_H

#include "fastpair.h"

typedef enum oracle_truth { ORACLE_FALSE, ORACLE_TRUE, ORACLE_NULL } oracle_truth;

/* `row` is NULL for a null row. */
oracle_truth oracle_evaluate(const fastpair_predicate *predicate, const uint8_t *row,
                             uint64_t size);

/* A predicate with all its memory. */
typedef struct trial {
    fastpair_predicate predicate;
    char name[160]; /* of its root, for failure messages */
} trial;

/* Rows to take patterns from. */
typedef struct trial_rows {
    const uint8_t *bytes;
    const uint64_t *offsets;
    uint64_t rows;
} trial_rows;

/* Makes a predicate: patterns cut from rows, changed, repeated or random; a tree of up to `depth`
 * levels. */
void trial_make(trial *t, const trial_rows *rows, uint32_t depth, uint64_t *random);
void trial_free(trial *t);

/* One predicate with one pattern. */
static inline fastpair_predicate one_pattern(fastpair_predicate_kind kind,
                                             const fastpair_pattern *pattern) {
    fastpair_predicate p = {0};
    p.struct_size = sizeof p;
    p.kind = kind;
    p.patterns = pattern;
    p.pattern_count = 1;
    return p;
}

#endif
