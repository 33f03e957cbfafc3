/* test_allocation_source.c - every allocation of a column that is read in ranges fails in turn: the call
 * says OUT_OF_MEMORY, or does with less, and nothing leaks. */
#include "convert.h"
#include "fail_each.h"
#include "frames.h"

static shape rows;
static uint8_t *images[2];
static uint64_t sizes[2];

static fastpair_status read_column(counting *c, int cold, uint32_t threads, fastpair_error *error) {
    static const fp_source_sizes small = {200, 4096, 3000};
    fastpair_open_options open = {
        .struct_size = sizeof open, .allocator = counting_hooks(c), .threads = threads};
    ranged from;
    ranged_start(&from, images[cold], sizes[cold]);
    fastpair_range_source source = ranged_source(&from, 3);
    fastpair_column *column = NULL;
    fastpair_column_info info = {.struct_size = sizeof info};
    uint64_t size = 0, count = rows.rows.rows, listed[9], *offsets = malloc((count + 1) * 8);
    uint8_t *bytes = malloc(rows.out_size), *validity = malloc(count / 8 + 1);
    for (uint64_t i = 0; i < 9; i++) listed[i] = i * 7919 % count;
    fastpair_destination to = to_memory(bytes, rows.out_size, offsets, 64, validity);
    fastpair_status status = fp_column_open_sized(&source, &small, &open, &column, error);
    if (!status) status = fastpair_column_decode(column, 0, count, &to, error);
    if (!status) CHECK(!memcmp(bytes, rows.out_bytes, rows.out_size));
    if (!status) status = fastpair_column_decode(column, 5, count - 9, &to, error);
    if (!status)
        status = fastpair_column_decode_row(column, 3, bytes, rows.out_size, &size, NULL, error);
    if (!status) status = fastpair_column_decode_listed(column, listed, 9, &to, error);
    if (!status) status = fastpair_column_get_info(column, &info, error);
    if (!status) status = fastpair_column_validate(column, error);
    fastpair_column_close(column);
    ranged_end(&from);
    free(bytes), free(offsets), free(validity);
    return status;
}

static fastpair_status task_warm(counting *c, fastpair_error *error) {
    return read_column(c, 0, 1, error);
}
static fastpair_status task_warm_threads(counting *c, fastpair_error *error) {
    return read_column(c, 0, 3, error);
}
static fastpair_status task_cold(counting *c, fastpair_error *error) {
    return read_column(c, 1, 1, error);
}

static const struct {
    const char *name;
    task_function run;
} tasks[] = {
    {"a source", task_warm}, {"a source, 3 threads", task_warm_threads}, {"cold", task_cold}};

int main(void) {
    uint64_t share = check_scaled(100), step = share >= 100 ? 1 : 100 / share;
    size_t count = frames_available() ? 3 : 2;
    shape_make(&rows, SHAPE_PREFIXES, verify_seed(),
               &(shape_options){.bytes = 15000, .null_percent = 10});
    fastpair_compress_options o = {
        .struct_size = sizeof o, .codec = FASTPAIR_CODEC_ONPAIR, .chunk_bytes = 3000};
    for (o.cold = 0; o.cold < (int)count - 1; o.cold++)
        CHECK_EQ(fastpair_compress(&rows.rows, &o, &images[o.cold], &sizes[o.cold], NULL),
                 FASTPAIR_OK);
    for (size_t i = 0; i < count; i++) fail_every_allocation(tasks[i].name, tasks[i].run, i, step);
    for (int i = 0; i < 2; i++) fastpair_free(NULL, images[i]);
    shape_free(&rows);
    return check_done();
}
