/* forge.h - builds `.fpc` images field by field, honest or not, for tests of what the library makes of them.
 *
 * In goes what each header and section is to say; out comes an image laid out as docs/format.md asks, with every
 * checksum right: whoever crafts a hostile file computes them too. Fields the caller sets are written as they
 * are, so any lie can be told. It shares no code with the library. Out of memory aborts: this is test code. */
#ifndef FP_TESTS_FORGE_H
#define FP_TESTS_FORGE_H

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static inline uint64_t forge_get(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static inline void forge_put(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

/* ---------------------------------------------------------------- altering images that exist */

static inline void forge_reseal_section(uint8_t *data, uint64_t size, uint64_t at, uint64_t entry) {
    uint64_t offset = forge_get(data + entry, 8), length = forge_get(data + entry + 8, 8);
    if (length && length <= size - at && offset <= size - at - length)
        forge_put(data + entry + 16, XXH3_64bits(data + at + offset, length), 8);
}

/* Recomputes every checksum of an altered image. Blocks are found by their kind at multiples of 64; sections that
 * do not lie inside the image are left alone. */
static inline void forge_reseal(uint8_t *data, uint64_t size) {
    if (size < 64 + 112 + 32) return;
    forge_put(data + 56, XXH3_64bits(data, 56), 8);
    for (uint64_t at = 64; at + 112 <= size; at += 64) {
        if (!memcmp(data + at, "FPDI", 4)) {
            forge_reseal_section(data, size, at, at + 48);
            forge_put(data + at + 88, XXH3_64bits(data + at, 88), 8);
        } else if (!memcmp(data + at, "FPCH", 4) && at + 320 <= size) {
            for (uint64_t i = 0; i < 4; i++)
                forge_reseal_section(data, size, at, at + 208 + 24 * i);
            forge_put(data + at + 312, XXH3_64bits(data + at, 312), 8);
        } else if (!memcmp(data + at, "FPFT", 4)) {
            uint64_t block_size = forge_get(data + at + 8, 8);
            if (block_size >= 112 && block_size <= size - at)
                forge_put(data + at + 72,
                          block_size > 112 ? XXH3_64bits(data + at + 112, block_size - 112) : 0, 8);
            forge_put(data + at + 104, XXH3_64bits(data + at, 104), 8);
        }
    }
    forge_put(data + size - 16, XXH3_64bits(data + size - 32, 16), 8);
}

/* File offset of the n-th block of a kind ("FPDI", "FPCH", "FPFT"), or 0 if there is none: no block is at 0. */
static inline uint64_t forge_block(const uint8_t *data, uint64_t size, const char *kind,
                                   uint64_t n) {
    for (uint64_t at = 64; at + 112 <= size; at += 64)
        if (!memcmp(data + at, kind, 4) && n-- == 0) return at;
    return 0;
}

/* ---------------------------------------------------------------- building images */

typedef struct forge_bytes {
    uint8_t *data;
    uint64_t size;
} forge_bytes;

typedef struct forge_dictionary {
    uint32_t codec, bits, longest, order, shift, slots, tokens, hot, runs;
    uint32_t in_use; /* tokens that occur, for the footer; 0: all */
    uint64_t seed;
    forge_bytes section; /* run entries, then token bytes */
} forge_dictionary;

enum { FORGE_CODES, FORGE_SIDECAR, FORGE_LENGTHS, FORGE_VALIDITY };

typedef struct forge_chunk {
    uint32_t encoding, has_validity, dictionary, batch, group, largest;
    uint64_t rows, nulls, codes, decoded;
    uint64_t by_length[16];
    forge_bytes sections[4];
} forge_chunk;

typedef struct forge {
    forge_bytes file;
    uint32_t alignment;
    uint64_t dictionaries, chunks, rows, nulls, codes, decoded;
    uint8_t entries[2][4096]; /* of the footer: dictionaries, chunks */
    int final_separator;
} forge;

/* Appends `size` bytes (zeroes if `data` is NULL) and returns where they are. There is no room to spare behind them, so that
 * sanitizers see reads beyond; each call copies all, so that loops do better to append once. */
static inline uint8_t *forge_append(forge_bytes *bytes, const void *data, uint64_t size) {
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

static inline void forge_align(forge_bytes *bytes, uint32_t alignment) {
    if (bytes->size % alignment) forge_append(bytes, NULL, alignment - bytes->size % alignment);
}

static inline void forge_begin(forge *f, uint32_t alignment, int framing, uint8_t separator) {
    memset(f, 0, sizeof *f);
    f->alignment = alignment;
    uint8_t *h = forge_append(&f->file, NULL, 64);
    memcpy(h, "\x89\x46\x50\x43\x0d\x0a\x1a\x0a", 8);
    forge_put(h + 8, 1, 2);
    forge_put(h + 12, alignment, 4);
    h[16] = (uint8_t)framing;
    h[17] = separator;
    forge_put(h + 56, XXH3_64bits(h, 56), 8);
    forge_align(&f->file, alignment);
}

/* Appends a section and fills its entry, which is at file offset `entry` of the block that begins at `at`. */
static inline void forge_section(forge *f, uint64_t at, uint64_t entry,
                                 const forge_bytes *section) {
    if (!section->size) return;
    forge_align(&f->file, f->alignment);
    uint64_t offset = f->file.size - at;
    forge_append(&f->file, section->data, section->size);
    forge_put(f->file.data + entry, offset, 8);
    forge_put(f->file.data + entry + 8, section->size, 8);
    forge_put(f->file.data + entry + 16, XXH3_64bits(section->data, section->size), 8);
}

/* Both take the sections' memory. */
static inline void forge_add_dictionary(forge *f, forge_dictionary *d) {
    uint64_t at = f->file.size;
    uint8_t *h = forge_append(&f->file, NULL, 96);
    memcpy(h, "FPDI\x60\0\0\0", 8);
    h[16] = (uint8_t)d->codec, h[17] = (uint8_t)d->bits, h[18] = (uint8_t)d->longest;
    h[19] = (uint8_t)d->order, h[20] = (uint8_t)d->shift;
    forge_put(h + 24, d->slots, 4), forge_put(h + 28, d->tokens, 4);
    forge_put(h + 32, d->hot, 4), forge_put(h + 36, d->runs, 4), forge_put(h + 40, d->seed, 8);
    forge_section(f, at, at + 48, &d->section);
    forge_align(&f->file, f->alignment);
    h = f->file.data + at;
    forge_put(h + 8, f->file.size - at, 8);
    forge_put(h + 88, XXH3_64bits(h, 88), 8);
    uint8_t *entry = f->entries[0] + 24 * f->dictionaries++;
    forge_put(entry, at, 8), forge_put(entry + 8, f->file.size - at, 8),
        forge_put(entry + 16, d->in_use ? d->in_use : d->tokens, 4);
    free(d->section.data);
    memset(&d->section, 0, sizeof d->section);
}

static inline void forge_add_chunk(forge *f, forge_chunk *c) {
    uint64_t at = f->file.size;
    uint8_t *h = forge_append(&f->file, NULL, 320);
    memcpy(h, "FPCH\x40\1\0\0", 8);
    h[16] = (uint8_t)c->encoding, h[17] = (uint8_t)c->has_validity;
    forge_put(h + 20, c->dictionary, 4), forge_put(h + 24, c->rows, 8),
        forge_put(h + 32, c->nulls, 8);
    forge_put(h + 40, c->codes, 8), forge_put(h + 48, c->decoded, 8),
        forge_put(h + 56, c->batch, 4);
    forge_put(h + 60, c->group, 4), forge_put(h + 64, c->largest, 4);
    for (int i = 0; i < 16; i++) forge_put(h + 80 + 8 * i, c->by_length[i], 8);
    for (int i = 0; i < 4; i++) forge_section(f, at, at + 208 + 24 * (uint64_t)i, &c->sections[i]);
    forge_align(&f->file, f->alignment);
    h = f->file.data + at;
    forge_put(h + 8, f->file.size - at, 8);
    forge_put(h + 312, XXH3_64bits(h, 312), 8);
    uint8_t *entry = f->entries[1] + 32 * f->chunks++;
    forge_put(entry, at, 8), forge_put(entry + 8, f->file.size - at, 8);
    forge_put(entry + 16, c->rows, 8), forge_put(entry + 24, c->decoded, 8);
    f->rows += c->rows, f->nulls += c->nulls, f->codes += c->codes, f->decoded += c->decoded;
    for (int i = 0; i < 4; i++) free(c->sections[i].data);
    memset(c->sections, 0, sizeof c->sections);
}

/* Footer and trailer. The image is f->file; free f->file.data. */
static inline void forge_finish(forge *f) {
    uint64_t at = f->file.size, d = 24 * f->dictionaries, c = 32 * f->chunks;
    uint8_t *h = forge_append(&f->file, NULL, 112 + d + c + 32);
    memcpy(h, "FPFT\x70\0\0\0", 8);
    forge_put(h + 8, 112 + d + c, 8), forge_put(h + 16, f->dictionaries, 8),
        forge_put(h + 24, f->chunks, 8);
    forge_put(h + 32, f->rows, 8), forge_put(h + 40, f->nulls, 8);
    forge_put(h + 48, f->codes, 8), forge_put(h + 56, f->decoded, 8);
    h[64] = (uint8_t)f->final_separator;
    memcpy(h + 112, f->entries[0], d), memcpy(h + 112 + d, f->entries[1], c);
    forge_put(h + 72, d + c ? XXH3_64bits(h + 112, d + c) : 0, 8);
    forge_put(h + 104, XXH3_64bits(h, 104), 8);
    uint8_t *t = h + 112 + d + c;
    forge_put(t, at, 8), forge_put(t + 8, f->file.size, 8),
        forge_put(t + 16, XXH3_64bits(t, 16), 8);
    memcpy(t + 24, "\x46\x50\x43\x0a\x1a\x45\x4e\x44", 8);
}

/* ---------------------------------------------------------------- honest contents */

/* A dictionary of order 0 with a run for each token: token i is `text[i]`, code i. */
static inline forge_dictionary forge_plain_dictionary(const char *const *text, uint32_t tokens) {
    forge_dictionary d = {
        .codec = 1, .longest = 16, .slots = tokens, .tokens = tokens, .runs = tokens, .bits = 1};
    while (1ull << d.bits < tokens) d.bits++;
    for (uint32_t i = 0; i < tokens; i++) {
        uint8_t *run = forge_append(&d.section, NULL, 8);
        forge_put(run, i, 4);
        run[6] = (uint8_t)strlen(text[i]);
    }
    for (uint32_t i = 0; i < tokens; i++) forge_append(&d.section, text[i], strlen(text[i]));
    return d;
}

static inline void forge_bits(uint8_t *section, uint64_t bit, uint32_t width, uint64_t value) {
    for (uint32_t i = 0; i < width; i++)
        if (value >> i & 1) section[(bit + i) / 8] |= (uint8_t)(1u << ((bit + i) % 8));
}

/* The row-length section for `rows` lengths. `width` is used as given: it must hold the lengths less the minimum, 0. */
static inline forge_bytes forge_lengths(const uint32_t *lengths, uint64_t rows, uint32_t width) {
    forge_bytes section = {0};
    uint64_t blocks = (rows + 255) / 256, start = 0, place = blocks * 16;
    forge_append(&section, NULL,
                 place + rows / 256 * (8 * width) * 4 + (rows % 256 * width + 31) / 32 * 4);
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t in_block = rows - b * 256 < 256 ? rows - b * 256 : 256;
        uint8_t *entry = section.data + b * 16;
        forge_put(entry, start, 4), forge_put(entry + 4, place - blocks * 16, 4),
            forge_put(entry + 12, width, 1);
        for (uint64_t i = 0; i < in_block; i++) {
            forge_bits(section.data + place, i * width, width, lengths[b * 256 + i]);
            start += lengths[b * 256 + i];
        }
        place += (in_block * width + 31) / 32 * 4;
    }
    return section;
}

/* A coded chunk: `length_of[code]` are the dictionary's token lengths, `valid` (one byte a row) may be NULL. */
static inline forge_chunk forge_coded_chunk(const uint32_t *codes, uint64_t count, uint32_t bits,
                                            const uint8_t *length_of, uint32_t batch,
                                            const uint32_t *lengths, const uint8_t *valid,
                                            uint64_t rows) {
    forge_chunk c = {.encoding = 1, .rows = rows, .codes = count, .batch = batch, .group = 1};
    while (batch * c.group * 2 <= 4096) c.group *= 2;
    uint64_t batches = (count + batch - 1) / batch, groups = (batches + c.group - 1) / c.group;
    forge_append(&c.sections[FORGE_CODES], NULL, (count * bits + 127) / 128 * 16);
    forge_append(&c.sections[FORGE_SIDECAR], NULL, groups * 4 + batches * 2);
    uint8_t *sidecar = c.sections[FORGE_SIDECAR].data;
    uint64_t group_start = 0, batch_start = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i % batch == 0) {
            uint64_t k = i / batch;
            if (k % c.group == 0) forge_put(sidecar + k / c.group * 4, group_start = c.decoded, 4);
            forge_put(sidecar + groups * 4 + k * 2, c.decoded - group_start, 2);
            batch_start = c.decoded;
        }
        forge_bits(c.sections[FORGE_CODES].data, i * bits, bits, codes[i]);
        c.decoded += length_of[codes[i]];
        c.by_length[length_of[codes[i]] - 1]++;
        if (c.decoded - batch_start > c.largest) c.largest = (uint32_t)(c.decoded - batch_start);
    }
    c.sections[FORGE_LENGTHS] = forge_lengths(lengths, rows, 32);
    for (uint64_t i = 0; valid && i < rows; i++) c.nulls += !valid[i];
    if (c.nulls) {
        c.has_validity = 1;
        forge_append(&c.sections[FORGE_VALIDITY], NULL, (rows + 7) / 8);
        for (uint64_t i = 0; i < rows; i++)
            forge_bits(c.sections[FORGE_VALIDITY].data, i, 1, valid[i]);
    }
    return c;
}

/* A stored chunk of the given bytes. */
static inline forge_chunk forge_stored_chunk(const void *bytes, uint64_t size,
                                             const uint32_t *lengths, uint64_t rows) {
    forge_chunk c = {.dictionary = 0xffffffffu, .rows = rows, .decoded = size};
    forge_append(&c.sections[FORGE_CODES], bytes, size);
    c.sections[FORGE_LENGTHS] = forge_lengths(lengths, rows, 32);
    return c;
}

#endif
