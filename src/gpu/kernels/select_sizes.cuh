/* select_sizes.cuh - what a selection will take. In: a bitmap or a list of row numbers. Out: the list,
 * how many rows and bytes there are, where in the bytes each tile begins, and the pieces that large
 * tiles are cut into.
 *
 * Four kernels, and the scan is used twice: count the bits of a bitmap, scan, list them, measure rows,
 * scan. A scan is one block, as it has a number per 8192 rows of the column or 1024 of the selection.
 * Row numbers that do not exist stand for rows without bytes. */
#ifndef FP_GPU_SELECT_SIZES_CUH
#define FP_GPU_SELECT_SIZES_CUH

#include "select_rows.cuh"

/* Word `word` of the bitmap, without bits past the column's last row. */
DEVICE uint32_t select_word(const fp_gpu_selection *of, uint64_t word) {
    if (32 * word >= of->rows) return 0;
    uint32_t bits = global_load4(of->bitmap + 4 * word);
    uint64_t left = of->rows - 32 * word;
    return left < 32 ? bits & ((1u << left) - 1) : bits;
}

/* The sum of numbers of all lower warps of the block, and of all of them. By all threads. */
DEVICE uint64_t select_warp_sums(uint64_t sum, uint8_t *sums, uint64_t *all) {
    uint64_t before = 0;
    *all = 0;
    if (lane() == 31) shared_store8(sums + 8 * warp_in_block(), sum);
    block_sync(); /* sums of warps are exchanged */
    UNROLL for (uint32_t w = 0; w < FP_GPU_HELPER_THREADS / 32; w++) {
        uint64_t one = shared_load8(sums + 8 * w);
        if (w < warp_in_block()) before += one;
        *all += one;
    }
    block_sync(); /* the exchange may be used again */
    return before;
}

/* A kernel: a block counts the bits of FP_GPU_SELECT_WORDS words. */
DEVICE void select_count_bits(const fp_gpu_select_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_HELPER_THREADS / 32 * 8);
    uint64_t word = (uint64_t)block_x() * FP_GPU_SELECT_WORDS + thread_in_block(), all;
    uint32_t sum = warp_inclusive_sum(popcount(select_word(&launch->of, word)));
    select_warp_sums(sum, sums, &all);
    if (thread_in_block() == 0)
        global_store8(launch->of.bitmap_counts + 8 * (uint64_t)block_x(), all);
}

/* A kernel: a block lists the rows of its words. Lanes take the rows of one word after the other, so
 * that they store next to each other. */
DEVICE void select_list_bits(const fp_gpu_select_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_HELPER_THREADS / 32 * 8);
    const fp_gpu_selection *of = &launch->of;
    uint64_t word = (uint64_t)block_x() * FP_GPU_SELECT_WORDS + thread_in_block(), all;
    uint32_t bits = select_word(of, word), sum = warp_inclusive_sum(popcount(bits));
    uint64_t at = select_warp_sums(sum, sums, &all);
    at += global_load8(of->bitmap_counts + 8 * (uint64_t)block_x());
    for (uint32_t w = 0; w < 32; w++) {
        uint32_t here = warp_shfl(bits, w);
        uint64_t to = at + rank_in(here), row = 32 * (word - lane() + w) + lane();
        at += popcount(here);
        if (!(here >> lane() & 1) || to >= of->most) continue;
        if (of->number_bits == 32)
            global_store4(of->list + 4 * to, (uint32_t)row);
        else
            global_store8(of->list + 8 * to, row);
    }
}

/* A kernel: blocks take turns at groups, and their warps at the tiles of a group. */
DEVICE void select_measure(const fp_gpu_select_launch *launch) {
    const uint32_t tiles = FP_GPU_SELECT_GROUP / FP_GPU_SELECT_TILE;
    SHARED_BYTES(sums, FP_GPU_SELECT_GROUP / FP_GPU_SELECT_TILE * 8);
    const fp_gpu_selection *of = &launch->of;
    uint64_t count = select_count(of),
             groups = (count + FP_GPU_SELECT_GROUP - 1) / FP_GPU_SELECT_GROUP;
    for (uint64_t group = block_x(); group < groups; group += blocks_x()) {
        for (uint32_t t = warp_in_block(); t < tiles; t += FP_GPU_HELPER_THREADS / 32) {
            uint64_t at = group * FP_GPU_SELECT_GROUP + t * FP_GPU_SELECT_TILE + lane();
            uint64_t sum = warp_inclusive_sum8(select_find(of, at, count).bytes);
            if (lane() == 31) shared_store8(sums + 8 * t, sum);
        }
        block_sync(); /* all tiles are measured */
        if (warp_in_block() == 0) {
            uint64_t own = shared_load8(sums + 8 * lane()), sum = warp_inclusive_sum8(own);
            if (group * tiles + lane() < (count + FP_GPU_SELECT_TILE - 1) / FP_GPU_SELECT_TILE)
                global_store8(of->tiles + 8 * (group * tiles + lane()), sum - own);
            uint32_t pieces = warp_inclusive_sum(select_pieces_of(own));
            if (lane() == 31) {
                global_store8(of->groups + 8 * group, sum);
                global_store8(of->pieces + 8 * group, pieces);
            }
        }
        block_sync(); /* before sums are used again */
    }
    if (!of->bitmap && block_x() == 0 && thread_in_block() == 0)
        global_store8(of->totals, of->most);
}

/* A kernel: a block takes an array. */
DEVICE void select_scan(const fp_gpu_select_scan *launch) {
    SHARED_BYTES(sums, FP_GPU_HELPER_THREADS / 32 * 8);
    uint64_t count = launch->count, before = 0, all;
    uint64_t values = launch->values[block_x()], total = launch->total[block_x()];
    if (launch->counted) {
        uint64_t counted = global_load8(launch->counted);
        count = counted < count ? counted : count;
        count = (count + launch->each - 1) / launch->each;
    }
    const uint32_t each = FP_GPU_SELECT_SUMS;
    for (uint64_t base = 0; base < count; base += each * FP_GPU_HELPER_THREADS) {
        uint64_t first = base + each * thread_in_block(), value[FP_GPU_SELECT_SUMS], own = 0;
        UNROLL for (uint32_t i = 0; i < each; i++) {
            value[i] = first + i < count ? global_reload8(values + 8 * (first + i)) : 0;
            own += value[i];
        }
        uint64_t sum = warp_inclusive_sum8(own);
        uint64_t at = before + select_warp_sums(sum, sums, &all) + sum - own;
        UNROLL for (uint32_t i = 0; i < each; i++) {
            if (first + i < count) global_store8(values + 8 * (first + i), at);
            at += value[i];
        }
        before += all;
    }
    if (thread_in_block() == 0) global_store8(total, before);
}

#endif
