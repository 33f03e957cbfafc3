/* emulated_grid_whole.cc - kernels of the benchmark grid for the emulator: W 16, and tokens of at
 * most 8 bytes. */
#include "emulated.h"

#define IF_W8(...)
#define IF_W16(...) __VA_ARGS__

static const emulated_variant table[] = {
#define FP_ALL_VARIANTS
#define FP_STAGED(K, W, H, T, B) IF_B##B(IF_W##W(EMULATED_STAGED(K, W, H, T)))
#define FP_STAGED8(K, T, B)      IF_B##B(EMULATED_STAGED8(K, T))
#include "gpu/kernels/staged/variants.def"
    EMULATED_END};

const emulated_variant *emulated_grid_whole(void) { return table; }
