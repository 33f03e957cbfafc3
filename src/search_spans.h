/* search_spans.h - matches of a window by how many codes they span. */
#ifndef FP_SEARCH_SPANS_H
#define FP_SEARCH_SPANS_H

#include "search_filter.h"

#include <string.h>

/* Clears all bits of a window's masks but from .. to. */
static inline void fp_keep_range(uint64_t *masks, uint32_t words, uint32_t from, uint32_t to) {
    memset(masks, 0, from / 64 * sizeof *masks);
    masks[from / 64] &= UINT64_MAX << from % 64;
    if (to / 64 < words) masks[to / 64] &= (1ull << to % 64) - 1;
    for (uint32_t i = to / 64 + 1; i < words; i++) masks[i] = 0;
}

/* Codes of the longest match that is found here. */
#define FP_MOST_SPAN 8u

typedef struct fp_spans {
    /* [n]: codes with which a match of n + 1 codes begins, unless a row ends within it. */
    uint64_t begin[FP_MOST_SPAN][FP_WINDOW_WORDS + 1];
    uint32_t longest; /* codes of the longest match here */
    uint32_t found;   /* matches of two codes and more, or of all if begin[0] was not known */
} fp_spans;

/* Runs the automaton from all codes whose bits are set in `masks`, together. begin[0] may be filled
 * before with codes that are not in `masks`; the rest of `spans` is set here. `masks` keeps the codes
 * of which more than the next codes decides. For automata with one state that accepts, and that may
 * begin anywhere. The window has `known` codes, one more than count at most. Returns 0 if a code is
 * not in the dictionary. */
int fp_find_spans(const fp_code_search *search, const fp_code_window *window, uint32_t known,
                  uint64_t *masks, fp_spans *spans);

#if defined(__x86_64__)
/* The numbers of bits that are set, ascending; up to 64 more places are written. */
uint32_t fp_list_bits_avx512(const uint64_t *masks, uint32_t words, uint16_t *list);
/* Adds to begin[n] the bits of all bytes that are n + 1. */
void fp_sort_spans_avx512(const uint8_t *codes, uint32_t words, fp_spans *spans);
#endif

#endif
