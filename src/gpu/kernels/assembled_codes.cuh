/* assembled_codes.cuh - a lane's codes and what they say of themselves. In: packed codes in shared
 * memory, the table of lengths by class. Out: K codes in registers, still packed, and the lengths
 * of their tokens. The trick: a code's upper bits give its token's length, so that no token has to
 * be read to know where the next token goes. Refuses codes after the dictionary's last class. */
#ifndef FP_GPU_ASSEMBLED_CODES_CUH
#define FP_GPU_ASSEMBLED_CODES_CUH

#include "resident.h"
#include "warp.cuh"

/* K codes of BITS bits per lane; tokens of at most L bytes; where tokens are (D, an
 * fp_gpu_home); bytes that a lane collects before it stores them (S, 4 or 8). */
template <int K, int BITS, int L, int D, int S> struct assembled_shape {
    static_assert(BITS >= 1 && BITS <= 16 && (L == 8 || L == 16 || L == 32 || L == 64),
                  "what files have");
    static_assert((S == 4 || S == 8) && K >= S, "every lane that has all its codes fills a unit");
    static_assert(L <= 16 || (L == 32 ? D == FP_GPU_SPLIT : D == FP_GPU_PIECES || D == FP_GPU_FAR),
                  "longer tokens are in quarters or in pieces");
    static_assert(K * BITS % 4 == 0, "a batch begins at a multiple of 16 bytes");
    static_assert(D != FP_GPU_RARE || L == 16, "of shorter tokens, second halves are not rare");
    enum {
        codes = 32 * K,
        lane_bits = K * BITS,
        lane_words = (lane_bits + 31) / 32,
        aligned = lane_bits % 32 == 0, /* every lane's codes begin with a word */
        batch_bytes = lane_bits * 4,
        code_bytes = FP_GPU_CODE_BUFFER(K, BITS),
        long_shift = FP_GPU_LONG_SHIFT(BITS, L),
        class_shift = FP_GPU_CLASS_SHIFT(BITS),
        token_words = L / 4,
        /* Of tokens in pieces. */
        list_bytes = L == 64 ? FP_GPU_LIST_BYTES : 0,
        /* Tokens asked for before the first is put together: tokens from global memory take long to
         * come. From shared memory it makes no difference. */
        ahead = D == FP_GPU_HOT ? 8 : 0,
        /* And before anything is known about the codes: worth it where few tokens are cold, as it
         * takes registers. */
        asks_early = D == FP_GPU_HOT && L == 16 && BITS < 16,
        /* Batches that a warp takes at a time: fewer codes than 1024 do not pay for the taking. */
        run = K < 32 ? 32 / K : 1,
    };
};

/* What a block knows about its dictionary; the same in all its threads. */
typedef struct assembled_dict {
    const uint8_t *lengths, *tokens; /* in shared memory */
    const uint8_t *halves;           /* where second halves would begin if the first code had one */
    uint64_t cold;
    uint32_t slots, near, split;
    uint32_t further[2];        /* as in fp_resident */
    const uint8_t *quarters[2]; /* where third and fourth quarters would begin, as `halves` */
} assembled_dict;

/* Bits first .. first + count - 1 of a lane's packed codes. */
DEVICE uint32_t assembled_bits(const uint32_t *words, int first, int count) {
    int i = first / 32, shift = first % 32;
    uint32_t value =
        shift + count <= 32 ? words[i] >> shift : funnel_right(words[i], words[i + 1], shift);
    return count == 32 ? value : value & ((1u << count) - 1);
}

