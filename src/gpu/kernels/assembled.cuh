/* assembled.cuh - our decoder, one function a stage. In: packed codes in length classes, a dictionary made
 * for shared memory, an output position for each batch. Out: the tokens, back to back, in global memory.
 *
 * A warp takes a batch of 32 * K codes, and a lane K codes that follow each other. The trick: a lane puts its
 * tokens together in registers and stores whole aligned words, so that what the paper's decoder does with
 * sixteen stores takes two or three. A block stays on its multiprocessor, copies the dictionary there once
 * and goes through many batches, which its warps take as they get free; while a warp works on one, the codes
 * of the next are on their way. Refuses,
 * writing nothing: a batch with a code behind the dictionary's last class, one that does not end where the
 * next one begins, one larger than the host was told. */
#ifndef FP_GPU_ASSEMBLED_CUH
#define FP_GPU_ASSEMBLED_CUH

#include "chunk.cuh"
#include "image.h"

/* K codes of BITS bits a lane; tokens of at most L bytes, 8 or 16; where they are (D, an fp_gpu_home); bytes
 * that a lane collects before it stores them (S, 4 or 8). */
template <int K, int BITS, int L, int D, int S> struct assembled_shape {
    static_assert(BITS >= 9 && BITS <= 16 && (L == 8 || L == 16), "what files have");
    static_assert((S == 4 || S == 8) && K >= S, "every lane that has all its codes fills a unit");
    static_assert(K * BITS % 4 == 0, "a batch begins at a multiple of 16 bytes");
    static_assert(D != FP_GPU_RARE || L == 16, "of shorter tokens, second halves are not rare");
    enum {
        codes = 32 * K,
        lane_bits = K * BITS,
        lane_words = (lane_bits + 31) / 32,
        aligned = lane_bits % 32 == 0, /* every lane's codes begin with a word */
        batch_bytes = lane_bits * 4,
        code_bytes = FP_GPU_CODE_BUFFER(K, BITS),
        class_shift = FP_GPU_CLASS_SHIFT(BITS),
        token_words = L / 4,
        /* Batches that a warp takes at a time: fewer codes than 1024 are not worth the taking. */
        run = K < 32 ? 32 / K : 1,
    };
};

/* What a lane stores at once. */
template <int S> struct assembled_unit;
template <> struct assembled_unit<4> { typedef uint32_t type; };
template <> struct assembled_unit<8> { typedef uint64_t type; };

/* ---------------------------------------------------------------- where things are */

/* What a block knows about its dictionary; the same in all its threads. */
typedef struct assembled_dict {
    const uint8_t *lengths, *tokens; /* in shared memory */
    const uint8_t *halves;           /* where second halves would begin if the first code had one */
    uint64_t cold;
    uint32_t slots, near, split;
} assembled_dict;

/* The group that this row of blocks works on. */
DEVICE fp_gpu_group assembled_group(const fp_gpu_wide_launch *launch) {
    uint64_t at = launch->groups + launch->shares[block_y()].group * (uint64_t)sizeof(fp_gpu_group);
    fp_words4 where = global_load16(at), sizes = global_load16(at + 16);
    fp_gpu_group group;
    group.image = words_low(where);
    group.cold = (uint64_t)warp_same(where.word[3]) << 32 | warp_same(where.word[2]);
    group.image_bytes = warp_same(sizes.word[0]);
    group.slots = warp_same(sizes.word[1]);
    group.near = warp_same(sizes.word[2]);
    group.split = warp_same(sizes.word[3]);
    group.staging = warp_same(global_load4(at + 32));
    return group;
}

/* A batch that is under way. */
typedef struct assembled_batch {
    uint64_t out;  /* address of the chunk's first byte */
    uint32_t left; /* codes from the batch's first to the chunk's last */
    uint32_t end;  /* decoded bytes of the chunk */
    uint32_t in_chunk;
    chunk_place place;
} assembled_batch;

