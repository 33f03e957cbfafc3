/* decode_pieces.h - whether what the AVX-512 loop decodes is UTF-8, found out from codes.
 *
 * In: the codes of a run, and for each block of them which have partial classes. Out: whether the run's
 * bytes are UTF-8. The trick: training leaves pieces of single characters and nothing else that is not
 * UTF-8 by itself, and they are rare. Steps (token_text.h) show whether neighbours among them fit. They
 * are listed first and read then, so that no branch depends on a single one. All of it is inlined: gcc
 * would not end a loop that calls it with vzeroupper. Only for x86-64. */
#ifndef FP_DECODE_PIECES_H
#define FP_DECODE_PIECES_H

#include "decode_avx512.h"

#define FP_PIECES_BLOCK  64u /* codes */
#define FP_PIECES_BLOCKS (FP_MOST_RUN / FP_PIECES_BLOCK)

/* So many codes of a run are looked at. */
#define FP_MOST_PIECES 320u

/* Which codes of each block have partial classes, in the order of look_up_classes. */
typedef struct marker {
    _Alignas(64) uint64_t partial[FP_PIECES_BLOCKS];
} marker;

/* Which of them are of the first half of a block. */
#define FIRST_HALF 0x00ff00ff00ff00ffu

/* Codes of a run whose tokens may not be UTF-8 by themselves, and their numbers in the run, in order. */
typedef struct piece_list {
    uint32_t count;
    uint16_t codes[FP_MOST_PIECES + FP_PIECES_BLOCK + 32],
        at[FP_MOST_PIECES + FP_PIECES_BLOCK + 32];
} piece_list;

/* A bit for each block that has such codes. */
FP_INLINE uint64_t find_blocks(const marker *seen) {
    uint64_t found = 0;
    _Static_assert(FP_PIECES_BLOCKS % 8 == 0, "registers of blocks");
#pragma GCC unroll 4
    for (uint32_t i = 0; i < FP_PIECES_BLOCKS; i += 8) {
        __m512i eight = _mm512_load_si512(seen->partial + i);
        found |= (uint64_t)_mm512_test_epi64_mask(eight, eight) << i;
    }
    return found;
}

/* Appends those of 32 codes that have a bit. Up to 32 numbers after the list are overwritten, too. */
FP_INLINE void list_pieces(const spreader *spread, const uint8_t *packed, uint32_t first,
                           uint32_t bits, piece_list *list) {
    static const uint16_t counted[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                         11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                         22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const __m512i at =
        _mm512_add_epi16(_mm512_loadu_si512(counted), _mm512_set1_epi16((short)first));
    _mm512_storeu_si512(list->codes + list->count,
                        _mm512_maskz_compress_epi16(bits, unpack_32(spread, packed)));
    _mm512_storeu_si512(list->at + list->count, _mm512_maskz_compress_epi16(bits, at));
    list->count += (uint32_t)count_bits(bits);
}

/* Lists the pieces of some blocks. 0 if there are too many. */
FP_INLINE int find_pieces(const spreader *spread, const uint8_t *packed, uint32_t code_bits,
                          const marker *seen, uint64_t blocks, piece_list *list) {
    list->count = 0;
    for (; blocks; blocks &= blocks - 1) {
        const uint32_t block = (uint32_t)__builtin_ctzll(blocks);
        const uint8_t *from = packed + block * (uint64_t)(FP_PIECES_BLOCK / 8) * code_bits;
        const uint64_t partial = seen->partial[block];
        list_pieces(spread, from, block * FP_PIECES_BLOCK, (uint32_t)_pext_u64(partial, FIRST_HALF),
                    list);
        list_pieces(spread, from + 4 * code_bits, block * FP_PIECES_BLOCK + 32,
                    (uint32_t)_pext_u64(partial, ~FIRST_HALF), list);
        if (list->count > FP_MOST_PIECES) return 0;
    }
    return 1;
}

/* Whether codes of a run that begins with `state` are UTF-8. All other tokens are by themselves, so between
 * two codes that are not neighbours no character may lack anything. */
FP_INLINE int are_pieces_good(const fp_decoder *decoder, const piece_list *list, uint64_t state,
                              uint64_t codes) {
    uint64_t next = 0, wrong = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        wrong |= state & -(uint64_t)(list->at[i] != next);
        state = fp_take_step(state, fp_step_of(decoder, list->codes[i])) & FP_STATE_MASK;
        next = list->at[i] + 1u;
    }
    return !wrong && state != FP_STATE_WRONG && (state == FP_STATE_BETWEEN || next == codes);
}

/* Looks at the tokens of partial classes in `blocks` blocks, which decode to bytes up to marks.known. */
FP_INLINE void look_at_partial(const fp_decoder *decoder, const fp_decode_run *run,
                               const spreader *spread, const marker *seen, uint64_t blocks,
                               fp_marks marks) {
    const uint64_t partial = find_blocks(seen);
    piece_list list;
    *run->marks = (fp_marks){run->out, 0};
    /* Where most blocks have such codes it is cheaper to judge all bytes. */
    if (count_bits(partial) > blocks / 2) return;
    if (!find_pieces(spread, run->packed, decoder->code_bits, seen, partial, &list)) return;
    if (are_pieces_good(decoder, &list, fp_state_after(run->out), blocks * FP_PIECES_BLOCK))
        *run->marks = marks;
}

#endif
