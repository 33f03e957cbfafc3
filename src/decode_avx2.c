/* decode_avx2.c - the decoding loop for x86-64 CPUs of 2013 and later. In and out: decode_loop.h
 * and decode_long.h.
 *
 * The trick: a rotation leaves its source alone, so a field costs two instructions instead of
 * three. */
#if defined(__x86_64__)
#define FP_LOOP_TARGET             __attribute__((target("avx2,bmi,bmi2")))
#define FP_LOOP_FIELD(word, shift) ((word) >> (shift) | (word) << (-(shift)&63))
#define FP_LONG_VECTOR             32
#include <immintrin.h>

#include "decode_long.h"

FP_LOOP_TARGET uint8_t *fp_decode_loop_avx2(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->cell_bytes == 8 ? short_cells(decoder, run) : long_cells(decoder, run, 0);
}

FP_LOOP_TARGET uint8_t *fp_decode_long_avx2(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 0, 0);
}

FP_LOOP_TARGET uint8_t *fp_decode_rare_avx2(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 1, 0);
}

FP_LOOP_TARGET uint8_t *fp_mark_loop_avx2(const fp_decoder *decoder, const fp_decode_run *run) {
    return long_cells(decoder, run, 1);
}

FP_LOOP_TARGET uint8_t *fp_mark_long_avx2(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 0, 1);
}

FP_LOOP_TARGET uint8_t *fp_mark_rare_avx2(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 1, 1);
}
#else
typedef int fp_decode_avx2_is_for_x86_64; /* a source file must declare something */
#endif
