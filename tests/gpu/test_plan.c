/* test_plan.c - the plan for a dictionary's chunks: which kernel, how many warps, how much shared
 * memory, what of the dictionary is needed. Shapes are made up, so that every rule is met on both
 * of its sides. */
#include "check.h"
#include "gpu/staged.h"
#include "gpus.h"
#include "plan_shapes.h"

static const fp_plan_request any = {FP_KERNELS, 0}, any_without_sidecar = {FP_KERNELS, 1};

static fp_plan plan_on(int gpu, const fp_shape *shape) {
    return fp_plan_make(shape, &gpus[gpu], &any);
}

static const fp_kernel *kernel_of(const fp_plan *plan) { return &fp_kernel_table()[plan->kernel]; }

static const fp_kernel *choose(int gpu, const fp_shape *shape) {
    fp_plan plan = plan_on(gpu, shape);
    CHECK(plan.kernel < FP_KERNELS && plan.warps);
    return kernel_of(&plan);
}

static int is_assembled(const fp_kernel *kernel) {
    return !fp_kernel_is_staged((uint32_t)(kernel - fp_kernel_table()));
}

/* An assembled kernel for this code width, that has its tokens there. */
static int is_for(const fp_kernel *kernel, const fp_shape *shape, fp_gpu_home home) {
    return is_assembled(kernel) && kernel->code_bits == shape->code_bits && kernel->home == home &&
           kernel->max_token >= shape->max_length;
}

/* ---------------------------------------------------------------- the choice */

static void test_token_lengths(void) {
    fp_shape text = in_classes(&(class_shape){12, 8, 2500, 0, 5, 1600});
    CHECK(is_for(choose(H100, &text), &text, FP_GPU_SPLIT));
    CHECK_EQ(choose(H100, &text)->max_token, 8);
    fp_shape logs = in_classes(&(class_shape){12, 16, 3600, 2800, 11, 3200});
    CHECK(is_for(choose(H100, &logs), &logs, FP_GPU_SPLIT));
    CHECK_EQ(choose(H100, &logs)->max_token, 16);
    /* Long tokens: wider stores. */
    CHECK_EQ(choose(H100, &logs)->store_bytes, 8);
    /* Short tokens and few long ones: the kernel that has long ones apart. */
    fp_shape words = in_classes(&(class_shape){12, 16, 2500, 400, 4, 1600});
    CHECK(is_for(choose(H100, &words), &words, FP_GPU_RARE));
    words.codes_by_length[fp_length_band(16)] = 100000;
    CHECK(is_for(choose(H100, &words), &words, FP_GPU_RARE));
    words.codes_by_length[fp_length_band(16)] = 300000;
    CHECK(is_for(choose(H100, &words), &words, FP_GPU_SPLIT));
    /* Few codes: tokens of up to 8 bytes in cells of as many. */
    for (uint32_t bits = 1; bits <= 8; bits++)
        for (uint32_t longest = 8; longest <= 16; longest += 8) {
            fp_shape few = in_classes(&(class_shape){bits, longest, 1u << bits, 0, 5, 1600});
            CHECK(is_for(choose(H100, &few), &few, FP_GPU_SPLIT));
            CHECK_EQ(choose(H100, &few)->max_token, longest);
        }
}

/* Nearly all tokens of one length: wider stores, also of short tokens. */
static void test_one_length(void) {
    fp_shape shape = in_classes(&(class_shape){12, 8, 3900, 0, 7, 2000});
    CHECK_EQ(choose(H100, &shape)->store_bytes, 8);
    memset(shape.codes_by_length, 0, sizeof shape.codes_by_length);
    shape.codes_by_length[3] = 96, shape.codes_by_length[1] = 4;
    shape.decoded_bytes = 400;
    CHECK_EQ(choose(H100, &shape)->store_bytes, 8);
    shape.codes_by_length[1] = 6;
    CHECK_EQ(choose(H100, &shape)->store_bytes, 4);
    /* Few codes are no reason to take any length for the only one. */
    shape.codes_by_length[3] = 12, shape.decoded_bytes = 60;
    CHECK_EQ(choose(H100, &shape)->store_bytes, 4);
}

