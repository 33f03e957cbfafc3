/* row_offsets.cuh - where rows begin. In: a chunk's row-length section (docs/format.md, section 3).
 * Out: 32- or 64-bit offsets within the column, one per row, and one where a column's last row
 * ends.
 *
 * A warp takes a block of 256 rows in 8 rounds of 32; each round is a scan on top of the round
 * before. Refuses, writing nothing: a block that lies outside the section, or whose rows do not end
 * where the next block begins. */
#ifndef FP_GPU_ROW_OFFSETS_CUH
#define FP_GPU_ROW_OFFSETS_CUH

#include "warp.cuh"

#define FP_ROWS_PER_BLOCK 256u /* of the section */
#define FP_ROW_ROUNDS     8

/* The w-bit number `index` of packed words. Reads the second word only where the number goes on in
 * it. */
DEVICE uint32_t rows_unpack(uint64_t packed, uint32_t index, uint32_t bits) {
    uint32_t bit = index * bits, shift = bit % 32;
    uint64_t at = packed + bit / 32 * 4;
    if (bits == 0) return 0;
    uint32_t low = global_load4(at), high = shift + bits > 32 ? global_load4(at + 4) : 0;
    return funnel_right(low, high, shift) & (0xffffffffu >> (32 - bits));
}

DEVICE void rows_store(const fp_gpu_offsets *chunk, uint32_t row, uint64_t offset) {
    if (chunk->offset_bits == 32)
        global_store4(chunk->out + 4 * (uint64_t)row, (uint32_t)offset);
    else
        global_store8(chunk->out + 8 * (uint64_t)row, offset);
}

/* A kernel: each warp takes one block of the section. */
DEVICE void row_offsets(const fp_gpu_offsets_launch *launch) {
    const fp_gpu_offsets *chunk = &launch->entry[block_y()];
    uint32_t blocks = chunk->rows / FP_ROWS_PER_BLOCK + (chunk->rows % FP_ROWS_PER_BLOCK != 0);
    uint32_t block = block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    uint64_t directory = 16 * (uint64_t)blocks;
    if (block >= blocks) return;
    if (directory > chunk->lengths_bytes) {
        if (lane() == 0) report(chunk->status, FP_GPU_BAD_LENGTHS);
        return;
    }
    uint32_t first = block * FP_ROWS_PER_BLOCK;
    uint32_t rows = least(chunk->rows - first, FP_ROWS_PER_BLOCK);
    int is_last = block + 1 == blocks;

    /* Directory entry: begin, place of the packed lengths after the directory, minimum, bits. */
    uint64_t at = chunk->lengths + 16 * (uint64_t)block;
    fp_words4 entry = global_load16(at);
    uint32_t begin = entry.word[0], bits = entry.word[3] & 255;
    uint32_t end = is_last ? chunk->decoded_bytes : global_load4(at + 16);
    uint64_t packed_bytes = (uint64_t)(rows * bits + 31) / 32 * 4;
    uint64_t room = chunk->lengths_bytes - directory;
    uint32_t bad = bits > 32 || entry.word[1] % 4 || entry.word[1] + packed_bytes > room;
    if (bad) bits = 0;

    uint32_t start[FP_ROW_ROUNDS], through = begin;
    UNROLL for (uint32_t r = 0; r < FP_ROW_ROUNDS; r++) {
        uint32_t row = 32 * r + lane(), length = 0;
        if (row < rows) {
            uint32_t above = rows_unpack(chunk->lengths + directory + entry.word[1], row, bits);
            length = entry.word[2] + above;
            bad |= length < above;
        }
        uint32_t sum = warp_inclusive_sum(length);
        start[r] = through + sum - length;
        /* Sums are modulo 2^32. The first row whose true end is beyond that has a true start, and
         * ends before that start. */
        bad |= start[r] + length < start[r];
        through += warp_shfl(sum, 31);
    }
    bad |= through != end || end > chunk->decoded_bytes || (block == 0 && begin != 0);
    if (warp_ballot(bad != 0)) {
        if (lane() == 0) report(chunk->status, FP_GPU_BAD_LENGTHS);
        return;
    }
    UNROLL for (uint32_t r = 0; r < FP_ROW_ROUNDS; r++) {
        uint32_t row = 32 * r + lane();
        if (row < rows) rows_store(chunk, first + row, chunk->first_byte + start[r]);
    }
    if (is_last && chunk->closes_column && lane() == 0)
        rows_store(chunk, chunk->rows, chunk->first_byte + chunk->decoded_bytes);
}

#endif
