/* encode_layout.cuh - where blocks lie in the image. In: codes of each segment; bytes, rows and sizes
 * of row-length sections of each chunk. Out: codes before each segment; which chunks are coded; where
 * blocks, sections and the dictionary lie; what pack is to take.
 *
 * The decisions are those of src/writer_units.c for a given dictionary, one list of chunks after the
 * other. They depend on each other in one thing only: the first list that saves more than the
 * dictionary takes brings the dictionary, and from there on each chunk is decided on its own. So one
 * block first looks for that list, then lays out all chunks, 256 at a time. Sizes follow from counts, as
 * in fp_chunk_layout. Reports an image that is larger than its memory. */
#ifndef FP_GPU_ENCODE_LAYOUT_CUH
#define FP_GPU_ENCODE_LAYOUT_CUH

#include "encode_stored.cuh"

#define FP_PACK_NONE 0xffffffffu

/* ---------------------------------------------------------------- count */

/* Segments that a thread sums up at a time. */
#define FP_COUNT_EACH 16u

DEVICE void count_chunk(const fp_gpu_encode_launch *launch, uint32_t c, uint8_t *sums) {
    uint64_t first = global_load8(ENCODE_CHUNK(launch, c, first_segment)), before = 0, all;
    uint32_t segments = global_load4(ENCODE_CHUNK(launch, c, segments));
    for (uint32_t base = 0; base < segments; base += FP_COUNT_EACH * FP_GPU_HELPER_THREADS) {
        uint32_t at = base + FP_COUNT_EACH * thread_in_block(), own = 0;
        fp_words4 counts[FP_COUNT_EACH / 4];
        UNROLL for (uint32_t i = 0; i < FP_COUNT_EACH / 4; i++) {
            uint32_t segment = at + 4 * i;
            counts[i] = fp_words4{{0, 0, 0, 0}};
            if (segment < segments)
                counts[i] = global_load16(launch->scratch.seg_count + 4 * (first + segment));
            UNROLL for (uint32_t k = 0; k < 4; k++) {
                if (segment + k >= segments) counts[i].word[k] = 0;
                own += counts[i].word[k];
            }
        }
        uint32_t sum = warp_inclusive_sum(own);
        uint32_t rank = (uint32_t)(before + encode_warp_sums(sum, sums, &all)) + sum - own;
        UNROLL for (uint32_t i = 0; i < FP_COUNT_EACH / 4; i++) {
            fp_words4 ranks;
            UNROLL for (uint32_t k = 0; k < 4; k++) {
                ranks.word[k] = rank;
                rank += counts[i].word[k];
            }
            if (at + 4 * i < segments)
                global_store16(launch->scratch.seg_rank + 4 * (first + at + 4 * i), ranks);
        }
        before += all;
    }
    if (thread_in_block() == 0) global_store4(ENCODE_CHUNK(launch, c, codes), (uint32_t)before);
}

/* A kernel: blocks take turns at chunks. */
DEVICE void encode_count(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_HELPER_THREADS / 32 * 8);
    if (encode_failed(launch)) return;
    uint32_t chunks = encode_chunks(launch);
    for (uint32_t c = block_x(); c < chunks; c += blocks_x()) count_chunk(launch, c, sums);
}

/* ---------------------------------------------------------------- sizes */

/* Codes of a take: whole groups. */
DEVICE uint32_t pack_take_codes(const fp_gpu_encode_rules *rules) {
    uint32_t group = rules->batch_codes * rules->group_batches;
    return FP_GPU_ENCODE_GROUP / group * group;
}

/* Bytes of packed codes: whole 16-byte units. */
DEVICE uint64_t pack_packed_size(uint64_t codes, uint32_t bits) {
    return (codes * bits + 127) / 128 * 16;
}

DEVICE uint64_t pack_sidecar_size(uint32_t codes, const fp_gpu_encode_rules *rules) {
    uint64_t batches = ((uint64_t)codes + rules->batch_codes - 1) / rules->batch_codes;
    return (batches + rules->group_batches - 1) / rules->group_batches * 4 + batches * 2;
}

/* Bytes that coding a chunk saves, or 0. */
DEVICE uint64_t pack_saving(const fp_gpu_encode_launch *launch, uint32_t c) {
    const fp_gpu_encode_rules *rules = &launch->rules;
    uint32_t codes = global_load4(ENCODE_CHUNK(launch, c, codes));
    uint64_t coded = pack_packed_size(codes, rules->code_bits) + pack_sidecar_size(codes, rules);
    uint64_t stored = global_load4(ENCODE_CHUNK(launch, c, bytes));
    return coded < stored ? stored - coded : 0;
}

/* ---------------------------------------------------------------- the dictionary */

