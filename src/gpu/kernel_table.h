/* kernel_table.h - the kernels this library carries, as the host sees them. Made from kernels/variants.def, so that a kernel is one
 * line there and nothing here. */
#ifndef FP_GPU_KERNEL_TABLE_H
#define FP_GPU_KERNEL_TABLE_H

#include "kernels/image.h"

/* One variant, with the paper's parameters. */
typedef struct fp_kernel {
    const char *name;        /* "staged K6 W8 H1 T256 B4" */
    const char *symbol;      /* of the function in the fat binary */
    uint32_t codes_per_lane; /* K: a warp takes 32 * K codes at a time */
    uint32_t low_bytes;      /* W: 8 splits a 16-byte dictionary into planes, 16 reads whole rows */
    uint32_t hoisted;        /* H */
    uint32_t threads;        /* T */
    uint32_t blocks;         /* B */
    uint32_t max_token;      /* L: 8 or 16; dictionaries with longer tokens cannot use it */
    uint32_t dictionary_shared; /* 1: each block copies the dictionary to dynamic shared memory */
    uint32_t static_shared;     /* bytes a block declares */
    /* Assembled kernels only; others read codes of any width. */
    uint32_t code_bits;
    fp_gpu_home home;
    uint32_t store_bytes; /* S */
} fp_kernel;

static inline int fp_kernel_is_assembled(const fp_kernel *kernel) { return kernel->code_bits != 0; }

enum {
    FP_KERNELS = 0
#define FP_STAGED(K, W, H, T, B)          +1
#define FP_STAGED8(K, T, B)               +1
#define FP_SHARED(K, W, H, T, B)          +1
#define FP_SHARED8(K, T, B)               +1
#define FP_ASSEMBLED(K, BITS, L, D, S, T) +1
#include "kernels/variants.def"
};

/* FP_KERNELS entries. */
const fp_kernel *fp_kernel_table(void);

/* The index of the kernel with this name; FP_KERNELS if there is none. */
uint32_t fp_kernel_find(const char *name);

/* Dynamic shared memory a block needs for a dictionary of `slots` slots: 0 unless it keeps the dictionary there. */
uint32_t fp_kernel_dynamic_shared(const fp_kernel *kernel, uint32_t slots);

#define FP_SYMBOL_ROW_OFFSETS     "fp_row_offsets"
#define FP_SYMBOL_MEASURE_BATCHES "fp_measure_batches"
#define FP_SYMBOL_SCAN_BATCHES    "fp_scan_batches"

#endif
