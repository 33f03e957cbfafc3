/* measure_gpu.c - decoding one column on the GPU.
 *
 * In: an open column and its bytes. Out: rates, and whether every byte came back. Kernel time is read off events around the decode call; end
 * to end starts with the compressed image in pinned host memory, uploads and decodes in parts on two streams, and stops when
 * the last byte is in device memory.
 */
#include "measure_gpu.h"

#include "column.h"
#include "gpu_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Chunks in one part of an overlapped upload: enough decoded bytes to fill the device. */
#define PART_BYTES (64ull << 20)

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static fastpair_status time_decode(cli_gpu_column *column, int launches, double *best_ms,
                                   fastpair_error *error) {
    const fp_driver *driver = &column->gpu->driver;
    fp_cu_event start = NULL, end = NULL;
    fp_cu_result result = driver->event_create(&start, 0);
    if (!result) result = driver->event_create(&end, 0);
    fastpair_status status = FASTPAIR_OK;
    *best_ms = INFINITY;
    for (int i = 0; i < launches && !result && !status; i++) {
        float ms = 0;
        result = driver->event_record(start, column->streams[0]);
        if (!result) status = cli_gpu_column_decode(column, 0, column->info.chunks, 0, error);
        if (!result && !status) result = driver->event_record(end, column->streams[0]);
        if (!result && !status) result = driver->event_wait(end);
        if (!result && !status) result = driver->event_elapsed(&ms, start, end);
        if (!result && !status && ms < *best_ms) *best_ms = ms;
    }
    if (start) driver->event_destroy(start);
    if (end) driver->event_destroy(end);
    return status   ? status
           : result ? fp_driver_fail(driver, result, "timing a decode", error)
                    : FASTPAIR_OK;
}

/* One pass from pinned host memory to decoded device memory, in parts that alternate between the streams. */
static fastpair_status pass_end_to_end(cli_gpu_column *column, uint64_t chunks_a_part,
                                       fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    int stream = 0;
    for (uint64_t first = 0; first < column->info.chunks && !status;
         first += chunks_a_part, stream ^= 1) {
        uint64_t left = column->info.chunks - first,
                 count = left < chunks_a_part ? left : chunks_a_part;
        status = cli_gpu_column_upload(column, first, count, stream, error);
        if (!status) status = cli_gpu_column_decode(column, first, count, stream, error);
    }
    for (int i = 0; i < CLI_GPU_STREAMS && !status; i++)
        status = cli_gpu_column_finish(column, i, error);
    return status;
}

static fastpair_status compare(cli_gpu_column *column, const uint8_t *bytes, uint64_t size,
                               int *same, fastpair_error *error) {
    uint8_t *back = malloc(size + 1);
    if (!back)
        return fp_fail(error, FASTPAIR_ERROR_OUT_OF_MEMORY, FASTPAIR_NO_POSITION,
                       "no room to compare the bytes");
    fastpair_status status = cli_gpu_column_fetch(column, 0, size, back, 0, error);
    if (!status) status = cli_gpu_column_finish(column, 0, error);
    if (!status) *same = memcmp(back, bytes, size) == 0;
    free(back);
    return status;
}

/* All of it, for a column whose image lies in pinned memory. */
static fastpair_status measure_pinned(fastpair_gpu *gpu, const fastpair_column *column,
                                      const uint8_t *bytes, const char *kernel, int launches,
                                      cli_gpu_measurement *result, fastpair_error *error) {
    fastpair_column_info info = {.struct_size = sizeof info};
    cli_gpu_column on_device;
    fastpair_status status = fastpair_column_get_info(column, &info, error);
    if (!status) status = cli_gpu_column_open(gpu, column, kernel, 0, &on_device, error);
    if (status) return status;
    const fp_driver *driver = &gpu->driver;
    uint64_t size = info.decoded_bytes, chunks = on_device.info.chunks;
    memcpy(result->kernel, on_device.info.kernel, sizeof result->kernel);
    double start = seconds_now(), best_ms = INFINITY, best_pass = INFINITY;
    status = cli_gpu_column_upload(&on_device, 0, 0, 0, error);
    if (!status) status = cli_gpu_column_finish(&on_device, 0, error);
    result->upload_tables_us = (seconds_now() - start) * 1e6;
    if (!status) status = cli_gpu_column_upload(&on_device, 0, chunks, 0, error);
    if (!status &&
        driver->fill(on_device.output, 0xa5, on_device.info.output_bytes, on_device.streams[0]))
        status = fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                         "GPU: filling memory failed");
    if (!status) status = time_decode(&on_device, launches, &best_ms, error);
    if (!status) status = compare(&on_device, bytes, size, &result->verified, error);
    uint64_t part = size ? chunks * PART_BYTES / size + 1 : 1;
    for (int i = 0; i < launches / 5 + 1 && !status; i++) {
        start = seconds_now();
        status = pass_end_to_end(&on_device, part, error);
        if (seconds_now() - start < best_pass) best_pass = seconds_now() - start;
    }
    result->decode_gb_s = (double)size / (best_ms * 1e6);
    result->end_to_end_gb_s = (double)size / (best_pass * 1e9);
    cli_gpu_column_close(&on_device);
    return status;
}

/* Calls measure_pinned with a copy of the column in pinned memory. */
static fastpair_status measure_copy(fastpair_gpu *gpu, const fastpair_column *column,
                                    const uint8_t *bytes, const char *kernel, int launches,
                                    cli_gpu_measurement *result, fastpair_error *error) {
    void *pinned = NULL;
    fastpair_column *copy = NULL;
    fp_cu_result failure = gpu->driver.allocate_pinned(&pinned, (size_t)column->size);
    if (failure) return fp_driver_fail(&gpu->driver, failure, "allocating pinned memory", error);
    memcpy(pinned, column->image, (size_t)column->size);
    fastpair_status status = fastpair_column_open(pinned, column->size, NULL, &copy, error);
    if (!status) status = measure_pinned(gpu, copy, bytes, kernel, launches, result, error);
    fastpair_column_close(copy);
    gpu->driver.release_pinned(pinned);
    return status;
}

fastpair_status cli_measure_gpu(fastpair_gpu *gpu, const fastpair_column *column,
                                const uint8_t *bytes, const char *kernel, int launches,
                                cli_gpu_measurement *result, fastpair_error *error) {
    fastpair_gpu_info info = {.struct_size = sizeof info};
    *result = (cli_gpu_measurement){0};
    fastpair_status status = fastpair_gpu_get_info(gpu, &info, error);
    if (!status) status = fp_gpu_push(gpu, error);
    if (status) return status;
    status = measure_copy(gpu, column, bytes, kernel, launches, result, error);
    fp_gpu_pop(gpu);
    if (!status) memcpy(result->gpu, info.name, sizeof result->gpu);
    return status;
}
