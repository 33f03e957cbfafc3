/* search_columns.h - columns for searches on the made-up GPU: few letters, so that patterns are met
 * often, across tokens, lanes and batches; dictionaries of any width, with gaps; rows that are null,
 * empty, of one code or of thousands. */
#ifndef FP_TESTS_SEARCH_COLUMNS_H
#define FP_TESTS_SEARCH_COLUMNS_H

#include "job_columns.h"

enum { SEARCH_TOKENS = 48, SEARCH_LONGEST = 12 };

/* A dictionary of random tokens over a few letters, and the codes that they have. */
typedef struct search_dictionary {
    uint32_t number, bits, slots, tokens;
    uint32_t codes[SEARCH_TOKENS];
    uint8_t length_of[1 << 16];
} search_dictionary;

static inline uint8_t draw_letter(void) { return (uint8_t)("aabAB\0\xc3\xa9"[draw(8)]); }

static inline forge_dictionary make_search_dictionary(search_dictionary *d, uint32_t bits) {
    forge_dictionary made_of = {0};
    uint8_t text[SEARCH_TOKENS * SEARCH_LONGEST];
    uint64_t size = 0;
    memset(d, 0, sizeof *d);
    d->bits = bits;
    d->tokens = 1u << bits < SEARCH_TOKENS ? 1u << bits : SEARCH_TOKENS;
    uint32_t step = (1u << bits) / d->tokens;
    made_of.codec = FASTPAIR_CODEC_ONPAIR, made_of.bits = bits, made_of.longest = 16;
    for (uint32_t i = 0; i < d->tokens; i++) {
        uint32_t code = i ? i * step + draw(step) : 0,
                 length = 1 + draw(draw(3) ? 3 : SEARCH_LONGEST);
        d->codes[i] = code;
        d->length_of[code] = (uint8_t)length;
        d->slots = code + 1;
        forge_add_run(&made_of, code, 1, length);
        for (uint32_t k = 0; k < length; k++) text[size++] = draw_letter();
    }
    forge_append(&made_of.section, text, size);
    made_of.slots = d->slots, made_of.tokens = d->tokens;
    return made_of;
}

/* Codes of a row: mostly few, sometimes as many as a lane, a warp or two of them have. */
static inline uint32_t draw_row(void) {
    static const uint32_t usual[] = {1, 2, 3, 5, 8, 31, 32, 33};
    uint32_t kind = draw(40);
    if (kind == 0) return 900 + draw(300);
    if (kind == 1) return 2 + draw(3000);
    return kind < 20 ? usual[draw(8)] : 1 + draw(12);
}

/* A coded chunk of `count` codes. */
static inline void add_search_chunk(forge *f, const search_dictionary *d, uint32_t count,
                                    uint32_t null_percent) {
    uint32_t *codes = malloc(count * sizeof *codes), *lengths = calloc(8 * count, sizeof *lengths);
    uint8_t *valid = malloc(8 * count);
    if (!codes || !lengths || !valid) abort();
    uint64_t rows = 0;
    memset(valid, 1, 8 * count);
    for (uint32_t i = 0, left = draw_row(), few = 1 + draw(d->tokens); i < count; i++) {
        codes[i] = d->codes[draw(draw(4) ? few : d->tokens)];
        lengths[rows] += d->length_of[codes[i]];
        if (--left && i + 1 < count) continue;
        left = draw_row();
        rows++;
        for (; draw(100) < null_percent && rows + 2 < 8 * count; rows++) valid[rows] = draw(3) == 0;
    }
    forge_chunk chunk =
        forge_coded_chunk(&(forge_codes){codes, count, d->bits, d->length_of, 256},
                          &(forge_rows){lengths, null_percent ? valid : NULL, rows});
    chunk.dictionary = d->number;
    forge_add_chunk(f, &chunk);
    free(codes), free(lengths), free(valid);
}

static inline void add_search_stored(forge *f, uint32_t size) {
    uint8_t *bytes = malloc(size + 1);
    uint32_t *lengths = calloc(size + 2, sizeof *lengths), rows = 0;
    if (!bytes || !lengths) abort();
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = draw_letter();
        lengths[rows]++;
        if (!draw(9)) rows++;
    }
    forge_chunk chunk = forge_stored_chunk(bytes, size, &(forge_rows){lengths, NULL, rows + 1});
    forge_add_chunk(f, &chunk);
    free(bytes), free(lengths);
}

