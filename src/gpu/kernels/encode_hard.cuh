/* encode_hard.cuh - scratch that is for seams alone. In: the launch. Out: where its parts are. */
#ifndef FP_GPU_ENCODE_HARD_CUH
#define FP_GPU_ENCODE_HARD_CUH

#include "encode_input.cuh"

/* Counts at the start. */
enum { HARD_SEAMS, HARD_TILES, HARD_CHUNKS, HARD_COUNTS };

/* Addresses. A tile is 32 segments of a chunk. */
typedef struct encode_hard {
    uint64_t stride; /* ways into a segment: bytes that exits and maps have for each */
    uint64_t seams;  /* list of wrong seams: the segment, and where it should begin, 4 bytes each */
    uint64_t
        exits;     /* by segment and way in: how far past its end it ends; after the list is used */
    uint64_t maps; /* the same for tiles of hard chunks */
    uint64_t tiles;   /* list of tiles of hard chunks, 4 bytes each */
    uint64_t entries; /* by tile: the way in, 4 bytes */
    uint64_t chunks;  /* list of hard chunks, 4 bytes each */
} encode_hard;

DEVICE encode_hard encode_hard_places(const fp_gpu_encode_launch *launch) {
    const uint64_t segments = launch->scratch.most_segments, tiles = segments / 32 + 1;
    encode_hard hard;
    hard.stride = FP_GPU_ENCODE_HARD_STRIDE(launch->tables.longest);
    hard.seams = hard.exits = launch->scratch.hard + FP_GPU_ENCODE_HARD_HEADER;
    hard.maps = hard.exits + segments * hard.stride;
    hard.tiles = hard.maps + tiles * hard.stride;
    hard.entries = hard.tiles + 4 * tiles;
    hard.chunks = hard.entries + 4 * tiles;
    return hard;
}

DEVICE uint32_t encode_hard_count(const fp_gpu_encode_launch *launch, uint32_t which) {
    return global_reload4(launch->scratch.hard + 4 * which);
}

#endif
