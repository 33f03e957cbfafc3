/* kernel_binary.c - the compiled kernels inside the library. In: at build time, the fat binary that
 * nvcc made. Out: its address. Assembled in as it is, because a C array of a few megabytes compiles
 * slowly. */
#include "device.h"

#ifdef FASTPAIR_KERNEL_FATBIN
__asm__(".section .rodata\n"
        ".balign 64\n"
        ".local fp_kernel_fatbin\n"
        "fp_kernel_fatbin:\n"
        ".incbin \"" FASTPAIR_KERNEL_FATBIN "\"\n"
        ".balign 64\n"
        ".previous\n");
extern const unsigned char fp_kernel_fatbin[] __attribute__((visibility("hidden")));
const void *fp_kernel_binary(void) { return fp_kernel_fatbin; }
#else
const void *fp_kernel_binary(void) { return NULL; }
#endif
