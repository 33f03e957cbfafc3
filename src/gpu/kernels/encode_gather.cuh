/* encode_gather.cuh - codes of a chunk from their segments to shared memory. In: segments, each with
 * room for more codes than it has, and how many codes come before each. Out: some codes of the chunk, one
 * after the other.
 *
 * A segment has a hundred codes or so. So a warp copies whole segments, two of them at a time, so that
 * enough loads are under way. */
#ifndef FP_GPU_ENCODE_GATHER_CUH
#define FP_GPU_ENCODE_GATHER_CUH

#include "encode_layout.cuh"

/* What a block knows of the chunk that it packs. */
typedef struct pack_chunk {
    uint64_t codes;   /* its segments */
    uint64_t ranks;   /* and how many codes come before each */
    uint64_t counts;  /* and how many it has */
    uint64_t packed;  /* sections in the image */
    uint64_t sidecar; /* positions of groups, then deltas */
    uint64_t deltas;
    uint32_t code_count, segments;
} pack_chunk;

DEVICE pack_chunk pack_open(const fp_gpu_encode_launch *launch, uint32_t c) {
    const fp_gpu_encode_scratch *scratch = &launch->scratch;
    const uint32_t batch = launch->rules.batch_codes, group = launch->rules.group_batches;
    uint64_t table = 4 * global_load8(ENCODE_CHUNK(launch, c, first_segment));
    uint64_t block = encode_block_address(launch, c);
    pack_chunk chunk;
    chunk.codes = scratch->codes + 2 * global_load8(ENCODE_CHUNK(launch, c, code_place));
    chunk.ranks = scratch->seg_rank + table;
    chunk.counts = scratch->seg_count + table;
    chunk.packed = block + global_load8(ENCODE_CHUNK(launch, c, section));
    chunk.sidecar = block + global_load8(ENCODE_CHUNK(launch, c, section) + 8);
    chunk.code_count = global_load4(ENCODE_CHUNK(launch, c, codes));
    chunk.segments = global_load4(ENCODE_CHUNK(launch, c, segments));
    uint64_t batches = ((uint64_t)chunk.code_count + batch - 1) / batch;
    chunk.deltas = chunk.sidecar + (batches + group - 1) / group * 4;
    return chunk;
}

/* ---------------------------------------------------------------- gather */

/* The codes first .. end of a chunk, and the segment that `first` is in. */
typedef struct pack_take {
    uint32_t first, end, segment;
} pack_take;

/* A segment's codes that are in a take, on their way: pairs of codes of each lane. */
#define FP_PACK_PAIRS 2u
#define FP_PACK_AHEAD 2u

DEVICE void gather_load(const pack_chunk *chunk, uint32_t segment, uint32_t count, uint32_t *pair) {
    uint64_t from = chunk->codes + 2 * FP_GPU_ENCODE_SEGMENT * (uint64_t)segment;
    UNROLL for (uint32_t i = 0; i < FP_PACK_PAIRS; i++) {
        uint32_t at = 32 * i + lane();
        pair[i] = 2 * at < count ? global_load4(from + 4 * at) : 0;
    }
}

/* Stores codes at and at + 1 of a segment with `count` codes, the first of which is code `rank` of the
 * chunk, if they are in the take. */
DEVICE void gather_pair(const pack_take *take, uint32_t rank, uint32_t count, uint32_t at,
                        uint32_t pair, uint8_t *codes) {
    /* Below 2^31 if the code is in the take. */
    uint32_t to = rank + at - take->first, most = take->end - take->first;
    if (at < count && to < most) shared_store2(codes + 2 * (uint64_t)to, pair);
    if (at + 1 < count && to + 1 < most) shared_store2(codes + 2 * (uint64_t)(to + 1), pair >> 16);
}

/* Copies a take's codes to shared memory, one segment per warp at a time. The lane whose segment holds
 * the next take's first code leaves its number at `next`. */
DEVICE void gather(const pack_chunk *chunk, const pack_take *take, uint8_t *codes, uint8_t *next) {
    const uint32_t warps = threads_in_block() / 32;
    for (uint32_t base = take->segment + warp_in_block();; base += 32 * warps) {
        /* Each lane looks at one of the warp's next 32 segments. */
        uint32_t own = base + warps * lane(), rank = FP_PACK_NONE, count = 0;
        if (own < chunk->segments) {
            rank = global_load4(chunk->ranks + 4 * (uint64_t)own);
            count = global_load4(chunk->counts + 4 * (uint64_t)own);
        }
        int is_in = rank < take->end && rank != FP_PACK_NONE;
        uint32_t segments = popcount(warp_ballot(is_in));
        if (is_in && take->end - rank <= count)
            shared_store4(next, take->end - rank < count ? own : own + 1);
        for (uint32_t l = 0; l < segments; l += FP_PACK_AHEAD) {
            uint32_t pair[FP_PACK_AHEAD][FP_PACK_PAIRS], ranks[FP_PACK_AHEAD], n[FP_PACK_AHEAD];
            UNROLL for (uint32_t u = 0; u < FP_PACK_AHEAD; u++) {
                ranks[u] = warp_shfl(rank, (l + u) % 32);
                n[u] = warp_shfl(count, (l + u) % 32);
                if (l + u >= segments) n[u] = 0;
                gather_load(chunk, base + warps * (l + u), n[u], pair[u]);
            }
            UNROLL for (uint32_t u = 0; u < FP_PACK_AHEAD; u++) {
                UNROLL for (uint32_t i = 0; i < FP_PACK_PAIRS; i++)
                    gather_pair(take, ranks[u], n[u], 64 * i + 2 * lane(), pair[u][i], codes);
                uint64_t from =
                    chunk->codes + 2 * FP_GPU_ENCODE_SEGMENT * (uint64_t)(base + warps * (l + u));
                for (uint32_t at = 64 * FP_PACK_PAIRS + 2 * lane(); at < n[u]; at += 64)
                    gather_pair(take, ranks[u], n[u], at, global_load4(from + 2 * at), codes);
            }
        }
        if (segments < 32) return;
    }
}

#endif
