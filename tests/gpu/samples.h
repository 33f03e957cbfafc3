/* samples.h - generated rows, the column they compress to, and what must come back: for tests on a
 * GPU, where columns are large. */
#ifndef FP_TESTS_SAMPLES_H
#define FP_TESTS_SAMPLES_H

#include "calls.h"
#include "check.h"
#include "forge.h"
#include "tpch.h"

/* Kinds of rows. PS_COMMENT and SHORT_ROWS have nulls. */
enum {
    L_COMMENT,
    PS_COMMENT,
    SHORT_ROWS, /* short and empty */
    ONE_TOKEN,  /* 16 bytes, over and over */
    INCOMPRESSIBLE,
    COLUMN_KINDS
};

/* A column and its rows. Null rows are empty. */
typedef struct sample {
    uint8_t *bytes;
    uint64_t *offsets;
    /* An Arrow bitmap in whole 32-bit words, all ones where the kind has no nulls; spare bits are
     * 0. */
    uint8_t *validity;
    uint64_t rows, nulls;
    uint8_t *image;
    uint64_t image_size;
    fastpair_column *column;
} sample;

/* Stretches of 300 rows: no nulls, some, nothing else. */
static inline int is_null_row(int kind, uint64_t row, uint64_t *state) {
    uint64_t stretch = row / 300 % 3;
    if (kind != PS_COMMENT && kind != SHORT_ROWS) return 0;
    return stretch == 1 ? check_random(state) % 5 == 0 : stretch == 2;
}

/* The next row; returns its length. */
static inline uint64_t make_row(int kind, fp_tpch_gen *generator, uint64_t *state, uint8_t *row) {
    uint64_t length = 0;
    if (kind == L_COMMENT || kind == PS_COMMENT) return fp_tpch_next(generator, (char *)row);
    if (kind == SHORT_ROWS)
        for (; length < check_random(state) % 5; length++)
            row[length] = (uint8_t) "abcab"[check_random(state) % 5];
    else if (kind == ONE_TOKEN) {
        memcpy(row, "ABCDEFGHIJKLMNOP", 16);
        length = 16;
    } else
        for (; length < 40; length++) row[length] = (uint8_t)check_random(state);
    return length;
}

/* About `bytes` bytes of rows of one kind, compressed. */
static inline sample sample_open(int kind, uint64_t bytes,
                                 const fastpair_compress_options *options) {
    sample s = {.bytes = malloc(bytes + FP_TPCH_MAX_ROW), .offsets = malloc((2 * bytes + 900) * 8)};
    uint64_t size = 0, state = 7 + (uint64_t)kind;
    fp_tpch_gen generator;
    fastpair_error error = {.message = ""};
    s.validity = calloc(2 * bytes + 900, 1);
    if (!s.bytes || !s.offsets || !s.validity) abort();
    fp_tpch_open(&generator, 11, kind % 2 ? FP_TPCH_PS_COMMENT : FP_TPCH_L_COMMENT);
    s.offsets[0] = 0;
    for (uint64_t empty = 0; size < bytes && empty < bytes; s.rows++) {
        int is_null = is_null_row(kind, s.rows, &state);
        uint64_t length = is_null ? 0 : make_row(kind, &generator, &state, s.bytes + size);
        size += length;
        empty += length == 0;
        s.nulls += (uint64_t)is_null;
        if (!is_null) s.validity[s.rows / 8] |= (uint8_t)(1u << s.rows % 8);
        s.offsets[s.rows + 1] = size;
    }
    fp_tpch_close(&generator);
    fastpair_rows rows = view_rows(s.rows, s.bytes, s.offsets);
    if (s.nulls) rows.validity = s.validity;
    CHECK_EQ(fastpair_compress(&rows, options, &s.image, &s.image_size, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_open(s.image, s.image_size, NULL, &s.column, &error), FASTPAIR_OK);
    if (!s.column) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    return s;
}

/* A column that was forged, and what the CPU makes of it. Takes the image's memory. */
static inline sample sample_of_image(forge_bytes image) {
    fastpair_error error = {.message = ""};
    fastpair_column_info info = {.struct_size = sizeof info};
    sample s = {.image = image.data, .image_size = image.size};
    CHECK_EQ(fastpair_column_open(s.image, s.image_size, NULL, &s.column, &error), FASTPAIR_OK);
    if (!s.column) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    CHECK_EQ(fastpair_column_get_info(s.column, &info, &error), FASTPAIR_OK);
    s.rows = info.rows, s.nulls = info.nulls;
    s.bytes = malloc(info.decoded_bytes + 1), s.offsets = malloc((s.rows + 1) * 8);
    s.validity = calloc((s.rows + 31) / 32 * 4 + 1, 1);
    if (!s.bytes || !s.offsets || !s.validity) abort();
    fastpair_destination to = to_memory(s.bytes, info.decoded_bytes, s.offsets, 64, s.validity);
    CHECK_EQ(fastpair_column_decode(s.column, 0, s.rows, &to, &error), FASTPAIR_OK);
    return s;
}

static inline void sample_close(sample *s) {
    fastpair_column_close(s->column);
    fastpair_free(NULL, s->image);
    free(s->bytes), free(s->offsets), free(s->validity);
}

#endif
