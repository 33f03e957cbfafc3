/* search_like.h - patterns of SQL's LIKE as an automaton. */
#ifndef FP_SEARCH_LIKE_H
#define FP_SEARCH_LIKE_H

#include "search_automaton.h"

typedef struct fp_like_set {
    const fastpair_pattern *patterns;
    uint64_t count;
    uint64_t bytes; /* of all patterns together */
    int escape;     /* a byte, or -1 */
    int ignore_case;
} fp_like_set;

/* The bytes that every row which matches a pattern begins with, up to the first % or _: *size of
 * them are written to `bytes`, which has room for the pattern. Returns 1 if they are the whole
 * pattern. The pattern must be well formed. */
int fp_like_prefix(const fastpair_pattern *pattern, int escape, uint8_t *bytes, uint64_t *size);

/* Makes the automaton of rows that match one of the patterns. Statuses: INVALID_ARGUMENT for an
 * escape before anything that it cannot stand before, LIMIT for more than FP_MOST_STATES states. */
fastpair_status fp_like_build(const fp_like_set *set, const fastpair_allocator *allocator,
                              fp_automaton *automaton, fastpair_error *error);

#endif
