/* parse_optimal.h - the parse into the fewest codes. */
#ifndef FP_PARSE_OPTIMAL_H
#define FP_PARSE_OPTIMAL_H

#include "matcher.h"

/* Bytes that are parsed at a time. No token crosses a multiple of them from a row's start. */
#define FP_OPTIMAL_BLOCK 32768u

/* What a parse needs of memory. */
typedef struct fp_optimal_scratch {
    uint16_t ids[FP_OPTIMAL_BLOCK];       /* by position: the longest match, then the best */
    uint16_t costs[FP_OPTIMAL_BLOCK + 1]; /* by position: codes from there to the end */
} fp_optimal_scratch;

/* Parses rows as fp_parse_rows does (parse.h), but into the fewest codes. Of two tokens that lead to
 * equally many the longer one is taken. */
uint64_t fp_parse_rows_optimal(const fp_matcher *matcher, const uint8_t *bytes,
                               const uint64_t *offsets, uint64_t rows, fp_optimal_scratch *scratch,
                               uint16_t *ids);

#endif
