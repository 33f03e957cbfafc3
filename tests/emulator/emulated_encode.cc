/* emulated_encode.cc - the kernels of the encoder, for the emulator. */
#include "emulated_table.h"
#include "gpu/kernels/encode_bounds.cuh"
#include "gpu/kernels/encode_cut.cuh"
#include "gpu/kernels/encode_lengths.cuh"
#include "gpu/kernels/encode_pack.cuh"
#include "gpu/kernels/encode_parse.cuh"
#include "gpu/kernels/encode_rows.cuh"
#include "gpu/kernels/encode_seams.cuh"
#include "gpu/kernels/encode_text.cuh"
#include "gpu/kernels/sample.cuh"

#define FP_ENCODE(name, threads, blocks, dynamic)                                                  \
    void emulated_encode_##name(const void *launch) {                                              \
        encode_##name((const fp_gpu_encode_launch *)launch);                                       \
    }
#include "gpu/kernels/encode_kernels.def"

void emulated_sample_plan(const void *launch) { sample_plan((const fp_gpu_sample_launch *)launch); }
void emulated_sample_count(const void *launch) {
    sample_count((const fp_gpu_sample_launch *)launch);
}
void emulated_sample_scan(const void *launch) { sample_scan((const fp_gpu_sample_launch *)launch); }
void emulated_sample_copy(const void *launch) { sample_copy((const fp_gpu_sample_launch *)launch); }
