/* chunk.cuh - what a warp has to know about its chunk. In: work passed with the launch, or the tables in
 * device memory. Out: where codes, dictionary, output and output positions are. For all decode kernels. */
#ifndef FP_GPU_CHUNK_CUH
#define FP_GPU_CHUNK_CUH

#include "input.cuh"

/* A dictionary as a gather sees it: a plane of W bytes a token, one of the L - W others, and lengths. */
typedef struct chunk_dict {
    uint64_t low, high, nibbles;
    const uint8_t
        *shared; /* kernels that copy the three to shared memory: where, one behind the other */
    uint32_t slots, bits;
} chunk_dict;

/* Where the batches of a chunk begin: 4-byte positions, one for 2^shift entries, and unless `numbers` is 0
 * a 2-byte number to add for each entry. `each` entries make up one of the kernel's batches. */
typedef struct chunk_places {
    uint64_t positions, numbers;
    uint32_t shift, each, entries;
    uint32_t end; /* decoded bytes of the chunk */
} chunk_places;

typedef struct decode_chunk {
    fp_lane_input in;
    chunk_dict dict;
    chunk_places places;
    uint64_t out;     /* address of its first byte in the output */
    uint32_t batches; /* 0: there is nothing to decode, and nothing else is set */
} decode_chunk;

/* Batches of 32 * K codes; 0 if the warp's first one is behind the last. */
template <int K> DEVICE uint32_t chunk_batches(uint32_t count, uint32_t first) {
    uint32_t batches = count / (32 * K) + (count % (32 * K) != 0);
    return first < batches ? batches : 0;
}

/* ---------------------------------------------------------------- from the launch */

DEVICE chunk_places chunk_places_from_work(const fp_gpu_work *work) {
    chunk_places places;
    places.positions = work->positions;
    places.numbers = work->numbers;
    places.shift = work->place_shift;
    places.each = work->place_each;
    places.entries = work->entries;
    places.end = work->decoded_bytes;
    return places;
}

DEVICE chunk_places chunk_places_from_span(const fp_gpu_span *span) {
    chunk_places places;
    places.positions = span->positions;
    places.numbers = span->numbers_at ? span->positions + 4 * (uint64_t)span->numbers_at : 0;
    places.shift = span->place_shift;
    places.each = span->place_each;
    places.entries = span->entries;
    places.end = span->decoded_bytes;
    return places;
}

template <int K> DEVICE decode_chunk chunk_from_work(const fp_gpu_launch *launch, uint32_t first) {
    decode_chunk chunk;
    const fp_gpu_work *work = &launch->work[block_y()];
    chunk.batches = chunk_batches<K>(work->code_count, first);
    if (!chunk.batches) return chunk;
    chunk.dict.low = work->low;
    chunk.dict.high = work->high;
    chunk.dict.nibbles = work->nibbles;
    chunk.dict.shared = 0;
    chunk.dict.slots = work->slots;
    chunk.dict.bits = work->code_bits;
    chunk.places = chunk_places_from_work(work);
    chunk.in = input_open(work->codes, work->code_count, work->code_bits, launch->widened);
    chunk.out = work->out;
    return chunk;
}

/* ---------------------------------------------------------------- from the tables */

template <int W> DEVICE chunk_dict chunk_dict_from_table(uint64_t entry) {
    chunk_dict dict;
    fp_words4 planes = global_load16(entry + (W == 8 ? 0 : 32)), sizes = global_load16(entry + 16);
    dict.low = words_low(planes);
    dict.high = words_high(planes); /* W == 16: not looked at */
    dict.nibbles = words_low(sizes);
    dict.shared = 0;
    dict.slots = sizes.word[2];
    dict.bits = sizes.word[3];
    return dict;
}

/* K / n for n = 1..8, 4 bits each: what a division would cost is worth a table. */
template <int K> struct chunk_quotients {
    static const uint32_t table = (uint32_t)(K | K / 2 << 4 | K / 3 << 8 | K / 4 << 12) |
                                  (uint32_t)(K / 5 | K / 6 << 4 | K / 7 << 8 | K / 8 << 12) << 16;
};

template <int K>
DEVICE chunk_places chunk_places_from_table(uint64_t entry, uint32_t batches, uint32_t end) {
    fp_words4 sources = global_load16(entry + 16), batching = global_load16(entry + 48);
    chunk_places places;
    places.end = end;
    places.positions = words_high(sources);
    places.numbers = 0;
    places.shift = 0;
    places.each = 1;
    places.entries = batches;
    if (places.positions == 0) {
        uint32_t batch_rounds = batching.word[1] / 32, group = batching.word[2];
        places.entries = batching.word[0];
        places.shift = highest_bit(group | 1);
        places.positions = words_low(sources);
        places.numbers =
            places.positions + 4 * (uint64_t)((places.entries + group - 1) >> places.shift);
        /* For a file whose batches do not suit K, which the host does not let happen, batches will not add
         * up. */
        places.each =
            batch_rounds - 1 < 8 ? chunk_quotients<K>::table >> 4 * (batch_rounds - 1) & 15 : 0;
    }
    return places;
}

template <int K, int W>
DEVICE decode_chunk chunk_from_tables(const fp_gpu_launch *launch, uint32_t first) {
    decode_chunk chunk;
    uint64_t entry =
        launch->chunks + (uint64_t)(launch->first_chunk + block_y()) * sizeof(fp_gpu_chunk);
    fp_words4 counts = global_load16(entry + 32);
    chunk.batches = chunk_batches<K>(counts.word[0], first);
    if (!chunk.batches) return chunk;
    fp_words4 where = global_load16(entry);
    chunk.dict =
        chunk_dict_from_table<W>(launch->dicts + (uint64_t)counts.word[3] * sizeof(fp_gpu_dict));
    chunk.places = chunk_places_from_table<K>(entry, chunk.batches, counts.word[2]);
    chunk.in = input_open(words_low(where), counts.word[0], chunk.dict.bits, launch->widened);
    chunk.out = launch->out + words_high(where);
    return chunk;
}

/* The chunk that this row of blocks works on. `first` is the lowest batch that the caller has a use for. */
template <int K, int W>
DEVICE decode_chunk chunk_open(const fp_gpu_launch *launch, uint32_t first) {
    return launch->has_work ? chunk_from_work<K>(launch, first)
                            : chunk_from_tables<K, W>(launch, first);
}

/* ---------------------------------------------------------------- output positions */

/* The two numbers whose sum is where a batch begins in the chunk's bytes, in even lanes, and where it ends
 * (the next one begins), in odd lanes. Added late, so that nothing waits for them while codes are on their
 * way. */
typedef struct chunk_place {
    uint32_t base, number;
} chunk_place;

DEVICE chunk_place chunk_read_place(const chunk_places *places, uint32_t batch) {
    uint32_t entry = (batch + (lane() & 1)) * places->each;
    chunk_place place = {places->end, 0};
    if (entry < places->entries) {
        place.base = global_load4(places->positions + 4 * (uint64_t)(entry >> places->shift));
        if (places->numbers) place.number = global_load2(places->numbers + 2 * (uint64_t)entry);
    }
    return place;
}

DEVICE uint32_t chunk_position(chunk_place place) {
    uint32_t sum = place.base + place.number;
    return sum < place.base ? 0xffffffffu : sum; /* a sum that does not fit is beyond every chunk */
}

#endif
