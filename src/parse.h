/* parse.h - the greedy parse: rows into token ids. */
#ifndef FP_PARSE_H
#define FP_PARSE_H

#include "matcher.h"

/* How far parsers may read past the last byte they are given. */
#define FP_SLACK 32u

/* Parses rows greedily: always takes the longest token that matches and does not cross the row's
 * end. Row i is bytes[offsets[i] .. offsets[i+1]), and bytes is readable for FP_SLACK bytes past
 * the last row. Writes token ids to `ids`, which has room for one id per byte; returns how many
 * were written. The output depends on the rows and tokens alone. */
uint64_t fp_parse_rows(const fp_matcher *matcher, const uint8_t *bytes, const uint64_t *offsets,
                       uint64_t rows, uint16_t *ids);

#endif