/* Bits first .. first + count - 1 of a lane's packed codes. */
DEVICE uint32_t assembled_bits(const uint32_t *words, int first, int count) {
    int i = first / 32, shift = first % 32;
    uint32_t value = shift + count <= 32 ? words[i] >> shift : funnel_right(words[i], words[i + 1], shift);
    return count == 32 ? value : value & ((1u << count) - 1);
}

/* Code k times 2^scale, at no more cost than the code. */
template <int BITS> DEVICE uint32_t assembled_scaled(const uint32_t *words, int k, int scale) {
    int bit = k * BITS, i = bit / 32, shift = bit % 32;
    uint32_t value = shift + BITS > 32 ? funnel_right(words[i], words[i + 1], (uint32_t)(shift - scale))
                     : shift >= scale  ? words[i] >> (shift - scale)
                                       : words[i] << (scale - shift);
    return value & (((1u << BITS) - 1) << scale);
}

/* ---------------------------------------------------------------- the stages */

/* fetch: starts copying a batch's codes to shared memory, and reads where its bytes go. */
template <class shape, int BITS>
DEVICE assembled_batch assembled_fetch(const fp_gpu_wide_launch *launch, uint32_t number, uint32_t *chunk,
                                       uint8_t *codes) {
    while (*chunk + 1 < launch->chunk_count && number >= launch->work[*chunk + 1].first_batch) *chunk += 1;
    const fp_gpu_work *work = &launch->work[*chunk];
    chunk_places places = chunk_places_from_work(work);
    assembled_batch batch;
    batch.in_chunk = number - work->first_batch;
    batch.out = work->out;
    batch.left = work->code_count - batch.in_chunk * shape::codes;
    batch.end = places.end;
    uint64_t from = work->codes + (uint64_t)batch.in_chunk * shape::batch_bytes;
    uint32_t there = (least(batch.left, shape::codes) * BITS + 127) / 128;
    UNROLL for (uint32_t r = 0; r < (shape::batch_bytes / 16 + 31) / 32; r++) {
        uint32_t unit = 32 * r + lane();
        if (unit < shape::batch_bytes / 16) async_load16(codes + 16 * unit, from + 16 * unit, unit < there);
    }
    batch.place = chunk_read_place(&places, batch.in_chunk);
    return batch;
}

/* input: this lane's codes, still packed. */
template <class shape> DEVICE void assembled_input(const uint8_t *codes, uint32_t *words) {
    if (shape::aligned) {
        const uint8_t *at = codes + lane() * (shape::lane_words * 4);
        UNROLL for (int i = 0; i < shape::lane_words;) {
            if (shape::lane_words % 4 == 0) {
                fp_words4 four = shared_load16(at + 4 * i);
                UNROLL for (int j = 0; j < 4; j++) words[i + j] = four.word[j];
                i += 4;
            } else if (shape::lane_words % 2 == 0) {
                uint64_t two = shared_load8(at + 4 * i);
                words[i] = (uint32_t)two;
                words[i + 1] = (uint32_t)(two >> 32);
                i += 2;
            } else {
                words[i] = shared_load4(at + 4 * i);
                i += 1;
            }
        }
    } else {
        uint32_t bit = lane() * shape::lane_bits;
        const uint8_t *at = codes + bit / 32 * 4;
        UNROLL for (int i = 0; i <= shape::lane_words; i++) words[i] = shared_load4(at + 4 * i);
        UNROLL for (int i = 0; i < shape::lane_words; i++) words[i] =
            funnel_right(words[i], words[i + 1], bit % 32);
    }
}

/* How many of its K codes this lane has in a batch with `left` codes. */
template <int K> DEVICE uint32_t assembled_mine(uint32_t left) {
    return lane() * K < left ? least(left - lane() * K, K) : 0;
}

/* The chunk's last batch: what lies behind its last code becomes code 0, which is always there. */
template <class shape, int K, int BITS> DEVICE void assembled_cut(uint32_t left, uint32_t *words) {
    uint32_t bits = assembled_mine<K>(left) * BITS;
    UNROLL for (uint32_t i = 0; i < shape::lane_words; i++) {
        if (bits < 32 * i + 32) words[i] &= bits > 32 * i ? (1u << (bits - 32 * i)) - 1 : 0;
    }
}

