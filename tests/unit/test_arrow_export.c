/* test_arrow_export.c - columns as Arrow arrays and streams: every layout gives the rows that were
 * compressed, for ranges, lists and streams of any batch size; buffers are as Arrow wants them;
 * whoever is released is released once, also after being moved, and a stream outlives the caller's
 * reference to its column. */
#include "arrow_read.h"
#include "counting.h"
#include "forge.h"

static forge_bytes make_image(const shape *s, const fastpair_metadata *metadata,
                              uint64_t chunk_bytes) {
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = chunk_bytes,
                                         .metadata = metadata};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    forge_bytes result = {0};
    if (verify_ok(fastpair_compress(&s->rows, &options, &image, &size, &error), &error, s->name))
        forge_append(&result, image, size);
    fastpair_free(NULL, image);
    return result;
}

static fastpair_column *open_image(const forge_bytes *image) {
    fastpair_column *column = NULL;
    fastpair_error error;
    verify_ok(fastpair_column_open(image->data, image->size, NULL, &column, &error), &error,
              "open");
    return column;
}

static const char *format_of(fastpair_arrow_layout layout, int is_text) {
    static const char *const formats[4][2] = {{"z", "u"}, {"z", "u"}, {"Z", "U"}, {"vz", "vu"}};
    return formats[layout][is_text];
}

/* Checks a schema, and returns the format of the strings. */
static const char *check_schema(const struct ArrowSchema *schema, int as_struct, const char *name) {
    const struct ArrowSchema *field = schema;
    if (as_struct) {
        CHECK(!strcmp(schema->format, "+s"));
        CHECK_EQ(schema->n_children, 1);
        CHECK(schema->metadata == NULL);
        field = schema->children[0];
    }
    CHECK_EQ(field->n_children, 0);
    CHECK(field->dictionary == NULL);
    CHECK_EQ(field->flags, ARROW_FLAG_NULLABLE);
    CHECK(!strcmp(field->name, name));
    return field->format;
}

static const struct ArrowArray *strings_of(const struct ArrowArray *array, int as_struct) {
    if (!as_struct) return array;
    CHECK_EQ(array->n_children, 1);
    CHECK_EQ(array->n_buffers, 1);
    CHECK(array->buffers[0] == NULL);
    CHECK_EQ(array->null_count, 0);
    CHECK_EQ(array->length, array->children[0]->length);
    return array->children[0];
}

/* One stream from its schema to its end. */
static void check_stream(struct ArrowArrayStream *stream, const shape *s, uint64_t first,
                         uint64_t count, const fastpair_arrow_options *options) {
    struct ArrowSchema schema;
    CHECK_EQ(stream->get_schema(stream, &schema), 0);
    const char *format = check_schema(&schema, options->as_struct, "");
    uint64_t row = first;
    for (;;) {
        struct ArrowArray array;
        CHECK_EQ(stream->get_next(stream, &array), 0);
        if (!array.release) break;
        CHECK(array.length > 0);
        if (options->batch_rows && row + options->batch_rows < first + count)
            CHECK_EQ(array.length, options->batch_rows);
        arrow_check_rows(format, strings_of(&array, options->as_struct), s, NULL, row);
        row += (uint64_t)array.length;
        array.release(&array);
        CHECK(array.release == NULL);
    }
    CHECK_EQ(row, first + count);
    CHECK(stream->get_last_error(stream) == NULL);
    struct ArrowArray again;
    CHECK_EQ(stream->get_next(stream, &again), 0); /* the end stays the end */
    CHECK(again.release == NULL);
    schema.release(&schema);
    CHECK(schema.release == NULL);
}

