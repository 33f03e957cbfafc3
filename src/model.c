/* model.c - training, pruning and moving dictionaries. In: a sample, or exported bytes. Out: a model that parses any
 * row. Refuses imported dictionaries that lack a single byte, since some row could then not be encoded. */
#include "model.h"

#include "format.h"
#include "rows.h"

#include <string.h>

void fastpair_dictionary_free(fastpair_dictionary *dictionary) {
    if (!dictionary) return;
    fastpair_allocator allocator = dictionary->allocator;
    fp_tokens_free(&dictionary->tokens, &allocator);
    fp_matcher_free(dictionary->matcher, &allocator);
    fp_dict_free(&dictionary->dict, &allocator);
    fp_release(&allocator, dictionary->code_of_id);
    fp_release(&allocator, dictionary);
}

static fastpair_dictionary *model_create(fp_codec_choice choice, uint64_t seed,
                                         const fastpair_allocator *allocator) {
    fastpair_dictionary *model = fp_allocate_zero(allocator, 1, sizeof *model);
    if (!model) return NULL;
    model->allocator = *allocator;
    model->choice = choice;
    model->seed = seed;
    return model;
}

fastpair_status fp_model_train(const fp_sample *sample, fp_codec_choice choice, int hot,
                               uint64_t seed, const fastpair_allocator *allocator,
                               fastpair_dictionary **result, fastpair_error *error) {
    *result = NULL;
    fastpair_dictionary *model = model_create(choice, seed, allocator);
    if (!model) return fp_fail_memory(error, sizeof *model);
    fastpair_status status = choice.codec == FASTPAIR_CODEC_FSST12
                                 ? fp_train_fsst(sample, hot, allocator, &model->tokens, error)
                                 : fp_train_onpair(sample, choice.code_bits, choice.max_token, hot,
                                                   allocator, &model->tokens, error);
    if (!status) status = fp_matcher_create(&model->tokens, allocator, &model->matcher, error);
    if (status)
        fastpair_dictionary_free(model);
    else
        *result = model;
    return status;
}

fastpair_status fp_model_from_rows(const fastpair_rows *rows, fp_settings *settings,
                                   uint64_t column_bytes, fastpair_dictionary **model,
                                   fastpair_error *error) {
    fp_sample sample;
    *model = NULL;
    fastpair_status status =
        fp_sample_for(rows, settings, column_bytes, &sample, &settings->choice, error);
    if (status) return status;
    status = fp_model_train(&sample, settings->choice,
                            fp_reserves_hot(settings->hot_codes, settings->choice.code_bits,
                                            settings->choice.max_token),
                            settings->seed, &settings->allocator, model, error);
    fp_sample_free(&sample, &settings->allocator);
    return status;
}

fastpair_status fp_model_prune(fastpair_dictionary *model, uint64_t *counts, uint16_t *new_id_of,
                               fastpair_error *error) {
    fp_tokens *tokens = &model->tokens;
    uint32_t kept = 0, before = tokens->count;
    for (uint32_t id = 0; id < before; id++) {
        new_id_of[id] = (uint16_t)kept;
        if (id >= 256 && !counts[id]) continue;
        if (kept != id) {
            memcpy(tokens->bytes[kept], tokens->bytes[id], 16);
            tokens->lengths[kept] = tokens->lengths[id];
            counts[kept] = counts[id];
        }
        kept++;
    }
    tokens->count = kept;
    if (kept == before) return FASTPAIR_OK;
    fp_matcher *matcher;
    fastpair_status status = fp_matcher_create(tokens, &model->allocator, &matcher, error);
    if (status) return status;
    fp_matcher_free(model->matcher, &model->allocator);
    model->matcher = matcher;
    return FASTPAIR_OK;
}

/* Numbers a trained model's tokens by how often the sample uses them. */
static fastpair_status number_by_sample(fastpair_dictionary *model, const fp_sample *sample,
                                        uint32_t hot_codes, fastpair_error *error) {
    const fastpair_allocator *allocator = &model->allocator;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    uint64_t *offsets = fp_allocate(allocator, sample->pieces + 1, sizeof *offsets);
    uint16_t *ids = fp_allocate(allocator, sample->size, sizeof *ids);
    model->code_of_id = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *model->code_of_id);
    fastpair_status status = FASTPAIR_OK;
    if (!counts || !offsets || !ids || !model->code_of_id) {
        status = fp_fail_memory(error, sample->size * sizeof *ids);
    } else {
        offsets[0] = 0;
        for (uint64_t i = 0; i < sample->pieces; i++)
            offsets[i + 1] = offsets[i] + sample->lengths[i];
        uint64_t codes = fp_parse_rows(model->matcher, sample->bytes, offsets, sample->pieces, ids);
        for (uint64_t i = 0; i < codes; i++) counts[ids[i]]++;
        status = fp_dict_order(&model->tokens, counts, 0, hot_codes, model->choice.codec,
                               model->seed, allocator, &model->dict, model->code_of_id, error);
    }
    fp_release(allocator, counts);
    fp_release(allocator, offsets);
    fp_release(allocator, ids);
    return status;
}

