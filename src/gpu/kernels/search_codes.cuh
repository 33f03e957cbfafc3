/* search_codes.cuh - which rows match, found on packed codes. In: a chunk's codes, the bits that say
 * where rows begin, an automaton as a table of transitions by state and code. Out: a bit per row that
 * has bytes.
 *
 * A lane looks at 32 codes that follow each other. A filter in shared memory says which of them leave
 * the resting state, in which nothing of a match has been seen. The warp lists these codes, and each
 * lane walks from one of them: over the next codes until the row matches or ends, or until the walk
 * knows no more than one that began a code later, which some lane takes or need not take. So neither
 * lanes nor warps need to hear of each other. The host makes sure that a walk from the resting state
 * finds nothing that is not there (docs/gpu-search.md).
 *
 * The trick of the filter: each lane has a copy in a bank of its own, and reads never conflict. Codes
 * beyond the dictionary count as its last; prepare has reported them. Writes nothing outside a chunk's
 * words, whatever its row starts say. */
#ifndef FP_GPU_SEARCH_CODES_CUH
#define FP_GPU_SEARCH_CODES_CUH

#include "search_found.cuh"

/* The last chunk that begins at or before a batch of the launch. */
DEVICE uint32_t search_find(const fp_gpu_search_launch *launch, uint32_t batch) {
    uint32_t low = 0, high = launch->span_count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (launch->span[middle].first_batch <= batch)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A batch of a chunk, and its row starts and rank, which are on their way when it returns. */
DEVICE search_batch search_look(const fp_gpu_search_span *span, uint32_t batch, uint8_t *room) {
    search_batch found = {span, batch - span->first_batch, 0, 0, 0, 0, room};
    uint64_t words = span->starts + 128 * (uint64_t)found.number;
    uint64_t rank = span->ranks + 4 * (uint64_t)found.number;
    found.count = span->code_count - found.number * FP_GPU_SEARCH_BATCH;
    found.starts = global_load4(words + 4 * lane());
    found.around = global_load4(lane() == 31 ? words + 128 : rank);
    return found;
}

/* Starts the copy of a batch's codes to shared memory: segment after segment, as far apart as banks
 * want them. */
template <int BITS> DEVICE void search_fetch(const search_batch *batch, uint8_t *to) {
    const uint32_t units = 8 * BITS;                         /* of 16 bytes, in a batch */
    const uint32_t segment = BITS % 8 == 0 ? BITS / 4 : 256; /* after which comes a unit more */
    uint64_t from = batch->span->codes + 16 * (uint64_t)units * batch->number + 16 * lane();
    uint32_t there = (least(batch->count, FP_GPU_SEARCH_BATCH) * BITS + 127) / 128;
    to += 16 * (lane() + lane() / segment);
    UNROLL for (uint32_t first = 0; first < units; first += 32) {
        uint32_t unit = first + lane(), at = first + first / segment;
        if (unit < units) async_load16(to + 16 * at, from + 16 * first, unit < there);
    }
}

/* Code `at` of the batch, or further on in its chunk. */
template <int BITS> DEVICE uint32_t search_code(const search_batch *batch, uint32_t at) {
    uint32_t bit = at % 32 * BITS, shift = bit % 32, low, high = 0;
    if (at < FP_GPU_SEARCH_BATCH) {
        const uint8_t *from =
            batch->staged + 4 * (at / 32 * FP_GPU_SEGMENT_STRIDE(BITS) + bit / 32);
        low = shared_load4(from);
        if (shift + BITS > 32) high = shared_load4(from + 4);
    } else {
        uint64_t segment = (uint64_t)batch->number * 32 + at / 32;
        uint64_t from = batch->span->codes + 4 * (segment * BITS + bit / 32);
        low = global_load4(from);
        if (shift + BITS > 32) high = global_load4(from + 4);
    }
    return funnel_right(low, high, shift) & ((1u << BITS) - 1);
}

/* Whether code `at` of the batch, or further on in its chunk, begins a row. */
DEVICE uint32_t search_begins(const search_batch *batch, uint32_t at) {
    uint64_t word = (uint64_t)batch->number * 32 + at / 32;
    uint32_t starts = at / 32 <= 32 ? shared_load4(batch->room + FP_GPU_GATHERED + at / 32 * 4)
                                    : global_load4(batch->span->starts + 4 * word);
    return starts >> at % 32 & 1;
}

/* The codes of a segment, still packed. */
template <int BITS> DEVICE void search_segment(const uint8_t *segment, uint32_t *word) {
    if (FP_GPU_SEGMENT_STRIDE(BITS) % 4 == 0) {
        UNROLL for (int i = 0; i < BITS; i += 4) {
            fp_words4 loaded = shared_load16(segment + 4 * i);
            UNROLL for (int j = 0; j < 4; j++) word[i + j] = loaded.word[j];
        }
    } else if (BITS % 2 == 0) {
        UNROLL for (int i = 0; i < BITS; i += 2) {
            uint64_t loaded = shared_load8(segment + 4 * i);
            word[i] = (uint32_t)loaded, word[i + 1] = (uint32_t)(loaded >> 32);
        }
    } else {
        UNROLL for (int i = 0; i < BITS; i++) word[i] = shared_load4(segment + 4 * i);
    }
    word[BITS] = 0;
}

/* The filter's two bits for each of 16 codes, from code `first` of a segment on, the first lowest.
 * `copy` is where the lane's copy begins. What is known of a code's place in its word is hidden from the
 * compiler: shifts to the left then go to another unit than all the rest, which is what the kernel waits
 * for. */
template <int BITS>
DEVICE uint32_t search_filter(const uint32_t *word, int first, const uint8_t *filter,
                              uint32_t copy) {
    const uint32_t words = FP_GPU_FILTER_WORDS(BITS), stride = 4 * FP_GPU_FILTER_COPIES(BITS);
    uint32_t pairs = 0;
    UNROLL for (int k = first + 15; k >= first; k--) {
        const uint32_t at = k * BITS / 32, shift = k * BITS % 32;
        uint32_t code =
            shift + BITS <= 32 ? word[at] >> shift : funnel_right(word[at], word[at + 1], shift);
        if (BITS < 4) code &= (1u << BITS) - 1;
        code = hidden(code);
        /* code / 16 * stride, of as many words as there are */
        uint32_t place = and_or(code * (stride / 16), (words - 1) * stride, copy);
        uint32_t bits = shared_load4(filter + place);
        pairs = funnel_left(funnel_left(bits, bits, 2 * code), pairs, 2);
    }
    return pairs;
}

/* What the filter says of a segment: a bit per code, in the filter's order. */
typedef struct search_filtered {
    uint32_t live;  /* a walk must begin there */
    uint32_t match; /* the row matches */
} search_filtered;

/* Looks at the codes of a segment; `copy` is the place of the lane's copy in the filter. */
template <int BITS>
DEVICE search_filtered search_look_up(const uint8_t *segment, const uint8_t *filter, uint32_t copy,
                                      int at_once) {
    uint32_t word[BITS + 4];
    search_segment<BITS>(segment, word);
    uint32_t high = search_filter<BITS>(word, 16, filter, copy);
    uint32_t low = search_filter<BITS>(word, 0, filter, copy);
    /* Nobody knows the code after a batch, so it is taken for one that goes on. */
    uint32_t after = warp_shfl_down(low, 1);
    if (lane() == 31) after = 1;
    /* A code may be walked from if its upper bit is set, and so is its lower bit or that of the next
     * code. In `high` this is moved up by a bit, in `low` down. */
    uint32_t high_next = funnel_right(high, after, 1), low_next = funnel_right(low, high, 2);
    if (at_once) { /* a code of class BEGINS may go on as well */
        high_next |= funnel_right(high, after, 2);
        low_next |= funnel_right(low, high, 3);
    }
    uint32_t high_live = high & (high << 1 | high_next), low_live = low >> 1 & (low | low_next);
    search_filtered found = {(high_live & 0xaaaaaaaau) | (low_live & 0x55555555u), 0};
    if (at_once) {
        found.match = (high & high << 1 & 0xaaaaaaaau) | (low & low >> 1 & 0x55555555u);
        found.live &= ~found.match;
    }
    return found;
}

DEVICE uint32_t search_step(const fp_gpu_search_launch *launch, uint32_t state, uint32_t code) {
    uint64_t at = (uint64_t)state * launch->slots + least(code, launch->slots - 1);
    return global_load2(launch->table + 2 * at);
}

/* Whether a row matches, by a walk from code `at` of the batch on. */
template <int BITS>
DEVICE uint32_t search_walk(const fp_gpu_search_launch *launch, const search_batch *batch,
                            uint32_t at) {
    uint32_t state = launch->start;
    do {
        uint32_t entry = search_step(launch, state, search_code<BITS>(batch, at++));
        if (entry & FP_GPU_MATCHES) return 1;
        if (at >= batch->count || search_begins(batch, at)) return (entry & FP_GPU_AT_END) != 0;
        state = entry & FP_GPU_STATE;
    } while (state != launch->rest);
    return 0;
}

/* Puts the codes to walk from into the list: those numbered window .. window + FP_GPU_LISTED_WALKS.
 * The lane's are the bits of `live`, the first of which has the number `index`. */
DEVICE void search_list(uint32_t live, uint32_t index, uint32_t window, uint8_t *list) {
    for (; live && index < window + FP_GPU_LISTED_WALKS; index++, live &= live - 1)
        if (index >= window)
            shared_store2(list + 2 * (index - window),
                          lane() * FP_GPU_SEGMENT + search_place(first_bit(live)));
}

/* Walks from every code that is listed. Rows are numbered from the one that began before the batch.
 * Where walks are few, rows that they find go to the result one by one; else they are gathered. */
template <int BITS>
DEVICE void search_listed(const fp_gpu_search_launch *launch, const search_batch *batch,
                          uint32_t begins, uint32_t rows_before, uint32_t count, int gathers) {
    const uint8_t *list = batch->room + 2 * FP_GPU_GATHERED;
    uint32_t rank = warp_shfl(batch->around, 0) + batch->span->found_bit;
    for (uint32_t first = 0; first < count; first += 32) {
        int has_one = first + lane() < count;
        uint32_t at = has_one ? shared_load2(list + 2 * (first + lane())) : 0;
        uint32_t begun = warp_shfl(begins, at / 32), row = warp_shfl(rows_before, at / 32);
        row += popcount(begun & (0xffffffffu >> (31 - at % 32)));
        if (!has_one || !search_walk<BITS>(launch, batch, at)) continue;
        if (gathers)
            shared_or4(batch->room + row / 32 * 4, 1u << row % 32);
        else
            search_set(batch, rank + row - 1);
    }
}

/* One batch, whose codes are in shared memory. */
template <int BITS>
DEVICE void search_one(const fp_gpu_search_launch *launch, const search_batch *batch,
                       const uint8_t *filter) {
    const uint8_t *segment = batch->staged + 4 * FP_GPU_SEGMENT_STRIDE(BITS) * lane();
    uint32_t copy = lane() % FP_GPU_FILTER_COPIES(BITS) * 4, begins = batch->starts;
    search_filtered in = {0xffffffffu, 0};
    if (launch->filter) in = search_look_up<BITS>(segment, filter, copy, (int)launch->at_once);
    if (!warp_ballot((in.live | in.match) != 0)) return;
    if (launch->by_rows || batch->count < FP_GPU_SEARCH_BATCH) {
        uint32_t codes = least(excess(batch->count, lane() * FP_GPU_SEGMENT), FP_GPU_SEGMENT);
        uint32_t valid = codes ? 0xffffffffu >> (32 - codes) : 0;
        begins &= valid;
        uint32_t wanted = search_spread(launch->by_rows ? begins : valid);
        in.live &= wanted, in.match &= wanted;
        if (!warp_ballot((in.live | in.match) != 0)) return;
    }
    uint8_t *starts = batch->room + FP_GPU_GATHERED, *list = starts + FP_GPU_GATHERED;
    /* Codes to walk from, and rows, of this lane and the lanes below: each at most 1024. */
    uint32_t own = popcount(in.live) << 16 | popcount(begins), sums = warp_inclusive_sum(own);
    uint32_t last = warp_shfl(sums, 31), all = last >> 16, before = sums - own;
    int matches = launch->at_once && warp_ballot(in.match != 0);
    int gathers = matches || all > FP_GPU_FEW_WALKS;
    if (matches) search_match(batch, in.match, begins, before & 0xffff);
    if (all) {
        shared_store4(starts + 4 * lane(), batch->starts);
        if (lane() == 31) shared_store4(starts + 128, batch->around);
    }
    for (uint32_t window = 0; window < all; window += FP_GPU_LISTED_WALKS) {
        search_list(in.live, before >> 16, window, list);
        warp_sync(); /* the list is complete, and so are row starts */
        search_listed<BITS>(launch, batch, begins, before & 0xffff,
                            least(all - window, FP_GPU_LISTED_WALKS), gathers);
        warp_sync(); /* before the list is filled anew */
    }
    if (gathers) search_gather(batch, last & 0xffff);
}

/* Fills the lanes' copies of the filter, four at a time, and clears what warps gather. */
template <int BITS>
DEVICE void search_begin(const fp_gpu_search_launch *launch, uint8_t *filter, uint8_t *gathered) {
    const uint32_t copies = FP_GPU_FILTER_COPIES(BITS), units = FP_GPU_FILTER_BYTES(BITS) / 16;
    for (uint32_t i = thread_in_block(); launch->filter && i < units; i += threads_in_block()) {
        uint32_t word = global_load4(launch->filter + i / (copies / 4) * 4);
        shared_store16(filter + 16 * i, fp_words4{{word, word, word, word}});
    }
    for (uint32_t i = lane(); i < FP_GPU_GATHERED / 4; i += 32) shared_store4(gathered + 4 * i, 0);
    block_sync(); /* the filter is complete, and what is gathered is empty */
}

/* A kernel: each block takes batches that follow each other, and its warps take turns. */
template <int BITS> DEVICE void search_codes(const fp_gpu_search_launch *launch) {
    SHARED_DYNAMIC_BYTES(shared);
    const uint32_t buffers = FP_GPU_SEARCH_BUFFERS(BITS);
    const uint32_t buffer_bytes = 128 * FP_GPU_SEGMENT_STRIDE(BITS);
    uint32_t warps = threads_in_block() / 32, warp = warp_same(warp_in_block());
    /* The filter comes first: its place is then known to the compiler. */
    uint8_t *rooms = shared + (launch->filter ? FP_GPU_FILTER_BYTES(BITS) : 0);
    uint8_t *room = rooms + warp * FP_GPU_SEARCH_ROOM;
    uint8_t *codes = rooms + warps * FP_GPU_SEARCH_ROOM + warp * FP_GPU_SEARCH_CODES(BITS);
    uint32_t batch = (uint32_t)((uint64_t)launch->batches * block_x() / blocks_x()) + warp;
    uint32_t end = (uint32_t)((uint64_t)launch->batches * (block_x() + 1) / blocks_x());
    int goes_on = batch < end;
    uint32_t at = search_find(launch, goes_on ? batch : 0), turn = 0;
    search_batch now = search_look(&launch->span[at], goes_on ? batch : 0, room), next = now;
    if (goes_on) search_fetch<BITS>(&now, codes);
    search_begin<BITS>(launch, shared, room);
    for (; goes_on; turn = (turn + 1) % buffers, now = next) {
        batch += warps;
        goes_on = batch < end;
        async_wait();
        warp_sync(); /* all lanes' copies are there, and the other buffer has been read */
        if (goes_on) {
            while (batch >= launch->span[at + 1].first_batch) at++;
            next = search_look(&launch->span[at], batch, room);
        }
        if (goes_on && buffers == 2)
            search_fetch<BITS>(&next, codes + (turn + 1) % buffers * buffer_bytes);
        now.staged = codes + turn * buffer_bytes;
        search_one<BITS>(launch, &now, shared);
        if (goes_on && buffers == 1) {
            warp_sync(); /* before the buffer is filled anew */
            search_fetch<BITS>(&next, codes);
        }
    }
}

#endif