/* In which steps the warp meets tokens of more than 8 bytes. */
DEVICE uint32_t assembled_step_bit(int k) { return 1u << (k / 4 + 8 * (k % 4)); }

template <int K> DEVICE uint32_t assembled_long_steps(const uint32_t *lengths) {
    static_assert(K <= 32, "a bit for each step");
    uint32_t mine = 0;
    /* Byte i of word w is the length of token 4 w + i, less one: above 7 if bit 3 is set. */
    UNROLL for (int w = 0; w < (K + 3) / 4; w++) mine |= (lengths[w] & 0x08080808u) >> 3 << w;
    return warp_or(mine);
}

/* measure: lengths of the K tokens, a byte each, four to a word; a length follows from the class of a code.
 * Returns whether a code is behind the last class. */
template <class shape, int K, int BITS, int L, int D>
DEVICE int assembled_measure(const assembled_dict *dict, const uint32_t *words, uint32_t left,
                             uint32_t *lengths, uint32_t *long_steps) {
    enum { class_bits = BITS - shape::class_shift };
    uint32_t all = 0, largest = 0;
    UNROLL for (int k = 0; k < K; k++) {
        /* Eight classes to a word of the table. */
        int first = k * BITS + shape::class_shift;
        uint32_t eight = shared_load4(dict->lengths + assembled_bits(words, first + 3, class_bits - 3) * 4);
        uint32_t nibble = eight >> assembled_bits(words, first, 3) * 4 & 15;
        lengths[k / 4] = k % 4 ? lengths[k / 4] + (nibble << 8 * (k % 4)) : nibble;
    }
    if (L == 8) {
        UNROLL for (int i = 0; i < (K + 3) / 4; i++) all |= lengths[i];
    } else if (dict->slots < 1u << BITS) {
        UNROLL for (int k = 0; k < K; k++) largest = greatest(largest, assembled_bits(words, k * BITS, BITS));
    }
    if (D == FP_GPU_RARE) *long_steps = assembled_long_steps<K>(lengths);
    UNROLL for (int i = 0; i < (K + 3) / 4; i++) {
        lengths[i] += 0x01010101u;
        /* Bytes that stand for no token. */
        if (4 * i + 4 > K) lengths[i] &= 0xffffffffu >> 8 * (4 * i + 4 - K);
    }
    if (left < shape::codes) {
        uint32_t mine = assembled_mine<K>(left);
        UNROLL for (int k = 0; k < K; k++) {
            if ((uint32_t)k >= mine) lengths[k / 4] &= ~(0xffu << 8 * (k % 4));
        }
    }
    return (all & 0x08080808u) != 0 || largest >= dict->slots;
}

/* The sum of K bytes. */
template <int K> DEVICE uint32_t assembled_sum(const uint32_t *lengths) {
    uint32_t sum = 0;
    UNROLL for (int i = 0; i < (K + 3) / 4; i++) sum = add_bytes(lengths[i], sum);
    return sum;
}

/* Half a token from shared memory: L / 2 bytes. */
template <int L> DEVICE void assembled_half(const uint8_t *at, uint32_t *words) {
    if (L == 8) {
        words[0] = shared_load4(at);
    } else {
        uint64_t half = shared_load8(at);
        words[0] = (uint32_t)half;
        words[L / 8 - 1] = (uint32_t)(half >> 32);
    }
}

/* Token k: L bytes, zero-padded. */
template <int BITS, int L, int D>
DEVICE void assembled_token(const assembled_dict *dict, const uint32_t *words, int k, uint32_t *token) {
    enum { row_scale = L == 16 ? 4 : 3, half_scale = row_scale - 1 };
    if (D == FP_GPU_FAR) {
        uint64_t at = dict->cold + assembled_scaled<BITS>(words, k, row_scale);
        fp_words4 row = {{0, 0, 0, 0}};
        if (L == 8) {
            uint64_t eight = global_load8(at);
            row.word[0] = (uint32_t)eight;
            row.word[1] = (uint32_t)(eight >> 32);
        } else {
            row = global_load16(at);
        }
        UNROLL for (int i = 0; i < L / 4; i++) token[i] = row.word[i];
        return;
    }
    uint32_t at = assembled_scaled<BITS>(words, k, half_scale), split = dict->split << half_scale;
    if (D == FP_GPU_HOT) {
        near_or_far<L>(dict->tokens, dict->halves, dict->cold, at, dict->near << half_scale, split, token);
    } else {
        UNROLL for (int i = L / 8; i < L / 4; i++) token[i] = 0;
        assembled_half<L>(dict->tokens + at, token);
        if (at >= split) assembled_half<L>(dict->halves + at, token + L / 8);
    }
}

