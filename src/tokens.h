/* tokens.h - what training produces: a list of tokens, before they are given code numbers.
 *
 * A token is 1..16 bytes. Its place in the list is its *id*; the number it gets in a file is its
 * *code* (dict.h). Ids 0..255 are always the 256 single bytes, in order, so every byte string can
 * be parsed. */
#ifndef FP_TOKENS_H
#define FP_TOKENS_H

#include "memory.h"

#define FP_MAX_TOKEN  16u
#define FP_MAX_TOKENS 65536u

typedef struct fp_tokens {
    uint32_t count;       /* 256..65536 */
    uint32_t max_token;   /* 8 or 16: no token is longer */
    uint8_t (*bytes)[16]; /* FP_MAX_TOKENS entries are allocated; zero-padded to 16 bytes */
    uint8_t *lengths;     /* FP_MAX_TOKENS entries are allocated */
} fp_tokens;

/* Allocates the arrays and puts in the 256 single bytes. */
fastpair_status fp_tokens_open(fp_tokens *tokens, uint32_t max_token,
                               const fastpair_allocator *allocator, fastpair_error *error);
void fp_tokens_close(fp_tokens *tokens, const fastpair_allocator *allocator);

/* Appends a token and returns its id. The caller has checked that there is room. */
uint32_t fp_tokens_add(fp_tokens *tokens, const uint8_t *bytes, uint32_t length);

#endif