/* Too large for shared memory: the hot part is there, or nothing. */
static void test_large_dictionaries(void) {
    for (uint32_t bits = 15; bits <= 16; bits++) {
        fp_shape large =
            in_classes(&(class_shape){bits, 16, 1u << (bits - 1), 1u << (bits - 2), 8, 2300});
        CHECK(is_for(choose(H100, &large), &large, FP_GPU_FAR));
        CHECK_EQ(plan_on(H100, &large).resident.near, 0);
        CHECK_EQ(plan_on(H100, &large).planes, FP_PLANE_CELLS16);
        large.hot_slots = 8192;
        large.first_above_4 = 8192 - 6000, large.first_above_eights[1] = 8192 - 4000;
        CHECK(is_for(choose(H100, &large), &large, FP_GPU_HOT));
        CHECK_EQ(plan_on(H100, &large).resident.near, 8192);
        CHECK_EQ(plan_on(H100, &large).resident.split, 8192 - 4000);
        CHECK_EQ(plan_on(H100, &large).planes, FP_PLANE_CELLS16);
        large.hot_slots = 30000; /* more than there is room for */
        large.first_above_4 = 30000 - 20000, large.first_above_eights[1] = 30000 - 15000;
        CHECK(is_for(choose(H100, &large), &large, FP_GPU_FAR));
    }
    /* A large hot part and large batches: seven warps are enough. */
    fp_shape rows = in_classes(&(class_shape){16, 16, 45000, 45000, 14, 4096});
    memset(rows.codes_by_length, 0, sizeof rows.codes_by_length);
    rows.codes_by_length[fp_length_band(16)] = 1000000;
    rows.batch_sizes = batch_size_bit(480);
    rows.hot_slots = 10240, rows.first_above_4 = rows.first_above_eights[1] = 0;
    CHECK(is_for(choose(H100, &rows), &rows, FP_GPU_HOT));
    CHECK_EQ(plan_on(H100, &rows).warps, 7);
}

/* Batches of the file that do not make up a kernel's leave the sidecar to a kernel of the paper's.
 * Where the sidecar is not used anyhow, the size of its batches does not matter. */
static void test_batch_sizes(void) {
    fp_shape shape = in_classes(&(class_shape){12, 16, 3600, 2800, 11, 3200});
    for (uint32_t batch = 32; batch <= 1024; batch += 32) {
        shape.batch_sizes = batch_size_bit(batch);
        const fp_kernel *kernel = choose(H100, &shape);
        int exists = 0;
        for (uint32_t i = FP_STAGED_KERNELS; i < FP_KERNELS; i++)
            exists |= is_for(&fp_kernel_table()[i], &shape, fp_kernel_table()[i].home) &&
                      fp_kernel_table()[i].max_token <= 16 &&
                      32 * fp_kernel_table()[i].codes_per_lane % batch == 0;
        CHECK_EQ(is_assembled(kernel), exists);
        CHECK(!exists || 32 * kernel->codes_per_lane % batch == 0);
        fp_plan without = fp_plan_make(&shape, &gpus[H100], &any_without_sidecar);
        CHECK(is_assembled(kernel_of(&without)));
        CHECK(without.planes & FP_PLANE_LENGTHS);
        CHECK(!(without.planes & FP_PLANE_NIBBLES));
        /* The paper's kernels have lengths of tokens in nibbles. */
        fp_plan with = plan_on(H100, &shape);
        CHECK_EQ((with.planes & FP_PLANE_NIBBLES) != 0, !exists);
        CHECK_EQ((with.planes & FP_PLANE_LENGTHS) != 0, !fp_shape_serves(&shape, kernel));
    }
    shape.batch_sizes = batch_size_bit(256) | batch_size_bit(480);
    CHECK(!is_assembled(choose(H100, &shape))); /* no kernel has whole batches of both */
    shape.batch_sizes = batch_size_bit(256) | batch_size_bit(128);
    CHECK(is_assembled(choose(H100, &shape)));
}

