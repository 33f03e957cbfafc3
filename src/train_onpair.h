/* train_onpair.h - a pass of OnPair training; train_levels.c has the whole. */
#ifndef FP_TRAIN_ONPAIR_H
#define FP_TRAIN_ONPAIR_H

#include "poll.h"
#include "sample.h"
#include "tokens.h"

/* Reads the sample and adds pairs seen often enough to the tokens, until there are `most` besides
 * the single bytes, or as many as a column of this size pays for. */
fastpair_status fp_onpair_pass(const fp_sample *sample, uint32_t most, fp_poll *poll,
                               const fastpair_allocator *allocator, fp_tokens *tokens,
                               fastpair_error *error);

#endif
