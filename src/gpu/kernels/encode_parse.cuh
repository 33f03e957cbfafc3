/* encode_parse.cuh - the greedy parse: text into codes. In: chunks, text, row ends, tables. Out: for
 * each segment its codes, how many there are, and where its first token begins and its last ends.
 *
 * A segment's first token begins where the last one of the segment before ends, which nobody knows
 * yet. The trick: a parse from the start of a row is right, and a parse from anywhere nearly always
 * meets the right one after a few tokens. So a lane begins some bytes before its segment, at a row's
 * start if there is one, and throws away the tokens before the segment. encode_seams.cuh finds the
 * segments where that went wrong, and they are parsed again, from where they should begin.
 *
 * A warp takes items in units of 32: each lane prepares one, and lanes that have nothing to do take
 * what is prepared. So lanes with fewer tokens do not wait for the others. Rounds differ in what an
 * item is:
 *   0  a segment, from a guess
 *   1  a segment from the list of wrong seams, from where the segment before ends
 *   2  a segment of a hard chunk and a way into it: only where it ends is of interest
 *   3  a segment of a hard chunk, from where it begins */
#ifndef FP_GPU_ENCODE_PARSE_CUH
#define FP_GPU_ENCODE_PARSE_CUH

#include "encode_hard.cuh"
#include "encode_match.cuh"

/* Steps after which lanes that are done take something else. */
#define PARSE_STEPS 16u

/* What is to be parsed. */
typedef struct parse_item {
    uint64_t byte;    /* of the text, where the segment begins */
    uint32_t segment; /* in the tables */
    uint32_t within;  /* bytes from the chunk's start to the segment's */
    uint32_t size;    /* bytes of the segment */
    int32_t start;    /* where to begin, relative to the segment: before it for a guess */
    uint32_t place;   /* a sixteenth of the place of its codes; in round 2 the way in */
} parse_item;

/* Where a parse of a segment should begin: at the last row that begins at most `most` bytes before
 * it; else so many bytes before it. */
DEVICE int32_t parse_start(const fp_gpu_encode_launch *launch, uint64_t byte, uint32_t most) {
    uint64_t word = byte / 32;
    uint32_t mask = 0xffffffffu >> (31 - byte % 32);
    for (;; word--, mask = 0xffffffffu) {
        const uint32_t ends = global_load4(launch->scratch.ends + 4 * word) & mask;
        const uint64_t last = 32 * word + (ends ? last_bit(ends) : 0);
        if (ends && last + most >= byte) return -(int32_t)(byte - last);
        if (ends || last + most <= byte) return -(int32_t)most;
    }
}

