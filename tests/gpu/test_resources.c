/* test_resources.c - the resource model against the paper's worked example, each limit on its own, and
 * blocks that two dictionaries share. */
#include "check.h"
#include "gpu/plan.h"
#include "gpu/resources.h"
#include "gpu/staged.h"
#include "gpus.h"

/* T = 256, B = 4, K = 6, W = 8: 64 registers, 31.25 KiB, four blocks on HBM GPUs, three on GDDR. */
static void test_paper_example(void) {
    CHECK_EQ(fp_register_limit(256, 4), 64);
    CHECK_EQ(fp_register_limit(256, 8), 32);
    CHECK_EQ(fp_register_limit(64, 1), 255); /* the most that an instruction can name */
    uint32_t paper = fp_kernel_find("staged K6 W8 H1 T256 B4");
    CHECK(paper < FP_STAGED_KERNELS);
    uint32_t shared = fp_kernel_table()[paper].static_shared;
    CHECK(shared > 30.0 * 1024 && shared < 31.5 * 1024);
    fp_block_needs needs = {256, 64, shared};
    CHECK_EQ(fp_resident_blocks(&gpus[B300], &needs), 4);
    CHECK_EQ(fp_resident_blocks(&gpus[H100], &needs), 4);
    CHECK_EQ(fp_resident_blocks(&gpus[A100], &needs), 4);
    CHECK_EQ(fp_resident_blocks(&gpus[L40S], &needs), 3);
}

/* Each limit in turn is the one that binds. */
static void test_limits(void) {
    static const struct {
        fp_block_needs needs;
        uint32_t on_h100, on_l40s;
    } cases[] = {
        {{1024, 32, 0}, 2, 1},        /* warps */
        {{1024, 64, 0}, 1, 1},        /* registers */
        {{1024, 65, 0}, 0, 0},        /* a warp's registers come in units of 256 */
        {{64, 16, 0}, 32, 24},        /* blocks */
        {{128, 32, 100 << 10}, 2, 0}, /* shared memory */
        {{128, 32, 227 << 10}, 1, 0}, /* with what the system takes, all of it */
        {{128, 32, 228 << 10}, 0, 0},
        {{128, 0, 0}, 16, 12}, /* a kernel that needs nothing: warps again */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(fp_resident_blocks(&gpus[H100], &cases[i].needs), cases[i].on_h100);
        CHECK_EQ(fp_resident_blocks(&gpus[L40S], &cases[i].needs), cases[i].on_l40s);
    }
}

/* Blocks for two dictionaries have the warps of one and the shared memory of either, and as many run at
 * once as that leaves. */
static void test_shared_blocks(void) {
    const fp_kernel *kernel = &fp_kernel_table()[FP_STAGED_KERNELS];
    const fastpair_gpu_info *gpu = &gpus[H100];
    const fp_block none = {0}, small = fp_plan_block(kernel, gpu, 16 << 10, 1600),
                   large = fp_plan_block(kernel, gpu, 160 << 10, 6400);
    CHECK(small.warps > large.warps && small.shared && large.shared);
    fp_block both = fp_plan_both(kernel, gpu, large, small);
    CHECK_EQ(both.warps, small.warps);
    CHECK_EQ(both.shared, small.shared > large.shared ? small.shared : large.shared);
    fp_block_needs needs = {32 * both.warps, fp_register_limit(kernel->threads, 1), both.shared};
    uint32_t each = fp_resident_blocks(gpu, &needs);
    CHECK_EQ(both.resident, gpu->multiprocessors * (each ? each : 1));
    both = fp_plan_both(kernel, gpu, none, large);
    CHECK(both.warps == large.warps && both.shared == large.shared &&
          both.resident == large.resident);
    CHECK_EQ(fp_plan_both(kernel, gpu, none, none).warps, 0);
}

int main(void) {
    test_paper_example();
    test_limits();
    test_shared_blocks();
    return check_done();
}
