/* measure_gpu.h - decoding one column on the GPU, timed and compared. */
#ifndef CLI_MEASURE_GPU_H
#define CLI_MEASURE_GPU_H

#include "fastpair_gpu.h"

typedef struct cli_gpu_measurement {
    /* The device's name; empty: no GPU took part. */
    char gpu[128];
    char kernel[64];
    /* From compressed in device memory to decoded in device memory, 10^9 bytes per second. */
    double decode_gb_s;
    /* From compressed in pinned host memory to decoded in device memory. */
    double end_to_end_gb_s;
    /* Copying the dictionaries, once per column. */
    double upload_dictionaries_us;
    int verified;
} cli_gpu_measurement;

/* A column's image and the bytes that it decodes to. */
typedef struct cli_gpu_subject {
    const uint8_t *image;
    uint64_t image_size;
    const uint8_t *bytes;
} cli_gpu_subject;

/* Decodes at least `launches` times and keeps the shortest time of each figure. Every byte is
 * compared. */
fastpair_status cli_measure_gpu(fastpair_gpu *gpu, const cli_gpu_subject *subject, int launches,
                                cli_gpu_measurement *result, fastpair_error *error);

#endif
