/* input.cuh - reading codes. In: a chunk's codes, packed as in the file or widened to 16 bits. Out:
 * codes.
 *
 * Codes are read in rounds of 32: round r holds codes 32 r .. 32 r + 31, and lane l has code 32 r +
 * l. A round of b-bit codes is exactly b words, so every round starts at a word, and a lane's place
 * inside a round is the same in all rounds: it is computed once. Reads stay inside the section
 * whatever the codes are. */
#ifndef FP_GPU_INPUT_CUH
#define FP_GPU_INPUT_CUH

#include "warp.cuh"

/* Where a lane finds its codes. */
typedef struct fp_lane_input {
    uint64_t at;    /* address of this lane's first word, or of its 16-bit code, in round 0 */
    uint32_t next;  /* bytes from there to the word with the code's upper bits: 0 or 4 */
    uint32_t shift; /* of the code in its two words */
    uint32_t bits;  /* of a code; 16 needs no unpacking */
    uint32_t count; /* codes in the chunk */
} fp_lane_input;

DEVICE fp_lane_input input_open(uint64_t codes, uint32_t count, uint32_t bits) {
    fp_lane_input in;
    in.bits = bits;
    in.count = count;
    uint32_t bit = lane() * in.bits;
    in.shift = bit % 32;
    /* The round's last word has none after it in the round; a code that begins there ends there. */
    in.next = bit / 32 + 1 < in.bits ? 4 : 0;
    in.at = codes + (in.bits == 16 ? 2 * lane() : bit / 32 * 4);
    return in;
}

/* code[k] becomes this lane's code of round first + k. All K rounds are full: 32 * (first + K) <=
 * count. */
template <int K> DEVICE void input_codes(const fp_lane_input *in, uint32_t first, uint32_t *code) {
    if (in->bits == 16) {
        uint64_t at = in->at + 64 * (uint64_t)first;
        UNROLL for (int k = 0; k < K; k++) code[k] = global_load2(at + 64 * k);
    } else {
        uint32_t stride = 4 * in->bits, mask = (1u << in->bits) - 1;
        uint64_t at = in->at + (uint64_t)first * stride;
        UNROLL for (int k = 0; k < K; k++) {
            uint32_t low = global_load4(at + k * stride),
                     high = global_load4(at + k * stride + in->next);
            code[k] = funnel_right(low, high, in->shift) & mask;
        }
    }
}

/* This lane's code of any round; 0 for a lane whose code would be at the count or past it. */
DEVICE uint32_t input_code_guarded(const fp_lane_input *in, uint32_t round) {
    if (32 * (uint64_t)round + lane() >= in->count) return 0;
    if (in->bits == 16) return global_load2(in->at + 64 * (uint64_t)round);
    uint64_t at = in->at + (uint64_t)round * 4 * in->bits;
    uint32_t next =
        in->shift + in->bits > 32 ? 4 : 0; /* the section may end with the code's word */
    return funnel_right(global_load4(at), global_load4(at + next), in->shift) &
           ((1u << in->bits) - 1);
}

#endif
