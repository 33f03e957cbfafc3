/* parts.c - taking a column file apart and putting it together. It trusts nothing it reads, and shares no code with the
 * library. */
#include "parts.h"

static uint32_t first_entry(const part *block) { return block->is_chunk ? 208 : 48; }

/* One block at `at`; 0 if its sections do not lie inside it. */
static int take_block(const uint8_t *image, uint64_t at, uint64_t block_size, part *block) {
    *block = (part){.is_chunk = !memcmp(image + at, "FPCH", 4)};
    block->header_size = block->is_chunk ? PARTS_CHUNK_HEADER : 96;
    block->section_count = block->is_chunk ? PARTS_SECTIONS : 1;
    if (block_size < block->header_size) return 0;
    memcpy(block->header, image + at, block->header_size);
    for (uint32_t i = 0; i < block->section_count; i++) {
        const uint8_t *entry = block->header + first_entry(block) + 24 * i;
        uint64_t offset = forge_get(entry, 8), size = forge_get(entry + 8, 8);
        if (size > block_size || offset > block_size - size) return 0;
    }
    for (uint32_t i = 0; i < block->section_count; i++) {
        const uint8_t *entry = block->header + first_entry(block) + 24 * i;
        forge_append(&block->sections[i], image + at + forge_get(entry, 8),
                     forge_get(entry + 8, 8));
    }
    return 1;
}

int parts_take(const uint8_t *image, uint64_t size, parts *p) {
    memset(p, 0, sizeof *p);
    if (size < 64 + PARTS_FOOTER_HEADER + 32) return 0;
    memcpy(p->head, image, 64);
    uint64_t at = forge_get(image + 12, 4) == 4096 ? 4096 : 64, dictionaries = 0;
    while (at <= size - PARTS_FOOTER_HEADER && memcmp(image + at, "FPFT", 4) != 0) {
        uint64_t block_size = forge_get(image + at + 8, 8);
        int known = !memcmp(image + at, "FPDI", 4) || !memcmp(image + at, "FPCH", 4);
        if (!known || p->count == PARTS_MOST_BLOCKS || block_size == 0 || block_size > size - at ||
            !take_block(image, at, block_size, &p->blocks[p->count])) {
            parts_free(p);
            return 0;
        }
        p->count++;
        at += block_size;
    }
    if (at > size - PARTS_FOOTER_HEADER) {
        parts_free(p);
        return 0;
    }
    memcpy(p->footer, image + at, PARTS_FOOTER_HEADER);
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t entry = at + PARTS_FOOTER_HEADER + 24 * dictionaries;
        if (p->blocks[i].is_chunk) continue;
        if (entry + 24 <= size) p->blocks[i].in_use = (uint32_t)forge_get(image + entry + 16, 4);
        dictionaries++;
    }
    return 1;
}

static void join_block(forge_bytes *file, const part *block, uint32_t alignment) {
    uint64_t at = file->size;
    forge_append(file, block->header, block->header_size);
    for (uint32_t i = 0; i < block->section_count; i++) {
        const forge_bytes *section = &block->sections[i];
        uint64_t entry = at + first_entry(block) + 24 * i;
        memset(file->data + entry, 0, 24);
        if (!section->size) continue;
        forge_align(file, alignment);
        forge_put(file->data + entry, file->size - at, 8);
        forge_put(file->data + entry + 8, section->size, 8);
        forge_put(file->data + entry + 16, XXH3_64bits(section->data, section->size), 8);
        forge_append(file, section->data, section->size);
    }
    forge_align(file, alignment);
    uint8_t *header = file->data + at;
    forge_put(header + 8, file->size - at, 8);
    forge_put(header + block->header_size - 8, XXH3_64bits(header, block->header_size - 8), 8);
}

forge_bytes parts_join(const parts *p) {
    forge_bytes file = {0}, entries[2] = {{0}, {0}}; /* of dictionaries, of chunks */
    uint32_t alignment = forge_get(p->head + 12, 4) == 4096 ? 4096 : 64;
    uint64_t counts[2] = {0, 0}, totals[4] = {0};
    forge_append(&file, p->head, 64);
    forge_put(file.data + 56, XXH3_64bits(file.data, 56), 8);
    forge_align(&file, alignment);
    for (uint32_t i = 0; i < p->count; i++) {
        const part *block = &p->blocks[i];
        uint64_t at = file.size;
        join_block(&file, block, alignment);
        uint8_t *entry =
            forge_append(&entries[block->is_chunk], NULL, block->is_chunk ? 32 : 24); /* zeroes */
        counts[block->is_chunk]++;
        forge_put(entry, at, 8);
        forge_put(entry + 8, file.size - at, 8);
        if (!block->is_chunk) {
            forge_put(entry + 16, block->in_use, 4);
            continue;
        }
        memcpy(entry + 16, block->header + 24, 8); /* rows */
        memcpy(entry + 24, block->header + 48, 8); /* decoded bytes */
        for (int k = 0; k < 4; k++) totals[k] += forge_get(block->header + 24 + 8 * k, 8);
    }
    uint64_t at = file.size;
    forge_append(&file, p->footer, PARTS_FOOTER_HEADER);
    for (int i = 0; i < 2; i++)
        forge_append(&file, entries[i].data ? entries[i].data : (uint8_t *)"", entries[i].size);
    uint8_t *footer = file.data + at;
    uint64_t footer_size = file.size - at;
    forge_put(footer + 8, footer_size, 8);
    for (int i = 0; i < 2; i++) forge_put(footer + 16 + 8 * i, counts[i], 8);
    for (int i = 0; i < 4; i++) forge_put(footer + 32 + 8 * i, totals[i], 8);
    forge_put(footer + 72,
              footer_size > PARTS_FOOTER_HEADER
                  ? XXH3_64bits(footer + PARTS_FOOTER_HEADER, footer_size - PARTS_FOOTER_HEADER)
                  : 0,
              8);
    forge_put(footer + 104, XXH3_64bits(footer, 104), 8);
    uint8_t *trailer = forge_append(&file, NULL, 32);
    forge_put(trailer, at, 8);
    forge_put(trailer + 8, file.size, 8);
    forge_put(trailer + 16, XXH3_64bits(trailer, 16), 8);
    memcpy(trailer + 24,
           "FPC\n\x1a"
           "END",
           8);
    for (int i = 0; i < 2; i++) free(entries[i].data);
    return file;
}

void parts_free(parts *p) {
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t k = 0; k < PARTS_SECTIONS; k++) free(p->blocks[i].sections[k].data);
    p->count = 0;
}
