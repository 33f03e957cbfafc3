/* emulated_grid_split_low.cc - kernels of the benchmark grid for the emulator: W 8, K 1 to 5. */
#include "emulated.h"

#define IF_W8(...) __VA_ARGS__
#define IF_W16(...)
#define IF_K1(...) __VA_ARGS__
#define IF_K2(...) __VA_ARGS__
#define IF_K3(...) __VA_ARGS__
#define IF_K4(...) __VA_ARGS__
#define IF_K5(...) __VA_ARGS__
#define IF_K6(...)
#define IF_K7(...)
#define IF_K8(...)

static const emulated_variant table[] = {
#define FP_ALL_VARIANTS
#define FP_STAGED(K, W, H, T, B) IF_B##B(IF_W##W(IF_K##K(EMULATED_STAGED(K, W, H, T))))
#include "gpu/kernels/staged/variants.def"
    EMULATED_END};

const emulated_variant *emulated_grid_split_low(void) { return table; }
