/* kernel_table.c - the table of kernels. In: the two tables of variants. Out: names, symbols and
 * parameters. */
#include "kernel_table.h"

#include "kernels/staged/params.h"

#include <string.h>

#define STAGED(NAME, SYMBOL, K, W, L, T, B, in_shared)                                             \
    {.name = NAME,                                                                                 \
     .symbol = SYMBOL,                                                                             \
     .codes_per_lane = K,                                                                          \
     .max_token = L,                                                                               \
     .threads = T,                                                                                 \
     .blocks = B,                                                                                  \
     .static_shared = FP_STAGED_SHARED(K, W, L, T),                                                \
     .dynamic_shared = in_shared},
#define STAGED16(kind, K, W, H, T, B, in_shared)                                                   \
    STAGED(kind " K" #K " W" #W " H" #H " T" #T " B" #B,                                           \
           "fp_" kind "_k" #K "_w" #W "_h" #H "_t" #T "_b" #B, K, W, 16, T, B, in_shared)
#define STAGED8(kind, K, T, B, in_shared)                                                          \
    STAGED(kind " K" #K " T" #T " B" #B, "fp_" kind "_k" #K "_t" #T "_b" #B, K, 8, 8, T, B,        \
           in_shared)

static const fp_kernel kernels[] = {
#define FP_STAGED(K, W, H, T, B) STAGED16("staged", K, W, H, T, B, 0)
#define FP_STAGED8(K, T, B)      STAGED8("staged8", K, T, B, 0)
#define FP_SHARED(K, W, H, T, B) STAGED16("shared", K, W, H, T, B, 1)
#define FP_SHARED8(K, T, B)      STAGED8("shared8", K, T, B, 1)
#include "kernels/staged/variants.def"
#define FP_ASSEMBLED(K, BITS, L, D, S, T)                                                          \
    {.name = "assembled K" #K " b" #BITS " L" #L " " #D " S" #S " T" #T,                           \
     .symbol = "fp_assembled_k" #K "_b" #BITS "_l" #L "_" #D "_s" #S "_t" #T,                      \
     .codes_per_lane = K,                                                                          \
     .max_token = L,                                                                               \
     .threads = T,                                                                                 \
     .blocks = 1,                                                                                  \
     .dynamic_shared = 1,                                                                          \
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
