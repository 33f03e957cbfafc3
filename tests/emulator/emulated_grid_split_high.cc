/* emulated_grid_split_high.cc - kernels of the benchmark grid for the emulator: W 8, K 6 to 8. */
#include "emulated.h"

#define IF_W8(...) __VA_ARGS__
#define IF_W16(...)
#define IF_K1(...)
#define IF_K2(...)
#define IF_K3(...)
#define IF_K4(...)
#define IF_K5(...)
#define IF_K6(...) __VA_ARGS__
#define IF_K7(...) __VA_ARGS__
#define IF_K8(...) __VA_ARGS__

static const emulated_variant table[] = {
#define FP_ALL_VARIANTS
#define FP_STAGED(K, W, H, T, B) IF_B##B(IF_W##W(IF_K##K(EMULATED_STAGED(K, W, H, T))))
#include "gpu/kernels/staged/variants.def"
    EMULATED_END};

const emulated_variant *emulated_grid_split_high(void) { return table; }
