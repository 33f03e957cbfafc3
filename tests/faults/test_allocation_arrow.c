/* test_allocation_arrow.c - any allocation may fail while columns go to Arrow and come from it: see
 * test_allocation.c. */
#include "arrow_make.h"
#include "fail_each.h"

static shape rows;
static uint8_t *image;
static uint64_t image_size;

static fastpair_status export_with(counting *c, const fastpair_arrow_options *given,
                                   fastpair_error *error) {
    fastpair_open_options open = {.struct_size = sizeof open, .allocator = counting_hooks(c)};
    fastpair_arrow_options options = *given;
    options.struct_size = sizeof options;
    options.allocator = counting_hooks(c);
    fastpair_column *column = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    uint64_t listed[] = {5, 2, 2};
    fastpair_status status = fastpair_column_open(image, image_size, &open, &column, error);
    if (status) return status;
    status =
        fastpair_column_export_array(column, 0, rows.rows.rows, &options, &schema, &array, error);
    CHECK_EQ(status == FASTPAIR_OK, schema.release != NULL && array.release != NULL);
    if (!status) array.release(&array), schema.release(&schema);
    if (!status)
        status = fastpair_column_export_listed(column, listed, 3, &options, NULL, &array, error);
    if (!status) array.release(&array);
    fastpair_column_close(column);
    return status;
}

static fastpair_status task_offsets(counting *c, fastpair_error *error) {
    return export_with(c, &(fastpair_arrow_options){.layout = FASTPAIR_ARROW_OFFSETS}, error);
}
static fastpair_status task_views(counting *c, fastpair_error *error) {
    return export_with(c, &(fastpair_arrow_options){.layout = FASTPAIR_ARROW_VIEWS, .as_struct = 1},
                       error);
}

/* A stream, whose failures are ENOMEM, into a column. */
static int sink_write(void *context, const void *data, size_t size) {
    *(uint64_t *)context += size + (data == NULL);
    return 0;
}

static fastpair_status task_stream(counting *c, fastpair_error *error) {
    fastpair_open_options open = {.struct_size = sizeof open, .allocator = counting_hooks(c)};
    fastpair_arrow_options options = {.struct_size = sizeof options,
                                      .layout = FASTPAIR_ARROW_VIEWS,
                                      .as_struct = 1,
                                      .allocator = counting_hooks(c)};
    fastpair_compress_options compress = {.struct_size = sizeof compress,
                                          .codec = FASTPAIR_CODEC_STORED,
                                          .allocator = counting_hooks(c)};
    uint64_t written = 0;
    fastpair_sink sink = {sink_write, &written};
    fastpair_column *column = NULL;
    struct ArrowArrayStream stream;
    fastpair_status status = fastpair_column_open(image, image_size, &open, &column, error);
    if (status) return status;
    status = fastpair_column_export_stream(column, 0, rows.rows.rows, &options, &stream, error);
    CHECK_EQ(status == FASTPAIR_OK, stream.release != NULL);
    fastpair_column_close(column);
    if (status) return status;
    status = fastpair_compress_arrow(&stream, NULL, &compress, &sink, error);
    CHECK(stream.release == NULL);
    /* What a stream says of its failure is its message. */
    if (status == FASTPAIR_ERROR_IO && strstr(error->message, "allocate"))
        status = error->status = FASTPAIR_ERROR_OUT_OF_MEMORY;
    return status;
}

/* A struct and its field have nulls each: a bitmap of both is made. */
static fastpair_status task_struct(counting *c, fastpair_error *error) {
    static const arrow_row strings[] = {{(const uint8_t *)"one", 3, 0}, {NULL, 0, 1}};
    static const arrow_row nulls[] = {{NULL, 0, 1}, {NULL, 0, 0}};
    fastpair_compress_options compress = {.struct_size = sizeof compress,
                                          .codec = FASTPAIR_CODEC_STORED,
                                          .allocator = counting_hooks(c)};
    uint64_t written = 0, random = 1;
    fastpair_sink sink = {sink_write, &written};
    arrow_place place = {0};
    arrow_made made, field, other;
    fastpair_writer *writer = NULL;
    arrow_make(&field, "z", strings, 2, &place, &random);
    arrow_make(&other, "z", strings, 2, &place, &random);
    other.schema.name = "other";
    arrow_make_struct(&made, &field, &other, nulls, 2, &place, &random);
    fastpair_status status = fastpair_writer_open(&sink, &compress, &writer, error);
    if (!status)
        status = fastpair_writer_append_arrow(writer, &made.schema, &made.array, "made", error);
    if (!status) status = fastpair_writer_finish(writer, error);
    fastpair_writer_close(writer);
    arrow_made_free(&made), arrow_made_free(&field), arrow_made_free(&other);
    return status;
}

int main(void) {
    shape_make(&rows, SHAPE_UTF8, 3, &(shape_options){.bytes = 30000, .null_percent = 10});
    fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                  .type = FASTPAIR_TYPE_TEXT,
                                  .name = "a name",
                                  .pairs = &(fastpair_pair){"key", "value", 5},
                                  .pair_count = 1};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 9,
                                         .chunk_bytes = 6000,
                                         .metadata = &metadata};
    fastpair_error error;
    verify_ok(fastpair_compress(&rows.rows, &options, &image, &image_size, &error), &error,
              "compress");
    fail_every_allocation("export with offsets", task_offsets, 0, 1);
    fail_every_allocation("export with views", task_views, 0, 1);
    fail_every_allocation("stream to a column", task_stream, 0, 1);
    fail_every_allocation("a struct's nulls", task_struct, 0, 1);
    fastpair_free(NULL, image);
    shape_free(&rows);
    return check_done();
}
