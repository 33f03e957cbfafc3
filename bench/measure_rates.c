/* measure_rates.c - decode rates from device memory. In: a column. Out: for each kernel that takes
 * it, the least and the median time of many launches, and whether every byte of every repetition is
 * right. Timed is the decode call alone: everything it launches, positions that have to be computed
 * included; uploads are over by then. Rates count decoded bytes alone, also where row offsets are
 * written beside them, so that rates with and without can be compared. */
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
    /* What the CPU decodes: 32-bit offsets and, if there are nulls, a bitmap; NULL if not asked
     * for. */
    uint8_t *offsets, *validity;
    /* The kernel that the library would take. */
    char chosen[sizeof((fastpair_gpu_job_info *)0)->kernel];
} decode_subject;

/* A job on the device, ready to be decoded. */
typedef struct decode_work {
    const bench_device *device;
    fastpair_gpu_job *job;
    fastpair_gpu_job_info info;
    fastpair_gpu_output *outputs;
    uint64_t memory, bytes, offsets, validity, status;
} decode_work;

/* How a kernel is to decode. */
typedef struct decode_how {
    const char *kernel; /* NULL: the library's choice */
    bool regenerated, with_offsets;
} decode_how;

static void decode(void *context) {
    decode_work *work = context;
    fastpair_error error;
    if (fastpair_gpu_job_decode(work->job, work->outputs, NULL, work->device->streams[0], &error))
        bench_die("%s", error.message);
}

/* Bytes between outputs of two repetitions: as allocators place them. */
static uint64_t stride_of(uint64_t size) { return (size + 255) / 256 * 256; }

static uint64_t offsets_size(const bench_column *column) { return 4 * (column->info.rows + 1); }
static uint64_t validity_size(const bench_column *column) {
    return (column->info.rows + 31) / 32 * 4;
}

/* Memory for an output of all repetitions, filled with what no decoder writes. */
static uint64_t output_memory(const bench_device *device, uint64_t count, uint64_t size) {
    uint64_t memory = bench_device_memory(device, count * stride_of(size));
    bench_must(device,
               device->driver->fill(memory, 0xa5, count * stride_of(size), device->streams[0]),
               "filling device memory");
    return memory;
}

static void allocate(decode_work *work, const decode_subject *subject, bool with_offsets) {
    const bench_device *device = work->device;
    const bench_column *column = subject->column;
    uint64_t size = column->info.decoded_bytes, count = subject->count;
    work->memory = bench_device_memory(device, work->info.device_bytes);
    work->bytes = output_memory(device, count, size);
    work->status = bench_device_memory(device, sizeof(uint32_t));
    if (with_offsets) work->offsets = output_memory(device, count, offsets_size(column));
    if (with_offsets && subject->validity)
        work->validity = output_memory(device, count, validity_size(column));
    work->outputs = bench_memory(count * sizeof *work->outputs);
    for (uint64_t i = 0; i < count; i++) {
        work->outputs[i] = (fastpair_gpu_output){.struct_size = sizeof *work->outputs,
                                                 .bytes = work->bytes + i * stride_of(size),
                                                 .bytes_capacity = size,
                                                 .offset_bits = 32,
                                                 .status = work->status};
        if (work->offsets)
            work->outputs[i].offsets = work->offsets + i * stride_of(offsets_size(column));
        if (work->validity)
            work->outputs[i].validity = work->validity + i * stride_of(validity_size(column));
    }
    bench_must(device, device->driver->fill(work->status, 0, sizeof(uint32_t), device->streams[0]),
               "filling device memory");
}