static void check_layout(fastpair_column *column, const shape *s, int is_text,
                         const fastpair_arrow_options *options, uint64_t *random) {
    fastpair_error error;
    uint64_t rows = s->rows.rows;
    for (int i = 0; i < 4; i++) {
        uint64_t first = i == 0 ? 0 : check_random(random) % (rows + 1);
        uint64_t count = i == 0 ? rows : i == 1 ? 0 : check_random(random) % (rows - first + 1);
        struct ArrowSchema schema;
        struct ArrowArray array;
        struct ArrowArrayStream stream;
        if (verify_ok(fastpair_column_export_array(column, first, count, options,
                                                   i == 2 ? NULL : &schema, &array, &error),
                      &error, s->name)) {
            const char *format = format_of(options->layout, is_text);
            if (i != 2) {
                CHECK(!strcmp(check_schema(&schema, options->as_struct, ""), format));
                schema.release(&schema);
            }
            CHECK_EQ(array.length, count);
            arrow_check_rows(format, strings_of(&array, options->as_struct), s, NULL, first);
            array.release(&array);
        }
        if (verify_ok(fastpair_column_export_stream(column, first, count, options, &stream, &error),
                      &error, s->name)) {
            check_stream(&stream, s, first, count, options);
            stream.release(&stream);
            CHECK(stream.release == NULL);
        }
    }
    uint64_t listed[60], count = rows ? check_random(random) % 60 : 0;
    for (uint64_t i = 0; i < count; i++) listed[i] = check_random(random) % rows;
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (verify_ok(
            fastpair_column_export_listed(column, listed, count, options, &schema, &array, &error),
            &error, s->name)) {
        const char *format = check_schema(&schema, options->as_struct, "");
        CHECK_EQ(array.length, count);
        arrow_check_rows(format, strings_of(&array, options->as_struct), s, listed, 0);
        array.release(&array);
        schema.release(&schema);
    }
}

static void every_layout(uint64_t *random) {
    for (int kind = 0; kind < SHAPE_KINDS; kind++) {
        shape s;
        shape_make(&s, (shape_kind)kind, check_random(random),
                   &(shape_options){.bytes = 20000, .null_percent = kind % 3 ? 0 : 15});
        fastpair_metadata metadata = {.struct_size = sizeof metadata, .type = FASTPAIR_TYPE_DETECT};
        forge_bytes image = make_image(&s, &metadata, kind % 2 ? 2000 : 0);
        fastpair_column *column = open_image(&image);
        fastpair_column_totals totals = {.struct_size = sizeof totals};
        CHECK_EQ(fastpair_column_get_totals(column, &totals, NULL), FASTPAIR_OK);
        unsigned long long failed = check_failed;
        for (int layout = 0; layout < 4; layout++)
            for (int k = 0; k < 3; k++) {
                fastpair_arrow_options options = {
                    .struct_size = sizeof options,
                    .layout = (fastpair_arrow_layout)layout,
                    .type = k == 2 ? FASTPAIR_ARROW_BYTES : FASTPAIR_ARROW_AS_RECORDED,
                    .as_struct = k == 1,
                    .batch_rows = layout % 2 ? 1 + check_random(random) % 300 : 0};
                check_layout(column, &s, k != 2 && totals.type == FASTPAIR_TYPE_TEXT, &options,
                             random);
            }
        verify_note(failed, s.name, "rows");
        fastpair_column_close(column);
        free(image.data);
        shape_free(&s);
    }
}

/* ---------------------------------------------------------------- owners */

static int closed;

static void note_close(void *context) {
    CHECK(context == &closed);
    closed++;
}

/* The last of several owners closes a column, whoever it is. */
static void owners(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 20000, .null_percent = 10});
    forge_bytes image = make_image(&s, NULL, 3000);
    fastpair_open_options options = {
        .struct_size = sizeof options, .on_close = note_close, .on_close_context = &closed};
    fastpair_column *column = NULL;
    struct ArrowArrayStream stream, moved;
    struct ArrowArray first, later;
    CHECK_EQ(fastpair_column_open(image.data, image.size / 2, &options, &column, NULL),
             FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(closed, 0); /* not for a column that was never open */
    CHECK_EQ(fastpair_column_open(image.data, image.size, &options, &column, NULL), FASTPAIR_OK);
    CHECK(fastpair_column_retain(column) == column);
    CHECK(fastpair_column_retain(NULL) == NULL);
    fastpair_column_close(column);
    CHECK_EQ(closed, 0);
    CHECK_EQ(fastpair_column_export_stream(column, 0, s.rows.rows, NULL, &stream, NULL),
             FASTPAIR_OK);
    fastpair_column_close(column); /* the stream alone is left */
    CHECK_EQ(closed, 0);
    moved = stream;
    memset(&stream, 0, sizeof stream);
    CHECK_EQ(moved.get_next(&moved, &first), 0);
    CHECK_EQ(moved.get_next(&moved, &later), 0);
    struct ArrowArray moved_array = first;
    memset(&first, 0, sizeof first);
    moved.release(&moved);
    CHECK_EQ(closed, 1);
    /* Arrays need neither stream nor column nor image. */
    memset(image.data, 0xee, image.size);
    arrow_check_rows("z", &moved_array, &s, NULL, 0);
    arrow_check_rows("z", &later, &s, NULL, (uint64_t)moved_array.length);
    later.release(&later);
    moved_array.release(&moved_array);
    free(image.data);
    shape_free(&s);
}

