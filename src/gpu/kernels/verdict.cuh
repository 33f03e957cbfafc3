/* verdict.cuh - what a predicate says of each row. In: the rows that its leaves found, numbered among
 * the rows that have bytes; which rows have bytes; which are null. Out: the column's bitmap, its
 * validity, and two counts.
 *
 * A lane makes one word of the bitmap. It spreads what leaves found over the rows that have bytes, and
 * runs the predicate as a postfix program over words. A chunk's first row may be any bit of a word; a
 * word that two chunks share is changed by atomic operations on each chunk's own bits. */
#ifndef FP_GPU_VERDICT_CUH
#define FP_GPU_VERDICT_CUH

#include "search_params.h"
#include "validity.cuh"

/* What is known of 32 rows: where a predicate is true, and where it is true or false. */
typedef struct verdict_bits {
    uint32_t yes, known;
} verdict_bits;

/* `count` bits of a bitmap of `words` words, from bit `from` on; bits past it are 0. */
DEVICE uint32_t verdict_read(uint64_t bitmap, uint32_t from, uint32_t count, uint32_t words) {
    uint32_t word = from / 32;
    uint32_t low = word < words ? global_load4(bitmap + 4 * (uint64_t)word) : 0;
    uint32_t high = word + 1 < words && from % 32 + count > 32
                        ? global_load4(bitmap + 4 * (uint64_t)word + 4)
                        : 0;
    return funnel_right(low, high, from % 32) & (count < 32 ? (1u << count) - 1 : 0xffffffffu);
}

/* Hands the lowest bits of `bits` to the places where `to` has a bit, in order. */
DEVICE uint32_t verdict_spread(uint32_t bits, uint32_t to) {
    uint32_t spread = 0;
    for (; bits && to; bits >>= 1, to &= to - 1)
        if (bits & 1) spread |= to & (0u - to);
    return spread;
}

/* The rows of a word: `count` from row `first` of the chunk on. */
typedef struct verdict_rows {
    uint32_t first, count;
    uint32_t filled; /* those that have bytes */
    uint32_t rank;   /* rows of the chunk with bytes before them */
    uint32_t valid;
} verdict_rows;

DEVICE verdict_rows verdict_look(const fp_gpu_verdict *chunk, uint32_t first, uint32_t count) {
    verdict_rows rows = {first, count, 0, 0, 0};
    uint32_t words = (chunk->rows + 31) / 32, word = first / 32, shift = first % 32;
    uint32_t filled = global_load4(chunk->filled + 4 * (uint64_t)word);
    rows.rank =
        global_load4(chunk->ranks + 4 * (uint64_t)word) + popcount(filled & ((1u << shift) - 1));
    rows.filled = verdict_read(chunk->filled, first, count, words);
    rows.valid = validity_bits(chunk->section, first, chunk->rows);
    if (count < 32) rows.valid &= (1u << count) - 1;
    return rows;
}

/* What a leaf found among the rows. */
DEVICE uint32_t verdict_leaf(const fp_gpu_verdict_launch *launch, const fp_gpu_verdict *chunk,
                             const verdict_rows *rows, fp_gpu_op op) {
    uint64_t found = chunk->found + launch->leaf_stride * op.leaf;
    uint32_t all = rows->count < 32 ? (1u << rows->count) - 1 : 0xffffffffu;
    if (op.flags & FP_GPU_LEAF_PLAIN)
        return verdict_read(found, rows->first, rows->count, chunk->found_words);
    uint32_t bits = verdict_read(found, rows->rank, popcount(rows->filled), chunk->found_words);
    if (rows->filled != all) bits = verdict_spread(bits, rows->filled);
    return op.flags & FP_GPU_LEAF_EMPTY ? bits | (all & ~rows->filled) : bits;
}

