/* forge_contents.c - honest dictionaries and chunks, written after docs/format.md without the
 * library's help. In: codes, rows, a seed. Out: sections and blocks for forge.c, and whole columns
 * of them. */
#include "check.h"
#include "forge.h"

/* ---------------------------------------------------------------- sections */

forge_bytes forge_packed_codes(const forge_codes *c) {
    forge_bytes section = {0};
    forge_append(&section, NULL, (c->count * c->bits + 127) / 128 * 16);
    for (uint64_t i = 0; i < c->count; i++)
        forge_bits(section.data, i * c->bits, c->bits, c->codes[i]);
    return section;
}

forge_bytes forge_sidecar(const forge_codes *c, uint32_t *group, uint32_t largest[3]) {
    forge_bytes section = {0};
    uint32_t longest = 1;
    uint64_t begins[3] = {0}; /* of the present batch, pair and four */
    for (uint64_t i = 0; i < c->count; i++)
        if (c->length_of[c->codes[i]] > longest) longest = c->length_of[c->codes[i]];
    *group = 1, largest[0] = largest[1] = largest[2] = 0;
    /* Deltas have two bytes. */
    while (c->batch * *group * 2 <= (longest > 16 ? 65536 / longest : 4096)) *group *= 2;
    uint64_t batches = (c->count + c->batch - 1) / c->batch;
    uint64_t groups = (batches + *group - 1) / *group, decoded = 0, base = 0;
    forge_append(&section, NULL, groups * 4 + batches * 2);
    for (uint64_t k = 0; k < batches; k++) {
        if (k % *group == 0) forge_put(section.data + k / *group * 4, base = decoded, 4);
        forge_put(section.data + groups * 4 + k * 2, decoded - base, 2);
        for (int i = 0; i < 3; i++)
            if (k % (1u << i) == 0) begins[i] = decoded;
        for (uint64_t i = k * c->batch; i < (k + 1) * c->batch && i < c->count; i++)
            decoded += c->length_of[c->codes[i]];
        for (int i = 0; i < 3; i++)
            if (decoded - begins[i] > largest[i]) largest[i] = (uint32_t)(decoded - begins[i]);
    }
    return section;
}

forge_bytes forge_lengths(const forge_rows *r, uint32_t width) {
    forge_bytes section = {0};
    uint64_t blocks = (r->rows + 255) / 256, start = 0, place = blocks * 16;
    forge_append(&section, NULL,
                 place + r->rows / 256 * (8 * width) * 4 + (r->rows % 256 * width + 31) / 32 * 4);
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t in_block = r->rows - b * 256 < 256 ? r->rows - b * 256 : 256;
        uint8_t *entry = section.data + b * 16;
        forge_put(entry, start, 4), forge_put(entry + 4, place - blocks * 16, 4);
        forge_put(entry + 12, width, 1);
        for (uint64_t i = 0; i < in_block; i++) {
            forge_bits(section.data + place, i * width, width, r->lengths[b * 256 + i]);
            start += r->lengths[b * 256 + i];
        }
        place += (in_block * width + 31) / 32 * 4;
    }
    return section;
}

forge_bytes forge_validity(const forge_rows *r) {
    forge_bytes section = {0};
    forge_append(&section, NULL, (r->rows + 7) / 8);
    for (uint64_t i = 0; i < r->rows; i++) forge_bits(section.data, i, 1, r->valid[i]);
    return section;
}

/* ---------------------------------------------------------------- chunks */

static void add_rows(forge_chunk *c, const forge_rows *r) {
    c->rows = r->rows;
    c->sections[FORGE_LENGTHS] = forge_lengths(r, 32);
    for (uint64_t i = 0; r->valid && i < r->rows; i++) c->nulls += !r->valid[i];
    c->has_validity = c->nulls != 0;
    if (c->has_validity) c->sections[FORGE_VALIDITY] = forge_validity(r);
}

/* The count of a chunk's header that has tokens of this length. */
static uint32_t count_of(uint32_t length) {
    static const uint32_t most[16] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40, 48, 56, 64};
    uint32_t i = 0;
    while (length > most[i]) i++;
    return i;
}

forge_chunk forge_coded_chunk(const forge_codes *codes, const forge_rows *rows) {
    forge_chunk c = {.encoding = 1, .codes = codes->count, .batch = codes->batch};
    c.sections[FORGE_CODES] = forge_packed_codes(codes);
    uint32_t largest[3];
    c.sections[FORGE_SIDECAR] = forge_sidecar(codes, &c.group, largest);
    c.largest = largest[0], c.largest_pair = largest[1], c.largest_four = largest[2];
    for (uint64_t i = 0; i < codes->count; i++) {
        uint32_t length = codes->length_of[codes->codes[i]];
        c.decoded += length;
        c.by_length[count_of(length)]++;
    }
    add_rows(&c, rows);
    return c;
}

forge_chunk forge_stored_chunk(const void *bytes, uint64_t size, const forge_rows *rows) {
    forge_chunk c = {.dictionary = 0xffffffffu, .decoded = size};
    forge_append(&c.sections[FORGE_CODES], bytes, size);
    add_rows(&c, rows);
    return c;
}

/* ---------------------------------------------------------------- dictionaries */

