/* resources.h - the resource model of the paper, section 3.3: what limits the blocks that a
 * multiprocessor holds at once. */
#ifndef FP_GPU_RESOURCES_H
#define FP_GPU_RESOURCES_H

#include "fastpair_gpu.h"

/* What one block asks for: registers per thread, and bytes of shared memory, static and dynamic. */
typedef struct fp_block_needs {
    uint32_t threads, registers, shared;
} fp_block_needs;

/* Resident blocks: the least of what shared memory, registers and warp slots allow, with the
 * hardware's rounding. Registers are given to warps in units of 256, from four equal parts of the
 * file; shared memory in units of 128 bytes. */
uint32_t fp_resident_blocks(const fastpair_gpu_info *gpu, const fp_block_needs *needs);

/* The most registers a thread may have so that `blocks` blocks of `threads` threads fit. */
uint32_t fp_register_limit(uint32_t threads, uint32_t blocks);

#endif