/* What a lane has after its last token: bytes that do not fill a unit. */
template <class unit> struct assembled_rest {
    unit pending;
    uint32_t end; /* where the lane's bytes end, in shared memory */
};

/* Puts a token of WORDS words, zero-padded, behind what the lane has, and stores all units that are full. */
template <int WORDS>
DEVICE void assembled_put(uint8_t *shared, const uint32_t *token, uint32_t length,
                          assembled_rest<uint32_t> *rest) {
    uint32_t shift = rest->end * 8, at = rest->end & ~3u, unit[WORDS + 1];
    unit[0] = rest->pending | funnel_left(0, token[0], shift);
    UNROLL for (int i = 1; i < WORDS; i++) unit[i] = funnel_left(token[i - 1], token[i], shift);
    unit[WORDS] = funnel_left(token[WORDS - 1], 0, shift);
    rest->end += length;
    rest->pending = unit[0];
    UNROLL for (uint32_t u = 0; u < WORDS; u++) {
        int full = rest->end - at >= 4 * u + 4;
        if (full) shared_store4(shared + at + 4 * u, unit[u]);
        rest->pending = full ? unit[u + 1] : rest->pending;
    }
}

template <int WORDS>
DEVICE void assembled_put(uint8_t *shared, const uint32_t *token, uint32_t length,
                          assembled_rest<uint64_t> *rest) {
    uint32_t shift = rest->end * 8 & 63, at = rest->end & ~7u;
    uint64_t unit[WORDS / 2 + 1];
    unit[0] = rest->pending;
    UNROLL for (int i = 0; i < WORDS / 2; i++) {
        uint64_t half = (uint64_t)token[2 * i + 1] << 32 | token[2 * i];
        unit[i] |= half << shift;
        unit[i + 1] = shift_right64(half, 64 - shift);
    }
    rest->end += length;
    rest->pending = unit[0];
    UNROLL for (uint32_t u = 0; u < WORDS / 2; u++) {
        int full = rest->end - at >= 8 * u + 8;
        if (full) shared_store8(shared + at + 8 * u, unit[u]);
        rest->pending = full ? unit[u + 1] : rest->pending;
    }
}

/* assemble: this lane's tokens, from byte `position` of shared memory on. All units that they fill are
 * stored; the first one lacks what the lane below has of it. */
template <class shape, class unit, int K, int BITS, int L, int D>
DEVICE assembled_rest<unit> assembled_assemble(const assembled_dict *dict, const uint32_t *words,
                                               const uint32_t *lengths, uint32_t long_steps,
                                               uint32_t position, uint8_t *shared) {
    /* Tokens from global memory take long to come: they are asked for while those before them are put
     * together. From shared memory it makes no difference. */
    enum { ahead = D == FP_GPU_HOT ? 4 : 0 };
    uint32_t tokens[K][shape::token_words];
    assembled_rest<unit> rest = {0, position};
    UNROLL for (int k = 0; k < ahead; k++) assembled_token<BITS, L, D>(dict, words, k, tokens[k]);
    UNROLL for (int k = 0; k < K; k++) {
        uint32_t length = byte_of(lengths[k / 4], k % 4), *token = tokens[k];
        if (D == FP_GPU_RARE) {
            /* An access by no lane takes as long as any other, so the warp goes around those for second
             * halves where it can. */
            uint32_t at = assembled_scaled<BITS>(words, k, 3);
            assembled_half<16>(dict->tokens + at, token);
            if (long_steps & assembled_step_bit(k)) {
                token[2] = token[shape::token_words - 1] = 0;
                if (at >= dict->split << 3) assembled_half<16>(dict->halves + at, token + 2);
                assembled_put<4>(shared, token, length, &rest);
            } else {
                assembled_put<2>(shared, token, length, &rest);
            }
        } else {
            if (k + ahead < K) assembled_token<BITS, L, D>(dict, words, k + ahead, tokens[(k + ahead) % K]);
            assembled_put<shape::token_words>(shared, token, length, &rest);
        }
    }
    return rest;
}

