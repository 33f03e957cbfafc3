/* row_offsets.cuh - where rows begin. In: a chunk's row-length section (docs/format.md, section 3).
 * Out: 32- or 64-bit offsets within the column, one per row, and one where a column's last row
 * ends.
 *
 * Memory is to be what bounds this kernel, so that a block of 256 rows may cost a warp few
 * instructions. Of a block, a lane takes 4 rows that follow each other and the 4 that are 128 rows
 * further on. A window of 32 packed bits holds as many of the 4 as fit. The trick: offsets move on
 * to the next lane until each lane has 16 bytes at a multiple of 16, wherever the output begins. A
 * warp takes a few blocks one after the other, whose directory entries different lanes read and
 * check at once; enough warps are at work to hide that. Refuses, writing nothing: a block that lies
 * outside the section, or whose rows do not end where the next block begins. */
#ifndef FP_GPU_ROW_OFFSETS_CUH
#define FP_GPU_ROW_OFFSETS_CUH

#include "warp.cuh"

#define FP_ROWS_PER_BLOCK 256u /* of the section */
#define FP_ROWS_PER_LANE  8
#define FP_ROWS_NO_BLOCK  64u /* as a number of bits: there is no such block, or it is bad */

/* A block of the section, checked. */
typedef struct rows_block {
    uint64_t packed;
    /* Its first byte, within the chunk; bytes of its rows; the least of them; bits of a packed
     * length. */
    uint32_t begin, bytes, minimum, bits;
    uint32_t first, rows; /* row within the chunk; 0 rows: nothing is to be written */
} rows_block;

#define FP_ROWS_NOTED (FP_GPU_LENGTH_BLOCKS * 24)

/* What a warp works on, and its part of shared memory: notes on its blocks, and room for a block's
 * offsets. */
typedef struct rows_work {
    const fp_gpu_offsets *chunk;
    uint32_t first; /* of the warp's blocks */
    uint8_t *notes, *stage;
} rows_work;

/* Lane i reads the entry of the warp's block i, reports it if it is bad, and notes what it says.
 * Returns how many bits lengths have. */
DEVICE uint32_t rows_directory(const rows_work *work, uint32_t blocks) {
    const fp_gpu_offsets *chunk = work->chunk;
    uint32_t number = work->first + lane(), bits = FP_ROWS_NO_BLOCK;
    /* Begin, place, minimum, bits. A block ends where the next begins. */
    fp_words4 entry = {{0, 0, 0, 0}};
    if (lane() <= FP_GPU_LENGTH_BLOCKS && number < blocks)
        entry = global_load16(chunk->lengths + 16 * (uint64_t)number);
    uint32_t end = warp_shfl(entry.word[0], (lane() + 1) % 32);
    if (number + 1 == blocks) end = chunk->decoded_bytes;
    if (lane() < FP_GPU_LENGTH_BLOCKS) {
        if (number < blocks) {
            uint32_t rows = least(chunk->rows - number * FP_ROWS_PER_BLOCK, FP_ROWS_PER_BLOCK);
            bits = entry.word[3] & 255;
            uint64_t packed_bytes = (uint64_t)(rows * bits + 31) / 32 * 4;
            if (bits > 32 || entry.word[1] % 4 ||
                entry.word[1] + packed_bytes > chunk->lengths_bytes - 16 * (uint64_t)blocks ||
                end > chunk->decoded_bytes || entry.word[0] > end ||
                (number == 0 && entry.word[0] != 0)) {
                report(chunk->status, FP_GPU_BAD_LENGTHS);
                bits = FP_ROWS_NO_BLOCK;
            }
        }
        uint64_t packed = chunk->lengths + 16 * (uint64_t)blocks + entry.word[1];
        fp_words4 noted = {
            {(uint32_t)packed, (uint32_t)(packed >> 32), entry.word[0], end - entry.word[0]}};
        shared_store16(work->notes + 16 * lane(), noted);
        shared_store8(work->notes + 16 * FP_GPU_LENGTH_BLOCKS + 8 * lane(),
                      (uint64_t)bits << 32 | entry.word[2]);
    }
    warp_sync();
    return bits == FP_ROWS_NO_BLOCK ? 0 : bits;
}

DEVICE rows_block rows_noted(const rows_work *work, uint32_t i) {
    fp_words4 noted = shared_load16(work->notes + 16 * i);
    uint64_t rest = shared_load8(work->notes + 16 * FP_GPU_LENGTH_BLOCKS + 8 * i);
    uint32_t minimum = (uint32_t)rest, bits = (uint32_t)(rest >> 32);
    uint32_t first = (work->first + i) * FP_ROWS_PER_BLOCK;
    uint32_t rows = least(work->chunk->rows - first, FP_ROWS_PER_BLOCK);
    if (bits == FP_ROWS_NO_BLOCK) rows = 0;
    return rows_block{words_low(noted), noted.word[2], noted.word[3], minimum, bits, first, rows};
}

/* Packed numbers of the lane's rows, still in their words: PER numbers of at most 32 / PER bits per
 * window, which begins in `low` and may go on in `high`. */
