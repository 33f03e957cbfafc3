/* select.h - which kernel decodes a column, from its statistics and the device's limits. A pure function. */
#ifndef FP_GPU_SELECT_H
#define FP_GPU_SELECT_H

#include "resources.h"

/* What the choice depends on; all of it stands in chunk and dictionary headers. */
typedef struct fp_column_shape {
    uint64_t codes_by_length[16]; /* codes whose token has i + 1 bytes */
    uint32_t code_bits;           /* of the widest dictionary */
    uint32_t max_length;          /* of any token */
    uint32_t batch_codes;         /* codes per sidecar entry; 0 if chunks differ */
} fp_column_shape;

/* The paper's rule: whole 16-byte reads when more than 60 % of the codes have tokens longer than 8 bytes. */
int fp_paper_reads_whole_rows(const fp_column_shape *shape);

/* The kernel table's index for a column. `use_sidecar`: only kernels whose 32 * K codes are whole sidecar batches, so that output
 * positions need not be computed; if there is none, the nearest kernel. */
uint32_t fp_select_kernel(const fp_column_shape *shape, const fastpair_gpu_info *gpu, int use_sidecar);

#endif
