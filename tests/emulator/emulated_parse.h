/* emulated_parse.h - the encoder's parse in the emulator, for C. */
#ifndef FP_TESTS_EMULATED_PARSE_H
#define FP_TESTS_EMULATED_PARSE_H

#include "gpu/kernels/encode_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets all memory, and seeds the order of lanes. */
void emulated_parse_begin(uint64_t seed);
/* Makes memory known to the kernels, which may write it or only read it. `name` must stay. */
void emulated_parse_know(const void *memory, uint64_t bytes, int is_written, const char *name);

/* Launches all kernels of the parse and of seams, in order. Blocks of the parse have `threads`
 * threads. Returns NULL or what went wrong. */
const char *emulated_parse(const fp_gpu_encode_launch *launch, uint32_t blocks, uint32_t threads);

#ifdef __cplusplus
}
#endif
#endif
