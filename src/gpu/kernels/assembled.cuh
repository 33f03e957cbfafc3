/* assembled.cuh - our decoder, one function per stage. In: packed codes in length classes, a
 * resident dictionary, an output position per batch. Out: the tokens, back to back, in global
 * memory.
 *
 * A warp takes a batch of 32 * K codes, and a lane K codes that follow each other. The trick: a
 * lane puts its tokens together in registers and stores whole aligned words, so that two or three
 * stores do what takes the paper's decoder sixteen. A block stays on its multiprocessor, copies the
 * dictionary to shared memory once and goes through many batches, which its warps take as they get
 * free. While a warp works on one batch, the codes of its next batch are on their way.
 *
 * Refuses, writing nothing: a batch with a code after the dictionary's last class; a batch that
 * does not end where the next one begins; a batch larger than the host was told, if its tokens have
 * at most 16 bytes. Longer ones go in rounds. */
#ifndef FP_GPU_ASSEMBLED_CUH
#define FP_GPU_ASSEMBLED_CUH

#include "assembled_pieces.cuh"

/* ---------------------------------------------------------------- where things are */

/* The batches that a block's team works on, and which of the team's blocks it is. */
typedef struct assembled_part {
    uint32_t first, end;
    uint32_t member, members;
} assembled_part;

/* The batches of a launch, divided among blocks: the first `more` blocks have `each` and one more. */
typedef struct assembled_shares {
    uint32_t each, more;
} assembled_shares;

/* Where a block's share begins. */
DEVICE uint32_t assembled_begin(assembled_shares shares, uint32_t block) {
    return block * shares.each + least(block, shares.more);
}

/* How many blocks' shares end at `batch` or before; `round_up`: begin before it. */
DEVICE uint32_t assembled_blocks(assembled_shares shares, uint32_t batch, int round_up) {
    uint32_t larger = shares.more * (shares.each + 1);
    if (batch <= larger) return (batch + (round_up ? shares.each : 0)) / (shares.each + 1);
    return shares.more + (batch - larger + (round_up ? shares.each - 1 : 0)) / shares.each;
}

/* The span that a batch is in. */
DEVICE uint32_t assembled_find(const fp_gpu_span_launch *launch, uint32_t batch) {
    uint32_t low = 0, high = launch->span_count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (launch->spans[middle].first_batch <= batch)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first batch of the dictionary whose batches end at `dict_end`. */
DEVICE uint32_t assembled_dict_begin(const fp_gpu_span_launch *launch, uint32_t dict_end) {
    uint32_t low = 0, high = launch->span_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (launch->spans[middle].dict_end < dict_end)
            low = middle + 1;
        else
            high = middle;
    }
    return launch->spans[low].first_batch;
}

/* Blocks of a team whose shares need one dictionary alone, the same, make up a smaller team. Blocks whose
 * shares need several have nobody beside them, so that they need no more than these. */
DEVICE assembled_part assembled_my_part(const fp_gpu_span_launch *launch) {
    uint32_t blocks = launch->blocks, teams = launch->teams, team = block_x() * teams / blocks;
    uint32_t first = (team * blocks + teams - 1) / teams,
             next = ((team + 1) * blocks + teams - 1) / teams;
    assembled_shares shares = {launch->batches / blocks, launch->batches % blocks};
    uint32_t begin = assembled_begin(shares, block_x()),
             end = assembled_begin(shares, block_x() + 1);
    if (begin == end) return assembled_part{0, 0, 0, 1};
    if (launch->spans[0].dict_end < launch->batches) {
        uint32_t dict_end = launch->spans[assembled_find(launch, begin)].dict_end;
        if (end > dict_end) return assembled_part{begin, end, 0, 1};
        uint32_t dict_begin = assembled_dict_begin(launch, dict_end);
        first = greatest(first, assembled_blocks(shares, dict_begin, 1));
        next = least(next, assembled_blocks(shares, dict_end, 0));
    }
    return assembled_part{assembled_begin(shares, first), assembled_begin(shares, next),
                          block_x() - first, next - first};
}

