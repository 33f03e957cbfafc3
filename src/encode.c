/* encode.c - one chunk from rows to its block. In: rows, a model to parse with, a numbering. Out: a
 * complete block of docs/format.md, section 3. Refuses nothing but a lack of memory. */
#include "encode.h"

#include "lengths.h"
#include "pack.h"
#include "parse.h"
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
    fp_buffer_close(&draft->block, allocator);
    *draft = (fp_draft){0};
}

/* ---------------------------------------------------------------- parsing */

void fp_draft_parse(fp_draft *draft, const fastpair_dictionary *model,
                    const fastpair_allocator *allocator) {
    const fp_chunk_rows *rows = &draft->rows;
    fp_parsed *parsed = &draft->parsed;
    uint64_t bytes = fp_chunk_rows_bytes(rows);
    if (parsed->counts_capacity < model->tokens.count) {
        fp_release(allocator, parsed->counts);
        parsed->counts = fp_allocate(allocator, model->tokens.count, sizeof *parsed->counts);
        parsed->counts_capacity = parsed->counts ? model->tokens.count : 0;
    }
    if (parsed->ids_capacity < bytes) {
        fp_release(allocator, parsed->ids);
        parsed->ids = fp_allocate(allocator, bytes, sizeof *parsed->ids);
        parsed->ids_capacity = parsed->ids ? bytes : 0;
    }
    if (!parsed->counts || (bytes && !parsed->ids)) {
        draft->status = fp_fail_memory(&draft->error, bytes * sizeof *parsed->ids);
        return;
    }
    memset(parsed->counts, 0, model->tokens.count * sizeof *parsed->counts);
    parsed->codes =
        bytes ? fp_parse_rows(model->matcher, rows->bytes, rows->offsets, rows->rows, parsed->ids)
              : 0;
    for (uint64_t i = 0; i < parsed->codes; i++) parsed->counts[parsed->ids[i]]++;
    draft->status = FASTPAIR_OK;
}

uint64_t fp_draft_coded_size(const fp_draft *draft, uint32_t code_bits, uint32_t batch_codes) {
    return fp_packed_size(draft->parsed.codes, code_bits) +
           fp_sidecar_size(draft->parsed.codes, batch_codes);
}

uint64_t fp_draft_saving(const fp_draft *draft, uint32_t code_bits, uint32_t batch_codes) {
    uint64_t stored = fp_chunk_rows_bytes(&draft->rows),
             coded = fp_draft_coded_size(draft, code_bits, batch_codes);
    return coded < stored ? stored - coded : 0;
}

/* ---------------------------------------------------------------- building */

static void write_validity(const fp_chunk_rows *rows, uint8_t *section) {
    memset(section, 0, (size_t)((rows->rows + 7) / 8));
    for (uint64_t row = 0; row < rows->rows; row++)
        section[row / 8] |= (uint8_t)(!rows->null_rows[row] << (row % 8));
}

/* Sets the section sizes, which follow from counts alone. */
static void measure(fp_draft *draft, const fp_numbering *numbering, uint32_t batch_codes) {
    const fp_chunk_rows *rows = &draft->rows;
    const uint64_t codes = draft->parsed.codes;
    fp_chunk *chunk = &draft->chunk;
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
        chunk->batch_codes = batch_codes;
        chunk->group_batches = fp_group_batches(batch_codes);
        chunk->sections[FP_SECTION_CODES].size = fp_packed_size(codes, numbering->dict.code_bits);
        chunk->sections[FP_SECTION_SIDECAR].size = fp_sidecar_size(codes, batch_codes);
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

void fp_draft_build(fp_draft *draft, const fp_numbering *numbering, uint32_t batch_codes,
                    uint32_t alignment, const fastpair_allocator *allocator) {
    const fp_chunk_rows *rows = &draft->rows;
    fp_chunk *chunk = &draft->chunk;
    measure(draft, numbering, batch_codes);
    fp_chunk_layout(chunk, alignment);
    draft->block.size = 0;
    draft->status = fp_buffer_reserve(&draft->block, allocator, chunk->block_bytes, &draft->error);
    if (draft->status) return;
    uint8_t *block = draft->block.data;
    draft->block.size = chunk->block_bytes;
    zero_gaps(chunk, block);

    uint8_t *codes = block + chunk->sections[FP_SECTION_CODES].offset;
    if (draft->coded) {
        uint16_t *ids = draft->parsed.ids;
        const uint64_t count = draft->parsed.codes;
        for (uint64_t i = 0; i < count; i++) ids[i] = (uint16_t)numbering->code_of_id[ids[i]];
        chunk->largest_batch =
            fp_sidecar_write(ids, count, numbering->lengths_of_code, batch_codes,
                             block + chunk->sections[FP_SECTION_SIDECAR].offset, chunk->by_length);
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
}
