/* checksum.c - XXH3 of sections and headers. The one use of xxHash, compiled in, so that the
 * library has no run-time dependency. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format.h"

uint64_t fp_checksum(const void *data, uint64_t size) {
    return size ? XXH3_64bits(data, (size_t)size) : 0;
}
