/* test_source_dictionaries.c - a column that returns to an earlier dictionary, read in ranges: a row
 * takes one round of requests, since the footer says which dictionary the row's chunk uses; none for
 * the dictionary if that came when the file was opened. What the footer says of it is compared with
 * the chunk wherever the chunk is read, and a footer that says nothing costs a round. In larger files the
 * dictionary is written again. */
#include "convert.h"
#include "forge.h"
#include "frames.h"
#include "ranged.h"
#include "truth.h"
#include "verify.h"

enum { PART_BYTES = 4 << 20, ENTRY_DICTIONARY = 20, HEAD_BYTES = FP_READ_AT_OPENING };

/* Rows of several parts, one after the other. */
static forge_bytes write_column(const shape *const *parts, uint32_t count) {
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    fastpair_writer *writer = NULL;
    fastpair_error error = {.message = ""};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 1u << 20,
                                         .expert = EXPERT(.sample_bytes = 1u << 20)};
    verify_ok(fastpair_writer_open(&sink, &options, &writer, &error), &error, "open");
    for (uint32_t i = 0; i < count; i++)
        verify_ok(fastpair_writer_append(writer, &parts[i]->rows, &error), &error, "append");
    verify_ok(fastpair_writer_finish(writer, &error), &error, "finish");
    fastpair_writer_close(writer);
    return image;
}

/* The footer's entry of the last chunk but one: the last one may be small. */
static uint8_t *late_entry(forge_bytes image) {
    uint64_t footer = forge_get(image.data + image.size - FORGE_TRAILER, 8);
    uint64_t dictionaries = forge_get(image.data + footer + 16, 8),
             chunks = forge_get(image.data + footer + 24, 8);
    CHECK_EQ(dictionaries, 2);
    return image.data + footer + FORGE_FOOTER_HEADER + 24 * dictionaries + 32 * (chunks - 2);
}

/* A copy whose footer says something else of the dictionary of the last chunk but one. */
static forge_bytes saying(forge_bytes image, uint32_t said) {
    forge_bytes changed = {0};
    forge_append(&changed, image.data, image.size);
    forge_put(late_entry(changed) + ENTRY_DICTIONARY, said, 4);
    forge_reseal(changed.data, changed.size);
    return changed;
}

/* Opens a file by its last 4 KiB and so many bytes of its beginning, then reads a row near the end,
 * which must take so many requests, `at_once` of them. */
static void late_row(forge_bytes image, const shape *a, uint64_t head, uint64_t requests,
                     uint32_t at_once) {
    const fp_source_sizes sizes = {4096, head, 4u << 20};
    ranged from;
    ranged_start(&from, image.data, image.size);
    from.meet = 2;
    fastpair_range_source source = ranged_source(&from, 0);
    fastpair_column *column = NULL;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_error error = {.message = ""};
    if (!verify_ok(fp_column_open_sized(&source, &sizes, NULL, &column, &error), &error, "source"))
        return;
    CHECK_EQ(from.requests, 2);
    fastpair_column_get_totals(column, &totals, NULL);
    fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
    fastpair_column_get_chunk(column, totals.chunks - 2, &chunk, NULL);
    uint64_t of_a = a->rows.rows - (totals.rows - chunk.first_row), begin = a->out_offsets[of_a];
    uint64_t length = a->out_offsets[of_a + 1] - begin, size = 0;
    uint8_t *row = malloc(length + 1);
    from.requests = from.most_under_way = 0;
    from.meet = at_once;
    verify_ok(fastpair_column_decode_row(column, chunk.first_row, row, length, &size, NULL, &error),
              &error, "row");
    CHECK(size == length && !memcmp(row, a->out_bytes + begin, length));
    CHECK_EQ(from.requests, requests);
    CHECK_EQ(from.most_under_way, at_once);
    CHECK_EQ(from.twice, 0);
    free(row);
    fastpair_column_close(column);
    ranged_end(&from);
}

/* A lie about the dictionary: found by whoever reads the chunk. */
static void lies(forge_bytes image, uint32_t said, int opens) {
    forge_bytes changed = saying(image, said);
    fastpair_column *column = NULL;
    fastpair_error error = {.message = ""};
    fastpair_status status =
        fastpair_column_open(changed.data, changed.size, NULL, &column, &error);
    CHECK_EQ(status, opens ? FASTPAIR_OK : FASTPAIR_ERROR_CORRUPT);
    if (!status) {
        CHECK_EQ(fastpair_column_validate(column, &error), FASTPAIR_ERROR_CORRUPT);
        CHECK(strstr(error.message, "another dictionary") != NULL);
    }
    fastpair_column_close(column);
    column = NULL;
    ranged from;
    ranged_start(&from, changed.data, changed.size);
    fastpair_range_source source = ranged_source(&from, 0);
    status = fastpair_column_open_source(&source, NULL, &column, &error);
    CHECK_EQ(status, opens ? FASTPAIR_OK : FASTPAIR_ERROR_CORRUPT);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
    uint8_t row[4096];
    uint64_t size;
    if (!status) {
        fastpair_column_get_totals(column, &totals, NULL);
        fastpair_column_get_chunk(column, totals.chunks - 2, &chunk, NULL);
        CHECK_EQ(fastpair_column_decode_row(column, chunk.first_row, row, sizeof row, &size, NULL,
                                            &error),
                 FASTPAIR_ERROR_CORRUPT);
    }
    fastpair_column_close(column);
    ranged_end(&from);
    uint64_t rows_read;
    drip front_to_back = {.data = changed.data, .size = changed.size, .fail_at = UINT64_MAX};
    CHECK_EQ(stream(&front_to_back, NULL, 1, NULL, &rows_read, &error), FASTPAIR_ERROR_CORRUPT);
    free(changed.data);
}

