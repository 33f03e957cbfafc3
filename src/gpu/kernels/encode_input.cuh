/* encode_input.cuh - how kernels of the encoder read rows. In: the launch. Out: where rows begin,
 * their text, whether they are null; and searches that several kernels need.
 *
 * The trick: where null rows have bytes, the text was moved together and scratch has the places of
 * rows; else the caller's own offsets serve. A view hides which it is: numbers at an address, less
 * the first of them. */
#ifndef FP_GPU_ENCODE_INPUT_CUH
#define FP_GPU_ENCODE_INPUT_CUH

#include "encode_params.h"
#include "warp.cuh"

/* ---------------------------------------------------------------- the state */

#define ENCODE_STATE(launch, field) ((launch)->scratch.state + offsetof(fp_gpu_encode_state, field))
#define ENCODE_CHUNK(launch, number, field)                                                        \
    ((launch)->scratch.chunks + (number) * (uint64_t)sizeof(fp_gpu_encode_chunk) +                 \
     offsetof(fp_gpu_encode_chunk, field))

/* Whether a kernel before, or a piece before, found something wrong. */
DEVICE int encode_failed(const fp_gpu_encode_launch *launch) {
    return global_reload4(ENCODE_STATE(launch, status)) != 0;
}

/* Chunks of this piece; none if something is wrong. Kernels that ask for chunks need not ask twice:
 * with one more way out of them nvcc 13 does not come to an end. */
DEVICE uint32_t encode_chunks(const fp_gpu_encode_launch *launch) {
    uint32_t status = global_reload4(ENCODE_STATE(launch, status));
    uint32_t chunks = global_reload4(ENCODE_STATE(launch, chunks));
    return status ? 0 : chunks;
}

/* ---------------------------------------------------------------- rows */

typedef struct encode_view {
    uint64_t text;      /* device address, at no particular alignment */
    uint64_t bytes;     /* of the text */
    uint64_t low, high; /* addresses between which memory may be read, whatever it holds */
    uint64_t starts;    /* where rows begin: numbers of 4 or 8 bytes */
    uint64_t base;      /* the first of them */
    uint32_t is_wide;   /* 8 bytes */
} encode_view;

DEVICE uint64_t encode_number(uint64_t address, uint64_t i, uint32_t is_wide) {
    return is_wide ? global_load8(address + 8 * i) : global_load4(address + 4 * i);
}

/* There are rows, and fp_encode_scan has run. */
DEVICE encode_view encode_open(const fp_gpu_encode_launch *launch) {
    const fp_gpu_encode_input *input = &launch->input;
    encode_view view;
    view.bytes = global_reload8(ENCODE_STATE(launch, text_bytes));
    if (input->validity && global_reload4(ENCODE_STATE(launch, moves_text))) {
        view.text = view.low = launch->scratch.text;
        view.high = view.low + view.bytes;
        view.starts = launch->scratch.starts;
        view.base = 0;
        view.is_wide = 1;
    } else {
        view.is_wide = input->offset_bits == 64;
        view.starts = input->offsets;
        view.base = encode_number(view.starts, 0, view.is_wide);
        view.low = input->bytes;
        view.high = view.low + input->bytes_size;
        view.text = view.low + view.base;
    }
    return view;
}

/* Where a row begins in the text; row `rows` begins where the last row ends. */
DEVICE uint64_t encode_start(const encode_view *view, uint64_t row) {
    return encode_number(view->starts, row, view->is_wide) - view->base;
}

/* `count` bytes from `at` on, 1 to 8 of them, the first one lowest; the rest is 0. Words that lie in
 * the memory are loaded as such; at its edges bytes are. */
DEVICE uint64_t encode_bytes(const encode_view *view, uint64_t at, uint32_t count) {
    uint32_t shift = (uint32_t)(at & 7), goes_on = shift + count > 8;
    uint64_t from = at - shift, value = 0;
    if (from >= view->low && from + (goes_on ? 16 : 8) <= view->high) {
        value = global_load8(from) >> 8 * shift;
        /* In two steps, as a shift by 64 is none. */
        if (goes_on) value |= global_load8(from + 8) << 1 << (63 - 8 * shift);
    } else {
        ROLLED for (uint32_t i = 0; i < count; i++) value |= (uint64_t)global_load1(at + i)
                                                             << 8 * i;
    }
    return count < 8 ? value & ((1ull << 8 * count) - 1) : value;
}

/* ---------------------------------------------------------------- null rows */

/* Bit i is set if row `row` + i is valid; `count` is 1 to 32. Reads no byte that has no such bit. */
DEVICE uint32_t encode_valid(const fp_gpu_encode_launch *launch, uint64_t row, uint32_t count) {
    uint32_t mask = count < 32 ? (1u << count) - 1 : 0xffffffffu;
    if (!launch->input.validity) return mask;
    uint64_t bit = launch->input.validity_first + row, bits = 0;
    uint64_t from = launch->input.validity + bit / 8;
    uint32_t bytes = (uint32_t)(bit % 8 + count + 7) / 8;
    ROLLED for (uint32_t i = 0; i < bytes; i++) bits |= (uint64_t)global_load1(from + i) << 8 * i;
    return (uint32_t)(bits >> bit % 8) & mask;
}

/* ---------------------------------------------------------------- numbers of all lanes */

