/* encode_bounds.cuh - the smallest and the largest row of each chunk. In: rows, chunks. Out: what
 * fp_bounds_add makes of all valid rows of a chunk.
 *
 * Rows are compared by words of 8 bytes, the first byte highest, which compare as bytes do; of the
 * largest row words are inverted, so that less is better for both. A lane compares one row after
 * another with the best two that it has seen, of which it keeps the first words: lanes need not agree
 * on anything until their rows are done. Then the best of the lanes' rows is found word by word. Two
 * kernels: row numbers of blocks of row lengths, then of chunks. */
#ifndef FP_GPU_ENCODE_BOUNDS_CUH
#define FP_GPU_ENCODE_BOUNDS_CUH

#include "encode_input.cuh"

/* Of bounds.h: FP_BOUND_WORDS, FP_MOST_BOUND. */
#define ENCODE_BOUND_WORDS 8u
#define ENCODE_MOST_BOUND  64u
/* Words that a lane keeps: URLs have a common start of 19 bytes, and dates of 24. */
#define ENCODE_BOUND_KEPT 3u

/* A row, and its number in its chunk. */
typedef struct encode_bound_row {
    uint64_t at;
    uint32_t size, number;
} encode_bound_row;

/* The best two rows that a lane has seen: the smallest and the largest. */
typedef struct encode_bound_pair {
    encode_bound_row row[2];
    uint64_t word[2][ENCODE_BOUND_KEPT];
    int has; /* it has seen a row */
} encode_bound_pair;

DEVICE encode_bound_row encode_bound_row_at(const encode_view *view, uint64_t first_row,
                                            uint32_t number) {
    uint64_t start = encode_start(view, first_row + number);
    uint64_t size = encode_start(view, first_row + number + 1) - start;
    return encode_bound_row{view->text + start, (uint32_t)size, number};
}

/* 1 to 8 bytes of the text, the first one highest; the rest is 0. Words that lie in the memory are
 * loaded as such. */
DEVICE uint64_t encode_bytes_high(const encode_view *view, uint64_t at, uint32_t count) {
    const uint32_t skip = (uint32_t)(at & 7), goes_on = skip + count > 8;
    const uint64_t from = at - skip;
    uint64_t value = 0;
    if (from >= view->low && from + (goes_on ? 16 : 8) <= view->high) {
        uint64_t first = global_load8(from), second = goes_on ? global_load8(from + 8) : 0;
        uint32_t low = (uint32_t)first, middle = (uint32_t)(first >> 32), high = (uint32_t)second;
        if (skip >= 4) low = middle, middle = high, high = (uint32_t)(second >> 32);
        const uint32_t order = 0x0123 + 0x1111 * (skip & 3);
        value = (uint64_t)pick_bytes(low, middle, order) << 32 | pick_bytes(middle, high, order);
    } else {
        ROLLED for (uint32_t i = 0; i < count; i++) value |= (uint64_t)global_load1(at + i)
                                                             << (56 - 8 * i);
    }
    return count < 8 ? value & ~0ull << (64 - 8 * count) : value;
}

/* Word `i` of a row: fp_bound_word. After the words comes the size, as fp_bound has it. */
DEVICE uint64_t encode_bound_word(const encode_view *view, const encode_bound_row *row,
                                  uint32_t i) {
    if (i == ENCODE_BOUND_WORDS) return least(row->size, ENCODE_MOST_BOUND + 1);
    if (8 * i >= row->size) return 0;
    return encode_bytes_high(view, row->at + 8 * i, least(row->size - 8 * i, 8));
}

/* Whether a row is better than another one that has the same first words. */
DEVICE int encode_bound_rest(const encode_view *view, const encode_bound_row *row,
                             const encode_bound_row *best, uint64_t inverted) {
    ROLLED for (uint32_t i = ENCODE_BOUND_KEPT; i <= ENCODE_BOUND_WORDS; i++) {
        uint64_t own = encode_bound_word(view, row, i) ^ inverted;
        uint64_t so_far = encode_bound_word(view, best, i) ^ inverted;
        if (own != so_far) return own < so_far;
    }
    return 0;
}

/* The first words of a row. Most rows lie in the memory with some bytes to spare: all of their words
 * are loaded at once, as lanes that wait for one word before they ask for the next wait three times. */
