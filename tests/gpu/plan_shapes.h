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
    fp_shape shape = {.code_bits = of->bits,
                      .max_length = of->max_length,
                      .batch_sizes = batch_size_bit(256),
                      .in_classes = 1,
                      .slots = slots,
                      .first_above_4 = slots - of->above_4,
                      .first_above_8 = slots - of->above_8};
    /* Two lengths beside the mean, so that there is no single one. */
    shape.codes_by_length[of->mean - 2] = shape.codes_by_length[of->mean] = 500000;
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) shape.largest_batch[k] = of->largest * k / 8;
    return shape;
}

#endif
