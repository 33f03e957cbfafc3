/* test_interface.c - what the public interface promises: both offset widths, equal rows that give
 * equal files, the chunk map, and validation of some rows. */
#include "forge.h"
#include "verify.h"

#include <stddef.h>

/* ---------------------------------------------------------------- rows */

typedef struct file {
    uint8_t *image;
    uint64_t size;
} file;

static file compress(const fastpair_rows *rows, const fastpair_compress_options *options) {
    file made = {NULL, 0};
    fastpair_error error;
    verify_ok(fastpair_compress(rows, options, &made.image, &made.size, &error), &error,
              "compress");
    return made;
}

static void demand_same(const char *name, file one, file other) {
    unsigned long long before = check_failed;
    CHECK_EQ(one.size, other.size);
    CHECK(one.size == other.size && !memcmp(one.image, other.image, one.size));
    verify_note(before, name, "equal rows give other files");
    fastpair_free(NULL, other.image);
}

static int sink_append(void *context, const void *data, size_t size) {
    forge_append(context, data, size);
    return 0;
}

static file stream(const fastpair_rows *rows, const fastpair_compress_options *options) {
    forge_bytes out = {0};
    fastpair_sink sink = {sink_append, &out};
    fastpair_writer *writer = NULL;
    CHECK_EQ(fastpair_writer_open(&sink, options, &writer, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_append(writer, rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_finish(writer, NULL), FASTPAIR_OK);
    fastpair_writer_close(writer);
    return (file){out.data, out.size};
}

static file train(const fastpair_rows *rows, const fastpair_compress_options *options) {
    file made = {NULL, 0};
    fastpair_dictionary *dictionary = NULL;
    CHECK_EQ(fastpair_dictionary_train(rows, options, &dictionary, NULL), FASTPAIR_OK);
    CHECK_EQ(export_dictionary(dictionary, &made.image, &made.size, NULL), FASTPAIR_OK);
    fastpair_dictionary_close(dictionary);
    return made;
}

/* The same rows three ways: as the shape has them, with garbage under nulls and odd offsets; as
 * they come back, with empty nulls; and those with 32-bit offsets at an odd address. All must give
 * the same file and the same dictionary. */
static void equal_rows(shape_kind kind, uint64_t seed, const fastpair_compress_options *options) {
    shape s;
    shape_make(
        &s, kind, seed,
        &(shape_options){.bytes = 400000, .null_percent = 30, .bit_offset = 5, .first_offset = 77});
    fastpair_rows tidy = view_rows(s.rows.rows, s.out_bytes, s.out_offsets);
    tidy.validity = s.out_validity;
    fastpair_rows narrow = tidy;
    uint8_t *offsets = malloc((s.rows.rows + 1) * 4 + 1);
    for (uint64_t i = 0; i <= s.rows.rows; i++)
        fp_store32(offsets + 1 + i * 4, (uint32_t)s.out_offsets[i]);
    narrow.offsets = offsets + 1;
    narrow.offset_bits = 32;
    file first = compress(&s.rows, options);
    demand_same(s.name, first, compress(&tidy, options));
    demand_same(s.name, first, compress(&narrow, options));
    file streamed = stream(&s.rows, options);
    demand_same(s.name, streamed, stream(&tidy, options));
    demand_same(s.name, streamed, stream(&narrow, options));
    if (options->codec != FASTPAIR_CODEC_STORED) {
        file trained = train(&s.rows, options);
        demand_same(s.name, trained, train(&tidy, options));
        demand_same(s.name, trained, train(&narrow, options));
        fastpair_free(NULL, trained.image);
    }
    verify_effort effort = {2, 2, 2, 0, seed};
    verify_image(first.image, first.size, &s, &effort);
    fastpair_free(NULL, first.image);
    fastpair_free(NULL, streamed.image);
    free(offsets);
    shape_free(&s);
}

static void equal_columns(uint64_t seed) {
    static const fastpair_codec codecs[] = {FASTPAIR_CODEC_AUTO, FASTPAIR_CODEC_ONPAIR,
                                            FASTPAIR_CODEC_FSST12, FASTPAIR_CODEC_STORED};
    static const shape_kind kinds[] = {SHAPE_WORDS, SHAPE_LONG_AND_TINY, SHAPE_RANDOM_BYTES,
                                       SHAPE_EMPTY_ROWS};
    for (size_t i = 0; i < 16; i++) {
        /* Fewer sample bytes than the column has, so that which bytes are sampled matters. */
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = codecs[i % 4],
                                             .chunk_bytes = 30000,
                                             .expert = EXPERT(.sample_bytes = 20000, .seed = seed)};
        equal_rows(kinds[i / 4], seed + i, &options);
    }
}

static void refused_rows(void) {
    const uint32_t falling[3] = {0, 4, 3}, widths[] = {1, 16, 33, 128};
    fastpair_rows rows = view_rows(2, (const uint8_t *)"abcd", NULL);
    fastpair_error error;
    uint8_t *image;
    uint64_t size;
    rows.offsets = falling;
    rows.offset_bits = 32;
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(error.position, 1);
    for (int i = 0; i < 4; i++) {
        rows.offset_bits = widths[i];
        CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(strstr(error.message, "offset_bits") != NULL);
    }
    /* Under a null row anything may lie, 5 GiB without memory included. */
    const uint64_t huge[3] = {0, 5ull << 30, 5ull << 30};
    const uint8_t second_valid = 2;
    rows = view_rows(2, NULL, huge);
    rows.validity = &second_valid;
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, &error), FASTPAIR_OK);
    fastpair_column *column;
    CHECK_EQ(fastpair_column_open(image, size, NULL, &column, NULL), FASTPAIR_OK);
    fastpair_column_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK(info.rows == 2 && info.nulls == 1 && info.decoded_bytes == 0);
    fastpair_column_close(column);
    fastpair_free(NULL, image);
}

