/* device_memory.h - blocks of memory of exactly the size asked for, known to the emulator. */
#ifndef FP_TESTS_DEVICE_MEMORY_H
#define FP_TESTS_DEVICE_MEMORY_H

#include "emulator.h"

typedef struct device {
    void *blocks[512];
    uint32_t count;
} device;

/* A new block of skip + bytes bytes at a multiple of 256, filled with 0xee. Kernels may touch only
 * the `bytes` bytes after the first `skip`, to which the result points. `bytes` may be 0. */
uint8_t *device_block(device *d, uint64_t bytes, uint32_t skip, emulator_access access,
                      const char *name);

/* A copy that kernels may read. It is at an odd multiple of 16, as no kernel may count on more. */
uint8_t *device_copy(device *d, const void *from, uint64_t bytes, const char *name);

void device_free(device *d);

static inline uint64_t device_address(const void *at) { return (uint64_t)(uintptr_t)at; }

#endif
