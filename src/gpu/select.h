/* select.h - which kernel decodes a column, from its statistics and the device's limits. Pure functions. */
#ifndef FP_GPU_SELECT_H
#define FP_GPU_SELECT_H

#include "resources.h"

/* The most codes a lane may have in any kernel. */
#define FP_MOST_LANE_CODES 32u

/* What the choice depends on; all of it stands in chunk and dictionary headers and in sidecars. */
typedef struct fp_column_shape {
    uint64_t codes_by_length[16]; /* codes whose token has i + 1 bytes */
    uint32_t code_bits;
    uint32_t max_length;  /* of any token */
    uint32_t batch_codes; /* codes per sidecar entry; 0 if chunks differ */
    /* For assembled kernels; a dictionary whose codes are not in length classes has in_classes 0. */
    int in_classes;
    uint32_t slots, hot_slots;
    uint32_t above_4, above_8; /* slots from the first on whose token is longer than that... */
    uint32_t hot_above_4, hot_above_8; /* ...and in the hot part alone */
    /* The most bytes that 32 * K codes of a batch decode to, by K; 0 for K that no assembled kernel has. */
    uint32_t largest_batch[FP_MOST_LANE_CODES + 1];
} fp_column_shape;

/* The paper's rule: whole 16-byte reads when more than 60 % of the codes have tokens longer than 8 bytes. */
int fp_paper_reads_whole_rows(const fp_column_shape *shape);

/* Mean bytes of a token, in hundredths. */
uint32_t fp_mean_token(const fp_column_shape *shape);

/* How an assembled kernel would run a column: blocks as large as shared memory allows. */
typedef struct fp_assembled_plan {
    uint32_t image_bytes; /* of the dictionary in shared memory */
    uint32_t staging;     /* bytes of a warp's output buffer */
    uint32_t warps;       /* of a block; 0: the kernel cannot decode this column on this device */
} fp_assembled_plan;
/* The warps of a block, for a dictionary and a batch of these sizes; 0: not even one fits. `shared` gets the bytes of such a
 * block. */
uint32_t fp_assembled_warps(const fp_kernel *kernel, const fastpair_gpu_info *gpu,
                            uint32_t image_bytes, uint32_t staging, uint32_t *shared);
fp_assembled_plan fp_plan_assembled(const fp_kernel *kernel, const fp_column_shape *shape,
                                    const fastpair_gpu_info *gpu);

/* The kernel table's index for a column: an assembled kernel where one suits, else a staged one. `use_sidecar`: kernels whose 32 * K
 * codes are whole sidecar batches come first, so that output positions need not be computed. */
uint32_t fp_select_kernel(const fp_column_shape *shape, const fastpair_gpu_info *gpu,
                          int use_sidecar);

/* The staged kernel that fp_select_kernel would fall back to. */
uint32_t fp_select_staged(const fp_column_shape *shape, const fastpair_gpu_info *gpu,
                          int use_sidecar);

#endif
