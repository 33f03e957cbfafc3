/* test_adapt.c - which dictionary a stream's chunks get: data that comes back, small chunks and
 * large ones, more kinds of data than dictionaries are kept, the same file for any number of
 * threads and any split of appends. */
#include "forge.h"
#include "verify.h"

/* One column of several parts, one after the other. */
static shape join(const shape_kind *kinds, uint32_t parts, uint64_t part_bytes, uint64_t seed) {
    shape joined, part;
    uint64_t size = 0, rows = 0;
    uint8_t *bytes = malloc(parts * (part_bytes + (64u << 10))), *valid = NULL;
    uint64_t *offsets = malloc(8);
    offsets[0] = 0;
    for (uint32_t i = 0; i < parts; i++) {
        shape_make(&part, kinds[i], seed, &(shape_options){.bytes = part_bytes});
        CHECK(part.out_size <= part_bytes + (64u << 10));
        memcpy(bytes + size, part.out_bytes, part.out_size);
        offsets = realloc(offsets, (rows + part.rows.rows + 1) * 8);
        for (uint64_t row = 1; row <= part.rows.rows; row++)
            offsets[rows + row] = size + part.out_offsets[row];
        size += part.out_size, rows += part.rows.rows;
        shape_free(&part);
    }
    valid = malloc(rows);
    memset(valid, 1, rows);
    shape_from_rows(&joined, "joined parts", bytes, offsets, valid, rows);
    free(bytes), free(offsets), free(valid);
    return joined;
}

/* Appends pieces of up to `most` rows, or all at once if that is 0. */
static forge_bytes write_column(const shape *s, const fastpair_compress_options *options,
                                uint64_t most) {
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    fastpair_writer *writer = NULL;
    fastpair_error error;
    uint64_t random = most, row = 0;
    verify_ok(fastpair_writer_open(&sink, options, &writer, &error), &error, "open");
    while (row < s->rows.rows) {
        uint64_t count = most ? 1 + check_random(&random) % most : s->rows.rows;
        if (count > s->rows.rows - row) count = s->rows.rows - row;
        fastpair_rows piece = shape_slice(s, row, count);
        if (!verify_ok(fastpair_writer_append(writer, &piece, &error), &error, "append")) break;
        row += count;
    }
    verify_ok(fastpair_writer_finish(writer, &error), &error, "finish");
    fastpair_writer_close(writer);
    return image;
}

static fastpair_column_info info_of(forge_bytes image) {
    fastpair_column_info info = {.struct_size = sizeof info};
    fastpair_column *column = NULL;
    fastpair_error error;
    verify_ok(fastpair_column_open(image.data, image.size, NULL, &column, &error), &error, "open");
    verify_ok(fastpair_column_get_info(column, &info, &error), &error, "info");
    fastpair_column_close(column);
    return info;
}

/* How many dictionaries of a file are not copies of others. */
static uint64_t distinct_dictionaries(forge_bytes image) {
    const uint8_t *footer = image.data + forge_get(image.data + image.size - FORGE_TRAILER, 8);
    const uint8_t *entries = footer + FORGE_FOOTER_HEADER;
    const uint64_t count = forge_get(footer + 16, 8);
    uint64_t distinct = 0;
    for (uint64_t d = 0; d < count; d++) {
        const uint8_t *one = entries + 24 * d;
        const uint64_t at = forge_get(one, 8), size = forge_get(one + 8, 8);
        uint64_t other = 0;
        while (other < d && (forge_get(entries + 24 * other + 8, 8) != size ||
                             memcmp(image.data + forge_get(entries + 24 * other, 8),
                                    image.data + at, size) != 0))
            other++;
        distinct += other == d;
        CHECK(forge_get(one + 16, 4) > 0); /* tokens that its chunks use */
    }
    return distinct;
}

static const struct {
    fastpair_codec codec;
    uint32_t bits;
} codecs[] = {{FASTPAIR_CODEC_ONPAIR, 12}, {FASTPAIR_CODEC_ONPAIR, 16}, {FASTPAIR_CODEC_FSST12, 0}};
#define CODECS (sizeof codecs / sizeof codecs[0])

static fastpair_compress_options options_of(size_t codec, uint64_t chunk_bytes) {
    static const fastpair_expert_options small_sample = {.struct_size = sizeof small_sample,
                                                         .sample_bytes = 512u << 10};
    return (fastpair_compress_options){.struct_size = sizeof(fastpair_compress_options),
                                       .codec = codecs[codec].codec,
                                       .code_bits = codecs[codec].bits,
                                       .chunk_bytes = chunk_bytes,
                                       .expert = &small_sample};
}

/* A B A B A B: the second A is coded with the first one's dictionary, and so on, whatever the
 * chunks and threads. */
