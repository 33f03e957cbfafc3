/* search_many_avx512.h - lengths of 32 codes' tokens and their sums, in registers. Only for x86-64. */
#ifndef FP_SEARCH_MANY_AVX512_H
#define FP_SEARCH_MANY_AVX512_H

#include "decode_avx512.h"
#include "search_many.h"

/* Lengths of 32 codes' tokens, by class: each class has one length. */
FP_INLINE __m512i look_up_lengths(const __m512i *by_class, __m512i codes, __m128i shift) {
    __m512i class = _mm512_srl_epi16(codes, shift);
    __m512i low = _mm512_permutex2var_epi8(by_class[0], class, by_class[1]),
            high = _mm512_permutex2var_epi8(by_class[2], class, by_class[3]);
    /* The upper bytes of numbers look up class 0. */
    return _mm512_and_si512(_mm512_mask_mov_epi8(low, _mm512_movepi8_mask(class), high),
                            _mm512_set1_epi16(0xff));
}

/* Sums of all numbers before each one of 32, none of which passes 16 bits. */
FP_INLINE __m512i sum_before(__m512i numbers) {
    const __m512i of_four =
        _mm512_set_epi8(9, 8, 9, 8, 9, 8, 9, 8, 1, 0, 1, 0, 1, 0, 1, 0, 9, 8, 9, 8, 9, 8, 9, 8, 1,
                        0, 1, 0, 1, 0, 1, 0, 9, 8, 9, 8, 9, 8, 9, 8, 1, 0, 1, 0, 1, 0, 1, 0, 9, 8,
                        9, 8, 9, 8, 9, 8, 1, 0, 1, 0, 1, 0, 1, 0);
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums = _mm512_add_epi16(numbers, _mm512_slli_epi64(numbers, 16));
    sums = _mm512_add_epi16(sums, _mm512_slli_epi64(sums, 32));
    __m512i fours = _mm512_alignr_epi64(_mm512_srli_epi64(sums, 48), zero, 7);
    fours = _mm512_add_epi64(fours, _mm512_alignr_epi64(fours, zero, 7));
    fours = _mm512_add_epi64(fours, _mm512_alignr_epi64(fours, zero, 6));
    fours = _mm512_add_epi64(fours, _mm512_alignr_epi64(fours, zero, 4));
    return _mm512_add_epi16(_mm512_sub_epi16(sums, numbers), _mm512_shuffle_epi8(fours, of_four));
}

#endif
