/* staged_plan.c - choosing a kernel of the paper's decoder. In: statistics of a dictionary's
 * chunks, the device's limits. Out: an index into the kernel table. The paper's rule decides
 * between split and whole reads, where it holds; then codes in flight decide. */
#include "staged.h"

#include "kernels/staged/params.h"

#define OVERHEAD_REGISTERS 20u

static const fp_staged_kernel kernels[] = {
#define FP_STAGED(K, W, H, T, B) {W, H},
#define FP_STAGED8(K, T, B)      {8, 0},
#define FP_SHARED(K, W, H, T, B) {W, H},
#define FP_SHARED8(K, T, B)      {8, 0},
#include "kernels/staged/variants.def"
};

const fp_staged_kernel *fp_staged_kernel_at(uint32_t i) { return &kernels[i]; }

uint32_t fp_staged_shared(uint32_t kernel, uint32_t slots) {
    const fp_kernel *of = &fp_kernel_table()[kernel];
    return of->static_shared + (of->dynamic_shared ? FP_STAGED_DICT(slots, of->max_token) : 0);
}

uint32_t fp_staged_registers(uint32_t codes_per_lane, uint32_t gathered_bytes, uint32_t hoisted) {
    return codes_per_lane * (3 + gathered_bytes / 4) + hoisted * (16 - gathered_bytes) / 4 +
           OVERHEAD_REGISTERS;
}

uint32_t fp_staged_planes(uint32_t kernel) {
    if (kernels[kernel].gathered_bytes == 16) return FP_PLANE_CELLS16 | FP_PLANE_NIBBLES;
    return FP_PLANE_LOW8 | FP_PLANE_NIBBLES |
           (fp_kernel_table()[kernel].max_token == 16 ? FP_PLANE_HIGH8 : 0);
}

int fp_staged_suits(uint32_t kernel, const fp_shape *shape, const fastpair_gpu_info *gpu) {
    return shape->max_length <= fp_kernel_table()[kernel].max_token &&
           fp_staged_shared(kernel, shape->slots) <= gpu->shared_per_block;
}

int fp_paper_reads_whole_cells(const fp_shape *shape) {
    uint64_t longer = 0;
    for (uint32_t i = fp_length_band(9); i < FP_LENGTH_BANDS; i++)
        longer += shape->codes_by_length[i];
    return longer * 10 > fp_shape_codes(shape) * 6;
}

/* On Hopper and later a dictionary that L1 cannot hold costs a wavefront per code whatever is read,
 * so one 16-byte read beats a read and a queue. */
static int reads_whole_cells(const fp_shape *shape, const fastpair_gpu_info *gpu) {
    if (shape->max_length <= 8) return 0;
    if (gpu->compute_major >= 9 && shape->code_bits > 13) return 1;
    return fp_paper_reads_whole_cells(shape);
}

uint32_t fp_staged_select(const fp_shape *shape, const fastpair_gpu_info *gpu, int use_sidecar) {
    uint32_t longest = shape->max_length > 8 ? 16 : 8;
    uint32_t width = reads_whole_cells(shape, gpu) ? 16 : 8, best = 0, best_codes = 0;
    int best_serves = -1;
    for (uint32_t i = 0; i < FP_STAGED_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (kernels[i].gathered_bytes != width || kernel->max_token != longest ||
            kernel->dynamic_shared)
            continue;
        fp_block_needs needs = {kernel->threads, fp_register_limit(kernel->threads, kernel->blocks),
                                kernel->static_shared};
        uint32_t warps = fp_resident_blocks(gpu, &needs) * kernel->threads / 32;
        /* First what needs no extra pass; then codes in flight on a multiprocessor, which is what
         * hides latency. */
        int serves = !use_sidecar || fp_shape_serves(shape, kernel);
        uint32_t codes = warps * kernel->codes_per_lane;
        if (serves > best_serves || (serves == best_serves && codes > best_codes))
            best = i, best_serves = serves, best_codes = codes;
    }
    return best;
}
