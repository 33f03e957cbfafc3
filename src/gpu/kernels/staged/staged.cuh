/* staged.cuh - the decoder of the paper, one function per stage. In: codes, a dictionary in
 * fixed-stride planes, an output position per batch. Out: the tokens, back to back, in global
 * memory.
 *
 * A warp takes a batch of 32 * K codes. The trick: tokens are put together in shared memory, at the
 * same distance from a 16-byte boundary as in the output, so that neighbouring lanes write the
 * output in whole aligned 16-byte pieces. Refuses, writing nothing: a batch with a code outside the
 * dictionary, or one that does not end where the next one begins. */
#ifndef FP_STAGED_CUH
#define FP_STAGED_CUH

#include "../batch_positions.cuh"
#include "../input.cuh"
#include "params.h"

/* K  codes per lane and batch
 * W  bytes of each token that the gather reads; a longer token is queued for a second read
 * L  bytes of the longest token there can be, 8 or 16; with W == L nothing is ever queued
 * H  rounds of queued reads that are under way while the emit runs */
template <int K, int W, int L, int H> struct staged_shape {
    static_assert(K >= 1 && K <= 8, "a queue entry has 13 bits for a place in the batch");
    static_assert((W == 8 || W == 16) && (L == 8 || L == 16) && W <= L,
                  "planes hold 8 or 16 bytes");
    static_assert(H >= 0 && H <= K && (W < L || H == 0),
                  "there are at most K rounds of queued reads");
    enum {
        codes = 32 * K,
        staging_bytes = FP_STAGED_STAGING(K, L),
        queue_bytes = FP_STAGED_QUEUE(K, W, L),
        held = H > 0 ? H : 1, /* arrays have an element even where they are not used */
    };
};

/* The same for a block of T threads, of which a multiprocessor is to hold B. */
template <int K, int W, int L, int H, int T, int B> struct staged_block {
    static_assert(T == 64 || T == 128 || T == 256,
                  "whole warps, and few enough for static shared memory");
    static_assert(B >= 1 && T * B <= 2048, "a multiprocessor has at most 64 warp slots");
    enum {
        warps = T / 32,
        shared_bytes = FP_STAGED_SHARED(K, W, L, T),
        register_limit = 65536 / (T * B) > 255 ? 255 : 65536 / (T * B) / 8 * 8,
    };
    static_assert(shared_bytes <= 48 * 1024, "more cannot be declared statically");
    static_assert(register_limit >= 32, "fewer registers than any decoder needs");
};

/* ---------------------------------------------------------------- the chunk */

/* A dictionary as a gather sees it: a plane of W bytes per token, one of the L - W others, and
 * lengths. */
typedef struct staged_dict {
    uint64_t low, high, nibbles;
    /* Kernels that copy the three to shared memory: where, one after the other. */
    const uint8_t *shared;
    uint32_t slots;
} staged_dict;

typedef struct staged_chunk {
    fp_lane_input in;
    staged_dict dict;
    batch_positions positions;
    uint64_t out, status;
    uint32_t batches; /* 0: there is nothing to decode, and nothing else is set */
} staged_chunk;

/* The chunk that this row of blocks works on. `first` is the lowest batch that the caller wants. */
template <int K> DEVICE staged_chunk staged_open(const fp_staged_launch *launch, uint32_t first) {
    staged_chunk chunk;
    const fp_staged_work *work = &launch->work[block_y()];
    uint32_t count = work->code_count, batches = count / (32 * K) + (count % (32 * K) != 0);
    chunk.batches = first < batches ? batches : 0;
    if (!chunk.batches) return chunk;
    chunk.in = input_open(work->codes, count, work->code_bits);
    chunk.dict.low = work->low;
    chunk.dict.high = work->high;
    chunk.dict.nibbles = work->nibbles;
    chunk.dict.shared = 0;
    chunk.dict.slots = work->slots;
    chunk.positions.positions = work->positions;
    chunk.positions.deltas = work->deltas;
    chunk.positions.shift = work->position_shift;
    chunk.positions.step = work->position_step;
    chunk.positions.entries = work->entries;
    chunk.positions.end = work->decoded_bytes;
    chunk.out = work->out;
    chunk.status = work->status;
    return chunk;
}

/* ---------------------------------------------------------------- the dictionary */

/* With S == 1 the planes lie in shared memory, and dict.low, high and nibbles are not used. */

/* Length of a token: at most L, whatever the table says. */
template <int L, int S> DEVICE uint32_t staged_length(const staged_dict *dict, uint32_t code) {
    uint32_t pair = S ? shared_load1(dict->shared + dict->slots * L + (code >> 1))
                      : global_load1(dict->nibbles + (code >> 1));
    return ((pair >> (code & 1) * 4) & (L - 1)) + 1;
}