DEVICE void encode_bound_words(const encode_view *view, const encode_bound_row *row,
                               uint64_t *word) {
    const uint32_t skip = (uint32_t)(row->at & 7);
    const uint64_t from = row->at - skip;
    if (from < view->low || from + 8 * (ENCODE_BOUND_KEPT + 1) > view->high) {
        UNROLL for (uint32_t i = 0; i < ENCODE_BOUND_KEPT; i++) word[i] =
            encode_bound_word(view, row, i);
        return;
    }
    uint32_t half[2 * ENCODE_BOUND_KEPT + 2];
    UNROLL for (uint32_t i = 0; i <= ENCODE_BOUND_KEPT; i++) {
        const uint64_t two = global_load8(from + 8 * i);
        half[2 * i] = (uint32_t)two;
        half[2 * i + 1] = (uint32_t)(two >> 32);
    }
    const uint32_t order = 0x0123 + 0x1111 * (skip & 3);
    UNROLL for (uint32_t i = 0; i <= 2 * ENCODE_BOUND_KEPT; i++) if (skip >= 4) half[i] =
        half[i + 1];
    UNROLL for (uint32_t i = 0; i < ENCODE_BOUND_KEPT; i++) {
        word[i] = (uint64_t)pick_bytes(half[2 * i], half[2 * i + 1], order) << 32 |
                  pick_bytes(half[2 * i + 1], half[2 * i + 2], order);
        if (row->size < 8 * (i + 1)) word[i] &= ~(~0ull >> 8 * excess(row->size, 8 * i));
    }
}

/* Takes a row per lane, if it is there. */
DEVICE void encode_bound_add(const encode_view *view, const encode_bound_row *row, int is_there,
                             encode_bound_pair *best) {
    if (!is_there) return;
    uint64_t word[ENCODE_BOUND_KEPT];
    encode_bound_words(view, row, word);
    UNROLL for (uint32_t which = 0; which < 2; which++) {
        const uint64_t inverted = which ? ~0ull : 0;
        int is_less = 0, is_same = 1;
        UNROLL for (uint32_t i = 0; i < ENCODE_BOUND_KEPT; i++) {
            is_less |= is_same & ((word[i] ^ inverted) < best->word[which][i]);
            is_same &= (word[i] ^ inverted) == best->word[which][i];
        }
        if (best->has & is_same)
            is_less = encode_bound_rest(view, row, &best->row[which], inverted);
        if (best->has & !is_less) continue;
        best->row[which] = *row;
        UNROLL for (uint32_t i = 0; i < ENCODE_BOUND_KEPT; i++) best->word[which][i] =
            word[i] ^ inverted;
    }
    best->has = 1;
}

/* The best of the lanes' smallest rows, or of their largest ones. Some lane has one. */
DEVICE encode_bound_row encode_bound_best(const encode_view *view, const encode_bound_pair *best,
                                          uint32_t which) {
    const encode_bound_row row = which ? best->row[1] : best->row[0];
    const uint64_t inverted = which ? ~0ull : 0;
    int is_one = best->has;
    uint32_t left = warp_ballot(is_one);
    ROLLED for (uint32_t i = 0; i <= ENCODE_BOUND_WORDS && popcount(left) > 1; i++) {
        uint64_t own = is_one ? encode_bound_word(view, &row, i) ^ inverted : ~0ull;
        uint64_t word = warp_least8(own);
        is_one = is_one && own == word;
        left = warp_ballot(is_one);
    }
    /* One is left, or several that do not differ. */
    const uint32_t from = first_bit(left);
    return encode_bound_row{warp_shfl8(row.at, from), warp_shfl(row.size, from),
                            warp_shfl(row.number, from)};
}

/* The numbers of the warp's best rows. */
DEVICE void encode_bound_numbers(const encode_view *view, const encode_bound_pair *best,
                                 uint32_t *smallest, uint32_t *largest) {
    *smallest = *largest = FP_GPU_ENCODE_NO_ROW;
    if (!warp_ballot(best->has)) return;
    *smallest = encode_bound_best(view, best, 0).number;
    *largest = encode_bound_best(view, best, 1).number;
}

/* ---------------------------------------------------------------- blocks of row lengths */

DEVICE uint64_t encode_extremes_at(const fp_gpu_encode_launch *launch, uint32_t chunk,
                                   uint32_t number) {
    uint64_t first = global_reload4(ENCODE_CHUNK(launch, chunk, first_block));
    return launch->scratch.extremes + 8 * (first + number);
}

/* Takes the rows of a block of row lengths. Where a row lies is loaded while the row before is
 * compared. */
DEVICE void encode_bound_block(const fp_gpu_encode_launch *launch, const encode_view *view,
                               const encode_block *block, encode_bound_pair *best) {
    const uint32_t first = block->number * FP_GPU_ENCODE_LENGTHS;
    uint64_t start = 0, end = 0;
    uint32_t r = lane();
    if (r < block->rows) {
        start = encode_number(view->starts, block->first_row + r, view->is_wide);
        end = encode_number(view->starts, block->first_row + r + 1, view->is_wide);
    }
    ROLLED for (; r - lane() < block->rows; r += 32) {
        int is_there = r < block->rows && encode_valid(launch, block->first_row + r, 1);
        const encode_bound_row row = {view->text + (start - view->base), (uint32_t)(end - start),
                                      first + r};
        if (r + 32 < block->rows) {
            start = encode_number(view->starts, block->first_row + r + 32, view->is_wide);
            end = encode_number(view->starts, block->first_row + r + 33, view->is_wide);
        }
        encode_bound_add(view, &row, is_there, best);
    }
}