/* Units in shared memory, and the one of the lane below. */
DEVICE void assembled_store(uint8_t *at, uint32_t unit) { shared_store4(at, unit); }
DEVICE void assembled_store(uint8_t *at, uint64_t unit) { shared_store8(at, unit); }
DEVICE void assembled_load(const uint8_t *at, uint32_t *unit) { *unit = shared_load4(at); }
DEVICE void assembled_load(const uint8_t *at, uint64_t *unit) { *unit = shared_load8(at); }
DEVICE uint32_t assembled_below(uint32_t unit) { return warp_shfl_up(unit, 1); }
DEVICE uint64_t assembled_below(uint64_t unit) {
    uint32_t low = warp_shfl_up((uint32_t)unit, 1), high = warp_shfl_up((uint32_t)(unit >> 32), 1);
    return (uint64_t)high << 32 | low;
}

/* join: units that two lanes share. `last` is the last lane with codes. A lane that has all its codes fills a
 * unit, so its first unit is stored already; only the last lane's may still be its rest. */
template <class unit>
DEVICE void assembled_join(uint8_t *shared, uint32_t position, uint32_t last, assembled_rest<unit> rest) {
    uint32_t inside = ~((uint32_t)sizeof(unit) - 1), first = position & inside, at = rest.end & inside;
    unit below = assembled_below(rest.pending), stored;
    if (lane() > 0 && lane() <= last && position != first) {
        if (at == first) {
            rest.pending |= below;
        } else {
            assembled_load(shared + first, &stored);
            assembled_store(shared + first, stored | below);
        }
    }
    if (lane() == last && rest.end != at) assembled_store(shared + at, rest.pending);
}

/* drain: `total` bytes from `from` to `out`, which have the same distance from a 32-byte boundary. Single
 * bytes up to the first boundary and behind the last one, so that no other batch's bytes are touched. */
DEVICE void assembled_drain(const uint8_t *from, uint64_t out, uint32_t total) {
    uint32_t head = least((0u - (uint32_t)out) & 31, total), body = (total - head) & ~31u;
    bulk_store(out + head, from + head, body);
    uint32_t behind = head + body + lane();
    if (lane() < head) global_store1(out + lane(), shared_load1(from + lane()));
    if (behind < total) global_store1(out + behind, shared_load1(from + behind));
}

/* ---------------------------------------------------------------- the whole */

/* One batch whose codes have come. `staging` is the warp's buffer in shared memory, `room` its size. Returns
 * the bits for the status word, the same in all lanes. */