/* Where no assembled kernel suits, the paper's choice is taken. */
static void test_fallback(void) {
    fp_shape other = in_classes(&(class_shape){12, 8, 2500, 0, 5, 1600});
    other.in_classes = 0;
    fp_plan plan = plan_on(H100, &other);
    CHECK_EQ(plan.kernel, fp_staged_select(&other, &gpus[H100], 1));
    CHECK_EQ(plan.planes, fp_staged_planes(plan.kernel));
    CHECK_EQ(plan.warps, kernel_of(&plan)->threads / 32);
    CHECK(plan.resident.bytes == 0 && plan.staging == 0);
    fp_shape large = in_classes(&(class_shape){13, 16, 6000, 5000, 9, 2600});
    CHECK(is_for(choose(H100, &large), &large, FP_GPU_SPLIT));
    CHECK(!is_assembled(choose(L40S, &large)));
    /* Chunks too small for one of the kernel's batches, and chunks with nothing in them. */
    fp_shape shape = in_classes(&(class_shape){12, 8, 2500, 0, 5, 1600});
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) shape.largest_batch[k] = 1;
    CHECK(is_for(choose(H100, &shape), &shape, FP_GPU_SPLIT));
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) shape.largest_batch[k] = 0;
    CHECK(!is_assembled(choose(H100, &shape)));
}

/* ---------------------------------------------------------------- longer tokens */

static int is_long(const fp_shape *shape, const fastpair_gpu_info *gpu, uint32_t max_token,
                   fp_gpu_home home) {
    fp_plan plan = fp_plan_make(shape, gpu, &any);
    const fp_kernel *kernel = kernel_of(&plan);
    CHECK_EQ(plan.planes & ~(uint32_t)FP_PLANE_LENGTHS, home == FP_GPU_FAR ? FP_PLANE_PIECES : 0);
    CHECK_EQ((plan.planes & FP_PLANE_LENGTHS) != 0, !fp_shape_serves(shape, kernel));
    CHECK_EQ(plan.resident.bytes != 0, home != FP_GPU_FAR);
    int right = plan.warps && kernel->max_token == max_token && is_for(kernel, shape, home);
    if (!right) fprintf(stderr, "  %u bits: %s\n", shape->code_bits, kernel->name);
    return right;
}

/* Which kernel by width and length, with all the shared memory there is and with less. */
static void test_long_tokens(void) {
    fastpair_gpu_info small = gpus[L40S];
    small.shared_per_block = 48 << 10;
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (uint32_t longest = 17; longest <= 64; longest++) {
            fp_shape shape = ascending(bits, longest, longest / 2);
            int quarters = longest <= 32 && bits >= 9;
            fp_gpu_home home = bits > 12 ? FP_GPU_FAR : quarters ? FP_GPU_SPLIT : FP_GPU_PIECES;
            uint32_t max_token = home == FP_GPU_SPLIT ? 32 : 64;
            if (bits < 12 || longest < 40) CHECK(is_long(&shape, &gpus[H100], max_token, home));
            /* The lengths of 4096 codes and their tokens take more than there is. */
            if (bits >= 12) CHECK(is_long(&shape, &small, 64, FP_GPU_FAR));
            if (bits >= 12 && longest >= 32) CHECK(is_long(&shape, &gpus[L40S], 64, FP_GPU_FAR));
            if (bits <= 6 && longest < 40) CHECK(is_long(&shape, &small, 64, FP_GPU_PIECES));
            /* Classes that are too small: pieces. */
            shape.in_long_classes = 0;
            if (bits < 12 || longest < 40)
                CHECK(is_long(&shape, &gpus[H100], 64, bits > 12 ? FP_GPU_FAR : FP_GPU_PIECES));
            /* No order: only pieces in global memory. */
            shape.ascends = 0;
            CHECK(is_long(&shape, &gpus[H100], 64, FP_GPU_FAR));
            CHECK(is_long(&shape, &small, 64, FP_GPU_FAR));
            /* Batches that do not suit: there is no other decoder to take. */
            shape.batch_sizes = batch_size_bit(96);
            CHECK(is_long(&shape, &gpus[H100], 64, FP_GPU_FAR));
        }
    /* Batches that make no kernel's whole: positions are computed. */
    fp_shape odd = ascending(12, 32, 14);
    odd.batch_sizes = batch_size_bit(96) | batch_size_bit(160);
    CHECK(is_long(&odd, &gpus[H100], 32, FP_GPU_SPLIT));
    CHECK(plan_on(H100, &odd).planes & FP_PLANE_LENGTHS);
    /* Narrow stores where most tokens are short. */
    fp_shape words = ascending(12, 32, 7), logs = ascending(12, 32, 14);
    CHECK(choose(H100, &words)->store_bytes == 4 && choose(H100, &logs)->store_bytes == 8);
}

