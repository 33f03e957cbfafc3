/* decode_portable.c - the decoding loop in plain C. In and out: decode_loop.h and
 * decode_long.h. The x86-64 baseline
 * level uses it, too: there compilers copy cells with SSE2 moves by themselves, and nothing else in
 * SSE2 helped. */
#define FP_LOOP_TARGET
#define FP_LOOP_FIELD(word, shift) ((word) >> (shift))
#define FP_LONG_VECTOR             16
#include <stdint.h>

#include "decode_long.h"

uint8_t *fp_decode_loop_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->cell_bytes == 8 ? short_cells(decoder, run) : long_cells(decoder, run, 0);
}

uint8_t *fp_decode_long_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 0, 0);
}

uint8_t *fp_decode_rare_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 1, 0);
}

uint8_t *fp_mark_loop_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return long_cells(decoder, run, 1);
}

uint8_t *fp_mark_long_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 0, 1);
}

uint8_t *fp_mark_rare_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return any_tokens(decoder, run, 1, 1);
}
