/* plan.c - choosing a kernel for a dictionary. In: statistics of its chunks, the device's limits.
 * Out: a kernel and the sizes it runs with. Assembled kernels are compared by an estimate of how
 * busy a multiprocessor is kept, corrected by measurements on Hopper (docs/lab has the figures);
 * where none suits, the paper's decoder is taken. */
#include "plan.h"

#include "staged.h"

/* With fewer warps a multiprocessor waits more than with the paper's decoder. HOT kernels with many
 * codes per lane have much under way: 7 of their warps still win. */
static uint32_t fewest_warps(const fp_kernel *kernel) {
    /* Tokens of more than 16 bytes have no kernel of the paper's; FAR is their last resort. */
    if (kernel->max_token > 16) return kernel->home == FP_GPU_FAR ? 1 : 4;
    return kernel->home == FP_GPU_HOT && kernel->codes_per_lane >= 15 ? 6 : 8;
}

/* Nearly all tokens have one length, as far as the bands of lengths tell. Then lanes with an even
 * number of codes begin at the same place of the banks of shared memory, again and again. */
static int has_one_length(const fp_shape *shape) {
    uint64_t codes = fp_shape_codes(shape);
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++)
        if (shape->codes_by_length[i] * 100 > codes * 95) return 1;
    return 0;
}

/* Fills in how many blocks of these warps and this shared memory run at once. */
static void count_resident(const fp_kernel *kernel, const fastpair_gpu_info *gpu, fp_block *block) {
    fp_block_needs needs = {32 * block->warps, fp_register_limit(kernel->threads, 1),
                            block->shared};
    uint32_t each = fp_resident_blocks(gpu, &needs);
    /* Whatever the model says, one block must run. */
    block->resident = gpu->multiprocessors * (each ? each : 1);
}

fp_block fp_plan_block(const fp_kernel *kernel, const fastpair_gpu_info *gpu,
                       uint32_t resident_bytes, uint32_t staging) {
    fp_block block = {0};
    uint32_t warp_bytes =
        FP_GPU_WARP_SHARED(kernel->codes_per_lane, kernel->code_bits, kernel->max_token, staging);
    uint32_t least = FP_GPU_BLOCK_SHARED(resident_bytes, 0, warp_bytes);
    if (least < gpu->shared_per_block) block.warps = (gpu->shared_per_block - least) / warp_bytes;
    if (block.warps > kernel->threads / 32) block.warps = kernel->threads / 32;
    if (!block.warps) return block;
    block.shared = FP_GPU_BLOCK_SHARED(resident_bytes, block.warps, warp_bytes);
    count_resident(kernel, gpu, &block);
    return block;
}

fp_block fp_plan_both(const fp_kernel *kernel, const fastpair_gpu_info *gpu, fp_block one,
                      fp_block other) {
    fp_block both = {.warps = one.warps > other.warps ? one.warps : other.warps,
                     .shared = one.shared > other.shared ? one.shared : other.shared};
    if (both.warps) count_resident(kernel, gpu, &both);
    return both;
}

/* Bytes of a warp's output buffer. Tokens of more than 16 bytes go in rounds, so the buffer need not
 * hold the largest batch (docs/lab/gpu-tried.md): in pieces a little more than most have is best,
 * and no round has more bytes than the pieces of a list; in quarters, where a round of a few lanes
 * takes as long as one of all, twice the mean. */
static uint32_t choose_staging(const fp_kernel *kernel, const fp_shape *shape) {
    uint64_t largest = shape->largest_batch[kernel->codes_per_lane];
    uint64_t usual = 32ull * kernel->codes_per_lane * fp_shape_mean_token(shape) / 100;
    usual = kernel->max_token == 64 ? usual * 11 / 10 : usual * 2;
    if (kernel->max_token == 64 && usual > FP_GPU_LISTED * FP_GPU_PIECE)
        usual = FP_GPU_LISTED * FP_GPU_PIECE;
    if (kernel->max_token == 32 && usual > largest) usual = largest;
    if (usual < FP_GPU_LEAST_ROOM) usual = FP_GPU_LEAST_ROOM;
    if (kernel->max_token > 16) largest = usual;
    return FP_GPU_STAGING((uint32_t)largest);
}

/* How an assembled kernel would run; 0 warps if it cannot. */
static fp_plan plan_assembled(uint32_t number, const fp_shape *shape,
                              const fastpair_gpu_info *gpu) {
    const fp_kernel *kernel = &fp_kernel_table()[number];
    fp_plan plan = {.kernel = number};
    if (!fp_shape_suits(shape, kernel) || !shape->largest_batch[kernel->codes_per_lane])
        return plan;
    const uint32_t *eights = shape->first_above_eights, part = fp_resident_part(kernel->max_token);
    uint32_t first_above[3] = {shape->first_above_4, 0, 0};
    for (uint32_t i = 0; i < 3 && part >= 8; i++)
        if ((i + 1) * part < 64) first_above[i] = eights[(i + 1) * part / 8];
    plan.resident = fp_resident_shape(kernel->home, kernel->code_bits, kernel->max_token,
                                      shape->slots, shape->hot_slots, first_above);
    plan.staging = choose_staging(kernel, shape);
    plan.warps = fp_plan_block(kernel, gpu, plan.resident.bytes, plan.staging).warps;
    if (kernel->home == FP_GPU_HOT || kernel->home == FP_GPU_FAR)
        plan.planes = kernel->max_token == 64   ? FP_PLANE_PIECES
                      : kernel->max_token == 16 ? FP_PLANE_CELLS16
                                                : FP_PLANE_LOW8;
    return plan;
}

