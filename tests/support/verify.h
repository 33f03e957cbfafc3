/* verify.h - every way to decode an image must give the same rows.
 *
 * In: an image and the shape it was made from. Checks fail unless all decoders give the rows of the
 * shape, byte for byte, in buffers of exactly the size they ask for: the oracle, the whole decode
 * at every CPU level, row ranges, single rows, listed rows, the same from a source of ranges, and the
 * streaming reader. Validation and the column's info must agree with the oracle. */
#ifndef FP_TESTS_VERIFY_H
#define FP_TESTS_VERIFY_H

#include "calls.h"
#include "check.h"
#include "fastpair.h"
#include "guard.h"
#include "oracle.h"
#include "ranged.h"
#include "shapes.h"

#define VERIFY_LEVELS 5

typedef struct verify_effort {
    uint32_t ranges, singles, lists; /* how many of each to try */
    int all_levels;                  /* else only the best */
    uint64_t random;
} verify_effort;

/* The seed to use: FASTPAIR_TEST_SEED or 1, and printed, so that a failure can be repeated. */
static inline uint64_t verify_seed(void) {
    const char *text = getenv("FASTPAIR_TEST_SEED");
    uint64_t seed = text && *text ? strtoull(text, NULL, 10) : 1;
    printf("seed %llu (FASTPAIR_TEST_SEED)\n", (unsigned long long)seed);
    return seed;
}

static inline void verify_note(unsigned long long failed_before, const char *name,
                               const char *what) {
    if (check_failed != failed_before) fprintf(stderr, "  ^ %s: %s\n", what, name);
}

/* A status that must be OK; says why when it is not. */
static inline int verify_ok(fastpair_status status, const fastpair_error *error, const char *what) {
    CHECK_EQ(status, FASTPAIR_OK);
    if (status != FASTPAIR_OK)
        fprintf(stderr, "  ^ %s: %s (status %d, position %llu)\n", what, error->message,
                (int)error->status, (unsigned long long)error->position);
    return status == FASTPAIR_OK;
}

static inline int verify_valid(const shape *s, uint64_t row) {
    return s->out_validity[row / 8] >> (row % 8) & 1;
}

/* Decoded offsets and validity against the shape; row i of the destination is row listed[i] of the
 * shape, or row first + i. (Nine parameters: all that one decode call can be asked and can give.) */
static inline void verify_rows(const shape *s, const uint64_t *listed, uint64_t first,
                               uint64_t count, const void *bytes, const void *offsets,
                               uint32_t offset_bits, const uint8_t *validity, uint64_t nulls) {
    uint64_t wrong = 0, at = 0, nulls_expected = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = listed ? listed[i] : first + i, start = s->out_offsets[row];
        uint64_t length = s->out_offsets[row + 1] - start;
        if (offset_bits == 32) wrong += ((const uint32_t *)offsets)[i] != at;
        if (offset_bits == 64) wrong += ((const uint64_t *)offsets)[i] != at;
        if (validity) wrong += (validity[i / 8] >> (i % 8) & 1) != verify_valid(s, row);
        wrong += length && memcmp((const uint8_t *)bytes + at, s->out_bytes + start, length) != 0;
        nulls_expected += !verify_valid(s, row);
        at += length;
    }
    if (offset_bits == 32) wrong += ((const uint32_t *)offsets)[count] != at;
    if (offset_bits == 64) wrong += ((const uint64_t *)offsets)[count] != at;
    for (uint64_t i = count; validity && i % 8; i++) wrong += validity[i / 8] >> (i % 8) & 1;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(nulls, nulls_expected);
}

/* Decodes a range (listed NULL) or listed rows into guarded buffers and compares. (Eight parameters:
 * all that one decode call can be asked.) */
