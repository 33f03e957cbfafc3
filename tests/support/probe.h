/* probe.h - what the library makes of an image that may be damaged or forged.
 *
 * In: the image, and whether it must be accepted with given rows, must be refused, or may be
 * either. Every call is tried, in buffers of exactly the sizes it asks for, even after an earlier
 * call found a fault: a decoder must stay inside its buffers and finish on a file that nobody
 * validated. */
#ifndef FP_TESTS_PROBE_H
#define FP_TESTS_PROBE_H

#include "counting.h"
#include "verify.h"

typedef enum probe_truth { PROBE_ACCEPT, PROBE_REFUSE, PROBE_EITHER } probe_truth;

#define PROBE_LARGEST (64u << 20) /* claims above this are not allocated for */

/* A refusal must say what and where. */
static inline void probe_error(fastpair_status status, const fastpair_error *error, uint64_t size) {
    CHECK(status == FASTPAIR_ERROR_CORRUPT || status == FASTPAIR_ERROR_UNSUPPORTED);
    CHECK_EQ(error->status, status);
    CHECK(error->position <= size);
    CHECK(strnlen(error->message, sizeof error->message) > 8 &&
          strnlen(error->message, sizeof error->message) < 240);
    if (error->position > size || status == FASTPAIR_ERROR_INVALID_ARGUMENT)
        fprintf(stderr, "  ^ said: %s (status %d, position %llu)\n", error->message, (int)status,
                (unsigned long long)error->position);
}

/* Decodes without validating first. Whatever the file says, nothing outside the buffers may be
 * touched. */
static inline void probe_decode(const fastpair_column *column, uint64_t image_size, uint64_t rows,
                                uint64_t *random) {
    fastpair_error error;
    for (int attempt = 0; attempt < 4; attempt++) {
        uint64_t first = 0, count = rows, size = 0;
        if (attempt && rows)
            first = check_random(random) % rows, count = check_random(random) % (rows - first + 1);
        if (count > 1u << 20) count = 1u << 20;
        fastpair_status status = fastpair_column_rows_size(column, first, count, &size, &error);
        if (status != FASTPAIR_OK) {
            probe_error(status, &error, image_size);
            continue;
        }
        if (size > PROBE_LARGEST) continue;
        guard bytes = guard_make(size), offsets = guard_make((count + 1) * 8),
              validity = guard_make((count + 7) / 8);
        fastpair_destination to = to_memory(bytes.data, size, offsets.data, 64, validity.data);
        status = decode_with(1 + (uint32_t)attempt % 2, column, first, count, &to, &error);
        if (status != FASTPAIR_OK && status != FASTPAIR_ERROR_BUFFER_TOO_SMALL)
            probe_error(status, &error, image_size);
        CHECK(guard_free(&bytes) && guard_free(&offsets) && guard_free(&validity));
    }
    for (int attempt = 0; rows && attempt < 4; attempt++) {
        uint64_t row = check_random(random) % rows, size = 0, again = 0;
        fastpair_status status =
            fastpair_column_decode_row(column, row, NULL, 0, &size, NULL, &error);
        if (status != FASTPAIR_OK && status != FASTPAIR_ERROR_BUFFER_TOO_SMALL)
            probe_error(status, &error, image_size);
        if (status != FASTPAIR_ERROR_BUFFER_TOO_SMALL || size > PROBE_LARGEST) continue;
        guard bytes = guard_make(size);
        status = fastpair_column_decode_row(column, row, bytes.data, size, &again, NULL, &error);
        if (status == FASTPAIR_OK)
            CHECK(again <= size);
        else
            probe_error(status, &error, image_size);
        CHECK(guard_free(&bytes));
    }
    uint64_t listed[6], size = 0;
    for (int i = 0; rows && i < 6; i++) listed[i] = check_random(random) % rows;
    if (rows && fastpair_column_listed_size(column, listed, 6, &size, &error) == FASTPAIR_OK &&
        size <= PROBE_LARGEST) {
        guard bytes = guard_make(size), offsets = guard_make(7 * 4);
        fastpair_destination to = to_memory(bytes.data, size, offsets.data, 32, NULL);
        decode_listed_with(1, column, listed, 6, &to, &error);
        CHECK(guard_free(&bytes) && guard_free(&offsets));
    }
}

/* Reads to the end or to the first error; returns 1 if all was well and the rows are those of `s`
 * (if given). */
