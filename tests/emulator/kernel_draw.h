/* kernel_draw.h - random cases for kernels, and running a check on all of them: every kernel that
 * the library carries; of the benchmark's grid a few, chosen by the seed, or with
 * FASTPAIR_TEST_FULL=1 all. FASTPAIR_TEST_SEED repeats a run. */
#ifndef FP_TESTS_KERNEL_DRAW_H
#define FP_TESTS_KERNEL_DRAW_H

#include "check.h"
#include "kernel_case.h"

static uint64_t random_state;

static inline uint32_t draw(uint32_t bound) {
    return (uint32_t)(check_random(&random_state) % bound);
}

/* A case that a kernel can decode: of its own code width and in classes, if it works on groups. */
static inline void make_case(const emulated_variant *variant, kernel_case *c, uint32_t slots,
                             uint32_t count, uint32_t longest, case_lengths lengths) {
    if (variant->code_bits)
        case_make_classes(c, check_random(&random_state), variant->code_bits, count, longest,
                          lengths, variant->home == FP_GPU_HOT || draw(4) == 0);
    else
        case_make(c, check_random(&random_state), slots, count, longest, lengths);
}

/* A batch size of the file that suits a kernel: 32 * K is a multiple of it. */
static inline uint32_t draw_batch_codes(uint32_t codes_per_lane) {
    for (;;) {
        uint32_t rounds = 1 + draw(codes_per_lane);
        if (codes_per_lane % rounds == 0 && rounds <= 32) return 32 * rounds;
    }
}

static inline case_layout draw_layout(const emulated_variant *variant) {
    case_layout layout = {};
    layout.seed = check_random(&random_state);
    layout.widened = !variant->code_bits && draw(2);
    layout.positions = (case_positions)draw(POSITIONS_WAYS);
    layout.batch_codes = draw_batch_codes(variant->codes_per_lane);
    if (layout.positions != POSITIONS_SIDECAR && draw(2)) layout.batch_codes = 1024;
    layout.out_shift = draw(16);
    layout.spare_blocks = draw(2);
    layout.has_work = draw(3) > 0;
    return layout;
}

/* Prints the seed. */
static inline void draw_start(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 20240607;
    printf("seed %llu\n", (unsigned long long)random_state);
}

/* `cases` is how many random cases a kernel is worth. */
static inline void draw_kernels(void (*check)(const emulated_variant *variant, uint32_t cases)) {
    const char *full = getenv("FASTPAIR_TEST_FULL");
    uint32_t carried = 0, others = 0;
    for (const emulated_variant *v = emulated_carried(); v->name; v++, carried++) check(v, 32);
    for (const emulated_variant *v = emulated_assembled(); v->name; v++, carried++) check(v, 24);
    const emulated_variant *parts[] = {emulated_grid_split_low(), emulated_grid_split_high(),
                                       emulated_grid_whole(), emulated_grid_shared()};
    for (const emulated_variant *part : parts) {
        uint32_t entries = 0;
        while (part[entries].name) entries++;
        for (uint32_t i = 0; i < entries; i++)
            if ((full && *full && *full != '0') || draw(entries) < 8) check(&part[i], 16), others++;
    }
    printf("%u kernels of the library, %u others\n", carried, others);
}

#endif
