/* checksum.c - XXH3 of sections and headers. The one use of xxHash, compiled in, so that the
 * library has no run-time dependency. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format.h"

uint64_t fp_checksum(const void *data, uint64_t size) {
    return size ? XXH3_64bits(data, (size_t)size) : 0;
}

_Static_assert(sizeof(XXH3_state_t) <= sizeof(fp_hasher), "fp_hasher must hold the state");

void fp_hasher_begin(fp_hasher *hasher) {
    XXH3_INITSTATE((XXH3_state_t *)(void *)hasher);
    XXH3_64bits_reset((XXH3_state_t *)(void *)hasher);
}

void fp_hasher_add(fp_hasher *hasher, const void *data, uint64_t size) {
    XXH3_64bits_update((XXH3_state_t *)(void *)hasher, data, (size_t)size);
}

uint64_t fp_hasher_end(const fp_hasher *hasher) {
    return XXH3_64bits_digest((const XXH3_state_t *)(const void *)hasher);
}
