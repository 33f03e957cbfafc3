/* dictionary.c - dictionaries that a caller keeps: the public side of model.h. In: rows to train
 * on, or exported bytes. Out: a model with a numbering, which any number of columns may share.
 * Refuses imported dictionaries that lack a single byte, because some row could then not be
 * encoded. */
#include "model.h"

#include "auto.h"
#include "number.h"
#include "parse.h"
#include "rows.h"

void fastpair_dictionary_close(fastpair_dictionary *dictionary) { fp_model_close(dictionary); }

/* Numbers a trained model's tokens by how often the sample uses them. */
static fastpair_status number_by_sample(fastpair_dictionary *model, const fp_sample *sample,
                                        uint32_t hot_codes, fastpair_error *error) {
    const fastpair_allocator *allocator = &model->allocator;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    uint64_t *offsets = fp_sample_offsets(sample, allocator);
    uint16_t *ids = fp_allocate(allocator, sample->size, sizeof *ids);
    model->code_of_id = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *model->code_of_id);
    fastpair_status status = FASTPAIR_OK;
    if (!counts || !offsets || !ids || !model->code_of_id) {
        status = fp_fail_memory(error, sample->size * sizeof *ids);
    } else {
        uint64_t codes = fp_parse_rows(model->matcher, sample->bytes, offsets, sample->pieces, ids);
        for (uint64_t i = 0; i < codes; i++) counts[ids[i]]++;
        fp_number_input input = {.tokens = &model->tokens,
                                 .counts = counts,
                                 .coverage = FP_COVER_ALL,
                                 .hot_codes = hot_codes,
                                 .codec = model->choice.codec,
                                 .seed = model->seed};
        status = fp_number_tokens(&input, allocator, &model->dict, model->code_of_id, error);
    }
    fp_release(allocator, counts);
    fp_release(allocator, offsets);
    fp_release(allocator, ids);
    return status;
}

uint64_t fp_dictionary_cap(const fp_settings *settings) { return fp_auto_cap(settings); }

fastpair_status fp_dictionary_settle(const fastpair_compress_options *options,
                                     fp_settings *settings, fastpair_error *error) {
    fastpair_status status = fp_settings_resolve(options, settings, error);
    if (status) return status;
    if (settings->choice.codec == FASTPAIR_CODEC_STORED || settings->dictionary)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "training needs a codec with a dictionary, and none given");
    return FASTPAIR_OK;
}

fastpair_status fp_dictionary_step(const fp_sample *sample, fp_settings *settings,
                                   fastpair_dictionary **dictionary, fastpair_error *error) {
    fastpair_dictionary *model;
    *dictionary = NULL;
    if (settings->choice.codec == FASTPAIR_CODEC_AUTO)
        return fp_auto_choose(sample, settings, sample->column_bytes, &settings->choice, error);
    fastpair_status status = fp_model_train(sample, settings->choice, settings, &model, error);
    if (status) return status;
    status = number_by_sample(model, sample, settings->hot_codes, error);
    if (status)
        fp_model_close(model);
    else
        *dictionary = model;
    return status;
}

fastpair_status fastpair_dictionary_train(const fastpair_rows *rows,
                                          const fastpair_compress_options *options,
                                          fastpair_dictionary **dictionary, fastpair_error *error) {
    if (dictionary) *dictionary = NULL;
    if (!rows || !dictionary)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows and dictionary must not be NULL");
    fp_settings settings;
    fastpair_status status = fp_dictionary_settle(options, &settings, error);
    if (!status) status = fp_rows_check(rows, error);
    if (status) return status;
    fp_poll poll;
    fp_settings_poll(&settings, fp_rows_size(rows), &poll);
    while (!status && !*dictionary) {
        fp_sample sample;
        status = fp_sample_open(rows, fp_dictionary_cap(&settings), settings.seed,
                                &settings.allocator, &sample, error);
        if (status) break;
        status = fp_dictionary_step(&sample, &settings, dictionary, error);
        fp_sample_close(&sample, &settings.allocator);
    }
    return status;
}

uint64_t fastpair_dictionary_export_size(const fastpair_dictionary *dictionary) {
    return dictionary ? fp_dict_block_size(&dictionary->dict, 64) : 0;
}

fastpair_status fastpair_dictionary_export_into(const fastpair_dictionary *dictionary,
                                                uint8_t *buffer, uint64_t capacity, uint64_t *size,
                                                fastpair_error *error) {
    if (size) *size = 0;
    if (!dictionary || !size || (!buffer && capacity))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "dictionary, size and buffer must not be NULL");
    *size = fastpair_dictionary_export_size(dictionary);
    if (capacity < *size)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "the dictionary takes %llu bytes and capacity is %llu",
                       (unsigned long long)*size, (unsigned long long)capacity);
    fp_dict_write(&dictionary->dict, 64, buffer);
    return FASTPAIR_OK;
}

/* Rebuilds the token list of a numbered dictionary: single bytes first, as every fp_tokens has
 * them, then the others in code order. */
static fastpair_status tokens_from_dict(fastpair_dictionary *model, fastpair_error *error) {
    const fp_dict *dict = &model->dict;
    fastpair_status status =
        fp_tokens_open(&model->tokens, dict->max_token, &model->allocator, error);
    if (status) return status;
    model->code_of_id = fp_allocate(&model->allocator, FP_MAX_TOKENS, sizeof *model->code_of_id);
    if (!model->code_of_id) return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *model->code_of_id);
    for (uint32_t byte = 0; byte < 256; byte++) model->code_of_id[byte] = FP_NO_CODE;
    const uint8_t *from = dict->bytes;
    for (uint32_t r = 0; r < dict->run_count; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++, from += dict->runs[r].length) {
            /* 65,536 tokens without one of the single bytes would overflow the list. */
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

fastpair_status fastpair_dictionary_open(const uint8_t *data, uint64_t size,
                                         const fastpair_allocator *allocator,
                                         fastpair_dictionary **dictionary, fastpair_error *error) {
    if (dictionary) *dictionary = NULL;
    if (!dictionary || (!data && size))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "data and dictionary must not be NULL");
    fastpair_allocator hooks;
    fastpair_status status = fp_allocator_resolve(allocator, &hooks, error);
    if (status) return status;
    fp_dict dict;
    status = fp_dict_read(&(fp_dict_block){data, size, 0, 64, 0, 0}, &hooks, &dict, error);
    if (status || !data) return status; /* NULL has no bytes, so it was refused */
    if (size != fp_load64(data + 8)) {
        uint64_t expected = fp_load64(data + 8);
        fp_dict_close(&dict, &hooks);
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, expected, "%llu bytes follow the dictionary",
                       (unsigned long long)(size - expected));
    }
    fp_codec_choice choice = {dict.codec, dict.code_bits, dict.max_token};
    fastpair_dictionary *model = fp_model_open(choice, dict.seed, &hooks);
    if (!model) {
        fp_dict_close(&dict, &hooks);
        return fp_fail_memory(error, sizeof *model);
    }
    model->dict = dict;
    status = tokens_from_dict(model, error);
    if (!status) status = fp_matcher_open(&model->tokens, &hooks, &model->matcher, error);
    if (status)
        fp_model_close(model);
    else
        *dictionary = model;
    return status;
}
