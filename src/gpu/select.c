/* select.c - choosing a kernel. In: a column's token-length histogram, code width and batch size, the device's limits. Out: an
 * index into the kernel table. The widths follow the paper's rule where it holds, and measurements where they differ:
 * docs/kernels.md has the figures. */
#include "select.h"

int fp_paper_reads_whole_rows(const fp_column_shape *shape) {
    uint64_t codes = 0, longer = 0;
    for (int i = 0; i < 16; i++) {
        codes += shape->codes_by_length[i];
        if (i >= 8) longer += shape->codes_by_length[i];
    }
    return longer * 10 > codes * 6;
}

/* On Hopper and later a dictionary that L1 cannot hold costs a wavefront a code whatever is read, so one 16-byte read beats a
 * read and a queue. */
static int reads_whole_rows(const fp_column_shape *shape, const fastpair_gpu_info *gpu) {
    if (shape->max_length <= 8) return 0;
    if (gpu->compute_major >= 9 && shape->code_bits > 13) return 1;
    return fp_paper_reads_whole_rows(shape);
}

static int serves(const fp_kernel *kernel, const fp_column_shape *shape) {
    return shape->batch_codes && 32 * kernel->codes_per_lane % shape->batch_codes == 0;
}

uint32_t fp_select_kernel(const fp_column_shape *shape, const fastpair_gpu_info *gpu, int use_sidecar) {
    uint32_t longest = shape->max_length > 8 ? 16 : 8;
    uint32_t width = reads_whole_rows(shape, gpu) ? 16 : 8, best = FP_KERNELS, best_warps = 0;
    int best_serves = 0;
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (kernel->low_bytes != width || kernel->max_token != longest || kernel->dictionary_shared) continue;
        fp_block_needs needs = {kernel->threads, fp_register_limit(kernel->threads, kernel->blocks),
                                kernel->static_shared};
        uint32_t warps = fp_resident_blocks(gpu, &needs) * kernel->threads / 32;
        int suits = !use_sidecar || serves(kernel, shape);
        /* First what needs no extra pass; then codes in flight on a multiprocessor, which is what hides latency. */
        if (best == FP_KERNELS || suits > best_serves ||
            (suits == best_serves && warps * kernel->codes_per_lane > best_warps)) {
            best = i;
            best_serves = suits;
            best_warps = warps * kernel->codes_per_lane;
        }
    }
    return best == FP_KERNELS ? 0 : best;
}
