/* train_onpair.h - a pass of OnPair training; train_levels.c has the whole. */
#ifndef FP_TRAIN_ONPAIR_H
#define FP_TRAIN_ONPAIR_H

#include "poll.h"
#include "sample.h"
#include "tokens.h"

/* How many tokens a pass leaves, besides the single bytes. */
typedef struct fp_onpair_quota {
    uint32_t most;
    uint32_t given; /* so many of those that are there do not count as made of pairs */
} fp_onpair_quota;

/* Reads the sample and adds pairs seen often enough to the tokens, until there are as many as the quota
 * has, or as many as a column of this size pays for. */
fastpair_status fp_onpair_pass(const fp_sample *sample, fp_onpair_quota wanted, fp_poll *poll,
                               const fastpair_allocator *allocator, fp_tokens *tokens,
                               fastpair_error *error);

#endif