template <int PER> struct rows_windows {
    uint32_t low[FP_ROWS_PER_LANE / PER], high[FP_ROWS_PER_LANE / PER];
};

/* Reads no word that the block does not have. */
template <int PER> DEVICE rows_windows<PER> rows_fetch(const rows_block *block) {
    rows_windows<PER> window;
    uint32_t words = (block->rows * block->bits + 31) / 32;
    UNROLL for (uint32_t i = 0; i < FP_ROWS_PER_LANE / PER; i++) {
        /* 128 rows are 4 words per bit. */
        uint32_t row = 4 * lane() + i * PER % 4, at = row * block->bits / 32;
        if (i * PER >= 4) at += 4 * block->bits;
        uint64_t from = block->packed + 4 * at;
        window.low[i] = at < words ? global_load4(from) : 0;
        window.high[i] = at + 1 < words ? global_load4(from + 4) : 0;
    }
    return window;
}

/* The lane's packed numbers; 0 for rows that the block does not have. */
template <int PER>
DEVICE void rows_unpack(const rows_windows<PER> *window, const rows_block *block, uint32_t *above) {
    uint32_t bits = block->bits, rows = block->rows;
    uint32_t mask = bits ? 0xffffffffu >> (32 - bits) : 0;
    UNROLL for (uint32_t i = 0; i < FP_ROWS_PER_LANE; i++) {
        uint32_t bit = (4 * lane() + i % 4 / PER * PER) * bits;
        uint32_t packed = funnel_right(window->low[i / PER], window->high[i / PER], bit % 32);
        above[i] = packed >> i % PER * bits & mask;
    }
    if (rows == FP_ROWS_PER_BLOCK) return;
    UNROLL for (uint32_t i = 0; i < FP_ROWS_PER_LANE;
                i++) if (i / 4 * 128 + 4 * lane() + i % 4 >= rows) above[i] = 0;
}

/* Sums of the packed numbers: in the block before the lane's first and before its fifth row, and of
 * all. Returns whether any is beyond 32 bits. */
template <int PER>
DEVICE uint32_t rows_scan(const uint32_t *above, uint32_t before[2], uint64_t *all) {
    uint32_t low = above[0] + above[1] + above[2] + above[3];
    uint32_t high = above[4] + above[5] + above[6] + above[7];
    if (PER == 4) { /* at most 128 × 255, so that both fit one word */
        uint32_t both = low | high << 16, sum = warp_inclusive_sum(both);
        uint32_t last = warp_shfl(sum, 31);
        before[0] = (sum - both) & 0xffff;
        before[1] = (last & 0xffff) + ((sum - both) >> 16);
        *all = (last & 0xffff) + (last >> 16);
        return 0;
    }
    uint32_t low_sum = warp_inclusive_sum(low), high_sum = warp_inclusive_sum(high);
    uint32_t half = warp_shfl(low_sum, 31);
    before[0] = low_sum - low;
    before[1] = half + high_sum - high;
    *all = (uint64_t)half + warp_shfl(high_sum, 31);
    if (PER == 2) return 0; /* at most 256 × 65535 */
    uint64_t low_true = (uint64_t)above[0] + above[1] + above[2] + above[3];
    uint64_t high_true = (uint64_t)above[4] + above[5] + above[6] + above[7];
    /* The first sum to go beyond 32 bits is less than what was added to it. */
    return low_true != low || high_true != high || low_sum < low || high_sum < high;
}

/* Stores 256 offsets of 4 bytes. `to` is S offsets past a multiple of 16: lanes hand their last S
 * offsets on to the next lane, lane 31 those of each half to lane 0 in the other. The last of all
 * come to lane 0 as well, which stores single words. */
template <int S> DEVICE void rows_store_turned(uint64_t to, const uint32_t *start) {
    uint32_t turned[FP_ROWS_PER_LANE];
    UNROLL for (int i = 0; i < 4; i++) {
        if (i >= S) {
            turned[i] = start[i - S], turned[4 + i] = start[4 + i - S];
        } else {
            uint32_t low = warp_shfl(start[4 - S + i], (lane() + 31) % 32);
            uint32_t high = warp_shfl(start[8 - S + i], (lane() + 31) % 32);
            turned[i] = lane() ? low : high, turned[4 + i] = lane() ? high : low;
        }
    }
    to = to - 4 * S + 16 * lane();
    global_store16(to + 512, fp_words4{{turned[4], turned[5], turned[6], turned[7]}});
    if (S == 0 || lane() != 0) {
        global_store16(to, fp_words4{{turned[0], turned[1], turned[2], turned[3]}});
    } else {
        UNROLL for (int i = 0; i < 4; i++)
            global_store4(to + 4 * i + (i < S ? 1024 : 0), turned[i]);
    }
}

/* The same for fewer offsets or for such of 8 bytes, which lie further apart than a lane's rows:
 * they change places in shared memory. */
