/* kernel_table.h - the decode kernels that this library carries, as the host sees them. Made from
 * the two tables of variants, so that a kernel is one line there and nothing here. */
#ifndef FP_GPU_KERNEL_TABLE_H
#define FP_GPU_KERNEL_TABLE_H

#include "kernels/resident.h"

typedef struct fp_kernel {
    /* For example "assembled K16 b12 L8 SPLIT S4 T1024", and the function's name in the binary. */
    const char *name;
    const char *symbol;
    /* A warp takes 32 * codes_per_lane codes at a time. */
    uint32_t codes_per_lane;
    /* 8, 16, 32 or 64; dictionaries with longer tokens cannot use the kernel. */
    uint32_t max_token;
    /* The most threads of a block, and the blocks per multiprocessor of its launch bounds. */
    uint32_t threads, blocks;
    /* Bytes of shared memory that a block declares; 1: it asks for more at the launch. */
    uint32_t static_shared, dynamic_shared;
    /* Assembled kernels only. code_bits is 0 for kernels of the paper's decoder, which read codes
     * of any width and have the rest of their parameters in staged.h. */
    uint32_t code_bits;
    fp_gpu_home home;
    uint32_t store_bytes;
} fp_kernel;

/* The paper's kernels come first. */
enum {
    FP_STAGED_KERNELS = 0
#define FP_STAGED(K, W, H, T, B) +1
#define FP_STAGED8(K, T, B)      +1
#define FP_SHARED(K, W, H, T, B) +1
#define FP_SHARED8(K, T, B)      +1
#include "kernels/staged/variants.def"
    ,
    FP_KERNELS = FP_STAGED_KERNELS
#define FP_ASSEMBLED(K, BITS, L, D, S, T) +1
#include "kernels/variants.def"
};

/* FP_KERNELS entries. */
const fp_kernel *fp_kernel_table(void);

/* The index of the kernel with this name; FP_KERNELS if there is none. */
uint32_t fp_kernel_find(const char *name);

static inline int fp_kernel_is_staged(uint32_t kernel) { return kernel < FP_STAGED_KERNELS; }

/* Batches of 32 * codes_per_lane codes among so many codes. */
static inline uint32_t fp_kernel_batches(const fp_kernel *kernel, uint32_t codes) {
    uint32_t batch_codes = 32 * kernel->codes_per_lane;
    return codes / batch_codes + (codes % batch_codes != 0);
}

#endif
