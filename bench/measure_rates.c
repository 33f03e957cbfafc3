/* measure_rates.c - decode rates from device memory. In: a column. Out: for each kernel that takes
 * it, the least and the median time of many launches, and whether every byte of every repetition is
 * right. Timed is the decode call alone: everything it launches, positions that have to be computed
 * included; uploads are over by then. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is measured: a column, so many times over. */
typedef struct decode_subject {
    const bench_device *device;
    const measure_options *options;
    const bench_column *column;
    const fastpair_column **tiles;
    uint64_t count;
    /* The kernel that the library would take. */
    char chosen[sizeof((fastpair_gpu_job_info *)0)->kernel];
} decode_subject;

/* A job on the device, ready to be decoded. */
typedef struct decode_work {
    const bench_device *device;
    fastpair_gpu_job *job;
    fastpair_gpu_job_info info;
    fastpair_gpu_output *outputs;
    uint64_t memory, bytes, status;
    /* Device bytes of each repetition: as allocators place them. */
    uint64_t stride;
} decode_work;

static void decode(void *context) {
    decode_work *work = context;
    fastpair_error error;
    if (fastpair_gpu_job_decode(work->job, work->outputs, NULL, work->device->streams[0], &error))
        bench_die("%s", error.message);
}

static void allocate(decode_work *work, const decode_subject *subject) {
    const bench_device *device = work->device;
    uint64_t size = subject->column->info.decoded_bytes;
    work->stride = (size + 255) / 256 * 256;
    work->memory = bench_device_memory(device, work->info.device_bytes);
    work->bytes = bench_device_memory(device, subject->count * work->stride);
    work->status = bench_device_memory(device, sizeof(uint32_t));
    work->outputs = bench_memory(subject->count * sizeof *work->outputs);
    for (uint64_t i = 0; i < subject->count; i++)
        work->outputs[i] = (fastpair_gpu_output){.struct_size = sizeof *work->outputs,
                                                 .bytes = work->bytes + i * work->stride,
                                                 .bytes_capacity = size,
                                                 .status = work->status};
    bench_must(
        device,
        device->driver->fill(work->bytes, 0xa5, subject->count * work->stride, device->streams[0]),
        "filling device memory");
    bench_must(device, device->driver->fill(work->status, 0, sizeof(uint32_t), device->streams[0]),
               "filling device memory");
}

/* False if the kernel cannot decode these columns. */
static bool prepare(decode_work *work, const decode_subject *subject,
                    const fastpair_gpu_job_options *how) {
    const bench_device *device = work->device;
    fastpair_error error;
    fastpair_status status =
        fastpair_gpu_job_open(device->gpu, subject->tiles, subject->count, how, &work->job, &error);
    if (status == FASTPAIR_ERROR_INVALID_ARGUMENT && how->kernel) return false;
    if (!status) status = fastpair_gpu_job_get_info(work->job, &work->info, &error);
    if (status) bench_die("%s", error.message);
    allocate(work, subject);
    if (fastpair_gpu_job_upload(work->job, work->memory, work->info.device_bytes, NULL,
                                device->streams[0], &error))
        bench_die("%s", error.message);
    bench_must(device, device->driver->stream_wait(device->streams[0]), "uploading");
    return true;
}

static void clean_up(decode_work *work) {
    const uint64_t memory[] = {work->memory, work->bytes, work->status};
    for (int i = 0; i < 3; i++)
        if (memory[i]) work->device->driver->release(memory[i]);
    free(work->outputs);
    fastpair_gpu_job_close(work->job);
}

static bool verify(const decode_work *work, const decode_subject *subject) {
    const bench_device *device = work->device;
    uint32_t status = 1;
    bench_must(
        device,
        device->driver->copy_to_host(&status, work->status, sizeof status, device->streams[0]),
        "copying back");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "copying back");
    bool same = status == 0;
    for (uint64_t i = 0; i < subject->count && same; i++)
        same = bench_same(device, work->outputs[i].bytes, subject->column->bytes,
                          subject->column->info.decoded_bytes);
    return same;
}

static void print_rate(const decode_work *work, const decode_subject *subject, bench_times times,
                       bool verified) {
    uint64_t bytes = subject->column->info.decoded_bytes * subject->count;
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "rate");
    measure_print_column(&json, subject->column);
    cli_json_string(&json, "kernel", work->info.kernel);
    cli_json_bool(&json, "chosen", !strcmp(subject->chosen, work->info.kernel));
    cli_json_string(&json, "positions",
                    work->info.regenerates_positions ? "regenerated" : "stored");
    cli_json_number(&json, "tiles", subject->count);
    cli_json_number(&json, "chunks", work->info.chunks);
    cli_json_number(&json, "bytes", bytes);
    cli_json_number(&json, "device_bytes", work->info.device_bytes);
    cli_json_real(&json, "gb_s", (double)bytes / (times.least * 1e6));
    cli_json_real(&json, "gb_s_median", (double)bytes / (times.median * 1e6));
    cli_json_number(&json, "launches", (uint64_t)subject->options->launches);
    cli_json_bool(&json, "verified", verified);
    cli_json_end(&json);
    fflush(stdout);
}

/* One kernel (NULL: the library's choice), if it can decode the column. */
static void measure_kernel(const decode_subject *subject, const char *kernel, int regenerate) {
    const bench_device *device = subject->device;
    decode_work work = {.device = device, .info = {.struct_size = sizeof work.info}};
    fastpair_gpu_job_options how = {
        .struct_size = sizeof how, .kernel = kernel, .regenerate_positions = regenerate};
    if (prepare(&work, subject, &how)) {
        if (subject->options->once)
            for (int i = 0; i < subject->options->once; i++) decode(&work);
        else {
            bench_times times =
                bench_time_launches(device, subject->options->launches, decode, &work);
            print_rate(&work, subject, times, verify(&work, subject));
        }
        bench_must(device, device->driver->stream_wait(device->streams[0]), "decoding");
    }
    clean_up(&work);
}

void measure_rates(const bench_device *device, const measure_options *options,
                   const bench_column *column) {
    decode_subject subject = {.device = device,
                              .options = options,
                              .column = column,
                              .count = bench_tiles(column->info.decoded_bytes, options->bytes)};
    fastpair_gpu_job_info info;
    if (!measure_takes(device, column, &info)) return;
    memcpy(subject.chosen, info.kernel, sizeof subject.chosen);
    subject.tiles = bench_memory(subject.count * sizeof(const fastpair_column *));
    for (uint64_t i = 0; i < subject.count; i++) subject.tiles[i] = column->column;
    const char *name;
    for (uint32_t i = 0; (name = fastpair_gpu_kernel_name(i)); i++) {
        if (options->only_chosen ? strcmp(name, subject.chosen) != 0
                                 : !measure_wants(options, name))
            continue;
        /* Left to the library, each dictionary has the kernel that suits it. */
        const char *asked = strcmp(name, subject.chosen) ? name : NULL;
        if (options->stored) measure_kernel(&subject, asked, 0);
        if (options->regenerated) measure_kernel(&subject, asked, 1);
    }
    free(subject.tiles);
}
