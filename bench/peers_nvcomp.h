/* peers_nvcomp.h - what compressing for nvCOMP and decompressing with it share. All its batched
 * codecs have the same calls but for the options, which are 64 bytes passed by value; so one set of
 * types serves them all, and nothing of nvCOMP is needed to build. */
#ifndef FP_BENCH_PEERS_NVCOMP_H
#define FP_BENCH_PEERS_NVCOMP_H

#include "peers.h"

/* ----------------------------------------------------- the library's calls, as it declares them */

typedef struct nvcomp_options {
    uint64_t words[8];
} nvcomp_options;

typedef int temp_size_call(size_t chunks, size_t largest, nvcomp_options options, size_t *size,
                           size_t total, void *stream);
typedef int most_output_call(size_t largest, nvcomp_options options, size_t *size);
typedef int compress_call(uint64_t from, uint64_t from_sizes, size_t largest, size_t chunks,
                          uint64_t temporary, size_t temporary_size, uint64_t to, uint64_t to_sizes,
                          nvcomp_options options, uint64_t statuses, void *stream);
typedef int decompress_call(uint64_t from, uint64_t from_sizes, uint64_t rooms, uint64_t to_sizes,
                            size_t chunks, uint64_t temporary, size_t temporary_size, uint64_t to,
                            nvcomp_options options, uint64_t statuses, void *stream);

typedef struct nvcomp_codec {
    const char *name;   /* "zstd" */
    const char *symbol; /* "Zstd" */
    compress_call *compress;
    decompress_call *decompress;
    temp_size_call *compress_temporary, *decompress_temporary;
    most_output_call *most_output;
} nvcomp_codec;

enum { NVCOMP_CODECS = 7 };

struct nvcomp_library {
    void *handle;
    unsigned version; /* 6000 for 6.0.0 */
    nvcomp_codec codecs[NVCOMP_CODECS];
};

/* A codec with its options: by nvCOMP's own compressor, or by a CPU library's at a level. */
typedef struct setting {
    const char *codec;
    const char *label;
    int algorithm;         /* the first word of the options of deflate, gdeflate and bitcomp */
    const char *cpu_codec; /* NULL: nvCOMP compresses */
    int cpu_level;
    int is_quick;
    int host, main, all; /* the chunk sizes that are measured, `host` from host memory, too */
} setting;

/* Of compressed chunks: the most any of its decompressors asks for. */
#define NVCOMP_ALIGNMENT 16u

static inline uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

uint64_t nvcomp_upload(const bench_device *device, const void *data, uint64_t size);
void nvcomp_download(const bench_device *device, void *to, uint64_t from, uint64_t size);

/* Compresses a column's bytes in chunks as the setting says. False if nvCOMP refuses, or the CPU
 * library is not installed. */
bool nvcomp_compress(const bench_device *device, const nvcomp_codec *codec, const setting *how,
                     const bench_column *column, uint64_t chunk_bytes, chunked *chunks);

#endif
