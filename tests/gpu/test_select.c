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

static fp_column_shape shape_with(uint64_t shorter, uint64_t longer, uint32_t bits,
                                  uint32_t batch) {
    fp_column_shape shape = {
        .code_bits = bits, .max_length = longer ? 16 : 8, .batch_codes = batch};
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

/* ---------------------------------------------------------------- assembled kernels */

/* A trained dictionary that fills its codes: so many slots with tokens longer than 4 and 8 bytes, of `largest` bytes at most in
 * 256 codes. */
static fp_column_shape in_classes(uint32_t bits, uint32_t max_length, uint32_t above_4,
                                  uint32_t above_8, uint32_t mean, uint32_t largest) {
    fp_column_shape shape = {.code_bits = bits,
                             .max_length = max_length,
                             .batch_codes = 256,
                             .in_classes = 1,
                             .slots = 1u << bits,
                             .above_4 = above_4,
                             .above_8 = above_8};
    /* Two lengths beside the mean, so that there is no single one. */
    shape.codes_by_length[mean - 2] = shape.codes_by_length[mean] = 500000;
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) shape.largest_batch[k] = largest * k / 8;
    return shape;
}

static const fp_kernel *choose(const fp_column_shape *shape, const fastpair_gpu_info *gpu) {
    return &fp_kernel_table()[fp_select_kernel(shape, gpu, 1)];
}

/* An assembled kernel for this code width, that has its tokens there. */
static int is_assembled(const fp_kernel *kernel, const fp_column_shape *shape, fp_gpu_home home) {
    return fp_kernel_is_assembled(kernel) && kernel->code_bits == shape->code_bits &&
           kernel->home == home && kernel->max_token >= shape->max_length;
}

static void test_assembled_choice(void) {
    fp_column_shape text = in_classes(12, 8, 2500, 0, 5, 1600);
    CHECK(is_assembled(choose(&text, &h100), &text, FP_GPU_SPLIT));
    CHECK_EQ(choose(&text, &h100)->max_token, 8);
    fp_column_shape logs = in_classes(12, 16, 3600, 2800, 11, 3200);
    CHECK(is_assembled(choose(&logs, &h100), &logs, FP_GPU_SPLIT));
    CHECK_EQ(choose(&logs, &h100)->max_token, 16);
    /* Long tokens: wider stores. Short ones with few that are long: those apart. */
    CHECK_EQ(choose(&logs, &h100)->store_bytes, 8);
    fp_column_shape words = in_classes(12, 16, 2500, 400, 4, 1600);
    CHECK(is_assembled(choose(&words, &h100), &words, FP_GPU_RARE));
    words.codes_by_length[15] = 100000;
    CHECK(is_assembled(choose(&words, &h100), &words, FP_GPU_RARE));
    words.codes_by_length[15] = 300000;
    CHECK(is_assembled(choose(&words, &h100), &words, FP_GPU_SPLIT));
    /* Nearly all tokens of one length: wider stores, also of short ones. */
    fp_column_shape one_length = in_classes(12, 8, 3900, 0, 7, 2000);
    CHECK_EQ(choose(&one_length, &h100)->store_bytes, 8);
    memset(one_length.codes_by_length, 0, sizeof one_length.codes_by_length);
    one_length.codes_by_length[3] = 96, one_length.codes_by_length[1] = 4;
    CHECK_EQ(choose(&one_length, &h100)->store_bytes, 8);
    one_length.codes_by_length[1] = 6;
    CHECK_EQ(choose(&one_length, &h100)->store_bytes, 4);
    one_length.codes_by_length[3] =
        12; /* few codes are no reason to take any length for the only one */
    CHECK_EQ(choose(&one_length, &h100)->store_bytes, 4);
    /* Too large for shared memory: the hot part there, or nothing. */
    for (uint32_t bits = 15; bits <= 16; bits++) {
        fp_column_shape large = in_classes(bits, 16, 1u << (bits - 1), 1u << (bits - 2), 8, 2300);
        CHECK(is_assembled(choose(&large, &h100), &large, FP_GPU_FAR));
        large.hot_slots = 8192, large.hot_above_4 = 6000, large.hot_above_8 = 4000;
        CHECK(is_assembled(choose(&large, &h100), &large, FP_GPU_HOT));
        large.hot_slots = 30000, large.hot_above_4 = 20000,
        large.hot_above_8 = 15000; /* more than there is room for */
        CHECK(is_assembled(choose(&large, &h100), &large, FP_GPU_FAR));
    }
    /* A large hot part and large batches: seven warps are enough. */
    fp_column_shape rows = in_classes(16, 16, 45000, 45000, 14, 4096);
    memset(rows.codes_by_length, 0, sizeof rows.codes_by_length);
    rows.codes_by_length[15] = 1000000;
    rows.batch_codes = 480;
    rows.hot_slots = rows.hot_above_4 = rows.hot_above_8 = 10240;
    CHECK(is_assembled(choose(&rows, &h100), &rows, FP_GPU_HOT));
    CHECK_EQ(fp_plan_assembled(choose(&rows, &h100), &rows, &h100).warps, 7);
    /* Few codes: tokens of up to 8 bytes in rows of as many. */
    for (uint32_t bits = 1; bits <= 8; bits++)
        for (uint32_t longest = 8; longest <= 16; longest += 8) {
            fp_column_shape few = in_classes(bits, longest, 1u << bits, 0, 5, 1600);
            CHECK(is_assembled(choose(&few, &h100), &few, FP_GPU_SPLIT));
            CHECK_EQ(choose(&few, &h100)->max_token, longest);
        }
    /* Codes that are not in classes. */
    fp_column_shape other = in_classes(12, 8, 2500, 0, 5, 1600);
    other.in_classes = 0;
    CHECK(!fp_kernel_is_assembled(choose(&other, &h100)));
}

