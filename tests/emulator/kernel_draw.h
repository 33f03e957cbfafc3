/* kernel_draw.h - random cases and layouts for tests of decode kernels, and going through all
 * kernels. Each test prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#ifndef FP_TESTS_KERNEL_DRAW_H
#define FP_TESTS_KERNEL_DRAW_H

#include "case_layout.h"
#include "check.h"

static uint64_t random_state;

static inline uint32_t draw(uint32_t bound) {
    return (uint32_t)(check_random(&random_state) % bound);
}

static inline void start_random(uint64_t seed) {
    const char *given = getenv("FASTPAIR_TEST_SEED");
    random_state = given ? strtoull(given, NULL, 0) : seed;
    printf("seed %llu\n", (unsigned long long)random_state);
}

/* A case that the kernel can decode. Assembled kernels want their own code width, in classes or, for
 * the longest tokens, ascending by length; of these, kernels that gather take any order. */
static inline void make_case(const emulated_variant *variant, kernel_case *c, uint32_t slots,
                             uint32_t count, uint32_t longest, case_lengths lengths) {
    if (variant->longest > 16)
        case_make_long(c, check_random(&random_state), variant->code_bits, count, longest, lengths,
                       FP_GPU_LONG_SHIFT(variant->code_bits, variant->longest),
                       variant->home == FP_GPU_FAR && draw(2));
    else if (variant->code_bits)
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
    layout.widened = !variant->code_bits && draw(2);
    layout.positions = (case_positions)draw(POSITIONS_WAYS);
    layout.batch_codes = draw_batch_codes(variant->codes_per_lane);
    layout.little_room = draw(2);
    layout.out_shift = draw(256);
    layout.out_access = EMULATOR_WRITE_ONCE;
    return layout;
}

static inline device_grid draw_grid(void) {
    device_grid grid = {};
    grid.spare_blocks = draw(2);
    grid.blocks = 1 + draw(6);
    grid.teams = 1 + draw(grid.blocks);
    return grid;
}

/* Puts a code in place of code `at` of a chunk. */
static inline void replace_code(case_chunk *made, uint32_t at, uint32_t code) {
    uint32_t bits = made->chunk.work.code_bits;
    for (uint32_t b = 0; b < bits; b++) {
        uint64_t bit = (uint64_t)at * bits + b;
        uint8_t *byte = &made->codes[bit / 8];
        *byte = (uint8_t)((*byte & ~(1 << bit % 8)) | (code >> b & 1) << bit % 8);
    }
}

/* The first code that a kernel must refuse. */
static inline uint32_t refused_from(const device_chunk *chunk) {
    return chunk->head ? chunk->head->slots : chunk->work.slots;
}

/* One chunk alone. */
static inline const char *run_one(const emulated_variant *variant, device_chunk *chunk) {
    device_grid grid = draw_grid();
    return device_run(variant, &chunk, 1, &grid);
}

/* Calls `check` for every kernel of the library, and of the benchmark's grid for a few, chosen by
 * the seed, or for all with FASTPAIR_TEST_FULL=1. `cases` says how much work a kernel is worth. */
static inline void check_variants(void (*check)(const emulated_variant *variant, uint32_t cases)) {
    const char *full = getenv("FASTPAIR_TEST_FULL");
    const emulated_variant *parts[] = {emulated_grid_split_low(), emulated_grid_split_high(),
                                       emulated_grid_whole(), emulated_grid_shared()};
    uint32_t carried = 0, others = 0;
    for (const emulated_variant *v = emulated_staged(); v->name; v++, carried++) check(v, 32);
    for (const emulated_variant *v = emulated_assembled(); v->name; v++, carried++) check(v, 24);
    for (const emulated_variant *part : parts) {
        uint32_t entries = 0;
        while (part[entries].name) entries++;
        for (uint32_t i = 0; i < entries; i++)
            if ((full && *full && *full != '0') || draw(entries) < 8) check(&part[i], 16), others++;
    }
    printf("%u kernels of the library, %u others\n", carried, others);
}

#endif
