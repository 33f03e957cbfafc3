/* measure.c - fastpair-measure: how fast this GPU decodes, and what its kernels need.
 *
 *     fastpair-measure device
 *     fastpair-measure kernels
 *     fastpair-measure rates [options] FILE.fpc...
 *     fastpair-measure host  [options] FILE.fpc...
 *
 * device: the GPU, and rates of plain copies on it, to it and from it. kernels: for each decode
 * kernel what it needs, how many blocks the resource model says a multiprocessor holds, and how
 * many the driver says. rates: decode rates from device memory. host: from host memory, and the
 * bytes of the first file also sent raw. Columns are repeated to --bytes of output, each repetition
 * a copy of its own in device memory.
 *
 *     --bytes=SIZE            decoded bytes, decimal K, M or G (1G); 0: the column once
 *     --launches=N            launches a figure (100)
 *     --passes=N              passes from host memory a figure (10)
 *     --kernel=WORDS          only kernels whose name begins so, or is this if WORDS begin with "="; may be repeated.
 *                             "chosen": the one the library would choose
 *     --positions=WHICH       stored (as far as a kernel can use them; the default), regenerated or both
 *     --outputs=WHICH         bytes (the default), offsets (bytes, 32-bit row offsets and, of columns with nulls, validity) or both
 *     --memory=WHICH          of host memory: both (the default), or pinned, and then nothing is sent raw
 *     --once=N                decode N times and print nothing: for a profiler
 *
 * Out: one JSON object a line. Rates are 10^9 bytes of decoded output a second; every output is
 * compared with what the CPU decodes. Exit codes: 0, 1 when something failed, 2 wrong arguments, 77
 * no GPU. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void usage(void) {
    fputs("usage: fastpair-measure device | kernels\n"
          "       fastpair-measure rates | host [--bytes=SIZE] [--launches=N] [--passes=N] "
          "[--kernel=WORDS]...\n"
          "           [--positions=stored|regenerated|both] [--outputs=bytes|offsets|both]\n"
          "           [--memory=both|pinned] [--once=N] FILE.fpc...\n",
          stderr);
    exit(2);
}

bool measure_wants(const measure_options *options, const char *kernel) {
    for (int i = 0; i < options->kernel_count; i++) {
        const char *words = options->kernels[i];
        if (*words == '=' ? !strcmp(kernel, words + 1) : !strncmp(kernel, words, strlen(words)))
            return true;
    }
    return options->kernel_count == 0;
}

bool measure_takes(const bench_device *device, const bench_column *column,
                   fastpair_gpu_job_info *info) {
    const fastpair_column *one = column->column;
    fastpair_gpu_job *job;
    fastpair_error error;
    fastpair_status status = fastpair_gpu_job_open(device->gpu, &one, 1, NULL, &job, &error);
    *info = (fastpair_gpu_job_info){.struct_size = sizeof *info};
    if (status == FASTPAIR_ERROR_UNSUPPORTED || status == FASTPAIR_ERROR_INVALID_ARGUMENT) {
        fprintf(stderr, "%s: left out: %s\n", column->path, error.message);
        return false;
    }
    if (status || fastpair_gpu_job_get_info(job, info, &error))
        bench_die("%s: %s", column->path, error.message);
    fastpair_gpu_job_close(job);
    return true;
}

void measure_print_column(cli_json *json, const bench_column *column) {
    const fastpair_column_info *info = &column->info;
    uint64_t counted = info->code_bytes + info->dictionary_bytes + info->sidecar_bytes;
    cli_json_string(json, "file", column->path);
    cli_json_number(json, "column_bytes", info->decoded_bytes);
    cli_json_number(json, "code_bits", info->code_bits);
    cli_json_number(json, "max_token", info->max_token);
    cli_json_number(json, "batch_codes", info->batch_codes);
    cli_json_real(json, "ratio", (double)info->decoded_bytes / (double)counted);
    cli_json_real(json, "mean_token", (double)info->decoded_bytes / (double)info->codes);
}

/* ---------------------------------------------------------------- the device */

