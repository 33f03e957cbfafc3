/* forge.c - images of column files: writing blocks and footers, taking apart and joining.
 *
 * It trusts nothing it reads, and shares no code with the library. */
#include "forge_private.h"

/* ---------------------------------------------------------------- bytes */

uint8_t *forge_append(forge_bytes *bytes, const void *data, uint64_t size) {
    bytes->data = realloc(bytes->data, bytes->size + size + 1);
    if (!bytes->data) abort();
    uint8_t *at = bytes->data + bytes->size;
    if (data)
        memcpy(at, data, size);
    else
        memset(at, 0, size);
    bytes->size += size;
    return at;
}

int forge_write(void *context, const void *data, size_t size) {
    forge_append(context, data, size);
    return 0;
}

void forge_bits(uint8_t *section, uint64_t bit, uint32_t width, uint64_t value) {
    for (uint32_t i = 0; i < width; i++)
        if (value >> i & 1) section[(bit + i) / 8] |= (uint8_t)(1u << ((bit + i) % 8));
}

static void align(forge_bytes *bytes, uint32_t alignment) {
    if (bytes->size % alignment) forge_append(bytes, NULL, alignment - bytes->size % alignment);
}

/* ---------------------------------------------------------------- building */

static void begin(forge *f, uint32_t alignment, const uint8_t *head) {
    memset(f, 0, sizeof *f);
    f->alignment = alignment;
    forge_append(&f->file, head, FORGE_HEAD);
    forge_seal(f->file.data, FORGE_HEAD - 8);
    align(&f->file, alignment);
}

void forge_begin(forge *f, uint32_t alignment, int framing, uint8_t separator) {
    uint8_t head[FORGE_HEAD] = "\x89\x46\x50\x43\x0d\x0a\x1a\x0a";
    forge_put(head + 8, 1, 2);
    forge_put(head + 12, alignment, 4);
    head[16] = (uint8_t)framing;
    head[17] = separator;
    begin(f, alignment, head);
}

/* A block: its header with size, section entries and checksum made right, its sections, and a
 * zeroed entry of the footer that has its place and size. Returns the entry. */
static uint8_t *add_block(forge *f, const uint8_t *header, int is_chunk,
                          const forge_bytes *sections) {
    uint32_t header_size = is_chunk ? FORGE_CHUNK_HEADER : FORGE_DICTIONARY_HEADER;
    uint64_t at = f->file.size;
    forge_append(&f->file, header, header_size);
    for (uint32_t i = 0; i < (is_chunk ? FORGE_SECTIONS : 1u); i++) {
        const forge_bytes *section = &sections[i];
        uint64_t entry = at + forge_first_entry(is_chunk) + 24 * i;
        memset(f->file.data + entry, 0, 24);
        if (!section->size) continue;
        align(&f->file, f->alignment);
        forge_put(f->file.data + entry, f->file.size - at, 8);
        forge_put(f->file.data + entry + 8, section->size, 8);
        forge_put(f->file.data + entry + 16, forge_checksum(section->data, section->size), 8);
        forge_append(&f->file, section->data, section->size);
    }
    align(&f->file, f->alignment);
    forge_put(f->file.data + at + 8, f->file.size - at, 8);
    forge_seal(f->file.data + at, header_size - 8);
    uint8_t *entry = forge_append(&f->entries[is_chunk], NULL, is_chunk ? 32 : 24);
    forge_put(entry, at, 8);
    forge_put(entry + 8, f->file.size - at, 8);
    return entry;
}

static void add_dictionary(forge *f, const uint8_t *header, const forge_bytes *section,
                           uint64_t in_use) {
    forge_put(add_block(f, header, 0, section) + 16, in_use, 8);
    f->dictionaries++;
}

static void add_chunk(forge *f, const uint8_t *header, const forge_bytes *sections) {
    uint8_t *entry = add_block(f, header, 1, sections);
    memcpy(entry + 16, header + 24, 8); /* rows */
    memcpy(entry + 24, header + 48, 8); /* decoded bytes */
    f->chunks++;
    f->rows += forge_get(header + 24, 8), f->nulls += forge_get(header + 32, 8);
    f->codes += forge_get(header + 40, 8), f->decoded += forge_get(header + 48, 8);
}

void forge_add_dictionary(forge *f, forge_dictionary *d) {
    uint8_t h[FORGE_DICTIONARY_HEADER] = "FPDI\x60";
    h[16] = (uint8_t)d->codec, h[17] = (uint8_t)d->bits, h[18] = (uint8_t)d->longest;
    h[19] = (uint8_t)d->order, h[20] = (uint8_t)d->shift, h[21] = (uint8_t)d->cold;
    forge_put(h + 72, d->warm_size, 8);
    forge_put(h + 24, d->slots, 4), forge_put(h + 28, d->tokens, 4);
    forge_put(h + 32, d->hot, 4), forge_put(h + 36, d->runs, 4), forge_put(h + 40, d->seed, 8);
    add_dictionary(f, h, &d->section, d->in_use ? d->in_use : d->tokens);
    free(d->section.data);
    memset(&d->section, 0, sizeof d->section);
}

