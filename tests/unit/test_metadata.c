/* test_metadata.c - name, type and pairs of a column: what goes in comes back from a file, whoever
 * reads it and from however many threads; what cannot be said is refused; text is checked row by
 * row, and a writer that refused rows goes on. */
#include "forge.h"
#include "verify.h"

#include <pthread.h>

/* A column of rows with metadata. NULL, with *status set, if it is refused. */
static forge_bytes write_column(const shape *s, const fastpair_metadata *metadata,
                                fastpair_status *status, fastpair_error *error) {
    fastpair_compress_options options = {.struct_size = sizeof options, .metadata = metadata};
    uint8_t *image = NULL;
    uint64_t size = 0, bound = fastpair_compress_bound(s->rows.rows, s->out_size, &options);
    *status = fastpair_compress(&s->rows, &options, &image, &size, error);
    CHECK(*status != FASTPAIR_OK || size <= bound);
    forge_bytes result = {0};
    if (*status == FASTPAIR_OK) forge_append(&result, image, size);
    fastpair_free(NULL, image);
    return result;
}

static fastpair_column *open_column(const forge_bytes *image) {
    fastpair_column *column = NULL;
    fastpair_error error;
    verify_ok(fastpair_column_open(image->data, image->size, NULL, &column, &error), &error,
              "open");
    return column;
}

/* Whether the column says what `wanted` says; its pairs are in the order of `order`. */
static void compare(const fastpair_column *column, const fastpair_metadata *wanted,
                    fastpair_type type, const uint32_t *order) {
    fastpair_error error;
    fastpair_metadata got = {.struct_size = sizeof got};
    if (!verify_ok(fastpair_column_get_metadata(column, &got, &error), &error, "metadata")) return;
    CHECK_EQ(got.type, type);
    int has_name = wanted->name && *wanted->name;
    CHECK_EQ(got.name != NULL, has_name);
    if (got.name && has_name) CHECK(!strcmp(got.name, wanted->name));
    CHECK_EQ(got.pair_count, wanted->pair_count);
    for (uint64_t i = 0; i < got.pair_count && i < wanted->pair_count; i++) {
        const fastpair_pair *pair = &wanted->pairs[order[i]], *found = NULL;
        CHECK(!strcmp(got.pairs[i].key, pair->key));
        CHECK_EQ(got.pairs[i].value_size, pair->value_size);
        CHECK(!pair->value_size || !memcmp(got.pairs[i].value, pair->value, pair->value_size));
        CHECK_EQ(fastpair_column_find_pair(column, pair->key, &found, &error), FASTPAIR_OK);
        CHECK(found == &got.pairs[i]);
    }
    const fastpair_pair *none = got.pairs;
    CHECK_EQ(fastpair_column_find_pair(column, "no such key", &none, &error), FASTPAIR_OK);
    CHECK(none == NULL);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_column_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_column_get_totals(column, &totals, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_info(column, &info, &error), FASTPAIR_OK);
    CHECK(totals.type == type && info.type == type);
}

static const fastpair_pair some_pairs[] = {{"unit", "EUR", 3},
                                           {"a", "\0\xff\n", 3},
                                           {"empty", NULL, 0},
                                           {"\xc3\xa4", "umlaut", 6},
                                           {"unit2", "x", 1}};
static const uint32_t sorted[] = {1, 2, 0, 4, 3};

static void round_trips(void) {
    static const shape_kind kinds[] = {SHAPE_NO_ROWS, SHAPE_WORDS, SHAPE_UTF8, SHAPE_RANDOM_BYTES};
    static const char *const names[] = {NULL, "", "l_comment",
                                        "Stra\xc3\x9f"
                                        "e"};
    for (uint32_t i = 0; i < 16; i++) {
        shape s;
        shape_make(&s, kinds[i % 4], i, &(shape_options){.bytes = 4000, .null_percent = 10});
        int is_text = kinds[i % 4] != SHAPE_RANDOM_BYTES;
        fastpair_type type = is_text     ? (fastpair_type)(i / 4 % 3)
                             : i / 4 % 2 ? FASTPAIR_TYPE_DETECT
                                         : FASTPAIR_TYPE_BYTES;
        fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                      .type = type,
                                      .name = names[i / 4],
                                      .pairs = some_pairs,
                                      .pair_count = i % 3 ? 5 : 0};
        fastpair_status status;
        fastpair_error error;
        forge_bytes image = write_column(&s, &metadata, &status, &error);
        if (verify_ok(status, &error, s.name)) {
            fastpair_column *column = open_column(&image);
            fastpair_type kept =
                type != FASTPAIR_TYPE_BYTES && is_text ? FASTPAIR_TYPE_TEXT : FASTPAIR_TYPE_BYTES;
            compare(column, &metadata, kept, sorted);
            compare(column, &metadata, kept, sorted); /* the second time from memory */
            fastpair_column_close(column);
            verify_effort effort = {1, 2, 1, 0, i};
            verify_image(image.data, image.size, &s, &effort);
        }
        free(image.data);
        shape_free(&s);
    }
}