typedef struct copy_work {
    const bench_device *device;
    uint64_t to, from;
    void *host;
    uint64_t size;
} copy_work;

static void copy_on_device(void *context) {
    const copy_work *work = context;
    bench_must(work->device,
               work->device->driver->copy_on_device(work->to, work->from, work->size,
                                                    work->device->streams[0]),
               "copying on the device");
}

static void fill_device(void *context) {
    const copy_work *work = context;
    bench_must(work->device,
               work->device->driver->fill(work->to, 1, work->size, work->device->streams[0]),
               "filling device memory");
}

static void copy_in(void *context) {
    const copy_work *work = context;
    bench_must(work->device,
               work->device->driver->copy_to_device(work->to, work->host, work->size,
                                                    work->device->streams[0]),
               "copying to the device");
}

static void copy_out(void *context) {
    const copy_work *work = context;
    bench_must(work->device,
               work->device->driver->copy_to_host(work->host, work->from, work->size,
                                                  work->device->streams[0]),
               "copying from the device");
}

static void print_device(const bench_device *device, const measure_options *options) {
    const fastpair_gpu_info *info = &device->info;
    copy_work work = {.device = device, .size = options->bytes ? options->bytes : 1000000000u};
    double gigabytes = (double)work.size / 1e9;
    work.to = bench_device_memory(device, work.size);
    work.from = bench_device_memory(device, work.size);
    work.host = bench_memory(work.size);
    memset(work.host, 1, work.size);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "device");
    cli_json_string(&json, "gpu", info->name);
    cli_json_number(&json, "compute",
                    (uint64_t)info->compute_major * 10 + (uint64_t)info->compute_minor);
    cli_json_number(&json, "driver_version", (uint64_t)info->driver_version);
    cli_json_number(&json, "multiprocessors", info->multiprocessors);
    cli_json_number(&json, "warps_per_multiprocessor", info->warps_per_multiprocessor);
    cli_json_number(&json, "registers_per_multiprocessor", info->registers_per_multiprocessor);
    cli_json_number(&json, "shared_per_multiprocessor", info->shared_per_multiprocessor);
    cli_json_number(&json, "shared_reserved_per_block", info->shared_reserved_per_block);
    cli_json_number(&json, "memory_bytes", info->memory_bytes);
    cli_json_number(&json, "bytes", work.size);
    bench_times times = bench_time_launches(device, options->launches, copy_on_device, &work);
    cli_json_real(&json, "copy_gb_s", 2 * gigabytes / (times.least * 1e-3)); /* read and written */
    times = bench_time_launches(device, options->launches, fill_device, &work);
    cli_json_real(&json, "fill_gb_s", gigabytes / (times.least * 1e-3));
    times = bench_time_passes(device, options->passes, copy_in, &work);
    cli_json_real(&json, "pageable_to_device_gb_s", gigabytes / (times.least * 1e-3));
    free(work.host);
    work.host = bench_pinned_memory(device, work.size);
    times = bench_time_passes(device, options->passes, copy_in, &work);
    cli_json_real(&json, "pinned_to_device_gb_s", gigabytes / (times.least * 1e-3));
    times = bench_time_passes(device, options->passes, copy_out, &work);
    cli_json_real(&json, "device_to_pinned_gb_s", gigabytes / (times.least * 1e-3));
    cli_json_end(&json);
    device->driver->release_pinned(work.host);
    device->driver->release(work.to);
    device->driver->release(work.from);
}

/* ---------------------------------------------------------------- kernels */

