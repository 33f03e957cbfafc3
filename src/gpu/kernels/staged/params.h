/* params.h - what the host tells the paper's decoder: the same bytes in C, in CUDA and in the
 * emulator. All of it is passed by value, one entry per chunk. */
#ifndef FP_STAGED_PARAMS_H
#define FP_STAGED_PARAMS_H

#include "../params.h"

/* A chunk and its dictionary: fifteen fields and padding. 88 bytes. */
typedef struct fp_staged_work {
    uint64_t codes;
    /* Address of the chunk's first byte in the output. */
    uint64_t out;
    /* Output positions, 4 bytes each, one per 2^position_shift entries; deltas, 2 bytes each, one
     * per entry, to be added (0: none). */
    uint64_t positions, deltas;
    /* Planes with W bytes per slot and with the other L - W, and lengths less one, two per byte. */
    uint64_t low, high, nibbles;
    /* Address of the column's status word, or 0. */
    uint64_t status;
    uint32_t code_count, decoded_bytes;
    uint32_t entries, slots;
    /* Width of a code in memory: that of the file, or 16 for codes that were widened, as the
     * paper's input is. */
    uint8_t code_bits;
    uint8_t position_shift, position_step;
    uint8_t reserved[5];
} fp_staged_work;

#define FP_STAGED_CHUNKS 368u

/* Blocks with blockIdx.y = c work on work[c]. */
typedef struct fp_staged_launch {
    /* For kernels with the dictionary in shared memory: how many slots fit there. */
    uint32_t shared_slots;
    uint32_t reserved;
    fp_staged_work work[FP_STAGED_CHUNKS];
} fp_staged_launch;

#define FP_STAGED_LAUNCH_BYTES(chunks)                                                             \
    (offsetof(fp_staged_launch, work) + (size_t)(chunks) * sizeof(fp_staged_work))

/* Shared memory that a block declares: for each warp a staging buffer for 32 * K tokens of L bytes,
 * moved up by at most 15, and with split reads 4 bytes per code of queue. */
#define FP_STAGED_STAGING(K, L)  (32 * (K) * (L) + 16)
#define FP_STAGED_QUEUE(K, W, L) ((W) < (L) ? 32 * (K)*4 : 0)
#define FP_STAGED_SHARED(K, W, L, T)                                                               \
    ((T) / 32 * (FP_STAGED_STAGING(K, L) + FP_STAGED_QUEUE(K, W, L)))
/* Dynamic shared memory of a kernel that copies the dictionary there: tokens of up to `longest`
 * bytes, 8 or 16, and their lengths. */
#define FP_STAGED_DICT(slots, longest) (((slots) * (longest) + ((slots) + 1) / 2 + 15) / 16 * 16)

FP_GPU_ASSERT(sizeof(fp_staged_work) == 88 && offsetof(fp_staged_launch, work) == 8 &&
                  sizeof(fp_staged_launch) <= FP_GPU_MOST_PARAMETERS,
              "host and device must agree on these sizes");

#endif
