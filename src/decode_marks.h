/* decode_marks.h - whether what a loop of decode_loop.h decodes is UTF-8, found out from codes.
 *
 * In: the codes of a run, and for each group whether it has tokens that are not UTF-8 by themselves. Out:
 * how far the run's bytes are known to be UTF-8. The trick: such tokens are rare, and a loop finds out
 * about them with one more instruction per token, without a load: the last byte of a cell, or the sign of a
 * place, is their mark. Then the steps (token_text.h) of few groups are taken. All bytes of a cell also
 * say whether its token is ASCII; where few tokens are not, places say that instead. */
#ifndef FP_DECODE_MARKS_H
#define FP_DECODE_MARKS_H

#include "decode_private.h"
#include "format.h"

#include <string.h>

/* The last byte of the cell of such a token. Tokens that are UTF-8 end with other bytes, below
 * FP_MARK_LEAST. */
#define FP_MARK       0xffu
#define FP_MARK_LEAST 0xc0u

/* A byte for each group of a run: FP_MARK_LEAST or more if it has such a token. The first group has the
 * last byte, so that a loop can store 16 bytes of which only the last one is meant: what the next group
 * stores overwrites the others. That is cheaper than to extract a byte from a register. */
#define FP_MOST_GROUPS (FP_MOST_RUN / FP_DECODE_GROUP)
typedef struct fp_marked {
    uint8_t bytes[15 + FP_MOST_GROUPS];
} fp_marked;
_Static_assert(FP_MOST_GROUPS % 8 == 0, "eight groups are looked at together");

/* The byte of a group. */
static inline uint8_t *fp_mark_of(fp_marked *marked, uint64_t group) {
    return marked->bytes + (sizeof marked->bytes - 1 - group);
}

/* Which of eight groups are marked: the highest bit of each byte, and the first group's is the highest. */
static inline uint64_t fp_marked_of(fp_marked *marked, uint64_t first) {
    const uint64_t eight = fp_load64(fp_mark_of(marked, first + 7));
    return eight & eight << 1 & 0x8080808080808080u;
}

/* Takes the steps of a group. */
static inline uint64_t fp_read_group(const fp_decoder *decoder, const uint8_t *packed,
                                     uint64_t state) {
    const uint32_t bits = decoder->code_bits;
    for (uint32_t four = 0; four < FP_DECODE_GROUP / 4; four++) {
        /* As loops read them: eight codes are one word, or two, of which the second may begin in the
         * middle of a byte. */
        const uint32_t begin = bits <= 8 ? four / 2 * bits : four * bits / 2;
        uint64_t word =
            fp_load64(packed + begin) >> (bits <= 8 ? four % 2 * 4 * bits : four * bits % 2 * 4);
        for (uint32_t i = 0; i < 4; i++, word >>= bits)
            state = fp_take_step(state, fp_step_of(decoder, word & ((1u << bits) - 1)));
    }
    return state & FP_STATE_MASK;
}

/* Says how far the bytes of a run are UTF-8: to `end`, or not at all; `is_ascii` says whether they are even
 * ASCII. Where many groups are marked it is cheaper to judge bytes. Inlined: gcc would not end a loop that
 * calls it with vzeroupper. */
static inline __attribute__((always_inline)) void
fp_look_at_marked(const fp_decoder *decoder, const fp_decode_run *run, fp_marked *marked,
                  const uint8_t *end, int is_ascii) {
    const uint32_t group_bytes = fp_group_bytes(decoder->code_bits);
    uint64_t state = fp_state_after(run->out), next = 0, left = run->groups / 4;
    *run->marks = (fp_marks){run->out, 0};
    for (uint64_t group = run->groups; group % 8; group++) *fp_mark_of(marked, group) = 0;
    for (uint64_t first = 0; first < run->groups; first += 8)
        for (uint64_t bits = fp_marked_of(marked, first), at; bits; bits &= ~(1ull << 63 >> at)) {
            at = (uint32_t)__builtin_clzll(bits);
            const uint64_t group = first + at / 8;
            if (!left-- || (group != next && state != FP_STATE_BETWEEN)) return;
            state = fp_read_group(decoder, run->packed + group * group_bytes, state);
            if (state == FP_STATE_WRONG) return;
            next = group + 1;
        }
    if (state == FP_STATE_BETWEEN || next == run->groups) *run->marks = (fp_marks){end, is_ascii};
}

#endif