static void print_kernel(const bench_device *device, uint32_t index) {
    fastpair_gpu_kernel_info info = {.struct_size = sizeof info};
    fastpair_error error;
    if (fastpair_gpu_get_kernel(device->gpu, index, &info, &error)) bench_die("%s", error.message);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "kernel");
    cli_json_string(&json, "kernel", fastpair_gpu_kernel_name(index));
    cli_json_number(&json, "threads", info.threads);
    cli_json_number(&json, "registers", info.registers);
    cli_json_number(&json, "register_limit", info.register_limit);
    cli_json_number(&json, "spill_bytes", info.spill_bytes);
    cli_json_number(&json, "shared_bytes", info.shared_bytes);
    cli_json_number(&json, "model_blocks", info.model_blocks);
    cli_json_number(&json, "driver_blocks", info.driver_blocks);
    cli_json_end(&json);
}

/* ---------------------------------------------------------------- arguments */

/* Whether the argument, up to its equals sign, is this option. */
static bool is_option(const char *argument, size_t length, const char *option) {
    return length == strlen(option) && !strncmp(argument, option, length);
}

static void take_option(measure_options *options, const char *argument) {
    const char *value = strchr(argument, '=');
    if (!value) usage();
    size_t name = (size_t)(value++ - argument);
    if (is_option(argument, name, "--bytes"))
        options->bytes = bench_size(value);
    else if (is_option(argument, name, "--launches"))
        options->launches = bench_count(value);
    else if (is_option(argument, name, "--passes"))
        options->passes = bench_count(value);
    else if (is_option(argument, name, "--once"))
        options->once = bench_count(value);
    else if (is_option(argument, name, "--positions")) {
        options->stored = !strcmp(value, "stored") || !strcmp(value, "both");
        options->regenerated = !strcmp(value, "regenerated") || !strcmp(value, "both");
        if (!options->stored && !options->regenerated) usage();
    } else if (is_option(argument, name, "--outputs")) {
        options->bytes_alone = !strcmp(value, "bytes") || !strcmp(value, "both");
        options->offsets = !strcmp(value, "offsets") || !strcmp(value, "both");
        if (!options->bytes_alone && !options->offsets) usage();
    } else if (is_option(argument, name, "--memory")) {
        options->only_pinned = !strcmp(value, "pinned");
        if (!options->only_pinned && strcmp(value, "both") != 0) usage();
    } else if (is_option(argument, name, "--kernel")) {
        if (!strcmp(value, "chosen"))
            options->only_chosen = true;
        else if (options->kernel_count < MEASURE_MOST_KERNELS)
            options->kernels[options->kernel_count++] = value;
        else
            usage();
    } else
        usage();
}

int main(int count, char **arguments) {
    measure_options options = {
        .bytes = 1000000000u, .launches = 100, .passes = 10, .stored = true, .bytes_alone = true};
    if (count < 2) usage();
    const char *what = arguments[1];
    int rates = !strcmp(what, "rates"), host = !strcmp(what, "host"),
        kernels = !strcmp(what, "kernels");
    if (!rates && !host && !kernels && strcmp(what, "device") != 0) usage();
    int first = 2;
    for (; first < count && !strncmp(arguments[first], "--", 2); first++)
        take_option(&options, arguments[first]);
    if ((rates || host) != (first < count)) usage();

    bench_device device;
    fastpair_error error;
    if (!bench_device_open(&device, &error)) {
        fprintf(stderr, "fastpair-measure: %s\n", error.message);
        return 77;
    }
    if (kernels)
        for (uint32_t i = 0; fastpair_gpu_kernel_name(i); i++) print_kernel(&device, i);
    else if (!rates && !host)
        print_device(&device, &options);
    /* Files of one call are encodings of one column: its bytes are sent raw once. */
    for (int file = first; file < count; file++) {
        bench_column column = bench_column_open(arguments[file]);
        if (rates)
            measure_rates(&device, &options, &column);
        else
            measure_host(&device, &options, &column, file == first);
        bench_column_close(&column);
    }
    bench_device_close(&device);
    return 0;
}
