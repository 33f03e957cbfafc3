/* matcher.h - longest match over a fixed set of tokens, and the greedy parse built on it. */
#ifndef FP_MATCHER_H
#define FP_MATCHER_H

#include "tokens.h"

/* Immutable once made; threads may share it. */
typedef struct fp_matcher fp_matcher;

/* Builds the search structure for all tokens; nothing of `tokens` is kept. */
fastpair_status fp_matcher_create(const fp_tokens *tokens, const fastpair_allocator *allocator,
                                  fp_matcher **matcher, fastpair_error *error);
void fp_matcher_free(fp_matcher *matcher, const fastpair_allocator *allocator);

/* Parses rows greedily, always taking the longest token that matches and does not cross the row's end. Row i is
 * bytes[offsets[i] .. offsets[i+1]), and bytes is readable for FP_SLACK bytes behind the last row. Writes token
 * ids to `ids`, which has room for one id a byte; returns how many were written. Output depends on the
 * rows and tokens alone. */
uint64_t fp_parse_rows(const fp_matcher *matcher, const uint8_t *bytes, const uint64_t *offsets,
                       uint64_t rows, uint16_t *ids);

#endif
