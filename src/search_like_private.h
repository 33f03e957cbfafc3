/* search_like_private.h - patterns of LIKE as positions, and sets of them: what the files that build
 * automata for LIKE share. */
#ifndef FP_SEARCH_LIKE_PRIVATE_H
#define FP_SEARCH_LIKE_PRIVATE_H

#include "search_like.h"

/* An element of a pattern: a byte 0..255 that stands for itself, or one of these. */
enum { FP_LIKE_CHARACTER = 256, FP_LIKE_ANYTHING, FP_LIKE_END };

/* Patterns back to back; each ends with FP_LIKE_END. */
typedef struct fp_like {
    uint16_t *elements;
    uint32_t *pattern_of; /* the number of each element's pattern */
    uint32_t count;
    int has_character; /* there is an _ */
} fp_like;

/* How far the character is that a row is in the middle of: what UTF-8 still wants. 0 is between
 * characters. */
typedef uint32_t fp_like_utf8;

/* An item is a position in the patterns and a guess about the character that the row is in the
 * middle of, which its last byte will decide. FP_LIKE_WHOLE: it is one character. FP_LIKE_SPLIT: it
 * is none, so each of its bytes counts as one. FP_LIKE_INSIDE: as FP_LIKE_WHOLE, and the _ of the
 * position is that character. Between characters all are FP_LIKE_WHOLE. */
enum { FP_LIKE_WHOLE, FP_LIKE_SPLIT, FP_LIKE_INSIDE, FP_LIKE_GUESSES };

static inline uint32_t fp_like_item(uint32_t position, uint32_t guess) {
    return position * FP_LIKE_GUESSES + guess;
}

/* Where the row can be in the patterns, and in a character. */
typedef struct fp_like_state {
    fp_like_utf8 utf8;
    uint32_t count;
    uint32_t *items; /* ascending */
} fp_like_state;

/* Bytes that UTF-8 treats alike have one number, below FP_LIKE_UTF8_CLASSES. */
#define FP_LIKE_UTF8_CLASSES 12u
uint32_t fp_like_utf8_class(uint8_t byte);

/* The items after a byte, folded as the patterns are. `to` has room for fp_like_room of them. */
void fp_like_step(const fp_like *like, const fp_like_state *from, uint8_t byte, fp_like_state *to);

/* The items at the start of a row: at most two per pattern. */
void fp_like_begin(const fp_like *like, fp_like_state *to);

/* Items that one step can make from `count`: two guesses, each with the position after a %. */
static inline uint64_t fp_like_room(uint64_t count) { return 4 * count; }

/* Whether a row matches that ends in this state, and whether all rows do that come to it. */
int fp_like_accepts(const fp_like *like, const fp_like_state *state);
int fp_like_accepts_all(const fp_like *like, const fp_like_state *state);

#endif