/* Code k times 2^scale, at no more cost than the code. */
template <int BITS> DEVICE uint32_t assembled_scaled(const uint32_t *words, int k, int scale) {
    int bit = k * BITS, i = bit / 32, shift = bit % 32;
    uint32_t value = shift + BITS > 32
                         ? funnel_right(words[i], words[i + 1], (uint32_t)(shift - scale))
                     : shift >= scale ? words[i] >> (shift - scale)
                                      : words[i] << (scale - shift);
    return value & (((1u << BITS) - 1) << scale);
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

/* The chunk's last batch: what lies after its last code becomes code 0, which is always there. */
template <class shape, int K, int BITS> DEVICE void assembled_cut(uint32_t left, uint32_t *words) {
    uint32_t bits = assembled_mine<K>(left) * BITS;
    UNROLL for (uint32_t i = 0; i < shape::lane_words; i++) {
        if (bits < 32 * i + 32) words[i] &= bits > 32 * i ? (1u << (bits - 32 * i)) - 1 : 0;
    }
}

/* In which steps the warp meets tokens whose lengths, plus MORE, have bit BIT set: long ones. */
DEVICE uint32_t assembled_step_bit(int k) { return 1u << (k / 4 + 8 * (k % 4)); }

template <int K, int MORE, int BIT> DEVICE uint32_t assembled_long_steps(const uint32_t *lengths) {
    static_assert(K <= 32, "a bit for each step");
    uint32_t mine = 0;
    /* Byte i of word w is the length of token 4 w + i. */
    UNROLL for (int w = 0; w < (K + 3) / 4; w++) mine |=
        ((lengths[w] + MORE * 0x01010101u) & (0x01010101u << BIT)) >> BIT << w;
    return warp_or(mine);
}

/* The chunk's last batch: codes after its last one have no length. */
template <class shape, int K> DEVICE void assembled_cut_lengths(uint32_t left, uint32_t *lengths) {
    if (left < shape::codes) {
        uint32_t mine = assembled_mine<K>(left);
        UNROLL for (int k = 0; k < K; k++) {
            if ((uint32_t)k >= mine) lengths[k / 4] &= ~(0xffu << 8 * (k % 4));
        }
    }
}

/* measure: lengths of the K tokens, a byte each, four per word; a length follows from the class of
 * a code. Returns whether a code is after the last class. */
template <class shape, int K, int BITS, int L, int D>
DEVICE int assembled_measure(const assembled_dict *dict, const uint32_t *words, uint32_t left,
                             uint32_t *lengths, uint32_t *long_steps) {
    enum { class_bits = BITS - shape::class_shift, in_word = class_bits < 3 ? class_bits : 3 };
    uint32_t all = 0, largest = 0;
    UNROLL for (int k = 0; k < K; k++) {
        /* Eight classes per word of the table. */
        int first = k * BITS + shape::class_shift;
        uint32_t word = class_bits > 3 ? assembled_bits(words, first + 3, class_bits - 3) : 0;
        uint32_t eight = shared_load4(dict->lengths + word * 4);
        uint32_t nibble = eight >> assembled_bits(words, first, in_word) * 4 & 15;
        lengths[k / 4] = k % 4 ? lengths[k / 4] + (nibble << 8 * (k % 4)) : nibble;
    }
    if (L == 8) {
        UNROLL for (int i = 0; i < (K + 3) / 4; i++) all |= lengths[i];
    } else if (dict->slots < 1u << BITS) {
        UNROLL for (int k = 0; k < K; k++) largest =
            greatest(largest, assembled_bits(words, k * BITS, BITS));
    }
    /* Lengths are less one here: more than 8 bytes. */
    if (D == FP_GPU_RARE) *long_steps = assembled_long_steps<K, 0, 3>(lengths);
    UNROLL for (int i = 0; i < (K + 3) / 4; i++) {
        lengths[i] += 0x01010101u;
        /* Bytes that stand for no token. */
        if (4 * i + 4 > K) lengths[i] &= 0xffffffffu >> 8 * (4 * i + 4 - K);
    }
    assembled_cut_lengths<shape, K>(left, lengths);
    return (all & 0x08080808u) != 0 || largest >= dict->slots;
}

/* The same for tokens of more than 16 bytes, whose lengths are bytes. */
template <class shape, int K, int BITS, int D>
DEVICE int assembled_measure_long(const assembled_dict *dict, const uint32_t *words, uint32_t left,
                                  uint32_t *lengths) {
    enum { shift = shape::long_shift };
    uint32_t all = 0;
    UNROLL for (int k = 0; k < K; k++) {
        uint32_t of_class = assembled_bits(words, k * BITS + shift, BITS - shift);
        uint32_t length = D == FP_GPU_FAR ? global_load4(dict->cold + 4 * of_class) & 0xff
                                          : shared_load1(dict->lengths + of_class);
        lengths[k / 4] = k % 4 ? lengths[k / 4] + (length << 8 * (k % 4)) : length;
    }
    UNROLL for (int i = 0; i < (K + 3) / 4; i++) all |= lengths[i];
    assembled_cut_lengths<shape, K>(left, lengths);
    return (all & FP_GPU_NO_LENGTH * 0x01010101u) != 0;
}

/* The sum of K bytes. */
template <int K> DEVICE uint32_t assembled_sum(const uint32_t *lengths) {
    uint32_t sum = 0;
    UNROLL for (int i = 0; i < (K + 3) / 4; i++) sum = add_bytes(lengths[i], sum);
    return sum;
}

#endif
