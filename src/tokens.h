/* tokens.h - what training produces: a list of tokens, before they are given code numbers.
 *
 * A token is 1..64 bytes. Its place in the list is its *id*; the number it gets in a file is its
 * *code* (dict.h). Ids 0..255 are always the 256 single bytes, in order, so every byte string can
 * be parsed. */
#ifndef FP_TOKENS_H
#define FP_TOKENS_H

#include "memory.h"

#include <string.h>

#define FP_MAX_TOKEN   64u /* the longest token that any codec has */
#define FP_SHORT_TOKEN 16u /* the longest token that is compared as a whole, in two words */
#define FP_MAX_TOKENS  65536u

typedef struct fp_tokens {
    uint32_t count;     /* 256..65536 */
    uint32_t max_token; /* 8, 16, 32 or 64: no token is longer */
    uint32_t stride;    /* bytes of a cell: max_token, and at least FP_SHORT_TOKEN */
    uint8_t *cells;     /* FP_MAX_TOKENS are allocated; tokens are zero-padded to the stride */
    uint8_t *lengths;   /* FP_MAX_TOKENS entries are allocated */
} fp_tokens;

/* The bits that a token takes in the dictionary, about. In a folded one, long tokens take hardly more
 * than short ones. In a cold file the bytes of a token count, though it could have them for less: rare
 * tokens make codes harder to squeeze (docs/lab/training.md has both). */
#define FP_FOLDED_BITS 30u

static inline uint32_t fp_token_bits(uint32_t length, int folds) {
    return folds && 8 * length > FP_FOLDED_BITS ? FP_FOLDED_BITS : 8 * length;
}

/* The cell of a token. */
static inline uint8_t *fp_token(const fp_tokens *tokens, uint32_t id) {
    return tokens->cells + (size_t)id * tokens->stride;
}

/* Copies a token to another id. */
static inline void fp_token_move(fp_tokens *tokens, uint32_t from, uint32_t to) {
    memcpy(fp_token(tokens, to), fp_token(tokens, from), tokens->stride);
    tokens->lengths[to] = tokens->lengths[from];
}

/* Forgets all tokens from id `count` on. */
void fp_tokens_cut(fp_tokens *tokens, uint32_t count);

/* Makes `to`, which has the same longest token, the same tokens. */
void fp_tokens_copy(const fp_tokens *from, fp_tokens *to);

/* Allocates the arrays and puts in the 256 single bytes. */
fastpair_status fp_tokens_open(fp_tokens *tokens, uint32_t max_token,
                               const fastpair_allocator *allocator, fastpair_error *error);
void fp_tokens_close(fp_tokens *tokens, const fastpair_allocator *allocator);

/* Appends a token and returns its id. The caller has checked that there is room. */
uint32_t fp_tokens_add(fp_tokens *tokens, const uint8_t *bytes, uint32_t length);

#endif
