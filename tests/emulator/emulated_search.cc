/* emulated_search.cc - the kernels of searches, for the emulator. */
#include "emulated_table.h"
#include "gpu/kernels/row_starts.cuh"
#include "gpu/kernels/search_codes.cuh"
#include "gpu/kernels/verdict.cuh"

void emulated_row_starts(const void *launch) {
    row_starts((const fp_gpu_row_starts_launch *)launch);
}

void emulated_filled_rows(const void *launch) {
    filled_rows((const fp_gpu_filled_rows_launch *)launch);
}

void emulated_verdict(const void *launch) { verdict((const fp_gpu_verdict_launch *)launch); }

template <int BITS> static void run_search(const void *launch) {
    search_codes<BITS>((const fp_gpu_search_launch *)launch);
}

emulator_kernel emulated_search(uint32_t bits) {
    static const emulator_kernel kernels[] = {
#define FP_SEARCH(BITS) run_search<BITS>,
#include "gpu/kernels/search_variants.def"
    };
    return kernels[bits - 1];
}
