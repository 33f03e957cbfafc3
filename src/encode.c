/* encode.c - one chunk from rows to its block. In: rows, a model to parse with, a numbering. Out: a complete block of
 * docs/format.md, section 3. Jobs share nothing that changes, so a writer runs several at once. */
#include "encode.h"

#include "lengths.h"
#include "pack.h"
#include "sidecar.h"

#include <string.h>

uint64_t fp_job_coded_size(const fp_job *job, uint32_t code_bits, uint32_t batch_codes) {
    return fp_packed_size(job->codes, code_bits) + fp_sidecar_size(job->codes, batch_codes);
}

void fp_job_parse(fp_job *job, const fastpair_dictionary *model,
                  const fastpair_allocator *allocator) {
    uint64_t bytes = fp_job_bytes(job);
    if (job->counts_capacity < model->tokens.count) {
        fp_release(allocator, job->counts);
        job->counts = fp_allocate(allocator, model->tokens.count, sizeof *job->counts);
        job->counts_capacity = job->counts ? model->tokens.count : 0;
    }
    if (job->ids_capacity < bytes) {
        fp_release(allocator, job->ids);
        job->ids = fp_allocate(allocator, bytes, sizeof *job->ids);
        job->ids_capacity = job->ids ? bytes : 0;
    }
    if (!job->counts || (bytes && !job->ids)) {
        job->status = fp_fail_memory(&job->error, bytes * sizeof *job->ids);
        return;
    }
    memset(job->counts, 0, model->tokens.count * sizeof *job->counts);
    job->codes =
        bytes ? fp_parse_rows(model->matcher, job->bytes, job->offsets, job->rows, job->ids) : 0;
    for (uint64_t i = 0; i < job->codes; i++) job->counts[job->ids[i]]++;
    job->status = FASTPAIR_OK;
}

static void write_validity(const fp_job *job, uint8_t *section) {
    memset(section, 0, (size_t)((job->rows + 7) / 8));
    for (uint64_t row = 0; row < job->rows; row++)
        section[row / 8] |= (uint8_t)(!job->null_rows[row] << (row % 8));
}

/* Sets the section sizes, which follow from counts alone. */
static void measure(fp_job *job, const fp_numbering *numbering, uint32_t batch_codes) {
    fp_chunk *chunk = &job->chunk;
    *chunk = (fp_chunk){.coded = job->coded,
                        .has_validity = job->nulls != 0,
                        .dictionary = FP_NO_DICTIONARY,
                        .rows = job->rows,
                        .nulls = job->nulls,
                        .decoded_bytes = fp_job_bytes(job)};
    chunk->sections[FP_SECTION_CODES].size = chunk->decoded_bytes;
    if (job->coded) {
        chunk->dictionary = numbering->number;
        chunk->codes = job->codes;
        chunk->batch_codes = batch_codes;
        chunk->group_batches = fp_group_batches(batch_codes);
        chunk->sections[FP_SECTION_CODES].size =
            fp_packed_size(job->codes, numbering->dict.code_bits);
        chunk->sections[FP_SECTION_SIDECAR].size = fp_sidecar_size(job->codes, batch_codes);
    }
    chunk->sections[FP_SECTION_LENGTHS].size = fp_lengths_size(job->offsets, job->rows);
    chunk->sections[FP_SECTION_VALIDITY].size = job->nulls ? (job->rows + 7) / 8 : 0;
}

void fp_job_build(fp_job *job, const fp_numbering *numbering, uint32_t batch_codes,
                  uint32_t alignment, const fastpair_allocator *allocator) {
    fp_chunk *chunk = &job->chunk;
    measure(job, numbering, batch_codes);
    fp_chunk_layout(chunk, alignment);
    job->block.size = 0;
    job->status = fp_buffer_reserve(&job->block, allocator, chunk->block_bytes, &job->error);
    if (job->status) return;
    uint8_t *block = job->block.data;
    job->block.size = chunk->block_bytes;

    /* Zero what no section covers: the gaps between sections. */
    uint64_t end = FP_CHUNK_HEADER;
    for (int s = 0; s < FP_SECTIONS; s++) {
        const fp_section *section = &chunk->sections[s];
        if (!section->size) continue;
        memset(block + end, 0, (size_t)(section->offset - end));
        end = section->offset + section->size;
    }
    memset(block + end, 0, (size_t)(chunk->block_bytes - end));

    uint8_t *codes = block + chunk->sections[FP_SECTION_CODES].offset;
    if (job->coded) {
        for (uint64_t i = 0; i < job->codes; i++)
            job->ids[i] = (uint16_t)numbering->code_of_id[job->ids[i]];
        chunk->largest_batch =
            fp_sidecar_write(job->ids, job->codes, numbering->lengths_of_code, batch_codes,
                             block + chunk->sections[FP_SECTION_SIDECAR].offset, chunk->by_length);
        fp_pack(job->ids, job->codes, numbering->dict.code_bits, codes);
    } else if (chunk->decoded_bytes) {
        memcpy(codes, job->bytes + job->offsets[0], (size_t)chunk->decoded_bytes);
    }
    fp_lengths_write(job->offsets, job->rows, block + chunk->sections[FP_SECTION_LENGTHS].offset);
    if (job->nulls) write_validity(job, block + chunk->sections[FP_SECTION_VALIDITY].offset);
    for (int s = 0; s < FP_SECTIONS; s++)
        chunk->sections[s].checksum =
            fp_checksum(block + chunk->sections[s].offset, chunk->sections[s].size);
    fp_chunk_write_header(chunk, block);
}

void fp_job_free(fp_job *job, const fastpair_allocator *allocator) {
    fp_release(allocator, job->ids);
    fp_release(allocator, job->counts);
    fp_buffer_free(&job->block, allocator);
    *job = (fp_job){0};
}