DEVICE uint64_t warp_shfl8(uint64_t value, uint32_t from) {
    uint64_t low = warp_shfl((uint32_t)value, from),
             high = warp_shfl((uint32_t)(value >> 32), from);
    return high << 32 | low;
}

/* The least and the greatest number of all lanes. */
DEVICE uint32_t warp_least(uint32_t value) {
    UNROLL for (uint32_t distance = 1; distance < 32; distance *= 2) {
        uint32_t below = warp_shfl_up(value, distance);
        value = least(value, below);
    }
    return warp_shfl(value, 31);
}

DEVICE uint32_t warp_greatest(uint32_t value) {
    UNROLL for (uint32_t distance = 1; distance < 32; distance *= 2) {
        uint32_t below = warp_shfl_up(value, distance);
        value = greatest(value, below);
    }
    return warp_shfl(value, 31);
}

DEVICE uint64_t warp_least8(uint64_t value) {
    UNROLL for (uint32_t distance = 1; distance < 32; distance *= 2) {
        uint64_t low = warp_shfl_up((uint32_t)value, distance);
        uint64_t below = low | (uint64_t)warp_shfl_up((uint32_t)(value >> 32), distance) << 32;
        value = below < value ? below : value;
    }
    return warp_shfl8(value, 31);
}

/* The sum of numbers of all lower warps of the block, and of all of them; `sum` is that of the lane
 * and those below it. By all threads; `sums` has 8 bytes per warp. */
DEVICE uint64_t encode_warp_sums(uint64_t sum, uint8_t *sums, uint64_t *all) {
    uint32_t warps = threads_in_block() / 32, warp = warp_in_block();
    if (lane() == 31) shared_store8(sums + 8 * warp, sum);
    block_sync(); /* sums of warps are exchanged */
    uint64_t up_to = warp_inclusive_sum8(lane() < warps ? shared_load8(sums + 8 * lane()) : 0);
    uint64_t before = warp_shfl8(up_to, warp ? warp - 1 : 0);
    *all = warp_shfl8(up_to, 31);
    block_sync(); /* the exchange may be used again */
    return warp ? before : 0;
}

/* ---------------------------------------------------------------- searches, by a warp */

/* Numbers that never decrease, `stride` bytes apart. */
typedef struct encode_series {
    uint64_t address, stride, base, count;
    uint32_t is_wide;
} encode_series;

/* The last of them that is at most `value`, which is at least the first. All lanes ask the same. */
DEVICE uint64_t encode_last(const encode_series *of, uint64_t value) {
    uint64_t low = 0, high = of->count;
    while (high - low > 1) {
        uint64_t step = (high - low + 31) / 32, at = low + step * (lane() + 1);
        int is_at_most = 0;
        if (at < high) {
            uint64_t from = of->address + of->stride * at;
            is_at_most =
                (of->is_wide ? global_reload8(from) : global_reload4(from)) - of->base <= value;
        }
        uint32_t passed = popcount(warp_ballot(is_at_most));
        low += step * passed;
        high = low + step < high ? low + step : high;
    }
    return low;
}

/* The row that holds a byte of the text. */
DEVICE uint64_t encode_row_of(const fp_gpu_encode_launch *launch, const encode_view *view,
                              uint64_t byte) {
    encode_series rows = {view->starts, view->is_wide ? 8u : 4u, view->base, launch->input.rows,
                          view->is_wide};
    return encode_last(&rows, byte);
}

/* The chunk that holds a byte of the text. Chunks without bytes begin where the next one begins, or
 * after all bytes. */
DEVICE uint32_t encode_chunk_of(const fp_gpu_encode_launch *launch, uint64_t byte) {
    encode_series chunks = {ENCODE_CHUNK(launch, 0, first_byte), sizeof(fp_gpu_encode_chunk), 0,
                            encode_chunks(launch), 1};
    return (uint32_t)encode_last(&chunks, byte);
}

/* A block of row lengths. */
typedef struct encode_block {
    uint64_t first_row;     /* of the input */
    uint32_t chunk, number; /* the chunk, and which of its blocks this is */
    uint32_t rows;          /* 0: there is no such block */
} encode_block;

/* Block `number` of all chunks. */
DEVICE encode_block encode_find_block(const fp_gpu_encode_launch *launch, uint64_t number) {
    encode_block block = {0, 0, 0, 0};
    encode_series chunks = {ENCODE_CHUNK(launch, 0, first_block), sizeof(fp_gpu_encode_chunk), 0,
                            encode_chunks(launch), 0};
    if (!chunks.count) return block;
    block.chunk = (uint32_t)encode_last(&chunks, number);
    uint64_t local = number - global_reload4(ENCODE_CHUNK(launch, block.chunk, first_block));
    uint32_t rows = global_reload4(ENCODE_CHUNK(launch, block.chunk, rows));
    if (local * FP_GPU_ENCODE_LENGTHS >= rows) return block;
    block.number = (uint32_t)local;
    block.rows = least(rows - block.number * FP_GPU_ENCODE_LENGTHS, FP_GPU_ENCODE_LENGTHS);
    block.first_row = global_reload8(ENCODE_CHUNK(launch, block.chunk, first_row)) +
                      (uint64_t)block.number * FP_GPU_ENCODE_LENGTHS;
    return block;
}

#endif