fastpair_status fastpair_dictionary_train(const fastpair_rows *rows,
                                          const fastpair_compress_options *options,
                                          fastpair_dictionary **dictionary, fastpair_error *error) {
    if (!rows || !dictionary)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows and dictionary must not be NULL");
    *dictionary = NULL;
    fp_settings settings;
    fastpair_status status = fp_settings_resolve(options, &settings, error);
    if (status) return status;
    if (settings.choice.codec == FASTPAIR_CODEC_STORED || settings.dictionary)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "training needs a codec with a dictionary, and none given");
    if ((status = fp_rows_check(rows, error))) return status;
    uint64_t column_bytes = rows->rows ? fp_row_start(rows, rows->rows) - fp_row_start(rows, 0) : 0;
    fp_codec_choice choice;
    fp_sample sample;
    if ((status = fp_sample_for(rows, &settings, column_bytes, &sample, &choice, error)))
        return status;
    fastpair_dictionary *model;
    status = fp_model_train(&sample, choice,
                            fp_reserves_hot(settings.hot_codes, choice.code_bits, choice.max_token),
                            settings.seed, &settings.allocator, &model, error);
    if (!status) {
        status = number_by_sample(model, &sample, settings.hot_codes, error);
        if (status)
            fastpair_dictionary_free(model);
        else
            *dictionary = model;
    }
    fp_sample_free(&sample, &settings.allocator);
    return status;
}

fastpair_status fastpair_dictionary_export(const fastpair_dictionary *dictionary, uint8_t **data,
                                           uint64_t *size, fastpair_error *error) {
    if (!dictionary || !data || !size)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "dictionary, data and size must not be NULL");
    *size = fp_dict_block_size(&dictionary->dict, 64);
    *data = fp_allocate(&dictionary->allocator, *size, 1);
    if (!*data) return fp_fail_memory(error, *size);
    fp_dict_write(&dictionary->dict, 64, *data);
    return FASTPAIR_OK;
}

/* Rebuilds the token list of a numbered dictionary: single bytes first, as every fp_tokens has them, then the others in
 * code order. */
static fastpair_status tokens_from_dict(fastpair_dictionary *model, fastpair_error *error) {
    const fp_dict *dict = &model->dict;
    fastpair_status status =
        fp_tokens_create(&model->tokens, dict->max_token, &model->allocator, error);
    if (status) return status;
    model->code_of_id = fp_allocate(&model->allocator, FP_MAX_TOKENS, sizeof *model->code_of_id);
    if (!model->code_of_id) return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *model->code_of_id);
    for (uint32_t byte = 0; byte < 256; byte++) model->code_of_id[byte] = FP_NO_CODE;
    const uint8_t *from = dict->bytes;
    for (uint32_t r = 0; r < dict->run_count; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++, from += dict->runs[r].length) {
            /* 65,536 tokens of which some single byte is missing or doubled would overflow the list. */
            if (dict->runs[r].length > 1 && model->tokens.count == FP_MAX_TOKENS) break;
            uint32_t id = dict->runs[r].length == 1
                              ? from[0]
                              : fp_tokens_add(&model->tokens, from, dict->runs[r].length);
            model->code_of_id[id] = dict->runs[r].first_code + i;
        }
    for (uint32_t byte = 0; byte < 256; byte++)
        if (model->code_of_id[byte] == FP_NO_CODE)
            return fp_fail(
                error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                "the dictionary lacks byte %u and cannot encode every row; export one that "
                "fastpair_dictionary_train made",
                byte);
    return FASTPAIR_OK;
}

fastpair_status fastpair_dictionary_import(const uint8_t *data, uint64_t size,
                                           const fastpair_allocator *allocator,
                                           fastpair_dictionary **dictionary,
                                           fastpair_error *error) {
    if (!dictionary || (!data && size))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "data and dictionary must not be NULL");
    *dictionary = NULL;
    fastpair_allocator hooks;
    fastpair_status status = fp_allocator_resolve(allocator, &hooks, error);
    if (status) return status;
    fp_dict dict;
    if ((status = fp_dict_read(data, size, 64, 0, &hooks, &dict, error))) return status;
    if (size != fp_dict_block_size(&dict, 64)) {
        uint64_t expected = fp_dict_block_size(&dict, 64);
        fp_dict_free(&dict, &hooks);
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, expected, "%llu bytes follow the dictionary",
                       (unsigned long long)(size - expected));
    }
    fp_codec_choice choice = {dict.codec, dict.code_bits, dict.max_token};
    fastpair_dictionary *model = model_create(choice, dict.seed, &hooks);
    if (!model) {
        fp_dict_free(&dict, &hooks);
        return fp_fail_memory(error, sizeof *model);
    }
    model->dict = dict;
    status = tokens_from_dict(model, error);
    if (!status) status = fp_matcher_create(&model->tokens, &hooks, &model->matcher, error);
    if (status)
        fastpair_dictionary_free(model);
    else
        *dictionary = model;
    return status;
}
