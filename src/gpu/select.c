/* select.c - choosing a kernel. In: a column's token-length histogram, code width, dictionary and batch sizes, the device's limits. Out: an
 * index into the kernel table. Staged kernels follow the paper's rule where it holds, assembled ones an estimate of how busy a
 * multiprocessor is kept, corrected by measurements on Hopper: docs/kernels.md has the figures. */
#include "select.h"

/* Fewer warps than this leave a multiprocessor waiting more than the staged decoder does. Those of HOT kernels with many
 * codes a lane have much under way: with 7 of them o_clerk.16.16 decodes at 1977 GB/s, staged at 1139. */
static uint32_t fewest_warps(const fp_kernel *kernel) {
    return kernel->home == FP_GPU_HOT && kernel->codes_per_lane >= 15 ? 6 : 8;
}

static uint64_t count_codes(const fp_column_shape *shape) {
    uint64_t codes = 0;
    for (int i = 0; i < 16; i++) codes += shape->codes_by_length[i];
    return codes;
}

int fp_paper_reads_whole_rows(const fp_column_shape *shape) {
    uint64_t longer = 0;
    for (int i = 8; i < 16; i++) longer += shape->codes_by_length[i];
    return longer * 10 > count_codes(shape) * 6;
}

uint32_t fp_mean_token(const fp_column_shape *shape) {
    uint64_t codes = count_codes(shape), bytes = 0;
    for (int i = 0; i < 16; i++) bytes += shape->codes_by_length[i] * (uint64_t)(i + 1);
    return codes ? (uint32_t)(bytes * 100 / codes) : 0;
}

/* Nearly all tokens have one length. Then lanes with an even number of codes begin at the same place of the banks of
 * shared memory, again and again. */
static int has_one_length(const fp_column_shape *shape) {
    uint64_t codes = count_codes(shape);
    for (int i = 0; i < 16; i++)
        if (shape->codes_by_length[i] * 100 > codes * 95) return 1;
    return 0;
}

/* ---------------------------------------------------------------- assembled */

/* The same as fp_gpu_image_shape finds, from counts. */
static uint32_t image_bytes(const fp_kernel *kernel, const fp_column_shape *shape) {
    int halves_of_4 = kernel->max_token == 8, is_hot = kernel->home == FP_GPU_HOT;
    uint32_t near = is_hot ? shape->hot_slots
                    : kernel->home == FP_GPU_FAR
                        ? 0
                        : fp_gpu_image_slots(kernel->code_bits, shape->slots);
    uint32_t split =
        is_hot ? shape->hot_slots - (halves_of_4 ? shape->hot_above_4 : shape->hot_above_8)
               : shape->slots - (halves_of_4 ? shape->above_4 : shape->above_8);
    if (split > near) split = near;
    return fp_gpu_image_size(kernel->code_bits, kernel->max_token, near, split);
}

uint32_t fp_assembled_warps(const fp_kernel *kernel, const fastpair_gpu_info *gpu,
                            uint32_t image_bytes, uint32_t staging, uint32_t *shared) {
    uint32_t warp_bytes = staging + FP_GPU_CODE_BUFFER(kernel->codes_per_lane, kernel->code_bits);
    uint32_t least = FP_GPU_BLOCK_SHARED(image_bytes, 0, warp_bytes);
    uint32_t warps =
        least < gpu->shared_per_block ? (gpu->shared_per_block - least) / warp_bytes : 0;
    if (warps > kernel->threads / 32) warps = kernel->threads / 32;
    *shared = FP_GPU_BLOCK_SHARED(image_bytes, warps, warp_bytes);
    return warps;
}

fp_assembled_plan fp_plan_assembled(const fp_kernel *kernel, const fp_column_shape *shape,
                                    const fastpair_gpu_info *gpu) {
    fp_assembled_plan plan = {0};
    uint32_t largest = shape->largest_batch[kernel->codes_per_lane];
    if (!shape->in_classes || shape->code_bits != kernel->code_bits ||
        shape->max_length > kernel->max_token || !largest ||
        (kernel->home == FP_GPU_HOT && !shape->hot_slots))
        return plan;
    plan.image_bytes = image_bytes(kernel, shape);
    plan.staging = FP_GPU_STAGING(largest);
    uint32_t shared;
    plan.warps = fp_assembled_warps(kernel, gpu, plan.image_bytes, plan.staging, &shared);
    return plan;
}

