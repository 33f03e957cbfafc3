/* measure_host.c - from host memory to decoded bytes on the device. In: a column, made longer by repeating its chunks, each time as
 * a copy of its own, so that no cache helps. Out: rates of decoded bytes by the host's clock, for pageable and pinned memory, and of the same bytes
 * sent raw. A pass lays out the batch, uploads tables and sections in parts that alternate between two streams, and decodes
 * each part behind its upload. Not timed: allocating memory, opening the column (which checks headers and dictionaries). */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decoded bytes of one part: enough to fill the device, small enough to overlap. */
#define PART_BYTES (64u << 20)

typedef struct host_work {
    const bench_device *device;
    const fastpair_column *column;
    uint64_t count; /* repetitions */
    uint64_t bytes; /* decoded */
    fp_cu_pointer tables, output;
    uint64_t table_bytes, output_bytes;
    const uint8_t *raw; /* the decoded bytes in host memory, for copies */
} host_work;

static fastpair_gpu_batch *lay_out(const host_work *work, fastpair_gpu_batch_info *info) {
    fastpair_gpu_batch *batch;
    fastpair_error error;
    *info = (fastpair_gpu_batch_info){.struct_size = sizeof *info};
    if (fastpair_gpu_batch_create(work->device->gpu, &work->column, 1, NULL, &batch, &error) ||
        fastpair_gpu_batch_get_info(batch, info, &error))
        bench_die("%s", error.message);
    return batch;
}

static void pass_compressed(void *context) {
    const host_work *work = context;
    const bench_device *device = work->device;
    fastpair_gpu_batch_info info;
    fastpair_gpu_batch *batch = lay_out(work, &info);
    fastpair_gpu_destination to = {
        .struct_size = sizeof to, .output = work->output, .output_bytes = work->output_bytes};
    uint64_t part = work->bytes ? info.chunks * PART_BYTES / work->bytes + 1 : 1;
    fastpair_error error;
    fastpair_status status = fastpair_gpu_batch_upload(batch, work->tables, work->table_bytes, 0, 0,
                                                       device->streams[0], &error);
    /* The second stream's decoding needs the tables, too. */
    if (!status)
        bench_must(device, device->driver->stream_wait(device->streams[0]), "uploading tables");
    int stream = 0;
    for (uint64_t first = 0; first < info.chunks && !status; first += part, stream ^= 1) {
        uint64_t left = info.chunks - first, count = left < part ? left : part;
        status = fastpair_gpu_batch_upload(batch, work->tables, work->table_bytes, first, count,
                                           device->streams[stream], &error);
        if (!status)
            status = fastpair_gpu_batch_decode(batch, first, count, &to, device->streams[stream],
                                               &error);
    }
    if (status) bench_die("%s", error.message);
    for (int i = 0; i < BENCH_STREAMS; i++)
        bench_must(device, device->driver->stream_wait(device->streams[i]), "decoding");
    fastpair_gpu_batch_free(batch);
}

static void pass_raw(void *context) {
    const host_work *work = context;
    bench_must(work->device,
               work->device->driver->copy_to_device(work->output, work->raw, (size_t)work->bytes,
                                                    work->device->streams[0]),
               "copying to the device");
}

/* `size` bytes of host memory of either sort, and its release. */
static uint8_t *host_memory(const bench_device *device, bool pinned, uint64_t size) {
    return pinned ? bench_pinned_memory(device, size) : bench_memory(size);
}

static void host_release(const bench_device *device, bool pinned, void *memory) {
    if (pinned)
        device->driver->release_pinned(memory);
    else
        free(memory);
}

static void print_host(const bench_column *column, const host_work *work, const char *how,
                       bool pinned, const char *kernel, int passes, bench_times times,
                       bool verified) {
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "host");
    measure_print_column(&json, column);
    cli_json_string(&json, "how", how);
    cli_json_string(&json, "memory", pinned ? "pinned" : "pageable");
    if (kernel) cli_json_string(&json, "kernel", kernel);
    cli_json_number(&json, "bytes", work->bytes);
    cli_json_real(&json, "gb_s", (double)work->bytes / (times.least * 1e6));
    cli_json_real(&json, "gb_s_median", (double)work->bytes / (times.median * 1e6));
    cli_json_number(&json, "passes", (uint64_t)passes);
    cli_json_bool(&json, "verified", verified);
    cli_json_end(&json);
    fflush(stdout);
}

static void measure_compressed(host_work *work, const measure_options *options,
                               const bench_column *column, bool pinned) {
    const bench_device *device = work->device;
    uint64_t size = measure_repeated_size(column->column, work->count);
    uint8_t *image = host_memory(device, pinned, size);
    measure_repeat(column->column, work->count, image);
    fastpair_column *repeated;
    fastpair_error error;
    if (fastpair_column_open(image, size, NULL, &repeated, &error))
        bench_die("%s, repeated: %s", column->path, error.message);
    work->column = repeated;

    fastpair_gpu_batch_info info;
    fastpair_gpu_batch *batch = lay_out(work, &info);
    work->table_bytes = info.device_bytes;
    work->output_bytes = info.output_bytes;
    work->tables = bench_device_memory(device, info.device_bytes);
    work->output = bench_device_memory(device, info.output_bytes);
    bench_must(device,
               device->driver->fill(work->output, 0xa5, info.output_bytes, device->streams[0]),
               "filling device memory");
    bench_times times = bench_time_passes(device, options->passes, pass_compressed, work);
    bool same = true;
    for (uint64_t i = 0; i < work->count && same; i++)
        same = bench_same(device, work->output + i * column->info.decoded_bytes, column->bytes,
                          column->info.decoded_bytes);
    print_host(column, work, "fastpair", pinned, info.kernel, options->passes, times, same);

    fastpair_gpu_batch_free(batch);
    device->driver->release(work->tables);
    device->driver->release(work->output);
    fastpair_column_close(repeated);
    host_release(device, pinned, image);
}

static void measure_raw(host_work *work, const measure_options *options, const bench_column *column,
                        bool pinned) {
    const bench_device *device = work->device;
    uint8_t *raw = host_memory(device, pinned, work->bytes);
    for (uint64_t i = 0; i < work->count; i++)
        memcpy(raw + i * column->info.decoded_bytes, column->bytes,
               (size_t)column->info.decoded_bytes);
    work->raw = raw;
    work->output = bench_device_memory(device, work->bytes);
    bench_times times = bench_time_passes(device, options->passes, pass_raw, work);
    print_host(column, work, "raw", pinned, NULL, options->passes, times,
               bench_same(device, work->output, raw, work->bytes));
    device->driver->release(work->output);
    host_release(device, pinned, raw);
}

void measure_host(const bench_device *device, const measure_options *options,
                  const bench_column *column, bool raw) {
    uint64_t count = bench_tiles(column->info.decoded_bytes, options->bytes);
    for (int pinned = 0; pinned < 2; pinned++) {
        host_work work = {
            .device = device, .count = count, .bytes = count * column->info.decoded_bytes};
        measure_compressed(&work, options, column, pinned);
        if (raw) measure_raw(&work, options, column, pinned);
    }
}