DEVICE fp_gpu_dict assembled_head(uint64_t dicts, uint32_t number) {
    static_assert(offsetof(fp_gpu_dict, resident) == 0 && offsetof(fp_gpu_dict, cold) == 8 &&
                      offsetof(fp_gpu_dict, resident_bytes) == 16,
                  "two loads of 16 bytes bring two places and four sizes");
    uint64_t at = dicts + number * (uint64_t)FP_GPU_DICT_UNIT;
    fp_words4 places = global_load16(at);
    fp_words4 sizes = global_load16(at + offsetof(fp_gpu_dict, resident_bytes));
    fp_gpu_dict head;
    head.resident = words_low(places);
    head.cold = (uint64_t)warp_same(places.word[3]) << 32 | warp_same(places.word[2]);
    head.resident_bytes = warp_same(sizes.word[0]);
    head.slots = warp_same(sizes.word[1]);
    head.near = warp_same(sizes.word[2]);
    head.split = warp_same(sizes.word[3]);
    static_assert(offsetof(fp_gpu_dict, staging) == 32, "and one more the rest");
    fp_words4 rest = global_load16(at + offsetof(fp_gpu_dict, staging));
    head.staging = warp_same(rest.word[0]);
    head.further[0] = warp_same(rest.word[1]);
    head.further[1] = warp_same(rest.word[2]);
    head.warps = warp_same(rest.word[3]);
    return head;
}

/* ---------------------------------------------------------------- the stages */

DEVICE batch_positions assembled_positions(const fp_gpu_span *span) {
    batch_positions in;
    in.positions = span->positions;
    in.deltas = span->deltas_at ? span->positions + 4 * (uint64_t)span->deltas_at : 0;
    in.shift = span->position_shift;
    in.step = span->position_step;
    in.entries = span->entries;
    in.end = span->decoded_bytes;
    return in;
}

/* fetch: starts copying a batch's codes to shared memory, and reads where its bytes go. */
template <class shape, int BITS>
DEVICE assembled_batch assembled_fetch(const fp_gpu_span_launch *launch, uint32_t number,
                                       uint32_t *which, uint8_t *codes) {
    while (number >= launch->spans[*which + 1].first_batch) *which += 1;
    const fp_gpu_span *span = &launch->spans[*which];
    batch_positions positions = assembled_positions(span);
    assembled_batch batch;
    batch.in_chunk = number - span->first_batch;
    batch.out = span->out;
    batch.left = span->code_count - batch.in_chunk * shape::codes;
    batch.end = positions.end;
    uint64_t from = span->codes + (uint64_t)batch.in_chunk * shape::batch_bytes;
    uint32_t there = (least(batch.left, shape::codes) * BITS + 127) / 128;
    UNROLL for (uint32_t r = 0; r < (shape::batch_bytes / 16 + 31) / 32; r++) {
        uint32_t unit = 32 * r + lane();
        if (unit < shape::batch_bytes / 16)
            async_load16(codes + 16 * unit, from + 16 * unit, unit < there);
    }
    batch.place = batch_read_place(&positions, batch.in_chunk);
    return batch;
}

/* ---------------------------------------------------------------- the whole */

/* One batch whose codes have come. `staging` is the warp's buffer in shared memory, `room` its
 * size. Tokens of more than 16 bytes go in as many rounds as they need, mostly one: a buffer for the
 * largest batch would take room from other warps. Returns the bits for the status word, the same in
 * all lanes. */