static inline int probe_reader(const uint8_t *image, uint64_t size, const shape *s,
                               const fastpair_allocator *hooks) {
    verify_source from = {image, size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_open_options options = {.struct_size = sizeof options, .allocator = *hooks};
    fastpair_reader *reader = NULL;
    fastpair_error error;
    fastpair_status status = reader_open_with(2, &source, &options, &reader, &error);
    uint64_t row = 0, same = 1;
    for (int at_end = 0; status == FASTPAIR_OK && !at_end;) {
        fastpair_rows got = {.struct_size = sizeof got};
        status = fastpair_reader_next(reader, &got, &at_end, &error);
        for (uint64_t i = 0; status == FASTPAIR_OK && i < got.rows; i++, row++) {
            uint64_t start = fp_row_start(&got, i), length = fp_row_start(&got, i + 1) - start,
                     bit = got.validity_bit_offset + i;
            if (!s) continue;
            same &= row < s->rows.rows && length == s->out_offsets[row + 1] - s->out_offsets[row];
            if (!same) continue;
            same &=
                (got.validity ? got.validity[bit / 8] >> (bit % 8) & 1 : 1) == verify_valid(s, row);
            same &=
                !length || !memcmp(got.bytes + start, s->out_bytes + s->out_offsets[row], length);
        }
    }
    if (status != FASTPAIR_OK) probe_error(status, &error, size);
    if (status == FASTPAIR_OK && s) same &= row == s->rows.rows;
    fastpair_reader_close(reader);
    return status == FASTPAIR_OK && same;
}

/* The same image from a source of ranges: opening and validating say the same, and nothing that is tried
 * without validating does harm. `expected` is what was said of the image in memory. */
static inline void probe_ranged(const uint8_t *image, uint64_t size,
                                const fastpair_open_options *options,
                                const fastpair_error *expected, uint64_t *random) {
    ranged from;
    ranged_start(&from, image, size);
    fastpair_range_source source = ranged_source(&from, 1 + (uint32_t)(check_random(random) % 3));
    for (int first = 0; first < 2; first++) { /* validated at once, or after other calls */
        fp_source_sizes sizes = ranged_sizes(image, size, check_random(random));
        fastpair_error error = {.status = FASTPAIR_OK};
        fastpair_column *column = NULL;
        fastpair_status status = fp_column_open_sized(&source, &sizes, options, &column, &error);
        if (status == FASTPAIR_OK) {
            fastpair_column_totals totals = {.struct_size = sizeof totals};
            CHECK_EQ(fastpair_column_get_totals(column, &totals, NULL), FASTPAIR_OK);
            if (!first) probe_decode(column, size, totals.rows, random);
            status = validate_with(1, column, &error);
        }
        CHECK_EQ(status, expected->status);
        if (status) CHECK_EQ(error.position, expected->position);
        if (status) CHECK(!strcmp(error.message, expected->message));
        if (status && strcmp(error.message, expected->message))
            fprintf(stderr, "  ^ from a source: %s\n    in memory: %s\n", error.message,
                    expected->message);
        fastpair_column_close(column);
    }
    CHECK(!from.was_outside);
    ranged_end(&from);
}

/* `s` is what the rows are if the image is accepted; NULL only with PROBE_REFUSE. `random` chooses
 * what is tried. */
static inline void probe(const char *what, const uint8_t *image, uint64_t size, const shape *s,
                         probe_truth truth, uint64_t *random) {
    unsigned long long before = check_failed;
    counting memory;
    counting_start(&memory);
    fastpair_allocator hooks = counting_hooks(&memory);
    fastpair_error error;
    guard copy = guard_make(size);
    memcpy(copy.data, image, size);
    fastpair_open_options options = {.struct_size = sizeof options, .allocator = hooks};
    options.cpu_level = (uint32_t)(check_random(random) % 2);
    fastpair_column *column = NULL;
    fastpair_status status = fastpair_column_open(copy.data, size, &options, &column, &error);
    /* "A small multiple of size, plus 1.2 MiB per dictionary"; a dictionary block has at least 128
     * bytes. */
    CHECK(memory.peak_bytes <= 64 * size + (size / 128) * 1300000 + 65536);
    int accepted = 0;
    if (status == FASTPAIR_OK) {
        fastpair_column_totals totals = {.struct_size = sizeof totals};
        fastpair_column_info info = {.struct_size = sizeof info};
        CHECK_EQ(fastpair_column_get_totals(column, &totals, &error), FASTPAIR_OK);
        if (!(image[20] & 1)) /* a frame may hold far more than it has bytes */
            CHECK(totals.decoded_bytes <= 128 * size && totals.rows <= 16 * size); /* SECURITY.md */
        /* Headers of chunks are read now, unlike when the column was opened. */
        status = fastpair_column_get_info(column, &info, &error);
        if (status != FASTPAIR_OK) probe_error(status, &error, size);
        probe_decode(column, size, totals.rows, random);
        status = validate_with(1, column, &error);
        accepted = status == FASTPAIR_OK;
        if (accepted && s && truth != PROBE_REFUSE) {
            verify_effort effort = {1, 2, 1, 0, *random};
            verify_column(column, s, &effort);
        }
        fastpair_column_close(column);
    } else
        CHECK(column == NULL);
    if (accepted) error = (fastpair_error){.status = FASTPAIR_OK};
    if (!accepted) probe_error(status, &error, size);
    probe_ranged(copy.data, size, &options, &error, random);
    int read = probe_reader(copy.data, size, s, &hooks);
    if (truth == PROBE_ACCEPT) CHECK(accepted && read);
    if (truth == PROBE_REFUSE) CHECK(!accepted);
    if (truth == PROBE_REFUSE) CHECK(!read);
    CHECK_EQ(memory.live, 0);
    guard_free(&copy);
    if (!accepted && truth == PROBE_ACCEPT)
        fprintf(stderr, "  ^ refused: %s at %llu\n", error.message,
                (unsigned long long)error.position);
    verify_note(before, what, "image");
}

/* The same with the oracle as judge. */
static inline void probe_by_oracle(const char *what, const uint8_t *image, uint64_t size,
                                   uint64_t *random) {
    oracle_column oracle;
    shape s;
    char text[400];
    int good = oracle_decode(image, size, &oracle);
    snprintf(text, sizeof text, "%s (oracle: %s)", what, good ? "good" : oracle.why);
    if (good) {
        int lax = oracle.gaps_not_zero || oracle.padding_not_zero || oracle.rows_cut_tokens ||
                  oracle.empty_slots_used;
        shape_from_rows(&s, text, oracle.bytes, oracle.offsets, oracle.valid, oracle.rows);
        probe(text, image, size, &s, lax ? PROBE_REFUSE : PROBE_ACCEPT, random);
        shape_free(&s);
    } else
        probe(text, image, size, NULL, PROBE_REFUSE, random);
    oracle_free(&oracle);
}

#endif
