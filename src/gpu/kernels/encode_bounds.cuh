/* encode_bounds.cuh - the smallest and the largest row of each chunk. In: rows, chunks. Out: what
 * fp_bounds_add makes of all valid rows of a chunk.
 *
 * A warp keeps the best two rows so far in shared memory, as big-endian words, which compare as bytes
 * do; of the largest row words are inverted, so that less is better for both. Lanes compare a row
 * each, a word at a time, and stop when all are decided: mostly after the first word. Where a row is
 * better, the best of the lanes' rows is found word by word as well. Two kernels: row numbers of
 * blocks of row lengths, then of chunks. */
#ifndef FP_GPU_ENCODE_BOUNDS_CUH
#define FP_GPU_ENCODE_BOUNDS_CUH

#include "encode_input.cuh"

/* Of bounds.h: FP_BOUND_WORDS, FP_MOST_BOUND. */
#define ENCODE_BOUND_WORDS 8u
#define ENCODE_MOST_BOUND  64u
/* One of the two: its words, its size, its row number, 8 bytes each. Then the other one. */
#define ENCODE_BEST_BYTES 80u
#define ENCODE_BEST_PAIR  (2 * ENCODE_BEST_BYTES)

/* A lane's row. */
typedef struct encode_bound_row {
    uint64_t at;
    uint32_t size, number; /* number: in its chunk */
    int is_there;
} encode_bound_row;

/* Row `number` of a chunk. */
DEVICE encode_bound_row encode_bound_take(const encode_view *view, uint64_t first_row,
                                          uint32_t number, int is_there) {
    encode_bound_row row = {0, 0, number, is_there};
    if (is_there) {
        uint64_t start = encode_start(view, first_row + number);
        row.at = view->text + start;
        row.size = (uint32_t)(encode_start(view, first_row + number + 1) - start);
    }
    return row;
}

DEVICE uint32_t encode_swap4(uint32_t word) {
    word = (word & 0x00ff00ffu) << 8 | (word >> 8 & 0x00ff00ffu);
    return funnel_left(word, word, 16);
}

/* Word `i` of a row: fp_bound_word. After the words comes the size, as fp_bound has it. */
DEVICE uint64_t encode_bound_word(const encode_view *view, const encode_bound_row *row,
                                  uint32_t i) {
    if (i == ENCODE_BOUND_WORDS) return least(row->size, ENCODE_MOST_BOUND + 1);
    if (8 * i >= row->size) return 0;
    uint64_t word = encode_bytes(view, row->at + 8 * i, least(row->size - 8 * i, 8));
    return (uint64_t)encode_swap4((uint32_t)word) << 32 | encode_swap4((uint32_t)(word >> 32));
}

/* Bit 0: the lane's row is smaller than the smallest; bit 1: larger than the largest. */
DEVICE uint32_t encode_bound_compare(const encode_view *view, const encode_bound_row *row,
                                     const uint8_t *best) {
    uint32_t tied = row->is_there ? 3 : 0, better = 0;
    ROLLED for (uint32_t i = 0; i <= ENCODE_BOUND_WORDS && warp_ballot(tied != 0); i++) {
        uint64_t word = tied ? encode_bound_word(view, row, i) : 0;
        UNROLL for (uint32_t which = 0; which < 2; which++) {
            uint64_t own = which ? ~word : word;
            uint64_t so_far = shared_load8(best + ENCODE_BEST_BYTES * which + 8 * i);
            if (!(tied >> which & 1) || own == so_far) continue;
            tied &= ~(1u << which);
            if (own < so_far) better |= 1u << which;
        }
    }
    return better;
}

/* Puts the best of some lanes' rows, of which there is one, in the place of the best so far. */
DEVICE void encode_bound_replace(const encode_view *view, const encode_bound_row *row, int is_one,
                                 uint32_t which, uint8_t *best) {
    uint64_t inverted = which ? ~0ull : 0;
    uint32_t i = 0, left = warp_ballot(is_one);
    best += ENCODE_BEST_BYTES * which;
    warp_sync(); /* all have compared */
    ROLLED for (; i <= ENCODE_BOUND_WORDS && popcount(left) > 1; i++) {
        uint64_t own = is_one ? encode_bound_word(view, row, i) ^ inverted : ~0ull;
        uint64_t word = warp_least8(own);
        is_one = is_one && own == word;
        left = warp_ballot(is_one);
        if (lane() == 0) shared_store8(best + 8 * i, word);
    }
    /* One is left, or several that do not differ. */
    if (lane() == first_bit(left)) {
        ROLLED for (; i <= ENCODE_BOUND_WORDS; i++)
            shared_store8(best + 8 * i, encode_bound_word(view, row, i) ^ inverted);
        shared_store8(best + 8 * i, row->number);
    }
    warp_sync();
}

/* Takes a row per lane. *has: whether there are best ones; the same in all lanes. */
DEVICE void encode_bound_add(const encode_view *view, const encode_bound_row *row, int *has,
                             uint8_t *best) {
    if (!warp_ballot(row->is_there)) return;
    uint32_t better = *has ? encode_bound_compare(view, row, best) : row->is_there ? 3 : 0;
    *has = 1;
    ROLLED for (uint32_t which = 0; which < 2; which++) if (warp_ballot(better >> which & 1))
        encode_bound_replace(view, row, better >> which & 1, which, best);
}

/* The row number of a best one. */
DEVICE uint32_t encode_bound_number(const uint8_t *best, uint32_t which, int has) {
    return has ? (uint32_t)shared_load8(best + ENCODE_BEST_BYTES * which +
                                        8 * (ENCODE_BOUND_WORDS + 1))
               : FP_GPU_ENCODE_NO_ROW;
}

