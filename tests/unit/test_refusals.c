/* test_refusals.c - calls that must be refused, each with a reason, and work that is called off.
 *
 * Every option out of range, every view of rows that cannot be, every decode that does not fit;
 * then a progress function that stops the work at each of its calls, and the fixed texts. */
#include "counting.h"
#include "verify.h"

static void refused_options(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 500});
    fastpair_dictionary *dictionary = NULL;
    CHECK_EQ(fastpair_dictionary_train(&s.rows, NULL, &dictionary, NULL), FASTPAIR_OK);
    const fastpair_compress_options good = {.struct_size = sizeof good};
    fastpair_compress_options bad[32];
    size_t n = 0;
    const size_t expert = sizeof(fastpair_expert_options);
    const fastpair_expert_options wrong[] = {{.struct_size = expert, .batch_codes = 31},
                                             {.struct_size = expert, .batch_codes = 33},
                                             {.struct_size = expert, .batch_codes = 1056},
                                             {.struct_size = expert, .section_alignment = 128},
                                             {.struct_size = expert, .hot_codes = 65537},
                                             {.struct_size = expert - 1}};
#define BAD(...)                                                                                   \
    do {                                                                                           \
        bad[n] = good;                                                                             \
        __VA_ARGS__;                                                                               \
        n++;                                                                                       \
    } while (0)
    BAD(bad[n].struct_size = 0);
    BAD(bad[n].codec = (fastpair_codec)99);
    BAD(bad[n].goal = (fastpair_goal)99);
    BAD(bad[n].codec = FASTPAIR_CODEC_ONPAIR; bad[n].code_bits = 8);
    BAD(bad[n].codec = FASTPAIR_CODEC_ONPAIR; bad[n].code_bits = 17);
    BAD(bad[n].codec = FASTPAIR_CODEC_ONPAIR; bad[n].max_token = 12);
    BAD(bad[n].codec = FASTPAIR_CODEC_FSST12; bad[n].code_bits = 16);
    BAD(bad[n].codec = FASTPAIR_CODEC_FSST12; bad[n].max_token = 16);
    BAD(bad[n].codec = FASTPAIR_CODEC_STORED; bad[n].code_bits = 12);
    BAD(bad[n].code_bits = 12);
    BAD(bad[n].max_token = 8);
    BAD(bad[n].chunk_bytes = (1ull << 30) + 1);
    BAD(bad[n].expert = &wrong[0]);
    BAD(bad[n].expert = &wrong[1]);
    BAD(bad[n].expert = &wrong[2]);
    BAD(bad[n].expert = &wrong[3]);
    BAD(bad[n].expert = &wrong[4]);
    BAD(bad[n].expert = &wrong[5]);
    BAD(bad[n].threads = 1025);
    BAD(bad[n].dictionary = dictionary; bad[n].codec = FASTPAIR_CODEC_ONPAIR);
    BAD(bad[n].dictionary = dictionary; bad[n].code_bits = 12);
    for (size_t i = 0; i < n; i++) {
        uint8_t *image = NULL;
        uint64_t size = 0;
        fastpair_error error = {.status = FASTPAIR_OK};
        fastpair_status status = fastpair_compress(&s.rows, &bad[i], &image, &size, &error);
        CHECK_EQ(status, FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(error.status, status);
        CHECK(image == NULL && strlen(error.message) > 8);
        if (status != FASTPAIR_ERROR_INVALID_ARGUMENT) fprintf(stderr, "  ^ option set %zu\n", i);
        fastpair_writer *writer = NULL;
        fastpair_sink sink = {NULL, NULL};
        CHECK_EQ(fastpair_writer_open(&sink, &bad[i], &writer, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(writer == NULL);
    }
    fastpair_dictionary_close(dictionary);
    shape_free(&s);
}

static void refused_rows(void) {
    uint64_t falling[4] = {0, 5, 3, 6}, offsets[2] = {0, 3};
    uint8_t bytes[8] = "abcdef", *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    fastpair_rows rows = view_rows(3, bytes, falling);
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(error.position, 1); /* the row whose end is before its start */
    rows = view_rows(1, NULL, offsets);
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    rows = view_rows(1, bytes, NULL);
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_compress(NULL, NULL, &image, &size, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    rows = view_rows(1, bytes, offsets);
    CHECK_EQ(fastpair_compress(&rows, NULL, NULL, &size, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK(image == NULL);
    /* A row of 4 GiB: the offsets alone say so, nothing may read the bytes. */
    uint64_t huge[2] = {0, 1ull << 32};
    rows = view_rows(1, bytes, huge);
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error), FASTPAIR_ERROR_LIMIT);
    CHECK_EQ(error.position, 0);
    /* The same bytes in a null row do not count. */
    uint8_t none = 0;
    rows.validity = &none;
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error), FASTPAIR_OK);
    fastpair_free(NULL, image);
}

static void refused_decodes(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 3000});
    uint8_t *image = NULL, bytes[4000], validity[500];
    uint64_t size = 0, offsets[500], n = s.rows.rows, got = 0, listed[2] = {0, n};
    fastpair_error error;
    fastpair_column *column = NULL;
    verify_ok(fastpair_compress(&s.rows, NULL, &image, &size, &error), &error, "compress");
    verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, "open");
    fastpair_destination to = to_memory(bytes, s.out_size, offsets, 64, validity), small = to,
                         odd = to, null_bytes = to;
    small.bytes_capacity--;
    odd.offset_bits = 16;
    null_bytes.bytes = NULL;
    CHECK_EQ(decode_with(1, column, 0, n, &to, &error), FASTPAIR_OK);
    CHECK_EQ(decode_with(1, column, 0, n, &small, &error), FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    CHECK_EQ(decode_with(1, column, 0, n, &odd, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_with(1, column, 0, n, &null_bytes, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_with(1, column, 0, n + 1, &to, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_with(1, column, 1, UINT64_MAX, &to, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_with(1, column, n + 1, 0, &to, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_with(1, column, n, 0, &to, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_decode_row(column, n, bytes, 4000, &got, NULL, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_listed_with(1, column, listed, 2, &to, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_listed_size(column, listed, 2, &got, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_rows_size(column, n, 1, &got, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_rows_size(column, 1, UINT64_MAX, &got, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_open_options open = {.struct_size = sizeof open, .cpu_level = (fastpair_cpu_level)99};
    fastpair_column *other = NULL;
    CHECK(fastpair_column_open(image, size, &open, &other, &error) != FASTPAIR_OK && other == NULL);
    open = (fastpair_open_options){.struct_size = sizeof open, .threads = 1025};
    CHECK_EQ(fastpair_column_open(image, size, &open, &other, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_open(NULL, 10, NULL, &other, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_open((const uint8_t *)"", 0, NULL, &other, &error),
             FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(fastpair_column_open_file("/nonexistent/column.fpc", NULL, &other, &error),
             FASTPAIR_ERROR_IO);
    CHECK(other == NULL);
    fastpair_column_close(column), fastpair_column_close(NULL);
    fastpair_writer_close(NULL), fastpair_reader_close(NULL), fastpair_dictionary_close(NULL),
        fastpair_free(NULL, NULL);
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* NULL where something is needed: INVALID_ARGUMENT, with and without room for the reason. */
static void null_arguments(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 300});
    uint8_t *image = NULL, bytes[8], *data = NULL;
    uint64_t size = 0, listed[1] = {0};
    fastpair_column *column = NULL;
    fastpair_dictionary *dictionary = NULL;
    fastpair_writer *writer = NULL;
    fastpair_reader *reader = NULL;
    fastpair_rows rows = {.struct_size = sizeof rows};
    fastpair_destination to = {.struct_size = sizeof to};
    fastpair_column_info info = {.struct_size = sizeof info}, no_size = {0};
    fastpair_sink sink = {NULL, NULL};
    fastpair_source source = {NULL, NULL};
    int flag = 0;
    for (int with = 0; with < 2; with++) {
        fastpair_error error, *e = with ? &error : NULL;
#define INVALID(call)                                                                              \
    do {                                                                                           \
        error.status = FASTPAIR_OK;                                                                \
        CHECK_EQ(call, FASTPAIR_ERROR_INVALID_ARGUMENT);                                           \
        if (with) CHECK_EQ(error.status, FASTPAIR_ERROR_INVALID_ARGUMENT);                         \
    } while (0)
        INVALID(fastpair_compress(NULL, NULL, &image, &size, e));
        INVALID(fastpair_compress(&s.rows, NULL, NULL, &size, e));
        INVALID(fastpair_compress(&s.rows, NULL, &data, NULL, e));
        INVALID(fastpair_writer_open(NULL, NULL, &writer, e));
        INVALID(fastpair_writer_open(&sink, NULL, &writer, e));
        INVALID(fastpair_writer_append(NULL, &s.rows, e));
        INVALID(fastpair_writer_set_framing(NULL, 0, 0, e));
        INVALID(fastpair_writer_finish(NULL, e));
        INVALID(fastpair_dictionary_train(NULL, NULL, &dictionary, e));
        INVALID(fastpair_dictionary_train(&s.rows, NULL, NULL, e));
        INVALID(fastpair_dictionary_train_first(NULL, 0, NULL, &dictionary, e));
        INVALID(fastpair_dictionary_train_first(&s.rows, 0, NULL, NULL, e));
        CHECK_EQ(fastpair_dictionary_export_size(NULL), 0);
        INVALID(fastpair_dictionary_export_into(NULL, bytes, 8, &size, e));
        INVALID(fastpair_dictionary_open(NULL, 9, NULL, &dictionary, e));
        INVALID(fastpair_dictionary_open(bytes, 8, NULL, NULL, e));
        INVALID(fastpair_column_open(bytes, 8, NULL, NULL, e));
        INVALID(fastpair_column_open_file(NULL, NULL, &column, e));
        INVALID(fastpair_column_get_info(NULL, &info, e));
        INVALID(validate_with(1, NULL, e));
        INVALID(fastpair_column_rows_size(NULL, 0, 0, &size, e));
        INVALID(decode_with(1, NULL, 0, 0, &to, e));
        INVALID(fastpair_column_decode_row(NULL, 0, bytes, 8, &size, NULL, e));
        INVALID(fastpair_column_listed_size(NULL, listed, 1, &size, e));
        INVALID(decode_listed_with(1, NULL, listed, 1, &to, e));
        INVALID(reader_open_with(1, NULL, NULL, &reader, e));
        INVALID(reader_open_with(1, &source, NULL, &reader, e));
        INVALID(fastpair_reader_next(NULL, &rows, &flag, e));
        INVALID(fastpair_reader_get_framing(NULL, &flag, bytes, &flag, e));
        uint8_t *again = NULL;
        uint64_t again_size = 0;
        CHECK_EQ(fastpair_compress(&s.rows, NULL, &again, &again_size, NULL), FASTPAIR_OK);
        column = NULL;
        CHECK_EQ(fastpair_column_open(again, again_size, NULL, &column, NULL), FASTPAIR_OK);
        INVALID(fastpair_column_get_info(column, NULL, e));
        INVALID(fastpair_column_get_info(column, &no_size, e));
        INVALID(fastpair_column_rows_size(column, 0, 1, NULL, e));
        INVALID(decode_with(1, column, 0, 1, NULL, e));
        INVALID(fastpair_column_decode_row(column, 0, NULL, 8, &size, NULL, e));
        INVALID(fastpair_column_decode_row(column, 0, bytes, 8, NULL, NULL, e));
        INVALID(fastpair_column_listed_size(column, NULL, 1, &size, e));
        INVALID(fastpair_column_listed_size(column, listed, 1, NULL, e));
        INVALID(decode_listed_with(1, column, NULL, 1, &to, e));
        INVALID(decode_listed_with(1, column, listed, 1, NULL, e));
        fastpair_column_close(column);
        verify_source from = {again, again_size, 0, 0};
        fastpair_source good = {verify_read, &from};
        INVALID(reader_open_with(1, &good, NULL, NULL, e));
        INVALID(reader_open_with(1025, &good, NULL, &reader, e));
        CHECK_EQ(reader_open_with(1, &good, NULL, &reader, NULL), FASTPAIR_OK);
        INVALID(fastpair_reader_next(reader, NULL, &flag, e));
        INVALID(fastpair_reader_next(reader, &rows, NULL, e));
        INVALID(fastpair_reader_get_framing(reader, NULL, bytes, &flag, e));
        INVALID(fastpair_reader_get_framing(reader, &flag, NULL, &flag, e));
        INVALID(fastpair_reader_get_framing(reader, &flag, bytes, NULL, e));
        fastpair_reader_close(reader);
        reader = NULL;
        fastpair_free(NULL, again);
    }
    shape_free(&s);
}

static int stop_after(void *context, uint64_t done, uint64_t total) {
    CHECK(total == 0 || done <= total);
    return (*(int *)context)-- <= 0;
}

/* A progress function can stop the work at any of its calls, and nothing is left behind. */
static void cancelled(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 200000});
    int finished = 0;
    for (int calls = 0; calls < 1000 && !finished; calls++) {
        counting c;
        counting_start(&c);
        int left = calls;
        fastpair_compress_options options = {
            .struct_size = sizeof options, .chunk_bytes = 20000, .threads = 2};
        options.allocator = counting_hooks(&c), options.progress = stop_after,
        options.progress_context = &left;
        uint8_t *image = NULL;
        uint64_t size = 0;
        fastpair_status status = fastpair_compress(&s.rows, &options, &image, &size, NULL);
        finished = status == FASTPAIR_OK;
        if (!finished) CHECK_EQ(status, FASTPAIR_ERROR_CANCELLED);
        if (calls == 0) CHECK(!finished);
        fastpair_free(&options.allocator, image);
        CHECK_EQ(c.live, 0);
    }
    CHECK(finished);
    shape_free(&s);
}

static void texts(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", FASTPAIR_VERSION_MAJOR, FASTPAIR_VERSION_MINOR,
             FASTPAIR_VERSION_PATCH);
    CHECK(!strcmp(fastpair_version(), expected));
    for (int status = 0; status <= FASTPAIR_ERROR_CANCELLED; status++) {
        CHECK(strcmp(fastpair_status_text((fastpair_status)status), "unknown status") != 0);
        for (int other = 0; other < status; other++)
            CHECK(strcmp(fastpair_status_text((fastpair_status)status),
                         fastpair_status_text((fastpair_status)other)) != 0);
    }
    CHECK(!strcmp(fastpair_status_text((fastpair_status)77), "unknown status"));
}

int main(void) {
    refused_options();
    refused_rows();
    refused_decodes();
    null_arguments();
    cancelled();
    texts();
    return check_done();
}
