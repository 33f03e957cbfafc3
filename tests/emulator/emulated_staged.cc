/* emulated_staged.cc - the kernels of the paper's decoder that the library carries, for the
 * emulator. */
#include "emulated.h"

static const emulated_variant table[] = {
#define FP_STAGED(K, W, H, T, B) EMULATED_STAGED(K, W, H, T)
#define FP_STAGED8(K, T, B)      EMULATED_STAGED8(K, T)
#define FP_SHARED(K, W, H, T, B) EMULATED_SHARED(K, W, H, T)
#define FP_SHARED8(K, T, B)      EMULATED_SHARED8(K, T)
#include "gpu/kernels/staged/variants.def"
    EMULATED_END};

const emulated_variant *emulated_staged(void) { return table; }