/* ---------------------------------------------------------------- blocks of row lengths */

DEVICE uint64_t encode_extremes_at(const fp_gpu_encode_launch *launch, uint32_t chunk,
                                   uint32_t number) {
    uint64_t first = global_reload4(ENCODE_CHUNK(launch, chunk, first_block));
    return launch->scratch.extremes + 8 * (first + number);
}

/* A kernel: a warp takes FP_GPU_ENCODE_BOUNDED blocks of row lengths. What it finds stands at the
 * last of them in the chunk; at the others stands that there is none. */
DEVICE void encode_bounds(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(shared, FP_GPU_HELPER_THREADS / 32 * ENCODE_BEST_PAIR);
    uint64_t number = (uint64_t)block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    encode_block block = encode_find_block(launch, number * FP_GPU_ENCODE_BOUNDED);
    if (!block.rows) return;
    encode_view view = encode_open(launch);
    uint8_t *best = shared + ENCODE_BEST_PAIR * warp_in_block();
    int has = 0;
    ROLLED for (uint32_t i = 1; block.rows; i++) {
        uint64_t first_row = block.first_row - block.number * FP_GPU_ENCODE_LENGTHS;
        ROLLED for (uint32_t r = 0; r < block.rows; r += 32) {
            uint32_t in_chunk = block.number * FP_GPU_ENCODE_LENGTHS + r + lane();
            int is_there = r + lane() < block.rows && encode_valid(launch, first_row + in_chunk, 1);
            encode_bound_row row = encode_bound_take(&view, first_row, in_chunk, is_there);
            encode_bound_add(&view, &row, &has, best);
        }
        encode_block next = {0, 0, 0, 0};
        if (i < FP_GPU_ENCODE_BOUNDED)
            next = encode_find_block(launch, number * FP_GPU_ENCODE_BOUNDED + i);
        int is_last = !next.rows || next.chunk != block.chunk;
        if (lane() == 0) {
            uint64_t to = encode_extremes_at(launch, block.chunk, block.number);
            global_store4(to, encode_bound_number(best, 0, has && is_last));
            global_store4(to + 4, encode_bound_number(best, 1, has && is_last));
        }
        if (is_last) has = 0;
        warp_sync(); /* the numbers were read */
        block = next;
    }
}

/* ---------------------------------------------------------------- chunks */

/* Writes one of the two: size, then words. By lanes. */
DEVICE void encode_bound_write(uint64_t to, const uint8_t *best, uint32_t which) {
    if (lane() > ENCODE_BOUND_WORDS) return;
    uint64_t word = shared_load8(best + ENCODE_BEST_BYTES * which + 8 * lane());
    uint32_t place = lane() == ENCODE_BOUND_WORDS ? 0 : lane() + 1;
    global_store8(to + 8 * place, which ? ~word : word);
}

/* A kernel: blocks take turns at chunks. Warps share the blocks of row lengths of a chunk; the first
 * warp then compares what the warps have found. */
DEVICE void encode_bounds_merge(const fp_gpu_encode_launch *launch) {
    const uint32_t warps = FP_GPU_HELPER_THREADS / 32;
    SHARED_BYTES(shared, FP_GPU_HELPER_THREADS / 32 * (ENCODE_BEST_PAIR + 8));
    uint8_t *best = shared + ENCODE_BEST_PAIR * warp_in_block(),
            *found = shared + ENCODE_BEST_PAIR * warps;
    const uint32_t chunks = encode_chunks(launch);
    if (!chunks) return;
    encode_view view = encode_open(launch);
    for (uint32_t c = block_x(); c < chunks; c += blocks_x()) {
        uint64_t first_row = global_reload8(ENCODE_CHUNK(launch, c, first_row));
        uint32_t rows = global_reload4(ENCODE_CHUNK(launch, c, rows));
        uint32_t blocks = (rows + FP_GPU_ENCODE_LENGTHS - 1) / FP_GPU_ENCODE_LENGTHS;
        int has = 0;
        ROLLED for (uint32_t b = 32 * warp_in_block(); b < blocks; b += FP_GPU_HELPER_THREADS)
            ROLLED for (uint32_t which = 0; which < 2; which++) {
            uint32_t number = FP_GPU_ENCODE_NO_ROW;
            if (b + lane() < blocks)
                number = global_load4(encode_extremes_at(launch, c, b + lane()) + 4 * which);
            encode_bound_row row =
                encode_bound_take(&view, first_row, number, number != FP_GPU_ENCODE_NO_ROW);
            encode_bound_add(&view, &row, &has, best);
        }
        if (lane() == 0) {
            shared_store4(found + 8 * warp_in_block(), encode_bound_number(best, 0, has));
            shared_store4(found + 8 * warp_in_block() + 4, encode_bound_number(best, 1, has));
        }
        block_sync(); /* all warps have found theirs */
        if (warp_in_block() == 0) {
            uint32_t number = FP_GPU_ENCODE_NO_ROW;
            if (lane() < 2 * warps) number = shared_load4(found + 4 * lane());
            encode_bound_row row =
                encode_bound_take(&view, first_row, number, number != FP_GPU_ENCODE_NO_ROW);
            encode_bound_add(&view, &row, &has, best);
            if (lane() == 0) global_store8(ENCODE_CHUNK(launch, c, has_row), (uint64_t)has);
            if (has) {
                encode_bound_write(ENCODE_CHUNK(launch, c, smallest), best, 0);
                encode_bound_write(ENCODE_CHUNK(launch, c, largest), best, 1);
            }
        }
        block_sync(); /* before the next chunk */
    }
}

#endif
