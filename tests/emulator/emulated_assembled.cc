/* emulated_assembled.cc - the kernels of our decoder, for the emulator. How many threads a block
 * has is up to the launch; here there are few. */
#include "emulated.h"

static const emulated_variant table[] = {
#define FP_ASSEMBLED(K, BITS, L, D, S, T)                                                          \
    {"assembled K" #K " b" #BITS " L" #L " " #D " S" #S, K,    L,         L, 64, 0,                \
     run_assembled<K, BITS, L, FP_GPU_##D, S>,           BITS, FP_GPU_##D},
#include "gpu/kernels/variants.def"
    EMULATED_END};

const emulated_variant *emulated_assembled(void) { return table; }
