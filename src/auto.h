/* auto.h - from rows to a model: a sample, the codec that suits it, training. */
#ifndef FP_AUTO_H
#define FP_AUTO_H

#include "model.h"

/* The codecs that an automatic choice is among. */
#define FP_CANDIDATES 9u
typedef struct fp_candidate {
    fp_codec_choice choice;
    uint32_t goals; /* bits of the goals it can serve: 1 << FASTPAIR_GOAL_... */
    int cold;       /* it can serve cold files, whatever the goal */
} fp_candidate;
extern const fp_candidate fp_auto_candidates[FP_CANDIDATES];

/* Whether a candidate can serve. */
static inline int fp_candidate_serves(const fp_candidate *candidate, const fp_settings *settings) {
    return settings->cold ? candidate->cold : (int)(candidate->goals >> settings->goal & 1);
}

/* Fewer tokens are more codes, which take longer to decode. With the goal `balanced` tokens of a
 * small column are dropped if that divides its size by this or more. */
#define FP_BALANCED_SIZE 1.02

/* The bytes that the next sample has at most: one that codecs are compared on if settings->choice is
 * automatic, else one to train on. */
uint64_t fp_auto_cap(const fp_settings *settings);

/* Settles an automatic choice by settings->goal: *choice is the codec to train. The sample has
 * fp_auto_cap bytes at most; `column_bytes` 0 means unknown. */
fastpair_status fp_auto_choose(const fp_sample *sample, const fp_settings *settings,
                               uint64_t column_bytes, fp_codec_choice *choice,
                               fastpair_error *error);

/* Draws a sample and trains on it. settings->choice becomes the codec chosen, so that it is chosen
 * once. */
fastpair_status fp_auto_train(const fastpair_rows *rows, fp_settings *settings,
                              uint64_t column_bytes, fastpair_dictionary **model,
                              fastpair_error *error);

#endif
