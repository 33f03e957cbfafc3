/* plan.h - how the chunks of a dictionary are decoded: which kernel, how many warps, how much
 * shared memory, what of the dictionary goes where. Computed once per dictionary. Pure
 * functions. */
#ifndef FP_GPU_PLAN_H
#define FP_GPU_PLAN_H

#include "resources.h"
#include "shape.h"

/* Parts of a dictionary in global memory that kernels read, besides the resident dictionary. */
enum {
    FP_PLANE_LOW8 = 1,     /* the first 8 bytes of each token */
    FP_PLANE_HIGH8 = 2,    /* bytes 8 to 15 */
    FP_PLANE_CELLS16 = 4,  /* all 16 bytes */
    FP_PLANE_NIBBLES = 8,  /* lengths less one, two per byte, the even code in the low nibble */
    FP_PLANE_LENGTHS = 16, /* lengths, a byte each */
    FP_PLANE_PIECES = 32   /* an entry per code, then pieces of 16 bytes */
};

typedef struct fp_plan {
    /* Index in the kernel table. */
    uint32_t kernel;
    /* FP_PLANE_ bits. */
    uint32_t planes;
    /* For assembled kernels; all zero for the paper's. */
    fp_resident resident;
    /* Bytes of a warp's output buffer. */
    uint32_t staging;
    /* Of a block; 0: the kernel cannot decode these chunks on this device. */
    uint32_t warps;
} fp_plan;

/* What the caller of a job asked for. */
typedef struct fp_plan_request {
    /* A kernel by its index; FP_KERNELS: choose. */
    uint32_t kernel;
    /* Positions are computed on the device, whatever the kernel. */
    int regenerate;
} fp_plan_request;

/* The plan for a dictionary's chunks. Where the request names a kernel that cannot decode them, the
 * plan has 0 warps. */
fp_plan fp_plan_make(const fp_shape *shape, const fastpair_gpu_info *gpu,
                     const fp_plan_request *request);

/* Blocks of an assembled kernel: as large as a dictionary and a largest batch allow. */
typedef struct fp_block {
    /* 0: not even one warp fits. */
    uint32_t warps;
    /* Bytes of shared memory. */
    uint32_t shared;
    /* Blocks that run at once on the whole device. */
    uint32_t resident;
} fp_block;

fp_block fp_plan_block(const fp_kernel *kernel, const fastpair_gpu_info *gpu,
                       uint32_t resident_bytes, uint32_t staging);

/* Blocks that do for either of two dictionaries: with each they use as many of their warps as it has room
 * for. A block of 0 warps stands for no dictionary. */
fp_block fp_plan_both(const fp_kernel *kernel, const fastpair_gpu_info *gpu, fp_block one,
                      fp_block other);

#endif
