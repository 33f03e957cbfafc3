/* search_found.cuh - from codes that match to rows of the result. In: a batch of codes, where rows begin
 * among them, a bit per code. Out: bits of rows, ORed into the result.
 *
 * A warp numbers rows from the one that began before its batch, which has number 0. Writes nothing
 * outside a chunk's words, whatever its row starts and ranks say. */
#ifndef FP_GPU_SEARCH_FOUND_CUH
#define FP_GPU_SEARCH_FOUND_CUH

#include "search_params.h"
#include "warp.cuh"

/* A batch of a chunk. */
typedef struct search_batch {
    const fp_gpu_search_span *span;
    uint32_t number; /* in its chunk */
    uint32_t count;  /* codes of the chunk from the batch's first code on */
    /* Row starts of the lane's 32 codes. */
    uint32_t starts;
    /* In lane 31, row starts of the 32 codes after the batch; else rows that begin before it. */
    uint32_t around;
    /* Codes of the batch in shared memory. */
    const uint8_t *staged;
    /* The warp's room: rows found, row starts, the list of codes to walk from. */
    uint8_t *room;
} search_batch;

/* Bits of 32 codes in the order of the filter: code k has bit 2 k, code 16 + k bit 2 k + 1. */
DEVICE uint32_t search_place(uint32_t bit) { return bit / 2 + bit % 2 * 16; }
DEVICE uint32_t search_spread(uint32_t bits) {
    bits = (bits & 0xff0000ffu) | (bits >> 8 & 0xff00) | (bits << 8 & 0xff0000);
    uint32_t swapped = (bits ^ bits >> 4) & 0x00f000f0u;
    bits ^= swapped | swapped << 4;
    swapped = (bits ^ bits >> 2) & 0x0c0c0c0cu;
    bits ^= swapped | swapped << 2;
    swapped = (bits ^ bits >> 1) & 0x22222222u;
    return bits ^ swapped ^ swapped << 1;
}

/* The way back. */
DEVICE uint32_t search_in_order(uint32_t bits) {
    uint32_t swapped = (bits ^ bits >> 1) & 0x22222222u;
    bits ^= swapped ^ swapped << 1;
    swapped = (bits ^ bits >> 2) & 0x0c0c0c0cu;
    bits ^= swapped ^ swapped << 2;
    swapped = (bits ^ bits >> 4) & 0x00f000f0u;
    bits ^= swapped ^ swapped << 4;
    return (bits & 0xff0000ffu) | (bits >> 8 & 0xff00) | (bits << 8 & 0xff0000);
}

/* Sets the bit of one row in the result. */
DEVICE void search_set(const search_batch *batch, uint32_t row) {
    if (row / 32 < batch->span->found_words)
        global_or4(batch->span->found + row / 32 * 4, 1u << row % 32);
}

/* Rows that match at once: those of the codes in `match`. A row's last code stands for the row: adding
 * ones to all of its other codes carries to it if there is a match among them. Rows that match are
 * numbered one by one, or those that do not, whichever are fewer. */
DEVICE void search_match(const search_batch *batch, uint32_t match, uint32_t begins,
                         uint32_t rows_before) {
    match = search_in_order(match);
    uint32_t last = begins >> 1 | 0x80000000u;
    uint32_t found = (((match & ~last) + ~last) | match) & last, others = last & ~found;
    int most_match = popcount(others) < popcount(found);
    uint32_t rows = 0, all = 0xffffffffu >> (32 - popcount(last));
    for (uint32_t left = most_match ? others : found; left; left &= left - 1)
        rows |= 1u << popcount(last & (left - 1) & ~left);
    if (most_match) rows ^= all;
    if (!rows) return;
    /* A row that begins with the lane's first code is none of those before. */
    rows_before += begins & 1;
    uint64_t placed = (uint64_t)rows << rows_before % 32;
    uint8_t *at = batch->room + rows_before / 32 * 4;
    if ((uint32_t)placed) shared_or4(at, (uint32_t)placed);
    if (placed >> 32) shared_or4(at + 4, (uint32_t)(placed >> 32));
}

/* ORs rows that were gathered into the result, whole words at a time, and clears them. `rows` begin in
 * the batch. */
DEVICE void search_gather(const search_batch *batch, uint32_t rows) {
    uint32_t words = rows / 32 + 2; /* from any bit of the first on */
    uint32_t rank = warp_shfl(batch->around, 0);
    /* The row before the batch is that of rank - 1. In a chunk's first batch there is none, and the
     * word before the first is none either. */
    rank += batch->span->found_bit;
    uint32_t shift = (rank - 1) % 32, word = (rank + 31) / 32 - 1;
    warp_sync(); /* all lanes' rows are there */
    for (uint32_t i = lane(); i < words; i += 32) {
        uint32_t below = i ? shared_load4(batch->room + 4 * i - 4) : 0;
        uint32_t bits = funnel_left(below, shared_load4(batch->room + 4 * i), shift);
        if (bits && word + i < batch->span->found_words)
            global_or4(batch->span->found + 4 * (uint64_t)(word + i), bits);
    }
    warp_sync(); /* all lanes have read */
    for (uint32_t i = lane(); i < words; i += 32) shared_store4(batch->room + 4 * i, 0);
}

#endif
