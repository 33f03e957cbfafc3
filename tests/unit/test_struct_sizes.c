/* test_struct_sizes.c - structs begin with their size: every wrong size is refused, and fields that
 * this version does not know must be 0. */
#include "fastpair_arrow.h"
#include "forge.h"
#include "verify.h"

#include <stddef.h>

/* A copy of a struct with a field after it that this library does not know. */
typedef union longer {
    fastpair_rows rows;
    fastpair_destination destination;
    fastpair_compress_options compress;
    fastpair_expert_options expert;
    fastpair_open_options open;
    fastpair_convert_options convert;
    fastpair_chunk_header header;
    fastpair_column_info column;
    fastpair_chunk_info chunk;
    fastpair_metadata metadata;
    fastpair_chunk_bounds bounds;
    fastpair_arrow_options arrow;
    size_t struct_size;
    uint8_t bytes[512];
} longer;

typedef struct subject {
    fastpair_rows *rows;
    const fastpair_column *column;
    const uint8_t *image;
    uint64_t image_size;
} subject;

typedef fastpair_status caller(const subject *s, longer *with, fastpair_error *error);

static fastpair_status with_rows(const subject *s, longer *with, fastpair_error *error) {
    uint8_t *image;
    uint64_t size;
    (void)s;
    fastpair_status status = fastpair_compress(&with->rows, NULL, &image, &size, error);
    if (!status) fastpair_free(NULL, image);
    return status;
}

static fastpair_status with_compress(const subject *s, longer *with, fastpair_error *error) {
    uint8_t *image;
    uint64_t size;
    fastpair_status status = fastpair_compress(s->rows, &with->compress, &image, &size, error);
    CHECK_EQ(fastpair_compress_bound(10, 10, &with->compress) == 0, status != FASTPAIR_OK);
    if (!status) fastpair_free(NULL, image);
    return status;
}

static fastpair_status with_arrow(const subject *s, longer *with, fastpair_error *error) {
    struct ArrowSchema schema;
    fastpair_status status = fastpair_column_export_schema(s->column, &with->arrow, &schema, error);
    if (!status) schema.release(&schema);
    return status;
}

static fastpair_status with_expert(const subject *s, longer *with, fastpair_error *error) {
    longer options = {
        .compress = {.struct_size = sizeof options.compress, .expert = &with->expert}};
    return with_compress(s, &options, error);
}

static fastpair_status with_open(const subject *s, longer *with, fastpair_error *error) {
    fastpair_column *column;
    fastpair_status status =
        fastpair_column_open(s->image, s->image_size, &with->open, &column, error);
    fastpair_column_close(column);
    return status;
}

static int ignore(void *context, const void *data, size_t size) {
    (void)context, (void)data, (void)size;
    return 0;
}

static fastpair_status with_convert(const subject *s, longer *with, fastpair_error *error) {
    fastpair_sink sink = {ignore, NULL};
    return fastpair_column_convert(s->column, &with->convert, &sink, error);
}

static fastpair_status with_header(const subject *s, longer *with, fastpair_error *error) {
    return fastpair_column_get_chunk_header(s->column, 0, &with->header, error);
}

static fastpair_status with_destination(const subject *s, longer *with, fastpair_error *error) {
    return fastpair_column_decode(s->column, 0, s->rows->rows, &with->destination, error);
}

static fastpair_status with_listed(const subject *s, longer *with, fastpair_error *error) {
    const uint64_t rows[2] = {1, 0};
    return fastpair_column_decode_listed(s->column, rows, 2, &with->destination, error);
}

static fastpair_status with_info(const subject *s, longer *with, fastpair_error *error) {
    return fastpair_column_get_info(s->column, &with->column, error);
}

static fastpair_status with_chunk(const subject *s, longer *with, fastpair_error *error) {
    return fastpair_column_get_chunk(s->column, 0, &with->chunk, error);
}

static fastpair_status with_metadata(const subject *s, longer *with, fastpair_error *error) {
    longer options = {
        .compress = {.struct_size = sizeof options.compress, .metadata = &with->metadata}};
    return with_compress(s, &options, error);
}

