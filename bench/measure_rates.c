/* measure_rates.c - decode rates from device memory. In: a column. Out: for each kernel that takes it, the least and the median
 * time of many launches, and whether every byte of every repetition is right. Timed is the decode call alone: everything
 * it launches, positions that have to be computed included; uploads are over by then. */
#include "measure.h"

#include "gpu/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch on the device, ready to be decoded. */
typedef struct decode_work {
    const bench_device *device;
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info;
    fastpair_gpu_destination to;
    fp_cu_pointer tables;
} decode_work;

static void decode(void *context) {
    decode_work *work = context;
    fastpair_error error;
    if (fastpair_gpu_batch_decode(work->batch, 0, work->info.chunks, &work->to,
                                  work->device->streams[0], &error))
        bench_die("%s", error.message);
}

/* False if the kernel cannot decode these columns. */
static bool prepare(decode_work *work, const fastpair_column *const *tiles, uint64_t count,
                    const fastpair_gpu_batch_options *how) {
    const bench_device *device = work->device;
    fastpair_error error;
    fastpair_status status =
        fastpair_gpu_batch_create(device->gpu, tiles, count, how, &work->batch, &error);
    if (status == FASTPAIR_ERROR_INVALID_ARGUMENT && how->kernel) return false;
    if (!status) status = fastpair_gpu_batch_get_info(work->batch, &work->info, &error);
    if (status) bench_die("%s", error.message);
    work->tables = bench_device_memory(device, work->info.device_bytes);
    work->to =
        (fastpair_gpu_destination){.struct_size = sizeof work->to,
                                   .output = bench_device_memory(device, work->info.output_bytes),
                                   .output_bytes = work->info.output_bytes,
                                   .status = bench_device_memory(device, sizeof(uint32_t))};
    bench_must(
        device,
        device->driver->fill(work->to.output, 0xa5, work->info.output_bytes, device->streams[0]),
        "filling device memory");
    bench_must(device,
               device->driver->fill(work->to.status, 0, sizeof(uint32_t), device->streams[0]),
               "filling device memory");
    if (fastpair_gpu_batch_upload(work->batch, work->tables, work->info.device_bytes, 0,
                                  work->info.chunks, device->streams[0], &error))
        bench_die("%s", error.message);
    bench_must(device, device->driver->stream_wait(device->streams[0]), "uploading");
    return true;
}

static void clean_up(decode_work *work) {
    const fp_driver *driver = work->device->driver;
    if (work->tables) driver->release(work->tables);
    if (work->to.output) driver->release(work->to.output);
    if (work->to.status) driver->release(work->to.status);
    fastpair_gpu_batch_free(work->batch);
}

static bool verify(const decode_work *work, const bench_column *column, uint64_t tiles) {
    const bench_device *device = work->device;
    uint32_t status = 1;
    bench_must(
        device,
        device->driver->copy_to_host(&status, work->to.status, sizeof status, device->streams[0]),
        "copying back");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "copying back");
    bool same = status == 0;
    for (uint64_t i = 0; i < tiles && same; i++) {
        uint64_t at = 0, size = 0;
        fastpair_error error;
        if (fastpair_gpu_batch_get_column(work->batch, i, &at, &size, NULL, &error))
            bench_die("%s", error.message);
        same = size == column->info.decoded_bytes &&
               bench_same(device, work->to.output + at, column->bytes, size);
    }
    return same;
}

static void print_rate(const decode_work *work, const measure_options *options,
                       const bench_column *column, uint64_t tiles, bool chosen, bench_times times,
                       bool verified) {
    double bytes = (double)column->info.decoded_bytes * (double)tiles;
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "rate");
    measure_print_column(&json, column);
    cli_json_string(&json, "kernel", work->info.kernel);
    cli_json_bool(&json, "chosen", chosen);
    cli_json_string(&json, "positions", work->batch->regenerates ? "regenerated" : "stored");
    cli_json_number(&json, "tiles", tiles);
    cli_json_number(&json, "chunks", work->info.chunks);
    cli_json_number(&json, "bytes", column->info.decoded_bytes * tiles);
    cli_json_number(&json, "device_bytes", work->info.device_bytes);
    cli_json_real(&json, "gb_s", bytes / (times.least * 1e6));
    cli_json_real(&json, "gb_s_median", bytes / (times.median * 1e6));
    cli_json_number(&json, "launches", (uint64_t)options->launches);
    cli_json_bool(&json, "verified", verified);
    cli_json_end(&json);
    fflush(stdout);
}

/* One kernel, if it can decode the column; `chosen` is the name of the one the library would take. False if it computed positions
 * or refused, so that there is nothing more to measure with computed ones. */
static bool measure_kernel(const bench_device *device, const measure_options *options,
                           const bench_column *column, const fastpair_column *const *tiles,
                           uint64_t count, const char *kernel, const char *chosen, int regenerate) {
    decode_work work = {.device = device, .info = {.struct_size = sizeof work.info}};
    fastpair_gpu_batch_options how = {
        .struct_size = sizeof how, .kernel = kernel, .regenerate_sidecar = regenerate};
    bool stored = false;
    if (prepare(&work, tiles, count, &how)) {
        stored = !work.batch->regenerates;
        if (options->once)
            for (int i = 0; i < options->once; i++) decode(&work);
        else {
            bench_times times = bench_time_launches(device, options->launches, decode, &work);
            print_rate(&work, options, column, count, !strcmp(chosen, work.info.kernel), times,
                       verify(&work, column, count));
        }
        bench_must(device, device->driver->stream_wait(device->streams[0]), "decoding");
    }
    clean_up(&work);
    return stored;
}

/* The kernel the library would take. */
static void find_chosen(const bench_device *device, const bench_column *column, char *name,
                        size_t room) {
    const fastpair_column *one = column->column;
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info = {.struct_size = sizeof info};
    fastpair_error error;
    if (fastpair_gpu_batch_create(device->gpu, &one, 1, NULL, &batch, &error) ||
        fastpair_gpu_batch_get_info(batch, &info, &error))
        bench_die("%s: %s", column->path, error.message);
    snprintf(name, room, "%s", info.kernel);
    fastpair_gpu_batch_free(batch);
}

void measure_rates(const bench_device *device, const measure_options *options,
                   const bench_column *column) {
    uint64_t count = bench_tiles(column->info.decoded_bytes, options->bytes);
    const fastpair_column **tiles = bench_memory(count * sizeof(const fastpair_column *));
    for (uint64_t i = 0; i < count; i++) tiles[i] = column->column;
    char chosen[sizeof((fastpair_gpu_batch_info *)0)->kernel];
    find_chosen(device, column, chosen, sizeof chosen);
    const char *name;
    for (uint32_t i = 0; (name = fastpair_gpu_kernel_name(i)); i++) {
        if (options->only_chosen ? strcmp(name, chosen) != 0 : !measure_wants(options, name))
            continue;
        /* Left to the library, each dictionary has the kernel that suits it. */
        const char *asked = strcmp(name, chosen) ? name : NULL;
        if (options->stored)
            measure_kernel(device, options, column, tiles, count, asked, chosen, 0);
        if (options->regenerated)
            measure_kernel(device, options, column, tiles, count, asked, chosen, 1);
    }
    free(tiles);
}
