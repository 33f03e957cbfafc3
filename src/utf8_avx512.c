/* utf8_avx512.c - judging UTF-8 with AVX-512. In and out: as utf8_loop.h has it. The trick: the lower six
 * bits of a byte from C0 on name it, and one instruction looks 64 of these up. Refuses nothing: it
 * answers. */
#if defined(__x86_64__)
#include <immintrin.h>

#define FP_JUDGE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,bmi,bmi2")))
#define FP_JUDGE_INLINE static inline __attribute__((always_inline)) FP_JUDGE_TARGET

typedef __m512i vector;

FP_JUDGE_INLINE vector load(const unsigned char *bytes) { return _mm512_loadu_si512(bytes); }

FP_JUDGE_INLINE vector load_zeros(void) { return _mm512_setzero_si512(); }

FP_JUDGE_INLINE vector fill(unsigned char value) { return _mm512_set1_epi8((char)value); }

FP_JUDGE_INLINE int any(vector bytes) { return _mm512_movepi8_mask(bytes) != 0; }

FP_JUDGE_INLINE vector either(vector a, vector b) { return _mm512_or_si512(a, b); }

FP_JUDGE_INLINE vector unless(vector a, vector b) { return _mm512_andnot_si512(b, a); }

FP_JUDGE_INLINE vector at_least(vector bytes, unsigned char value) {
    return _mm512_movm_epi8(_mm512_cmpge_epu8_mask(bytes, fill(value)));
}

FP_JUDGE_INLINE vector misplaced(vector wrong, vector now, vector one, vector two, vector three) {
    vector wanted = _mm512_ternarylogic_epi64(
        _mm512_subs_epu8(one, fill(0xc0 - 0x80)), _mm512_subs_epu8(two, fill(0xe0 - 0x80)),
        _mm512_subs_epu8(three, fill(0xf0 - 0x80)), 0xfe); /* one of the three */
    vector continues = unless(now, _mm512_add_epi8(now, now));
    return _mm512_ternarylogic_epi64(wrong, wanted, continues, 0xf6); /* a or (b xor c) */
}

FP_JUDGE_INLINE vector odd(vector so_far, vector now) {
    static const unsigned char is_odd[64] = {
        [0x00] = 0x80, [0x01] = 0x80, [0x20] = 0x80, [0x2d] = 0x80, [0x30] = 0x80, [0x34] = 0x80,
        [0x35] = 0x80, [0x36] = 0x80, [0x37] = 0x80, [0x38] = 0x80, [0x39] = 0x80, [0x3a] = 0x80,
        [0x3b] = 0x80, [0x3c] = 0x80, [0x3d] = 0x80, [0x3e] = 0x80, [0x3f] = 0x80};
    vector found = _mm512_permutexvar_epi8(now, _mm512_loadu_si512(is_odd));
    vector begins = _mm512_and_si512(now, _mm512_add_epi8(now, now));
    return _mm512_ternarylogic_epi64(so_far, found, begins, 0xf8); /* a or (b and c) */
}

#include "utf8_loop.h"

FP_JUDGE_TARGET uint32_t fp_utf8_judge_avx512(const uint8_t *bytes, uint64_t size) {
    return judge(bytes, size);
}
/* Numbers of four bytes whose highest byte is the one in question. As signed numbers, those that continue
 * a character are below all others. */
FP_JUDGE_TARGET uint32_t fp_utf8_starts_avx512(const uint8_t *bytes, const uint32_t *offsets,
                                               uint64_t rows, uint32_t to, uint64_t *row) {
    uint64_t i = *row;
    vector least = load_zeros();
    for (; i + 16 <= rows && offsets[i + 15] < to; i += 16)
        least = _mm512_min_epi32(
            least, _mm512_i32gather_epi32(_mm512_loadu_si512(offsets + i), bytes - 3, 1));
    *row = i;
    return _mm512_cmplt_epi32_mask(least, _mm512_set1_epi32((int)0xc0000000));
}
#else
typedef int fp_utf8_avx512_is_for_x86_64; /* a source file must declare something */
#endif
