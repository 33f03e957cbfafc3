/* device_memory.cc - blocks of memory for kernel tests. Not a byte longer than asked for, so that
 * the address sanitizer guards them as well as the emulator does. */
#include "device_memory.h"

#include <stdlib.h>
#include <string.h>

uint8_t *device_block(device *d, uint64_t bytes, uint32_t skip, emulator_access access,
                      const char *name) {
    void *block = NULL;
    if (posix_memalign(&block, 256, bytes + skip ? bytes + skip : 1) ||
        d->count == sizeof d->blocks / sizeof d->blocks[0])
        abort();
    d->blocks[d->count++] = block;
    memset(block, 0xee, bytes + skip);
    emulator_memory((uint8_t *)block + skip, bytes, access, name);
    return (uint8_t *)block + skip;
}

uint8_t *device_copy(device *d, const void *from, uint64_t bytes, const char *name) {
    uint8_t *to = device_block(d, bytes, 16, EMULATOR_READ, name);
    if (bytes) memcpy(to, from, bytes);
    return to;
}

void device_free(device *d) {
    for (uint32_t i = 0; i < d->count; i++) free(d->blocks[i]);
    d->count = 0;
}
