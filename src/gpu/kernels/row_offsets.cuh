/* row_offsets.cuh - where rows begin. In: a chunk's row-length section (docs/format.md, section 3). Out:
 * 32- or 64-bit offsets within the column, one a row, and one behind a column's last row.
 *
 * A warp takes a block of 256 rows in 8 rounds of 32; each round is a scan on top of the round before.
 * Refuses, writing nothing: a block that lies outside the section, or whose rows do not end where the next
 * block begins. */
#ifndef FP_GPU_ROW_OFFSETS_CUH
#define FP_GPU_ROW_OFFSETS_CUH

#include "warp.cuh"

#define FP_ROW_OFFSETS_THREADS 256
#define FP_ROWS_PER_BLOCK      256u /* of the section */
#define FP_ROW_ROUNDS          8

/* What the kernel reads from the chunk table. */
typedef struct rows_chunk {
    uint64_t lengths, lengths_bytes, rows, first_slot, column_offset;
    uint32_t decoded_bytes, last_in_column;
} rows_chunk;

DEVICE rows_chunk rows_open(const fp_gpu_launch *launch) {
    rows_chunk chunk;
    uint64_t entry =
        launch->chunks + (uint64_t)(launch->first_chunk + block_y()) * sizeof(fp_gpu_chunk);
    fp_words4 section = global_load16(entry + 80), slots = global_load16(entry + 96);
    chunk.lengths = global_load8(entry + 72);
    chunk.lengths_bytes = words_low(section);
    chunk.rows = words_high(section);
    chunk.first_slot = words_low(slots);
    chunk.column_offset = words_high(slots);
    chunk.decoded_bytes = global_load4(entry + 40);
    chunk.last_in_column = global_load4(entry + 60);
    return chunk;
}

/* The w-bit number `index` of packed words. Reads the second word only where the number goes on in it. */
DEVICE uint32_t rows_unpack(uint64_t packed, uint32_t index, uint32_t bits) {
    uint32_t bit = index * bits, shift = bit % 32;
    uint64_t at = packed + bit / 32 * 4;
    if (bits == 0) return 0;
    uint32_t low = global_load4(at), high = shift + bits > 32 ? global_load4(at + 4) : 0;
    return funnel_right(low, high, shift) & (0xffffffffu >> (32 - bits));
}

DEVICE void rows_store(const fp_gpu_launch *launch, uint64_t slot, uint64_t offset) {
    if (launch->offset_bits == 32)
        global_store4(launch->row_offsets + 4 * slot, (uint32_t)offset);
    else
        global_store8(launch->row_offsets + 8 * slot, offset);
}

/* A kernel: each warp takes one block of the section. */
DEVICE void row_offsets(const fp_gpu_launch *launch) {
    rows_chunk chunk = rows_open(launch);
    uint64_t blocks = (chunk.rows + FP_ROWS_PER_BLOCK - 1) / FP_ROWS_PER_BLOCK;
    uint64_t block = block_x() * (FP_ROW_OFFSETS_THREADS / 32) + warp_in_block();
    if (block >= blocks) return;
    if (16 * blocks > chunk.lengths_bytes) {
        if (lane() == 0) report(launch->status, FP_GPU_BAD_LENGTHS);
        return;
    }
    uint32_t rows = (uint32_t)least64(chunk.rows - block * FP_ROWS_PER_BLOCK, FP_ROWS_PER_BLOCK);
    int is_last = block + 1 == blocks;

    /* Directory entry: begin, place of the packed lengths behind the directory, minimum, bits. */
    fp_words4 entry = global_load16(chunk.lengths + 16 * block);
    uint32_t begin = entry.word[0], bits = entry.word[3] & 255;
    uint32_t end = is_last ? chunk.decoded_bytes : global_load4(chunk.lengths + 16 * block + 16);
    uint64_t packed_bytes = (uint64_t)(rows * bits + 31) / 32 * 4;
    uint64_t room = chunk.lengths_bytes - 16 * blocks;
    uint32_t bad = bits > 32 || entry.word[1] % 4 || entry.word[1] + packed_bytes > room;
    if (bad) bits = 0;

    uint32_t start[FP_ROW_ROUNDS], through = begin;
    UNROLL for (uint32_t r = 0; r < FP_ROW_ROUNDS; r++) {
        uint32_t row = 32 * r + lane(), length = 0;
        if (row < rows) {
            uint32_t above = rows_unpack(chunk.lengths + 16 * blocks + entry.word[1], row, bits);
            length = entry.word[2] + above;
            bad |= length < above;
        }
        uint32_t sum = warp_inclusive_sum(length);
        start[r] = through + sum - length;
        /* Sums are modulo 2^32. The first row whose true end is beyond that has a true start, and ends
         * before it. */
        bad |= start[r] + length < start[r];
        through += warp_shfl(sum, 31);
    }
    bad |= through != end || end > chunk.decoded_bytes || (block == 0 && begin != 0);
    if (warp_ballot(bad != 0)) {
        if (lane() == 0) report(launch->status, FP_GPU_BAD_LENGTHS);
        return;
    }
    UNROLL for (uint32_t r = 0; r < FP_ROW_ROUNDS; r++) {
        uint32_t row = 32 * r + lane();
        if (row < rows)
            rows_store(launch, chunk.first_slot + block * FP_ROWS_PER_BLOCK + row,
                       chunk.column_offset + start[r]);
    }
    if (is_last && chunk.last_in_column && lane() == 0)
        rows_store(launch, chunk.first_slot + chunk.rows,
                   chunk.column_offset + chunk.decoded_bytes);
}

#endif