DEVICE void rows_store_staged(const rows_work *work, const rows_block *block,
                              const uint32_t *start) {
    const fp_gpu_offsets *chunk = work->chunk;
    UNROLL for (uint32_t h = 0; h < 2; h++) shared_store16(
        work->stage + 512 * h + 16 * lane(),
        fp_words4{{start[4 * h], start[4 * h + 1], start[4 * h + 2], start[4 * h + 3]}});
    warp_sync();
    for (uint32_t i = lane(); i < block->rows; i += 32) {
        uint32_t offset = shared_load4(work->stage + 4 * i);
        uint64_t row = block->first + i;
        if (chunk->offset_bits == 32)
            global_store4(chunk->out + 4 * row, offset);
        else
            global_store8(chunk->out + 8 * row, chunk->first_byte + offset);
    }
    warp_sync(); /* before the next block's */
}

DEVICE void rows_store(const rows_work *work, const rows_block *block, const uint32_t *start) {
    const fp_gpu_offsets *chunk = work->chunk;
    uint64_t to = chunk->out + 4 * (uint64_t)block->first;
    if (chunk->offset_bits != 32 || block->rows != FP_ROWS_PER_BLOCK) {
        rows_store_staged(work, block, start);
        return;
    }
    switch (to / 4 % 4) {
    case 0: rows_store_turned<0>(to, start); break;
    case 1: rows_store_turned<1>(to, start); break;
    case 2: rows_store_turned<2>(to, start); break;
    default: rows_store_turned<3>(to, start); break;
    }
}

/* Offsets of a block. */
template <int PER>
DEVICE void rows_write(const rows_work *work, const rows_block *block,
                       const rows_windows<PER> *window) {
    const fp_gpu_offsets *chunk = work->chunk;
    uint32_t above[FP_ROWS_PER_LANE], start[FP_ROWS_PER_LANE], before[2];
    uint64_t all;
    rows_unpack<PER>(window, block, above);
    uint32_t bad = rows_scan<PER>(above, before, &all);
    bad |= (uint64_t)block->minimum * block->rows + all != block->bytes;
    if (PER == 1 ? warp_ballot(bad != 0) : bad) {
        if (lane() == 0) report(chunk->status, FP_GPU_BAD_LENGTHS);
        return;
    }
    /* 64-bit offsets are counted from the column's first byte as they are stored. */
    uint32_t origin = block->begin + (chunk->offset_bits == 32 ? (uint32_t)chunk->first_byte : 0);
    UNROLL for (uint32_t h = 0; h < 2; h++) {
        uint32_t next = origin + block->minimum * (128 * h + 4 * lane()) + before[h];
        UNROLL for (uint32_t k = 4 * h; k < 4 * h + 4; k++) {
            start[k] = next;
            next += block->minimum + above[k];
        }
    }
    rows_store(work, block, start);
    if (block->first + block->rows == chunk->rows && chunk->closes_column && lane() == 0) {
        uint64_t offset = chunk->first_byte + chunk->decoded_bytes;
        if (chunk->offset_bits == 32)
            global_store4(chunk->out + 4 * (uint64_t)chunk->rows, (uint32_t)offset);
        else
            global_store8(chunk->out + 8 * (uint64_t)chunk->rows, offset);
    }
}

/* The warp's blocks, whose numbers have at most 32 / PER bits. */
template <int PER> DEVICE void rows_blocks(const rows_work *work) {
    for (uint32_t i = 0; i < FP_GPU_LENGTH_BLOCKS; i++) {
        rows_block block = rows_noted(work, i);
        if (block.rows == 0) continue;
        rows_windows<PER> window = rows_fetch<PER>(&block);
        rows_write<PER>(work, &block, &window);
    }
}

/* A kernel: each warp takes FP_GPU_LENGTH_BLOCKS blocks of the section. */
DEVICE void row_offsets(const fp_gpu_offsets_launch *launch) {
    SHARED_BYTES(shared, FP_GPU_HELPER_THREADS / 32 * (FP_ROWS_NOTED + 4 * FP_ROWS_PER_BLOCK));
    const fp_gpu_offsets *chunk = &launch->entry[block_y()];
    uint32_t blocks = chunk->rows / FP_ROWS_PER_BLOCK + (chunk->rows % FP_ROWS_PER_BLOCK != 0);
    uint32_t warp = warp_same(warp_in_block());
    uint32_t first = (block_x() * (FP_GPU_HELPER_THREADS / 32) + warp) * FP_GPU_LENGTH_BLOCKS;
    if (first >= blocks) return;
    if (16 * (uint64_t)blocks > chunk->lengths_bytes) {
        if (lane() == 0) report(chunk->status, FP_GPU_BAD_LENGTHS);
        return;
    }
    uint8_t *notes = shared + warp * (FP_ROWS_NOTED + 4 * FP_ROWS_PER_BLOCK);
    rows_work work = {chunk, first, notes, notes + FP_ROWS_NOTED};
    uint32_t bits = rows_directory(&work, blocks);
    if (!warp_ballot(bits > 8))
        rows_blocks<4>(&work);
    else if (!warp_ballot(bits > 16))
        rows_blocks<2>(&work);
    else
        rows_blocks<1>(&work);
}

#endif
