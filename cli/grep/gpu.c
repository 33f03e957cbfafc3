/* gpu.c - a search of a whole column on the GPU.
 *
 * In: an open column, and a search compiled for it. Out: a bitmap of its rows on the host. The
 * column is uploaded compressed; nothing is decoded there. The library allocates nothing on the
 * device, so that is done here, and undone whatever happens. Refuses what does not fit the device's
 * memory, and patterns that its tables cannot hold.
 */
#include "gpu.h"

#include "cuda.h"
#include "fastpair_gpu_search.h"
#include "gpu_column.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BLOCKS = 8 };

/* All that a search has on the device. */
typedef struct device {
    cuda_driver cuda;
    cuda_stream stream;
    fastpair_gpu_job *job;
    fastpair_gpu_rows *rows;
    fastpair_gpu_search *search;
    uint64_t blocks[MOST_BLOCKS];
    int block_count;
    uint64_t status; /* address of the word that kernels report to */
} device;

static fastpair_status allocate(device *d, uint64_t bytes, fastpair_gpu_block *block,
                                fastpair_error *error) {
    *block = (fastpair_gpu_block){.bytes = bytes};
    int result = d->cuda.allocate(&block->address, (size_t)bytes + 1);
    if (!result) d->blocks[d->block_count++] = block->address;
    return cuda_status(&d->cuda, result, "allocating device memory", error);
}

static fastpair_status upload_column(device *d, fastpair_gpu *gpu, const fastpair_column *column,
                                     fastpair_error *error) {
    fastpair_gpu_job_options options = {.struct_size = sizeof(options),
                                        .outputs = FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY};
    fastpair_gpu_job_info info = {.struct_size = sizeof(info)};
    fastpair_gpu_block memory, word;
    fastpair_status status = fastpair_gpu_job_open(gpu, &column, 1, &options, &d->job, error);
    if (!status) status = fastpair_gpu_job_get_info(d->job, &info, error);
    if (!status) status = allocate(d, info.device_bytes, &memory, error);
    if (!status) status = allocate(d, sizeof(uint32_t), &word, error);
    if (status) return status;
    d->status = word.address;
    int result = d->cuda.stream_open(&d->stream, CUDA_STREAM_INDEPENDENT);
    if (!result) result = d->cuda.fill(d->status, 0, sizeof(uint32_t), d->stream);
    status = cuda_status(&d->cuda, result, "opening a stream", error);
    if (status) return status;
    return fastpair_gpu_job_upload(d->job, memory.address, info.device_bytes, NULL, d->stream,
                                   error);
}

/* Where rows begin among the codes. */
static fastpair_status prepare_rows(device *d, fastpair_error *error) {
    fastpair_gpu_rows_info info = {.struct_size = sizeof(info)};
    fastpair_gpu_block memory, scratch;
    fastpair_status status = fastpair_gpu_rows_open(d->job, 0, &d->rows, error);
    if (!status) status = fastpair_gpu_rows_get_info(d->rows, &info, error);
    if (!status) status = allocate(d, info.device_bytes, &memory, error);
    if (!status) status = allocate(d, info.scratch_bytes, &scratch, error);
    if (!status)
        status = fastpair_gpu_rows_prepare(d->rows, &memory, &scratch, d->status, d->stream, error);
    return status;
}

/* Runs the search; *found is where its bitmap is. */
static fastpair_status launch(device *d, const fastpair_search *search, fastpair_gpu_block *found,
                              fastpair_error *error) {
    fastpair_gpu_search_info info = {.struct_size = sizeof(info)};
    fastpair_gpu_block tables, scratch;
    fastpair_status status = fastpair_gpu_search_open(d->rows, search, NULL, &d->search, error);
    if (!status) status = fastpair_gpu_search_get_info(d->search, &info, error);
    if (!status) status = allocate(d, info.device_bytes, &tables, error);
    if (!status) status = allocate(d, info.scratch_bytes, &scratch, error);
    if (!status) status = allocate(d, info.bitmap_bytes, found, error);
    if (!status) status = fastpair_gpu_search_upload(d->search, &tables, d->stream, error);
    if (status) return status;
    fastpair_gpu_matches matches = {.struct_size = sizeof(matches), .bitmap = found->address};
    return fastpair_gpu_search_run(d->search, &scratch, &matches, d->stream, error);
}

/* Waits for all of it. */
static fastpair_status fetch(device *d, const fastpair_gpu_block *found, uint8_t *bitmap,
                             fastpair_error *error) {
    uint32_t word = 0;
    int result = d->cuda.copy_to_host(&word, d->status, sizeof(word), d->stream);
    if (!result && found->bytes)
        result = d->cuda.copy_to_host(bitmap, found->address, (size_t)found->bytes, d->stream);
    if (!result) result = d->cuda.stream_wait(d->stream);
    if (result) return cuda_status(&d->cuda, result, "searching", error);
    return cli_gpu_status(word, error);
}

static void close_device(device *d) {
    if (!d->cuda.context) return;
    if (d->stream) d->cuda.stream_wait(d->stream);
    fastpair_gpu_search_close(d->search);
    fastpair_gpu_rows_close(d->rows);
    fastpair_gpu_job_close(d->job);
    for (int i = 0; i < d->block_count; i++) d->cuda.release(d->blocks[i]);
    if (d->stream) d->cuda.stream_close(d->stream);
    cuda_close(&d->cuda);
}

int grep_gpu_search(fastpair_gpu *gpu, const grep_file *file, uint8_t **bitmap) {
    device d = {0};
    fastpair_error error = {0};
    fastpair_gpu_block found = {0};
    fastpair_status status = cuda_open(&d.cuda, 0, &error);
    if (!status) status = upload_column(&d, gpu, file->column, &error);
    if (!status) status = prepare_rows(&d, &error);
    if (!status) status = launch(&d, file->search, &found, &error);
    /* Whole words come back, and whoever shifts bits reads one byte more. */
    *bitmap = status ? NULL : calloc(found.bytes + 1, 1);
    if (!status && !*bitmap) {
        status = FASTPAIR_ERROR_OUT_OF_MEMORY;
        error = (fastpair_error){.status = status, .position = FASTPAIR_NO_POSITION};
        snprintf(error.message, sizeof(error.message), "a bitmap of the rows does not fit");
    }
    if (!status) status = fetch(&d, &found, *bitmap, &error);
    close_device(&d);
    if (!status) return CLI_OK;
    free(*bitmap);
    *bitmap = NULL;
    return grep_file_fail(file, &error);
}
