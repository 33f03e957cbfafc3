/* column_info.c - what a column holds. In: an open column. Out: sums over its headers, checked when it was opened; no
 * section is read. Refuses an info struct that does not say how large it is. */
#include "column.h"

#include "options.h"

fastpair_status fastpair_column_get_info(const fastpair_column *column, fastpair_column_info *info,
                                         fastpair_error *error) {
    if (!column || !info || info->struct_size < sizeof info->struct_size ||
        info->struct_size > FP_OPTIONS_LARGEST)
        return fp_fail(
            error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
            "fastpair_column_get_info: give a column, and an info whose struct_size is set");
    fastpair_column_info all = {.struct_size = info->struct_size,
                                .rows = column->totals.rows,
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
        /* The footer's number is for information and nobody checks it; do not pass nonsense on. */
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
    /* A caller of an earlier version gets the fields it knows; one of a later version gets zeros behind ours. */
    size_t wanted = info->struct_size;
    memset(info, 0, wanted);
    memcpy(info, &all, wanted < sizeof all ? wanted : sizeof all);
    return FASTPAIR_OK;
}
