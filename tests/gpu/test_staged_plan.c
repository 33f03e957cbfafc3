/* test_staged_plan.c - which kernel of the paper's decoder is chosen, what it reads and what it
 * needs. */
#include "check.h"
#include "gpu/staged.h"
#include "gpus.h"
#include "plan_shapes.h"

/* Codes with tokens of 4 and of 12 bytes, in batches of one size. */
static fp_shape shape_with(uint64_t shorter, uint64_t longer, uint32_t bits, uint32_t batch) {
    fp_shape shape = {.code_bits = bits,
                      .max_length = longer ? 16 : 8,
                      .slots = 1u << bits,
                      .batch_sizes = batch_size_bit(batch)};
    shape.codes_by_length[3] = shorter;
    shape.codes_by_length[fp_length_band(12)] = longer;
    return shape;
}

static void test_registers(void) {
    CHECK(fp_staged_registers(6, 8, 1) <= 64);
    CHECK(fp_staged_registers(6, 8, 1) > fp_staged_registers(5, 8, 1));
    /* W = L: hoisting has nothing to hold. */
    CHECK_EQ(fp_staged_registers(6, 16, 0), fp_staged_registers(6, 16, 4));
}

static void test_paper_rule(void) {
    fp_shape shape = shape_with(40, 60, 12, 256);
    CHECK(!fp_paper_reads_whole_cells(&shape)); /* 60 % is not more than 60 % */
    shape = shape_with(39, 61, 12, 256);
    CHECK(fp_paper_reads_whole_cells(&shape));
    shape = shape_with(100, 0, 12, 256);
    CHECK(!fp_paper_reads_whole_cells(&shape));
}

static uint32_t gathered(const fp_shape *shape, const fastpair_gpu_info *gpu) {
    return fp_staged_kernel_at(fp_staged_select(shape, gpu, 1))->gathered_bytes;
}

static void test_selection(void) {
    const fp_kernel *kernels = fp_kernel_table();
    for (int g = 0; g < GPUS; g++) {
        fp_shape fsst = shape_with(100, 0, 12, 256);
        CHECK_EQ(gathered(&fsst, &gpus[g]), 8);
        CHECK_EQ(kernels[fp_staged_select(&fsst, &gpus[g], 1)].max_token, 8);
        fp_shape logs = shape_with(20, 80, 12, 256);
        CHECK_EQ(gathered(&logs, &gpus[g]), 16);
        fp_shape text = shape_with(95, 5, 12, 256);
        CHECK_EQ(gathered(&text, &gpus[g]), 8);
        /* Every batch size gets a kernel, and one that serves it where the table has one. */
        for (uint32_t batch = 32; batch <= 1024; batch += 32) {
            fp_shape shape = shape_with(95, 5, 12, batch);
            uint32_t chosen = fp_staged_select(&shape, &gpus[g], 1);
            CHECK(chosen < FP_STAGED_KERNELS && fp_staged_suits(chosen, &shape, &gpus[g]));
            int exists = 0;
            for (uint32_t i = 0; i < FP_STAGED_KERNELS; i++)
                exists |= fp_staged_kernel_at(i)->gathered_bytes == 8 &&
                          kernels[i].max_token == 16 && fp_shape_serves(&shape, &kernels[i]);
            CHECK_EQ(fp_shape_serves(&shape, &kernels[chosen]), exists);
        }
    }
    /* On Hopper dictionaries of 16-bit codes are read in whole cells even when tokens are short. */
    fp_shape wide = shape_with(95, 5, 16, 256);
    CHECK_EQ(gathered(&wide, &gpus[H100]), 16);
    CHECK_EQ(gathered(&wide, &gpus[A100]), 8);
}

/* What a kernel reads, and which dictionaries it can read. */
static void test_kernels(void) {
    fp_shape shorter = shape_with(100, 0, 12, 256), longer = shape_with(50, 50, 12, 256);
    for (uint32_t i = 0; i < FP_STAGED_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        uint32_t width = fp_staged_kernel_at(i)->gathered_bytes, planes = fp_staged_planes(i);
        CHECK(planes & FP_PLANE_NIBBLES);
        CHECK_EQ((planes & FP_PLANE_CELLS16) != 0, width == 16);
        CHECK_EQ((planes & FP_PLANE_LOW8) != 0, width == 8);
        CHECK_EQ((planes & FP_PLANE_HIGH8) != 0, width == 8 && kernel->max_token == 16);
        CHECK(fp_staged_suits(i, &shorter, &gpus[H100]));
        CHECK_EQ(fp_staged_suits(i, &longer, &gpus[H100]), kernel->max_token == 16);
        CHECK_EQ(fp_staged_shared(i, 4096) > kernel->static_shared, kernel->dynamic_shared);
        fastpair_gpu_info small = gpus[H100];
        small.shared_per_block = fp_staged_shared(i, shorter.slots);
        CHECK(fp_staged_suits(i, &shorter, &small));
        small.shared_per_block--;
        CHECK(!fp_staged_suits(i, &shorter, &small));
    }
}

int main(void) {
    test_registers();
    test_paper_rule();
    test_selection();
    test_kernels();
    return check_done();
}
