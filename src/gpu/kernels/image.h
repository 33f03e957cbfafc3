/* image.h - a dictionary as blocks of the assembled decoder copy it to shared memory. In: tokens and lengths
 * in code order, of length classes. Out: lengths by class, then tokens laid out as the kernel wants them.
 * Plain C, for the host. */
#ifndef FP_GPU_IMAGE_H
#define FP_GPU_IMAGE_H

#include "params.h"

#include <string.h>

/* Where a kernel has its tokens. */
typedef enum fp_gpu_home {
    FP_GPU_SPLIT, /* shared memory: first halves of all, second halves from the first token on that has one */
    FP_GPU_RARE, /* the same, for columns in which tokens with second halves are rare */
    FP_GPU_HOT,  /* the hot part as with SPLIT, the others in global memory */
    FP_GPU_FAR   /* global memory */
} fp_gpu_home;

/* An image's shape, all of it from the dictionary. */
typedef struct fp_gpu_image {
    fp_gpu_home home;
    uint32_t code_bits, longest; /* longest: the kernel's, 8 or 16 */
    uint32_t slots;              /* of the dictionary, up to the end of the last class */
    uint32_t near;               /* slots that are in the image */
    uint32_t split;              /* from here on, up to `near`, tokens have second halves */
    uint32_t bytes;              /* whole 16-byte units */
} fp_gpu_image;

/* Bytes of an image with `near` slots, of which those from `split` on have second halves. */
static inline uint32_t fp_gpu_image_size(uint32_t code_bits, uint32_t longest, uint32_t near,
                                         uint32_t split) {
    uint32_t tokens = longest / 2 * (near + near - split);
    return ((uint32_t)FP_GPU_CLASS_TABLE(code_bits) + tokens + 15) / 16 * 16;
}

/* Slots up to the end of the last class. */
static inline uint32_t fp_gpu_image_slots(uint32_t code_bits, uint32_t slots) {
    uint32_t group = 1u << FP_GPU_CLASS_SHIFT(code_bits);
    return (slots + group - 1) / group * group;
}

/* `lengths` of the dictionary's `slots` codes, of which `hot` are the hot part. */
static inline fp_gpu_image fp_gpu_image_shape(fp_gpu_home home, uint32_t code_bits,
                                              uint32_t longest, const uint8_t *lengths,
                                              uint32_t slots, uint32_t hot) {
    fp_gpu_image image = {home, code_bits, longest, 0, 0, 0, 0};
    image.slots = fp_gpu_image_slots(code_bits, slots);
    image.near = home == FP_GPU_FAR ? 0 : home == FP_GPU_HOT ? hot : image.slots;
    while (image.split < image.near && image.split < slots && lengths[image.split] <= longest / 2)
        image.split++;
    image.bytes = fp_gpu_image_size(code_bits, longest, image.near, image.split);
    return image;
}

/* `half` bytes, 4 or 8, of each of so many rows. */
static inline void fp_gpu_image_halves(const uint8_t *rows, uint32_t row_bytes, uint32_t half,
                                       uint32_t count, uint8_t *to) {
    if (half == 4)
        for (uint32_t i = 0; i < count; i++) memcpy(to + 4 * i, rows + (uint64_t)row_bytes * i, 4);
    else
        for (uint32_t i = 0; i < count; i++) memcpy(to + 8 * i, rows + (uint64_t)row_bytes * i, 8);
}

/* Fills shape->bytes bytes. There are `slots` rows of row_bytes, 8 or 16, zero-padded; 8 only if no token is longer. */
static inline void fp_gpu_image_write(const fp_gpu_image *shape, const uint8_t *rows,
                                      uint32_t row_bytes, const uint8_t *lengths, uint32_t slots,
                                      uint8_t *image) {
    uint32_t shift = FP_GPU_CLASS_SHIFT(shape->code_bits), half = shape->longest / 2;
    uint8_t *tokens = image + FP_GPU_CLASS_TABLE(shape->code_bits);
    memset(image, 0, shape->bytes);
    for (uint32_t i = 0; i << shift < 1u << shape->code_bits; i++) {
        uint32_t nibble = i << shift < slots ? lengths[i << shift] - 1u : FP_GPU_NO_CLASS;
        image[i / 2] |= (uint8_t)(nibble << i % 2 * 4);
    }
    uint32_t count = shape->near < slots ? shape->near : slots, split = shape->split;
    fp_gpu_image_halves(rows, row_bytes, half, count, tokens);
    if (split < count)
        fp_gpu_image_halves(rows + (uint64_t)row_bytes * split + half, row_bytes, half,
                            count - split, tokens + half * shape->near);
}

#endif
