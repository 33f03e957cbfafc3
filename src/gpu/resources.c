/* resources.c - resident blocks from a block's needs. In: threads, registers, shared memory, and
 * the device's limits. Out: how many blocks fit. Pure arithmetic; a test compares it with what the
 * driver reports. */
#include "resources.h"

#define REGISTER_FILE       65536u
#define REGISTER_PARTS      4u   /* each scheduler has its own quarter of the file */
#define REGISTER_UNIT       256u /* registers are given to a warp in these units */
#define SHARED_UNIT         128u
#define MOST_REGISTERS      255u
#define MOST_BLOCKS_64_WARP 32u /* devices with 64 warp slots */
#define MOST_BLOCKS_48_WARP 24u

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t fp_resident_blocks(const fastpair_gpu_info *gpu, const fp_block_needs *needs) {
    uint32_t warps = (needs->threads + 31) / 32;
    uint32_t warp_registers =
        (needs->registers * 32 + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    uint32_t warps_by_registers =
        warp_registers
            ? gpu->registers_per_multiprocessor / REGISTER_PARTS / warp_registers * REGISTER_PARTS
            : gpu->warps_per_multiprocessor;
    uint32_t shared = (needs->shared + gpu->shared_reserved_per_block + SHARED_UNIT - 1) /
                      SHARED_UNIT * SHARED_UNIT;
    uint32_t most = gpu->warps_per_multiprocessor >= 64 ? MOST_BLOCKS_64_WARP : MOST_BLOCKS_48_WARP;
    uint32_t blocks = least(most, gpu->warps_per_multiprocessor / warps);
    blocks = least(blocks, warps_by_registers / warps);
    return shared ? least(blocks, gpu->shared_per_multiprocessor / shared) : blocks;
}

uint32_t fp_register_limit(uint32_t threads, uint32_t blocks) {
    return least(MOST_REGISTERS, REGISTER_FILE / (threads * blocks) / 8 * 8);
}
