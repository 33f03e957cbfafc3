/* test_writer_calls.c - what calls of the compression side leave behind: outputs of failures, a
 * writer after a refused append, files of equal rows that were appended in different pieces. */
#include "sink.h"

static int take_all(void *context, const void *data, size_t size) {
    (void)context, (void)data, (void)size;
    return 0;
}

/* Every failing call sets its outputs to NULL and 0, so that closing or freeing them is harmless. */
static void outputs_of_failures(void) {
    uint8_t byte = 0, *const sentinel = &byte;
    const uint64_t falling[3] = {0, 1, 0};
    fastpair_rows bad_rows = view_rows(2, &byte, falling), none = view_rows(0, NULL, NULL);
    const fastpair_compress_options bad = {.struct_size = sizeof bad, .code_bits = 40};
    const fastpair_allocator half = {.release = NULL, .allocate = (void *(*)(void *, size_t))0x1};
    const fastpair_sink sink = {take_all, NULL}, no_write = {NULL, NULL};
    const struct {
        const fastpair_sink *sink;
        const fastpair_compress_options *options;
    } opens[] = {{NULL, NULL}, {&no_write, NULL}, {&sink, &bad}, {NULL, &bad}};
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        fastpair_writer *writer = (fastpair_writer *)(void *)sentinel;
        CHECK_EQ(fastpair_writer_open(opens[i].sink, opens[i].options, &writer, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(writer == NULL);
    }
    const struct {
        const fastpair_rows *rows;
        const fastpair_compress_options *options;
    } inputs[] = {{NULL, NULL}, {&none, &bad}, {&bad_rows, NULL}, {NULL, &bad}};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const fastpair_rows *rows = inputs[i].rows;
        const fastpair_compress_options *options = inputs[i].options;
        uint8_t *image = sentinel;
        uint64_t size = 7;
        fastpair_dictionary *dictionary = (fastpair_dictionary *)(void *)sentinel;
        CHECK_EQ(fastpair_compress(rows, options, &image, &size, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(image == NULL && size == 0);
        image = sentinel;
        CHECK_EQ(fastpair_compress(rows, options, &image, NULL, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(image == NULL);
        size = 7;
        CHECK_EQ(fastpair_compress(rows, options, NULL, &size, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(size, 0);
        size = 7;
        CHECK_EQ(fastpair_compress_into(rows, options, &byte, 1, &size, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(size, 0);
        CHECK_EQ(fastpair_dictionary_train(rows, options, &dictionary, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(dictionary == NULL);
    }
    uint64_t size = 7;
    fastpair_dictionary *dictionary = (fastpair_dictionary *)(void *)sentinel;
    CHECK_EQ(fastpair_dictionary_open(NULL, 9, NULL, &dictionary, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK(dictionary == NULL);
    dictionary = (fastpair_dictionary *)(void *)sentinel;
    CHECK_EQ(fastpair_dictionary_open(&byte, 1, &half, &dictionary, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK(dictionary == NULL);
    CHECK_EQ(fastpair_dictionary_export_into(NULL, &byte, 1, &size, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(size, 0);
}

/* Refused rows leave the writer as it was, between any two appends and before finish. */
static void refused_appends(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 5, &(shape_options){.bytes = 30000, .null_percent = 10});
    const fastpair_compress_options options = {.struct_size = sizeof options, .chunk_bytes = 4000};
    const uint64_t falling[3] = {0, 1, 0}, huge[2] = {0, 5ull << 30};
    const fastpair_rows bad = view_rows(2, s.bytes, falling),
                        too_long = view_rows(1, s.bytes, huge);
    sink_state plain = {.fail_at = UINT64_MAX}, refused = {.fail_at = UINT64_MAX};
    CHECK_EQ(write_column(&plain, &s, &options, 0, 0, NULL), FASTPAIR_OK);
    fastpair_sink sink = {sink_write, &refused};
    fastpair_writer *writer = NULL;
    CHECK_EQ(fastpair_writer_open(&sink, &options, &writer, NULL), FASTPAIR_OK);
    for (uint64_t row = 0; row <= s.rows.rows; row += 100) {
        CHECK_EQ(fastpair_writer_append(writer, NULL, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(fastpair_writer_append(writer, &bad, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(fastpair_writer_append(writer, &too_long, NULL), FASTPAIR_ERROR_LIMIT);
        if (row)
            CHECK_EQ(fastpair_writer_set_framing(writer, 'x', 0, NULL),
                     FASTPAIR_ERROR_INVALID_ARGUMENT);
        uint64_t count = s.rows.rows - row < 100 ? s.rows.rows - row : 100;
        fastpair_rows piece = shape_slice(&s, row, count);
        CHECK_EQ(fastpair_writer_append(writer, &piece, NULL), FASTPAIR_OK);
    }
    CHECK_EQ(fastpair_writer_append(writer, &bad, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_writer_finish(writer, NULL), FASTPAIR_OK);
    fastpair_writer_close(writer);
    CHECK(plain.out.size == refused.out.size &&
          !memcmp(plain.out.data, refused.out.data, plain.out.size));
    free(plain.out.data), free(refused.out.data);
    shape_free(&s);
}

/* What lies under nulls does not matter, however rows are divided into appends. */
static void bytes_under_nulls(void) {
    for (int i = 0; i < 6; i++) {
        shape s;
        shape_make(&s, i % 2 ? SHAPE_LONG_AND_TINY : SHAPE_URLS, (uint64_t)i,
                   &(shape_options){
                       .bytes = 40000, .null_percent = 35, .bit_offset = 3, .first_offset = 50});
        shape tidy = s; /* the same rows with nothing under nulls */
        tidy.rows = view_rows(s.rows.rows, s.out_bytes, s.out_offsets);
        tidy.rows.validity = s.out_validity;
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .goal = i < 4 ? FASTPAIR_GOAL_BALANCED
                                                           : FASTPAIR_GOAL_RATIO,
                                             .chunk_bytes = 3000};
        options.expert = EXPERT(.sample_bytes = i < 2 ? 4000 : 0);
        sink_state first = {.fail_at = UINT64_MAX}, second = {.fail_at = UINT64_MAX};
        CHECK_EQ(write_column(&first, &s, &options, 7, 1, NULL), FASTPAIR_OK);
        CHECK_EQ(write_column(&second, &tidy, &options, 40, 2, NULL), FASTPAIR_OK);
        CHECK(first.out.size == second.out.size &&
              !memcmp(first.out.data, second.out.data, first.out.size));
        free(first.out.data), free(second.out.data);
        shape_free(&s);
    }
}

int main(void) {
    outputs_of_failures();
    refused_appends();
    bytes_under_nulls();
    return check_done();
}
