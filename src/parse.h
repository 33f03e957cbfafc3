/* parse.h - the greedy parse: rows into token ids, and how often each id occurs. */
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

/* The ids of some rows. All zero is an empty one. */
typedef struct fp_parsed {
    uint16_t *ids; /* in row order */
    uint64_t ids_capacity;
    uint64_t codes;   /* how many ids there are */
    uint32_t *counts; /* by id: how often it occurs */
    uint32_t counts_capacity;
    uint32_t counted; /* entries of `counts` in use; 0: whoever needs counts counts the ids */
} fp_parsed;

/* Adds to sums[id] how often each id occurs. */
static inline void fp_parsed_add_counts(const fp_parsed *parsed, uint64_t *sums) {
    if (parsed->counted)
        for (uint32_t id = 0; id < parsed->counted; id++) sums[id] += parsed->counts[id];
    else
        for (uint64_t i = 0; i < parsed->codes; i++) sums[parsed->ids[i]]++;
}

#endif
