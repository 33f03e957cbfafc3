/* decode_pieces.h - whether what the AVX-512 loop decodes is UTF-8, found out from codes.
 *
 * In: the codes of a run, and for each block of them which have partial classes. Out: whether the run's
 * bytes are UTF-8. The trick: training leaves pieces of single characters and nothing else that is not
 * UTF-8 by itself, and they are rare. Steps (token_text.h) show whether neighbours among them fit. All
 * of it is inlined: gcc would not end a loop that calls it with vzeroupper. Only for x86-64. */
#ifndef FP_DECODE_PIECES_H
#define FP_DECODE_PIECES_H

#include "decode_avx512.h"

#define FP_PIECES_BLOCK 64u /* codes */

/* So many codes of a run are looked at. */
#define FP_MOST_PIECES 160u

/* Which codes of each block have partial classes, in the order of look_up_classes. */
typedef struct marker {
    _Alignas(64) uint64_t partial[FP_MOST_RUN / FP_PIECES_BLOCK];
} marker;

/* Which of them are of the first half of a block. */
#define FIRST_HALF 0x00ff00ff00ff00ffu

/* Codes of a run whose tokens may not be UTF-8 by themselves, in order: where the next is looked for. */
typedef struct finder {
    const fp_decoder *decoder;
    const uint8_t *packed;
    uint64_t last;           /* where the last four packed bytes begin */
    const uint64_t *partial; /* of all blocks, as in a marker */
    uint64_t blocks;         /* that have such codes and come later, a bit for each */
    uint64_t block;
    uint64_t left; /* of `block`, a bit for each code */
} finder;

FP_INLINE finder find_blocks(const fp_decoder *decoder, const fp_decode_run *run,
                             const marker *seen) {
    finder in = {.decoder = decoder,
                 .packed = run->packed,
                 .last = (uint64_t)(run->packed_end - run->packed) - 4,
                 .partial = seen->partial};
    _Static_assert(FP_MOST_RUN / FP_PIECES_BLOCK % 8 == 0, "registers of blocks");
#pragma GCC unroll 4
    for (uint32_t i = 0; i < FP_MOST_RUN / FP_PIECES_BLOCK; i += 8) {
        __m512i eight = _mm512_load_si512(seen->partial + i);
        in.blocks |= (uint64_t)_mm512_test_epi64_mask(eight, eight) << i;
    }
    return in;
}

/* The number of the next such code of the run, and the code; 0 if there is none. */
FP_INLINE int find_next(finder *in, uint64_t *at, uint32_t *code) {
    if (!in->left) {
        if (!in->blocks) return 0;
        in->block = (uint32_t)__builtin_ctzll(in->blocks);
        in->blocks &= in->blocks - 1;
        const uint64_t bits = in->partial[in->block];
        in->left = _pext_u64(bits, FIRST_HALF) | _pext_u64(bits, ~FIRST_HALF) << 32;
    }
    *at = in->block * FP_PIECES_BLOCK + (uint32_t)__builtin_ctzll(in->left);
    in->left &= in->left - 1;
    const uint64_t bit = *at * in->decoder->code_bits,
                   from = bit / 8 < in->last ? bit / 8 : in->last;
    *code = fp_load32(in->packed + from) >> (bit - 8 * from) & ((1u << in->decoder->code_bits) - 1);
    return 1;
}

/* The state after the codes of a run that begins with `state`, WRONG if there are so many of them that it
 * is cheaper to judge bytes. All other tokens are UTF-8 by themselves, so between two codes that are not
 * neighbours no character may lack anything. */
FP_INLINE uint64_t read_pieces(finder in, uint64_t state, uint64_t codes) {
    uint64_t at, next = 0, tries = FP_MOST_PIECES;
    uint32_t code;
    while (find_next(&in, &at, &code)) {
        if (!tries--) return FP_STATE_WRONG;
        if (at != next && state & FP_STATE_MASK) return FP_STATE_WRONG;
        state = fp_take_step(state, fp_step_of(in.decoder, code));
        next = at + 1;
    }
    return next != codes && state & FP_STATE_MASK ? FP_STATE_WRONG : state & FP_STATE_MASK;
}

/* Looks at the tokens of partial classes in `blocks` blocks, which decode to bytes up to `known`. */
FP_INLINE void look_at_partial(const fp_decoder *decoder, const fp_decode_run *run,
                               const marker *seen, uint64_t blocks, const uint8_t *known) {
    const finder in = find_blocks(decoder, run, seen);
    *run->marks = (fp_marks){run->out, 0};
    /* Where most blocks have such codes it is cheaper to judge all bytes. */
    if (count_bits(in.blocks) > blocks / 2) return;
    if (read_pieces(in, fp_state_after(run->out), blocks * FP_PIECES_BLOCK) != FP_STATE_WRONG)
        *run->marks = (fp_marks){known, 0};
}

#endif
