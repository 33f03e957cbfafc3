/* encode.c - one chunk from rows to its block. In: rows, a model to parse with, a numbering. Out: a
 * complete block of docs/format.md, section 3. Refuses nothing but a lack of memory. */
#include "encode.h"

#include "lengths.h"
#include "pack.h"
#include "parse_optimal.h"
#include "sidecar.h"

#include <string.h>

void fp_draft_begin(fp_draft *draft, const fp_chunk_rows *rows) {
    draft->rows = *rows;
    draft->parsed.codes = 0;
    draft->coded = 0;
}

void fp_draft_close(fp_draft *draft, const fastpair_allocator *allocator) {
    fp_release(allocator, draft->parsed.ids);
    fp_release(allocator, draft->parsed.counts);
    *draft = (fp_draft){0};
}

/* ---------------------------------------------------------------- parsing */

/* Makes room for the ids, one per byte, and for counts where they are not larger than the ids. */
static fastpair_status reserve(fp_parsed *parsed, uint64_t bytes, uint32_t tokens,
                               const fastpair_allocator *allocator) {
    parsed->counted = tokens * sizeof *parsed->counts <= bytes * sizeof *parsed->ids ? tokens : 0;
    if (parsed->counts_capacity < parsed->counted) {
        fp_release(allocator, parsed->counts);
        parsed->counts = fp_allocate(allocator, parsed->counted, sizeof *parsed->counts);
        parsed->counts_capacity = parsed->counts ? parsed->counted : 0;
        if (!parsed->counts) return FASTPAIR_ERROR_OUT_OF_MEMORY;
    }
    if (parsed->ids_capacity < bytes) {
        fp_release(allocator, parsed->ids);
        parsed->ids = fp_allocate(allocator, bytes, sizeof *parsed->ids);
        parsed->ids_capacity = parsed->ids ? bytes : 0;
        if (!parsed->ids) return FASTPAIR_ERROR_OUT_OF_MEMORY;
    }
    return FASTPAIR_OK;
}

/* Parses rows some MiB at a time and asks in between. Tokens do not cross rows, so the ids are the
 * same. Without scratch rows are parsed greedily. Returns whether to go on. */
static int parse_and_ask(fp_parsed *parsed, const fp_chunk_rows *rows, const fp_matcher *matcher,
                         fp_optimal_scratch *scratch, fp_poll *poll) {
    const uint64_t *offsets = rows->offsets;
    const uint64_t most = poll && poll->progress ? FP_POLL_BYTES : UINT64_MAX;
    for (uint64_t first = 0, row = 0; first < rows->rows; first = row) {
        if (most == UINT64_MAX) row = rows->rows;
        while (row < rows->rows && offsets[row] - offsets[first] < most) row++;
        if (fp_poll_work(poll, offsets[row] - offsets[first])) return 0;
        /* Without bytes there may be no memory for ids. */
        if (offsets[row] == offsets[first]) continue;
        uint16_t *ids = parsed->ids + parsed->codes;
        parsed->codes +=
            scratch ? fp_parse_rows_optimal(matcher, rows->bytes, offsets + first, row - first,
                                            scratch, ids)
                    : fp_parse_rows(matcher, rows->bytes, offsets + first, row - first, ids);
    }
    return 1;
}

fastpair_status fp_draft_failure(const fp_draft *draft, fastpair_error *error) {
    return draft->status == FASTPAIR_ERROR_CANCELLED
               ? fp_fail_cancelled(error)
               : fp_fail_memory(error, fp_chunk_rows_bytes(&draft->rows));
}

void fp_draft_parse(fp_draft *draft, const fastpair_dictionary *model,
                    const fp_settings *settings) {
    const fp_chunk_rows *rows = &draft->rows;
    fp_parsed *parsed = &draft->parsed;
    uint64_t bytes = fp_chunk_rows_bytes(rows);
    parsed->codes = 0;
    if ((draft->status = reserve(parsed, bytes, model->tokens.count, &settings->allocator))) return;
    fp_optimal_scratch *scratch = NULL;
    if (settings->level > FASTPAIR_LEVEL_GREEDY &&
        !(scratch = fp_allocate(&settings->allocator, 1, sizeof *scratch)))
        draft->status = FASTPAIR_ERROR_OUT_OF_MEMORY;
    else if (!parse_and_ask(parsed, rows, model->matcher, scratch, settings->poll))
        draft->status = FASTPAIR_ERROR_CANCELLED;
    fp_release(&settings->allocator, scratch);
    if (draft->status) return;
    if (!parsed->counted) return;
    memset(parsed->counts, 0, parsed->counted * sizeof *parsed->counts);
    for (uint64_t i = 0; i < parsed->codes; i++) parsed->counts[parsed->ids[i]]++;
}

uint64_t fp_draft_coded_size(const fp_draft *draft, fp_packing packing) {
    return fp_packed_size(draft->parsed.codes, packing.code_bits) +
           fp_sidecar_size(draft->parsed.codes, packing.batch_codes, packing.group_batches);
}

uint64_t fp_draft_saving(const fp_draft *draft, fp_packing packing) {
    uint64_t stored = fp_chunk_rows_bytes(&draft->rows),
             coded = fp_draft_coded_size(draft, packing);
    return coded < stored ? stored - coded : 0;
}

