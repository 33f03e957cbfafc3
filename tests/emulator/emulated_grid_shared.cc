/* emulated_grid_shared.cc - kernels of the benchmark grid for the emulator: the dictionary in
 * shared memory. */
#include "emulated.h"

/* These come with B 2 for every T. */
#undef IF_B1
#undef IF_B2
#define IF_B1(...)
#define IF_B2(...) __VA_ARGS__

static const emulated_variant table[] = {
#define FP_ALL_VARIANTS
#define FP_SHARED(K, W, H, T, B) IF_B##B(EMULATED_SHARED(K, W, H, T))
#define FP_SHARED8(K, T, B)      IF_B##B(EMULATED_SHARED8(K, T))
#include "gpu/kernels/staged/variants.def"
    EMULATED_END};

const emulated_variant *emulated_grid_shared(void) { return table; }
