/* model.c - models: what a codec has learned. In: a sample. Out: tokens, and a matcher that parses
 * any row. Refuses nothing but a lack of memory. */
#include "model.h"

#include "train.h"

void fp_model_close(fastpair_dictionary *model) {
    if (!model) return;
    fastpair_allocator allocator = model->allocator;
    fp_tokens_close(&model->tokens, &allocator);
    fp_matcher_close(model->matcher, &allocator);
    fp_dict_close(&model->dict, &allocator);
    fp_release(&allocator, model->code_of_id);
    fp_release(&allocator, model);
}

fastpair_dictionary *fp_model_open(fp_codec_choice choice, uint64_t seed,
                                   const fastpair_allocator *allocator) {
    fastpair_dictionary *model = fp_allocate_zero(allocator, 1, sizeof *model);
    if (!model) return NULL;
    model->allocator = *allocator;
    model->choice = choice;
    model->seed = seed;
    return model;
}

uint64_t fp_model_token_bytes(const fastpair_dictionary *model) {
    uint64_t bytes = 0;
    for (uint32_t id = 0; id < model->tokens.count; id++) bytes += model->tokens.lengths[id];
    return bytes;
}

uint64_t fp_model_folded_bytes(const fastpair_dictionary *model) {
    uint64_t bits = 0;
    for (uint32_t id = 0; id < model->tokens.count; id++)
        bits += fp_token_bits(model->tokens.lengths[id], 1);
    return bits / 8;
}

fastpair_status fp_model_train(const fp_sample *sample, fp_codec_choice choice,
                               const fp_settings *settings, fastpair_dictionary **result,
                               fastpair_error *error) {
    const fastpair_allocator *allocator = &settings->allocator;
    const fp_code_space space = {
        .code_bits = choice.code_bits,
        .max_token = choice.max_token,
        .hot = fp_reserves_hot(settings->hot_codes, choice.code_bits, choice.max_token),
        .level = settings->level,
        .folds = !settings->cold};
    *result = NULL;
    fastpair_dictionary *model = fp_model_open(choice, settings->seed, allocator);
    if (!model) return fp_fail_memory(error, sizeof *model);
    fastpair_status status =
        choice.code_bits == FP_LETTER_BITS
            ? fp_tokens_open(&model->tokens, choice.max_token, allocator, error)
        : choice.codec == FASTPAIR_CODEC_FSST12
            ? fp_train_fsst(sample, &space, settings->poll, allocator, &model->tokens, error)
            : fp_train_onpair(sample, &space, settings->poll, allocator, &model->tokens, error);
    if (!status) status = fp_matcher_open(&model->tokens, allocator, &model->matcher, error);
    if (status)
        fp_model_close(model);
    else
        *result = model;
    return status;
}
