/* emulated.h - makes entries of variants.def into table entries for the emulator. Included by the files
 * that hold a part of the grid. */
#ifndef FP_TESTS_EMULATED_H
#define FP_TESTS_EMULATED_H

#include "gpu/kernels/assembled.cuh"
#include "gpu/kernels/positions.cuh"
#include "gpu/kernels/row_offsets.cuh"
#include "gpu/kernels/staged.cuh"
#include "gpu/kernels/staged_shared.cuh"
#include "kernel_case.h"

/* The register budget means nothing here, so B is 1 and kernels that differ in it are one. */
template <int K, int W, int L, int H, int T> static void emulated_staged(const void *parameters) {
    staged_kernel<K, W, L, H, T, 1>(&((const emulated_parameters *)parameters)->launch);
}

template <int K, int W, int L, int H, int T> static void emulated_shared(const void *parameters) {
    const emulated_parameters *p = (const emulated_parameters *)parameters;
    staged_shared_kernel<K, W, L, H, T, 1>(&p->launch, p->second);
}

template <int K, int BITS, int L, fp_gpu_home D, int S>
static void emulated_assembled(const void *parameters) {
    assembled_kernel<K, BITS, L, D, S>(&((const emulated_parameters *)parameters)->spans);
}

#define EMULATED_STAGED(K, W, H, T, carried)                                                       \
    {"staged K" #K " W" #W " H" #H " T" #T, K, W,           16, T, 0, carried,                     \
     emulated_staged<K, W, 16, H, T>,       0, FP_GPU_SPLIT},
#define EMULATED_STAGED8(K, T, carried)                                                            \
    {"staged8 K" #K " T" #T,         K, 8,           8, T, 0, carried,                             \
     emulated_staged<K, 8, 8, 0, T>, 0, FP_GPU_SPLIT},
#define EMULATED_SHARED(K, W, H, T)                                                                \
    {"shared K" #K " W" #W " H" #H " T" #T, K, W,           16, T, 1, 0,                           \
     emulated_shared<K, W, 16, H, T>,       0, FP_GPU_SPLIT},
#define EMULATED_SHARED8(K, T)                                                                     \
    {"shared8 K" #K " T" #T, K, 8, 8, T, 1, 0, emulated_shared<K, 8, 8, 0, T>, 0, FP_GPU_SPLIT},
#define EMULATED_END                                                                               \
    { 0, 0, 0, 0, 0, 0, 0, 0, 0, FP_GPU_SPLIT }

/* Leaves one of the grid's entries that differ in B alone. */
#define IF_B1(...) __VA_ARGS__
#define IF_B2(...)
#define IF_B3(...)
#define IF_B4(...)
#define IF_B6(...)
#define IF_B8(...)

#endif