template <class shape, class unit, int K, int BITS, int L, int D>
DEVICE uint32_t assembled_decode(const assembled_dict *dict, const uint32_t *words,
                                 const assembled_batch *batch, uint8_t *shared, uint32_t staging,
                                 uint32_t room) {
    uint32_t lengths[(K + 3) / 4], tokens[K][shape::token_words], bad = 0, long_steps = 0;
    if (shape::asks_early) assembled_ask<shape, BITS, L, D>(dict, words, tokens);
    int past = L > 16 ? assembled_measure_long<shape, K, BITS, D>(dict, words, batch->left, lengths)
                      : assembled_measure<shape, K, BITS, L, D>(dict, words, batch->left, lengths,
                                                                &long_steps);
    if (warp_ballot(past)) bad = FP_GPU_BAD_CODE;
    uint32_t own = assembled_sum<K>(lengths), sum = warp_inclusive_sum(own),
             total = warp_shfl(sum, 31);
    assembled_place place = assembled_where(batch);
    /* As far into a line, or a quarter of a line, in shared memory as in global memory: the copy
     * then reads no line twice. Whole lines count where gathers compete with the copy. */
    enum { line = D == FP_GPU_HOT || D == FP_GPU_FAR ? FP_GPU_LINE : FP_GPU_LINE / 4 };
    enum { in_rounds = L == 32 };
    if (assembled_lies(batch, place, total)) bad |= FP_GPU_BAD_SIDECAR;
    if (bad) return bad;
    /* The host took the room from the chunk's header; a header that lies makes no lane leave the
     * buffer. A return of its own: with both checks in one, the compiler asks for so many tokens
     * early that K16 loses 2 to 4 % (docs/lab). */
    if (!in_rounds && total + line - 1 > room) return FP_GPU_BAD_SIDECAR;
    /* More than 24 bytes. */
    if (assembled_goes_around<unit, L>())
        long_steps = assembled_long_steps<K, 128 - 25, 7>(lengths);
    uint32_t done = 0, first_lane = 0, end_lane = 32, bytes = total;
    do {
        if (in_rounds) {
            /* Lanes whose codes fit the buffer; at least one more than before does. */
            end_lane = popcount(warp_ballot(sum + line - 1 <= done + room));
            bytes = warp_shfl(sum, end_lane - 1) - done;
        }
        uint64_t out = batch->out + place.begin + done;
        uint32_t moved = ((uint32_t)out - staging) & (line - 1);
        bulk_wait_read(); /* what went before may still be on its way out of the buffer */
        warp_sync();
        uint32_t position = staging + moved + sum - own - done;
        if (!shape::asks_early) assembled_ask<shape, BITS, L, D>(dict, words, tokens);
        assembled_rest<unit> rest = {0, position};
        if (!in_rounds || (lane() >= first_lane && lane() < end_lane))
            rest = assembled_assemble<shape, unit, K, BITS, L, D>(dict, words, lengths, long_steps,
                                                                  position, shared, tokens);
        warp_sync(); /* lanes above have stored the units that they share with lanes below */
        assembled_join(shared, position, rest);
        bulk_fence();
        warp_sync(); /* units were written by one lane and are read by another */
        assembled_drain(shared + staging + moved, out, bytes);
        done += bytes;
        first_lane = end_lane;
    } while (in_rounds && done < total);
    return 0;
}

/* Which way tokens of a length take. */
template <class shape, class unit, int K, int BITS, int L, int D> struct assembled_way {
    DEVICE uint32_t decode(const assembled_dict *dict, const uint32_t *words,
                           const assembled_batch *batch, uint8_t *shared, uint32_t buffer,
                           uint32_t room) {
        return assembled_decode<shape, unit, K, BITS, L, D>(dict, words, batch, shared, buffer,
                                                            room);
    }
};
template <class shape, class unit, int K, int BITS, int D>
struct assembled_way<shape, unit, K, BITS, 64, D> {
    DEVICE uint32_t decode(const assembled_dict *dict, const uint32_t *words,
                           const assembled_batch *batch, uint8_t *shared, uint32_t buffer,
                           uint32_t room) {
        return pieces_decode<shape, unit, K, BITS, D>(dict, words, batch, shared, buffer, room);
    }
};

/* Copies the dictionary to shared memory and says where everything is. */
template <int BITS, int L>
DEVICE assembled_dict assembled_open(const fp_gpu_dict *head, uint8_t *shared) {
    enum { part = L <= 16 ? L / 2 : L / 4 };
    assembled_dict dict;
    dict.lengths = shared;
    dict.tokens = shared + (L <= 16 ? FP_GPU_CLASS_TABLE(BITS) : FP_GPU_LENGTH_TABLE(BITS, L));
    dict.halves = dict.tokens + part * (head->near - head->split);
    dict.quarters[0] = dict.halves + part * (head->near - head->further[0]);
    dict.quarters[1] = dict.quarters[0] + part * (head->near - head->further[1]);
    dict.further[0] = head->further[0];
    dict.further[1] = head->further[1];
    dict.cold = head->cold;
    dict.slots = head->slots;
    dict.near = head->near;
    dict.split = head->split;
    for (uint32_t at = 16 * thread_in_block(); at < head->resident_bytes;
         at += 16 * threads_in_block())
        shared_store16(shared + at, global_load16(head->resident + at));
    return dict;
}

