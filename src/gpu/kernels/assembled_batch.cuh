/* assembled_batch.cuh - a batch on its way through the assembled decoder. In: positions of the file
 * or of the device. Out: whether they can be true, and decoded bytes in global memory. */
#ifndef FP_GPU_ASSEMBLED_BATCH_CUH
#define FP_GPU_ASSEMBLED_BATCH_CUH

#include "batch_positions.cuh"

/* A batch that is under way. */
typedef struct assembled_batch {
    uint64_t out;  /* address of the chunk's first byte */
    uint32_t left; /* codes from the batch's first to the chunk's last */
    uint32_t end;  /* decoded bytes of the chunk */
    uint32_t in_chunk;
    batch_place place;
} assembled_batch;

/* Where a batch begins and ends in the chunk's bytes. */
typedef struct assembled_place {
    uint32_t begin, end;
} assembled_place;

DEVICE assembled_place assembled_where(const assembled_batch *batch) {
    uint32_t sum = batch_position(batch->place);
    assembled_place place = {warp_shfl(sum, 0), warp_shfl(sum, 1)};
    return place;
}

/* The one check that keeps every write inside the chunk, and finds any lie about positions. */
DEVICE int assembled_lies(const assembled_batch *batch, assembled_place place, uint32_t total) {
    return place.end > batch->end || place.begin > place.end || place.end - place.begin != total ||
           (batch->in_chunk == 0 && place.begin != 0);
}

/* drain: `total` bytes from `from` to `out`, which have the same distance from a 32-byte boundary.
 * Single bytes up to the first boundary and after the last one, so that no other batch's bytes are
 * touched. */
DEVICE void assembled_drain(const uint8_t *from, uint64_t out, uint32_t total) {
    uint32_t head = least((0u - (uint32_t)out) & 31, total), body = (total - head) & ~31u;
    bulk_store(out + head, from + head, body);
    uint32_t tail = head + body + lane();
    if (lane() < head) global_store1(out + lane(), shared_load1(from + lane()));
    if (tail < total) global_store1(out + tail, shared_load1(from + tail));
}

#endif
