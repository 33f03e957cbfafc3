/* forge_private.h - what forge.c and forge_seal.c share. */
#ifndef FP_TESTS_FORGE_PRIVATE_H
#define FP_TESTS_FORGE_PRIVATE_H

#include "forge.h"

/* Where a block's header names its sections, 24 bytes each: offset, size, checksum. */
static inline uint32_t forge_first_entry(int is_chunk) { return is_chunk ? 208 : 48; }

/* Writes the checksum of the bytes before `at`, from `from` on. */
void forge_seal(uint8_t *from, uint32_t at);

/* Bytes of the footer's entries, by its counts; of `size` bytes at most. */
uint64_t forge_entries_size(const uint8_t *footer, uint64_t size);

/* Only the checksums of the footer's parts and of its entries, which follow its header; 0 if there
 * are none. */
void forge_seal_entries(uint8_t *footer, uint64_t size);

#endif
