/* kernel_table.c - the table of kernels. In: kernels/variants.def. Out: names, symbols and parameters. */
#include "kernel_table.h"

#include <string.h>

/* Shared memory of a staged block (kernels/staged.cuh has the same sum): for each warp a staging buffer for 32 * K tokens of L bytes
 * that may start at any byte of 16, and with split reads 4 bytes a code of queue. */
#define STATIC_SHARED(K, W, L, T) ((T) / 32 * (32 * (K) * (L) + 16 + ((W) < (L) ? 32 * (K)*4 : 0)))

static const fp_kernel kernels[] = {
#define FP_STAGED(K, W, H, T, B)                                                                             \
    {"staged K" #K " W" #W " H" #H " T" #T " B" #B,                                                          \
     "fp_staged_k" #K "_w" #W "_h" #H "_t" #T "_b" #B,                                                       \
     K,                                                                                                      \
     W,                                                                                                      \
     H,                                                                                                      \
     T,                                                                                                      \
     B,                                                                                                      \
     16,                                                                                                     \
     0,                                                                                                      \
     STATIC_SHARED(K, W, 16, T)},
#define FP_STAGED8(K, T, B)                                                                                  \
    {"staged8 K" #K " T" #T " B" #B, "fp_staged8_k" #K "_t" #T "_b" #B, K, 8, 0, T, B, 8, 0,                 \
     STATIC_SHARED(K, 8, 8, T)},
#define FP_SHARED(K, W, H, T, B)                                                                             \
    {"shared K" #K " W" #W " H" #H " T" #T " B" #B,                                                          \
     "fp_shared_k" #K "_w" #W "_h" #H "_t" #T "_b" #B,                                                       \
     K,                                                                                                      \
     W,                                                                                                      \
     H,                                                                                                      \
     T,                                                                                                      \
     B,                                                                                                      \
     16,                                                                                                     \
     1,                                                                                                      \
     STATIC_SHARED(K, W, 16, T)},
#define FP_SHARED8(K, T, B)                                                                                  \
    {"shared8 K" #K " T" #T " B" #B, "fp_shared8_k" #K "_t" #T "_b" #B, K, 8, 0, T, B, 8, 1,                 \
     STATIC_SHARED(K, 8, 8, T)},
#include "kernels/variants.def"
};

const fp_kernel *fp_kernel_table(void) { return kernels; }

uint32_t fp_kernel_find(const char *name) {
    uint32_t i = 0;
    while (i < FP_KERNELS && strcmp(kernels[i].name, name) != 0) i++;
    return i;
}

uint32_t fp_kernel_dynamic_shared(const fp_kernel *kernel, uint32_t slots) {
    return kernel->dictionary_shared ? (slots * kernel->max_token + (slots + 1) / 2 + 15) / 16 * 16 : 0;
}
