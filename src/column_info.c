/* column_info.c - what a column holds. In: an open column. Out: figures from its footer, which was
 * checked when it was opened, or from the headers of its chunks, which are checked here; no section
 * is read. Refuses an info struct that does not say how large it is, chunks and rows that the column
 * does not have, and headers that break a rule. */
#include "column_source.h"

#include "options.h"

#include <inttypes.h>

/* Begins every function that fills a struct in: the struct becomes 0, so that a failure leaves
 * nothing in it, and both pointers must be there. */
static fastpair_status begin(const char *call, const char *name, const fastpair_column *column,
                             void *info, size_t size, fastpair_error *error) {
    static const uint8_t zero[sizeof(fastpair_column_info)];
    fastpair_status status = info ? fp_info_copy(name, zero, size, info, error) : FASTPAIR_OK;
    if (status) return status;
    if (column && info) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                   "%s: column and %s must not be NULL", call, name);
}

static fastpair_status check_number(const fastpair_column *column, uint64_t number,
                                    fastpair_error *error) {
    if (number < column->totals.chunks) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                   "chunk %" PRIu64 " is not in the column, which has %" PRIu64 " chunks", number,
                   column->totals.chunks);
}

/* ---------------------------------------------------------------- from the footer */

fastpair_status fastpair_column_get_totals(const fastpair_column *column,
                                           fastpair_column_totals *totals, fastpair_error *error) {
    fastpair_status status =
        begin("fastpair_column_get_totals", "totals", column, totals, sizeof *totals, error);
    if (status) return status;
    fastpair_column_totals all = {.rows = column->totals.rows,
                                  .nulls = column->totals.nulls,
                                  .decoded_bytes = column->totals.decoded_bytes,
                                  .compressed_bytes = column->size,
                                  .codes = column->totals.codes,
                                  .chunks = column->totals.chunks,
                                  .dictionaries = column->totals.dictionaries,
                                  .has_framing = column->file.has_framing,
                                  .separator = column->file.separator,
                                  .final_separator = column->totals.final_separator,
                                  .type = fp_column_type(column)};
    return fp_info_copy("totals", &all, sizeof all, totals, error);
}

fastpair_status fastpair_column_get_chunk(const fastpair_column *column, uint64_t number,
                                          fastpair_chunk_info *info, fastpair_error *error) {
    fastpair_status status =
        begin("fastpair_column_get_chunk", "info", column, info, sizeof *info, error);
    if (!status) status = check_number(column, number, error);
    if (status) return status;
    fp_chunk_entry entry = fp_column_entry(column, number);
    fastpair_chunk_info all = {.first_row = column->starts.row[number],
                               .rows = entry.rows,
                               .first_byte = column->starts.byte[number],
                               .decoded_bytes = entry.decoded_bytes,
                               .file_offset = entry.position,
                               .file_bytes = entry.block_bytes};
    return fp_info_copy("info", &all, sizeof all, info, error);
}

fastpair_status fastpair_column_find_chunk(const fastpair_column *column, uint64_t row,
                                           uint64_t *chunk, fastpair_error *error) {
    if (chunk) *chunk = 0;
    if (!column || !chunk)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_find_chunk: column and chunk must not be NULL");
    if (row >= column->totals.rows)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, row,
                       "row %" PRIu64 " is not in the column, which has %" PRIu64 " rows", row,
                       column->totals.rows);
    *chunk = fp_column_find_chunk(column, row);
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- from the headers */

fastpair_status fastpair_column_get_chunk_header(const fastpair_column *column, uint64_t number,
                                                 fastpair_chunk_header *header,
                                                 fastpair_error *error) {
    fp_chunk_view view;
    fp_chunk room;
    fastpair_status status =
        begin("fastpair_column_get_chunk_header", "header", column, header, sizeof *header, error);
    if (!status) status = check_number(column, number, error);
    if (!status) status = fp_column_pass_chunk(column, number, &room, &view, error);
    if (status) return status;
    fastpair_chunk_header all = {.nulls = view.chunk->nulls,
                                 .cold = view.chunk->cold,
                                 .codec = FASTPAIR_CODEC_STORED,
                                 .dictionary = FASTPAIR_NO_DICTIONARY};
    if (view.chunk->coded) {
        all.codes = view.chunk->codes;
        all.codec = view.dictionary->dict.codec;
        all.code_bits = view.dictionary->dict.code_bits;
        all.dictionary = view.chunk->dictionary;
    }
    return fp_info_copy("header", &all, sizeof all, header, error);
}

static void add_chunk(const fp_chunk *chunk, fastpair_column_info *all) {
    all->nulls += chunk->nulls; /* at most the rows */
    all->codes += chunk->codes; /* at most the bytes */
    all->stored_chunks += !chunk->coded;
    all->cold_chunks += (uint64_t)chunk->cold;
    if (chunk->coded) all->coded_bytes += chunk->decoded_bytes;
    if (chunk->largest_batch > all->largest_batch) all->largest_batch = chunk->largest_batch;
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++) all->codes_by_length[i] += chunk->by_length[i];
    all->code_bytes += chunk->sections[FP_SECTION_CODES].size;
    all->sidecar_bytes += chunk->sections[FP_SECTION_SIDECAR].size;
    all->length_bytes += chunk->sections[FP_SECTION_LENGTHS].size;
    all->validity_bytes += chunk->sections[FP_SECTION_VALIDITY].size;
}

fastpair_status fastpair_column_get_info(const fastpair_column *column, fastpair_column_info *info,
                                         fastpair_error *error) {
    fastpair_status status =
        begin("fastpair_column_get_info", "info", column, info, sizeof *info, error);
    if (status) return status;
    fastpair_column_info all = {.rows = column->totals.rows,
                                .decoded_bytes = column->totals.decoded_bytes,
                                .compressed_bytes = column->size,
                                .chunks = column->totals.chunks,
                                .dictionaries = column->totals.dictionaries,
                                .codec = FASTPAIR_CODEC_STORED,
                                .has_framing = column->file.has_framing,
                                .separator = column->file.separator,
                                .final_separator = column->totals.final_separator,
                                .type = fp_column_type(column)};
    if (column->source) {
        status = fp_source_load_all(column, error);
        if (!status) status = fp_source_keep_headers(column, error);
        if (status) return status;
    }
    if (column->totals.dictionaries) {
        const fp_dict *first = &column->dictionaries[0].dict;
        all.codec = first->codec;
        all.code_bits = first->code_bits;
        all.max_token = first->max_token;
    }
    for (uint64_t i = 0; i < column->totals.dictionaries; i++) {
        const fp_column_dict *dictionary = &column->dictionaries[i];
        all.tokens += dictionary->dict.tokens;
        /* Nobody checks this number of the footer; nonsense is not passed on. */
        uint32_t in_use = dictionary->entry.tokens_in_use;
        all.tokens_in_use += in_use < dictionary->dict.tokens ? in_use : dictionary->dict.tokens;
        all.dictionary_bytes += dictionary->section_bytes;
    }
    for (uint64_t i = 0; i < column->totals.chunks; i++) {
        fp_chunk room;
        fp_chunk_view view;
        if ((status = fp_column_pass_chunk(column, i, &room, &view, error))) return status;
        if (i == 0) all.batch_codes = view.chunk->batch_codes;
        add_chunk(view.chunk, &all);
    }
    status = fp_column_check_totals(column, all.nulls, all.codes, error);
    return status ? status : fp_info_copy("info", &all, sizeof all, info, error);
}
