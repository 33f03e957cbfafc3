/* test_compress_edges.c - the single cases that are known to break string codecs.
 *
 * Each case is one function that says what it is about; all are decoded every way verify.h knows.
 * Columns beyond 4 GiB take minutes and memory, so that case runs only with
 * FASTPAIR_TEST_FULL=1. */
#include "forge.h"
#include "verify.h"

static const struct {
    fastpair_codec codec;
    uint32_t code_bits, max_token;
} codecs[] = {{FASTPAIR_CODEC_ONPAIR, 16, 16}, {FASTPAIR_CODEC_ONPAIR, 12, 16},
              {FASTPAIR_CODEC_ONPAIR, 12, 8},  {FASTPAIR_CODEC_ONPAIR, 9, 16},
              {FASTPAIR_CODEC_FSST12, 0, 0},   {FASTPAIR_CODEC_STORED, 0, 0},
              {FASTPAIR_CODEC_AUTO, 0, 0}};
#define CODECS (sizeof codecs / sizeof codecs[0])

static fastpair_compress_options options_of(size_t i) {
    return (fastpair_compress_options){.struct_size = sizeof(fastpair_compress_options),
                                       .codec = codecs[i].codec,
                                       .code_bits = codecs[i].code_bits,
                                       .max_token = codecs[i].max_token};
}

/* Compresses with every codec and decodes every way; returns the info of the last. */
static fastpair_column_info every_codec(const shape *s) {
    fastpair_column_info info = {.struct_size = sizeof info};
    for (size_t i = 0; i < CODECS; i++) {
        fastpair_compress_options options = options_of(i);
        fastpair_error error;
        uint8_t *image = NULL;
        uint64_t size = 0;
        if (!verify_ok(fastpair_compress(&s->rows, &options, &image, &size, &error), &error,
                       s->name))
            continue;
        verify_effort effort = {6, 6, 4, 1, i};
        verify_image(image, size, s, &effort);
        fastpair_column *column = NULL;
        if (verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, s->name))
            fastpair_column_get_info(column, &info, NULL);
        fastpair_column_close(column);
        fastpair_free(NULL, image);
    }
    return info;
}

static void one_row(const char *name, const void *bytes, uint64_t size) {
    shape s;
    uint64_t offsets[2] = {0, size};
    shape_from_rows(&s, name, bytes, offsets, NULL, 1);
    every_codec(&s);
    shape_free(&s);
}

static void no_rows(void) {
    shape s;
    shape_make(&s, SHAPE_NO_ROWS, 1, &(shape_options){0});
    fastpair_column_info info = every_codec(&s);
    CHECK_EQ(info.rows, 0);
    CHECK_EQ(info.chunks, 0);
    CHECK_EQ(info.decoded_bytes, 0);
    shape_free(&s);
}

static void empty_and_null_rows(void) {
    uint64_t offsets[1001] = {0}, some[4] = {5, 5, 9, 9};
    uint8_t valid[1000], flags[3] = {1, 1, 0};
    shape s;
    shape_from_rows(&s, "one empty row", NULL, offsets, NULL, 1);
    every_codec(&s), shape_free(&s);
    shape_from_rows(&s, "1000 empty rows", NULL, offsets, NULL, 1000);
    every_codec(&s), shape_free(&s);
    memset(valid, 0, sizeof valid);
    shape_from_rows(&s, "one null row", NULL, offsets, valid, 1);
    every_codec(&s), shape_free(&s);
    shape_from_rows(&s, "1000 null rows", NULL, offsets, valid, 1000);
    fastpair_column_info info = every_codec(&s);
    CHECK_EQ(info.nulls, 1000);
    shape_free(&s);
    for (int i = 0; i < 1000; i++) valid[i] = i % 3 != 0;
    shape_from_rows(&s, "empty rows, every third null", NULL, offsets, valid, 1000);
    every_codec(&s), shape_free(&s);
    shape_from_rows(&s, "empty, text, null", (const uint8_t *)"xxxxxabcd", some, flags, 3);
    every_codec(&s), shape_free(&s);
    for (int i = 0; i < 1000; i++) valid[i] = 0, offsets[i + 1] = offsets[i] + 3;
    uint8_t *garbage = malloc(3000);
    memset(garbage, 'g', 3000);
    shape_from_rows(&s, "null rows that have bytes", garbage, offsets, valid, 1000);
    info = every_codec(&s);
    CHECK_EQ(info.decoded_bytes, 0);
    shape_free(&s);
    free(garbage);
}

