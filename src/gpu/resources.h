/* resources.h - the resource model of the paper, section 3.3: what limits the blocks a multiprocessor holds at once. */
#ifndef FP_GPU_RESOURCES_H
#define FP_GPU_RESOURCES_H

#include "fastpair_gpu.h"
#include "kernel_table.h"

/* What one block asks for. */
typedef struct fp_block_needs {
    uint32_t threads;
    uint32_t registers; /* per thread */
    uint32_t shared;    /* bytes, static and dynamic */
} fp_block_needs;

/* Resident blocks: the least of what shared memory, registers and warp slots allow, with the hardware's rounding: registers are
 * given to warps in units of 256, from four equal parts of the file, shared memory in units of 128 bytes. */
uint32_t fp_resident_blocks(const fastpair_gpu_info *gpu, const fp_block_needs *needs);

/* The paper's estimate of the registers a staged kernel wants: K (3 + W/4) + H (L - W)/4 + overhead, L = 16. */
#define FP_STAGED_OVERHEAD_REGISTERS 20u
uint32_t fp_staged_registers(uint32_t codes_per_lane, uint32_t low_bytes, uint32_t hoisted);

/* The most registers a thread may have so that `blocks` blocks of `threads` threads fit the register file. */
uint32_t fp_register_limit(uint32_t threads, uint32_t blocks);

#endif