static void alternating(uint64_t seed) {
    static const shape_kind kinds[] = {SHAPE_WORDS, SHAPE_URLS,  SHAPE_WORDS,
                                       SHAPE_URLS,  SHAPE_WORDS, SHAPE_URLS};
    shape s = join(kinds, 6, 2u << 20, seed);
    for (size_t codec = 0; codec < check_scaled(CODECS); codec++)
        for (uint64_t chunk_bytes = 64u << 10; chunk_bytes <= 512u << 10; chunk_bytes *= 8) {
            fastpair_compress_options options = options_of(codec, chunk_bytes);
            forge_bytes image = write_column(&s, &options, 0);
            CHECK_EQ(distinct_dictionaries(image), 2);
            verify_effort effort = {2, 3, 2, 0, seed};
            verify_image(image.data, image.size, &s, &effort);
            for (uint32_t threads = 2; threads <= 1 + check_scaled(4); threads++) {
                options.threads = threads;
                forge_bytes again = write_column(&s, &options, 1u << (threads * 3));
                CHECK(again.size == image.size && !memcmp(again.data, image.data, image.size));
                free(again.data);
            }
            free(image.data);
        }
    shape_free(&s);
}

/* More kinds of data than dictionaries are kept, twice: some are forgotten and made again; all rows
 * come back. */
static void many_kinds(uint64_t seed) {
    static const shape_kind round[] = {SHAPE_WORDS,        SHAPE_URLS,        SHAPE_LOG_LINES,
                                       SHAPE_UTF8,         SHAPE_FOUR_VALUES, SHAPE_INTEGERS,
                                       SHAPE_EVEN_LENGTHS, SHAPE_CLERKS,      SHAPE_FEW_BYTES,
                                       SHAPE_PERIODIC,     SHAPE_RANDOM_BYTES};
    enum { KINDS = sizeof round / sizeof round[0] };
    shape_kind kinds[2 * KINDS];
    memcpy(kinds, round, sizeof round);
    memcpy(kinds + KINDS, round, sizeof round);
    shape once = join(kinds, KINDS, 1u << 20, seed), twice = join(kinds, 2 * KINDS, 1u << 20, seed);
    fastpair_compress_options options = options_of(0, 128u << 10);
    forge_bytes images[2] = {write_column(&once, &options, 0), write_column(&twice, &options, 0)};
    uint64_t first = info_of(images[0]).dictionaries, both = info_of(images[1]).dictionaries;
    printf("%d kinds: %llu dictionaries, twice: %llu\n", KINDS, (unsigned long long)first,
           (unsigned long long)both);
    CHECK(first >= 5 && both <= 2 * first);
    verify_effort effort = {2, 3, 2, 0, seed};
    verify_image(images[1].data, images[1].size, &twice, &effort);
    if (check_scaled(2) == 2) {
        options.threads = 4;
        forge_bytes again = write_column(&twice, &options, 5000);
        CHECK(again.size == images[1].size && !memcmp(again.data, images[1].data, again.size));
        free(again.data);
    }
    free(images[0].data), free(images[1].data);
    shape_free(&once), shape_free(&twice);
}

/* Small chunks get about as many dictionaries as large ones, and compress nearly as well. */
static void chunk_sizes(uint64_t seed) {
    static const shape_kind kinds[] = {SHAPE_WORDS, SHAPE_URLS, SHAPE_LOG_LINES, SHAPE_UTF8};
    shape s = join(kinds, 4, 3u << 20, seed);
    for (size_t codec = 0; codec < check_scaled(CODECS); codec++) {
        uint64_t dictionaries = 0, size = 0;
        for (uint64_t chunk_bytes = 512u << 10; chunk_bytes >= 32u << 10; chunk_bytes /= 4) {
            fastpair_compress_options options = options_of(codec, chunk_bytes);
            forge_bytes image = write_column(&s, &options, 0);
            fastpair_column_info info = info_of(image);
            uint64_t paper = info.code_bytes + info.dictionary_bytes + info.sidecar_bytes;
            if (!size) dictionaries = info.dictionaries, size = paper;
            printf("codec %zu, chunks of %llu KiB: %llu dictionaries, %llu bytes\n", codec,
                   (unsigned long long)chunk_bytes >> 10, (unsigned long long)info.dictionaries,
                   (unsigned long long)paper);
            CHECK(info.dictionaries + 1 >= dictionaries && info.dictionaries <= dictionaries + 1);
            CHECK(paper * 100 <= size * 103);
            free(image.data);
        }
    }
    shape_free(&s);
}

/* Rows so short that the number of pending rows is what ends units: the writer must get on. */
static void tiny_rows(void) {
    const uint64_t rows = 9u << 20;
    uint64_t *offsets = malloc((rows + 1) * 8);
    uint8_t *bytes = malloc(rows / 4 + 1);
    for (uint64_t row = 0; row <= rows; row++) offsets[row] = row / 4;
    for (uint64_t i = 0; i <= rows / 4; i++) bytes[i] = (uint8_t)('a' + i % 3);
    shape s = {.rows = view_rows(rows, bytes, offsets)};
    fastpair_compress_options options = options_of(0, 0);
    options.expert = NULL;
    forge_bytes image = write_column(&s, &options, 0);
    CHECK_EQ(info_of(image).rows, rows);
    options.threads = 3;
    forge_bytes again = write_column(&s, &options, 3000000);
    CHECK(again.size == image.size && !memcmp(again.data, image.data, image.size));
    free(image.data), free(again.data);
    free(offsets), free(bytes);
}

int main(void) {
    uint64_t seed = verify_seed();
    alternating(seed);
    many_kinds(seed);
    chunk_sizes(seed);
    tiny_rows();
    return check_done();
}