template <class shape, class unit, int K, int BITS, int L, int D>
DEVICE uint32_t assembled_decode(const assembled_dict *dict, const uint32_t *words,
                                 const assembled_batch *batch, uint8_t *shared, uint32_t staging,
                                 uint32_t room) {
    uint32_t lengths[(K + 3) / 4], bad = 0, long_steps = 0;
    int behind = assembled_measure<shape, K, BITS, L, D>(dict, words, batch->left, lengths, &long_steps);
    if (warp_ballot(behind)) bad = FP_GPU_BAD_CODE;
    uint32_t own = assembled_sum<K>(lengths), sum = warp_inclusive_sum(own), total = warp_shfl(sum, 31);
    uint32_t place = chunk_position(batch->place), begin = warp_shfl(place, 0), end = warp_shfl(place, 1);
    /* As far into a line, or a quarter of it, in shared memory as in global memory: a copy then reads none twice.
     * Whole lines count where gathers compete with the copy. */
    enum { line = D == FP_GPU_HOT || D == FP_GPU_FAR ? FP_GPU_LINE : FP_GPU_LINE / 4 };
    uint32_t moved = ((uint32_t)batch->out + begin - staging) & (line - 1);
    /* The one check that keeps every write inside the chunk, and finds any lie about positions. */
    if (end > batch->end || begin > end || end - begin != total || (batch->in_chunk == 0 && begin != 0))
        bad |= FP_GPU_BAD_SIDECAR;
    /* The host took the room from the chunk's header; a header that lies makes no lane leave the buffer. */
    if (moved + total > room) bad |= FP_GPU_BAD_SIDECAR;
    if (bad) return bad;
    bulk_wait_read(); /* the batch before may still be on its way out of the buffer */
    warp_sync();
    uint32_t position = staging + moved + sum - own;
    assembled_rest<unit> rest =
        assembled_assemble<shape, unit, K, BITS, L, D>(dict, words, lengths, long_steps, position, shared);
    assembled_join(shared, position, batch->left < shape::codes ? (batch->left - 1) / K : 31, rest);
    bulk_fence();
    warp_sync(); /* units were written by one lane and are read by another */
    assembled_drain(shared + staging + moved, batch->out + begin, total);
    return 0;
}

/* Copies the dictionary to shared memory and says where everything is. */
template <int BITS, int L> DEVICE assembled_dict assembled_open(const fp_gpu_group *group, uint8_t *shared) {
    assembled_dict dict;
    dict.lengths = shared;
    dict.tokens = shared + FP_GPU_CLASS_TABLE(BITS);
    dict.halves = dict.tokens + L / 2 * (group->near - group->split);
    dict.cold = group->cold;
    dict.slots = group->slots;
    dict.near = group->near;
    dict.split = group->split;
    for (uint32_t at = 16 * thread_in_block(); at < group->image_bytes; at += 16 * threads_in_block())
        shared_store16(shared + at, global_load16(group->image + at));
    return dict;
}

/* A kernel. Of the batches that a row of blocks works on, each block has every n-th, and its warps take them
 * in turn, a run at a time: `next_run` in shared memory is what the next warp takes. */
template <int K, int BITS, int L, int D, int S>
DEVICE void assembled_kernel(const fp_gpu_wide_launch *launch) {
    typedef assembled_shape<K, BITS, L, D, S> shape;
    typedef typename assembled_unit<S>::type unit;
    SHARED_DYNAMIC_BYTES(shared);
    const fp_gpu_share *share = &launch->shares[block_y()];
    uint32_t warps = threads_in_block() / 32, warp = warp_same(warp_in_block());
    if (block_x() >= share->blocks) return;
    fp_gpu_group group = assembled_group(launch);
    assembled_dict dict = assembled_open<BITS, L>(&group, shared);
    uint32_t buffers = group.image_bytes + warp * (shape::code_bytes + group.staging);
    uint8_t *codes = shared + buffers;
    uint8_t *next_run = shared + group.image_bytes + warps * (shape::code_bytes + group.staging);
    if (lane() < 4) shared_store4(codes + shape::batch_bytes + 4 * lane(), 0);
    if (thread_in_block() == 0) shared_store4(next_run, warps);
    uint32_t mine = warp * shape::run, bad = 0, chunk = 0;
    uint32_t number = share->first_batch + block_x() + mine * share->blocks;
    int is_there = number < share->end_batch;
    assembled_batch next = assembled_batch();
    if (is_there) next = assembled_fetch<shape, BITS>(launch, number, &chunk, codes);
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
        number = share->first_batch + block_x() + mine * share->blocks;
        is_there = number < share->end_batch;
        if (is_there) next = assembled_fetch<shape, BITS>(launch, number, &chunk, codes);
        bad |= assembled_decode<shape, unit, K, BITS, L, D>(&dict, words, &batch, shared,
                                                            buffers + shape::code_bytes, group.staging);
    }
    bulk_wait();
    if (bad && lane() == 0) report(launch->status, bad);
}

#endif
