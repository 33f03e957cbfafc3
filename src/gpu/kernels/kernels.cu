/* kernels.cu - every kernel of the library under a plain C name. In: the two tables of variants.
 * Out: with nvcc, a cubin or fat binary for the driver API. Each kernel takes one struct by value.
 *
 *   -DFP_ALL_VARIANTS       the whole grid of the paper's decoder, for benchmarks: hundreds of
 *                           kernels, minutes to compile
 *   -DFP_ONLY_THREADS=256   of the paper's decoder, kernels with blocks of this many threads alone, so
 *                           that parts compile side by side
 */
#include "assembled.cuh"
#include "encode_bounds.cuh"
#include "encode_cut.cuh"
#include "encode_lengths.cuh"
#include "encode_pack.cuh"
#include "encode_parse.cuh"
#include "encode_rows.cuh"
#include "encode_seams.cuh"
#include "encode_text.cuh"
#include "positions.cuh"
#include "row_offsets.cuh"
#include "row_starts.cuh"
#include "sample.cuh"
#include "scan_rows.cuh"
#include "search_codes.cuh"
#include "select_decode.cuh"
#include "select_sizes.cuh"
#include "staged/staged.cuh"
#include "staged/staged_shared.cuh"
#include "validity.cuh"
#include "verdict.cuh"

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

#define KERNEL(T, B)   extern "C" __global__ void __launch_bounds__(T, B)
#define TAKES(launch_) const __grid_constant__ launch_ launch

#define FP_STAGED(K, W, H, T, B)                                                                   \
    IF_T##T(KERNEL(T, B) fp_staged_k##K##_w##W##_h##H##_t##T##_b##B(TAKES(fp_staged_launch)) {     \
        staged_kernel<K, W, 16, H, T, B>(&launch);                                                 \
    })
#define FP_STAGED8(K, T, B)                                                                        \
    IF_T##T(KERNEL(T, B) fp_staged8_k##K##_t##T##_b##B(TAKES(fp_staged_launch)) {                  \
        staged_kernel<K, 8, 8, 0, T, B>(&launch);                                                  \
    })
#define FP_SHARED(K, W, H, T, B)                                                                   \
    IF_T##T(KERNEL(T, B) fp_shared_k##K##_w##W##_h##H##_t##T##_b##B(TAKES(fp_staged_launch)) {     \
        staged_shared_kernel<K, W, 16, H, T, B>(&launch);                                          \
    })
#define FP_SHARED8(K, T, B)                                                                        \
    IF_T##T(KERNEL(T, B) fp_shared8_k##K##_t##T##_b##B(TAKES(fp_staged_launch)) {                  \
        staged_shared_kernel<K, 8, 8, 0, T, B>(&launch);                                           \
    })
#include "staged/variants.def"

#define FP_ASSEMBLED(K, BITS, L, D, S, T)                                                          \
    KERNEL(T, 1)                                                                                   \
    fp_assembled_k##K##_b##BITS##_l##L##_##D##_s##S##_t##T(TAKES(fp_gpu_span_launch)) {            \
        assembled_kernel<K, BITS, L, FP_GPU_##D, S>(&launch);                                      \
    }
#include "variants.def"

KERNEL(FP_GPU_HELPER_THREADS, 4) fp_measure_batches(TAKES(fp_gpu_positions_launch)) {
    measure_batches(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 1) fp_scan_batches(TAKES(fp_gpu_positions_launch)) {
    scan_batches(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 8) fp_row_offsets(TAKES(fp_gpu_offsets_launch)) {
    row_offsets(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_validity(TAKES(fp_gpu_validity_launch)) { validity(&launch); }
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_row_starts(TAKES(fp_gpu_row_starts_launch)) {
    row_starts(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_filled_rows(TAKES(fp_gpu_filled_rows_launch)) {
    filled_rows(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_verdict(TAKES(fp_gpu_verdict_launch)) { verdict(&launch); }

KERNEL(FP_GPU_HELPER_THREADS, 4) fp_scan_rows(TAKES(fp_gpu_scan_launch)) { scan_rows(&launch); }
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_scan_codes(TAKES(fp_gpu_scan_launch)) { scan_codes(&launch); }
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_select_count_bits(TAKES(fp_gpu_select_launch)) {
    select_count_bits(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_select_list_bits(TAKES(fp_gpu_select_launch)) {
    select_list_bits(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_select_measure(TAKES(fp_gpu_select_launch)) {
    select_measure(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 1) fp_select_scan(TAKES(fp_gpu_select_scan)) { select_scan(&launch); }
KERNEL(FP_GPU_HELPER_THREADS, 1) fp_select_check(TAKES(fp_gpu_select_launch)) {
    select_check(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_select_pieces(TAKES(fp_gpu_select_launch)) {
    select_pieces(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_select_decode(TAKES(fp_gpu_select_launch)) {
    select_decode(&launch);
}

#define FP_SEARCH(BITS)                                                                            \
    KERNEL(FP_GPU_SEARCH_THREADS, 1) fp_search_b##BITS(TAKES(fp_gpu_search_launch)) {              \
        search_codes<BITS>(&launch);                                                               \
    }
#include "search_variants.def"

#define FP_ENCODE(name, threads, blocks, dynamic)                                                  \
    KERNEL(threads, blocks) fp_encode_##name(TAKES(fp_gpu_encode_launch)) {                        \
        encode_##name(&launch);                                                                    \
    }
#include "encode_kernels.def"

KERNEL(FP_GPU_HELPER_THREADS, 4) fp_sample_plan(TAKES(fp_gpu_sample_launch)) {
    sample_plan(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_sample_count(TAKES(fp_gpu_sample_launch)) {
    sample_count(&launch);
}
KERNEL(FP_GPU_ENCODE_THREADS, 1) fp_sample_scan(TAKES(fp_gpu_sample_launch)) {
    sample_scan(&launch);
}
KERNEL(FP_GPU_HELPER_THREADS, 4) fp_sample_copy(TAKES(fp_gpu_sample_launch)) {
    sample_copy(&launch);
}
