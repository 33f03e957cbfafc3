/* train_prune.h - from more tokens than there is room for to the best that fit; private to OnPair
 * training. */
#ifndef FP_TRAIN_PRUNE_H
#define FP_TRAIN_PRUNE_H

#include "code_space.h"
#include "poll.h"
#include "sample.h"

/* How tokens are judged. */
typedef struct fp_pruning {
    const fp_sample *sample;
    uint64_t parse_bytes; /* of the sample that are parsed in each round, at least */
    uint32_t drop;        /* a round drops at most this part of the tokens, in 1/16 */
    int optimal;          /* rows are parsed into the fewest codes, not greedily */
    const fp_code_space *space;
    fp_poll *poll;
    const fastpair_allocator *allocator;
} fp_pruning;

/* How many learned tokens a code space has room for. */
uint32_t fp_learned_room(const fp_code_space *space);

/* Drops learned tokens until at most `percent` of those that there is room for are left, and those
 * that do not pay for their own bits in the column that the sample is of.
 *
 * With `bits`, which may be NULL, some more are dropped if that makes codes narrower and the file
 * smaller. *bits is what codes and tokens take then if the whole column is parsed as the sample is.
 * `percent` is 100 then. */
fastpair_status fp_train_prune(const fp_pruning *how, uint32_t percent, fp_tokens *tokens,
                               double *bits, fastpair_error *error);

#endif
