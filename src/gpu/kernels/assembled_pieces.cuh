/* assembled_pieces.cuh - tokens of up to 64 bytes, in pieces of 16. In: codes, and a dictionary in
 * pieces. Out: the tokens, back to back, in global memory.
 *
 * Tokens of up to 64 bytes have very different lengths: if a lane kept to its own codes, all lanes
 * would wait for the one with the longest tokens. The trick: lanes list the pieces of their codes
 * in shared memory, each with its position. Then every lane takes as many pieces of the list as the
 * others, whosever they were, and puts them together as assembled_tokens.cuh does.
 *
 * A batch goes in as many rounds as its bytes and its pieces need, mostly one: the buffers hold
 * what a batch usually has, so that more warps find room. Refuses what assembled.cuh refuses, but
 * for large batches. */
#ifndef FP_GPU_ASSEMBLED_PIECES_CUH
#define FP_GPU_ASSEMBLED_PIECES_CUH

#include "assembled_batch.cuh"
#include "assembled_tokens.cuh"

/* An entry of the list: the piece's number, and in the lower bits its position in the round. The
 * next piece of a token has the next number and lies one piece further. */
#define PIECES_POSITION_BITS 14
#define PIECES_POSITION      ((1u << PIECES_POSITION_BITS) - 1)
#define PIECES_NEXT          (1u << PIECES_POSITION_BITS | FP_GPU_PIECE)

/* What this lane's codes take, and those of the lanes below with it. */
typedef struct pieces_sums {
    uint32_t bytes, pieces;
    uint32_t bytes_through, pieces_through;
} pieces_sums;

template <int K> DEVICE pieces_sums pieces_sum(const uint32_t *lengths) {
    static_assert(32 * K * 64 < 1 << 16, "two sums fit a word");
    pieces_sums sums = {0, 0, 0, 0};
    UNROLL for (int i = 0; i < (K + 3) / 4; i++) {
        sums.bytes = add_bytes(lengths[i], sums.bytes);
        sums.pieces = add_bytes((lengths[i] + 0x0f0f0f0fu) >> 4 & 0x0f0f0f0fu, sums.pieces);
    }
    uint32_t through = warp_inclusive_sum(sums.bytes | sums.pieces << 16);
    sums.bytes_through = through & 0xffff;
    sums.pieces_through = through >> 16;
    return sums;
}

/* The number of a code's first piece. Codes ascend by length: each has a piece, and those from a
 * split on one more. */
template <int D> DEVICE uint32_t pieces_first(const assembled_dict *dict, uint32_t code) {
    if (D == FP_GPU_FAR) return global_load4(dict->cold + 4 * code) >> 8;
    return code + excess(code, dict->split) + excess(code, dict->further[0]) +
           excess(code, dict->further[1]);
}

/* list: the pieces of this lane's codes; `position` is that of the first one in the round. */
template <int K, int BITS, int D>
DEVICE void pieces_list(const assembled_dict *dict, const uint32_t *words, const uint32_t *lengths,
                        uint32_t position, uint8_t *at) {
    UNROLL for (int k = 0; k < K; k++) {
        uint32_t length = byte_of(lengths[k / 4], k % 4);
        uint32_t code = assembled_bits(words, k * BITS, BITS);
        uint32_t entry = pieces_first<D>(dict, code) << PIECES_POSITION_BITS | position;
        UNROLL for (uint32_t i = 0; i < 4; i++) {
            if (length > FP_GPU_PIECE * i) shared_store4(at + 4 * i, entry + i * PIECES_NEXT);
        }
        at += (length + FP_GPU_PIECE - 1) / FP_GPU_PIECE * 4;
        position += length;
    }
}

template <int BITS, int D>
DEVICE fp_words4 pieces_load(const assembled_dict *dict, uint32_t number) {
    if (D == FP_GPU_FAR)
        return global_load16(dict->cold + FP_GPU_FAR_TABLE(BITS) + FP_GPU_PIECE * number);
    return shared_load16(dict->tokens + FP_GPU_PIECE * number);
}

