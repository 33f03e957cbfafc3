/* positions.cuh - output positions made on the device, in place of the file's sidecar. In: codes
 * and the lengths of the dictionary's tokens. Out: where each of the decoder's batches begins.
 *
 * Two kernels: one adds up the lengths of each batch, one turns the sums of a chunk into positions.
 * Sums are modulo 2^32; the decoder finds out if they ever exceeded the chunk's bytes, because a
 * batch then ends beyond them. */
#ifndef FP_GPU_POSITIONS_CUH
#define FP_GPU_POSITIONS_CUH

#include "input.cuh"

DEVICE uint32_t positions_batches(const fp_gpu_positions *chunk) {
    uint32_t batch_codes = 32 * chunk->codes_per_lane;
    return chunk->code_count / batch_codes + (chunk->code_count % batch_codes != 0);
}

/* A kernel: a warp leaves the bytes of one batch where its position will be. */
DEVICE void measure_batches(const fp_gpu_positions_launch *launch) {
    const fp_gpu_positions *chunk = &launch->entry[block_y()];
    uint32_t batch = block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    if (batch >= positions_batches(chunk)) return;
    fp_lane_input in = input_open(chunk->codes, chunk->code_count, chunk->code_bits);
    uint32_t each = chunk->codes_per_lane, left = chunk->code_count - 32 * each * batch, bytes = 0;
    for (uint32_t first = 0; first < each; first += 8) {
        UNROLL for (uint32_t k = first; k < first + 8; k++) {
            if (k < each && 32 * k + lane() < left) {
                uint32_t code = least(input_code_guarded(&in, batch * each + k), chunk->slots - 1);
                bytes += global_load1(chunk->lengths + code);
            }
        }
    }
    bytes = warp_inclusive_sum(bytes);
    if (lane() == 31) global_store4(chunk->positions + 4 * (uint64_t)batch, bytes);
}

/* Four sums from `first` on, or as many as there are, and zeros. */
DEVICE fp_words4 positions_read(uint64_t sums, uint32_t first, uint32_t count) {
    if (first + 4 <= count) return global_reload16(sums + 4 * (uint64_t)first);
    fp_words4 some = {{0, 0, 0, 0}};
    UNROLL for (uint32_t i = 0; i < 4; i++) {
        if (first + i < count) some.word[i] = global_reload4(sums + 4 * (uint64_t)(first + i));
    }
    return some;
}

DEVICE void positions_write(uint64_t positions, uint32_t first, uint32_t count, fp_words4 values) {
    if (first + 4 <= count) {
        global_store16(positions + 4 * (uint64_t)first, values);
    } else {
        UNROLL for (uint32_t i = 0; i < 4; i++) {
            if (first + i < count)
                global_store4(positions + 4 * (uint64_t)(first + i), values.word[i]);
        }
    }
}

/* A kernel: one block per chunk turns sums into positions, in place, 1024 at a time. */
DEVICE void scan_batches(const fp_gpu_positions_launch *launch) {
    SHARED_BYTES(warp_sums, FP_GPU_HELPER_THREADS / 32 * 4);
    const fp_gpu_positions *chunk = &launch->entry[block_y()];
    uint32_t batches = positions_batches(chunk);
    uint32_t before = 0; /* bytes of all earlier turns */
    for (uint32_t base = 0; base < batches; base += 4 * FP_GPU_HELPER_THREADS) {
        uint32_t first = base + 4 * thread_in_block();
        fp_words4 sums = positions_read(chunk->positions, first, batches), begins;
        uint32_t own = sums.word[0] + sums.word[1] + sums.word[2] + sums.word[3];
        uint32_t through = warp_inclusive_sum(own), begin = before + through - own;
        if (lane() == 31) shared_store4(warp_sums + 4 * warp_in_block(), through);
        block_sync(); /* sums of warps are exchanged */
        UNROLL for (uint32_t warp = 0; warp < FP_GPU_HELPER_THREADS / 32; warp++) {
            uint32_t sum = shared_load4(warp_sums + 4 * warp);
            before += sum;
            if (warp < warp_in_block()) begin += sum;
        }
        UNROLL for (int i = 0; i < 4; i++) {
            begins.word[i] = begin;
            begin += sums.word[i];
        }
        positions_write(chunk->positions, first, batches, begins);
        block_sync(); /* the exchange is about to be used again */
    }
}

#endif