/* Dictionaries that could have longer tokens and have none: without classes, kernels for longer
 * tokens serve; with classes, which up to 8 bits every order has, the usual ones. */
static void test_long_limit(void) {
    fp_shape shape = ascending(12, 16, 8);
    CHECK(is_for(choose(H100, &shape), &shape, FP_GPU_SPLIT));
    CHECK_EQ(choose(H100, &shape)->max_token, 32);
    shape.in_classes = 1;
    CHECK_EQ(choose(H100, &shape)->max_token, 16);
    shape.in_classes = shape.ascends = shape.in_long_classes = 0;
    CHECK(!is_assembled(choose(H100, &shape)));
    fp_shape few = ascending(6, 16, 8);
    CHECK_EQ(choose(H100, &few)->max_token, 64);
    few.in_classes = 1;
    CHECK_EQ(choose(H100, &few)->max_token, 16);
}

/* Buffers of pieces: what most batches have, never more than a round, never less than it needs. */
static void test_rounds(void) {
    for (uint32_t mean = 1; mean <= 64; mean++) {
        fp_shape shape = ascending(12, 64, 40);
        memset(shape.codes_by_length, 0, sizeof shape.codes_by_length);
        shape.codes_by_length[fp_length_band(mean)] = 1000000;
        shape.decoded_bytes = 1000000ull * mean;
        shape.ascends = shape.in_long_classes = 0;
        uint32_t staging = plan_on(H100, &shape).staging, most = FP_GPU_LISTED * FP_GPU_PIECE;
        CHECK(staging >= FP_GPU_STAGING(FP_GPU_LEAST_ROOM) && staging <= FP_GPU_STAGING(most));
        CHECK(staging >= FP_GPU_STAGING(256 * mean < most ? 256 * mean : most));
    }
    /* Buffers of quarters: the largest batch, or what is more than enough for most. */
    for (uint32_t mean = 1; mean <= 20; mean++) {
        fp_shape shape = ascending(12, 32, mean > 3 ? mean : 4);
        shape.decoded_bytes = 1000000ull * mean;
        fp_plan plan = plan_on(H100, &shape);
        uint32_t codes = 32 * kernel_of(&plan)->codes_per_lane,
                 largest = shape.largest_batch[codes / 32];
        CHECK_EQ(kernel_of(&plan)->max_token, 32);
        CHECK_EQ(plan.staging,
                 FP_GPU_STAGING(largest < 2 * codes * mean             ? largest
                                : 2 * codes * mean < FP_GPU_LEAST_ROOM ? FP_GPU_LEAST_ROOM
                                                                       : 2 * codes * mean));
    }
    /* Chunks of a dictionary that nothing uses. */
    fp_shape none = ascending(12, 64, 40);
    memset(none.codes_by_length, 0, sizeof none.codes_by_length);
    none.decoded_bytes = none.batch_sizes = none.ascends = none.in_long_classes = 0;
    CHECK_EQ(plan_on(H100, &none).staging, FP_GPU_STAGING(FP_GPU_LEAST_ROOM));
}

/* ---------------------------------------------------------------- kernels asked for by name */

