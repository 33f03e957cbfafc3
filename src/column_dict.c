/* column_dict.c - dictionaries of open columns. In: an untrusted dictionary block. Out: its tokens,
 * and, once somebody decodes or validates on a CPU, tables of them. A caller that only feeds a GPU
 * never pays for tables.
 *
 * The trick: a table is published by one atomic store after it is complete, so that whoever
 * sees its pointer needs no lock; the mutex only keeps two threads from building the same
 * table. Refuses blocks that fp_dict_read refuses, gaps that are not zero, and files that ask
 * for too many tables. */
#include "column_dict.h"

#include "options.h"
#include "threads.h"

#include <inttypes.h>

/* What a reader holds where the caller does not say. */
#define DEFAULT_MEMORY (384ull << 20)

fastpair_status fp_open_settings_resolve(const fastpair_open_options *options,
                                         fp_open_settings *settings, fastpair_error *error) {
    fastpair_open_options given;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fp_allocator_resolve(&given.allocator, &settings->allocator, error);
    if (status) return status;
    if (given.threads > FP_MAX_THREADS)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "threads is %" PRIu32 "; the most is %u", given.threads, FP_MAX_THREADS);
    if ((uint32_t)given.cpu_level > FASTPAIR_CPU_AVX512)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "cpu_level is %d; it must be in 0..4", (int)given.cpu_level);
    fastpair_cpu_level best = fastpair_cpu_detect();
    if (given.cpu_level > best)
        return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                       "this CPU lacks the instructions of cpu_level %d; use 0 for the best it has",
                       (int)given.cpu_level);
    settings->level = given.cpu_level == FASTPAIR_CPU_BEST ? best : given.cpu_level;
    settings->threads = given.threads ? given.threads : 1;
    settings->memory_limit = given.memory_limit ? given.memory_limit : DEFAULT_MEMORY;
    settings->on_close = given.on_close;
    settings->on_close_context = given.on_close_context;
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- opening */

static uint64_t table_limit(uint64_t file_bytes) {
    return (file_bytes < UINT64_MAX >> 7 ? file_bytes * 64 : UINT64_MAX >> 1) + (2u << 20);
}

/* What fp_dict_read leaves alone: the gaps of the block. */
static fastpair_status check_gaps(const fp_dict_block *block, fastpair_error *error) {
    uint64_t section = fp_align(FP_DICT_HEADER, block->alignment);
    uint64_t end = section + fp_load64(block->bytes + 56);
    if (fp_all_zero(block->bytes + FP_DICT_HEADER, section - FP_DICT_HEADER) &&
        fp_all_zero(block->bytes + end, fp_load64(block->bytes + 8) - end))
        return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, block->position,
                   "dictionary at offset %" PRIu64
                   ": the bytes before or after its tokens are not all zero",
                   block->position);
}

fastpair_status fp_table_budget_check(const fp_table_budget *budget, uint64_t position,
                                      uint64_t end, fastpair_error *error) {
    if (budget->taken <= table_limit(end)) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_LIMIT, position,
                   "dictionary at offset %" PRIu64
                   ": too many wide, nearly empty dictionaries for so few bytes of file",
                   position);
}

static fastpair_status take_from_budget(fp_table_budget *budget, const fp_dict *dict,
                                        const fp_dict_block *block, fastpair_error *error) {
    uint64_t position = block->position;
    budget->taken += 18ull << dict->code_bits; /* a 16-byte cell and two lengths, or a place */
    if (fp_load64(block->bytes + 72)) /* the file has fewer bytes, and there are tables for words */
        budget->taken += 2 * dict->bytes_size + (5ull << dict->code_bits);
    return fp_table_budget_check(budget, position, position + fp_load64(block->bytes + 8), error);
}

fastpair_status fp_column_dict_open(const fp_dict_block *block, const fp_open_settings *settings,
                                    fp_table_budget *budget, fp_column_dict *dictionary,
                                    fastpair_error *error) {
    *dictionary = (fp_column_dict){0};
    fp_dict *dict = &dictionary->dict;
    fastpair_status status = fp_dict_read(block, &settings->allocator, dict, error);
    if (status) return status;
    status = check_gaps(block, error);
    if (!status) status = take_from_budget(budget, dict, block, error);
    if (!status && pthread_mutex_init(&dictionary->building, NULL))
        status = fp_fail_memory(error, sizeof dictionary->building);
    if (status) {
        fp_dict_close(dict, &settings->allocator);
        return status;
    }
    dictionary->settings = settings;
    dictionary->entry = (fp_dict_entry){block->position, fp_load64(block->bytes + 8), 0};
    dictionary->checksum = fp_load64(block->bytes + 64);
    dictionary->section_bytes = fp_load64(block->bytes + 56);
    return FASTPAIR_OK;
}

