/* plan_shapes.h - shapes for tests of plans, as trained dictionaries have them. */
#ifndef FP_TESTS_PLAN_SHAPES_H
#define FP_TESTS_PLAN_SHAPES_H

#include "gpu/plan.h"

/* fp_shape.batch_sizes of chunks with batches of one size. */
static inline uint32_t batch_size_bit(uint32_t batch_codes) { return 1u << (batch_codes / 32 - 1); }

/* A dictionary that fills its codes: so many slots have tokens longer than 4 and than 8 bytes.
 * Tokens have `mean` bytes, and no 256 codes decode to more than `largest` bytes. */
typedef struct class_shape {
    uint32_t bits, max_length, above_4, above_8, mean, largest;
} class_shape;

static inline fp_shape in_classes(const class_shape *of) {
    uint32_t slots = 1u << of->bits;
    fp_shape shape = {.codes_by_length = {0},
                      .code_bits = of->bits,
                      .max_length = of->max_length,
                      .batch_sizes = batch_size_bit(256),
                      .in_classes = 1,
                      .slots = slots,
                      .first_above_4 = slots - of->above_4,
                      .first_above_eights = {0, slots - of->above_8},
                      .decoded_bytes = 1000000ull * of->mean};
    for (uint32_t i = 2; i < 8; i++) shape.first_above_eights[i] = slots;
    /* Two lengths beside the mean, in different classes, so that there is no single one. */
    uint32_t apart = of->mean > 8 ? 3 : 1;
    shape.codes_by_length[fp_length_band(of->mean - apart)] = 500000;
    shape.codes_by_length[fp_length_band(of->mean + apart)] = 500000;
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) shape.largest_batch[k] = of->largest * k / 8;
    return shape;
}

/* A dictionary of up to 32 or 64 bytes that fills its codes, as many of each length, in classes for
 * tokens of up to 32 bytes alone. */
static inline fp_shape ascending(uint32_t bits, uint32_t max_length, uint32_t mean) {
    fp_shape shape =
        in_classes(&(class_shape){bits, max_length, 0, 0, mean, 256 * (mean + max_length) / 2});
    shape.in_classes = 0;
    shape.ascends = shape.in_long_classes = 1;
    shape.batch_sizes = batch_size_bit(128);
    shape.first_above_4 = shape.slots * 4 / max_length;
    for (uint32_t i = 0; i < 8; i++)
        shape.first_above_eights[i] =
            8 * i < max_length ? shape.slots * (8 * i) / max_length : shape.slots;
    return shape;
}

#endif
