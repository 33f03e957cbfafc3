/* decode_portable.c - the decoding loop in plain C. It is also what the level called x86-64 baseline uses: there copies
 * of rows become SSE2 moves by themselves, and nothing else in SSE2 helped. In and out: decode_loop.h. */
#define FP_LOOP_TARGET
#define FP_LOOP_FIELD(word, shift) ((word) >> (shift))
#include "decode_loop.h"

uint8_t *fp_decode_loop_portable(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->row_bytes == 8 ? short_rows(decoder, run) : long_rows(decoder, run);
}
