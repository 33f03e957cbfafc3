/* gpu_column.h - one column on the GPU, with the device memory that the library leaves to its
 * caller. */
#ifndef CLI_GPU_COLUMN_H
#define CLI_GPU_COLUMN_H

#include "cuda.h"
#include "fastpair_gpu.h"

/* Two streams take turns, so that copying one part overlaps decoding the other. */
enum { CLI_GPU_STREAMS = 2 };

typedef struct cli_gpu_column {
    cuda_driver cuda;
    fastpair_gpu_job *job;
    fastpair_gpu_job_info info;
    /* Device address of info.device_bytes bytes; 0 is not allocated. */
    uint64_t memory;
    fastpair_gpu_output output;
    cuda_stream streams[CLI_GPU_STREAMS];
} cli_gpu_column;

/* How a column is to be decoded. */
typedef struct cli_gpu_how {
    /* NULL: the library chooses. */
    const char *kernel;
    /* Row offsets of 64 bits are wanted. */
    int want_offsets;
} cli_gpu_how;

/* Opens a job for a column and allocates device memory for it. The device's context is current
 * until the column is closed. On failure nothing is left behind. */
fastpair_status cli_gpu_column_open(fastpair_gpu *gpu, const fastpair_column *column,
                                    const cli_gpu_how *how, cli_gpu_column *opened,
                                    fastpair_error *error);
void cli_gpu_column_close(cli_gpu_column *column);

/* Uploads chunks (and the dictionaries, the first time) on a stream; decodes chunks on a stream.
 * NULL: all chunks. */
fastpair_status cli_gpu_column_upload(cli_gpu_column *column, const fastpair_gpu_range *range,
                                      int stream, fastpair_error *error);
fastpair_status cli_gpu_column_decode(cli_gpu_column *column, const fastpair_gpu_range *range,
                                      int stream, fastpair_error *error);

/* Copies device memory back to the host, asynchronously where `to` is pinned. */
fastpair_status cli_gpu_column_fetch(cli_gpu_column *column, uint64_t from, uint64_t size, void *to,
                                     int stream, fastpair_error *error);

/* What the status word of a job says: OK for 0, else CORRUPT with what was found. */
fastpair_status cli_gpu_status(uint32_t word, fastpair_error *error);

/* Waits for a stream and looks at the status word: CORRUPT if decoding met bad data. */
fastpair_status cli_gpu_column_finish(cli_gpu_column *column, int stream, fastpair_error *error);

#endif
