/* emulated_parse.cc - the kernels of emulated_parse.h. */
#include "emulated_parse.h"

#include "emulator.h"
#include "gpu/kernels/encode_seams.cuh"

namespace {

typedef void (*kernel)(const fp_gpu_encode_launch *);

template <kernel K> void run(const void *launch) { K((const fp_gpu_encode_launch *)launch); }

const emulator_kernel shapes[FP_GPU_ENCODE_SHAPES] = {
    run<encode_parse_near>,        run<encode_parse_leaves>,    run<encode_parse_hashes>,
    run<encode_parse_far>,         run<encode_parse_near_long>, run<encode_parse_leaves_long>,
    run<encode_parse_hashes_long>, run<encode_parse_far_long>};

} // namespace

void emulated_parse_begin(uint64_t seed) { emulator_reset(seed); }

void emulated_parse_know(const void *memory, uint64_t bytes, int is_written, const char *name) {
    emulator_memory(memory, bytes, is_written ? EMULATOR_WRITE : EMULATOR_READ, name);
}

const char *emulated_parse(const fp_gpu_encode_launch *launch, uint32_t blocks, uint32_t threads) {
    fp_gpu_encode_launch at = *launch;
    const uint32_t seam_blocks = (uint32_t)(launch->scratch.most_segments + 255) / 256;
    const char *error = NULL;
    for (at.round = 0; at.round < 4 && !error; at.round++) {
        if (at.round == 1 || at.round == 2)
            error = emulator_run(run<encode_seams>, &at, 256, seam_blocks, 1, 0);
        if (at.round == 3) error = emulator_run(run<encode_chain>, &at, 256, 2, 1, 0);
        if (!error)
            error = emulator_run(shapes[at.tables.shape], &at, threads, blocks, 1,
                                 at.tables.shared_bytes);
    }
    return error;
}