static inline void verify_decode(const fastpair_column *column, const shape *s,
                                 const uint64_t *listed, uint64_t first, uint64_t count,
                                 uint32_t offset_bits, int with_validity, uint32_t threads) {
    fastpair_error error;
    uint64_t size = UINT64_MAX, expected = 0;
    for (uint64_t i = 0; listed && i < count; i++)
        expected += s->out_offsets[listed[i] + 1] - s->out_offsets[listed[i]];
    if (!listed) expected = s->out_offsets[first + count] - s->out_offsets[first];
    fastpair_status status = listed
                                 ? fastpair_column_listed_size(column, listed, count, &size, &error)
                                 : fastpair_column_rows_size(column, first, count, &size, &error);
    if (!verify_ok(status, &error, "size")) return;
    CHECK_EQ(size, expected);
    if (size != expected) return;
    guard bytes = guard_make(size), offsets = guard_make((count + 1) * (offset_bits / 8));
    guard validity = guard_make((count + 7) / 8);
    fastpair_destination to = {
        .struct_size = sizeof to, .bytes = bytes.data, .bytes_capacity = size, .nulls = UINT64_MAX};
    if (offset_bits) to.offsets = offsets.data, to.offset_bits = offset_bits;
    if (with_validity) to.validity = validity.data;
    status = listed ? decode_listed_with(threads, column, listed, count, &to, &error)
                    : decode_with(threads, column, first, count, &to, &error);
    if (verify_ok(status, &error, "decode"))
        verify_rows(s, listed, first, count, bytes.data, offsets.data, offset_bits, to.validity,
                    to.nulls);
    CHECK(guard_free(&bytes));
    CHECK(guard_free(&offsets));
    CHECK(guard_free(&validity));
}

static inline void verify_single(const fastpair_column *column, const shape *s, uint64_t row) {
    fastpair_error error;
    uint64_t length = s->out_offsets[row + 1] - s->out_offsets[row], size = UINT64_MAX;
    int is_null = -1;
    guard bytes = guard_make(length);
    fastpair_status status =
        fastpair_column_decode_row(column, row, bytes.data, length, &size, &is_null, &error);
    if (verify_ok(status, &error, "decode_row")) {
        CHECK_EQ(size, length);
        CHECK_EQ(is_null, !verify_valid(s, row));
        CHECK(!length || !memcmp(bytes.data, s->out_bytes + s->out_offsets[row], length));
    }
    if (length) {
        size = UINT64_MAX;
        memset(bytes.data, 0x77, length - 1);
        status =
            fastpair_column_decode_row(column, row, bytes.data, length - 1, &size, NULL, &error);
        CHECK_EQ(status, FASTPAIR_ERROR_BUFFER_TOO_SMALL);
        CHECK_EQ(size, length);
        int touched = 0;
        for (uint64_t i = 0; i + 1 < length; i++) touched |= bytes.data[i] != 0x77;
        CHECK(!touched);
    }
    CHECK(guard_free(&bytes));
}

/* ---------------------------------------------------------------- the reader */

typedef struct verify_source {
    const uint8_t *data;
    uint64_t size, at;
    uint64_t most; /* most bytes per read; 0: as many as asked for */
} verify_source;

static inline int verify_read(void *context, void *data, size_t size, size_t *got) {
    verify_source *source = context;
    uint64_t give = source->size - source->at;
    if (give > size) give = size;
    if (source->most && give > source->most) give = source->most;
    if (give) memcpy(data, source->data + source->at, give);
    source->at += give;
    *got = give;
    return 0;
}

