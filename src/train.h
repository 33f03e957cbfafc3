/* train.h - from a sample of rows to tokens.
 *
 * train_levels.c and train_fsst.c have one contract. They fill `tokens` (opened here, closed by the
 * caller) with the 256 single bytes and learned tokens, never more than fp_room_for(space) has room
 * for. They are deterministic, and their cost is bounded by the sample. `poll`, which may be NULL, is
 * asked on the way. */
#ifndef FP_TRAIN_H
#define FP_TRAIN_H

#include "code_space.h"
#include "poll.h"
#include "sample.h"

/* OnPair: greedy passes that merge adjacent tokens seen often enough, and the best of them. */
fastpair_status fp_train_onpair(const fp_sample *sample, const fp_code_space *space, fp_poll *poll,
                                const fastpair_allocator *allocator, fp_tokens *tokens,
                                fastpair_error *error);

/* FSST-12: several rounds of parse, count, keep the best. `space` has 12 bits and tokens of 8
 * bytes. */
fastpair_status fp_train_fsst(const fp_sample *sample, const fp_code_space *space, fp_poll *poll,
                              const fastpair_allocator *allocator, fp_tokens *tokens,
                              fastpair_error *error);

#endif