/* Shared memory of the layout. */
enum {
    LAYOUT_AT_SUMS = 0,                                            /* 8 bytes per warp */
    LAYOUT_AT_ENDS = LAYOUT_AT_SUMS + FP_GPU_HELPER_THREADS / 4,   /* 8 bytes per list that ends */
    LAYOUT_AT_AFTER = LAYOUT_AT_ENDS + 8 * FP_GPU_HELPER_THREADS,  /* 4 bytes: the chunk after it */
    LAYOUT_AT_FOUND = LAYOUT_AT_AFTER + 4 * FP_GPU_HELPER_THREADS, /* 4 bytes per warp */
    LAYOUT_BYTES = LAYOUT_AT_FOUND + FP_GPU_HELPER_THREADS / 8
};

/* Whether a list of chunks that is decided on as one ends with this one: the first list of the
 * column, or a unit. */
DEVICE int layout_ends_list(const fp_gpu_encode_launch *launch, uint32_t c, uint32_t chunks) {
    if (c >= chunks) return 0;
    if (c + 1 == chunks) return 1;
    if (!global_load1(ENCODE_CHUNK(launch, c, in_first)))
        return global_load1(ENCODE_CHUNK(launch, c, ends_unit)) != 0;
    return !global_load1(ENCODE_CHUNK(launch, c + 1, in_first));
}

/* What is carried from some chunks to the next: of the list that has not ended. */
typedef struct layout_list {
    uint64_t saved;
    uint32_t first;
} layout_list;

/* Looks through 256 chunks. Returns the first chunk of the first list that saves more than the
 * dictionary takes, or FP_PACK_NONE. */
DEVICE uint32_t layout_search(const fp_gpu_encode_launch *launch, uint32_t base, uint32_t chunks,
                              layout_list *open, uint8_t *shared) {
    uint32_t c = base + thread_in_block(), found = FP_PACK_NONE, ended;
    uint64_t own = c < chunks ? pack_saving(launch, c) : 0, all, all_ends;
    int ends = layout_ends_list(launch, c, chunks);
    uint64_t sum = warp_inclusive_sum8(own);
    sum += encode_warp_sums(sum, shared + LAYOUT_AT_SUMS, &all);
    uint32_t mask = warp_ballot(ends), rank = rank_in(mask);
    rank += (uint32_t)encode_warp_sums(popcount(mask), shared + LAYOUT_AT_SUMS, &all_ends);
    ended = (uint32_t)all_ends;
    if (ends) {
        shared_store8(shared + LAYOUT_AT_ENDS + 8 * rank, sum);
        shared_store4(shared + LAYOUT_AT_AFTER + 4 * rank, c + 1);
    }
    block_sync(); /* every list knows where the one before ended */
    uint64_t before = rank ? shared_load8(shared + LAYOUT_AT_ENDS + 8 * (rank - 1)) : 0;
    uint32_t first = rank ? shared_load4(shared + LAYOUT_AT_AFTER + 4 * (rank - 1)) : open->first;
    uint64_t saved = sum - before + (rank ? 0 : open->saved);
    mask = warp_ballot(ends && saved > launch->rules.dict_bytes);
    first = warp_shfl(first, mask ? first_bit(mask) : 0);
    if (lane() == 0)
        shared_store4(shared + LAYOUT_AT_FOUND + 4 * warp_in_block(), mask ? first : FP_PACK_NONE);
    block_sync(); /* what each warp found */
    for (uint32_t w = FP_GPU_HELPER_THREADS / 32; w > 0; w--) {
        uint32_t one = shared_load4(shared + LAYOUT_AT_FOUND + 4 * (w - 1));
        if (one != FP_PACK_NONE) found = one;
    }
    if (ended) {
        open->saved = all - shared_load8(shared + LAYOUT_AT_ENDS + 8 * (ended - 1));
        open->first = shared_load4(shared + LAYOUT_AT_AFTER + 4 * (ended - 1));
    } else {
        open->saved += all;
    }
    block_sync(); /* before shared memory is used again */
    return found;
}

/* ---------------------------------------------------------------- blocks */

/* A chunk of the layout; sizes are summed up over all chunks. */
typedef struct layout_block {
    uint64_t section[4], section_bytes[4], bytes;
    uint32_t coded, takes;
} layout_block;

DEVICE uint64_t layout_align(const fp_gpu_encode_launch *launch, uint64_t value) {
    uint64_t alignment = launch->rules.alignment;
    return (value + alignment - 1) & ~(alignment - 1);
}