void forge_add_chunk(forge *f, forge_chunk *c) {
    uint8_t h[FORGE_CHUNK_HEADER] = "FPCH\x40\1";
    h[16] = (uint8_t)c->encoding, h[17] = (uint8_t)c->has_validity;
    forge_put(h + 20, c->dictionary, 4), forge_put(h + 24, c->rows, 8);
    forge_put(h + 32, c->nulls, 8), forge_put(h + 40, c->codes, 8);
    forge_put(h + 48, c->decoded, 8), forge_put(h + 56, c->batch, 4);
    forge_put(h + 60, c->group, 4), forge_put(h + 64, c->largest, 4);
    forge_put(h + 68, c->largest_pair, 4), forge_put(h + 72, c->largest_four, 4);
    for (int i = 0; i < 16; i++) forge_put(h + 80 + 8 * i, c->by_length[i], 8);
    add_chunk(f, h, c->sections);
    for (int i = 0; i < FORGE_SECTIONS; i++) free(c->sections[i].data);
    memset(c->sections, 0, sizeof c->sections);
}

void forge_add_part(forge *f, uint32_t kind, uint32_t flags, const void *bytes, uint64_t size) {
    if (f->parts == FORGE_MOST_PARTS) abort();
    forge_footer_part *part = &f->part[f->parts++];
    *part = (forge_footer_part){kind, flags, {0}};
    forge_append(&part->bytes, bytes, size);
}

void forge_add_extra(forge *f, const char *kind, uint64_t size, uint8_t mark) {
    uint8_t *block = forge_append(&f->file, NULL, size);
    memcpy(block, kind, 4);
    forge_put(block + 4, 64, 4), forge_put(block + 8, size, 8);
    block[20] = mark;
    forge_seal(block, 56);
    f->extra += size;
}

/* The entries of the footer's parts, and the parts. */
static void append_parts(forge *f, uint64_t at) {
    uint64_t entries = f->file.size;
    forge_append(&f->file, NULL, 32ull * f->parts);
    for (uint32_t i = 0; i < f->parts; i++) {
        forge_footer_part *part = &f->part[i];
        while ((f->file.size - at) % 8) forge_append(&f->file, NULL, 1);
        uint8_t *entry = f->file.data + entries + 32ull * i;
        forge_put(entry, part->kind, 4), forge_put(entry + 4, part->flags, 4);
        forge_put(entry + 8, f->file.size - at, 8), forge_put(entry + 16, part->bytes.size, 8);
        forge_append(&f->file, part->bytes.data, part->bytes.size);
        free(part->bytes.data);
        part->bytes = (forge_bytes){0};
    }
}

/* Appends footer and trailer. Counts and totals of the footer's header are made right, other fields
 * stay. */
static void finish(forge *f, const uint8_t *header) {
    uint64_t at = f->file.size;
    forge_append(&f->file, header, FORGE_FOOTER_HEADER);
    for (int i = 0; i < 2; i++)
        if (f->entries[i].size) forge_append(&f->file, f->entries[i].data, f->entries[i].size);
    append_parts(f, at);
    uint64_t size = f->file.size - at;
    uint8_t *t = forge_append(&f->file, NULL, FORGE_TRAILER), *h = f->file.data + at;
    forge_put(h + 8, size, 8), forge_put(h + 16, f->dictionaries, 8);
    forge_put(h + 24, f->chunks, 8), forge_put(h + 32, f->rows, 8);
    forge_put(h + 40, f->nulls, 8), forge_put(h + 48, f->codes, 8);
    forge_put(h + 56, f->decoded, 8);
    forge_put(h + 68, f->parts, 4), forge_put(h + 80, f->extra, 8);
    forge_seal_entries(h, size);
    forge_seal(h, FORGE_FOOTER_HEADER - 8);
    forge_put(t, at, 8), forge_put(t + 8, f->file.size, 8);
    forge_seal(t, 16);
    memcpy(t + 24, "\x46\x50\x43\x0a\x1a\x45\x4e\x44", 8);
    for (int i = 0; i < 2; i++) free(f->entries[i].data);
    memset(f->entries, 0, sizeof f->entries);
}

void forge_finish(forge *f) {
    uint8_t header[FORGE_FOOTER_HEADER] = "FPFT\x70";
    header[64] = (uint8_t)f->final_separator, header[65] = (uint8_t)f->type;
    finish(f, header);
}

forge_bytes forge_column(forge_dictionary *dictionary, forge_chunk *chunk) {
    forge f;
    forge_begin(&f, 64, 0, 0);
    if (dictionary) forge_add_dictionary(&f, dictionary);
    forge_add_chunk(&f, chunk);
    forge_finish(&f);
    return f.file;
}

