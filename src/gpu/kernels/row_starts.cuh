/* row_starts.cuh - where rows begin among the codes. In: a chunk's codes, the lengths of tokens, where
 * batches begin and where rows begin, in bytes. Out: a bit per code, 1 where a row begins; a bit per
 * row, 1 where the row has bytes; how many of either in each batch and word.
 *
 * Done once per upload, so that searches need neither row lengths nor token lengths. A lane walks its
 * 32 codes and the rows side by side. Rows without bytes begin where the next row begins; where there
 * are many, the lane finds the next row by halving. Reports codes that have no token, rows that do not
 * begin with a token, and tokens that do not end where the chunk ends. */
#ifndef FP_GPU_ROW_STARTS_CUH
#define FP_GPU_ROW_STARTS_CUH

#include "search_params.h"
#include "warp.cuh"

DEVICE uint32_t starts_offset(const fp_gpu_row_starts *chunk, uint32_t row) {
    return global_load4(chunk->offsets + 4 * (uint64_t)row);
}

/* The first row of low .. rows that begins at or after a byte, or `rows`. */
DEVICE uint32_t starts_find(const fp_gpu_row_starts *chunk, uint32_t low, uint32_t byte) {
    uint32_t high = chunk->rows;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (starts_offset(chunk, middle) < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The row after `row`, which begins at a byte, that begins further on. */
DEVICE uint32_t starts_after(const fp_gpu_row_starts *chunk, uint32_t row, uint32_t byte) {
    if (row + 1 >= chunk->rows || starts_offset(chunk, row + 1) > byte) return row + 1;
    return starts_find(chunk, row + 1, byte + 1);
}

/* Code `at` of a chunk. */
DEVICE uint32_t starts_code(const fp_gpu_row_starts *chunk, uint32_t at) {
    uint64_t bit = (uint64_t)at * chunk->code_bits;
    uint32_t shift = (uint32_t)bit % 32;
    uint64_t from = chunk->codes + bit / 32 * 4;
    uint32_t low = global_load4(from);
    uint32_t high = shift + chunk->code_bits > 32 ? global_load4(from + 4) : 0;
    return funnel_right(low, high, shift) & ((1u << chunk->code_bits) - 1);
}

/* Bytes of a lane's tokens; *bad gets what is wrong with its codes. */
DEVICE uint32_t starts_measure(const fp_gpu_row_starts *chunk, uint32_t first, uint32_t count,
                               uint32_t *bad) {
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t code = starts_code(chunk, first + k);
        uint32_t length = global_load1(chunk->lengths + least(code, chunk->slots - 1));
        if (code >= chunk->slots || !length) *bad |= FP_GPU_BAD_CODE;
        bytes += length;
    }
    return bytes;
}

/* A kernel: a warp takes a batch. */
DEVICE void row_starts(const fp_gpu_row_starts_launch *launch) {
    const fp_gpu_row_starts *chunk = &launch->entry[block_y()];
    uint32_t batch = block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    uint32_t batches =
        chunk->code_count / FP_GPU_SEARCH_BATCH + (chunk->code_count % FP_GPU_SEARCH_BATCH != 0);
    if (batch >= batches) return;
    uint32_t first = batch * FP_GPU_SEARCH_BATCH + lane() * FP_GPU_SEGMENT, bad = 0, bits = 0;
    uint32_t count = least(excess(chunk->code_count, first), FP_GPU_SEGMENT);
    uint32_t bytes = starts_measure(chunk, first, count, &bad);
    uint32_t begin = global_load4(chunk->positions + 4 * (uint64_t)batch);
    uint32_t at = begin + warp_inclusive_sum(bytes) - bytes;
    uint32_t row = count ? starts_find(chunk, 0, at) : 0;
    uint32_t next = row < chunk->rows ? starts_offset(chunk, row) : chunk->decoded_bytes;
    for (uint32_t k = 0; k < count; k++) {
        if (next == at && row < chunk->rows) {
            bits |= 1u << k;
            row = starts_after(chunk, row, at);
            next = row < chunk->rows ? starts_offset(chunk, row) : chunk->decoded_bytes;
        }
        at += global_load1(chunk->lengths + least(starts_code(chunk, first + k), chunk->slots - 1));
        if (next < at) bad |= FP_GPU_BAD_LENGTHS;
    }
    if (count && first + count == chunk->code_count && at != chunk->decoded_bytes)
        bad |= FP_GPU_BAD_LENGTHS;
    if (first == 0 && !(bits & 1)) bad |= FP_GPU_BAD_LENGTHS;
    bad = warp_or(bad);
    if (bad && lane() == 0) report(chunk->status, bad);
    uint32_t sum = warp_inclusive_sum(popcount(bits));
    if (lane() == 31) global_store4(chunk->counts + 4 * (uint64_t)batch, sum);
    /* The row that ends the chunk ends it. */
    uint32_t end = chunk->code_count;
    if (first <= end && end - first < FP_GPU_SEGMENT) bits |= 1u << (end - first);
    global_store4(chunk->starts + first / 8, bits);
    if (batch + 1 == batches && lane() == 31)
        global_store4(chunk->starts + first / 8 + 4, end - first == FP_GPU_SEGMENT);
}

/* A kernel: a warp takes 32 rows. */
DEVICE void filled_rows(const fp_gpu_filled_rows_launch *launch) {
    const fp_gpu_filled_rows *chunk = &launch->entry[block_y()];
    uint32_t word = block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    uint32_t row = 32 * word + lane();
    if (32 * (uint64_t)word >= chunk->rows) return;
    uint64_t at = chunk->offsets + 4 * (uint64_t)row;
    uint32_t bits = warp_ballot(row < chunk->rows && global_load4(at) < global_load4(at + 4));
    if (lane() == 0) {
        global_store4(chunk->filled + 4 * (uint64_t)word, bits);
        global_store4(chunk->counts + 4 * (uint64_t)word, popcount(bits));
    }
}

#endif