/* What fp_chunk_layout makes of a chunk. */
DEVICE void layout_measure(const fp_gpu_encode_launch *launch, uint32_t c, int has_dict,
                           layout_block *block) {
    const fp_gpu_encode_rules *rules = &launch->rules;
    uint32_t codes = global_load4(ENCODE_CHUNK(launch, c, codes)),
             bytes = global_load4(ENCODE_CHUNK(launch, c, bytes)),
             rows = global_load4(ENCODE_CHUNK(launch, c, rows)), take = pack_take_codes(rules);
    block->coded = has_dict && pack_saving(launch, c) > 0;
    block->section_bytes[0] = block->coded ? pack_packed_size(codes, rules->code_bits) : bytes;
    block->section_bytes[1] = block->coded ? pack_sidecar_size(codes, rules) : 0;
    block->section_bytes[2] = global_load4(ENCODE_CHUNK(launch, c, lengths_bytes));
    block->section_bytes[3] =
        global_load4(ENCODE_CHUNK(launch, c, nulls)) ? ((uint64_t)rows + 7) / 8 : 0;
    uint64_t end = FP_ENCODE_HEADER;
    UNROLL for (uint32_t s = 0; s < 4; s++) {
        block->section[s] = block->section_bytes[s] ? layout_align(launch, end) : 0;
        if (block->section_bytes[s]) end = block->section[s] + block->section_bytes[s];
    }
    block->bytes = layout_align(launch, end);
    block->takes = block->coded
                       ? codes / take + (codes % take != 0)
                       : bytes / FP_GPU_ENCODE_STORED + (bytes % FP_GPU_ENCODE_STORED != 0);
    /* A chunk without bytes has a header and gaps. */
    if (!block->takes) block->takes = 1;
}

DEVICE void layout_store(const fp_gpu_encode_launch *launch, uint32_t c, const layout_block *block,
                         uint64_t place, uint32_t first_take) {
    global_store1(ENCODE_CHUNK(launch, c, coded), block->coded);
    global_store8(ENCODE_CHUNK(launch, c, block), place);
    global_store8(ENCODE_CHUNK(launch, c, block_bytes), block->bytes);
    UNROLL for (uint32_t s = 0; s < 4; s++) {
        global_store8(ENCODE_CHUNK(launch, c, section) + 8 * s, block->section[s]);
        global_store8(ENCODE_CHUNK(launch, c, section_bytes) + 8 * s, block->section_bytes[s]);
    }
    global_store4(ENCODE_CHUNK(launch, c, first_take), first_take);
}

/* A kernel: one block. */
DEVICE void encode_layout(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(shared, LAYOUT_BYTES);
    if (encode_failed(launch)) return;
    const uint32_t chunks = encode_chunks(launch);
    const uint32_t had_dict = global_reload4(ENCODE_STATE(launch, has_dict));
    const uint64_t begin = global_reload8(ENCODE_STATE(launch, image_end));
    uint32_t from = had_dict ? 0 : FP_PACK_NONE; /* chunks from here on may be coded */
    layout_list open = {0, 0};
    for (uint32_t base = 0; base < chunks && from == FP_PACK_NONE; base += FP_GPU_HELPER_THREADS)
        from = layout_search(launch, base, chunks, &open, shared);

    /* Image bytes before the chunks that are laid out next, the dictionary not counted. */
    uint64_t place = begin ? begin : launch->rules.first_block, takes = 0, dict_place = 0;
    const uint64_t dict_bytes = had_dict ? 0 : launch->rules.dict_bytes;
    for (uint32_t base = 0; base < chunks; base += FP_GPU_HELPER_THREADS) {
        uint32_t c = base + thread_in_block();
        uint64_t all, all_takes;
        layout_block block = {{0}, {0}, 0, 0, 0};
        if (c < chunks) layout_measure(launch, c, c >= from, &block);
        uint64_t sum = warp_inclusive_sum8(block.bytes);
        uint64_t at =
            place + encode_warp_sums(sum, shared + LAYOUT_AT_SUMS, &all) + sum - block.bytes;
        uint32_t sum_takes = warp_inclusive_sum(block.takes);
        uint64_t take = takes + encode_warp_sums(sum_takes, shared + LAYOUT_AT_SUMS, &all_takes) +
                        sum_takes - block.takes;
        if (c < chunks)
            layout_store(launch, c, &block, at + (c >= from ? dict_bytes : 0), (uint32_t)take);
        if (c == from) dict_place = at;
        place += all;
        takes += all_takes;
    }
    if (from < chunks) place += dict_bytes;
    block_sync(); /* everybody has read the state */
    int fits = place - begin <= launch->output_capacity;
    if (thread_in_block() == 0 && !fits)
        global_or4(ENCODE_STATE(launch, status), FP_GPU_ENCODE_TOO_SMALL);
    if (thread_in_block() == 0 && fits) {
        global_store8(ENCODE_STATE(launch, image_begin), begin);
        global_store8(ENCODE_STATE(launch, image_end), place);
        global_store8(ENCODE_STATE(launch, takes), takes);
    }
    if (from < chunks && !had_dict && fits && thread_in_block() == from % FP_GPU_HELPER_THREADS) {
        global_store4(ENCODE_STATE(launch, has_dict), 1);
        global_store8(ENCODE_STATE(launch, dict_place), dict_place);
    }
}

#endif