/* The number of the first chunk after a position. */
static uint64_t chunk_after(const uint8_t *chunks, uint64_t position) {
    uint64_t number = 0;
    while (forge_get(chunks + 32 * number, 8) < position) number++;
    return number;
}

/* The first row of a chunk, read in ranges from a file just opened, takes one request and is the same
 * as in memory. */
static void one_request(forge_bytes image, fastpair_column *whole, uint64_t number) {
    const fp_source_sizes sizes = {4096, HEAD_BYTES, 4u << 20};
    ranged from;
    ranged_start(&from, image.data, image.size);
    fastpair_range_source source = ranged_source(&from, 0);
    fastpair_column *column = NULL;
    fastpair_error error = {.message = ""};
    fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
    uint8_t row[4096], expected[4096];
    uint64_t size = 0, expected_size = 1;
    if (!verify_ok(fp_column_open_sized(&source, &sizes, NULL, &column, &error), &error, "source"))
        return;
    fastpair_column_get_chunk(whole, number, &chunk, NULL);
    fastpair_column_decode_row(whole, chunk.first_row, expected, sizeof expected, &expected_size,
                               NULL, NULL);
    from.requests = 0;
    verify_ok(
        fastpair_column_decode_row(column, chunk.first_row, row, sizeof row, &size, NULL, &error),
        &error, "row");
    CHECK(size == expected_size && !memcmp(row, expected, size));
    CHECK_EQ(from.requests, 1);
    fastpair_column_close(column);
    ranged_end(&from);
}

/* In a file that is large enough for it, a dictionary that comes back is written again, whole, and its
 * next chunk follows it. The first one, which readers have from opening, is not. */
static void copies(forge_bytes image) {
    const uint8_t *footer = image.data + forge_get(image.data + image.size - FORGE_TRAILER, 8);
    const uint8_t *entries = footer + FORGE_FOOTER_HEADER;
    uint64_t dictionaries = forge_get(footer + 16, 8), copied = 0;
    CHECK(dictionaries > 2);
    fastpair_column *whole = NULL;
    fastpair_error error = {.message = ""};
    verify_ok(fastpair_column_open(image.data, image.size, NULL, &whole, &error), &error, "open");
    verify_ok(fastpair_column_validate(whole, &error), &error, "validate");
    const uint8_t *second = image.data + forge_get(entries + 24, 8);
    for (uint64_t d = 1; d < dictionaries; d++) {
        uint64_t position = forge_get(entries + 24 * d, 8),
                 size = forge_get(entries + 24 * d + 8, 8);
        CHECK_EQ(size, forge_get(second + 8, 8));
        CHECK(!memcmp(image.data + position, second, size));
        if (d > 1) copied += size;
        one_request(image, whole, chunk_after(entries + 24 * dictionaries, position));
    }
    CHECK(copied <= image.size / 128);
    fastpair_column_close(whole);
}

int main(void) {
    shape a, b;
    uint64_t seed = verify_seed();
    shape_make(&a, SHAPE_LOG_LINES, seed, &(shape_options){.bytes = PART_BYTES});
    shape_make(&b, SHAPE_URLS, seed, &(shape_options){.bytes = PART_BYTES});
    const shape *parts[] = {&a, &b, &a, &b, &a, &b, &a, &b};
    forge_bytes image = write_column(parts, 3);
    CHECK_EQ(forge_get(late_entry(image) + ENTRY_DICTIONARY, 4), 1);
    late_row(image, &a, 4096, 2, 2);
    forge_bytes silent = saying(image, 0);
    late_row(silent, &a, 4096, 3,
             2); /* the last dictionary before the chunk is asked for in vain */
    free(silent.data);
    lies(image, 2, 1);
    lies(image, 3, 0);
    lies(image, UINT32_MAX, 0);
    uint64_t folded = forge_block(image.data, image.size, "FPDI", 0);
    CHECK_EQ(image.data[folded + 21], 2);
    CHECK(folded + forge_get(image.data + folded + 8, 8) <= HEAD_BYTES);
    late_row(image, &a, HEAD_BYTES, 1, 1); /* the dictionary came with the file's beginning */
    if (frames_available()) {
        forge_bytes cold = convert_image(image.data, image.size, 1, 1);
        CHECK_EQ(forge_get(late_entry(cold) + ENTRY_DICTIONARY, 4), 1);
        uint64_t first = forge_block(cold.data, cold.size, "FPDI", 0);
        CHECK(first + forge_get(cold.data + first + 8, 8) <= HEAD_BYTES);
        late_row(cold, &a, HEAD_BYTES, 1, 1);
        free(cold.data);
    }
    free(image.data);
    image = write_column(parts, 8);
    copies(image);
    free(image.data);
    shape_free(&a), shape_free(&b);
    return check_done();
}
