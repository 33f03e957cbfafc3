/* truth.h - forged columns whose rows are known, and reading them front to back.
 *
 * Images are built field by field (forge.h), so nothing here depends on the writer: several
 * dictionaries, coded and stored chunks, chunks of empty rows, nulls at any bit, rows that cross
 * many windows of work. */
#ifndef FP_TESTS_TRUTH_H
#define FP_TESTS_TRUTH_H

#include "calls.h"
#include "check.h"
#include "fastpair.h"
#include "forge.h"

enum { TRUTH_MOST_TOKENS = 300 };

/* A column and what its rows are. */
typedef struct truth {
    forge image;
    uint64_t rows, nulls, size;
    uint8_t *bytes;
    uint64_t *offsets;
    uint8_t *valid;
    char text[TRUTH_MOST_TOKENS][17]; /* of the last dictionary: its tokens */
    uint8_t length_of[TRUTH_MOST_TOKENS];
    uint32_t tokens, bits;
} truth;

/* What a chunk of random rows is like. Coded chunks use the last dictionary. */
typedef struct truth_chunk {
    uint64_t rows;
    uint32_t batch;       /* codes per batch, if coded */
    uint32_t longest_row; /* in tokens */
    uint32_t null_percent;
} truth_chunk;

void truth_begin(truth *t, uint32_t alignment, int framing);
void truth_add_dictionary(truth *t, uint32_t tokens, uint64_t *random);
void truth_add_coded(truth *t, const truth_chunk *shape, uint64_t *random);
void truth_add_stored(truth *t, const truth_chunk *shape, uint64_t *random);
void truth_free(truth *t);

/* A finished column of everything at once: at least `bytes` decoded bytes, in up to 16 * `scale`
 * rows per chunk. */
truth truth_mixed(uint64_t bytes, uint64_t scale, uint32_t alignment, uint64_t *random);

/* ---------------------------------------------------------------- streaming */

typedef struct drip {
    const uint8_t *data;
    uint64_t size, at;
    uint64_t most;    /* most bytes per call; 0: all asked for */
    uint64_t fail_at; /* EIO when this offset is reached */
} drip;

static inline int drip_read(void *context, void *data, size_t size, size_t *got) {
    drip *d = context;
    uint64_t take = d->size - d->at < size ? d->size - d->at : size;
    if (d->most && take > d->most) take = d->most;
    if (d->at + take > d->fail_at) return 5;
    memcpy(data, d->data + d->at, take);
    d->at += take;
    *got = take;
    return 0;
}

/* Reads to the end or an error; counts the rows given and checks them against `t` where it is not
 * NULL. */
static inline fastpair_status stream(drip *from, const truth *t, uint32_t threads,
                                     const fastpair_allocator *hooks, uint64_t *rows_read,
                                     fastpair_error *error) {
    fastpair_source source = {drip_read, from};
    fastpair_open_options options = {.struct_size = sizeof options};
    if (hooks) options.allocator = *hooks;
    fastpair_reader *reader = NULL;
    uint64_t row = 0, wrong = 0;
    int at_end = 0, has = -1, final = -1;
    uint8_t separator = 9;
    fastpair_status status = reader_open_with(threads, &source, &options, &reader, error);
    while (status == FASTPAIR_OK && !at_end) {
        fastpair_rows got = {.struct_size = sizeof got};
        CHECK_EQ(fastpair_reader_get_framing(reader, &has, &separator, &final, NULL), FASTPAIR_OK);
        if (has) CHECK(separator == '\n' && final == 1);
        status = fastpair_reader_next(reader, &got, &at_end, error);
        if (status) {
            fastpair_error again;
            CHECK_EQ(fastpair_reader_next(reader, &got, &at_end, &again),
                     status); /* it stays failed */
            CHECK(!strcmp(error->message, again.message));
            break;
        }
        CHECK_EQ(got.rows == 0, at_end);
        for (uint64_t i = 0; i < got.rows && t; i++, row++) {
            uint64_t start = t->offsets[row], length = t->offsets[row + 1] - start,
                     bit = got.validity_bit_offset + i;
            wrong +=
                fp_row_start(&got, i + 1) - fp_row_start(&got, i) != length ||
                (length && memcmp(got.bytes + fp_row_start(&got, i), t->bytes + start, length)) ||
                (got.validity ? got.validity[bit / 8] >> (bit % 8) & 1 : 1) != t->valid[row];
        }
    }
    if (status == FASTPAIR_OK) {
        fastpair_rows got = {.struct_size = sizeof got};
        CHECK_EQ(fastpair_reader_next(reader, &got, &at_end, NULL), FASTPAIR_OK);
        CHECK(at_end == 1 && got.rows == 0);
    }
    CHECK_EQ(wrong, 0);
    *rows_read = row;
    fastpair_reader_close(reader);
    return status;
}

#endif
