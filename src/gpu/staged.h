/* staged.h - the host side of the paper's decoder, whose kernels are in kernels/staged: which of
 * its kernels decodes a dictionary's chunks. plan.c falls back to it; staged_launch.c queues it. */
#ifndef FP_GPU_STAGED_H
#define FP_GPU_STAGED_H

#include "plan.h"

/* What the paper's kernels have beside the fields of fp_kernel. */
typedef struct fp_staged_kernel {
    /* W: 8 splits a 16-byte dictionary into planes, 16 reads whole cells. */
    uint32_t gathered_bytes;
    /* H: rounds of queued reads that are under way while the emit runs. */
    uint32_t hoisted;
} fp_staged_kernel;

/* Of kernel i of the kernel table, which is below FP_STAGED_KERNELS. */
const fp_staged_kernel *fp_staged_kernel_at(uint32_t i);

/* Shared memory of a block, static and dynamic, for a dictionary of `slots` tokens. */
uint32_t fp_staged_shared(uint32_t kernel, uint32_t slots);

/* The paper's estimate of the registers that a kernel wants, for tokens of up to L = 16 bytes:
 * K (3 + W/4) + H (L - W)/4 + overhead. */
uint32_t fp_staged_registers(uint32_t codes_per_lane, uint32_t gathered_bytes, uint32_t hoisted);

/* The paper's rule: whole 16-byte reads when more than 60 % of the codes have tokens longer than 8
 * bytes. */
int fp_paper_reads_whole_cells(const fp_shape *shape);

/* Which of the paper's kernels decodes a dictionary's chunks best. `use_sidecar`: kernels whose
 * batches are whole batches of the file come first, so that positions need not be computed. */
uint32_t fp_staged_select(const fp_shape *shape, const fastpair_gpu_info *gpu, int use_sidecar);

/* Whether the kernel can decode the dictionary on this device. */
int fp_staged_suits(uint32_t kernel, const fp_shape *shape, const fastpair_gpu_info *gpu);

/* FP_PLANE_ bits: what the kernel reads of a dictionary. */
uint32_t fp_staged_planes(uint32_t kernel);

#endif
