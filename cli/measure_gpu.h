/* measure_gpu.h - decoding one column on the GPU, timed and compared. */
#ifndef CLI_MEASURE_GPU_H
#define CLI_MEASURE_GPU_H

#include "fastpair_gpu.h"

typedef struct cli_gpu_measurement {
    char gpu[128]; /* empty: no GPU took part */
    char kernel[64];
    double
        decode_gb_s; /* from compressed in device memory to decoded in device memory, 10^9 bytes per second */
    double end_to_end_gb_s;  /* from compressed in pinned host memory to decoded in device memory */
    double upload_tables_us; /* copying tables and dictionary planes, once a column */
    int verified;
} cli_gpu_measurement;

/* Decodes at least `launches` times and keeps the shortest time of each figure. Every byte is compared with `bytes`. */
fastpair_status cli_measure_gpu(fastpair_gpu *gpu, const fastpair_column *column,
                                const uint8_t *bytes, const char *kernel, int launches,
                                cli_gpu_measurement *result, fastpair_error *error);

#endif
