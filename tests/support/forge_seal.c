/* forge_seal.c - checksums of forged images, made right. It trusts nothing it reads. */
#define XXH_INLINE_ALL
#include "forge_private.h"

#include <xxhash.h>

uint64_t forge_checksum(const void *data, uint64_t size) { return XXH3_64bits(data, size); }

void forge_seal(uint8_t *from, uint32_t at) { forge_put(from + at, XXH3_64bits(from, at), 8); }

static void reseal_section(uint8_t *image, uint64_t size, uint64_t block, uint64_t entry) {
    uint64_t offset = forge_get(image + entry, 8), length = forge_get(image + entry + 8, 8);
    if (length && length <= size - block && offset <= size - block - length)
        forge_put(image + entry + 16, XXH3_64bits(image + block + offset, length), 8);
}

uint64_t forge_entries_size(const uint8_t *footer, uint64_t size) {
    uint64_t most = size - FORGE_FOOTER_HEADER, d = forge_get(footer + 16, 8),
             c = forge_get(footer + 24, 8), p = forge_get(footer + 68, 4);
    if (d > most / 24 || c > most / 32 || p > most / 32) return most;
    uint64_t entries = 24 * d + 32 * c + 32 * p;
    return entries < most ? entries : most;
}

void forge_seal_entries(uint8_t *footer, uint64_t size) {
    uint64_t entries = forge_entries_size(footer, size), parts = forge_get(footer + 68, 4);
    for (uint64_t i = 0; i < parts && 32 * (i + 1) <= entries; i++) {
        uint8_t *entry = footer + FORGE_FOOTER_HEADER + entries - 32 * (parts - i);
        if (32 * (parts - i) > entries) continue;
        uint64_t at = forge_get(entry + 8, 8), length = forge_get(entry + 16, 8);
        if (at <= size && length <= size - at)
            forge_put(entry + 24, XXH3_64bits(footer + at, length), 8);
    }
    forge_put(footer + 72, entries ? XXH3_64bits(footer + FORGE_FOOTER_HEADER, entries) : 0, 8);
}

void forge_reseal_dictionary(uint8_t *block, uint64_t size) {
    reseal_section(block, size, 0, forge_first_entry(0));
    forge_seal(block, FORGE_DICTIONARY_HEADER - 8);
}

void forge_reseal(uint8_t *image, uint64_t size) {
    if (size < FORGE_HEAD + FORGE_FOOTER_HEADER + FORGE_TRAILER) return;
    forge_seal(image, FORGE_HEAD - 8);
    for (uint64_t at = FORGE_HEAD; at + FORGE_FOOTER_HEADER <= size; at += 64) {
        if (!memcmp(image + at, "FPDI", 4)) {
            reseal_section(image, size, at, at + forge_first_entry(0));
            forge_seal(image + at, FORGE_DICTIONARY_HEADER - 8);
        } else if (!memcmp(image + at, "FPCH", 4) && at + FORGE_CHUNK_HEADER <= size) {
            for (uint64_t i = 0; i < FORGE_SECTIONS; i++)
                reseal_section(image, size, at, at + forge_first_entry(1) + 24 * i);
            forge_seal(image + at, FORGE_CHUNK_HEADER - 8);
        } else if (!memcmp(image + at, "FPFT", 4)) {
            uint64_t block_size = forge_get(image + at + 8, 8);
            if (block_size >= FORGE_FOOTER_HEADER && block_size <= size - at)
                forge_seal_entries(image + at, block_size);
            forge_seal(image + at, FORGE_FOOTER_HEADER - 8);
        }
    }
    forge_seal(image + size - FORGE_TRAILER, 16);
}

uint64_t forge_block(const uint8_t *image, uint64_t size, const char *kind, uint64_t n) {
    for (uint64_t at = FORGE_HEAD; at + FORGE_FOOTER_HEADER <= size; at += 64)
        if (!memcmp(image + at, kind, 4) && n-- == 0) return at;
    return 0;
}
