/* gpu_encode.h - what the parts of fastpair-gpu-encode share: rows, a dictionary, an encoder. */
#ifndef FP_BENCH_GPU_ENCODE_H
#define FP_BENCH_GPU_ENCODE_H

#include "fastpair_gpu_encode.h"
#include "harness.h"

typedef struct encode_subject {
    bench_device device;
    const char *path;
    /* Rows in host memory, with 64-bit offsets, and what fastpair_compress makes of them. */
    fastpair_rows rows;
    uint64_t bytes;
    uint8_t *image;
    uint64_t image_bytes;
    double cpu_seconds; /* that it took, on all processors */
    fastpair_compress_options options;
    fastpair_gpu_encoder *encoder;
    fastpair_gpu_block tables;
    /* The same rows in device memory. */
    fastpair_gpu_encode_input input;
    int launches, passes;
    uint64_t piece_bytes; /* of pieces from host memory */
} encode_subject;

void encode_must(fastpair_status status, const fastpair_error *error);
fastpair_gpu_block encode_block(const bench_device *device, uint64_t bytes);
void encode_release(const bench_device *device, fastpair_gpu_block *block);

/* From pinned memory to an image in pinned memory, in pieces (gpu_encode_host.c). */
void encode_from_host(encode_subject *s);

/* nvCOMP's compressors on the same bytes, in pages of 64 KiB (gpu_encode_peers.c). */
void encode_peers(encode_subject *s, const char *nvcomp);

#endif