/* The most that a file takes of each, and one more. */
static void limits(void) {
    shape s;
    shape_make(&s, SHAPE_ONE_BYTE, 1, &(shape_options){.bytes = 1});
    char name[1026], key[258];
    memset(name, 'n', sizeof name), memset(key, 'k', sizeof key);
    uint8_t *value = calloc(1u << 20, 1);
    const uint64_t most = (1u << 20) - 8 - 8 - 3;
    static const struct {
        const char *what;
        uint64_t name, key, more;
        int good;
    } cases[] = {{"all as large as it may be", 1024, 256, 0, 1},
                 {"name", 1025, 256, 0, 0},
                 {"key", 1024, 257, 0, 0},
                 {"no key", 1024, 0, 0, 0},
                 {"pairs", 1024, 256, 1, 0},
                 {"pairs, huge", 1024, 256, UINT64_MAX, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fastpair_pair pairs[] = {{key, value, most - 8 - 256}, {"abc", "", 0}};
        pairs[0].value_size =
            cases[i].more == UINT64_MAX ? UINT64_MAX : pairs[0].value_size + cases[i].more;
        name[cases[i].name] = key[cases[i].key] = 0;
        fastpair_metadata metadata = {
            .struct_size = sizeof metadata, .name = name, .pairs = pairs, .pair_count = 2};
        fastpair_status status;
        fastpair_error error;
        forge_bytes image = write_column(&s, &metadata, &status, &error);
        CHECK_EQ(status, cases[i].good ? FASTPAIR_OK : FASTPAIR_ERROR_INVALID_ARGUMENT);
        if (status != FASTPAIR_OK) CHECK(strstr(error.message, "metadata") != NULL);
        if (status == FASTPAIR_OK) {
            fastpair_column *column = open_column(&image);
            static const uint32_t order[] = {1, 0};
            compare(column, &metadata, FASTPAIR_TYPE_BYTES, order);
            verify_ok(fastpair_column_validate(column, &error), &error, cases[i].what);
            fastpair_column_close(column);
        }
        free(image.data);
        name[cases[i].name] = 'n', key[cases[i].key] = 'k';
    }
    free(value);
    shape_free(&s);
}

/* What cannot be said. */
static void refusals(void) {
    static const fastpair_pair twice[] = {{"a", "1", 1}, {"b", "2", 1}, {"a", "3", 1}};
    static const fastpair_pair no_key[] = {{NULL, "1", 1}}, no_value[] = {{"a", NULL, 1}},
                               not_utf8[] = {{"\xff", "1", 1}};
    const fastpair_metadata cases[] = {{.type = (fastpair_type)3},
                                       {.name = "\xc3"},
                                       {.pair_count = 1},
                                       {.pairs = no_key, .pair_count = 1},
                                       {.pairs = no_value, .pair_count = 1},
                                       {.pairs = not_utf8, .pair_count = 1},
                                       {.pairs = twice, .pair_count = 3}};
    shape s;
    shape_make(&s, SHAPE_ONE_BYTE, 1, &(shape_options){.bytes = 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fastpair_metadata metadata = cases[i];
        metadata.struct_size = sizeof metadata;
        fastpair_status status;
        fastpair_error error;
        forge_bytes image = write_column(&s, &metadata, &status, &error);
        CHECK_EQ(status, FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(strstr(error.message, "metadata") != NULL);
        free(image.data);
    }
    fastpair_metadata metadata = {.struct_size = sizeof metadata};
    const fastpair_pair *pair;
    CHECK_EQ(fastpair_column_get_metadata(NULL, &metadata, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_find_pair(NULL, "a", &pair, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    shape_free(&s);
}

/* Rows that are no text are refused with their number, and the writer goes on without them. */
static void refused_rows(void) {
    const char good[] = "na\xc3\xafve", bad[] = "fine\xff.";
    const uint64_t offsets[] = {0, 6, 6}, bad_offsets[] = {0, 4, 5, 6};
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    fastpair_metadata metadata = {
        .struct_size = sizeof metadata, .type = FASTPAIR_TYPE_TEXT, .name = "words"};
    fastpair_compress_options options = {.struct_size = sizeof options, .metadata = &metadata};
    fastpair_writer *writer = NULL;
    fastpair_error error;
    verify_ok(fastpair_writer_open(&sink, &options, &writer, &error), &error, "open");
    memset(&metadata, 0xee, sizeof metadata); /* it was copied */
    fastpair_rows rows = view_rows(2, (const uint8_t *)good, offsets),
                  refused = view_rows(3, (const uint8_t *)bad, bad_offsets);
    verify_ok(fastpair_writer_append(writer, &rows, &error), &error, "append");
    CHECK_EQ(fastpair_writer_append(writer, &refused, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(error.position, 1);
    CHECK(strstr(error.message, "row 1 is not UTF-8 from its byte 0") != NULL);
    verify_ok(fastpair_writer_append(writer, &rows, &error), &error, "append again");
    verify_ok(fastpair_writer_finish(writer, &error), &error, "finish");
    fastpair_writer_close(writer);
    fastpair_column *column = open_column(&image);
    fastpair_metadata got = {.struct_size = sizeof got};
    CHECK_EQ(fastpair_column_get_metadata(column, &got, &error), FASTPAIR_OK);
    CHECK(got.type == FASTPAIR_TYPE_TEXT && got.name && !strcmp(got.name, "words"));
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    CHECK_EQ(fastpair_column_get_totals(column, &totals, &error), FASTPAIR_OK);
    CHECK_EQ(totals.rows, 4);
    verify_ok(fastpair_column_validate(column, &error), &error, "validate");
    fastpair_column_close(column);
    free(image.data);
}

/* One bad row in a late chunk makes the column bytes. */
static void detection(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 5, &(shape_options){.bytes = 60000});
    fastpair_metadata metadata = {.struct_size = sizeof metadata, .type = FASTPAIR_TYPE_DETECT};
    fastpair_compress_options options = {
        .struct_size = sizeof options, .metadata = &metadata, .chunk_bytes = 4000};
    for (uint32_t i = 0; i < 4; i++) {
        options.threads = 1 + i % 2;
        if (i == 2) s.bytes[50001] = 0xc0;
        uint8_t *image = NULL;
        uint64_t size = 0;
        fastpair_error error;
        verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, "compress");
        oracle_column oracle;
        CHECK(oracle_decode(image, size, &oracle));
        CHECK_EQ(oracle.is_text, i < 2);
        oracle_free(&oracle);
        fastpair_free(NULL, image);
    }
    shape_free(&s);
}

typedef struct visitor {
    const fastpair_column *column;
    const char *name;
    int may;
} visitor;

static void *visit(void *context) {
    visitor *v = context;
    fastpair_metadata got = {.struct_size = sizeof got};
    if (fastpair_column_get_metadata(v->column, &got, NULL) == FASTPAIR_OK) v->name = got.name;
    fastpair_column_may_hold(v->column, 0, FASTPAIR_ROW_EQUAL, "\xff", 1, &v->may, NULL);
    return NULL;
}

/* Threads that ask at once get the same answer, from the same memory. */
static void threads(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 5, &(shape_options){.bytes = 10000});
    fastpair_metadata metadata = {
        .struct_size = sizeof metadata, .name = "shared", .pairs = some_pairs, .pair_count = 5};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .metadata = &metadata,
                                         .chunk_bytes = 1024,
                                         .expert = EXPERT(.bound_bytes = 64)};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, "compress");
    for (int round = 0; round < 50; round++) {
        fastpair_column *column = NULL;
        verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, "open");
        pthread_t ids[4];
        visitor visitors[4];
        for (int i = 0; i < 4; i++) {
            visitors[i] = (visitor){column, NULL, 1};
            if (pthread_create(&ids[i], NULL, visit, &visitors[i])) abort();
        }
        for (int i = 0; i < 4; i++) pthread_join(ids[i], NULL);
        for (int i = 0; i < 4; i++) {
            CHECK(visitors[i].name && visitors[i].name == visitors[0].name);
            CHECK_EQ(visitors[i].may, 0);
        }
        fastpair_column_close(column);
    }
    fastpair_free(NULL, image);
    shape_free(&s);
}

int main(void) {
    verify_seed();
    round_trips();
    limits();
    refusals();
    refused_rows();
    detection();
    threads();
    return check_done();
}
