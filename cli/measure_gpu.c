/* measure_gpu.c - decoding one column on the GPU.
 *
 * In: a column's image and its bytes. Out: rates, and whether every byte came back. Kernel time is
 * read off events around the decode call. End to end starts with the compressed image in pinned
 * host memory, uploads and decodes in parts on two streams, and stops when the last byte is in
 * device memory. */
#include "measure_gpu.h"

#include "cli.h"
#include "gpu_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decoded bytes in one part of an overlapped upload: enough to fill the device. */
#define PART_BYTES (64ull << 20)

static fastpair_status time_decode(cli_gpu_column *column, int launches, double *best_ms,
                                   fastpair_error *error) {
    const cuda_driver *cuda = &column->cuda;
    cuda_event start = NULL, end = NULL;
    int result = cuda->event_open(&start, 0);
    if (!result) result = cuda->event_open(&end, 0);
    fastpair_status status = FASTPAIR_OK;
    *best_ms = INFINITY;
    for (int i = 0; i < launches && !result && !status; i++) {
        float ms = 0;
        result = cuda->event_record(start, column->streams[0]);
        if (!result) status = cli_gpu_column_decode(column, NULL, 0, error);
        if (!result && !status) result = cuda->event_record(end, column->streams[0]);
        if (!result && !status) result = cuda->event_wait(end);
        if (!result && !status) result = cuda->event_elapsed(&ms, start, end);
        if (!result && !status && ms < *best_ms) *best_ms = ms;
    }
    if (start) cuda->event_close(start);
    if (end) cuda->event_close(end);
    return status ? status : cuda_status(cuda, result, "timing a decode", error);
}

/* One pass from pinned host memory to decoded device memory, in parts that alternate between the
 * streams. */
static fastpair_status pass_end_to_end(cli_gpu_column *column, uint64_t part_chunks,
                                       fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    int stream = 0;
    for (uint64_t first = 0; first < column->info.chunks && !status;
         first += part_chunks, stream ^= 1) {
        uint64_t left = column->info.chunks - first;
        fastpair_gpu_range range = {first, left < part_chunks ? left : part_chunks};
        status = cli_gpu_column_upload(column, &range, stream, error);
        if (!status) status = cli_gpu_column_decode(column, &range, stream, error);
    }
    for (int i = 0; i < CLI_GPU_STREAMS && !status; i++)
        status = cli_gpu_column_finish(column, i, error);
    return status;
}

static fastpair_status compare(cli_gpu_column *column, const uint8_t *bytes, int *same,
                               fastpair_error *error) {
    uint64_t size = column->info.decoded_bytes;
    uint8_t *back = malloc(size + 1);
    if (!back) {
        *error = (fastpair_error){.status = FASTPAIR_ERROR_OUT_OF_MEMORY,
                                  .position = FASTPAIR_NO_POSITION,
                                  .message = "no room to compare the bytes"};
        return FASTPAIR_ERROR_OUT_OF_MEMORY;
    }
    fastpair_status status =
        cli_gpu_column_fetch(column, column->output.bytes, size, back, 0, error);
    if (!status) status = cli_gpu_column_finish(column, 0, error);
    if (!status) *same = memcmp(back, bytes, size) == 0;
    free(back);
    return status;
}

/* Uploads, times the dictionaries, and spoils the output so that a decode must write all of it. */
static fastpair_status bring(cli_gpu_column *column, cli_gpu_measurement *result,
                             fastpair_error *error) {
    fastpair_gpu_range nothing = {0, 0};
    double start = cli_now();
    fastpair_status status = cli_gpu_column_upload(column, &nothing, 0, error);
    if (!status) status = cli_gpu_column_finish(column, 0, error);
    result->upload_dictionaries_us = (cli_now() - start) * 1e6;
    if (!status) status = cli_gpu_column_upload(column, NULL, 0, error);
    if (status || !column->info.decoded_bytes) return status;
    int filled = column->cuda.fill(column->output.bytes, 0xa5, column->info.decoded_bytes,
                                   column->streams[0]);
    return cuda_status(&column->cuda, filled, "filling memory", error);
}

/* All of it, for a column whose image lies in pinned memory. */
static fastpair_status measure_pinned(cli_gpu_column *column, const uint8_t *bytes, int launches,
                                      cli_gpu_measurement *result, fastpair_error *error) {
    uint64_t size = column->info.decoded_bytes;
    double best_ms = INFINITY, best_pass = INFINITY;
    memcpy(result->kernel, column->info.kernel, sizeof result->kernel);
    fastpair_status status = bring(column, result, error);
    if (!status) status = time_decode(column, launches, &best_ms, error);
    if (!status) status = compare(column, bytes, &result->verified, error);
    uint64_t part = size ? column->info.chunks * PART_BYTES / size + 1 : 1;
    for (int i = 0; i < launches / 5 + 1 && !status; i++) {
        double start = cli_now();
        status = pass_end_to_end(column, part, error);
        if (cli_now() - start < best_pass) best_pass = cli_now() - start;
    }
    result->decode_gb_s = (double)size / (best_ms * 1e6);
    result->end_to_end_gb_s = (double)size / (best_pass * 1e9);
    return status;
}

fastpair_status cli_measure_gpu(fastpair_gpu *gpu, const cli_gpu_subject *subject, int launches,
                                cli_gpu_measurement *result, fastpair_error *error) {
    fastpair_gpu_info info = {.struct_size = sizeof info};
    cuda_driver cuda;
    void *pinned = NULL;
    fastpair_column *column = NULL;
    cli_gpu_column on_device = {0};
    cli_gpu_how how = {0};
    *result = (cli_gpu_measurement){0};
    fastpair_status status = fastpair_gpu_get_info(gpu, &info, error);
    if (!status) status = cuda_open(&cuda, 0, error);
    if (status) return status;
    status = cuda_status(&cuda, cuda.allocate_pinned(&pinned, (size_t)subject->image_size),
                         "allocating pinned memory", error);
    if (!status) {
        memcpy(pinned, subject->image, (size_t)subject->image_size);
        status = fastpair_column_open(pinned, subject->image_size, NULL, &column, error);
    }
    if (!status) status = cli_gpu_column_open(gpu, column, &how, &on_device, error);
    if (!status) status = measure_pinned(&on_device, subject->bytes, launches, result, error);
    if (!status) memcpy(result->gpu, info.name, sizeof result->gpu);
    cli_gpu_column_close(&on_device);
    fastpair_column_close(column);
    if (pinned) cuda.release_pinned(pinned);
    cuda_close(&cuda);
    return status;
}