/* ---------------------------------------------------------------- building */

static void write_validity(const fp_chunk_rows *rows, uint8_t *section) {
    memset(section, 0, (size_t)((rows->rows + 7) / 8));
    for (uint64_t row = 0; row < rows->rows; row++)
        section[row / 8] |= (uint8_t)(!rows->null_rows[row] << (row % 8));
}

/* Sets the section sizes, which follow from counts alone. */
static void measure(const fp_draft *draft, const fp_numbering *numbering,
                    const fp_settings *settings, fp_chunk *chunk) {
    const fp_chunk_rows *rows = &draft->rows;
    const uint64_t codes = draft->parsed.codes;
    *chunk = (fp_chunk){.coded = draft->coded,
                        .has_validity = rows->nulls != 0,
                        .dictionary = FP_NO_DICTIONARY,
                        .rows = rows->rows,
                        .nulls = rows->nulls,
                        .decoded_bytes = fp_chunk_rows_bytes(rows)};
    chunk->sections[FP_SECTION_CODES].size = chunk->decoded_bytes;
    if (draft->coded) {
        chunk->dictionary = numbering->number;
        chunk->codes = codes;
        fp_packing packing =
            fp_packing_for(settings, numbering->dict.code_bits, numbering->dict.max_token);
        chunk->batch_codes = packing.batch_codes;
        chunk->group_batches = packing.group_batches;
        chunk->sections[FP_SECTION_CODES].size = fp_packed_size(codes, packing.code_bits);
        chunk->sections[FP_SECTION_SIDECAR].size =
            fp_sidecar_size(codes, packing.batch_codes, packing.group_batches);
    }
    chunk->sections[FP_SECTION_LENGTHS].size = fp_lengths_size(rows->offsets, rows->rows);
    chunk->sections[FP_SECTION_VALIDITY].size = rows->nulls ? (rows->rows + 7) / 8 : 0;
}

/* Zeroes what no section covers. */
static void zero_gaps(const fp_chunk *chunk, uint8_t *block) {
    uint64_t end = FP_CHUNK_HEADER;
    for (int s = 0; s < FP_SECTIONS; s++) {
        const fp_section *section = &chunk->sections[s];
        if (!section->size) continue;
        memset(block + end, 0, (size_t)(section->offset - end));
        end = section->offset + section->size;
    }
    memset(block + end, 0, (size_t)(chunk->block_bytes - end));
}

/* Puts a cold block in the place of the warm one, if it is smaller. */
static void make_cold(const fp_draft *draft, const fp_numbering *numbering,
                      const fp_settings *settings, fp_block *result) {
    fp_cold_input input = {.warm = &result->chunk,
                           .block = result->bytes.data,
                           .dict = draft->coded ? &numbering->dict : NULL,
                           .lengths_of_code = draft->coded ? numbering->lengths_of_code : NULL,
                           .decoded = draft->rows.bytes + draft->rows.offsets[0],
                           .alignment = settings->alignment,
                           .level = settings->level,
                           .allocator = &settings->allocator};
    fp_chunk chunk;
    result->status = fp_cold_build(&result->cold, &input, &chunk);
    if (result->status || !chunk.cold) return;
    result->chunk = chunk;
    fp_buffer warm = result->bytes;
    result->bytes = result->cold.block;
    result->cold.block = warm;
}

void fp_draft_build(fp_draft *draft, const fp_numbering *numbering, const fp_settings *settings,
                    fp_block *result) {
    const fp_chunk_rows *rows = &draft->rows;
    fp_chunk *chunk = &result->chunk;
    measure(draft, numbering, settings, chunk);
    fp_chunk_layout(chunk, settings->alignment);
    result->bytes.size = 0;
    result->status =
        fp_buffer_reserve(&result->bytes, &settings->allocator, chunk->block_bytes, NULL);
    if (result->status) return;
    uint8_t *block = result->bytes.data;
    result->bytes.size = chunk->block_bytes;
    zero_gaps(chunk, block);

    uint8_t *codes = block + chunk->sections[FP_SECTION_CODES].offset;
    if (draft->coded) {
        uint16_t *ids = draft->parsed.ids;
        const uint64_t count = draft->parsed.codes;
        for (uint64_t i = 0; i < count; i++) ids[i] = (uint16_t)numbering->code_of_id[ids[i]];
        fp_sidecar_write(ids, numbering->lengths_of_code,
                         block + chunk->sections[FP_SECTION_SIDECAR].offset, chunk);
        fp_pack(ids, count, numbering->dict.code_bits, codes);
    } else if (chunk->decoded_bytes) {
        memcpy(codes, rows->bytes + rows->offsets[0], (size_t)chunk->decoded_bytes);
    }
    fp_lengths_write(rows->offsets, rows->rows, block + chunk->sections[FP_SECTION_LENGTHS].offset);
    if (rows->nulls) write_validity(rows, block + chunk->sections[FP_SECTION_VALIDITY].offset);
    for (int s = 0; s < FP_SECTIONS; s++)
        chunk->sections[s].checksum =
            fp_checksum(block + chunk->sections[s].offset, chunk->sections[s].size);
    fp_chunk_write_header(chunk, block);
    if (settings->cold) make_cold(draft, numbering, settings, result);
}