/* NUL and 0xff: a zero-padded token must not be taken for a shorter one. */
static void nul_and_ff(void) {
    uint8_t *bytes = calloc(1, 300000);
    uint64_t offsets[2001] = {0}, at = 0;
    shape s;
    for (int value = 0; value < 256; value += 255) {
        memset(bytes, value, 300000);
        one_row("three alike", bytes, 3);
        one_row("300000 alike", bytes, 300000);
        for (int i = 0; i < 2000; i++)
            offsets[i + 1] = offsets[i] + (uint64_t)(i % 67); /* every length to 66, coded */
        shape_from_rows(&s, value ? "0xff rows" : "NUL rows", bytes, offsets, NULL, 2000);
        every_codec(&s), shape_free(&s);
    }
    for (int i = 0; i < 500; i++) { /* "ab", "ab\0", "ab\0\0", ... */
        bytes[at++] = 'a', bytes[at++] = 'b';
        for (int k = 0; k < i % 17; k++) bytes[at++] = 0;
        offsets[i + 1] = at;
    }
    shape_from_rows(&s, "ab with trailing NULs", bytes, offsets, NULL, 500);
    every_codec(&s), shape_free(&s);
    free(bytes);
}

/* Every byte value alone in a row and as the only byte of a column. */
static void every_byte(void) {
    uint8_t bytes[256];
    uint64_t offsets[257];
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i, offsets[i] = (uint64_t)i;
    offsets[256] = 256;
    shape s;
    shape_from_rows(&s, "all bytes, one a row", bytes, offsets, NULL, 256);
    every_codec(&s), shape_free(&s);
    one_row("all bytes in one row", bytes, 256);
}

static void one_long_row(void) {
    shape s;
    shape_make(&s, SHAPE_ONE_LONG_ROW, 3, &(shape_options){.bytes = 6u << 20});
    fastpair_compress_options options = options_of(1);
    options.chunk_bytes = 1000; /* far smaller than the row, which must not be cut */
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    if (verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, s.name)) {
        verify_effort effort = {2, 2, 2, 0, 1};
        verify_image(image, size, &s, &effort);
        CHECK(size < s.out_size / 2); /* trained on all of it, not on its first bytes only */
    }
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* Random bytes and tiny columns are stored, at the cost of headers alone. */
static void incompressible(void) {
    shape s;
    shape_make(&s, SHAPE_RANDOM_BYTES, 5, &(shape_options){.bytes = 300000});
    for (size_t i = 0; i < CODECS; i++) {
        fastpair_compress_options options = options_of(i);
        uint8_t *image = NULL;
        uint64_t size = 0;
        fastpair_error error;
        if (!verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, s.name))
            continue;
        fastpair_column *column = NULL;
        fastpair_column_info info = {.struct_size = sizeof info};
        verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, s.name);
        fastpair_column_get_info(column, &info, NULL);
        CHECK_EQ(info.stored_chunks, info.chunks);
        CHECK_EQ(info.code_bytes, s.out_size);
        CHECK_EQ(info.dictionaries, 0); /* nobody needs it */
        CHECK_EQ(info.codec, FASTPAIR_CODEC_STORED);
        fastpair_column_close(column);
        verify_effort effort = {3, 3, 3, 1, i};
        verify_image(image, size, &s, &effort);
        fastpair_free(NULL, image);
    }
    shape_free(&s);
    one_row("tiny column", "tiny", 4);
    one_row("one byte", "x", 1);
}

