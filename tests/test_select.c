/* test_select.c - the resource model and the choice of a kernel, both pure functions of numbers. */
#include "check.h"
#include "gpu/select.h"

/* The five GPUs of the paper, Table 1, and the one this project measures on. */
static const fastpair_gpu_info b300 = {.name = "B300",
                                       .compute_major = 10,
                                       .compute_minor = 3,
                                       .multiprocessors = 148,
                                       .warps_per_multiprocessor = 64,
                                       .registers_per_multiprocessor = 65536,
                                       .shared_per_multiprocessor = 228 << 10,
                                       .shared_per_block = 227 << 10,
                                       .shared_reserved_per_block = 1024};
static const fastpair_gpu_info h100 = {.name = "H100",
                                       .compute_major = 9,
                                       .multiprocessors = 132,
                                       .warps_per_multiprocessor = 64,
                                       .registers_per_multiprocessor = 65536,
                                       .shared_per_multiprocessor = 228 << 10,
                                       .shared_per_block = 227 << 10,
                                       .shared_reserved_per_block = 1024};
static const fastpair_gpu_info a100 = {.name = "A100",
                                       .compute_major = 8,
                                       .multiprocessors = 108,
                                       .warps_per_multiprocessor = 64,
                                       .registers_per_multiprocessor = 65536,
                                       .shared_per_multiprocessor = 164 << 10,
                                       .shared_per_block = 163 << 10,
                                       .shared_reserved_per_block = 1024};
static const fastpair_gpu_info l40s = {.name = "L40S",
                                       .compute_major = 8,
                                       .compute_minor = 9,
                                       .multiprocessors = 142,
                                       .warps_per_multiprocessor = 48,
                                       .registers_per_multiprocessor = 65536,
                                       .shared_per_multiprocessor = 100 << 10,
                                       .shared_per_block = 99 << 10,
                                       .shared_reserved_per_block = 1024};

static fp_column_shape shape_with(uint64_t shorter, uint64_t longer, uint32_t bits, uint32_t batch) {
    fp_column_shape shape = {.code_bits = bits, .max_length = longer ? 16 : 8, .batch_codes = batch};
    shape.codes_by_length[3] = shorter;
    shape.codes_by_length[11] = longer;
    return shape;
}

/* The paper's worked example: T = 256, B = 4, K = 6, W = 8: 64 registers, 31.25 KiB, four blocks on HBM GPUs, three on GDDR. */
static void test_paper_example(void) {
    CHECK_EQ(fp_register_limit(256, 4), 64);
    CHECK_EQ(fp_register_limit(256, 8), 32);
    uint32_t paper = fp_kernel_find("staged K6 W8 H1 T256 B4");
    CHECK(paper < FP_KERNELS);
    uint32_t shared = fp_kernel_table()[paper].static_shared;
    CHECK(shared > 30.0 * 1024 && shared < 31.5 * 1024);
    fp_block_needs needs = {256, 64, shared};
    CHECK_EQ(fp_resident_blocks(&b300, &needs), 4);
    CHECK_EQ(fp_resident_blocks(&h100, &needs), 4);
    CHECK_EQ(fp_resident_blocks(&a100, &needs), 4);
    CHECK_EQ(fp_resident_blocks(&l40s, &needs), 3);
    CHECK(fp_staged_registers(6, 8, 1) <= 64);
    CHECK(fp_staged_registers(6, 8, 1) > fp_staged_registers(5, 8, 1));
    CHECK_EQ(fp_staged_registers(6, 16, 0),
             fp_staged_registers(6, 16, 4)); /* W = L: hoisting has nothing to hold */
}