/* Runs the program. The topmost value is in registers, those below it in shared memory. */
DEVICE verdict_bits verdict_run(const fp_gpu_verdict_launch *launch, const fp_gpu_verdict *chunk,
                                const verdict_rows *rows, uint8_t *stack) {
    uint32_t all = rows->count < 32 ? (1u << rows->count) - 1 : 0xffffffffu, depth = 0;
    verdict_bits top = {0, 0};
    for (uint32_t i = 0; i < launch->op_count; i++) {
        fp_gpu_op op = launch->op[i];
        uint8_t *below = stack + 8 * FP_GPU_HELPER_THREADS * (depth > 1 ? depth - 2 : 0);
        if (op.kind == FP_GPU_OP_NOT) {
            top.yes = top.known & ~top.yes;
        } else if (op.kind == FP_GPU_OP_ALL || op.kind == FP_GPU_OP_ANY) {
            uint64_t other = shared_load8(below);
            uint32_t yes = (uint32_t)other, no = (uint32_t)(other >> 32) & ~yes;
            uint32_t top_no = top.known & ~top.yes;
            int is_all = op.kind == FP_GPU_OP_ALL;
            top.yes = is_all ? top.yes & yes : top.yes | yes;
            top.known = top.yes | (is_all ? top_no | no : top_no & no);
            depth--;
        } else {
            if (depth)
                shared_store8(stack + 8 * FP_GPU_HELPER_THREADS * (depth - 1),
                              (uint64_t)top.known << 32 | top.yes);
            depth++;
            if (op.kind == FP_GPU_OP_NULL) {
                top.known = all, top.yes = all & ~rows->valid;
            } else {
                top.known = rows->valid;
                top.yes = verdict_leaf(launch, chunk, rows, op) & rows->valid;
            }
        }
    }
    return top;
}

/* Sets a chunk's own bits of a word. */
DEVICE void verdict_write(uint64_t at, uint32_t own, uint32_t bits) {
    if (own == 0xffffffffu) {
        global_store4(at, bits);
    } else {
        global_and4(at, ~own);
        global_or4(at, bits);
    }
}

/* Adds a number of each lane of the block to a number in global memory. */
DEVICE void verdict_count(uint64_t to, uint32_t number, uint8_t *sums) {
    uint32_t sum = warp_inclusive_sum(number);
    if (lane() == 31) shared_store4(sums + 4 * warp_in_block(), sum);
    block_sync(); /* sums of warps are exchanged */
    if (thread_in_block() == 0) {
        uint64_t all = 0;
        for (uint32_t w = 0; w < FP_GPU_HELPER_THREADS / 32; w++) all += shared_load4(sums + 4 * w);
        if (all) global_add8(to, all);
    }
}

/* A kernel: a thread per word of the bitmap that the chunk has rows in. */
DEVICE void verdict(const fp_gpu_verdict_launch *launch) {
    SHARED_DYNAMIC_BYTES(sums);
    uint8_t *stack = sums + 2 * FP_GPU_HELPER_THREADS / 32 * 4;
    const fp_gpu_verdict *chunk = &launch->entry[block_y()];
    uint32_t word = block_x() * FP_GPU_HELPER_THREADS + thread_in_block();
    uint32_t shift = (uint32_t)chunk->first_row % 32;
    uint64_t words = ((uint64_t)shift + chunk->rows + 31) / 32;
    if (block_x() * FP_GPU_HELPER_THREADS >= words) return;
    verdict_bits bits = {0, 0};
    uint32_t count = 0;
    if (word < words) {
        uint32_t before = word ? 0 : shift, first = word ? 32 * word - shift : 0;
        count = least(chunk->rows - first, 32 - before);
        verdict_rows rows = verdict_look(chunk, first, count);
        bits = verdict_run(launch, chunk, &rows, stack + 8 * thread_in_block());
        uint64_t at = 4 * (chunk->first_row / 32 + word);
        uint32_t own = 0xffffffffu >> (32 - count) << before;
        if (chunk->closes_column && word + 1 == words) own = 0xffffffffu << before;
        if (launch->bitmap) verdict_write(launch->bitmap + at, own, bits.yes << before);
        if (launch->validity) verdict_write(launch->validity + at, own, bits.known << before);
    }
    if (launch->counts) {
        verdict_count(launch->counts, popcount(bits.yes), sums);
        verdict_count(launch->counts + 8, count - popcount(bits.known),
                      sums + FP_GPU_HELPER_THREADS / 32 * 4);
    }
}

#endif