/* ---------------------------------------------------------------- the chunk map */

static void check_map(const fastpair_column *column, const shape *s) {
    fastpair_column_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    uint64_t row = 0, byte = 0, file_end = 0, codes = 0, nulls = 0, stored = 0;
    for (uint64_t i = 0; i < info.chunks; i++) {
        fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
        CHECK_EQ(fastpair_column_get_chunk(column, i, &chunk, NULL), FASTPAIR_OK);
        CHECK(chunk.first_row == row && chunk.first_byte == byte && chunk.rows > 0);
        CHECK(chunk.file_offset >= file_end && chunk.file_bytes > 0);
        CHECK_EQ(s->out_offsets[row + chunk.rows] - s->out_offsets[row], chunk.decoded_bytes);
        fastpair_chunk_header header = {.struct_size = sizeof header};
        CHECK_EQ(fastpair_column_get_chunk_header(column, i, &header, NULL), FASTPAIR_OK);
        int is_stored = header.codec == FASTPAIR_CODEC_STORED;
        CHECK_EQ(is_stored, header.codes == 0);
        CHECK_EQ(is_stored, header.code_bits == 0);
        CHECK(is_stored ? header.dictionary == FASTPAIR_NO_DICTIONARY
                        : header.dictionary < info.dictionaries);
        for (uint64_t k = 0; k < 3; k++) {
            uint64_t found = UINT64_MAX, of = row + k * (chunk.rows - 1) / 2;
            CHECK_EQ(fastpair_column_find_chunk(column, of, &found, NULL), FASTPAIR_OK);
            CHECK_EQ(found, i);
        }
        row += chunk.rows, byte += chunk.decoded_bytes, codes += header.codes;
        nulls += header.nulls, stored += (uint64_t)is_stored;
        file_end = chunk.file_offset + chunk.file_bytes;
    }
    CHECK(row == info.rows && byte == info.decoded_bytes && codes == info.codes);
    CHECK(nulls == info.nulls && stored == info.stored_chunks);
    CHECK(file_end < info.compressed_bytes);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    CHECK_EQ(fastpair_column_get_totals(column, &totals, NULL), FASTPAIR_OK);
    CHECK(totals.rows == info.rows && totals.nulls == info.nulls && totals.codes == info.codes);
    CHECK(totals.decoded_bytes == info.decoded_bytes && totals.chunks == info.chunks);
    CHECK(totals.compressed_bytes == info.compressed_bytes);
    CHECK(totals.dictionaries == info.dictionaries && totals.has_framing == info.has_framing);
    uint64_t found;
    fastpair_error error;
    fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
    CHECK_EQ(fastpair_column_find_chunk(column, info.rows, &found, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(error.position, info.rows);
    CHECK_EQ(fastpair_column_get_chunk(column, info.chunks, &chunk, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
}

/* Damage in one chunk: only ranges with rows of it are found to be wrong. */
static void check_ranges(const fastpair_column *column, uint8_t *image, uint64_t damaged) {
    fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
    fastpair_column_info info = {.struct_size = sizeof info};
    fastpair_error error;
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_chunk(column, damaged, &chunk, NULL), FASTPAIR_OK);
    uint64_t end = chunk.first_row + chunk.rows;
    image[chunk.file_offset + 400] ^= 1; /* in its first section */
    CHECK_EQ(fastpair_column_validate(column, NULL), FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(fastpair_column_validate_rows(column, 0, chunk.first_row, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_validate_rows(column, end, info.rows - end, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_validate_rows(column, 0, chunk.first_row + 1, &error),
             FASTPAIR_ERROR_CORRUPT);
    CHECK(error.position >= chunk.file_offset &&
          error.position < chunk.file_offset + chunk.file_bytes);
    CHECK_EQ(fastpair_column_validate_rows(column, end - 1, 1, &error), FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(fastpair_column_validate_rows(column, end - 1, 0, &error), FASTPAIR_OK);
    image[chunk.file_offset + 400] ^= 1;
    CHECK_EQ(fastpair_column_validate_rows(column, 0, info.rows, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_validate_rows(column, 1, info.rows, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_validate_rows(NULL, 0, 0, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
}

static void chunk_maps(uint64_t seed) {
    static const shape_kind kinds[] = {SHAPE_WORDS, SHAPE_DRIFT, SHAPE_RANDOM_BYTES};
    for (int i = 0; i < 3; i++) {
        shape s;
        shape_make(&s, kinds[i], seed, &(shape_options){.bytes = 60000, .null_percent = 10});
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = FASTPAIR_CODEC_ONPAIR,
                                             .code_bits = 12,
                                             .chunk_bytes = 7000};
        file made = compress(&s.rows, &options);
        fastpair_open_options open = {.struct_size = sizeof open, .threads = (uint32_t)i};
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(made.image, made.size, &open, &column, NULL), FASTPAIR_OK);
        check_map(column, &s);
        for (uint64_t damaged = 0; damaged < 4; damaged += 3)
            check_ranges(column, made.image, damaged);
        fastpair_column_close(column);
        fastpair_free(NULL, made.image);
        shape_free(&s);
    }
}

int main(void) {
    uint64_t seed = verify_seed();
    CHECK_EQ(fastpair_version_number(), FASTPAIR_VERSION_NUMBER);
    char version[32];
    snprintf(version, sizeof version, "%u.%u.%u", fastpair_version_number() / 10000,
             fastpair_version_number() / 100 % 100, fastpair_version_number() % 100);
    CHECK(!strcmp(version, fastpair_version()));
    refused_rows();
    equal_columns(seed);
    chunk_maps(seed);
    return check_done();
}
