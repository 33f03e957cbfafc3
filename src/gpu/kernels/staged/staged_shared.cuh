/* staged_shared.cuh - the staged decoder with its dictionary in shared memory, for comparison with
 * staged.cuh (section 4.4 of the paper). In and out: as there. The stages are the same text; only
 * where the gather and the queued reads look differs.
 *
 * Every block copies the dictionary once and then goes through many batches, so the grid should
 * have no more blocks than are resident. Slots that do not fit are treated as codes outside the
 * dictionary. */
#ifndef FP_STAGED_SHARED_CUH
#define FP_STAGED_SHARED_CUH

#include "staged.cuh"

/* Copies bytes of global memory to shared memory, the whole block together: words of 8 bytes, then
 * single bytes. */
template <int T> DEVICE void shared_copy(uint8_t *to, uint64_t from, uint32_t bytes) {
    for (uint32_t i = 8 * thread_in_block(); i + 8 <= bytes; i += 8 * T)
        shared_store8(to + i, global_load8(from + i));
    for (uint32_t i = bytes / 8 * 8 + thread_in_block(); i < bytes; i += T)
        shared_store1(to + i, global_load1(from + i));
}

/* A kernel: warps take batches in turn. Dynamic shared memory has FP_STAGED_DICT(shared_slots, L)
 * bytes. */
template <int K, int W, int L, int H, int T, int B>
DEVICE void staged_shared_kernel(const fp_staged_launch *launch) {
    typedef staged_shape<K, W, L, H> shape;
    typedef staged_block<K, W, L, H, T, B> block;
    SHARED_BYTES(shared, block::shared_bytes);
    SHARED_DYNAMIC_BYTES(shared_dict);
    uint8_t *staging = shared + warp_in_block() * shape::staging_bytes;
    uint8_t *queue =
        shared + block::warps * shape::staging_bytes + warp_in_block() * shape::queue_bytes;
    staged_chunk chunk = staged_open<K>(launch, block_x() * block::warps);
    if (!chunk.batches) return;

    uint32_t slots = least(chunk.dict.slots, launch->shared_slots);
    chunk.dict.slots = slots;
    chunk.dict.shared = shared_dict;
    shared_copy<T>(shared_dict, chunk.dict.low, slots * W);
    if (W < L) shared_copy<T>(shared_dict + slots * W, chunk.dict.high, slots * (L - W));
    shared_copy<T>(shared_dict + slots * L, chunk.dict.nibbles, (slots + 1) / 2);
    block_sync(); /* the dictionary was written by all warps and is read by all */

    for (uint32_t batch = block_x() * block::warps + warp_in_block(); batch < chunk.batches;
         batch += blocks_x() * block::warps) {
        uint32_t bad = staged_batch<K, W, L, H, 1>(&chunk, batch, staging, queue);
        if (bad && lane() == 0) report(chunk.status, bad);
        warp_sync(); /* what the drain read is about to be overwritten */
    }
}

#endif
