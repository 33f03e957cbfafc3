/* launch_chunks.c - queueing the kernels beside the decoder, which take one entry per chunk. In: a
 * decode of an uploaded job. Out: kernels on the caller's stream that compute output positions, row
 * offsets and validity. */
#include "launch.h"

#define WARPS (FP_GPU_HELPER_THREADS / 32)
/* Blocks of row lengths that a thread block takes. */
#define OFFSET_BLOCKS (WARPS * FP_GPU_LENGTH_BLOCKS)

/* Blocks for so many pieces of work, `each` of them per block. */
static uint32_t blocks_for(uint64_t pieces, uint32_t each) {
    return (uint32_t)((pieces + each - 1) / each);
}

/* Launches a kernel over `count` entries of `bytes` bytes, each with up to `blocks` blocks. */
static fp_cu_result launch_entries(const fp_decode *decode, fp_cu_function function,
                                   uint32_t blocks, uint32_t count, fp_launch launch) {
    launch.function = function;
    launch.blocks_x = blocks;
    launch.blocks_y = count;
    launch.threads = FP_GPU_HELPER_THREADS;
    launch.used *= count;
    return count ? fp_gpu_launch(decode->job->gpu, &launch, decode->stream) : 0;
}

/* ---------------------------------------------------------------- positions */

static fp_cu_result flush_positions(const fp_decode *decode, fp_gpu_positions_launch *launched,
                                    uint32_t blocks, uint32_t count) {
    const fastpair_gpu *gpu = decode->job->gpu;
    fp_launch launch = {
        .parameters = launched, .used = sizeof *launched->entry, .size = sizeof *launched};
    fp_cu_result result = launch_entries(decode, gpu->measure_batches, blocks, count, launch);
    return result ? result : launch_entries(decode, gpu->scan_batches, 1, count, launch);
}

fp_cu_result fp_launch_positions(const fp_decode *decode) {
    const fastpair_gpu_job *job = decode->job;
    fp_gpu_positions_launch launched;
    uint32_t count = 0, blocks = 0;
    fp_cu_result result = 0;
    for (uint64_t i = decode->first; job->regenerates && i < decode->end && !result; i++) {
        const fp_job_chunk *chunk = &job->chunks[i];
        if (!chunk->positions) continue;
        const fp_job_dict *dict = &job->dicts[chunk->dict];
        const fp_kernel *kernel = fp_job_kernel(dict);
        launched.entry[count++] =
            (fp_gpu_positions){.codes = fp_job_section(job, chunk, FP_SECTION_CODES),
                               .positions = job->device_memory + chunk->positions,
                               .lengths = job->device_memory + dict->at.lengths,
                               .code_count = chunk->codes,
                               .slots = dict->slots,
                               .code_bits = dict->code_bits,
                               .codes_per_lane = kernel->codes_per_lane};
        uint32_t needed = blocks_for(fp_kernel_batches(kernel, chunk->codes), WARPS);
        if (needed > blocks) blocks = needed;
        if (count < FP_GPU_ENTRIES) continue;
        result = flush_positions(decode, &launched, blocks, count);
        count = blocks = 0;
    }
    return result ? result : flush_positions(decode, &launched, blocks, count);
}

/* ---------------------------------------------------------------- rows */

static fp_gpu_offsets offsets_of(const fp_decode *decode, const fp_job_chunk *chunk) {
    const fastpair_gpu_output *to = fp_output(&decode->outputs, chunk->column);
    return (fp_gpu_offsets){.lengths = fp_job_section(decode->job, chunk, FP_SECTION_LENGTHS),
                            .lengths_bytes = chunk->lengths_bytes,
                            .out = to->offsets + chunk->first_row * (to->offset_bits / 8),
                            .first_byte = chunk->first_byte,
                            .status = to->status,
                            .rows = chunk->rows,
                            .decoded_bytes = chunk->decoded_bytes,
                            .offset_bits = to->offset_bits,
                            .closes_column = chunk->closes_column};
}

/* Columns without chunks have one offset, which is 0. */
static fp_cu_result fill_empty_columns(const fp_decode *decode) {
    const fastpair_gpu_job *job = decode->job;
    fp_cu_result result = 0;
    for (uint64_t c = 0; c < job->column_count && !result; c++) {
        const fastpair_gpu_output *to = fp_output(&decode->outputs, c);
        uint64_t at = job->columns[c].first_chunk;
        if (!job->columns[c].chunks && to->offsets && decode->first <= at && at <= decode->end)
            result = job->gpu->driver.fill(to->offsets, 0, to->offset_bits / 8, decode->stream);
    }
    return result;
}

fp_cu_result fp_launch_offsets(const fp_decode *decode) {
    const fastpair_gpu_job *job = decode->job;
    fp_gpu_offsets_launch launched;
    fp_launch launch = {
        .parameters = &launched, .used = sizeof *launched.entry, .size = sizeof launched};
    uint32_t count = 0, blocks = 0, room = sizeof launched.entry / sizeof *launched.entry;
    fp_cu_result result = fill_empty_columns(decode);
    for (uint64_t i = decode->first; i < decode->end && !result; i++) {
        const fp_job_chunk *chunk = &job->chunks[i];
        if (!fp_output(&decode->outputs, chunk->column)->offsets) continue;
        launched.entry[count++] = offsets_of(decode, chunk);
        uint32_t needed = blocks_for(blocks_for(chunk->rows, FP_LENGTH_BLOCK), OFFSET_BLOCKS);
        if (needed > blocks) blocks = needed;
        if (count < room) continue;
        result = launch_entries(decode, job->gpu->row_offsets, blocks, count, launch);
        count = blocks = 0;
    }
    return result ? result : launch_entries(decode, job->gpu->row_offsets, blocks, count, launch);
}

fp_cu_result fp_launch_validity(const fp_decode *decode) {
    const fastpair_gpu_job *job = decode->job;
    fp_gpu_validity_launch launched;
    fp_launch launch = {
        .parameters = &launched, .used = sizeof *launched.entry, .size = sizeof launched};
    uint32_t count = 0, blocks = 0;
    fp_cu_result result = 0;
    for (uint64_t i = decode->first; i < decode->end && !result; i++) {
        const fp_job_chunk *chunk = &job->chunks[i];
        uint64_t out = fp_output(&decode->outputs, chunk->column)->validity;
        if (!out) continue;
        launched.entry[count++] = (fp_gpu_validity){
            .section = chunk->has_validity ? fp_job_section(job, chunk, FP_SECTION_VALIDITY) : 0,
            .out = out,
            .first_row = chunk->first_row,
            .rows = chunk->rows,
            .closes_column = chunk->closes_column};
        uint64_t words = (chunk->first_row % 32 + chunk->rows + 31) / 32;
        uint32_t needed = blocks_for(words, FP_GPU_HELPER_THREADS);
        if (needed > blocks) blocks = needed;
        if (count < FP_GPU_ENTRIES) continue;
        result = launch_entries(decode, job->gpu->validity, blocks, count, launch);
        count = blocks = 0;
    }
    return result ? result : launch_entries(decode, job->gpu->validity, blocks, count, launch);
}