static inline void verify_reader(const uint8_t *image, uint64_t size, const shape *s, uint64_t most,
                                 uint32_t threads) {
    verify_source from = {image, size, 0, most};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_error error;
    if (!verify_ok(reader_open_with(threads, &source, NULL, &reader, &error), &error,
                   "reader_open"))
        return;
    uint64_t row = 0, wrong = 0;
    for (;;) {
        fastpair_rows got = {.struct_size = sizeof got};
        int at_end = -1;
        if (!verify_ok(fastpair_reader_next(reader, &got, &at_end, &error), &error, "reader_next"))
            break;
        if (at_end) {
            CHECK_EQ(got.rows, 0);
            break;
        }
        CHECK(got.rows > 0);
        CHECK(got.rows <= s->rows.rows - row);
        if (got.rows == 0 || got.rows > s->rows.rows - row) break;
        for (uint64_t i = 0; i < got.rows; i++, row++) {
            uint64_t start = fp_row_start(&got, i), length = fp_row_start(&got, i + 1) - start,
                     bit = got.validity_bit_offset + i;
            int valid = got.validity ? got.validity[bit / 8] >> (bit % 8) & 1 : 1;
            wrong += valid != verify_valid(s, row);
            wrong += length != s->out_offsets[row + 1] - s->out_offsets[row];
            if (!wrong && length)
                wrong += memcmp(got.bytes + start, s->out_bytes + s->out_offsets[row], length) != 0;
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(row, s->rows.rows);
    CHECK_EQ(from.at, size);
    fastpair_reader_close(reader);
}

/* ---------------------------------------------------------------- oracle and info */

static inline void verify_oracle(const uint8_t *image, uint64_t size, const shape *s,
                                 oracle_column *oracle) {
    int good = oracle_decode(image, size, oracle);
    CHECK(good);
    if (!good) {
        fprintf(stderr, "  ^ the oracle says: %s at %llu\n", oracle->why,
                (unsigned long long)oracle->where);
        return;
    }
    CHECK(!oracle->gaps_not_zero);
    CHECK(!oracle->padding_not_zero);
    CHECK(!oracle->rows_cut_tokens);
    CHECK(!oracle->empty_slots_used);
    CHECK_EQ(oracle->rows, s->rows.rows);
    CHECK_EQ(oracle->nulls, s->nulls);
    CHECK_EQ(oracle->decoded_bytes, s->out_size);
    /* Written cold, a chunk may be stored after all, when its tokens have been counted. */
    if (oracle->cold_chunks && oracle->stored_chunks)
        CHECK(oracle->tokens_claimed >= oracle->tokens_in_use);
    else
        CHECK_EQ(oracle->tokens_claimed, oracle->tokens_in_use);
    if (oracle->rows != s->rows.rows || oracle->decoded_bytes != s->out_size) return;
    CHECK(!s->out_size || !memcmp(oracle->bytes, s->out_bytes, s->out_size));
    CHECK(!memcmp(oracle->offsets, s->out_offsets, (s->rows.rows + 1) * 8));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < oracle->rows; i++) wrong += oracle->valid[i] != verify_valid(s, i);
    CHECK_EQ(wrong, 0);
}

static inline void verify_info(const fastpair_column *column, const oracle_column *oracle,
                               uint64_t size) {
    fastpair_error error;
    fastpair_column_info info = {.struct_size = sizeof info};
    if (!verify_ok(fastpair_column_get_info(column, &info, &error), &error, "get_info")) return;
    CHECK_EQ(info.rows, oracle->rows);
    CHECK_EQ(info.nulls, oracle->nulls);
    CHECK_EQ(info.decoded_bytes, oracle->decoded_bytes);
    CHECK_EQ(info.compressed_bytes, size);
    CHECK_EQ(info.codes, oracle->codes);
    CHECK_EQ(info.coded_bytes, oracle->coded_bytes);
    CHECK_EQ(info.chunks, oracle->chunks);
    CHECK_EQ(info.stored_chunks, oracle->stored_chunks);
    CHECK_EQ(info.cold_chunks, oracle->cold_chunks);
    CHECK_EQ(info.dictionaries, oracle->dictionaries);
    CHECK_EQ(info.codec, oracle->dictionaries ? oracle->first_codec : FASTPAIR_CODEC_STORED);
    if (oracle->dictionaries) CHECK_EQ(info.code_bits, oracle->first_bits);
    if (oracle->dictionaries) CHECK_EQ(info.max_token, oracle->first_longest);
    CHECK_EQ(info.tokens, oracle->tokens);
    CHECK_EQ(info.tokens_in_use, oracle->tokens_claimed);
    CHECK(!memcmp(info.codes_by_length, oracle->codes_by_length, sizeof info.codes_by_length));
    if (oracle->chunks) CHECK_EQ(info.batch_codes, oracle->first_batch_codes);
    CHECK_EQ(info.largest_batch, oracle->largest_batch);
    CHECK_EQ(info.dictionary_bytes, oracle->dictionary_bytes);
    CHECK_EQ(info.code_bytes, oracle->code_bytes);
    CHECK_EQ(info.sidecar_bytes, oracle->sidecar_bytes);
    CHECK_EQ(info.length_bytes, oracle->length_bytes);
    CHECK_EQ(info.validity_bytes, oracle->validity_bytes);
    CHECK_EQ(info.has_framing, oracle->has_framing);
    if (oracle->has_framing) CHECK_EQ(info.separator, oracle->separator);
    if (oracle->has_framing) CHECK_EQ(info.final_separator, oracle->final_separator);
    CHECK_EQ(info.type, oracle->is_text ? FASTPAIR_TYPE_TEXT : FASTPAIR_TYPE_BYTES);
}

/* ---------------------------------------------------------------- all of it */

static inline uint64_t verify_below(verify_effort *effort, uint64_t bound) {
    return bound ? check_random(&effort->random) % bound : 0;
}

static inline void verify_column(const fastpair_column *column, const shape *s,
                                 verify_effort *effort) {
    static const uint32_t widths[] = {0, 32, 64};
    uint64_t rows = s->rows.rows;
    fastpair_error error;
    verify_decode(column, s, NULL, 0, rows, 32, 1, 1);
    verify_decode(column, s, NULL, 0, rows, 64, 0, 1 + (uint32_t)verify_below(effort, 4));
    verify_ok(validate_with(1 + (uint32_t)verify_below(effort, 4), column, &error), &error,
              "validate");
    for (uint32_t i = 0; i < effort->ranges; i++) {
        uint64_t first = verify_below(effort, rows + 1), most = rows - first;
        if (i % 2 && most > 600) most = 600; /* short ranges as well as long ones */
        verify_decode(column, s, NULL, first, verify_below(effort, most + 1),
                      widths[verify_below(effort, 3)], (int)verify_below(effort, 2),
                      (uint32_t)verify_below(effort, 4));
    }
    for (uint32_t i = 0; rows && i < effort->singles; i++) {
        uint64_t row = i == 0 ? rows - 1 : verify_below(effort, rows);
        verify_single(column, s, row);
    }
    for (uint32_t i = 0; i < effort->lists; i++) {
        static const uint64_t most[] = {300, 20, 12000}; /* long lists are cut into pieces */
        uint64_t count =
            rows ? verify_below(effort, rows < 4096 ? most[i % 2] : most[(i + 2) % 3]) : 0;
        uint64_t ascending = verify_below(effort, 2);
        guard listed = guard_make(count * 8);
        uint64_t *list = (uint64_t *)(void *)listed.data;
        for (uint64_t k = 0; k < count; k++)
            list[k] = ascending ? k * (rows - 1) / count
                                : verify_below(effort, rows); /* repeats in both */
        verify_decode(column, s, list, 0, count, widths[verify_below(effort, 3)],
                      (int)verify_below(effort, 2), (uint32_t)verify_below(effort, 4));
        guard_free(&listed);
    }
}

/* The same image, read in small ranges. */
static inline void verify_ranged(const uint8_t *image, uint64_t size, const shape *s,
                                 const oracle_column *oracle, verify_effort *effort) {
    fastpair_error error;
    fastpair_column *column = NULL;
    fp_source_sizes sizes = ranged_sizes(image, size, verify_below(effort, UINT64_MAX));
    ranged from;
    ranged_start(&from, image, size);
    fastpair_range_source source = ranged_source(&from, (uint32_t)verify_below(effort, 6));
    if (verify_ok(fp_column_open_sized(&source, &sizes, NULL, &column, &error), &error, "ranges")) {
        verify_column(column, s, effort);
        verify_info(column, oracle, size);
        fastpair_column_close(column);
    }
    ranged_end(&from);
}

static inline void verify_image(const uint8_t *image, uint64_t size, const shape *s,
                                verify_effort *effort) {
    unsigned long long before = check_failed;
    fastpair_error error;
    oracle_column oracle;
    verify_oracle(image, size, s, &oracle);
    guard copy = guard_make(size); /* reading one byte past the image faults */
    memcpy(copy.data, image, size);
    for (uint32_t level = 0; level < (effort->all_levels ? VERIFY_LEVELS : 1); level++) {
        fastpair_open_options options = {.struct_size = sizeof options, .cpu_level = level};
        fastpair_column *column = NULL;
        fastpair_status status = fastpair_column_open(copy.data, size, &options, &column, &error);
        if (level >= 2 && status == FASTPAIR_ERROR_UNSUPPORTED) continue; /* this CPU lacks it */
        if (!verify_ok(status, &error, "open")) continue;
        if (level == 0) verify_info(column, &oracle, size);
        verify_column(column, s, effort);
        fastpair_column_close(column);
    }
    verify_ranged(copy.data, size, s, &oracle, effort);
    static const uint64_t most[] = {0, 1, 7, 4096, 100000};
    uint64_t piece = most[verify_below(effort, 5)];
    if (piece && size / piece > 200000) piece = 4096;
    verify_reader(copy.data, size, s, piece, 1 + (uint32_t)verify_below(effort, 4));
    guard_free(&copy);
    oracle_free(&oracle);
    verify_note(before, s->name, "rows");
}

#endif