/* Some chunks with one or two dictionaries. */
static inline void add_search_column(made *m, uint32_t bits) {
    static const uint32_t counts[] = {1, 31, 32, 33, 1023, 1024, 1025, 2047, 2048, 2500};
    search_dictionary *d = malloc(sizeof *d);
    if (!d) abort();
    forge f;
    forge_begin(&f, 64, 0, 0);
    for (uint32_t dictionary = 0, all = bits < 16 ? 1 + draw(2) : 1; dictionary < all;
         dictionary++) {
        forge_dictionary made_of = make_search_dictionary(d, bits);
        forge_add_dictionary(&f, &made_of);
        d->number = dictionary;
        for (uint32_t i = 0, chunks = 1 + draw(3); i < chunks; i++) {
            add_search_chunk(&f, d, draw(2) ? counts[draw(10)] : 1 + draw(4000),
                             draw(2) ? 0 : 1 + draw(80));
            if (!draw(3)) add_search_stored(&f, draw(2500));
        }
    }
    forge_finish(&f);
    free(d);
    add_image(m, f.file);
}

/* As the library writes them, with tokens of up to 64 bytes, some of which repeat, and one long row. */
static inline void add_phrases(made *m, uint32_t bits, uint32_t longest, uint64_t long_row) {
    uint64_t size = 0, rows = 1 + draw(1500), image_size = 0, most = rows * 200 + long_row;
    uint8_t *bytes = malloc(most), *image = NULL;
    uint64_t *offsets = malloc((rows + 1) * sizeof *offsets), longest_at = draw((uint32_t)rows);
    static const char *const phrase =
        "a phrase of some sixty bytes that a dictionary is likely to have whole";
    if (!bytes || !offsets) abort();
    for (uint64_t r = 0; r < rows; r++) {
        offsets[r] = size;
        if (draw(2)) memcpy(bytes + size, phrase, 70), size += 70;
        for (uint32_t length = draw(60); length; length--) bytes[size++] = draw_letter();
        for (uint64_t i = 0; r == longest_at && i < long_row; i++)
            bytes[size++] = (uint8_t)draw(256);
    }
    offsets[rows] = size;
    fastpair_rows view = view_rows(rows, bytes, offsets);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec =
                                             bits ? FASTPAIR_CODEC_ONPAIR : FASTPAIR_CODEC_STORED,
                                         .code_bits = bits,
                                         .max_token = bits ? longest : 0,
                                         .chunk_bytes = long_row || draw(2) ? 0 : 9000};
    CHECK_EQ(fastpair_compress(&view, &options, &image, &image_size, NULL), FASTPAIR_OK);
    add_image(m, (forge_bytes){image, image_size});
    free(bytes), free(offsets);
}

/* Rows of up to `most` bytes, some of them short, empty or null, in several chunks. */
static inline void add_long_rows(made *m, uint32_t bits, uint32_t longest, uint32_t most) {
    enum { LONG_ROWS = 90 };
    static const char *const phrase = "a phrase that is often there, whole or in part; ";
    uint64_t offsets[LONG_ROWS + 1], size = 0, image_size = 0;
    uint8_t *bytes = malloc((uint64_t)LONG_ROWS * (most + 50)), *image = NULL, valid[16];
    if (!bytes) abort();
    memset(valid, 255, sizeof valid);
    for (uint32_t r = 0; r < LONG_ROWS; r++) {
        uint32_t length = draw(3) ? draw(most) : draw(60);
        uint64_t end = size + (draw(8) ? length : 0);
        if (size == end && draw(2)) valid[r / 8] &= (uint8_t) ~(1u << r % 8);
        offsets[r] = size;
        while (size < end) {
            uint32_t part = 1 + draw(48);
            if (draw(3)) memcpy(bytes + size, phrase, part), size += part;
            bytes[size++] = draw_letter();
        }
        size = end;
    }
    offsets[LONG_ROWS] = size;
    fastpair_rows view = view_rows(LONG_ROWS, bytes, offsets);
    view.validity = valid;
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec =
                                             bits ? FASTPAIR_CODEC_ONPAIR : FASTPAIR_CODEC_STORED,
                                         .code_bits = bits,
                                         .max_token = bits ? longest : 0,
                                         .chunk_bytes = 5 * (uint64_t)most};
    CHECK_EQ(fastpair_compress(&view, &options, &image, &image_size, NULL), FASTPAIR_OK);
    add_image(m, (forge_bytes){image, image_size});
    free(bytes);
}

#endif
