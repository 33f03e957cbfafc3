/* measure_host.c - from host memory to decoded bytes on the device. In: a column, repeated, each
 * time as a copy of its own in host memory, so that no cache helps. Out: rates of decoded bytes by
 * the host's clock, for pageable and pinned memory, and of the same bytes sent raw. A pass opens
 * the job, uploads dictionaries and sections in parts that alternate between two streams, and
 * decodes each part after its upload. Not timed: allocating memory, opening the columns (which
 * checks headers and dictionaries). */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decoded bytes of one part: enough to fill the device, small enough to overlap. */
#define PART_BYTES (64u << 20)

typedef struct host_work {
    const bench_device *device;
    const bench_column *column;
    uint64_t count; /* repetitions */
    uint64_t bytes; /* decoded */
    bool pinned;
    fastpair_column **copies;
    fastpair_gpu_output *outputs;
    /* Device memory: the job's, and the decoded bytes with so many bytes per repetition. */
    uint64_t memory, memory_bytes, output, stride;
    /* Compressed copies, or the decoded bytes, in host memory. */
    uint8_t *host;
} host_work;

static fastpair_gpu_job *open_job(const host_work *work, fastpair_gpu_job_info *info) {
    fastpair_gpu_job *job;
    fastpair_error error;
    *info = (fastpair_gpu_job_info){.struct_size = sizeof *info};
    if (fastpair_gpu_job_open(work->device->gpu, (const fastpair_column *const *)work->copies,
                              work->count, NULL, &job, &error) ||
        fastpair_gpu_job_get_info(job, info, &error))
        bench_die("%s", error.message);
    return job;
}

static void pass_compressed(void *context) {
    const host_work *work = context;
    const bench_device *device = work->device;
    fastpair_gpu_job_info info;
    fastpair_gpu_job *job = open_job(work, &info);
    fastpair_gpu_range range = {0, 0};
    uint64_t part = work->bytes ? info.chunks * PART_BYTES / work->bytes + 1 : 1;
    fastpair_error error;
    fastpair_status status = fastpair_gpu_job_upload(job, work->memory, work->memory_bytes, &range,
                                                     device->streams[0], &error);
    /* The second stream's decoding needs the dictionaries, too. */
    if (!status) bench_must(device, device->driver->stream_wait(device->streams[0]), "uploading");
    int stream = 0;
    for (; range.first_chunk < info.chunks && !status; range.first_chunk += part, stream ^= 1) {
        uint64_t left = info.chunks - range.first_chunk;
        range.chunks = left < part ? left : part;
        status = fastpair_gpu_job_upload(job, work->memory, work->memory_bytes, &range,
                                         device->streams[stream], &error);
        if (!status)
            status = fastpair_gpu_job_decode(job, work->outputs, &range, device->streams[stream],
                                             &error);
    }
    if (status) bench_die("%s", error.message);
    for (int i = 0; i < BENCH_STREAMS; i++)
        bench_must(device, device->driver->stream_wait(device->streams[i]), "decoding");
    fastpair_gpu_job_close(job);
}

static void pass_raw(void *context) {
    const host_work *work = context;
    bench_must(work->device,
               work->device->driver->copy_to_device(work->output, work->host, (size_t)work->bytes,
                                                    work->device->streams[0]),
               "copying to the device");
}

/* `size` bytes of host memory of either sort, and its release. */
static uint8_t *host_memory(const host_work *work, uint64_t size) {
    return work->pinned ? bench_pinned_memory(work->device, size) : bench_memory(size);
}

static void host_release(const host_work *work) {
    if (work->pinned)
        work->device->driver->release_pinned(work->host);
    else
        free(work->host);
}

static void print_host(const host_work *work, const char *kernel, int passes, bench_times times,
                       bool verified) {
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "host");
    measure_print_column(&json, work->column);
    cli_json_string(&json, "how", kernel ? "fastpair" : "raw");
    cli_json_string(&json, "memory", work->pinned ? "pinned" : "pageable");
    if (kernel) cli_json_string(&json, "kernel", kernel);
    cli_json_number(&json, "bytes", work->bytes);
    cli_json_real(&json, "gb_s", (double)work->bytes / (times.least * 1e6));
    cli_json_real(&json, "gb_s_median", (double)work->bytes / (times.median * 1e6));
    cli_json_number(&json, "passes", (uint64_t)passes);
    cli_json_bool(&json, "verified", verified);
    cli_json_end(&json);
    fflush(stdout);
}

