/* search_many.h - rows and codes brought together many at a time: which codes a row begins and ends with,
 * and which rows have one of some codes. */
#ifndef FP_SEARCH_MANY_H
#define FP_SEARCH_MANY_H

#include "search_scan_codes.h"
#include "search_spans.h"

/* The codes of a window that belong to a piece, and where bits of its rows go. */
typedef struct fp_many {
    const fp_code_search *search;
    const fp_piece *piece;
    fp_code_window *window;
    fp_row_cursor *rows;
    uint32_t limit; /* codes of the window that belong to the piece */
    uint64_t *bits;
    uint8_t *marks; /* FP_MARK_BYTES; NULL: rows are not marked */
} fp_many;

/* Finds the places of all codes of a window, and UINT32_MAX for what vector loads see after them. */
fastpair_status fp_place_all(const fp_code_search *search, fp_code_window *window,
                             fastpair_error *error);

/* How many bits from .. to are set. */
uint32_t fp_count_range(const fp_code_search *search, const uint64_t *masks, uint32_t from,
                        uint32_t to);

/* Sets the bits of all rows that have, from code `from` of the window on, one of these matches. Changes
 * `spans`. */
fastpair_status fp_pass_many(const fp_many *many, uint32_t from, fp_spans *spans,
                             fastpair_error *error);

/* The same by marks of the bytes that rows begin with. Returns 0, with no bit set, where this cannot be
 * done: rows are empty, or something contradicts. Moves the cursor. */
int fp_pass_marked(const fp_many *many, uint32_t from, const fp_spans *spans);

/* Sets the bits of all rows whose first code has its bit set in `accepting`, and takes the bits of all
 * codes but the first ones of other rows out of `masks`. Both have room for one word more. */
fastpair_status fp_begin_many(const fp_many *many, uint32_t from, const uint64_t *accepting,
                              uint64_t *masks, fastpair_error *error);

/* Codes that bytes begin with, or the next ones after them: places ascend, and all places of the
 * window are known. */
typedef struct fp_place_list {
    const uint64_t *places;
    uint32_t count;
    uint16_t *codes;
} fp_place_list;
void fp_find_codes(const fp_code_search *search, const fp_code_window *window, uint32_t from,
                   const fp_place_list *list);

/* Rows that end with codes ends[0 .. count); the first begins with code `from`, and each other where
 * the one before it ends. Bits are set from bit `row` on. */
typedef struct fp_row_ends {
    const uint16_t *ends;
    uint32_t count, from;
    uint64_t row;
} fp_row_ends;

/* Codes from .. to, the first of which belongs to the row of bit `row`. */
typedef struct fp_row_range {
    uint32_t from, to;
    uint64_t row;
} fp_row_range;

/* Ones for those of the codes 64 * i .. 64 * (i + 1) that are among these. */
static inline uint64_t fp_range_in_word(const fp_row_range *rows, uint32_t i) {
    uint64_t here = rows->to - i * 64 < 64 ? (1ull << rows->to % 64) - 1 : UINT64_MAX;
    return i * 64 < rows->from ? here >> rows->from % 64 << rows->from % 64 : here;
}

/* The codes of word `i` with which a match begins that no row's end cuts. */
static inline uint64_t fp_whole_matches(const fp_spans *spans, const uint64_t *ends, uint32_t i) {
    uint64_t found = spans->begin[0][i], cut = ends[i];
    for (uint32_t n = 1; n < spans->longest; n++) {
        found |= spans->begin[n][i] & ~cut;
        cut |= ends[i] >> n | ends[i + 1] << (64 - n);
    }
    return found;
}

/* Codes of a window whose first bytes are marked, a bit each; and the first byte of every 64th code, and
 * the byte after the last code. */
typedef struct fp_marked {
    uint64_t starts[FP_WINDOW_WORDS + 2];
    uint32_t places[FP_WINDOW_WORDS + 1];
} fp_marked;

#if defined(__x86_64__)
/* Unpacks the first blocks of 32 codes of a window; returns how many. */
uint32_t fp_unpack_blocks_avx512(fp_code_window *window, uint32_t *highest);
void fp_find_codes_avx512(const fp_code_window *window, uint32_t from, const fp_place_list *list);
void fp_set_rows_avx512(const fp_row_ends *rows, const uint64_t *masks, uint32_t words,
                        uint64_t *bits);
/* Finds the codes whose first bytes have bits in `marks`, where bit 0 is the first byte of the window.
 * `of_code` are the lengths of the codes' tokens; NULL: search->length_of_class has them. */
void fp_find_marked_avx512(const fp_code_search *search, fp_code_window *window,
                           const uint8_t *of_code, const uint8_t *marks, fp_marked *marked);
/* Sets bits of rows from bit rows->row on: those of codes rows->from .. to. ends[] has the bits of
 * rows' last codes. Returns whether the codes after the last of these match. */
int fp_join_rows_avx512(const fp_spans *spans, const uint64_t *ends, const fp_row_range *rows,
                        uint64_t *bits);
uint32_t fp_count_range_avx512(const uint64_t *masks, uint32_t from, uint32_t to);
/* Places of codes from .. to, both multiples of 32, the first of which begins at byte `place`. Returns
 * where the last ends. */
uint32_t fp_place_codes_avx512(const fp_code_search *search, fp_code_window *window, uint32_t from,
                               uint32_t to, uint32_t place);
#endif

#endif
