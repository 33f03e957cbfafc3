/* kernels.cu - every kernel of the library under a plain C name. In: variants.def. Out: with nvcc, a cubin
 * or fat binary for the driver API.
 *
 *   -DFP_ALL_VARIANTS       the whole grid, for benchmarks: hundreds of kernels, minutes to compile
 *   -DFP_ONLY_THREADS=256   of either, staged kernels with blocks of this many threads alone: parts compile side by side
 *
 * Assembled kernels take an fp_gpu_span_launch by value, all others an fp_gpu_launch; those that need more take it as
 * a second parameter. */
#include "assembled.cuh"
#include "positions.cuh"
#include "row_offsets.cuh"
#include "staged.cuh"
#include "staged_shared.cuh"

#if !defined(FP_ONLY_THREADS) || FP_ONLY_THREADS == 64
#define IF_T64(...) __VA_ARGS__
#else
#define IF_T64(...)
#endif
#if !defined(FP_ONLY_THREADS) || FP_ONLY_THREADS == 128
#define IF_T128(...) __VA_ARGS__
#else
#define IF_T128(...)
#endif
#if !defined(FP_ONLY_THREADS) || FP_ONLY_THREADS == 256
#define IF_T256(...) __VA_ARGS__
#else
#define IF_T256(...)
#endif

#define KERNEL(T, B) extern "C" __global__ void __launch_bounds__(T, B)
#define LAUNCH       const __grid_constant__ fp_gpu_launch launch
#define SPAN_LAUNCH  const __grid_constant__ fp_gpu_span_launch launch

#define FP_STAGED(K, W, H, T, B)                                                                   \
    IF_T##T(KERNEL(T, B) fp_staged_k##K##_w##W##_h##H##_t##T##_b##B(LAUNCH) {                      \
        staged_kernel<K, W, 16, H, T, B>(&launch);                                                 \
    })
#define FP_STAGED8(K, T, B)                                                                        \
    IF_T##T(KERNEL(T, B) fp_staged8_k##K##_t##T##_b##B(LAUNCH) {                                   \
        staged_kernel<K, 8, 8, 0, T, B>(&launch);                                                  \
    })
#define FP_SHARED(K, W, H, T, B)                                                                   \
    IF_T##T(KERNEL(T, B)                                                                           \
                fp_shared_k##K##_w##W##_h##H##_t##T##_b##B(LAUNCH, uint32_t shared_slots) {        \
                    staged_shared_kernel<K, W, 16, H, T, B>(&launch, shared_slots);                \
                })
#define FP_SHARED8(K, T, B)                                                                        \
    IF_T##T(KERNEL(T, B) fp_shared8_k##K##_t##T##_b##B(LAUNCH, uint32_t shared_slots) {            \
        staged_shared_kernel<K, 8, 8, 0, T, B>(&launch, shared_slots);                             \
    })
#define FP_ASSEMBLED(K, BITS, L, D, S, T)                                                          \
    KERNEL(T, 1) fp_assembled_k##K##_b##BITS##_l##L##_##D##_s##S##_t##T(SPAN_LAUNCH) {             \
        assembled_kernel<K, BITS, L, FP_GPU_##D, S>(&launch);                                      \
    }
#include "variants.def"

KERNEL(FP_POSITIONS_THREADS, 4) fp_measure_batches(LAUNCH, uint32_t codes_per_lane) {
    measure_batches(&launch, codes_per_lane);
}

KERNEL(FP_POSITIONS_THREADS, 1) fp_scan_batches(LAUNCH, uint32_t codes_per_lane) {
    scan_batches(&launch, codes_per_lane);
}

KERNEL(FP_ROW_OFFSETS_THREADS, 4) fp_row_offsets(LAUNCH) { row_offsets(&launch); }
