/* bounds.h - the smallest and the largest row of a chunk, cut to K bytes (docs/format.md, section
 * 4). Rows compare as strings of unsigned bytes; the beginning of a row is smaller than the row. */
#ifndef FP_BOUNDS_H
#define FP_BOUNDS_H

#include "format.h"
#include "memory.h"

#define FP_MOST_BOUND   64u
#define FP_LEAST_BOUND  8u
#define FP_BOUND_WIDTHS 4u /* K is 8, 16, 32 or 64 */

#define FP_BOUNDS_HEADER     8u
#define FP_BOUNDS_ENTRY_HEAD 8u /* of an entry: flags, two sizes, zero */

/* Flags of an entry. */
#define FP_BOUNDS_HAS_ROW      1u
#define FP_BOUNDS_SMALLEST_CUT 2u
#define FP_BOUNDS_LARGEST_CUT  4u

#define FP_BOUND_WORDS (FP_MOST_BOUND / 8)

/* One of the two: the first bytes of a row and how many it has. */
typedef struct fp_bound {
    uint64_t size; /* of the row; FP_MOST_BOUND + 1 if it has more than FP_MOST_BOUND */
    uint64_t words[FP_BOUND_WORDS]; /* big-endian numbers, zero-padded: they compare as bytes do */
} fp_bound;

/* Of the valid rows seen so far. All zero: none. */
typedef struct fp_bounds {
    int has_row;
    fp_bound smallest, largest;
} fp_bounds;

/* Bytes of a row from `from` on, at most 8, as such a number. from <= size. */
static inline uint64_t fp_bound_word(const uint8_t *row, uint64_t size, uint64_t from) {
    uint64_t left = size - from, word = 0;
    if (left >= 8) return __builtin_bswap64(fp_load64(row + from));
    if (size >= 8)
        return left ? __builtin_bswap64(fp_load64(row + size - 8)) << (64 - 8 * left) : 0;
    for (uint64_t i = 0; i < left; i++) word |= (uint64_t)row[from + i] << (56 - 8 * i);
    return word;
}

/* Below 0 if the row comes before the bound. Most rows are known by their first words. */
static inline int fp_bound_compare(const uint8_t *row, uint64_t size, const fp_bound *bound) {
    uint64_t seen = size > FP_MOST_BOUND ? FP_MOST_BOUND + 1 : size;
    for (uint64_t i = 0; i < FP_BOUND_WORDS && 8 * i <= size; i++) {
        uint64_t word = fp_bound_word(row, size, 8 * i);
        if (word != bound->words[i]) return word < bound->words[i] ? -1 : 1;
    }
    /* One is the beginning of the other, but for bytes of 0. */
    return seen < bound->size ? -1 : seen > bound->size;
}

/* Makes a row the bound. `row` may be NULL if size is 0. */
void fp_bound_set(fp_bound *bound, const uint8_t *row, uint64_t size);

/* Takes a valid row. */
static inline void fp_bounds_add(fp_bounds *bounds, const uint8_t *row, uint64_t size) {
    if (!bounds->has_row || fp_bound_compare(row, size, &bounds->smallest) < 0)
        fp_bound_set(&bounds->smallest, row, size);
    if (!bounds->has_row || fp_bound_compare(row, size, &bounds->largest) > 0)
        fp_bound_set(&bounds->largest, row, size);
    bounds->has_row = 1;
}

/* Takes all rows of another, for a chunk whose rows come in pieces. */
void fp_bounds_merge(fp_bounds *bounds, const fp_bounds *more);

static inline uint64_t fp_bounds_entry_size(uint32_t width) {
    return FP_BOUNDS_ENTRY_HEAD + 2 * (uint64_t)width;
}

/* Bytes of the part for `chunks` chunks with K = width. */
static inline uint64_t fp_bounds_part_size(uint64_t chunks, uint32_t width) {
    return FP_BOUNDS_HEADER + chunks * fp_bounds_entry_size(width);
}

/* The header of the part, 8 bytes. */
void fp_bounds_write_header(uint32_t width, uint8_t *out);

/* An entry of K = width. */
void fp_bounds_write(const fp_bounds *bounds, uint32_t width, uint8_t *out);

/* Sets what is zero in version 1.0 to zero, in an entry. */
static inline void fp_bounds_clear_zero(uint8_t *entry) { memset(entry + 3, 0, 5); }

/* The same for a smaller K: `out` may be `entry`. */
void fp_bounds_narrow(const uint8_t *entry, uint32_t width, uint32_t narrower, uint8_t *out);

/* What is wrong with the part's header, NULL if nothing; *width gets K. `size` is the part's, of
 * which 8 bytes are there. `minor` is that of the file. */
const char *fp_bounds_header_fault(const uint8_t *header, uint64_t size, uint64_t chunks,
                                   uint32_t minor, uint32_t *width);

/* What is wrong with an entry by itself, NULL if nothing. */
const char *fp_bounds_entry_fault(const uint8_t *entry, uint32_t width, uint32_t minor);

/* ---------------------------------------------------------------- the bounds of a file, so far */

/* The part of all chunks so far, for a writer. All zero is none. */
typedef struct fp_bounds_list {
    fp_buffer part; /* room for the header, then entries */
    uint64_t chunks;
    uint32_t width; /* K of the entries; 0: they were given up */
    int is_fixed;   /* the caller said which K */
} fp_bounds_list;

/* Begins a list. `width`: K, or 0 to choose it. */
void fp_bounds_list_begin(fp_bounds_list *list, uint32_t width);

/* Adds a chunk. `file_bytes` have been written. A K that takes more than twice its share of the file
 * is given up at once, so that the list stays small beside the file. */
fastpair_status fp_bounds_list_add(fp_bounds_list *list, const fp_bounds *bounds,
                                   uint64_t file_bytes, const fastpair_allocator *allocator,
                                   fastpair_error *error);

/* Completes list->part: with the largest K with which the part and its entry take at most 0.2 % of
 * `file_bytes`, or with the fixed K. It is empty if there are to be no bounds. */
void fp_bounds_list_finish(fp_bounds_list *list, uint64_t file_bytes);

/* What the part takes in a file at most, with its entry and its gap, if the rest of the file has at
 * most `file_bytes`. (128 bits: a bound of an image may be.) */
unsigned __int128 fp_bounds_most(unsigned __int128 chunks, unsigned __int128 file_bytes,
                                 uint32_t width);

#endif
