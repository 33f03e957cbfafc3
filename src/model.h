/* model.h - a trained dictionary in memory: what the public fastpair_dictionary is. */
#ifndef FP_MODEL_H
#define FP_MODEL_H

#include "dict.h"
#include "matcher.h"
#include "settings.h"
#include "train.h"

/* `tokens` and `matcher` serve parsing. `dict` and `code_of_id` are the numbering that export writes; models that live
 * inside a writer have none (dict.runs is NULL), as the writer numbers tokens by the data it sees. */
struct fastpair_dictionary {
    fastpair_allocator allocator;
    fp_codec_choice choice;
    uint64_t seed;
    fp_tokens tokens;
    fp_matcher *matcher;
    fp_dict dict;
    uint32_t *code_of_id;
};

/* Trains on a sample with the codec of `choice` (not auto, not stored). The result has no numbering. */
fastpair_status fp_model_train(const fp_sample *sample, fp_codec_choice choice, int hot,
                               uint64_t seed, const fastpair_allocator *allocator,
                               fastpair_dictionary **model, fastpair_error *error);

/* Draws a sample from `rows`, settles an automatic codec (settings->choice is updated, so that it is chosen once) and
 * trains. */
fastpair_status fp_model_from_rows(const fastpair_rows *rows, fp_settings *settings,
                                   uint64_t column_bytes, fastpair_dictionary **model,
                                   fastpair_error *error);

/* Drops learned tokens (two bytes or more) whose count is 0. A parse of the counted data stays the same, since the
 * greedy match never chose them. `counts` is compacted to the new ids; new_id_of (tokens.count entries) gets each old
 * id's new one. */
fastpair_status fp_model_prune(fastpair_dictionary *model, uint64_t *counts, uint16_t *new_id_of,
                               fastpair_error *error);

/* Chooses a codec for the sample by settings->goal (auto.c). `column_bytes` 0 means unknown. */
fastpair_status fp_auto_choose(const fp_sample *sample, const fp_settings *settings,
                               uint64_t column_bytes, fp_codec_choice *choice,
                               fastpair_error *error);

/* Draws the training sample for settings->choice, settling an automatic choice first: *choice is the codec to train. */
fastpair_status fp_sample_for(const fastpair_rows *rows, const fp_settings *settings,
                              uint64_t column_bytes, fp_sample *sample, fp_codec_choice *choice,
                              fastpair_error *error);

#endif
