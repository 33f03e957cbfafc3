/* batch_positions.cuh - where a batch's bytes go. In: positions from the file's sidecar, or
 * positions computed on the device. Out: where a batch begins and ends in its chunk's bytes. For
 * all decode kernels. */
#ifndef FP_GPU_BATCH_POSITIONS_CUH
#define FP_GPU_BATCH_POSITIONS_CUH

#include "warp.cuh"

/* Where the batches of a chunk begin: a 4-byte position per 2^shift entries, and unless `deltas` is
 * 0 a 2-byte delta to add per entry. `step` entries make up one of the kernel's batches. */
typedef struct batch_positions {
    uint64_t positions, deltas;
    uint32_t shift, step, entries;
    uint32_t end; /* decoded bytes of the chunk */
} batch_positions;

/* The two numbers whose sum is where a batch begins in the chunk's bytes, in even lanes, and where
 * it ends (the next one begins), in odd lanes. They are added late, so that nothing waits for them
 * while codes are on their way. */
typedef struct batch_place {
    uint32_t base, delta;
} batch_place;

DEVICE batch_place batch_read_place(const batch_positions *in, uint32_t batch) {
    uint32_t entry = (batch + (lane() & 1)) * in->step;
    batch_place place = {in->end, 0};
    if (entry < in->entries) {
        place.base = global_load4(in->positions + 4 * (uint64_t)(entry >> in->shift));
        if (in->deltas) place.delta = global_load2(in->deltas + 2 * (uint64_t)entry);
    }
    return place;
}

DEVICE uint32_t batch_position(batch_place place) {
    uint32_t sum = place.base + place.delta;
    return sum < place.base ? 0xffffffffu : sum; /* a sum that does not fit is beyond every chunk */
}

#endif
