/* samples.h - generated rows, the column they compress to, and what must come back: for tests on a
 * GPU, where columns are large. */
#ifndef FP_TESTS_SAMPLES_H
#define FP_TESTS_SAMPLES_H

#include "calls.h"
#include "check.h"
#include "tpch.h"

/* Kinds of rows. PS_COMMENT and SHORT_ROWS have nulls. */
enum {
    L_COMMENT,
    PS_COMMENT,
    SHORT_ROWS, /* short and empty */
    ONE_TOKEN,  /* 16 bytes, over and over */
    INCOMPRESSIBLE,
    COLUMN_KINDS,
    ADDRESSES = COLUMN_KINDS /* fills dictionaries of any size */
};
/* 2^bits different rows of 1 to 16 bytes, or to 8 if tokens are no longer, so that codes have so
 * many bits. */
#define FEW_OF(bits) (10 + (int)(bits))

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
static inline uint64_t make_row(int kind, uint64_t longest, fp_tpch_gen *generator, uint64_t *state,
                                uint8_t *row) {
    uint64_t length = 0;
    if (kind == L_COMMENT || kind == PS_COMMENT || kind == ADDRESSES)
        return fp_tpch_next(generator, (char *)row);
    if (kind > FEW_OF(0)) {
        uint64_t which = check_random(state) % (1u << (kind - FEW_OF(0)));
        for (; length < 1 + which * 5 % longest; length++)
            row[length] = (uint8_t)(which + length * 37);
    } else if (kind == SHORT_ROWS)
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
    fp_tpch_open(&generator, 11,
                 kind == ADDRESSES ? FP_TPCH_C_ADDRESS
                 : kind % 2        ? FP_TPCH_PS_COMMENT
                                   : FP_TPCH_L_COMMENT);
    s.offsets[0] = 0;
    for (uint64_t empty = 0; size < bytes && empty < bytes; s.rows++) {
        int is_null = is_null_row(kind, s.rows, &state);
        uint64_t longest = options->max_token == 8 ? 8 : 16;
        uint64_t length = is_null ? 0 : make_row(kind, longest, &generator, &state, s.bytes + size);
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

static inline void sample_close(sample *s) {
    fastpair_column_close(s->column);
    fastpair_free(NULL, s->image);
    free(s->bytes), free(s->offsets), free(s->validity);
}

#endif
