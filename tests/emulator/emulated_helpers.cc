/* emulated_helpers.cc - the kernels beside the decoders, for the emulator. */
#include "emulated_table.h"
#include "gpu/kernels/positions.cuh"
#include "gpu/kernels/row_offsets.cuh"
#include "gpu/kernels/validity.cuh"

void emulated_measure_batches(const void *launch) {
    measure_batches((const fp_gpu_positions_launch *)launch);
}

void emulated_scan_batches(const void *launch) {
    scan_batches((const fp_gpu_positions_launch *)launch);
}

void emulated_row_offsets(const void *launch) {
    row_offsets((const fp_gpu_offsets_launch *)launch);
}

void emulated_validity(const void *launch) { validity((const fp_gpu_validity_launch *)launch); }
