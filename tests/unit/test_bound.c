/* test_bound.c - no image is larger than fastpair_compress_bound says, whatever the rows and the
 * options; and compressing into the caller's buffer gives the same image, or says that it does not
 * fit. */
#include "verify.h"

#define PICK(random, ...)                                                                          \
    ((const uint64_t[]){                                                                           \
        __VA_ARGS__}[check_random(random) %                                                        \
                     (sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))])

static void demand_bound(const char *name, const fastpair_rows *rows, uint64_t bytes,
                         const fastpair_compress_options *options) {
    unsigned long long before = check_failed;
    uint64_t bound = fastpair_compress_bound(rows->rows, bytes, options), size = 0, used = 77;
    uint8_t *image = NULL;
    fastpair_error error;
    CHECK(bound > 0 && bound < UINT64_MAX);
    if (!verify_ok(fastpair_compress(rows, options, &image, &size, &error), &error, name)) return;
    CHECK(size <= bound);
    /* More rows or bytes never need less room. */
    CHECK(fastpair_compress_bound(rows->rows + 1, bytes, options) >= bound);
    CHECK(fastpair_compress_bound(rows->rows, bytes + 1, options) >= bound);
    guard exact = guard_make(size), small = guard_make(size - 1);
    verify_ok(fastpair_compress_into(rows, options, exact.data, size, &used, &error), &error, name);
    CHECK_EQ(used, size);
    CHECK(!memcmp(exact.data, image, size));
    CHECK(guard_free(&exact));
    CHECK_EQ(fastpair_compress_into(rows, options, small.data, size - 1, &used, &error),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    CHECK_EQ(used, 0);
    CHECK(guard_free(&small));
    fastpair_free(NULL, image);
    verify_note(before, name, "bound");
}

/* Every shape, with chunks of the least size and larger, each codec and alignment. */
static void shapes(uint64_t seed, uint32_t times) {
    for (uint32_t i = 0; i < times; i++) {
        uint64_t random = seed * 7919 + i;
        shape s;
        shape_make(&s, (shape_kind)(i % SHAPE_KINDS), seed + i,
                   &(shape_options){.bytes = check_random(&random) % 30000,
                                    .null_percent = (uint32_t)PICK(&random, 0, 0, 3, 60, 100)});
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = (fastpair_codec)(check_random(&random) % 4),
                                             .chunk_bytes =
                                                 PICK(&random, 0, 1, 1024, 1500, 4000, 9000)};
        if (options.codec == FASTPAIR_CODEC_ONPAIR)
            options.code_bits = 9 + (uint32_t)(check_random(&random) % 8);
        options.expert =
            EXPERT(.section_alignment = (uint32_t)PICK(&random, 64, 64, 4096),
                   .batch_codes = (uint32_t)PICK(&random, 32, 256, 1024),
                   .sample_bytes = PICK(&random, 0, 100, 3000),
                   .bound_bytes = (uint32_t)PICK(&random, 0, 0, 8, 16, 32, 64, FASTPAIR_NO_BOUNDS));
        fastpair_pair pair = {"key", "value", check_random(&random) % 6};
        fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                      .type = (fastpair_type)PICK(&random, 0, 2),
                                      .name = i % 3 ? "a name" : NULL,
                                      .pairs = &pair,
                                      .pair_count = i % 2};
        if (i % 5) options.metadata = &metadata;
        demand_bound(s.name, &s.rows, s.out_size, &options);
        shape_free(&s);
    }
}

/* A given dictionary that suits nothing, and one that suits well. */
static void own_dictionaries(uint64_t seed) {
    shape lesson, s;
    shape_make(&lesson, SHAPE_WORDS, seed, &(shape_options){.bytes = 100000});
    fastpair_dictionary *dictionary = NULL;
    CHECK_EQ(fastpair_dictionary_train(&lesson.rows, NULL, &dictionary, NULL), FASTPAIR_OK);
    for (int kind = 0; kind < SHAPE_KINDS; kind++) {
        if (!check_takes((uint64_t)kind)) continue;
        shape_make(&s, (shape_kind)kind, seed, &(shape_options){.bytes = 20000});
        fastpair_compress_options options = {
            .struct_size = sizeof options, .dictionary = dictionary, .chunk_bytes = 1500};
        demand_bound(s.name, &s.rows, s.out_size, &options);
        shape_free(&s);
    }
    fastpair_dictionary_close(dictionary);
    shape_free(&lesson);
}

/* Row lengths at their worst: blocks of 256 rows in which one row is as long as the chunk and the
 * rest are empty, and rows that are chunks of their own. */
static void long_lengths(void) {
    enum { ROWS = 5000, LONG = 40000 };
    uint64_t *offsets = malloc((ROWS + 1) * sizeof *offsets);
    uint8_t *bytes = malloc(ROWS / 256 * LONG + LONG);
    uint64_t random = 5;
    offsets[0] = 0;
    for (uint64_t i = 0; i < ROWS; i++) offsets[i + 1] = offsets[i] + (i % 256 == 7 ? LONG : 0);
    for (uint64_t i = 0; i < offsets[ROWS]; i++) bytes[i] = (uint8_t)check_random(&random);
    fastpair_rows rows = view_rows(ROWS, bytes, offsets);
    for (uint64_t chunk = 1; chunk <= LONG * 4; chunk *= 20) {
        fastpair_compress_options options = {.struct_size = sizeof options, .chunk_bytes = chunk};
        demand_bound("long and empty", &rows, offsets[ROWS], &options);
    }
    for (uint64_t i = 0; i < ROWS; i++) offsets[i + 1] = i + 1;
    fastpair_compress_options options = {.struct_size = sizeof options, .chunk_bytes = 1};
    demand_bound("rows of one byte", &rows, ROWS, &options);
    free(offsets), free(bytes);
}

/* So many empty rows that chunks are closed by their number. */
static void many_rows(void) {
    const uint64_t rows = (3u << 20) + 5;
    uint64_t *offsets = calloc(rows + 1, sizeof *offsets);
    uint8_t *validity = malloc(rows / 8 + 1);
    memset(validity, 0x55, rows / 8 + 1);
    fastpair_rows view = view_rows(rows, NULL, offsets);
    view.validity = validity;
    demand_bound("millions of empty rows", &view, 0, NULL);
    free(offsets), free(validity);
}

static void limits(void) {
    fastpair_compress_options bad = {.struct_size = sizeof bad, .code_bits = 40};
    uint64_t used;
    uint8_t byte;
    fastpair_rows none = view_rows(0, NULL, NULL);
    CHECK_EQ(fastpair_compress_bound(1, 1, &bad), 0);
    CHECK_EQ(fastpair_compress_bound(1, UINT64_MAX, NULL), UINT64_MAX);
    CHECK_EQ(fastpair_compress_bound(UINT64_MAX, 1ull << 40, NULL), UINT64_MAX);
    CHECK_EQ(fastpair_compress_bound(0, 0, NULL), 208); /* the least image there is */
    CHECK_EQ(fastpair_compress_into(&none, &bad, &byte, 1, &used, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_compress_into(NULL, NULL, &byte, 1, &used, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_compress_into(&none, NULL, NULL, 1, &used, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_compress_into(&none, NULL, &byte, 1, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_compress_into(&none, NULL, NULL, 0, &used, NULL),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
}

int main(void) {
    uint64_t seed = verify_seed();
    shapes(seed, check_scaled(300));
    own_dictionaries(seed);
    long_lengths();
    many_rows();
    limits();
    return check_done();
}