/* Bytes 0..7, or 8..15 of a token whose plane is split. */
template <int W, int S> DEVICE uint64_t staged_low8(const staged_dict *dict, uint32_t code) {
    return S ? shared_load8(dict->shared + code * 8) : global_load8(dict->low + 8 * (uint64_t)code);
}
template <int W, int S> DEVICE uint64_t staged_high8(const staged_dict *dict, uint32_t code) {
    return S ? shared_load8(dict->shared + (dict->slots + code) * 8)
             : global_load8(dict->high + 8 * (uint64_t)code);
}
template <int S> DEVICE fp_words4 staged_cell16(const staged_dict *dict, uint32_t code) {
    return S ? shared_load16(dict->shared + code * 16)
             : global_load16(dict->low + 16 * (uint64_t)code);
}

/* ---------------------------------------------------------------- the stages */

/* input: code[k] is code 32 k + lane of the batch, or the last slot's in place of a code that is
 * not in the dictionary. Returns not 0 if any lane met such a code. `left` codes remain in the
 * chunk. */
template <int K>
DEVICE uint32_t staged_input(const fp_lane_input *in, uint32_t batch, uint32_t left, uint32_t slots,
                             uint32_t *code) {
    uint32_t largest = 0;
    if (left >= 32 * K) {
        input_codes<K>(in, batch * K, code);
    } else {
        UNROLL for (int k = 0; k < K; k++) code[k] = input_code_guarded(in, batch * K + k);
    }
    UNROLL for (int k = 0; k < K; k++) {
        largest = greatest(largest, code[k]);
        code[k] = least(code[k], slots - 1);
    }
    return warp_ballot(largest >= slots);
}

/* gather: length[k] and the first W bytes of each token: low[k] and, for W == 16, more[k]. Lanes
 * after the chunk's last code get empty tokens, and no later stage needs to know. */
template <int K, int W, int L, int S>
DEVICE void staged_gather(const staged_dict *dict, uint32_t left, const uint32_t *code,
                          uint32_t *length, uint64_t *low, uint64_t *more) {
    UNROLL for (int k = 0; k < K; k++) {
        length[k] = staged_length<L, S>(dict, code[k]);
        if (W == 8) {
            low[k] = staged_low8<W, S>(dict, code[k]);
        } else {
            fp_words4 cell = staged_cell16<S>(dict, code[k]);
            low[k] = words_low(cell);
            more[k] = words_high(cell);
        }
    }
    if (left < 32 * K) {
        UNROLL for (int k = 0; k < K; k++) {
            if (32 * k + lane() >= left) length[k] = 0;
        }
    }
}

/* scan: offset[k] is where the token goes in the batch; returns the bytes of the batch. Three
 * rounds are summed in one word: 32 lengths add up to 512 at most, which is 10 bits. */
template <int K> DEVICE uint32_t staged_scan(const uint32_t *length, uint32_t *offset) {
    uint32_t total = 0;
    UNROLL for (int k = 0; k < K; k += 3) {
        uint32_t own = length[k];
        if (k + 1 < K) own += length[k + 1 < K ? k + 1 : 0] << 10;
        if (k + 2 < K) own += length[k + 2 < K ? k + 2 : 0] << 20;
        uint32_t sum = warp_inclusive_sum(own), all = warp_shfl(sum, 31);
        sum -= own;
        UNROLL for (int i = 0; i < 3; i++) {
            if (k + i < K) {
                offset[k + i < K ? k + i : 0] = total + ((sum >> 10 * i) & 1023);
                total += (all >> 10 * i) & 1023;
            }
        }
    }
    return total;
}

/* queue: an entry per token longer than W, without gaps, so that later rounds use all lanes. An
 * entry is the code | (bytes after the first W) - 1 << 16 | place of byte W << 19. Returns how many
 * there are. */
template <int K, int W>
DEVICE uint32_t staged_queue(const uint32_t *code, const uint32_t *length, const uint32_t *offset,
                             uint8_t *queue) {
    uint32_t queued = 0;
    UNROLL for (int k = 0; k < K; k++) {
        uint32_t longer = warp_ballot(length[k] > W);
        if (length[k] > W)
            shared_store4(queue + 4 * (queued + rank_in(longer)),
                          code[k] | (length[k] - W - 1) << 16 | (offset[k] + W) << 19);
        queued += popcount(longer);
    }
    warp_sync(); /* entries were written by one lane and are read by another */
    return queued;
}

/* hoist: starts the first H rounds of queued reads; the emit waits for them only when it needs
 * them. */
template <int H, int W, int S>
DEVICE void staged_hoist(const staged_dict *dict, const uint8_t *queue, uint32_t queued,
                         uint64_t *high) {
    UNROLL for (int r = 0; r < H; r++) {
        uint32_t slot = 32 * r + lane();
        if (slot < queued)
            high[r] = staged_high8<W, S>(dict, shared_load4(queue + 4 * slot) & 0xffff);
    }
}

/* Stores the first `count` of 8 bytes, all of them if count is larger. Every lane runs through all
 * eight stores: a store that is predicated off costs an issue slot, a loop over lanes' different
 * counts would cost more. */
DEVICE void staged_store(uint8_t *to, uint64_t bytes, uint32_t count) {
    UNROLL for (uint32_t j = 0; j < 8; j++) {
        if (j < count) shared_store1(to + j, (uint32_t)(bytes >> 8 * j));
    }
}

