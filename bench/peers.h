/* peers.h - other codecs on the same bytes. Nothing of theirs is linked: libraries are opened at
 * run time. */
#ifndef FP_BENCH_PEERS_H
#define FP_BENCH_PEERS_H

#include "harness.h"
#include "json.h"

/* ---------------------------------------------------------------- codecs on the CPU */

#define CPU_CODEC_CALLS 5

/* A CPU codec at one level. `compress` returns the compressed size, 0 for failure; `decompress`
 * whether all bytes came back. */
typedef struct cpu_codec {
    const char *name;    /* "zstd" */
    const char *library; /* "libzstd.so.1" */
    int level;
    int is_quick; /* part of short runs */
    uint64_t (*bound)(const struct cpu_codec *codec, uint64_t size);
    uint64_t (*compress)(const struct cpu_codec *codec, const uint8_t *from, uint64_t size,
                         uint8_t *to, uint64_t room);
    bool (*decompress)(const struct cpu_codec *codec, const uint8_t *from, uint64_t size,
                       uint8_t *to, uint64_t room);
    void *calls[CPU_CODEC_CALLS]; /* functions of the library */
} cpu_codec;

/* Entry i of the list of codecs and levels, with its library opened; false past the last. `usable`
 * is false where the library is not installed or lacks a call. */
bool cpu_codec_get(int i, cpu_codec *codec, bool *usable);

/* ---------------------------------------------------------------- chunks */

/* Bytes cut into chunks of one size (the last may be shorter), each compressed by itself. */
typedef struct chunked {
    uint64_t count, chunk_bytes, bytes;
    uint64_t *sizes;   /* compressed, of each chunk */
    uint8_t *data;     /* all of them, each at a multiple of the alignment */
    uint64_t *offsets; /* in data */
    uint64_t data_bytes;
    uint64_t compressed_bytes; /* without the gaps */
} chunked;

/* With all processors. False if a chunk failed. */
bool chunk_and_compress(const cpu_codec *codec, const uint8_t *bytes, uint64_t size,
                        uint64_t chunk_bytes, uint64_t alignment, chunked *result);
void chunked_close(chunked *chunks);

static inline uint64_t chunk_size(const chunked *chunks, uint64_t i) {
    uint64_t left = chunks->bytes - i * chunks->chunk_bytes;
    return left < chunks->chunk_bytes ? left : chunks->chunk_bytes;
}

/* ---------------------------------------------------------------- what is measured */

/* Which levels and chunk sizes: few; those that matter from host memory; the main ones; every. */
typedef enum peer_settings { PEER_MAIN, PEER_QUICK, PEER_HOST, PEER_ALL } peer_settings;

typedef struct peer_options {
    uint64_t bytes; /* that a column is repeated to on the GPU */
    int launches, passes;
    double seconds; /* for each figure on the CPU */
    peer_settings settings;
    bool not_host;    /* without the settings that PEER_HOST has */
    bool from_host;   /* on the GPU */
    bool only_pinned; /* no pageable host memory */
    bool cpu, gpu;    /* which of the two */
    const char *nvcomp;
    const char *cold; /* the column's cold file: only what peers_rest.c measures */
} peer_options;

void measure_cpu_peers(const peer_options *options, const bench_column *column);

/* A column at rest: the same rows warm and cold, beside zstd on the text (peers_rest.c). */
void measure_rest(const peer_options *options, const bench_column *warm, const bench_column *cold);

/* nvCOMP opened from a path; ends the program if it cannot be. */
typedef struct nvcomp_library nvcomp_library;
nvcomp_library *nvcomp_open(const char *path);
void nvcomp_close(nvcomp_library *library);
void measure_nvcomp(const bench_device *device, const peer_options *options,
                    const nvcomp_library *library, const bench_column *column);

#endif
