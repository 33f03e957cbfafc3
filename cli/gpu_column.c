/* gpu_column.c - one column on the GPU.
 *
 * In: an open column. Out: its bytes in device memory, and from there on the host. The library allocates nothing on the device, so the
 * command does it here, and frees it. Refuses what does not fit the device's memory.
 */
#include "gpu_column.h"

#include "error.h"

#include <string.h>

static fastpair_status driver_status(const cli_gpu_column *column, fp_cu_result result,
                                     const char *purpose, fastpair_error *error) {
    return result ? fp_driver_fail(&column->gpu->driver, result, purpose, error) : FASTPAIR_OK;
}

static fp_cu_result allocate_all(cli_gpu_column *column, int want_offsets) {
    const fp_driver *driver = &column->gpu->driver;
    fp_cu_result result = driver->allocate(&column->tables, column->info.device_bytes + 1);
    if (!result) result = driver->allocate(&column->output, column->info.output_bytes + 1);
    if (!result && want_offsets)
        result = driver->allocate(&column->row_offsets, (column->info.rows + 1) * sizeof(uint64_t));
    if (!result) result = driver->allocate(&column->status, sizeof(uint32_t));
    for (int i = 0; i < CLI_GPU_STREAMS && !result; i++)
        result =
            driver->stream_create(&column->streams[i], 1 /* independent of the default stream */);
    if (!result) result = driver->fill(column->status, 0, sizeof(uint32_t), column->streams[0]);
    if (!result) result = driver->stream_wait(column->streams[0]);
    return result;
}

fastpair_status cli_gpu_column_open(fastpair_gpu *gpu, const fastpair_column *column,
                                    const char *kernel, int want_offsets, cli_gpu_column *opened,
                                    fastpair_error *error) {
    *opened = (cli_gpu_column){.gpu = gpu, .info = {.struct_size = sizeof opened->info}};
    fastpair_gpu_batch_options options = {.struct_size = sizeof options, .kernel = kernel};
    fastpair_status status = fp_gpu_push(gpu, error);
    if (status) return status;
    opened->entered = 1;
    status = fastpair_gpu_batch_create(gpu, &column, 1, &options, &opened->batch, error);
    if (!status) status = fastpair_gpu_batch_get_info(opened->batch, &opened->info, error);
    if (!status)
        status = driver_status(opened, allocate_all(opened, want_offsets),
                               "allocating device memory", error);
    if (status) cli_gpu_column_close(opened);
    return status;
}

void cli_gpu_column_close(cli_gpu_column *column) {
    if (!column->entered) return;
    const fp_driver *driver = &column->gpu->driver;
    for (int i = 0; i < CLI_GPU_STREAMS; i++)
        if (column->streams[i]) {
            driver->stream_wait(column->streams[i]);
            driver->stream_destroy(column->streams[i]);
        }
    const uint64_t memory[] = {column->tables, column->output, column->row_offsets, column->status};
    for (int i = 0; i < 4; i++)
        if (memory[i]) driver->release(memory[i]);
    fastpair_gpu_batch_free(column->batch);
    fp_gpu_pop(column->gpu);
    *column = (cli_gpu_column){0};
}

fastpair_status cli_gpu_column_upload(cli_gpu_column *column, uint64_t first, uint64_t count,
                                      int stream, fastpair_error *error) {
    return fastpair_gpu_batch_upload(column->batch, column->tables, column->info.device_bytes,
                                     first, count, column->streams[stream], error);
}

fastpair_status cli_gpu_column_decode(cli_gpu_column *column, uint64_t first, uint64_t count,
                                      int stream, fastpair_error *error) {
    fastpair_gpu_destination to = {.struct_size = sizeof to,
                                   .output = column->output,
                                   .output_bytes = column->info.output_bytes,
                                   .row_offsets = column->row_offsets,
                                   .offset_bits = column->row_offsets ? 64 : 0,
                                   .status = column->status};
    return fastpair_gpu_batch_decode(column->batch, first, count, &to, column->streams[stream],
                                     error);
}

fastpair_status cli_gpu_column_fetch(cli_gpu_column *column, uint64_t from, uint64_t size, void *to,
                                     int stream, fastpair_error *error) {
    if (!size) return FASTPAIR_OK;
    fp_cu_result result = column->gpu->driver.copy_to_host(to, column->output + from, (size_t)size,
                                                           column->streams[stream]);
    return driver_status(column, result, "copying decoded bytes back", error);
}

fastpair_status cli_gpu_column_finish(cli_gpu_column *column, int stream, fastpair_error *error) {
    const fp_driver *driver = &column->gpu->driver;
    uint32_t word = 0;
    fp_cu_result result =
        driver->copy_to_host(&word, column->status, sizeof word, column->streams[stream]);
    if (!result) result = driver->stream_wait(column->streams[stream]);
    if (result) return driver_status(column, result, "decoding", error);
    if (word)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, FASTPAIR_NO_POSITION,
                       "the GPU found %s%s%s; fastpair -t says where",
                       word & FASTPAIR_GPU_BAD_CODE ? "a code outside the dictionary " : "",
                       word & FASTPAIR_GPU_BAD_SIDECAR ? "a sidecar that does not fit the codes "
                                                       : "",
                       word & FASTPAIR_GPU_BAD_LENGTHS ? "row lengths that do not add up" : "");
    return FASTPAIR_OK;
}
