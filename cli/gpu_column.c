/* gpu_column.c - one column on the GPU.
 *
 * In: an open column. Out: its bytes in device memory, and from there on the host. The library
 * allocates nothing on the device, so the command does it here, and frees it. Refuses what does not
 * fit the device's memory.
 */
#include "gpu_column.h"

#include <stdio.h>

static int allocate_all(cli_gpu_column *column, const cli_gpu_how *how) {
    const cuda_driver *cuda = &column->cuda;
    fastpair_gpu_output *to = &column->output;
    *to = (fastpair_gpu_output){.struct_size = sizeof *to,
                                .bytes_capacity = column->info.decoded_bytes,
                                .offset_bits = how->want_offsets ? 64 : 0};
    int result = cuda->allocate(&column->memory, column->info.device_bytes + 1);
    if (!result) result = cuda->allocate(&to->bytes, column->info.decoded_bytes + 1);
    if (!result && how->want_offsets)
        result = cuda->allocate(&to->offsets, (column->info.rows + 1) * sizeof(uint64_t));
    if (!result) result = cuda->allocate(&to->status, sizeof(uint32_t));
    for (int i = 0; i < CLI_GPU_STREAMS && !result; i++)
        result = cuda->stream_open(&column->streams[i], CUDA_STREAM_INDEPENDENT);
    if (!result) result = cuda->fill(to->status, 0, sizeof(uint32_t), column->streams[0]);
    return result ? result : cuda->stream_wait(column->streams[0]);
}

fastpair_status cli_gpu_column_open(fastpair_gpu *gpu, const fastpair_column *column,
                                    const cli_gpu_how *how, cli_gpu_column *opened,
                                    fastpair_error *error) {
    *opened = (cli_gpu_column){.info = {.struct_size = sizeof opened->info}};
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .outputs = how->want_offsets ? FASTPAIR_GPU_OFFSETS : 0,
                                        .kernel = how->kernel};
    fastpair_status status = cuda_open(&opened->cuda, 0, error);
    if (!status) status = fastpair_gpu_job_open(gpu, &column, 1, &options, &opened->job, error);
    if (!status) status = fastpair_gpu_job_get_info(opened->job, &opened->info, error);
    if (!status)
        status = cuda_status(&opened->cuda, allocate_all(opened, how), "allocating device memory",
                             error);
    if (status) cli_gpu_column_close(opened);
    return status;
}

void cli_gpu_column_close(cli_gpu_column *column) {
    const cuda_driver *cuda = &column->cuda;
    if (!cuda->context) return;
    for (int i = 0; i < CLI_GPU_STREAMS; i++)
        if (column->streams[i]) {
            cuda->stream_wait(column->streams[i]);
            cuda->stream_close(column->streams[i]);
        }
    const uint64_t memory[] = {column->memory, column->output.bytes, column->output.offsets,
                               column->output.status};
    for (int i = 0; i < 4; i++)
        if (memory[i]) cuda->release(memory[i]);
    fastpair_gpu_job_close(column->job);
    cuda_close(&column->cuda);
    *column = (cli_gpu_column){0};
}

fastpair_status cli_gpu_column_upload(cli_gpu_column *column, const fastpair_gpu_range *range,
                                      int stream, fastpair_error *error) {
    return fastpair_gpu_job_upload(column->job, column->memory, column->info.device_bytes, range,
                                   column->streams[stream], error);
}

fastpair_status cli_gpu_column_decode(cli_gpu_column *column, const fastpair_gpu_range *range,
                                      int stream, fastpair_error *error) {
    return fastpair_gpu_job_decode(column->job, &column->output, range, column->streams[stream],
                                   error);
}

fastpair_status cli_gpu_column_fetch(cli_gpu_column *column, uint64_t from, uint64_t size, void *to,
                                     int stream, fastpair_error *error) {
    if (!size) return FASTPAIR_OK;
    int result = column->cuda.copy_to_host(to, from, (size_t)size, column->streams[stream]);
    return cuda_status(&column->cuda, result, "copying decoded bytes back", error);
}

fastpair_status cli_gpu_status(uint32_t word, fastpair_error *error) {
    if (!word) return FASTPAIR_OK;
    *error = (fastpair_error){.status = FASTPAIR_ERROR_CORRUPT, .position = FASTPAIR_NO_POSITION};
    snprintf(error->message, sizeof error->message, "the GPU found%s%s%s; fastpair -t says where",
             word & FASTPAIR_GPU_BAD_CODE ? " a code outside the dictionary" : "",
             word & FASTPAIR_GPU_BAD_SIDECAR ? " a sidecar that does not fit the codes" : "",
             word & FASTPAIR_GPU_BAD_LENGTHS ? " row lengths that do not add up" : "");
    return FASTPAIR_ERROR_CORRUPT;
}

fastpair_status cli_gpu_column_finish(cli_gpu_column *column, int stream, fastpair_error *error) {
    uint32_t word = 0;
    int result = column->cuda.copy_to_host(&word, column->output.status, sizeof word,
                                           column->streams[stream]);
    if (!result) result = column->cuda.stream_wait(column->streams[stream]);
    if (result) return cuda_status(&column->cuda, result, "decoding", error);
    return cli_gpu_status(word, error);
}
