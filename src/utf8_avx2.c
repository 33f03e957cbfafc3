/* utf8_avx2.c - judging UTF-8 with AVX2. In and out: as utf8_loop.h has it. The trick: a byte that has
 * rules of its own is found by looking up both of its halves. Refuses nothing: it answers. */
#if defined(__x86_64__)
#include <immintrin.h>

#define FP_JUDGE_TARGET __attribute__((target("avx2,bmi,bmi2")))
#define FP_JUDGE_INLINE static inline __attribute__((always_inline)) FP_JUDGE_TARGET

typedef __m256i vector;

FP_JUDGE_INLINE vector load(const unsigned char *bytes) {
    return _mm256_loadu_si256((const __m256i *)(const void *)bytes);
}

FP_JUDGE_INLINE vector load_zeros(void) { return _mm256_setzero_si256(); }

FP_JUDGE_INLINE vector fill(unsigned char value) { return _mm256_set1_epi8((char)value); }

FP_JUDGE_INLINE int any(vector bytes) { return _mm256_movemask_epi8(bytes) != 0; }

FP_JUDGE_INLINE vector either(vector a, vector b) { return _mm256_or_si256(a, b); }

FP_JUDGE_INLINE vector unless(vector a, vector b) { return _mm256_andnot_si256(b, a); }

FP_JUDGE_INLINE vector at_least(vector bytes, unsigned char value) {
    return _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, fill(value)), bytes);
}

FP_JUDGE_INLINE vector misplaced(vector wrong, vector now, vector one, vector two, vector three) {
    vector wanted = either(
        either(_mm256_subs_epu8(one, fill(0xc0 - 0x80)), _mm256_subs_epu8(two, fill(0xe0 - 0x80))),
        _mm256_subs_epu8(three, fill(0xf0 - 0x80)));
    vector continues = unless(now, _mm256_add_epi8(now, now));
    return either(wrong, _mm256_xor_si256(wanted, continues));
}

/* Halves of C0, C1, E0, ED, F0 and of what is above F3 have a bit in common; others have none. Adding
 * 7F moves any bit to the highest place. */
FP_JUDGE_INLINE vector odd(vector so_far, vector now) {
    const vector upper =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 4));
    const vector lower =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(7, 1, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 6, 4, 4));
    const vector half = fill(0x0f);
    vector above = _mm256_shuffle_epi8(upper, _mm256_and_si256(_mm256_srli_epi16(now, 4), half));
    vector below = _mm256_shuffle_epi8(lower, _mm256_and_si256(now, half));
    return either(so_far, _mm256_add_epi8(_mm256_and_si256(above, below), fill(0x7f)));
}

#include "utf8_loop.h"

FP_JUDGE_TARGET uint32_t fp_utf8_judge_avx2(const uint8_t *bytes, uint64_t size) {
    return judge(bytes, size);
}
#else
typedef int fp_utf8_avx2_is_for_x86_64; /* a source file must declare something */
#endif