/* assemble: `count` pieces from entry `at` of the list on, to shared memory from `base` plus their
 * positions on. */
template <class unit, int BITS, int D>
DEVICE assembled_rest<unit> pieces_assemble(const assembled_dict *dict, const uint8_t *at,
                                            uint32_t count, uint32_t base, uint8_t *shared,
                                            uint32_t *begin) {
    uint32_t entry = count ? shared_load4(at) : 0;
    *begin = base + (entry & PIECES_POSITION);
    assembled_rest<unit> rest = {0, *begin};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = shared_load4(at + 4 * i + 4);
        fp_words4 piece = pieces_load<BITS, D>(dict, entry >> PIECES_POSITION_BITS);
        assembled_put<4>(shared, piece.word, (next - entry) & PIECES_POSITION, &rest);
        entry = next;
    }
    return rest;
}

/* One batch whose codes have come. `buffer` has the list, then `room` bytes for output. Returns the
 * bits for the status word, the same in all lanes. */
template <class shape, class unit, int K, int BITS, int D>
DEVICE uint32_t pieces_decode(const assembled_dict *dict, const uint32_t *words,
                              const assembled_batch *batch, uint8_t *shared, uint32_t buffer,
                              uint32_t room) {
    enum { line = FP_GPU_LINE / 4 };
    uint32_t lengths[(K + 3) / 4], bad = 0;
    int past = assembled_measure_long<shape, K, BITS, D>(dict, words, batch->left, lengths);
    if (warp_ballot(past)) bad = FP_GPU_BAD_CODE;
    pieces_sums sums = pieces_sum<K>(lengths);
    uint32_t total = warp_shfl(sums.bytes_through, 31);
    assembled_place place = assembled_where(batch);
    if (assembled_lies(batch, place, total)) bad |= FP_GPU_BAD_SIDECAR;
    if (bad) return bad;
    uint8_t *list = shared + buffer;
    uint32_t staging = buffer + shape::list_bytes, done = 0, listed = 0, first_lane = 0;
    while (done < total) {
        /* Lanes whose codes fit the buffers; at least one more than before does. */
        uint32_t end_lane = popcount(warp_ballot(sums.bytes_through + line - 1 <= done + room &&
                                                 sums.pieces_through <= listed + FP_GPU_LISTED));
        uint32_t bytes = warp_shfl(sums.bytes_through, end_lane - 1) - done,
                 count = warp_shfl(sums.pieces_through, end_lane - 1) - listed;
        uint64_t out = batch->out + place.begin + done;
        uint32_t moved = ((uint32_t)out - staging) & (line - 1), begin;
        if (lane() >= first_lane && lane() < end_lane)
            pieces_list<K, BITS, D>(dict, words, lengths, sums.bytes_through - sums.bytes - done,
                                    list + 4 * (sums.pieces_through - sums.pieces - listed));
        if (lane() == 0) shared_store4(list + 4 * count, bytes & PIECES_POSITION);
        bulk_wait_read(); /* what went before may still be on its way out of the buffer */
        warp_sync();
        /* An odd number each, so that lanes read different banks; and enough to fill a unit. */
        uint32_t each = greatest(sizeof(unit) + 1, (count + 31) / 32 | 1), from = lane() * each;
        uint32_t mine = from < count ? least(each, count - from) : 0;
        assembled_rest<unit> rest = pieces_assemble<unit, BITS, D>(dict, list + 4 * from, mine,
                                                                   staging + moved, shared, &begin);
        warp_sync(); /* lanes above have stored the units that they share with lanes below */
        assembled_join(shared, begin, rest);
        bulk_fence();
        warp_sync(); /* units were written by one lane and are read by another, as is the list */
        assembled_drain(shared + staging + moved, out, bytes);
        done += bytes;
        listed += count;
        first_lane = end_lane;
    }
    return 0;
}

#endif
