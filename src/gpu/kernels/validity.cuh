/* validity.cuh - which rows are null. In: a chunk's validity section, one bit per row. Out: the
 * same bits in the column's bitmap, where the chunk's first row may be any bit of a word.
 *
 * A lane makes one 32-bit word of the bitmap. The trick: a word that two chunks share is written by
 * atomic operations on each chunk's own bits, so that chunks need no order among each other and the
 * bitmap need not be cleared first. Refuses nothing: every section is a bitmap. */
#ifndef FP_GPU_VALIDITY_CUH
#define FP_GPU_VALIDITY_CUH

#include "warp.cuh"

/* Bits first .. first + 31 of the section; those from `rows` on are 0. Reads whole bytes that are
 * in the section: it has no more than (rows + 7) / 8. */
DEVICE uint32_t validity_bits(uint64_t section, uint32_t first, uint32_t rows) {
    uint32_t count = least(rows - first, 32), mask = 0xffffffffu >> (32 - count);
    if (!section) return mask;
    uint32_t byte = first / 8, last = (first + count - 1) / 8, shift = first % 8;
    uint64_t bits = 0;
    UNROLL for (uint32_t i = 0; i < 5; i++) {
        if (byte + i <= last) bits |= (uint64_t)global_load1(section + byte + i) << 8 * i;
    }
    return (uint32_t)(bits >> shift) & mask;
}

/* A kernel: a thread per word of the bitmap that the chunk has rows in. */
DEVICE void validity(const fp_gpu_validity_launch *launch) {
    const fp_gpu_validity *chunk = &launch->entry[block_y()];
    uint32_t word = block_x() * FP_GPU_HELPER_THREADS + thread_in_block();
    uint32_t shift = (uint32_t)chunk->first_row % 32;
    uint64_t words = ((uint64_t)shift + chunk->rows + 31) / 32;
    if (word >= words) return;
    uint64_t at = chunk->out + 4 * (chunk->first_row / 32 + word);
    uint32_t before = word ? 0 : shift; /* bits of this word that are of earlier chunks */
    uint32_t first = word ? 32 * word - shift : 0;
    uint32_t count = least(chunk->rows - first, 32 - before);
    uint32_t own = 0xffffffffu >> (32 - count) << before;
    if (chunk->closes_column && word + 1 == words) own = 0xffffffffu << before;
    uint32_t bits = validity_bits(chunk->section, first, chunk->rows) << before;
    if (own == 0xffffffffu) {
        global_store4(at, bits);
    } else {
        global_and4(at, ~own);
        global_or4(at, bits & own);
    }
}

#endif