void fp_column_dict_close(fp_column_dict *dictionary) {
    if (!dictionary->settings) return;
    const fastpair_allocator *allocator = &dictionary->settings->allocator;
    fp_column_dict_drop_tables(dictionary);
    fp_dict_close(&dictionary->dict, allocator);
    pthread_mutex_destroy(&dictionary->building);
    *dictionary = (fp_column_dict){0};
}

/* ---------------------------------------------------------------- tables on first use */

typedef fastpair_status opener(const fp_dict *dict, fastpair_cpu_level level,
                               const fastpair_allocator *allocator, fp_decoder **decoder,
                               fastpair_error *error);

/* The decoder in *place, made by `open` if it is not there. */
static fastpair_status find_decoder(fp_column_dict *dictionary, fp_decoder **place, opener *open,
                                    const fp_decoder **decoder, fastpair_error *error) {
    fp_decoder *made = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    fastpair_status status = FASTPAIR_OK;
    if (!made) {
        pthread_mutex_lock(&dictionary->building);
        made = *place; /* another thread may have built it meanwhile */
        if (!made)
            status = open(&dictionary->dict, dictionary->settings->level,
                          &dictionary->settings->allocator, &made, error);
        if (!status) __atomic_store_n(place, made, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&dictionary->building);
    }
    *decoder = made;
    return status;
}

fastpair_status fp_column_dict_decoder(fp_column_dict *dictionary, const fp_decoder **decoder,
                                       fastpair_error *error) {
    return find_decoder(dictionary, &dictionary->decoder, fp_decoder_open, decoder, error);
}

fastpair_status fp_column_dict_word_decoder(fp_column_dict *dictionary, const fp_decoder **decoder,
                                            fastpair_error *error) {
    return find_decoder(dictionary, &dictionary->word_decoder, fp_decoder_open_words, decoder,
                        error);
}

static uint8_t *expand_lengths(const fp_dict *dict, const fastpair_allocator *allocator) {
    uint8_t *lengths = fp_allocate_zero(allocator, (1ull << dict->code_bits) + 2, 1);
    for (uint32_t r = 0; lengths && r < dict->run_count; r++)
        memset(lengths + dict->runs[r].first_code, (int)dict->runs[r].length, dict->runs[r].count);
    return lengths;
}

fastpair_status fp_column_dict_lengths(fp_column_dict *dictionary, const uint8_t **lengths,
                                       fastpair_error *error) {
    uint8_t *made = __atomic_load_n(&dictionary->length_of_code, __ATOMIC_ACQUIRE);
    if (!made) {
        pthread_mutex_lock(&dictionary->building);
        made = dictionary->length_of_code;
        if (!made) made = expand_lengths(&dictionary->dict, &dictionary->settings->allocator);
        __atomic_store_n(&dictionary->length_of_code, made, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&dictionary->building);
    }
    *lengths = made;
    return made ? FASTPAIR_OK : fp_fail_memory(error, 1ull << dictionary->dict.code_bits);
}

uint32_t fp_column_dict_text(fp_column_dict *dictionary) {
    uint32_t text = __atomic_load_n(&dictionary->text, __ATOMIC_RELAXED);
    if (text == FP_TOKENS_UNKNOWN) {
        text = fp_token_text(&dictionary->dict);
        __atomic_store_n(&dictionary->text, text, __ATOMIC_RELAXED);
    }
    return text;
}

uint64_t fp_column_dict_missing_bytes(const fp_column_dict *dictionary) {
    if (dictionary->decoder && dictionary->length_of_code) return 0;
    /* A cell of 16 bytes, two lengths and the number of a step per code; or a place, a length, such a
     * number, 15 bytes that pad a brick and two for bricks of empty slots, and the tokens twice. Small
     * tables, and those of pairs. */
    return (23ull << dictionary->dict.code_bits) + 2 * dictionary->dict.bytes_size + (64u << 10);
}

void fp_column_dict_drop_tables(fp_column_dict *dictionary) {
    const fastpair_allocator *allocator = &dictionary->settings->allocator;
    fp_decoder_close(dictionary->decoder, allocator);
    fp_decoder_close(dictionary->word_decoder, allocator);
    fp_release(allocator, dictionary->length_of_code);
    dictionary->decoder = dictionary->word_decoder = NULL;
    dictionary->length_of_code = NULL;
}
