/* gpu_column.h - one column on the GPU, with the device memory the library leaves to its caller. */
#ifndef CLI_GPU_COLUMN_H
#define CLI_GPU_COLUMN_H

#include "fastpair_gpu.h"
#include "gpu/device.h"

/* Two streams take turns, so that copying one part overlaps decoding the other. */
enum { CLI_GPU_STREAMS = 2 };

typedef struct cli_gpu_column {
    fastpair_gpu *gpu;
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info;
    uint64_t tables; /* device addresses; 0 is not allocated */
    uint64_t output;
    uint64_t row_offsets;
    uint64_t status;
    fp_cu_stream streams[CLI_GPU_STREAMS];
    int entered; /* the device's context is current until the column is closed */
} cli_gpu_column;

/* Lays a column out and allocates device memory for it; row offsets (64-bit) only if wanted. `kernel` NULL: chosen. On failure
 * nothing is left behind. */
fastpair_status cli_gpu_column_open(fastpair_gpu *gpu, const fastpair_column *column,
                                    const char *kernel, int want_offsets, cli_gpu_column *opened,
                                    fastpair_error *error);
void cli_gpu_column_close(cli_gpu_column *column);

/* Uploads chunks first .. first + count (and the tables, the first time) on a stream. */
fastpair_status cli_gpu_column_upload(cli_gpu_column *column, uint64_t first, uint64_t count,
                                      int stream, fastpair_error *error);

/* Decodes chunks first .. first + count on a stream. */
fastpair_status cli_gpu_column_decode(cli_gpu_column *column, uint64_t first, uint64_t count,
                                      int stream, fastpair_error *error);

/* Copies bytes of the output back to the host, asynchronously where `to` is pinned. */
fastpair_status cli_gpu_column_fetch(cli_gpu_column *column, uint64_t from, uint64_t size, void *to,
                                     int stream, fastpair_error *error);

/* Waits for a stream and looks at the status word: CORRUPT if decoding met bad data. */
fastpair_status cli_gpu_column_finish(cli_gpu_column *column, int stream, fastpair_error *error);

#endif