static fastpair_status with_own_metadata(const subject *s, longer *with, fastpair_error *error) {
    return fastpair_column_get_metadata(s->column, &with->metadata, error);
}

static fastpair_status with_bounds(const subject *s, longer *with, fastpair_error *error) {
    return fastpair_column_get_chunk_bounds(s->column, 0, &with->bounds, error);
}

/* Every size but that of the struct and larger ones with zeros after it is refused. A struct that
 * the call fills in may have anything there, and gets zeros. */
static void sizes_of(const char *name, caller *call, const subject *s, const longer *good,
                     size_t size, int fills) {
    unsigned long long before = check_failed;
    fastpair_error error;
    longer with = *good;
    with.struct_size = size;
    CHECK_EQ(call(s, &with, &error), FASTPAIR_OK);
    for (size_t wrong = 0; wrong < size; wrong++) {
        with = *good;
        with.struct_size = wrong;
        CHECK_EQ(call(s, &with, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(strstr(error.message, "struct_size") != NULL);
    }
    with = *good;
    with.struct_size = (size_t)1 << 40;
    CHECK_EQ(call(s, &with, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    with = *good;
    with.struct_size = sizeof with;
    CHECK_EQ(call(s, &with, &error), FASTPAIR_OK);
    with = *good;
    with.struct_size = sizeof with;
    with.bytes[sizeof with - 1] = 1;
    CHECK_EQ(call(s, &with, &error), fills ? FASTPAIR_OK : FASTPAIR_ERROR_INVALID_ARGUMENT);
    if (fills) CHECK_EQ(with.bytes[sizeof with - 1], 0);
    verify_note(before, name, "struct_size");
}

static void struct_sizes(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 2000});
    uint8_t *image = NULL, *bytes = malloc(s.out_size);
    uint64_t size = 0;
    fastpair_column *column = NULL;
    fastpair_error error;
    verify_ok(fastpair_compress(&s.rows, NULL, &image, &size, &error), &error, "compress");
    verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, "open");
    subject all = {&s.rows, column, image, size};
    longer zero = {.bytes = {0}}, rows = {.rows = s.rows};
    longer destination = {.destination = to_memory(bytes, s.out_size, NULL, 0, NULL)};
    sizes_of("rows", with_rows, &all, &rows, sizeof(fastpair_rows), 0);
    sizes_of("options", with_compress, &all, &zero, sizeof(fastpair_compress_options), 0);
    sizes_of("expert", with_expert, &all, &zero, sizeof(fastpair_expert_options), 0);
    sizes_of("open", with_open, &all, &zero, sizeof(fastpair_open_options), 0);
    sizes_of("arrow", with_arrow, &all, &zero, sizeof(fastpair_arrow_options), 0);
    sizes_of("convert", with_convert, &all, &zero, sizeof(fastpair_convert_options), 0);
    sizes_of("chunk header", with_header, &all, &zero, sizeof(fastpair_chunk_header), 1);
    sizes_of("decode", with_destination, &all, &destination, sizeof(fastpair_destination), 0);
    sizes_of("listed", with_listed, &all, &destination, sizeof(fastpair_destination), 0);
    sizes_of("column info", with_info, &all, &zero, sizeof(fastpair_column_info), 1);
    sizes_of("metadata", with_metadata, &all, &zero, sizeof(fastpair_metadata), 0);
    sizes_of("column's metadata", with_own_metadata, &all, &zero, sizeof(fastpair_metadata), 1);
    sizes_of("chunk bounds", with_bounds, &all, &zero, sizeof(fastpair_chunk_bounds), 1);
    sizes_of("chunk info", with_chunk, &all, &zero, sizeof(fastpair_chunk_info), 1);
    fastpair_column_close(column);
    fastpair_free(NULL, image);
    free(bytes);
    shape_free(&s);
}

int main(void) {
    struct_sizes();
    return check_done();
}
