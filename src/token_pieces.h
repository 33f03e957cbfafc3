/* token_pieces.h - what stands in for a token where there is none: its *pieces*. */
#ifndef FP_TOKEN_PIECES_H
#define FP_TOKEN_PIECES_H

#include "matcher.h"

/* The pieces of token `id` are ids[first[id] .. first[id + 1]), for ids from 256 on. There are at
 * least two. */
typedef struct fp_token_pieces {
    uint32_t *first;
    uint16_t *ids;
} fp_token_pieces;

/* Finds the pieces of all learned tokens; the matcher is of these tokens. */
fastpair_status fp_token_pieces_open(const fp_tokens *tokens, const fp_matcher *matcher,
                                     const fastpair_allocator *allocator, fp_token_pieces *pieces,
                                     fastpair_error *error);
void fp_token_pieces_close(fp_token_pieces *pieces, const fastpair_allocator *allocator);

static inline uint32_t fp_token_piece_count(const fp_token_pieces *pieces, uint32_t id) {
    return pieces->first[id + 1] - pieces->first[id];
}

#endif