/* Batches of the file that do not make up a kernel's leave the sidecar to a staged kernel, or to none if it is not wanted. */
static void test_assembled_batches(void) {
    for (uint32_t batch = 32; batch <= 1024; batch += 32) {
        fp_column_shape shape = in_classes(12, 16, 3600, 2800, 11, 3200);
        shape.batch_codes = batch;
        const fp_kernel *kernel = choose(&shape, &h100);
        int exists = 0;
        for (uint32_t i = 0; i < FP_KERNELS; i++)
            exists |= is_assembled(&fp_kernel_table()[i], &shape, fp_kernel_table()[i].home) &&
                      32 * fp_kernel_table()[i].codes_per_lane % batch == 0;
        CHECK_EQ(fp_kernel_is_assembled(kernel), exists);
        CHECK(!exists || 32 * kernel->codes_per_lane % batch == 0);
        CHECK(fp_kernel_is_assembled(&fp_kernel_table()[fp_select_kernel(&shape, &h100, 0)]));
    }
    fp_column_shape differs = in_classes(12, 16, 3600, 2800, 11, 3200);
    differs.batch_codes = 0;
    CHECK(!fp_kernel_is_assembled(choose(&differs, &h100)));
}

/* Whatever is chosen fits the device, and what does not fit is not planned. */
static void test_assembled_devices(void) {
    const fastpair_gpu_info *gpus[] = {&h100, &a100, &l40s}; /* 227, 163 and 99 KiB */
    uint32_t chosen[3] = {0}, most_warps[3] = {0};
    for (int g = 0; g < 3; g++)
        for (uint32_t bits = 9; bits <= 16; bits++)
            for (uint32_t longest = 8; longest <= 16; longest += 8) {
                uint32_t slots = 1u << bits;
                fp_column_shape shape =
                    in_classes(bits, longest, slots / 2, longest == 16 ? slots / 3 : 0, 7, 2100);
                for (uint32_t i = 0; i < FP_KERNELS; i++) {
                    const fp_kernel *kernel = &fp_kernel_table()[i];
                    if (!fp_kernel_is_assembled(kernel)) continue;
                    fp_assembled_plan plan = fp_plan_assembled(kernel, &shape, gpus[g]);
                    uint32_t warp = plan.staging +
                                    FP_GPU_CODE_BUFFER(kernel->codes_per_lane, kernel->code_bits);
                    CHECK(plan.warps <= kernel->threads / 32);
                    CHECK(!plan.warps || FP_GPU_BLOCK_SHARED(plan.image_bytes, plan.warps, warp) <=
                                             gpus[g]->shared_per_block);
                    CHECK(plan.warps == 0 ||
                          plan.staging >=
                              shape.largest_batch[kernel->codes_per_lane] + FP_GPU_LINE - 1);
                    if (kernel->code_bits != bits || kernel->max_token < longest)
                        CHECK_EQ(plan.warps, 0);
                }
                const fp_kernel *kernel = choose(&shape, gpus[g]);
                if (!fp_kernel_is_assembled(kernel)) continue;
                fp_assembled_plan plan = fp_plan_assembled(kernel, &shape, gpus[g]);
                CHECK(plan.warps >= 8);
                chosen[g]++;
                if (bits == 12 && longest == 8) most_warps[g] = plan.warps;
            }
    /* Less shared memory, fewer warps and fewer columns for them. */
    CHECK(chosen[0] >= chosen[1] && chosen[1] >= chosen[2] && chosen[2] > 0);
    CHECK(most_warps[0] >= most_warps[1] && most_warps[1] >= most_warps[2]);
    fp_column_shape large = in_classes(13, 16, 6000, 5000, 9, 2600);
    CHECK(is_assembled(choose(&large, &h100), &large, FP_GPU_SPLIT));
    CHECK(!fp_kernel_is_assembled(choose(&large, &l40s)));
}

/* A column too small for a batch of the kernel's, and one with nothing in it. */
static void test_assembled_sizes(void) {
    fp_column_shape shape = in_classes(12, 8, 2500, 0, 5, 1600);
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) shape.largest_batch[k] = 1;
    CHECK(is_assembled(choose(&shape, &h100), &shape, FP_GPU_SPLIT));
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) shape.largest_batch[k] = 0;
    CHECK(!fp_kernel_is_assembled(choose(&shape, &h100)));
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
    test_assembled_choice();
    test_assembled_batches();
    test_assembled_devices();
    test_assembled_sizes();
    test_table();
    return check_done();
}
