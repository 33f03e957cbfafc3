/* emulated_select.cc - the kernels of selections, and of searches byte by byte, for the emulator. */
#include "emulated_table.h"
#include "gpu/kernels/scan_rows.cuh"
#include "gpu/kernels/select_decode.cuh"
#include "gpu/kernels/select_sizes.cuh"

#define EMULATED(name)                                                                             \
    void emulated_##name(const void *launch) { name((const fp_gpu_select_launch *)launch); }
EMULATED(select_count_bits)
EMULATED(select_list_bits)
EMULATED(select_measure)
EMULATED(select_check)
EMULATED(select_pieces)
EMULATED(select_decode)

void emulated_select_scan(const void *launch) { select_scan((const fp_gpu_select_scan *)launch); }

void emulated_scan_rows(const void *launch) { scan_rows((const fp_gpu_scan_launch *)launch); }
void emulated_scan_codes(const void *launch) { scan_codes((const fp_gpu_scan_launch *)launch); }