/* ---------------------------------------------------------------- taking apart */

/* One block at `at`; 0 if its sections do not lie inside it. */
static int take_block(const uint8_t *image, uint64_t at, uint64_t block_size, forge_part *block) {
    *block = (forge_part){.is_chunk = !memcmp(image + at, "FPCH", 4)};
    block->header_size = block->is_chunk ? FORGE_CHUNK_HEADER : FORGE_DICTIONARY_HEADER;
    block->section_count = block->is_chunk ? FORGE_SECTIONS : 1;
    if (block_size < block->header_size) return 0;
    memcpy(block->header, image + at, block->header_size);
    const uint8_t *entries = block->header + forge_first_entry(block->is_chunk);
    for (uint32_t i = 0; i < block->section_count; i++) {
        uint64_t offset = forge_get(entries + 24 * i, 8), size = forge_get(entries + 24 * i + 8, 8);
        if (size > block_size || offset > block_size - size) return 0;
    }
    for (uint32_t i = 0; i < block->section_count; i++)
        forge_append(&block->sections[i], image + at + forge_get(entries + 24 * i, 8),
                     forge_get(entries + 24 * i + 8, 8));
    return 1;
}

/* Parts of a footer that has `size` bytes at most, as far as they lie in it. */
static void take_parts(forge_parts *p, const uint8_t *footer, uint64_t size) {
    uint64_t entries = forge_entries_size(footer, size), count = forge_get(footer + 68, 4);
    if (count > FORGE_MOST_PARTS || 32 * count > entries) return;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = footer + FORGE_FOOTER_HEADER + entries - 32 * (count - i);
        uint64_t at = forge_get(entry + 8, 8), length = forge_get(entry + 16, 8);
        if (at > size || length > size - at) continue;
        forge_footer_part *part = &p->footer_parts[p->footer_count++];
        *part = (forge_footer_part){
            (uint32_t)forge_get(entry, 4), (uint32_t)forge_get(entry + 4, 4), {0}};
        forge_append(&part->bytes, footer + at, length);
    }
}

int forge_parts_open(forge_parts *p, const uint8_t *image, uint64_t size) {
    memset(p, 0, sizeof *p);
    if (size < FORGE_HEAD + FORGE_FOOTER_HEADER + FORGE_TRAILER) return 0;
    memcpy(p->head, image, FORGE_HEAD);
    uint64_t at = forge_get(image + 12, 4) == 4096 ? 4096 : 64, dictionaries = 0;
    while (at <= size - FORGE_FOOTER_HEADER && memcmp(image + at, "FPFT", 4) != 0) {
        uint64_t block_size = forge_get(image + at + 8, 8);
        int known = !memcmp(image + at, "FPDI", 4) || !memcmp(image + at, "FPCH", 4);
        if (!known || p->count == FORGE_MOST_BLOCKS || block_size == 0 || block_size > size - at ||
            !take_block(image, at, block_size, &p->blocks[p->count])) {
            forge_parts_close(p);
            return 0;
        }
        p->count++;
        at += block_size;
    }
    if (at > size - FORGE_FOOTER_HEADER) {
        forge_parts_close(p);
        return 0;
    }
    memcpy(p->footer, image + at, FORGE_FOOTER_HEADER);
    take_parts(p, image + at, size - at);
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t entry = at + FORGE_FOOTER_HEADER + 24 * dictionaries;
        if (p->blocks[i].is_chunk) continue;
        if (entry + 24 <= size) p->blocks[i].in_use = forge_get(image + entry + 16, 8);
        dictionaries++;
    }
    return 1;
}

void forge_parts_close(forge_parts *p) {
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t k = 0; k < FORGE_SECTIONS; k++) free(p->blocks[i].sections[k].data);
    for (uint32_t i = 0; i < p->footer_count; i++) free(p->footer_parts[i].bytes.data);
    p->count = p->footer_count = 0;
}

forge_bytes forge_join(const forge_parts *p) {
    forge f;
    begin(&f, forge_get(p->head + 12, 4) == 4096 ? 4096 : 64, p->head);
    for (uint32_t i = 0; i < p->count; i++) {
        const forge_part *block = &p->blocks[i];
        if (block->is_chunk)
            add_chunk(&f, block->header, block->sections);
        else
            add_dictionary(&f, block->header, block->sections, block->in_use);
    }
    for (uint32_t i = 0; i < p->extra; i++)
        forge_add_extra(&f, "ABCD", (uint64_t)f.alignment * (3 - i % 2), (uint8_t)i);
    for (uint32_t i = 0; i < p->footer_count; i++)
        forge_add_part(&f, p->footer_parts[i].kind, p->footer_parts[i].flags,
                       p->footer_parts[i].bytes.data, p->footer_parts[i].bytes.size);
    finish(&f, p->footer);
    return f.file;
}