/* Batches with one dictionary, from `first` on in steps of `step` up to `end`: a block's warps take
 * them in turn, a run at a time; `next_run` in shared memory is what the next warp takes. `span` is
 * a span not after that of the first batch. Returns the bits for the status word. */
template <int K, int BITS, int L, int D, int S>
DEVICE uint32_t assembled_run(const fp_gpu_span_launch *launch, uint32_t span, uint32_t first,
                              uint32_t step, uint32_t end, uint8_t *shared) {
    typedef assembled_shape<K, BITS, L, D, S> shape;
    typedef typename assembled_unit<S>::type unit;
    uint32_t warp = warp_same(warp_in_block());
    fp_gpu_dict head = assembled_head(launch->dicts, launch->spans[span].dict);
    assembled_dict dict = assembled_open<BITS, L>(&head, shared);
    uint32_t warp_bytes = FP_GPU_WARP_SHARED(K, BITS, L, head.staging);
    uint32_t buffers = head.resident_bytes + warp * warp_bytes;
    uint8_t *codes = shared + buffers;
    uint8_t *next_run = shared + head.resident_bytes + head.warps * warp_bytes;
    int is_idle = warp >= head.warps;
    if (!is_idle && lane() < 4) shared_store4(codes + shape::batch_bytes + 4 * lane(), 0);
    if (thread_in_block() == 0) shared_store4(next_run, head.warps);
    uint32_t mine = warp * shape::run, bad = 0, number = first + mine * step;
    int is_there = number < end && !is_idle;
    assembled_batch next = assembled_batch();
    if (is_there) next = assembled_fetch<shape, BITS>(launch, number, &span, codes);
    block_sync(); /* the dictionary was written by all warps */
    while (is_there) {
        uint32_t words[shape::lane_words + 1];
        assembled_batch batch = next;
        async_wait();
        warp_sync(); /* codes were copied by one lane and are read by another */
        assembled_input<shape>(codes, words);
        if (batch.left < shape::codes) assembled_cut<shape, K, BITS>(batch.left, words);
        warp_sync(); /* and are overwritten */
        mine += 1;
        if (mine % shape::run == 0) {
            uint32_t run = 0;
            if (lane() == 0) run = shared_add4(next_run, 1);
            mine = warp_shfl(run, 0) * shape::run;
        }
        number = first + mine * step;
        is_there = number < end;
        if (is_there) next = assembled_fetch<shape, BITS>(launch, number, &span, codes);
        bad |= assembled_way<shape, unit, K, BITS, L, D>::decode(
            &dict, words, &batch, shared, buffers + shape::code_bytes, head.staging);
    }
    bulk_wait();
    return bad;
}

/* A kernel: all dictionaries that the block's part of the batches needs, one after the other. */
template <int K, int BITS, int L, int D, int S>
DEVICE void assembled_kernel(const fp_gpu_span_launch *launch) {
    SHARED_DYNAMIC_BYTES(shared);
    if (block_x() >= launch->blocks) return;
    assembled_part part = assembled_my_part(launch);
    uint32_t bad = 0;
    for (uint32_t at = part.first; at < part.end;) {
        uint32_t span = assembled_find(launch, at),
                 end = least(part.end, launch->spans[span].dict_end);
        bad |= assembled_run<K, BITS, L, D, S>(launch, span, at + part.member, part.members, end,
                                               shared);
        at = end;
        if (at < part.end)
            block_sync(); /* the next dictionary takes the place of this one and of its buffers */
    }
    if (bad && lane() == 0) report(launch->status, bad);
}

#endif