/* Each limit in turn is the one that binds. */
static void test_limits(void) {
    CHECK_EQ(fp_resident_blocks(&h100, &(fp_block_needs){1024, 32, 0}), 2);
    CHECK_EQ(fp_resident_blocks(&h100, &(fp_block_needs){1024, 64, 0}), 1);
    CHECK_EQ(fp_resident_blocks(&h100, &(fp_block_needs){1024, 65, 0}), 0);
    CHECK_EQ(fp_resident_blocks(&h100, &(fp_block_needs){64, 16, 0}), 32);
    CHECK_EQ(fp_resident_blocks(&l40s, &(fp_block_needs){64, 16, 0}), 24);
    CHECK_EQ(fp_resident_blocks(&h100, &(fp_block_needs){128, 32, 100 << 10}), 2);
    CHECK_EQ(fp_resident_blocks(&h100, &(fp_block_needs){128, 32, 227 << 10}), 1);
    CHECK_EQ(fp_resident_blocks(&h100, &(fp_block_needs){128, 32, 228 << 10}), 0);
}

static void test_paper_rule(void) {
    fp_column_shape shape = shape_with(40, 60, 12, 256);
    CHECK(!fp_paper_reads_whole_rows(&shape)); /* 60 % is not more than 60 % */
    shape = shape_with(39, 61, 12, 256);
    CHECK(fp_paper_reads_whole_rows(&shape));
    shape = shape_with(100, 0, 12, 256);
    CHECK(!fp_paper_reads_whole_rows(&shape));
}

static void test_selection(void) {
    const fp_kernel *kernels = fp_kernel_table();
    const fastpair_gpu_info *gpus[] = {&b300, &h100, &a100, &l40s};
    for (int g = 0; g < 4; g++) {
        fp_column_shape fsst = shape_with(100, 0, 12, 256);
        CHECK_EQ(kernels[fp_select_kernel(&fsst, gpus[g], 1)].low_bytes, 8);
        fp_column_shape logs = shape_with(20, 80, 12, 256);
        CHECK_EQ(kernels[fp_select_kernel(&logs, gpus[g], 1)].low_bytes, 16);
        fp_column_shape text = shape_with(95, 5, 12, 256);
        CHECK_EQ(kernels[fp_select_kernel(&text, gpus[g], 1)].low_bytes, 8);
        /* Every batch size gets a kernel, and one that fits it where the table has one. */
        for (uint32_t batch = 32; batch <= 1024; batch += 32) {
            fp_column_shape shape = shape_with(95, 5, 12, batch);
            uint32_t chosen = fp_select_kernel(&shape, gpus[g], 1);
            CHECK(chosen < FP_KERNELS);
            int exists = 0;
            for (uint32_t i = 0; i < FP_KERNELS; i++)
                exists |= kernels[i].low_bytes == 8 && kernels[i].max_token == 16 &&
                          32 * kernels[i].codes_per_lane % batch == 0;
            CHECK(!exists || 32 * kernels[chosen].codes_per_lane % batch == 0);
        }
    }
    /* On Hopper 16-bit dictionaries are read in whole rows even when tokens are short. */
    fp_column_shape wide = shape_with(95, 5, 16, 256);
    CHECK_EQ(kernels[fp_select_kernel(&wide, &h100, 1)].low_bytes, 16);
    CHECK_EQ(kernels[fp_select_kernel(&wide, &a100, 1)].low_bytes, 8);
}

static void test_table(void) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        CHECK_EQ(fp_kernel_find(kernel->name), i);
        CHECK(strcmp(fastpair_gpu_kernel_name(i), kernel->name) == 0);
        CHECK(kernel->static_shared <= 48 << 10);
        CHECK_EQ(fp_kernel_dynamic_shared(kernel, 4096) != 0, kernel->dictionary_shared);
    }
    CHECK_EQ(fp_kernel_find("no such kernel"), FP_KERNELS);
    CHECK(fastpair_gpu_kernel_name(FP_KERNELS) == NULL);
}

int main(void) {
    test_paper_example();
    test_limits();
    test_paper_rule();
    test_selection();
    test_table();
    return check_done();
}