/* A child that a consumer has moved out of its struct. */
static void moved_children(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 5000});
    forge_bytes image = make_image(&s, NULL, 0);
    fastpair_column *column = open_image(&image);
    counting memory;
    counting_start(&memory);
    fastpair_arrow_options options = {.struct_size = sizeof options,
                                      .as_struct = 1,
                                      .name = "given",
                                      .allocator = counting_hooks(&memory)};
    struct ArrowSchema schema;
    struct ArrowArray array;
    CHECK_EQ(fastpair_column_export_array(column, 0, s.rows.rows, &options, &schema, &array, NULL),
             FASTPAIR_OK);
    fastpair_column_close(column);
    check_schema(&schema, 1, "given");
    struct ArrowArray child = *array.children[0];
    struct ArrowSchema field = *schema.children[0];
    array.children[0]->release = NULL;
    schema.children[0]->release = NULL;
    array.release(&array);
    schema.release(&schema);
    arrow_check_rows(field.format, &child, &s, NULL, 0);
    CHECK(!strcmp(field.name, "given"));
    CHECK_EQ(memory.live, 2);
    child.release(&child);
    field.release(&field);
    CHECK_EQ(memory.live, 0);
    free(image.data);
    shape_free(&s);
}

/* ---------------------------------------------------------------- the rest */

/* Pairs come as Arrow lays them out, but for those that would name an extension type. */
static void pairs(void) {
    static const fastpair_pair given[] = {{"unit", "EUR", 3},
                                          {"ARROW:extension:name", "evil", 4},
                                          {"empty", NULL, 0},
                                          {"ARROW:extension:metadata", "x", 1}};
    static const char expected[] = "\2\0\0\0\5\0\0\0empty\0\0\0\0\4\0\0\0unit\3\0\0\0EUR";
    fastpair_metadata metadata = {
        .struct_size = sizeof metadata, .name = "price", .pairs = given, .pair_count = 4};
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 500});
    forge_bytes image = make_image(&s, &metadata, 0);
    fastpair_column *column = open_image(&image);
    struct ArrowSchema schema;
    for (int as_struct = 0; as_struct < 2; as_struct++) {
        fastpair_arrow_options options = {.struct_size = sizeof options, .as_struct = as_struct};
        CHECK_EQ(fastpair_column_export_schema(column, &options, &schema, NULL), FASTPAIR_OK);
        check_schema(&schema, as_struct, "price");
        const char *got = as_struct ? schema.children[0]->metadata : schema.metadata;
        CHECK(got && !memcmp(got, expected, sizeof expected - 1));
        schema.release(&schema);
    }
    fastpair_column_close(column);
    free(image.data);
    shape_free(&s);
}

static void refusals(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 500});
    forge_bytes image = make_image(&s, NULL, 0);
    fastpair_column *column = open_image(&image);
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowArrayStream stream;
    fastpair_arrow_options options = {.struct_size = sizeof options, .layout = 4};
    uint64_t rows = s.rows.rows, outside = rows;
    for (int i = 0; i < 3; i++) {
        if (i == 1) options = (fastpair_arrow_options){.struct_size = sizeof options, .type = 3};
        if (i == 2) options = (fastpair_arrow_options){.struct_size = 3};
        CHECK_EQ(fastpair_column_export_schema(column, &options, &schema, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(fastpair_column_export_array(column, 0, 1, &options, NULL, &array, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(fastpair_column_export_stream(column, 0, 1, &options, &stream, NULL),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(!schema.release && !array.release && !stream.release);
    }
    CHECK_EQ(fastpair_column_export_array(column, 1, rows, NULL, &schema, &array, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_export_stream(column, rows + 1, 0, NULL, &stream, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_export_listed(column, &outside, 1, NULL, &schema, &array, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_export_listed(column, NULL, 1, NULL, &schema, &array, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_export_array(NULL, 0, 0, NULL, NULL, &array, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_export_array(column, 0, 0, NULL, NULL, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_export_schema(NULL, NULL, &schema, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_export_stream(NULL, 0, 0, NULL, &stream, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK(!schema.release && !array.release && !stream.release);
    fastpair_column_close(column);
    free(image.data);
    shape_free(&s);
}

int main(void) {
    uint64_t random = verify_seed();
    every_layout(&random);
    owners();
    moved_children();
    pairs();
    refusals();
    return check_done();
}
