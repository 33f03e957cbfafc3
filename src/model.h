/* model.h - a trained dictionary in memory: what the public fastpair_dictionary is. model.c trains
 * it, dictionary.c has the public calls. */
#ifndef FP_MODEL_H
#define FP_MODEL_H

#include "dict.h"
#include "matcher.h"
#include "sample.h"
#include "settings.h"

/* `tokens` and `matcher` serve parsing. `dict` and `code_of_id` are the numbering that export
 * writes. Models inside a writer have none (dict.runs is NULL), because the writer numbers tokens
 * by the data it sees. */
struct fastpair_dictionary {
    fastpair_allocator allocator;
    fp_codec_choice choice;
    uint64_t seed;
    fp_tokens tokens;
    fp_matcher *matcher;
    fp_dict dict;
    uint32_t *code_of_id;
};

/* Codes of so many bits have room for the 256 single bytes and nothing else: *letters*. No option asks
 * for them; an automatic choice may (auto.c). */
#define FP_LETTER_BITS 8u

/* Trains on a sample with the codec of `choice` (not auto, not stored). Seed, hot part and
 * allocator come from the settings. The result has no numbering. */
fastpair_status fp_model_train(const fp_sample *sample, fp_codec_choice choice,
                               const fp_settings *settings, fastpair_dictionary **model,
                               fastpair_error *error);

/* A public dictionary, step by step, for rows wherever they are: fp_dictionary_settle checks options;
 * then samples of at most fp_dictionary_cap bytes, drawn with settings->seed as fp_sample_open draws
 * them, go to fp_dictionary_step until there is a dictionary. An automatic choice takes one sample to
 * be settled, and *dictionary is NULL after it. settings->poll must be set. */
fastpair_status fp_dictionary_settle(const fastpair_compress_options *options,
                                     fp_settings *settings, fastpair_error *error);
uint64_t fp_dictionary_cap(const fp_settings *settings);
fastpair_status fp_dictionary_step(const fp_sample *sample, fp_settings *settings,
                                   fastpair_dictionary **dictionary, fastpair_error *error);

/* An empty model, filled by the caller; NULL without memory. */
fastpair_dictionary *fp_model_open(fp_codec_choice choice, uint64_t seed,
                                   const fastpair_allocator *allocator);

/* NULL is allowed. */
void fp_model_close(fastpair_dictionary *model);

/* Bytes of all tokens together. */
uint64_t fp_model_token_bytes(const fastpair_dictionary *model);

/* What they take in a warm file, about. */
uint64_t fp_model_folded_bytes(const fastpair_dictionary *model);

#endif
