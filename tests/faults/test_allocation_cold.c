/* test_allocation_cold.c - any allocation may fail while cold files are written, converted and read,
 * those of zstd included: see test_allocation.c. */
#include "convert.h"
#include "fail_each.h"
#include "frames.h"

static shape rows;
static uint8_t *warm;
static uint64_t warm_size;
static forge_bytes cold;

static fastpair_status task_compress(counting *c, fastpair_error *error) {
    fastpair_compress_options o = {.struct_size = sizeof o, .cold = 1, .chunk_bytes = 3000};
    o.codec = FASTPAIR_CODEC_ONPAIR, o.code_bits = 9, o.level = 1;
    o.allocator = counting_hooks(c);
    uint8_t *out = NULL;
    uint64_t size = 0;
    fastpair_status status = fastpair_compress(&rows.rows, &o, &out, &size, error);
    if (!status) {
        CHECK(count_cold(out, size) > 0);
        fastpair_free(&o.allocator, out);
    }
    return status;
}

static int sink_write(void *context, const void *data, size_t size) {
    *(uint64_t *)context += size + (data == NULL);
    return 0;
}

static fastpair_status convert(counting *c, int to_cold, uint32_t threads, fastpair_error *error) {
    fastpair_open_options open = {
        .struct_size = sizeof open, .allocator = counting_hooks(c), .threads = threads};
    fastpair_convert_options options = {.struct_size = sizeof options, .cold = to_cold};
    uint64_t written = 0;
    fastpair_sink sink = {sink_write, &written};
    fastpair_column *column = NULL;
    fastpair_status status = fastpair_column_open(
        to_cold ? warm : cold.data, to_cold ? warm_size : cold.size, &open, &column, error);
    if (!status) status = fastpair_column_convert(column, &options, &sink, error);
    if (!status) CHECK_EQ(written, to_cold ? cold.size : warm_size);
    fastpair_column_close(column);
    return status;
}

static fastpair_status task_to_cold(counting *c, fastpair_error *error) {
    return convert(c, 1, 1, error);
}
static fastpair_status task_to_cold_threads(counting *c, fastpair_error *error) {
    return convert(c, 1, 3, error);
}
static fastpair_status task_to_warm(counting *c, fastpair_error *error) {
    return convert(c, 0, 1, error);
}

static fastpair_status read_column(counting *c, uint32_t threads, fastpair_error *error) {
    fastpair_open_options open = {
        .struct_size = sizeof open, .allocator = counting_hooks(c), .threads = threads};
    fastpair_column *column = NULL;
    uint64_t size = 0, count = rows.rows.rows, listed[9], *offsets = malloc((count + 1) * 8);
    uint8_t *bytes = malloc(rows.out_size), *validity = malloc(count / 8 + 1);
    for (uint64_t i = 0; i < 9; i++) listed[i] = i * 7919 % count;
    fastpair_status status = fastpair_column_open(cold.data, cold.size, &open, &column, error);
    fastpair_destination to = to_memory(bytes, rows.out_size, offsets, 64, validity);
    if (!status) status = fastpair_column_decode(column, 0, count, &to, error);
    if (!status) CHECK(!memcmp(bytes, rows.out_bytes, rows.out_size));
    if (!status) status = fastpair_column_decode(column, 5, count - 9, &to, error);
    if (!status)
        status = fastpair_column_decode_row(column, 3, bytes, rows.out_size, &size, NULL, error);
    if (!status) status = fastpair_column_decode_listed(column, listed, 9, &to, error);
    if (!status) status = fastpair_column_validate(column, error);
    fastpair_column_close(column);
    free(bytes), free(offsets), free(validity);
    return status;
}

static fastpair_status task_read(counting *c, fastpair_error *error) {
    return read_column(c, 1, error);
}
static fastpair_status task_read_threads(counting *c, fastpair_error *error) {
    return read_column(c, 3, error);
}

static fastpair_status task_reader(counting *c, fastpair_error *error) {
    fastpair_open_options open = {.struct_size = sizeof open, .allocator = counting_hooks(c)};
    verify_source from = {cold.data, cold.size, 0, 1000};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_status status = reader_open_with(2, &source, &open, &reader, error);
    uint64_t read = 0;
    for (int at_end = 0; !status && !at_end;) {
        fastpair_rows got = {.struct_size = sizeof got};
        status = fastpair_reader_next(reader, &got, &at_end, error);
        read += status ? 0 : got.rows;
    }
    if (!status) CHECK_EQ(read, rows.rows.rows);
    fastpair_reader_close(reader);
    return status;
}

static const struct {
    const char *name;
    task_function run;
} tasks[] = {{"compress cold", task_compress},
             {"to cold", task_to_cold},
             {"to cold, 3 threads", task_to_cold_threads},
             {"to warm", task_to_warm},
             {"open, decode, validate cold", task_read},
             {"open, decode, validate cold, 3 threads", task_read_threads},
             {"read cold", task_reader}};

int main(void) {
    uint64_t share = check_scaled(100), step = share >= 100 ? 1 : 100 / share;
    if (!frames_available()) return only_refusals();
    shape_make(&rows, SHAPE_PREFIXES, verify_seed(),
               &(shape_options){.bytes = 15000, .null_percent = 10});
    fastpair_compress_options o = {
        .struct_size = sizeof o, .codec = FASTPAIR_CODEC_ONPAIR, .chunk_bytes = 3000};
    CHECK_EQ(fastpair_compress(&rows.rows, &o, &warm, &warm_size, NULL), FASTPAIR_OK);
    cold = convert_image(warm, warm_size, 1, 1);
    CHECK(count_cold(cold.data, cold.size) > 2);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        fail_every_allocation(tasks[i].name, tasks[i].run, i, step);
    fastpair_free(NULL, warm), free(cold.data), shape_free(&rows);
    return check_done();
}