/* Codes of tokens longer than 8 bytes, of 100. */
static uint32_t long_share(const fp_column_shape *shape) {
    uint64_t codes = count_codes(shape), longer = 0;
    for (int i = 8; i < 16; i++) longer += shape->codes_by_length[i];
    return codes ? (uint32_t)(longer * 100 / codes) : 0;
}

/* An estimate of the rate, only good for comparing kernels on one column: warps in flight hide latency up to a
 * point, and what the tokens are like decides about the rest. The numbers are fitted to an H200. */
static uint32_t estimate(const fp_kernel *kernel, const fp_column_shape *shape,
                         const fp_assembled_plan *plan) {
    uint32_t lane_codes = kernel->codes_per_lane, enough = lane_codes == 8 ? 20 : 24;
    if (lane_codes == 32 && kernel->home != FP_GPU_RARE) enough = 12;
    uint32_t rate = 1000 * (plan->warps < enough ? plan->warps : enough) / enough;
    int long_tokens = kernel->max_token == 16, one_length = has_one_length(shape);
    if (kernel->home == FP_GPU_FAR) return 500;
    if (kernel->home == FP_GPU_HOT && lane_codes == 8) rate -= 100;
    if (one_length) return kernel->store_bytes == 8 ? rate + (lane_codes % 2 ? 600 : 300) : rate;
    if (lane_codes % 2) rate -= 100;
    if (kernel->home == FP_GPU_RARE) return long_share(shape) < 18 ? rate + 200 : rate - 100;
    /* Wide stores are worth their instructions where there is much to store; and if rows repeat one pattern, which
     * the histogram does not tell, they do better than narrow ones. */
    if (lane_codes >= 16 && kernel->store_bytes == 8)
        return fp_mean_token(shape) >= (long_tokens ? 550 : 500) ? rate + 100 : rate - 100;
    if (lane_codes == 24) return fp_mean_token(shape) >= 570 ? rate + 90 : rate - 10;
    return lane_codes == 32 ? rate + 60 : rate;
}

static int serves(const fp_kernel *kernel, const fp_column_shape *shape) {
    return shape->batch_codes && 32 * kernel->codes_per_lane % shape->batch_codes == 0;
}

static uint32_t select_assembled(const fp_column_shape *shape, const fastpair_gpu_info *gpu,
                                 int use_sidecar) {
    uint32_t best = FP_KERNELS, best_rate = 0;
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (!fp_kernel_is_assembled(kernel) || (use_sidecar && !serves(kernel, shape))) continue;
        /* Tokens of up to 8 bytes are never better off in rows of 16. */
        if (kernel->max_token == 16 && shape->max_length <= 8) continue;
        fp_assembled_plan plan = fp_plan_assembled(kernel, shape, gpu);
        if (plan.warps < fewest_warps(kernel)) continue;
        uint32_t rate = estimate(kernel, shape, &plan);
        if (rate > best_rate) best = i, best_rate = rate;
    }
    return best;
}

/* ---------------------------------------------------------------- staged */

/* On Hopper and later a dictionary that L1 cannot hold costs a wavefront a code whatever is read, so one 16-byte read beats a
 * read and a queue. */
static int reads_whole_rows(const fp_column_shape *shape, const fastpair_gpu_info *gpu) {
    if (shape->max_length <= 8) return 0;
    if (gpu->compute_major >= 9 && shape->code_bits > 13) return 1;
    return fp_paper_reads_whole_rows(shape);
}

uint32_t fp_select_staged(const fp_column_shape *shape, const fastpair_gpu_info *gpu,
                          int use_sidecar) {
    uint32_t longest = shape->max_length > 8 ? 16 : 8;
    uint32_t width = reads_whole_rows(shape, gpu) ? 16 : 8, best = FP_KERNELS, best_warps = 0;
    int best_serves = 0;
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (kernel->low_bytes != width || kernel->max_token != longest ||
            kernel->dictionary_shared || fp_kernel_is_assembled(kernel))
            continue;
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

uint32_t fp_select_kernel(const fp_column_shape *shape, const fastpair_gpu_info *gpu,
                          int use_sidecar) {
    uint32_t assembled = select_assembled(shape, gpu, use_sidecar);
    return assembled < FP_KERNELS ? assembled : fp_select_staged(shape, gpu, use_sidecar);
}