/* Five codes are enough for four values; three bits each. */
static void few_values(void) {
    shape s;
    shape_make(&s, SHAPE_FOUR_VALUES, 2, &(shape_options){.bytes = 400000});
    fastpair_compress_options options = options_of(0);
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    if (verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, s.name)) {
        fastpair_column *column = NULL;
        fastpair_column_info info = {.struct_size = sizeof info};
        verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, s.name);
        fastpair_column_get_info(column, &info, NULL);
        CHECK_EQ(info.tokens_in_use,
                 5); /* three values of at most 16 bytes, and one of 17 in two pieces */
        CHECK_EQ(info.code_bits, 3);
        fastpair_column_close(column);
        verify_effort effort = {3, 3, 3, 1, 1};
        verify_image(image, size, &s, &effort);
    }
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* ---------------------------------------------------------------- beyond 32 bits */

/* More than 4 GiB of input in 36 chunks: positions, rows and sums need 64 bits. */
static void beyond_4_gib(void) {
    const uint64_t piece_bytes = 120u << 20, pieces = 36;
    shape s;
    shape_make(&s, SHAPE_CLERKS, 1, &(shape_options){.bytes = piece_bytes});
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .threads = 2};
    fastpair_writer *writer = NULL;
    fastpair_error error;
    verify_ok(fastpair_writer_open(&sink, &options, &writer, &error), &error, "open");
    for (uint64_t i = 0; i < pieces; i++)
        verify_ok(fastpair_writer_append(writer, &s.rows, &error), &error, "append");
    verify_ok(fastpair_writer_finish(writer, &error), &error, "finish");
    fastpair_writer_close(writer);
    fastpair_column *column = NULL;
    fastpair_column_info info = {.struct_size = sizeof info};
    verify_ok(fastpair_column_open(image.data, image.size, NULL, &column, &error), &error, "open");
    verify_ok(fastpair_column_get_info(column, &info, &error), &error, "info");
    CHECK_EQ(info.rows, pieces * s.rows.rows);
    CHECK_EQ(info.decoded_bytes, pieces * s.out_size);
    CHECK(info.decoded_bytes > 1ull << 32);
    verify_ok(validate_with(2, column, &error), &error, "validate");
    uint64_t row = info.rows - 12345, inner = row % s.rows.rows, size = 0;
    uint8_t bytes[64];
    verify_ok(fastpair_column_decode_row(column, row, bytes, sizeof bytes, &size, NULL, &error),
              &error, "row");
    CHECK_EQ(size, s.out_offsets[inner + 1] - s.out_offsets[inner]);
    CHECK(!memcmp(bytes, s.out_bytes + s.out_offsets[inner], size));
    /* 32-bit offsets cannot hold it, and that is said before anything is written. */
    uint32_t dummy;
    fastpair_destination to = to_memory(bytes, info.decoded_bytes, &dummy, 32, NULL);
    CHECK_EQ(decode_with(2, column, 0, info.rows, &to, &error), FASTPAIR_ERROR_LIMIT);
    uint8_t *all = malloc(info.decoded_bytes);
    to = to_memory(all, info.decoded_bytes, NULL, 0, NULL);
    if (all && verify_ok(decode_with(2, column, 0, info.rows, &to, &error), &error, "decode all"))
        for (uint64_t i = 0; i < pieces; i++)
            CHECK(!memcmp(all + i * s.out_size, s.out_bytes, s.out_size));
    free(all), free(image.data);
    fastpair_column_close(column);
    shape_free(&s);
}

int main(void) {
    no_rows();
    empty_and_null_rows();
    nul_and_ff();
    every_byte();
    one_long_row();
    incompressible();
    few_values();
    const char *full = getenv("FASTPAIR_TEST_FULL");
    if (full && *full == '1') beyond_4_gib();
    return check_done();
}
