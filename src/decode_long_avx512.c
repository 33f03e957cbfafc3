/* decode_long_avx512.c - the decoding loop for many codes with tokens of more than 32 bytes, where
 * decode_bricks_avx512.c cannot take them. In and out: decode_long.h. The trick: a token is one
 * register. */
#if defined(__x86_64__)
#define FP_LOOP_TARGET             __attribute__((target("avx2,bmi,bmi2,avx512f,avx512bw,avx512vl")))
#define FP_LOOP_FIELD(word, shift) ((word) >> (shift) | (word) << (-(shift)&63))
#define FP_LONG_VECTOR             64
#include "decode_long.h"

FP_LOOP_TARGET uint8_t *fp_decode_long_avx512(const fp_decoder *decoder, const fp_decode_run *run) {
    return long_tokens(decoder, run, 64, 0, 0);
}

FP_LOOP_TARGET uint8_t *fp_mark_long_avx512(const fp_decoder *decoder, const fp_decode_run *run) {
    return long_tokens(decoder, run, 64, 0, 1);
}
#else
typedef int fp_decode_long_avx512_is_for_x86_64; /* a source file must declare something */
#endif
