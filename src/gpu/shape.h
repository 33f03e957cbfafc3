/* shape.h - what the chunks that share a dictionary are like, as far as a kernel cares. */
#ifndef FP_GPU_SHAPE_H
#define FP_GPU_SHAPE_H

#include "chunk.h"
#include "dict.h"
#include "kernel_table.h"

/* The most codes per lane of any kernel. */
#define FP_MOST_LANE_CODES 32u

/* A chunk in the host's memory: its header, and the first byte of its block; NULL if that is in
 * device memory alone. */
typedef struct fp_shape_chunk {
    const fp_chunk *chunk;
    const uint8_t *block;
} fp_shape_chunk;

/* All of it stands in headers of chunks and dictionaries and in sidecars. */
typedef struct fp_shape {
    /* Codes by the band of their token's length, fp_length_band. */
    uint64_t codes_by_length[FP_LENGTH_BANDS];
    uint64_t decoded_bytes;
    uint32_t code_bits;
    /* Of any token. */
    uint32_t max_length;
    uint32_t slots, hot_slots;
    /* Bit i is set if some chunk has batches of 32 * (i + 1) codes. */
    uint32_t batch_sizes;
    /* Codes are in length classes that kernels for tokens of up to 16 bytes can use. */
    int in_classes;
    /* Codes ascend by length, all of them. */
    int ascends;
    /* They do, and are in length classes that kernels for tokens of up to 32 bytes can use. */
    int in_long_classes;
    /* The first slot whose token is longer than 4 bytes, and than 8 * i bytes; `slots` if there is
     * none. Only if codes are in classes or ascend. */
    uint32_t first_above_4, first_above_eights[8];
    /* Upper bound on the decoded bytes of any aligned run of 32 * K codes, by K; 0 for K that no
     * assembled kernel that suits has. */
    uint32_t largest_batch[FP_MOST_LANE_CODES + 1];
} fp_shape;

/* The shape of a dictionary and chunks[listed[0 .. count)], which use it. `use_sidecar`: bounds may
 * come from sidecars; else from headers alone. */
fp_shape fp_shape_make(const fp_dict *dict, const fp_shape_chunk *chunks, const uint32_t *listed,
                       uint64_t count, int use_sidecar);

/* Whether an assembled kernel can decode such chunks, given enough shared memory. */
int fp_shape_suits(const fp_shape *shape, const fp_kernel *kernel);

/* Whether the kernel's batches are whole batches of every chunk. */
int fp_shape_serves(const fp_shape *shape, const fp_kernel *kernel);

/* All codes; the mean bytes of their tokens, in hundredths; codes with tokens of more than 8 bytes,
 * in hundredths of all. */
uint64_t fp_shape_codes(const fp_shape *shape);
uint32_t fp_shape_mean_token(const fp_shape *shape);
uint32_t fp_shape_long_share(const fp_shape *shape);

#endif