void forge_add_run(forge_dictionary *d, uint32_t first, uint32_t count, uint32_t length) {
    uint8_t *run = forge_append(&d->section, NULL, 8);
    forge_put(run, first, 4);
    forge_put(run + 4, count - 1, 2);
    run[6] = (uint8_t)length;
    d->runs++;
}

forge_dictionary forge_plain_dictionary(const char *const *text, uint32_t tokens) {
    forge_dictionary d = {.codec = 1, .longest = 16, .slots = tokens, .tokens = tokens, .bits = 1};
    while (1ull << d.bits < tokens) d.bits++;
    for (uint32_t i = 0; i < tokens; i++) forge_add_run(&d, i, 1, (uint32_t)strlen(text[i]));
    for (uint32_t i = 0; i < tokens; i++) forge_append(&d.section, text[i], strlen(text[i]));
    return d;
}

forge_dictionary forge_class_dictionary(forge_classes *c, uint32_t bits, uint32_t longest, int hot,
                                        uint64_t seed) {
    uint64_t state = seed;
    uint32_t shift = bits > 3 ? bits - 3 : 0, in_class = 1u << shift, next = 0, bytes = 0;
    forge_dictionary d = {.codec = 1, .bits = bits, .longest = longest, .order = 1, .shift = shift};
    uint8_t text[8 * 64 * 64]; /* of each class, 64 tokens at most */
    memset(c, 0, sizeof *c);
    c->bits = bits, c->longest = longest;
    /* An eighth of the codes per class, so that a few lengths take more than half of all codes, as
     * they must for the width. Of eight classes five to seven are in use, or all if there are
     * fewer. Lengths ascend in each part, from 1 or 2 on. */
    uint32_t used = 5 + (uint32_t)(check_random(&state) % 3), cold_from = hot ? 2 : 0;
    if (bits < 3) used = 1u << bits;
    uint32_t shortest = 1 + (uint32_t)(check_random(&state) % 2);
    for (uint32_t k = 0; k < used; k++) {
        uint32_t in_part = k < cold_from ? k : k - cold_from;
        uint32_t length = k + 1 == used ? longest : shortest + in_part * longest / 8;
        uint32_t most = in_class < 64 ? in_class : 64;
        uint32_t count = 1 + (uint32_t)(check_random(&state) % most);
        if (hot && k == cold_from) d.hot = c->hot = k * in_class;
        next = k * in_class;
        forge_add_run(&d, next, count, length);
        for (uint32_t i = 0; i < count; i++, next++) {
            for (uint32_t n = 0; n < length; n++) text[bytes++] = (uint8_t)check_random(&state);
            c->length_of[next] = (uint8_t)length;
            c->codes[c->tokens++] = next;
        }
    }
    forge_append(&d.section, text, bytes);
    d.slots = c->slots = next;
    d.tokens = c->tokens;
    return d;
}

forge_chunk forge_class_chunk(const forge_classes *c, uint32_t count, uint32_t batch,
                              uint64_t seed) {
    uint64_t state = seed, rows = 0;
    uint32_t *codes = malloc(count * sizeof *codes), *lengths = calloc(count, sizeof *lengths);
    if (!codes || !lengths) abort();
    for (uint32_t i = 0; i < count; i++) {
        codes[i] = c->codes[check_random(&state) % c->tokens];
        lengths[rows] += c->length_of[codes[i]];
        rows += check_random(&state) % 40 == 0 || i + 1 == count;
    }
    forge_chunk chunk =
        forge_coded_chunk(&(forge_codes){codes, count, c->bits, c->length_of, batch},
                          &(forge_rows){lengths, NULL, rows});
    free(codes), free(lengths);
    return chunk;
}

/* ---------------------------------------------------------------- columns */

static void add_stored(forge *f) {
    const uint32_t lengths[] = {20, 0, 6};
    forge_chunk chunk =
        forge_stored_chunk("twenty bytes in all, and six", 26, &(forge_rows){lengths, NULL, 3});
    forge_add_chunk(f, &chunk);
}

forge_bytes forge_class_column(const forge_class_shape *s, uint64_t *random) {
    forge_classes *classes = malloc(sizeof *classes);
    if (!classes) abort();
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_dictionary d = forge_class_dictionary(classes, s->bits, s->longest, s->hot, s->seed);
    if (s->mixed) add_stored(&f);
    forge_add_dictionary(&f, &d);
    for (uint32_t i = 0; i < s->chunks; i++) {
        uint32_t count = 1 + (uint32_t)(check_random(random) % s->codes);
        forge_chunk chunk = forge_class_chunk(classes, count, s->batch, check_random(random));
        forge_add_chunk(&f, &chunk);
        if (s->mixed && check_random(random) % 3 == 0) add_stored(&f);
    }
    forge_finish(&f);
    free(classes);
    return f.file;
}

forge_bytes forge_plain_column(uint64_t *random) {
    static const char *const text[] = {"a", "bc", "of sixteen bytes", "def"};
    static const uint8_t length_of[] = {1, 2, 16, 3};
    uint32_t codes[500], length = 0;
    for (uint32_t i = 0; i < 500; i++)
        length += length_of[codes[i] = (uint32_t)(check_random(random) % 4)];
    forge_dictionary d = forge_plain_dictionary(text, 4);
    forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 500, 2, length_of, 256},
                                      &(forge_rows){&length, NULL, 1});
    return forge_column(&d, &c);
}

forge_bytes forge_empty_column(void) {
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_finish(&f);
    return f.file;
}
