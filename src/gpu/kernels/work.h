/* work.h - what a launch passes by value for a chunk. In: the chunk's and its dictionary's table entries,
 * the kernel's parameters. Out: an fp_gpu_work. Plain C for the host; kernels that are not given one work
 * the same out from the tables (chunk.cuh). */
#ifndef FP_GPU_WORK_H
#define FP_GPU_WORK_H

#include "params.h"

#include <string.h>

/* `out` is the address of the output; codes_per_lane and low_bytes are the kernel's K and W. `dict` is not
 * looked at if the chunk is stored. */
static inline fp_gpu_work fp_gpu_work_make(const fp_gpu_chunk *chunk, const fp_gpu_dict *dict, uint64_t out,
                                           uint32_t codes_per_lane, uint32_t low_bytes) {
    fp_gpu_work work;
    memset(&work, 0, sizeof work);
    if (chunk->code_count == 0) return work;
    uint32_t batch = 32 * codes_per_lane, group = chunk->group_batches;
    work.codes = chunk->codes;
    work.out = out + chunk->out_offset;
    work.low = low_bytes == 8 ? dict->low8 : dict->rows16;
    work.high = dict->high8;
    work.nibbles = dict->nibbles;
    work.code_count = (uint32_t)chunk->code_count;
    work.decoded_bytes = chunk->decoded_bytes;
    work.slots = dict->slots;
    work.code_bits = (uint8_t)dict->code_bits;
    if (chunk->positions) {
        work.positions = chunk->positions;
        work.entries = (uint32_t)((chunk->code_count + batch - 1) / batch);
        work.place_each = 1;
    } else {
        while (2u << work.place_shift <= group) work.place_shift++;
        work.positions = chunk->sidecar;
        work.numbers = chunk->sidecar + 4 * (((uint64_t)chunk->file_batches + group - 1) >> work.place_shift);
        work.entries = chunk->file_batches;
        work.place_each = (uint8_t)(batch / chunk->batch_codes);
    }
    return work;
}

#endif