/* The file's bytes, so many times over, each opened as a column. */
static void open_copies(host_work *work) {
    uint64_t size = work->column->info.compressed_bytes;
    fastpair_error error;
    work->host = host_memory(work, work->count * size);
    work->copies = bench_memory(work->count * sizeof *work->copies);
    FILE *file = fopen(work->column->path, "rb");
    if (!file || fread(work->host, 1, (size_t)size, file) != size)
        bench_die("%s cannot be read", work->column->path);
    fclose(file);
    for (uint64_t i = 0; i < work->count; i++) {
        uint8_t *image = work->host + i * size;
        if (i) memcpy(image, work->host, (size_t)size);
        fastpair_open_options options = {.struct_size = sizeof options,
                                         .threads = bench_threads()}; /* that unpack cold chunks */
        if (fastpair_column_open(image, size, &options, &work->copies[i], &error))
            bench_die("%s: %s", work->column->path, error.message);
    }
}

static void close_copies(host_work *work) {
    for (uint64_t i = 0; i < work->count; i++) fastpair_column_close(work->copies[i]);
    free(work->copies);
    host_release(work);
}

static void measure_compressed(host_work *work, int passes) {
    const bench_device *device = work->device;
    uint64_t size = work->column->info.decoded_bytes;
    fastpair_gpu_job_info info;
    open_copies(work);
    fastpair_gpu_job *job = open_job(work, &info);
    work->stride = (size + 255) / 256 * 256;
    work->memory_bytes = info.device_bytes;
    work->memory = bench_device_memory(device, info.device_bytes);
    work->output = bench_device_memory(device, work->count * work->stride);
    work->outputs = bench_memory(work->count * sizeof *work->outputs);
    for (uint64_t i = 0; i < work->count; i++)
        work->outputs[i] = (fastpair_gpu_output){.struct_size = sizeof *work->outputs,
                                                 .bytes = work->output + i * work->stride,
                                                 .bytes_capacity = size};
    bench_must(
        device,
        device->driver->fill(work->output, 0xa5, work->count * work->stride, device->streams[0]),
        "filling device memory");
    bench_times times = bench_time_passes(device, passes, pass_compressed, work);
    bool same = true;
    for (uint64_t i = 0; i < work->count && same; i++)
        same = bench_same(device, work->outputs[i].bytes, work->column->bytes, size);
    print_host(work, info.kernel, passes, times, same);
    fastpair_gpu_job_close(job);
    device->driver->release(work->memory);
    device->driver->release(work->output);
    free(work->outputs);
    close_copies(work);
}

static void measure_raw(host_work *work, int passes) {
    const bench_device *device = work->device;
    uint64_t size = work->column->info.decoded_bytes;
    work->host = host_memory(work, work->bytes);
    for (uint64_t i = 0; i < work->count; i++)
        memcpy(work->host + i * size, work->column->bytes, (size_t)size);
    work->output = bench_device_memory(device, work->bytes);
    bench_times times = bench_time_passes(device, passes, pass_raw, work);
    print_host(work, NULL, passes, times,
               bench_same(device, work->output, work->host, work->bytes));
    device->driver->release(work->output);
    host_release(work);
}

void measure_host(const bench_device *device, const measure_options *options,
                  const bench_column *column, bool raw) {
    uint64_t count = bench_tiles(column->info.decoded_bytes, options->bytes);
    fastpair_gpu_job_info info;
    if (!measure_takes(device, column, &info)) return;
    for (int pinned = options->only_pinned; pinned < 2; pinned++) {
        host_work work = {.device = device,
                          .column = column,
                          .count = count,
                          .bytes = count * column->info.decoded_bytes,
                          .pinned = pinned};
        measure_compressed(&work, options->passes);
        if (raw && !options->only_pinned) measure_raw(&work, options->passes);
    }
}
