/* positions.cuh - output positions made on the device, in place of the file's sidecar. In: codes and the
 * dictionary's lengths. Out: for chunks that have a place for them (positions not 0), where each of the
 * decoder's batches begins.
 *
 * Two kernels: one adds up the lengths of each batch, one turns the sums of a chunk into positions. Sums
 * are modulo 2^32; the decoder finds out if they ever exceeded the chunk's bytes, because a batch then ends
 * beyond them. */
#ifndef FP_GPU_POSITIONS_CUH
#define FP_GPU_POSITIONS_CUH

#include "input.cuh"

#define FP_POSITIONS_THREADS 256

/* What both kernels read from the chunk table. */
typedef struct positions_chunk {
    uint64_t positions; /* 0: nothing to do */
    uint32_t batches;
    uint32_t count;
    uint64_t codes, dict;
} positions_chunk;

DEVICE positions_chunk positions_open(const fp_gpu_launch *launch, uint32_t codes_per_lane) {
    positions_chunk chunk;
    uint64_t entry =
        launch->chunks + (uint64_t)(launch->first_chunk + block_y()) * sizeof(fp_gpu_chunk);
    fp_words4 counts = global_load16(entry + 32);
    chunk.codes = global_load8(entry);
    chunk.positions = global_load8(entry + 24);
    chunk.count = counts.word[0];
    chunk.batches =
        chunk.count / (32 * codes_per_lane) + (chunk.count % (32 * codes_per_lane) != 0);
    chunk.dict = launch->dicts + (uint64_t)counts.word[3] * sizeof(fp_gpu_dict);
    return chunk;
}

/* A kernel: a warp leaves the bytes of one batch where its position will be. codes_per_lane is the
 * decoder's K. */
DEVICE void measure_batches(const fp_gpu_launch *launch, uint32_t codes_per_lane) {
    positions_chunk chunk = positions_open(launch, codes_per_lane);
    uint32_t batch = block_x() * (FP_POSITIONS_THREADS / 32) + warp_in_block();
    if (chunk.positions == 0 || batch >= chunk.batches) return;
    fp_words4 sizes = global_load16(chunk.dict + 16);
    fp_lane_input in = input_open(chunk.codes, chunk.count, sizes.word[3], launch->widened);
    uint64_t nibbles = words_low(sizes);
    uint32_t left = chunk.count - 32 * codes_per_lane * batch, bytes = 0;
    for (uint32_t first = 0; first < codes_per_lane; first += 8) {
        UNROLL for (uint32_t k = first; k < first + 8; k++) {
            if (k < codes_per_lane && 32 * k + lane() < left) {
                uint32_t code =
                    least(input_code_guarded(&in, batch * codes_per_lane + k), sizes.word[2] - 1);
                bytes += ((global_load1(nibbles + (code >> 1)) >> (code & 1) * 4) & 15) + 1;
            }
        }
    }
    bytes = warp_inclusive_sum(bytes);
    if (lane() == 31) global_store4(chunk.positions + 4 * (uint64_t)batch, bytes);
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

/* A kernel: one block a chunk turns sums into positions, in place, 1024 at a time. */
DEVICE void scan_batches(const fp_gpu_launch *launch, uint32_t codes_per_lane) {
    SHARED_BYTES(warp_sums, FP_POSITIONS_THREADS / 32 * 4);
    positions_chunk chunk = positions_open(launch, codes_per_lane);
    if (chunk.positions == 0) return;
    uint32_t before = 0; /* bytes of all earlier turns */
    for (uint32_t base = 0; base < chunk.batches; base += 4 * FP_POSITIONS_THREADS) {
        uint32_t first = base + 4 * thread_in_block();
        fp_words4 sums = positions_read(chunk.positions, first, chunk.batches), begins;
        uint32_t own = sums.word[0] + sums.word[1] + sums.word[2] + sums.word[3];
        uint32_t through = warp_inclusive_sum(own), begin = before + through - own;
        if (lane() == 31) shared_store4(warp_sums + 4 * warp_in_block(), through);
        block_sync(); /* sums of warps are exchanged */
        UNROLL for (uint32_t warp = 0; warp < FP_POSITIONS_THREADS / 32; warp++) {
            uint32_t sum = shared_load4(warp_sums + 4 * warp);
            before += sum;
            if (warp < warp_in_block()) begin += sum;
        }
        UNROLL for (int i = 0; i < 4; i++) {
            begins.word[i] = begin;
            begin += sums.word[i];
        }
        positions_write(chunk.positions, first, chunk.batches, begins);
        block_sync(); /* the exchange is about to be used again */
    }
}

#endif
