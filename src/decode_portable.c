/* decode_portable.c - the decoding loop in plain C. In and out: decode_loop.h and
 * decode_long.h. The x86-64 baseline
 * level uses it, too: there compilers copy cells with SSE2 moves by themselves, and nothing else in
 * SSE2 helped. */
#define FP_LOOP_TARGET
#define FP_LOOP_FIELD(word, shift) ((word) >> (shift))
#define FP_LONG_VECTOR             16
#include "decode_long.h"

uint8_t *fp_decode_loop_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->cell_bytes == 8 ? short_cells(decoder, run) : long_cells(decoder, run);
}

uint8_t *fp_decode_long_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->cell_bytes == 32 ? long_tokens(decoder, run, 32, 0)
                                     : long_tokens(decoder, run, 64, 0);
}

uint8_t *fp_decode_rare_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->cell_bytes == 32 ? long_tokens(decoder, run, 32, 1)
                                     : long_tokens(decoder, run, 64, 1);
}
