/* resident.h - the resident dictionary: what blocks of the assembled decoder copy to shared memory.
 * In: tokens and lengths in code order, in length classes. Out: lengths by class, then tokens laid
 * out as the kernel wants them. Plain C, for the host. */
#ifndef FP_GPU_RESIDENT_H
#define FP_GPU_RESIDENT_H

#include "params.h"

#include <string.h>

/* Where a kernel has its tokens. */
typedef enum fp_gpu_home {
    /* Shared memory: first halves of all tokens, second halves from the first token on that has
     * one. */
    FP_GPU_SPLIT,
    /* The same, for columns in which tokens with second halves are rare. */
    FP_GPU_RARE,
    /* The hot part as with SPLIT, the other tokens in global memory. */
    FP_GPU_HOT,
    /* Global memory. */
    FP_GPU_FAR
} fp_gpu_home;

/* The shape of a resident dictionary. */
typedef struct fp_resident {
    fp_gpu_home home;
    /* longest: the kernel's longest token, 8 or 16. */
    uint32_t code_bits, longest;
    /* Slots of the dictionary, up to the end of the last length class. */
    uint32_t slots;
    /* Slots that are resident; from `split` on, up to `near`, tokens have second halves. */
    uint32_t near, split;
    /* Whole 16-byte units. */
    uint32_t bytes;
} fp_resident;

/* Slots up to the end of the last length class. */
static inline uint32_t fp_resident_slots(uint32_t code_bits, uint32_t slots) {
    uint32_t class_codes = 1u << FP_GPU_CLASS_SHIFT(code_bits);
    return (slots + class_codes - 1) / class_codes * class_codes;
}

/* The shape for a dictionary of `slots` tokens, of which `hot` are the hot part. `first_long` is
 * the first slot, of those that are resident, whose token is longer than longest / 2. */
static inline fp_resident fp_resident_shape(fp_gpu_home home, uint32_t code_bits, uint32_t longest,
                                            uint32_t slots, uint32_t hot, uint32_t first_long) {
    fp_resident shape = {home, code_bits, longest, 0, 0, 0, 0};
    shape.slots = fp_resident_slots(code_bits, slots);
    shape.near = home == FP_GPU_FAR ? 0 : home == FP_GPU_HOT ? hot : shape.slots;
    shape.split = first_long < shape.near ? first_long : shape.near;
    uint32_t tokens = longest / 2 * (2 * shape.near - shape.split);
    shape.bytes = ((uint32_t)FP_GPU_CLASS_TABLE(code_bits) + tokens + 15) / 16 * 16;
    return shape;
}

/* `half` bytes, 4 or 8, of each of `count` cells. */
static inline void fp_resident_halves(const uint8_t (*cells)[16], uint32_t first, uint32_t half,
                                      uint32_t count, uint8_t *to) {
    if (half == 4)
        for (uint32_t i = 0; i < count; i++) memcpy(to + 4 * i, cells[i] + first, 4);
    else
        for (uint32_t i = 0; i < count; i++) memcpy(to + 8 * i, cells[i] + first, 8);
}

/* Fills shape->bytes bytes. Cell c is the token of code c, zero-padded; lengths[c] is its
 * length. */
static inline void fp_resident_write(const fp_resident *shape, const uint8_t (*cells)[16],
                                     const uint8_t *lengths, uint32_t slots, uint8_t *resident) {
    uint32_t shift = FP_GPU_CLASS_SHIFT(shape->code_bits), half = shape->longest / 2;
    uint8_t *tokens = resident + FP_GPU_CLASS_TABLE(shape->code_bits);
    memset(resident, 0, shape->bytes);
    for (uint32_t i = 0; i << shift < 1u << shape->code_bits; i++) {
        uint32_t nibble = i << shift < slots ? lengths[i << shift] - 1u : FP_GPU_NO_CLASS;
        resident[i / 2] |= (uint8_t)(nibble << i % 2 * 4);
    }
    uint32_t count = shape->near < slots ? shape->near : slots, split = shape->split;
    fp_resident_halves(cells, 0, half, count, tokens);
    if (split < count)
        fp_resident_halves(cells + split, half, half, count - split, tokens + half * shape->near);
}

#endif