/* emit: every token to its place; `to` is where the batch begins in the staging buffer. Offsets
 * give tokens disjoint ranges, so lanes need no order among each other. (Nine parameters: they are
 * the registers that the stages before have filled, which a struct would not keep in registers.) */
template <int K, int W, int L, int H, int S>
DEVICE void staged_emit(const staged_dict *dict, const uint32_t *length, const uint32_t *offset,
                        const uint64_t *low, const uint64_t *more, const uint8_t *queue,
                        uint32_t queued, const uint64_t *high, uint8_t *to) {
    UNROLL for (int k = 0; k < K; k++) {
        staged_store(to + offset[k], low[k], length[k]);
        if (W == 16 && length[k] > 8)
            staged_store(to + offset[k] + 8, more[W == 16 ? k : 0], length[k] - 8);
    }
    if (W < L) {
        UNROLL for (int r = 0; r < K; r++) {
            uint32_t slot = 32 * r + lane();
            if (slot < queued) {
                uint32_t entry = shared_load4(queue + 4 * slot);
                uint64_t bytes =
                    r < H ? high[r < H ? r : 0] : staged_high8<W, S>(dict, entry & 0xffff);
                staged_store(to + (entry >> 19), bytes, (entry >> 16 & 7) + 1);
            }
        }
    }
    warp_sync(); /* bytes were written by one lane and are read by another */
}

/* drain: `total` bytes from `from` to `out`, which have the same distance from a 16-byte boundary.
 * Single bytes up to the first boundary and after the last one, so that no other batch's bytes are
 * touched. A batch has at most 2 K L whole pieces. */
template <int K, int L>
DEVICE void staged_drain(const uint8_t *from, uint64_t out, uint32_t total) {
    uint32_t head = least((0u - (uint32_t)out) & 15, total), body = (total - head) / 16,
             tail = head + 16 * body;
    if (lane() < head) global_store1(out + lane(), shared_load1(from + lane()));
    UNROLL for (uint32_t r = 0; r < (K * L + 15) / 16; r++) {
        uint32_t piece = 32 * r + lane();
        if (piece < body)
            global_store16(out + head + 16 * piece, shared_load16(from + head + 16 * piece));
    }
    if (lane() < total - tail)
        global_store1(out + tail + lane(), shared_load1(from + tail + lane()));
}

/* ---------------------------------------------------------------- the whole */

/* One batch. Returns the bits for the status word, the same in all lanes. */
template <int K, int W, int L, int H, int S>
DEVICE uint32_t staged_batch(const staged_chunk *chunk, uint32_t batch, uint8_t *staging,
                             uint8_t *queue) {
    const staged_dict *dict = &chunk->dict;
    uint32_t code[K], length[K], offset[K], queued = 0;
    uint64_t low[K], more[W == 16 ? K : 1], high[staged_shape<K, W, L, H>::held];
    uint32_t left = chunk->in.count - 32 * K * batch;
    batch_place place = batch_read_place(&chunk->positions, batch);
    uint32_t bad =
        staged_input<K>(&chunk->in, batch, left, dict->slots, code) ? FP_GPU_BAD_CODE : 0;
    staged_gather<K, W, L, S>(dict, left, code, length, low, more);
    uint32_t total = staged_scan<K>(length, offset);
    uint32_t begin = warp_shfl(batch_position(place), 0), end = warp_shfl(batch_position(place), 1);
    /* The one check that keeps every write inside the chunk, and finds any lie about positions. */
    if (end > chunk->positions.end || begin > end || end - begin != total ||
        (batch == 0 && begin != 0))
        bad |= FP_GPU_BAD_SIDECAR;
    if (W < L) {
        queued = staged_queue<K, W>(code, length, offset, queue);
        staged_hoist<H, W, S>(dict, queue, queued, high);
    }
    uint8_t *to = staging + ((chunk->out + begin) & 15);
    staged_emit<K, W, L, H, S>(dict, length, offset, low, more, queue, queued, high, to);
    /* A bad batch goes through all stages, which cannot leave the staging buffer, and then writes
     * nothing: a branch around the stages would make the gather wait for the scan. */
    staged_drain<K, L>(to, chunk->out + begin, bad ? 0 : total);
    return bad;
}

/* A kernel: each warp takes one batch. */
template <int K, int W, int L, int H, int T, int B>
DEVICE void staged_kernel(const fp_staged_launch *launch) {
    typedef staged_shape<K, W, L, H> shape;
    typedef staged_block<K, W, L, H, T, B> block;
    SHARED_BYTES(shared, block::shared_bytes);
    uint8_t *staging = shared + warp_in_block() * shape::staging_bytes;
    uint8_t *queue =
        shared + block::warps * shape::staging_bytes + warp_in_block() * shape::queue_bytes;
    uint32_t batch = block_x() * block::warps + warp_in_block();
    staged_chunk chunk = staged_open<K>(launch, batch);
    if (!chunk.batches) return;
    uint32_t bad = staged_batch<K, W, L, H, 0>(&chunk, batch, staging, queue);
    if (bad && lane() == 0) report(chunk.status, bad);
}

#endif
