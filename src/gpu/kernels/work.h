/* work.h - what a launch passes by value for a chunk. In: the chunk's and its dictionary's table entries,
 * the kernel's parameters. Out: an fp_gpu_work, or an fp_gpu_span for assembled kernels. Plain C for the host;
 * staged kernels that are not given one work the same out from the tables (chunk.cuh). */
#ifndef FP_GPU_WORK_H
#define FP_GPU_WORK_H

#include "params.h"

#include <string.h>

/* The chunk's output positions, for batches of 32 * codes_per_lane codes, and its counts. Which batches of the launch and
 * which group it is, the caller adds. `out` is the address of the output. */
static inline fp_gpu_span fp_gpu_span_make(const fp_gpu_chunk *chunk, uint64_t out,
                                           uint32_t codes_per_lane) {
    fp_gpu_span span;
    memset(&span, 0, sizeof span);
    uint32_t batch = 32 * codes_per_lane, group = chunk->group_batches;
    span.codes = chunk->codes;
    span.out = out + chunk->out_offset;
    span.code_count = (uint32_t)chunk->code_count;
    span.decoded_bytes = chunk->decoded_bytes;
    if (chunk->positions) {
        span.positions = chunk->positions;
        span.entries = (uint32_t)((chunk->code_count + batch - 1) / batch);
        span.place_each = 1;
    } else {
        while (2u << span.place_shift <= group) span.place_shift++;
        span.positions = chunk->sidecar;
        span.numbers_at =
            (uint32_t)(((uint64_t)chunk->file_batches + group - 1) >> span.place_shift);
        span.entries = chunk->file_batches;
        span.place_each = (uint8_t)(batch / chunk->batch_codes);
    }
    return span;
}

/* codes_per_lane and low_bytes are the kernel's K and W. `dict` is not looked at if the chunk is stored. */
static inline fp_gpu_work fp_gpu_work_make(const fp_gpu_chunk *chunk, const fp_gpu_dict *dict,
                                           uint64_t out, uint32_t codes_per_lane,
                                           uint32_t low_bytes) {
    fp_gpu_work work;
    memset(&work, 0, sizeof work);
    if (chunk->code_count == 0) return work;
    fp_gpu_span span = fp_gpu_span_make(chunk, out, codes_per_lane);
    work.codes = span.codes;
    work.out = span.out;
    work.positions = span.positions;
    work.numbers = span.numbers_at ? span.positions + 4 * (uint64_t)span.numbers_at : 0;
    work.entries = span.entries;
    work.place_shift = span.place_shift;
    work.place_each = span.place_each;
    work.code_count = span.code_count;
    work.decoded_bytes = span.decoded_bytes;
    work.low = low_bytes == 8 ? dict->low8 : dict->rows16;
    work.high = dict->high8;
    work.nibbles = dict->nibbles;
    work.slots = dict->slots;
    work.code_bits = (uint8_t)dict->code_bits;
    return work;
}

#endif
