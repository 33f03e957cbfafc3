/* emulated.h - turns entries of the two tables of variants into entries for the emulator. Included
 * by the files that hold a part of the tables. */
#ifndef FP_TESTS_EMULATED_H
#define FP_TESTS_EMULATED_H

#include "emulated_table.h"
#include "gpu/kernels/assembled.cuh"
#include "gpu/kernels/staged/staged.cuh"
#include "gpu/kernels/staged/staged_shared.cuh"

/* The register budget means nothing here, so B is 1 and kernels that differ in B are one. */
template <int K, int W, int L, int H, int T> static void run_staged(const void *launch) {
    staged_kernel<K, W, L, H, T, 1>((const fp_staged_launch *)launch);
}

template <int K, int W, int L, int H, int T> static void run_shared(const void *launch) {
    staged_shared_kernel<K, W, L, H, T, 1>((const fp_staged_launch *)launch);
}

template <int K, int BITS, int L, fp_gpu_home D, int S>
static void run_assembled(const void *launch) {
    assembled_kernel<K, BITS, L, D, S>((const fp_gpu_span_launch *)launch);
}

/* clang-format off */
#define EMULATED_STAGED(K, W, H, T)                                                                \
    {"staged K" #K " W" #W " H" #H " T" #T, K, W, 16, T, 0, run_staged<K, W, 16, H, T>, 0, FP_GPU_SPLIT},
#define EMULATED_STAGED8(K, T)                                                                     \
    {"staged8 K" #K " T" #T, K, 8, 8, T, 0, run_staged<K, 8, 8, 0, T>, 0, FP_GPU_SPLIT},
#define EMULATED_SHARED(K, W, H, T)                                                                \
    {"shared K" #K " W" #W " H" #H " T" #T, K, W, 16, T, 1, run_shared<K, W, 16, H, T>, 0, FP_GPU_SPLIT},
#define EMULATED_SHARED8(K, T)                                                                     \
    {"shared8 K" #K " T" #T, K, 8, 8, T, 1, run_shared<K, 8, 8, 0, T>, 0, FP_GPU_SPLIT},
#define EMULATED_END                                                                               \
    { 0, 0, 0, 0, 0, 0, 0, 0, FP_GPU_SPLIT }
/* clang-format on */

/* Of the grid's entries that differ in B alone, one is left. */
#define IF_B1(...) __VA_ARGS__
#define IF_B2(...)
#define IF_B3(...)
#define IF_B4(...)
#define IF_B6(...)
#define IF_B8(...)

#endif