/* The chunk of a segment. */
DEVICE uint32_t parse_chunk_of(const fp_gpu_encode_launch *launch, uint32_t segment) {
    uint32_t low = 0, high = encode_chunks(launch);
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (global_load8(ENCODE_CHUNK(launch, middle, first_segment)) <= segment)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Prepares the lane's item of a unit; 0 if it has none. Lanes that have one come first. */
DEVICE int parse_prepare(const fp_gpu_encode_launch *launch, uint32_t unit, uint32_t units_round,
                         parse_item *item) {
    const uint32_t longest = launch->tables.longest;
    const encode_hard hard = encode_hard_places(launch);
    uint32_t entry = 0;
    if (units_round == 0) {
        item->segment = unit * 32 + lane();
    } else if (units_round == 1) {
        const uint64_t i = (uint64_t)unit * 32 + lane();
        if (i >= encode_hard_count(launch, HARD_SEAMS)) return 0;
        item->segment = global_load4(hard.seams + 8 * i);
        entry = global_load4(hard.seams + 8 * i + 4);
    } else {
        const uint64_t tile = units_round == 2 ? unit / longest : unit;
        item->segment = global_load4(hard.tiles + 4 * tile) * 32 + lane();
        entry = unit % longest;
    }
    const uint32_t chunk = parse_chunk_of(launch, item->segment);
    const uint32_t bytes = global_load4(ENCODE_CHUNK(launch, chunk, bytes));
    const uint32_t number =
        item->segment - (uint32_t)global_load8(ENCODE_CHUNK(launch, chunk, first_segment));
    if (number >= global_load4(ENCODE_CHUNK(launch, chunk, segments))) return 0;
    item->within = number * FP_GPU_ENCODE_SEGMENT;
    item->size = least(bytes - item->within, FP_GPU_ENCODE_SEGMENT);
    item->byte = global_load8(ENCODE_CHUNK(launch, chunk, first_byte)) + item->within;
    item->place =
        (uint32_t)((global_load8(ENCODE_CHUNK(launch, chunk, code_place)) + item->within) / 16);
    if (units_round == 0) {
        const uint32_t most = least(launch->tables.guess, item->within);
        item->start = most ? parse_start(launch, item->byte, most) : 0;
    } else if (units_round == 3) {
        item->start =
            (int32_t)(global_load4(launch->scratch.seg_first + 4 * (uint64_t)item->segment) -
                      item->within);
    } else {
        item->start = (int32_t)entry;
        if (units_round == 2) item->place = entry;
    }
    return 1;
}

/* Begins with an item. */
DEVICE void parse_begin(const fp_gpu_encode_launch *launch, const parse_tables *tables,
                        const parse_item *item, parse_lane *l) {
    const uint64_t address = PARSE_VIEW(tables, text) + item->byte + (int64_t)item->start;
    l->origin = address & ~(uint64_t)15;
    l->at = (uint32_t)address & 15;
    const uint32_t segment_at = l->at - (uint32_t)item->start; /* may be below 0 */
    l->begin = item->start < 0 ? segment_at : l->at;
    l->end = item->start < (int32_t)item->size ? segment_at + item->size : 0;
    l->first = l->at;
    l->count = 0;
    l->base = item->within - segment_at;
    l->segment = item->segment;
    if (launch->round == 2) {
        const encode_hard hard = encode_hard_places(launch);
        l->begin = 0xffffffffu; /* no code counts */
        l->out = hard.exits + item->segment * hard.stride + item->place;
    } else {
        l->out = launch->scratch.codes + 32 * (uint64_t)item->place;
    }
    const uint64_t whole = (PARSE_VIEW(tables, high) - l->origin) / 16;
    l->whole = whole < 1u << 20 ? (uint32_t)whole : 1u << 20;
    if (l->at >= l->end) return;
    /* The bit of the row end before position 0, which may be before the bitmap. */
    const int64_t bit = (int64_t)item->byte + item->start - l->at;
    l->ends = launch->scratch.ends + 4 * (uint64_t)(bit >> 5);
    l->phase = (uint32_t)(bit & 31) + 1;
    const uint64_t word = l->ends + 4 * (uint64_t)((l->at + l->phase) >> 5);
    l->row_ends[0] = global_load4(word);
    l->row_ends[1] = global_load4(word + 4);
    if (l->origin < PARSE_VIEW(tables, low)) {
        const fp_words4 unit = parse_edge_unit(tables, l->origin);
        UNROLL for (uint32_t k = 0; k < 4; k++) l->unit[k] = unit.word[k];
    } else {
        parse_load_unit(tables, l, 0, l->unit);
    }
    parse_load_unit(tables, l, 1, l->unit + 4);
}

/* Leaves what came out. */
DEVICE void parse_finish(const fp_gpu_encode_launch *launch, const parse_lane *l) {
    if (launch->round == 2) {
        global_store1(l->out, l->at - l->end);
        return;
    }
    const uint64_t at = 4 * (uint64_t)l->segment;
    parse_flush(l);
    global_store4(launch->scratch.seg_first + at, l->base + l->first);
    global_store4(launch->scratch.seg_end + at, l->base + l->at);
    global_store4(launch->scratch.seg_count + at, l->count);
}

/* The prepared items of a warp: lane i has item i. */
typedef struct parse_pool {
    parse_item item;
    uint32_t taken, count;
    uint32_t unit; /* the next one to be prepared */
} parse_pool;

DEVICE parse_item parse_shuffle(const parse_item *item, uint32_t from) {
    parse_item got;
    got.byte = warp_shfl8(item->byte, from);
    got.segment = warp_shfl(item->segment, from);
    got.within = warp_shfl(item->within, from);
    got.size = warp_shfl(item->size, from);
    got.start = (int32_t)warp_shfl((uint32_t)item->start, from);
    got.place = warp_shfl(item->place, from);
    return got;
}

/* Gives items to lanes that are not busy, as long as there are any. All lanes. */
DEVICE int parse_take(const fp_gpu_encode_launch *launch, const parse_tables *tables,
                      uint32_t units, parse_pool *pool, int is_busy, parse_lane *l) {
    for (;;) {
        const uint32_t idle = warp_ballot(!is_busy);
        if (!idle) return is_busy;
        if (pool->taken == pool->count) {
            if (pool->unit >= units) return is_busy;
            pool->count = popcount(warp_ballot(
                parse_prepare(launch, pool->unit, (uint32_t)launch->round, &pool->item)));
            pool->taken = 0;
            pool->unit += blocks_x() * (threads_in_block() / 32);
        }
        const uint32_t from = pool->taken + rank_in(idle);
        const parse_item item = parse_shuffle(&pool->item, from & 31);
        if (!is_busy && from < pool->count) {
            parse_begin(launch, tables, &item, l);
            is_busy = 1;
        }
        pool->taken = least(pool->taken + popcount(idle), pool->count);
    }
}

DEVICE uint32_t parse_units(const fp_gpu_encode_launch *launch) {
    switch (launch->round) {
    case 0: return (uint32_t)((global_reload8(ENCODE_STATE(launch, segments)) + 31) / 32);
    case 1: return (encode_hard_count(launch, HARD_SEAMS) + 31) / 32;
    case 2: return encode_hard_count(launch, HARD_TILES) * launch->tables.longest;
    default: return encode_hard_count(launch, HARD_TILES);
    }
}

template <uint32_t SHAPE> DEVICE void encode_parse(const fp_gpu_encode_launch *launch) {
    SHARED_DYNAMIC_BYTES(shared);
    if (encode_failed(launch)) return;
    if (launch->round == 0 && block_x() == 0 && thread_in_block() < HARD_COUNTS)
        global_store4(launch->scratch.hard + 4 * thread_in_block(), 0);
    const uint32_t units = parse_units(launch);
    if (block_x() >= units) return;
    const uint32_t table_bytes = launch->tables.shared_bytes - FP_GPU_ENCODE_VIEW;
    for (uint32_t at = 16 * thread_in_block(); at < table_bytes; at += 16 * threads_in_block())
        shared_store16(shared + at, global_load16(launch->tables.memory + at));
    const parse_tables tables = {shared, shared + table_bytes, &launch->tables};
    if (thread_in_block() == 0) {
        const encode_view view = encode_open(launch);
        uint8_t *to = shared + table_bytes;
        shared_store8(to + offsetof(encode_view, text), view.text);
        shared_store8(to + offsetof(encode_view, bytes), view.bytes);
        shared_store8(to + offsetof(encode_view, low), view.low);
        shared_store8(to + offsetof(encode_view, high), view.high);
    }
    block_sync(); /* all tables are there */

    parse_lane l;
    parse_pool pool;
    pool.taken = pool.count = 0;
    /* Neighbouring units go to different multiprocessors, so that a short text uses them all. */
    pool.unit = warp_in_block() * blocks_x() + block_x();
    int is_busy = 0;
    for (;;) {
        is_busy = parse_take(launch, &tables, units, &pool, is_busy, &l);
        if (!warp_ballot(is_busy)) return;
        for (uint32_t i = 0; i < PARSE_STEPS && is_busy && l.at < l.end; i++)
            parse_step<SHAPE>(&tables, &l);
        if (is_busy && l.at >= l.end) {
            parse_finish(launch, &l);
            is_busy = 0;
        }
    }
}

#define PARSE_KERNEL(name, shape)                                                                  \
    DEVICE void encode_parse_##name(const fp_gpu_encode_launch *launch) {                          \
        encode_parse<shape>(launch);                                                               \
    }
PARSE_KERNEL(near, FP_GPU_ENCODE_SHAPE_NEAR)
PARSE_KERNEL(leaves, FP_GPU_ENCODE_SHAPE_LEAVES)
PARSE_KERNEL(hashes, FP_GPU_ENCODE_SHAPE_HASHES)
PARSE_KERNEL(far, FP_GPU_ENCODE_SHAPE_FAR)
PARSE_KERNEL(near_long, FP_GPU_ENCODE_SHAPE_NEAR | FP_GPU_ENCODE_SHAPE_LONG)
PARSE_KERNEL(leaves_long, FP_GPU_ENCODE_SHAPE_LEAVES | FP_GPU_ENCODE_SHAPE_LONG)
PARSE_KERNEL(hashes_long, FP_GPU_ENCODE_SHAPE_HASHES | FP_GPU_ENCODE_SHAPE_LONG)
PARSE_KERNEL(far_long, FP_GPU_ENCODE_SHAPE_FAR | FP_GPU_ENCODE_SHAPE_LONG)
#undef PARSE_KERNEL

#endif