/* An estimate of the rate, only good for comparing kernels on one column: warps in flight hide
 * latency up to a point, and what the tokens are like decides about the rest. The numbers are
 * fitted to an H200. */
static uint32_t estimate(const fp_plan *plan, const fp_shape *shape) {
    const fp_kernel *kernel = &fp_kernel_table()[plan->kernel];
    uint32_t lane_codes = kernel->codes_per_lane, enough = lane_codes == 8 ? 20 : 24;
    if (lane_codes == 32 && kernel->home != FP_GPU_RARE) enough = 12;
    uint32_t rate = 1000 * (plan->warps < enough ? plan->warps : enough) / enough;
    int long_tokens = kernel->max_token == 16, one_length = has_one_length(shape);
    if (kernel->home == FP_GPU_FAR) return kernel->max_token == 64 ? 100 : 500;
    if (kernel->home == FP_GPU_PIECES) return 200;
    /* Of tokens of up to 32 bytes: narrow stores where most tokens are short. */
    if (kernel->max_token == 32)
        return 400 + ((kernel->store_bytes == 4) == (fp_shape_mean_token(shape) < 800));
    if (kernel->home == FP_GPU_HOT && lane_codes == 8) rate -= 100;
    if (one_length) return kernel->store_bytes == 8 ? rate + (lane_codes % 2 ? 600 : 300) : rate;
    if (lane_codes % 2) rate -= 100;
    if (kernel->home == FP_GPU_RARE)
        return fp_shape_long_share(shape) < 18 ? rate + 200 : rate - 100;
    /* Wide stores pay for their instructions where there is much to store; and if rows repeat one
     * pattern, which the histogram does not tell, they do better than narrow ones. */
    if (lane_codes >= 16 && kernel->store_bytes == 8)
        return fp_shape_mean_token(shape) >= (long_tokens ? 550 : 500) ? rate + 100 : rate - 100;
    if (lane_codes == 24) return fp_shape_mean_token(shape) >= 570 ? rate + 90 : rate - 10;
    return lane_codes == 32 ? rate + 60 : rate;
}

/* The best assembled kernel; 0 warps if none suits. */
static fp_plan select_assembled(const fp_shape *shape, const fastpair_gpu_info *gpu,
                                int use_sidecar) {
    fp_plan best = {.kernel = FP_KERNELS};
    uint32_t best_rate = 0;
    for (uint32_t i = FP_STAGED_KERNELS; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        /* Without the sidecar the paper's decoder does better, where it can decode the tokens. */
        int only_here = shape->max_length > 16;
        if (use_sidecar && !only_here && !fp_shape_serves(shape, kernel)) continue;
        /* Tokens are never better off in cells that are too long by half. */
        if (kernel->max_token == 16 && shape->max_length <= 8) continue;
        if (kernel->max_token > 16 && !only_here && (shape->in_classes || !shape->ascends))
            continue;
        fp_plan plan = plan_assembled(i, shape, gpu);
        if (plan.warps < fewest_warps(kernel)) continue;
        uint32_t rate = estimate(&plan, shape);
        if (rate > best_rate) best = plan, best_rate = rate;
    }
    return best;
}

static fp_plan plan_staged(uint32_t kernel, const fp_shape *shape, const fastpair_gpu_info *gpu) {
    return (fp_plan){
        .kernel = kernel,
        .planes = fp_staged_planes(kernel),
        .warps = fp_staged_suits(kernel, shape, gpu) ? fp_kernel_table()[kernel].threads / 32 : 0};
}

fp_plan fp_plan_make(const fp_shape *shape, const fastpair_gpu_info *gpu,
                     const fp_plan_request *request) {
    int use_sidecar = !request->regenerate;
    fp_plan plan;
    if (request->kernel < FP_KERNELS)
        plan = fp_kernel_is_staged(request->kernel) ? plan_staged(request->kernel, shape, gpu)
                                                    : plan_assembled(request->kernel, shape, gpu);
    else {
        plan = select_assembled(shape, gpu, use_sidecar);
        if (!plan.warps) plan = plan_staged(fp_staged_select(shape, gpu, use_sidecar), shape, gpu);
    }
    if (request->regenerate || !fp_shape_serves(shape, &fp_kernel_table()[plan.kernel]))
        plan.planes |= FP_PLANE_LENGTHS;
    return plan;
}
