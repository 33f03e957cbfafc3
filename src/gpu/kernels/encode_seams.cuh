/* encode_seams.cuh - finds segments whose parse began at a wrong guess, and mends chunks where that
 * goes on and on. In: where each segment's first token begins and its last one ends. Out: lists for
 * encode_parse.cuh.
 *
 * A chunk is right if each of its segments begins where the one before ends. Round 1 lists the
 * segments that do not. They are parsed again, after which nearly always the next ones fit. Round 2
 * lists chunks where one still does not: text that repeats itself can keep two parses apart for ever.
 * Mending such chunks seam by seam would go through them one segment after the other. The trick: a
 * parse enters a segment at one of few bytes, so for each of them, all in parallel, the parse finds
 * where it leaves; chain then goes through the tables, tile by tile. */
#ifndef FP_GPU_ENCODE_SEAMS_CUH
#define FP_GPU_ENCODE_SEAMS_CUH

#include "encode_parse.cuh"

/* A lane per segment. */
DEVICE void encode_seams(const fp_gpu_encode_launch *launch) {
    if (encode_failed(launch)) return;
    if (launch->round == 2 && !encode_hard_count(launch, HARD_SEAMS)) return;
    const uint64_t segment = (uint64_t)block_x() * threads_in_block() + thread_in_block();
    if (segment >= global_reload8(ENCODE_STATE(launch, segments))) return;
    const encode_hard hard = encode_hard_places(launch);
    const uint32_t chunk = parse_chunk_of(launch, (uint32_t)segment);
    const uint32_t segments = global_load4(ENCODE_CHUNK(launch, chunk, segments));
    const uint32_t first = (uint32_t)global_load8(ENCODE_CHUNK(launch, chunk, first_segment));
    const uint32_t number = (uint32_t)segment - first;
    if (number == 0 || number >= segments) return;
    const uint32_t begins = global_load4(launch->scratch.seg_first + 4 * segment);
    const uint32_t should = global_load4(launch->scratch.seg_end + 4 * segment - 4);
    if (begins == should) return;
    if (launch->round == 1) {
        const uint64_t place = hard.seams + 8 * (uint64_t)global_add4(launch->scratch.hard, 1);
        global_store4(place, (uint32_t)segment);
        global_store4(place + 4, should - number * FP_GPU_ENCODE_SEGMENT);
        global_add4(ENCODE_STATE(launch, bad_seams), 1);
        return;
    }
    global_add4(ENCODE_STATE(launch, hard_seams), 1);
    if (global_add4(ENCODE_CHUNK(launch, chunk, is_hard), 1)) return; /* another lane lists it */
    const uint32_t tiles = (segments + 31) / 32;
    const uint32_t place = global_add4(launch->scratch.hard + 4 * HARD_TILES, tiles);
    for (uint32_t i = 0; i < tiles; i++)
        global_store4(hard.tiles + 4 * (uint64_t)(place + i), first / 32 + i);
    global_store4(
        hard.chunks + 4 * (uint64_t)global_add4(launch->scratch.hard + 4 * HARD_CHUNKS, 1), chunk);
}

/* From a way into a tile, through its segments; returns the way into the next one. Where `keeps` is
 * set it notes where each segment begins. */
DEVICE uint32_t seams_walk(const fp_gpu_encode_launch *launch, const encode_hard *hard,
                           uint32_t chunk, uint32_t tile, uint32_t way, int keeps) {
    const uint32_t first = (uint32_t)global_load8(ENCODE_CHUNK(launch, chunk, first_segment));
    const uint32_t end = global_load4(ENCODE_CHUNK(launch, chunk, segments));
    for (uint32_t number = 32 * tile; number < least(32 * tile + 32, end); number++) {
        const uint64_t segment = first + number;
        if (keeps)
            global_store4(launch->scratch.seg_first + 4 * segment,
                          number * FP_GPU_ENCODE_SEGMENT + way);
        way = global_load1(hard->exits + segment * hard->stride + way);
    }
    return way;
}

/* Finds where each segment of a hard chunk begins. A block per chunk. */
DEVICE void encode_chain(const fp_gpu_encode_launch *launch) {
    if (encode_failed(launch)) return;
    const encode_hard hard = encode_hard_places(launch);
    const uint32_t chunks = encode_hard_count(launch, HARD_CHUNKS),
                   longest = launch->tables.longest;
    for (uint32_t i = block_x(); i < chunks; i += blocks_x()) {
        const uint32_t chunk = global_load4(hard.chunks + 4 * (uint64_t)i);
        const uint64_t first = global_load8(ENCODE_CHUNK(launch, chunk, first_segment)) / 32;
        const uint32_t tiles = (global_load4(ENCODE_CHUNK(launch, chunk, segments)) + 31) / 32;
        for (uint64_t at = thread_in_block(); at < (uint64_t)tiles * longest;
             at += threads_in_block()) {
            const uint32_t tile = (uint32_t)(at / longest), way = (uint32_t)(at % longest);
            global_store1(hard.maps + (first + tile) * hard.stride + way,
                          seams_walk(launch, &hard, chunk, tile, way, 0));
        }
        block_sync(); /* maps are read */
        if (thread_in_block() == 0) {
            uint32_t way = 0;
            for (uint64_t tile = first; tile < first + tiles; tile++) {
                global_store4(hard.entries + 4 * tile, way);
                way = global_reload1(hard.maps + tile * hard.stride + way);
            }
        }
        block_sync(); /* entries are read */
        for (uint32_t tile = thread_in_block(); tile < tiles; tile += threads_in_block())
            seams_walk(launch, &hard, chunk, tile,
                       global_reload4(hard.entries + 4 * (first + tile)), 1);
    }
}

#endif