/* False if the kernel cannot decode these columns. */
static bool prepare(decode_work *work, const decode_subject *subject, const decode_how *how) {
    const bench_device *device = work->device;
    fastpair_error error;
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .kernel = how->kernel,
                                        .regenerate_positions = how->regenerated};
    if (how->with_offsets) options.outputs = FASTPAIR_GPU_OFFSETS;
    if (how->with_offsets && subject->validity) options.outputs |= FASTPAIR_GPU_VALIDITY;
    fastpair_status status = fastpair_gpu_job_open(device->gpu, subject->tiles, subject->count,
                                                   &options, &work->job, &error);
    if (status == FASTPAIR_ERROR_INVALID_ARGUMENT && how->kernel) return false;
    if (!status) status = fastpair_gpu_job_get_info(work->job, &work->info, &error);
    if (status) bench_die("%s", error.message);
    allocate(work, subject, how->with_offsets);
    if (fastpair_gpu_job_upload(work->job, work->memory, work->info.device_bytes, NULL,
                                device->streams[0], &error))
        bench_die("%s", error.message);
    bench_must(device, device->driver->stream_wait(device->streams[0]), "uploading");
    return true;
}

static void clean_up(decode_work *work) {
    const uint64_t memory[] = {work->memory, work->bytes, work->offsets, work->validity,
                               work->status};
    for (int i = 0; i < 5; i++)
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
    for (uint64_t i = 0; i < subject->count && same; i++) {
        const fastpair_gpu_output *output = &work->outputs[i];
        const bench_column *column = subject->column;
        same = bench_same(device, output->bytes, column->bytes, column->info.decoded_bytes) &&
               (!work->offsets ||
                bench_same(device, output->offsets, subject->offsets, offsets_size(column))) &&
               (!work->validity ||
                bench_same(device, output->validity, subject->validity, validity_size(column)));
    }
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
    cli_json_string(&json, "outputs",
                    work->validity  ? "offsets and validity"
                    : work->offsets ? "offsets"
                                    : "bytes");
    if (work->offsets)
        cli_json_real(&json, "bytes_per_row",
                      (double)subject->column->info.decoded_bytes /
                          (double)(subject->column->info.rows ? subject->column->info.rows : 1));
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

/* One kernel, if it can decode the column. */
static void measure_kernel(const decode_subject *subject, const decode_how *how) {
    const bench_device *device = subject->device;
    decode_work work = {.device = device, .info = {.struct_size = sizeof work.info}};
    if (prepare(&work, subject, how)) {
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

/* Decodes offsets and validity on the CPU, to compare with. */
static void expect_offsets(decode_subject *subject) {
    const bench_column *column = subject->column;
    fastpair_error error;
    uint8_t *bytes = bench_memory(column->info.decoded_bytes);
    subject->offsets = bench_memory(offsets_size(column));
    fastpair_destination to = {.struct_size = sizeof to,
                               .bytes = bytes,
                               .bytes_capacity = column->info.decoded_bytes,
                               .offsets = subject->offsets,
                               .offset_bits = 32};
    if (column->info.nulls) {
        subject->validity = to.validity = bench_memory(validity_size(column));
        memset(to.validity, 0, validity_size(column));
    }
    if (fastpair_column_decode(column->column, 0, column->info.rows, &to, &error))
        bench_die("%s: %s", column->path, error.message);
    free(bytes);
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
    /* Columns of more have 64-bit offsets, and no such rate. */
    bool can_have_offsets = options->offsets && column->info.decoded_bytes <= INT32_MAX;
    if (can_have_offsets) expect_offsets(&subject);
    const char *name;
    for (uint32_t i = 0; (name = fastpair_gpu_kernel_name(i)); i++) {
        if (options->only_chosen ? strcmp(name, subject.chosen) != 0
                                 : !measure_wants(options, name))
            continue;
        /* Left to the library, each dictionary has the kernel that suits it. */
        const char *asked = strcmp(name, subject.chosen) ? name : NULL;
        for (int regenerated = 0; regenerated < 2; regenerated++) {
            if (!(regenerated ? options->regenerated : options->stored)) continue;
            if (options->bytes_alone)
                measure_kernel(&subject, &(decode_how){asked, regenerated, false});
            if (can_have_offsets) measure_kernel(&subject, &(decode_how){asked, regenerated, true});
        }
    }
    free(subject.tiles);
    free(subject.offsets);
    free(subject.validity);
}
