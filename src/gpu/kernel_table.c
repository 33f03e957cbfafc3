/* kernel_table.c - the table of kernels. In: kernels/variants.def. Out: names, symbols and parameters. */
#include "kernel_table.h"

#include <string.h>

/* Shared memory of a staged block (kernels/staged.cuh has the same sum): for each warp a staging buffer for 32 * K tokens of L bytes
 * that may start at any byte of 16, and with split reads 4 bytes a code of queue. */
#define STATIC_SHARED(K, W, L, T) ((T) / 32 * (32 * (K) * (L) + 16 + ((W) < (L) ? 32 * (K)*4 : 0)))

/* What the four kinds of staged kernels have in common; `in_shared`: the dictionary is. */
#define STAGED(NAME, SYMBOL, K, W, L, H, T, B, in_shared)                                          \
    {.name = NAME,                                                                                 \
     .symbol = SYMBOL,                                                                             \
     .codes_per_lane = K,                                                                          \
     .low_bytes = W,                                                                               \
     .hoisted = H,                                                                                 \
     .threads = T,                                                                                 \
     .blocks = B,                                                                                  \
     .max_token = L,                                                                               \
     .dictionary_shared = in_shared,                                                               \
     .static_shared = STATIC_SHARED(K, W, L, T)},
#define NAME16(kind, K, W, H, T, B)   kind " K" #K " W" #W " H" #H " T" #T " B" #B
#define SYMBOL16(kind, K, W, H, T, B) "fp_" kind "_k" #K "_w" #W "_h" #H "_t" #T "_b" #B
#define NAME8(kind, K, T, B)          kind " K" #K " T" #T " B" #B
#define SYMBOL8(kind, K, T, B)        "fp_" kind "_k" #K "_t" #T "_b" #B

static const fp_kernel kernels[] = {
#define FP_STAGED(K, W, H, T, B)                                                                   \
    STAGED(NAME16("staged", K, W, H, T, B), SYMBOL16("staged", K, W, H, T, B), K, W, 16, H, T, B, 0)
#define FP_STAGED8(K, T, B)                                                                        \
    STAGED(NAME8("staged8", K, T, B), SYMBOL8("staged8", K, T, B), K, 8, 8, 0, T, B, 0)
#define FP_SHARED(K, W, H, T, B)                                                                   \
    STAGED(NAME16("shared", K, W, H, T, B), SYMBOL16("shared", K, W, H, T, B), K, W, 16, H, T, B, 1)
#define FP_SHARED8(K, T, B)                                                                        \
    STAGED(NAME8("shared8", K, T, B), SYMBOL8("shared8", K, T, B), K, 8, 8, 0, T, B, 1)
#define FP_ASSEMBLED(K, BITS, L, D, S, T)                                                          \
    {.name = "assembled K" #K " b" #BITS " L" #L " " #D " S" #S " T" #T,                           \
     .symbol = "fp_assembled_k" #K "_b" #BITS "_l" #L "_" #D "_s" #S "_t" #T,                      \
     .codes_per_lane = K,                                                                          \
     .low_bytes = L,                                                                               \
     .threads = T,                                                                                 \
     .blocks = 1,                                                                                  \
     .max_token = L,                                                                               \
     .code_bits = BITS,                                                                            \
     .home = FP_GPU_##D,                                                                           \
     .store_bytes = S},
#include "kernels/variants.def"
};

const fp_kernel *fp_kernel_table(void) { return kernels; }

uint32_t fp_kernel_find(const char *name) {
    uint32_t i = 0;
    while (i < FP_KERNELS && strcmp(kernels[i].name, name) != 0) i++;
    return i;
}

uint32_t fp_kernel_dynamic_shared(const fp_kernel *kernel, uint32_t slots) {
    return kernel->dictionary_shared ? FP_SHARED_DICT_BYTES(slots, kernel->max_token) : 0;
}