/* Every plan fits the device; a kernel that cannot decode the chunks gets no warps. */
static void check_named(const fp_shape *shape, const fastpair_gpu_info *gpu, uint32_t number) {
    fp_plan_request request = {number, 0};
    fp_plan plan = fp_plan_make(shape, gpu, &request);
    const fp_kernel *kernel = &fp_kernel_table()[number];
    CHECK_EQ(plan.kernel, number);
    CHECK(plan.warps <= kernel->threads / 32);
    if (kernel->max_token < shape->max_length) CHECK_EQ(plan.warps, 0);
    if (fp_kernel_is_staged(number)) return;
    if (kernel->code_bits != shape->code_bits) CHECK_EQ(plan.warps, 0);
    if (kernel->home == FP_GPU_HOT && !shape->hot_slots) CHECK_EQ(plan.warps, 0);
    if (!plan.warps) return;
    uint32_t warp = FP_GPU_WARP_SHARED(kernel->codes_per_lane, kernel->code_bits, kernel->max_token,
                                       plan.staging);
    uint32_t shared = FP_GPU_BLOCK_SHARED(plan.resident.bytes, plan.warps, warp);
    CHECK(shared <= gpu->shared_per_block);
    if (kernel->max_token <= 16)
        CHECK(plan.staging >= shape->largest_batch[kernel->codes_per_lane] + FP_GPU_LINE - 1);
    fp_block block = fp_plan_block(kernel, gpu, plan.resident.bytes, plan.staging);
    CHECK(block.warps == plan.warps && block.shared == shared);
    CHECK(block.resident >= gpu->multiprocessors && block.resident % gpu->multiprocessors == 0);
    CHECK(plan.warps == kernel->threads / 32 || shared + warp > gpu->shared_per_block);
}

static void test_devices(void) {
    static const int devices[] = {H100, A100, L40S}; /* 227, 163 and 99 KiB */
    uint32_t chosen[3] = {0}, most_warps[3] = {0};
    for (int g = 0; g < 3; g++)
        for (uint32_t bits = 9; bits <= 16; bits++)
            for (uint32_t longest = 8; longest <= 16; longest += 8) {
                uint32_t slots = 1u << bits, above_8 = longest == 16 ? slots / 3 : 0;
                fp_shape shape =
                    in_classes(&(class_shape){bits, longest, slots / 2, above_8, 7, 2100});
                fp_shape longer = ascending(bits, 4 * longest, 2 * longest);
                for (uint32_t i = 0; i < FP_KERNELS; i++) {
                    check_named(&shape, &gpus[devices[g]], i);
                    check_named(&longer, &gpus[devices[g]], i);
                }
                fp_plan plan = plan_on(devices[g], &shape);
                if (!is_assembled(kernel_of(&plan))) continue;
                CHECK(plan.warps >= 8);
                chosen[g]++;
                if (bits == 12 && longest == 8) most_warps[g] = plan.warps;
            }
    /* Less shared memory, fewer warps and fewer columns for assembled kernels. */
    CHECK(chosen[0] >= chosen[1] && chosen[1] >= chosen[2] && chosen[2] > 0);
    CHECK(most_warps[0] >= most_warps[1] && most_warps[1] >= most_warps[2]);
}

/* A device on which not even one warp finds room, and one for which the model finds no block. */
static void test_small_devices(void) {
    const fp_kernel *kernel = &fp_kernel_table()[FP_STAGED_KERNELS];
    fastpair_gpu_info small = gpus[L40S];
    CHECK_EQ(fp_plan_block(kernel, &small, small.shared_per_block, 1600).warps, 0);
    small.shared_reserved_per_block = 200 << 10;
    fp_block block = fp_plan_block(kernel, &small, 4096, 1600);
    CHECK(block.warps > 0);
    CHECK_EQ(block.resident, small.multiprocessors); /* one block must run all the same */
}

static void test_table(void) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        CHECK_EQ(fp_kernel_find(kernel->name), i);
        CHECK(strcmp(fastpair_gpu_kernel_name(i), kernel->name) == 0);
        CHECK(kernel->static_shared <= 48 << 10);
        CHECK_EQ(fp_kernel_is_staged(i), kernel->code_bits == 0);
        CHECK(fp_kernel_is_staged(i) || (kernel->dynamic_shared && !kernel->static_shared));
        CHECK(kernel->codes_per_lane <= FP_MOST_LANE_CODES);
    }
    CHECK_EQ(fp_kernel_find("no such kernel"), FP_KERNELS);
    CHECK(fastpair_gpu_kernel_name(FP_KERNELS) == NULL);
}

int main(void) {
    test_token_lengths();
    test_one_length();
    test_large_dictionaries();
    test_batch_sizes();
    test_fallback();
    test_long_tokens();
    test_long_limit();
    test_rounds();
    test_devices();
    test_small_devices();
    test_table();
    return check_done();
}
