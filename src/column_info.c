/* column_info.c - what a column holds. In: an open column. Out: figures from its headers, which
 * were checked when it was opened; no section is read. Refuses an info struct that does not say how
 * large it is, and chunks and rows that the column does not have. */
#include "column.h"

#include "options.h"

#include <inttypes.h>

fastpair_status fastpair_column_get_info(const fastpair_column *column, fastpair_column_info *info,
                                         fastpair_error *error) {
    if (!column || !info)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_get_info: column and info must not be NULL");
    fastpair_column_info all = {.rows = column->totals.rows,
                                .nulls = column->totals.nulls,
                                .decoded_bytes = column->totals.decoded_bytes,
                                .compressed_bytes = column->size,
                                .codes = column->totals.codes,
                                .chunks = column->totals.chunks,
                                .dictionaries = column->totals.dictionaries,
                                .codec = FASTPAIR_CODEC_STORED,
                                .has_framing = column->file.has_framing,
                                .separator = column->file.separator,
                                .final_separator = column->totals.final_separator};
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
        all.dictionary_bytes +=
            (uint64_t)dictionary->dict.run_count * FP_RUN_ENTRY + dictionary->dict.bytes_size;
    }
    for (uint64_t i = 0; i < column->totals.chunks; i++) {
        const fp_chunk *chunk = &column->chunks[i];
        all.stored_chunks += !chunk->coded;
        if (i == 0) all.batch_codes = chunk->batch_codes;
        if (chunk->largest_batch > all.largest_batch) all.largest_batch = chunk->largest_batch;
        for (int length = 0; length < 16; length++)
            all.codes_by_length[length] += chunk->by_length[length];
        all.code_bytes += chunk->sections[FP_SECTION_CODES].size;
        all.sidecar_bytes += chunk->sections[FP_SECTION_SIDECAR].size;
        all.length_bytes += chunk->sections[FP_SECTION_LENGTHS].size;
        all.validity_bytes += chunk->sections[FP_SECTION_VALIDITY].size;
    }
    return fp_info_copy("fastpair_column_info", &all, sizeof all, info, error);
}

fastpair_status fastpair_column_get_chunk(const fastpair_column *column, uint64_t number,
                                          fastpair_chunk_info *info, fastpair_error *error) {
    if (!column || !info)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_get_chunk: column and info must not be NULL");
    if (number >= column->totals.chunks)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "chunk %" PRIu64 " is not in the column, which has %" PRIu64 " chunks",
                       number, column->totals.chunks);
    const fp_chunk *chunk = &column->chunks[number];
    fastpair_chunk_info all = {.first_row = column->first_row[number],
                               .rows = chunk->rows,
                               .nulls = chunk->nulls,
                               .first_byte = column->first_byte[number],
                               .decoded_bytes = chunk->decoded_bytes,
                               .file_offset = chunk->position,
                               .file_bytes = chunk->block_bytes,
                               .codec = FASTPAIR_CODEC_STORED,
                               .dictionary = FASTPAIR_NO_DICTIONARY};
    if (chunk->coded) {
        all.codes = chunk->codes;
        all.codec = column->dictionaries[chunk->dictionary].dict.codec;
        all.code_bits = column->dictionaries[chunk->dictionary].dict.code_bits;
        all.dictionary = chunk->dictionary;
    }
    return fp_info_copy("fastpair_chunk_info", &all, sizeof all, info, error);
}

fastpair_status fastpair_column_find_chunk(const fastpair_column *column, uint64_t row,
                                           uint64_t *chunk, fastpair_error *error) {
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