/* A kernel: a warp takes FP_GPU_ENCODE_BOUNDED blocks of row lengths. What it finds stands at the
 * last of them in the chunk; at the others stands that there is none. */
DEVICE void encode_bounds(const fp_gpu_encode_launch *launch) {
    uint64_t number = (uint64_t)block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    encode_block block = encode_find_block(launch, number * FP_GPU_ENCODE_BOUNDED);
    if (!block.rows) return;
    encode_view view = encode_open(launch);
    encode_bound_pair best = {};
    ROLLED for (uint32_t i = 1; block.rows; i++) {
        encode_bound_block(launch, &view, &block, &best);
        encode_block next = {0, 0, 0, 0};
        if (i < FP_GPU_ENCODE_BOUNDED)
            next = encode_find_block(launch, number * FP_GPU_ENCODE_BOUNDED + i);
        uint32_t smallest = FP_GPU_ENCODE_NO_ROW, largest = FP_GPU_ENCODE_NO_ROW;
        if (!next.rows || next.chunk != block.chunk) {
            encode_bound_numbers(&view, &best, &smallest, &largest);
            best.has = 0;
        }
        if (lane() == 0) {
            uint64_t to = encode_extremes_at(launch, block.chunk, block.number);
            global_store4(to, smallest);
            global_store4(to + 4, largest);
        }
        block = next;
    }
}

/* ---------------------------------------------------------------- chunks */

/* Writes a row's size, then its words. By lanes. */
DEVICE void encode_bound_write(const encode_view *view, const encode_bound_row *row, uint64_t to) {
    if (lane() > ENCODE_BOUND_WORDS) return;
    uint32_t place = lane() == ENCODE_BOUND_WORDS ? 0 : lane() + 1;
    global_store8(to + 8 * place, encode_bound_word(view, row, lane()));
}

/* Takes row `number` of a chunk, if there is one. */
DEVICE void encode_bound_take(const encode_view *view, uint64_t first_row, uint32_t number,
                              encode_bound_pair *best) {
    int is_there = number != FP_GPU_ENCODE_NO_ROW;
    encode_bound_row row = {0, 0, 0};
    if (is_there) row = encode_bound_row_at(view, first_row, number);
    encode_bound_add(view, &row, is_there, best);
}

/* A kernel: blocks take turns at chunks. Warps share the blocks of row lengths of a chunk; the first
 * warp then compares what the warps have found. */
DEVICE void encode_bounds_merge(const fp_gpu_encode_launch *launch) {
    const uint32_t warps = FP_GPU_HELPER_THREADS / 32;
    SHARED_BYTES(found, FP_GPU_HELPER_THREADS / 32 * 8);
    const uint32_t chunks = encode_chunks(launch);
    if (!chunks) return;
    encode_view view = encode_open(launch);
    for (uint32_t c = block_x(); c < chunks; c += blocks_x()) {
        uint64_t first_row = global_reload8(ENCODE_CHUNK(launch, c, first_row));
        uint32_t rows = global_reload4(ENCODE_CHUNK(launch, c, rows));
        uint32_t numbers = 2 * ((rows + FP_GPU_ENCODE_LENGTHS - 1) / FP_GPU_ENCODE_LENGTHS);
        encode_bound_pair best = {};
        ROLLED for (uint32_t i = thread_in_block(); i - lane() < numbers;
                    i += FP_GPU_HELPER_THREADS) {
            uint32_t number = FP_GPU_ENCODE_NO_ROW;
            if (i < numbers) number = global_load4(encode_extremes_at(launch, c, 0) + 4 * i);
            encode_bound_take(&view, first_row, number, &best);
        }
        uint32_t smallest, largest;
        encode_bound_numbers(&view, &best, &smallest, &largest);
        if (lane() == 0) {
            shared_store4(found + 8 * warp_in_block(), smallest);
            shared_store4(found + 8 * warp_in_block() + 4, largest);
        }
        block_sync(); /* all warps have found theirs */
        if (warp_in_block() == 0) {
            uint32_t number = FP_GPU_ENCODE_NO_ROW;
            if (lane() < 2 * warps) number = shared_load4(found + 4 * lane());
            encode_bound_take(&view, first_row, number, &best);
            uint32_t has = warp_ballot(best.has) != 0;
            if (lane() == 0) global_store8(ENCODE_CHUNK(launch, c, has_row), has);
            if (has) {
                encode_bound_row row = encode_bound_best(&view, &best, 0);
                encode_bound_write(&view, &row, ENCODE_CHUNK(launch, c, smallest));
                row = encode_bound_best(&view, &best, 1);
                encode_bound_write(&view, &row, ENCODE_CHUNK(launch, c, largest));
            }
        }
        block_sync(); /* before the next chunk */
    }
}

#endif
