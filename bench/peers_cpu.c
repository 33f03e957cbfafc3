/* peers_cpu.c - codecs on the CPU: zstd, lz4, snappy, libdeflate. In: bytes. Out: sizes and
 * decompression rates of one thread. Each library is opened by the name it has had for years, and
 * its calls are declared here, so nothing of it is needed to build. */
#include "peers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the libraries' calls */

typedef size_t zstd_bound_call(size_t size);
typedef size_t zstd_compress_call(void *to, size_t room, const void *from, size_t size, int level);
typedef size_t zstd_decompress_call(void *to, size_t room, const void *from, size_t size);
typedef int lz4_bound_call(int size);
typedef int lz4_fast_call(const char *from, char *to, int size, int room, int acceleration);
typedef int lz4_best_call(const char *from, char *to, int size, int room, int level);
typedef int lz4_decompress_call(const char *from, char *to, int size, int room);
typedef size_t snappy_bound_call(size_t size);
typedef int snappy_call(const char *from, size_t size, char *to, size_t *to_size);
typedef void *deflate_make_call(int level);
typedef void deflate_free_call(void *state);
typedef size_t deflate_compress_call(void *state, const void *from, size_t size, void *to,
                                     size_t room);
typedef void *inflate_make_call(void);
typedef int inflate_call(void *state, const void *from, size_t size, void *to, size_t room,
                         size_t *got);

/* A call of the codec's library, as a function of its type. */
#define CALL(codec, i, type)                                                                       \
    (((union {                                                                                     \
         void *address;                                                                            \
         type *call;                                                                               \
     }){.address = (codec)->calls[i]})                                                             \
         .call)

static uint64_t zstd_bound(const cpu_codec *codec, uint64_t size) {
    return CALL(codec, 0, zstd_bound_call)(size);
}

static uint64_t zstd_compress(const cpu_codec *codec, const uint8_t *from, uint64_t size,
                              uint8_t *to, uint64_t room) {
    uint64_t got = CALL(codec, 1, zstd_compress_call)(to, room, from, size, codec->level);
    return got <= room ? got : 0; /* errors are numbers near the top */
}

static bool zstd_decompress(const cpu_codec *codec, const uint8_t *from, uint64_t size, uint8_t *to,
                            uint64_t room) {
    return CALL(codec, 2, zstd_decompress_call)(to, room, from, size) == room;
}

static uint64_t lz4_bound(const cpu_codec *codec, uint64_t size) {
    return (uint64_t)CALL(codec, 0, lz4_bound_call)((int)size);
}

static uint64_t lz4_compress(const cpu_codec *codec, const uint8_t *from, uint64_t size,
                             uint8_t *to, uint64_t room) {
    int got = codec->level ? CALL(codec, 3, lz4_best_call)((const char *)from, (char *)to,
                                                           (int)size, (int)room, codec->level)
                           : CALL(codec, 1, lz4_fast_call)((const char *)from, (char *)to,
                                                           (int)size, (int)room, 1);
    return got > 0 ? (uint64_t)got : 0;
}

static bool lz4_decompress(const cpu_codec *codec, const uint8_t *from, uint64_t size, uint8_t *to,
                           uint64_t room) {
    return CALL(codec, 2, lz4_decompress_call)((const char *)from, (char *)to, (int)size,
                                               (int)room) == (int)room;
}

static uint64_t snappy_bound(const cpu_codec *codec, uint64_t size) {
    return CALL(codec, 0, snappy_bound_call)(size);
}

static uint64_t snappy_compress(const cpu_codec *codec, const uint8_t *from, uint64_t size,
                                uint8_t *to, uint64_t room) {
    size_t got = room;
    return CALL(codec, 1, snappy_call)((const char *)from, size, (char *)to, &got) == 0 ? got : 0;
}

static bool snappy_decompress(const cpu_codec *codec, const uint8_t *from, uint64_t size,
                              uint8_t *to, uint64_t room) {
    size_t got = room;
    return CALL(codec, 2, snappy_call)((const char *)from, size, (char *)to, &got) == 0 &&
           got == room;
}

/* Deflate needs a state. Opening one takes far less time than a chunk, but for decompression each
 * thread keeps one. */
static uint64_t deflate_bound(const cpu_codec *codec, uint64_t size) {
    (void)codec;
    return size + size / 8 + 1024; /* stored blocks cost far less */
}

static uint64_t deflate_compress(const cpu_codec *codec, const uint8_t *from, uint64_t size,
                                 uint8_t *to, uint64_t room) {
    void *state = CALL(codec, 0, deflate_make_call)(codec->level);
    if (!state) return 0;
    uint64_t got = CALL(codec, 1, deflate_compress_call)(state, from, size, to, room);
    CALL(codec, 4, deflate_free_call)(state);
    return got;
}

static bool deflate_decompress(const cpu_codec *codec, const uint8_t *from, uint64_t size,
                               uint8_t *to, uint64_t room) {
    static _Thread_local void *state;
    size_t got = 0;
    if (!state) state = CALL(codec, 2, inflate_make_call)();
    return state && CALL(codec, 3, inflate_call)(state, from, size, to, room, &got) == 0 &&
           got == room;
}

/* ---------------------------------------------------------------- the list */

static const struct {
    cpu_codec codec;
    const char *symbols[CPU_CODEC_CALLS];
} codecs[] = {
#define ZSTD(level, quick)                                                                         \
    {                                                                                              \
        {"zstd", "libzstd.so.1", level, quick, zstd_bound, zstd_compress, zstd_decompress, {0}}, { \
            "ZSTD_compressBound", "ZSTD_compress", "ZSTD_decompress"                               \
        }                                                                                          \
    }
#define LZ4(level, quick)                                                                          \
    {                                                                                              \
        {"lz4", "liblz4.so.1", level, quick, lz4_bound, lz4_compress, lz4_decompress, {0}}, {      \
            "LZ4_compressBound", "LZ4_compress_fast", "LZ4_decompress_safe", "LZ4_compress_HC"     \
        }                                                                                          \
    }
#define DEFLATE(level, quick)                                                                      \
    {                                                                                              \
        {"deflate",        "libdeflate.so.0",  level, quick, deflate_bound,                        \
         deflate_compress, deflate_decompress, {0}},                                               \
        {                                                                                          \
            "libdeflate_alloc_compressor", "libdeflate_deflate_compress",                          \
                "libdeflate_alloc_decompressor", "libdeflate_deflate_decompress",                  \
                "libdeflate_free_compressor"                                                       \
        }                                                                                          \
    }
    ZSTD(-10, 0),
    ZSTD(1, 0),
    ZSTD(3, 1),
    ZSTD(9, 0),
    ZSTD(19, 0),
    LZ4(0, 1),
    LZ4(12, 0),
    {{"snappy", "libsnappy.so.1", 0, 1, snappy_bound, snappy_compress, snappy_decompress, {0}},
     {"snappy_max_compressed_length", "snappy_compress", "snappy_uncompress"}},
    DEFLATE(1, 0),
    DEFLATE(6, 1),
    DEFLATE(12, 0),
};

bool cpu_codec_get(int i, cpu_codec *codec, bool *usable) {
    if (i >= (int)(sizeof codecs / sizeof *codecs)) return false;
    *codec = codecs[i].codec;
    void *library = dlopen(codec->library, RTLD_NOW | RTLD_LOCAL);
    *usable = library != NULL;
    for (int call = 0; call < CPU_CODEC_CALLS && *usable; call++)
        if (codecs[i].symbols[call] &&
            !(codec->calls[call] = dlsym(library, codecs[i].symbols[call])))
            *usable = false;
    return true;
}

/* ---------------------------------------------------------------- chunks */

typedef struct chunk_job {
    const cpu_codec *codec;
    const uint8_t *bytes;
    chunked *result;
    uint8_t *scratch;
    uint64_t room;         /* of each chunk in scratch */
    _Atomic uint64_t next; /* chunk that nobody has taken yet */
} chunk_job;

static void compress_one(const chunk_job *job, uint64_t i) {
    job->result->sizes[i] =
        job->codec->compress(job->codec, job->bytes + i * job->result->chunk_bytes,
                             chunk_size(job->result, i), job->scratch + i * job->room, job->room);
}

static void *compress_chunks(void *context) {
    chunk_job *job = context;
    for (uint64_t i; (i = atomic_fetch_add(&job->next, 1)) < job->result->count;)
        compress_one(job, i);
    return NULL;
}

/* All chunks, on as many threads as there are processors and as can be had. */
static void compress_in_parallel(chunk_job *job) {
    pthread_t others[64];
    uint32_t started = 0, wanted = bench_threads() < 64 ? bench_threads() : 64;
    while (started + 1 < wanted &&
           pthread_create(&others[started], NULL, compress_chunks, job) == 0)
        started++;
    compress_chunks(job);
    for (uint32_t i = 0; i < started; i++) pthread_join(others[i], NULL);
}

bool chunk_and_compress(const cpu_codec *codec, const uint8_t *bytes, uint64_t size,
                        uint64_t chunk_bytes, uint64_t alignment, chunked *result) {
    *result = (chunked){
        .count = (size + chunk_bytes - 1) / chunk_bytes, .chunk_bytes = chunk_bytes, .bytes = size};
    chunk_job job = {codec, bytes, result, NULL, codec->bound(codec, chunk_bytes), 0};
    job.scratch = bench_memory(result->count * job.room);
    result->sizes = bench_memory(result->count * sizeof *result->sizes);
    result->offsets = bench_memory(result->count * sizeof *result->offsets);
    compress_in_parallel(&job);
    bool all = true;
    for (uint64_t i = 0; i < result->count; i++) {
        all = all && result->sizes[i];
        result->offsets[i] = result->data_bytes;
        result->data_bytes =
            (result->data_bytes + result->sizes[i] + alignment - 1) / alignment * alignment;
        result->compressed_bytes += result->sizes[i];
    }
    result->data = bench_memory(result->data_bytes);
    for (uint64_t i = 0; i < result->count; i++)
        memcpy(result->data + result->offsets[i], job.scratch + i * job.room,
               (size_t)result->sizes[i]);
    free(job.scratch);
    if (!all) chunked_close(result);
    return all;
}

void chunked_close(chunked *chunks) {
    free(chunks->sizes);
    free(chunks->offsets);
    free(chunks->data);
    *chunks = (chunked){0};
}

/* ---------------------------------------------------------------- measuring */

static bool decompress_all(const cpu_codec *codec, const chunked *chunks, uint8_t *to) {
    bool all = true;
    for (uint64_t i = 0; i < chunks->count; i++)
        all &= codec->decompress(codec, chunks->data + chunks->offsets[i], chunks->sizes[i],
                                 to + i * chunks->chunk_bytes, chunk_size(chunks, i));
    return all;
}

static void measure_one(const peer_options *options, const cpu_codec *codec,
                        const bench_column *column, uint64_t chunk_bytes) {
    uint64_t size = column->info.decoded_bytes;
    chunked chunks;
    double begin = bench_seconds();
    if (!chunk_and_compress(codec, column->bytes, size, chunk_bytes, 1, &chunks)) return;
    double compress_seconds = bench_seconds() - begin, best = 1e9, total = 0;
    uint8_t *back = bench_memory(size);
    memset(back, 0, (size_t)size);
    bool verified =
        decompress_all(codec, &chunks, back) && memcmp(back, column->bytes, (size_t)size) == 0;
    while (total < options->seconds) {
        begin = bench_seconds();
        verified &= decompress_all(codec, &chunks, back);
        double seconds = bench_seconds() - begin;
        if (seconds < best) best = seconds;
        total += seconds;
    }
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "cpu_peer");
    cli_json_string(&json, "file", column->path);
    cli_json_string(&json, "codec", codec->name);
    cli_json_string(&json, "library", codec->library);
    char level[16];
    snprintf(level, sizeof level, "%d", codec->level);
    cli_json_string(&json, "level", level);
    cli_json_number(&json, "chunk_bytes", chunk_bytes);
    cli_json_number(&json, "bytes", size);
    cli_json_number(&json, "compressed_bytes", chunks.compressed_bytes);
    cli_json_real(&json, "ratio", (double)size / (double)chunks.compressed_bytes);
    cli_json_real(&json, "gb_s", (double)size / best / 1e9);
    cli_json_real(&json, "compress_mb_s", (double)size / compress_seconds / 1e6);
    cli_json_number(&json, "compress_threads", bench_threads());
    cli_json_bool(&json, "verified", verified);
    cli_json_end(&json);
    fflush(stdout);
    free(back);
    chunked_close(&chunks);
}

void measure_cpu_peers(const peer_options *options, const bench_column *column) {
    static const uint64_t chunk_sizes[] = {65536, 1048576};
    if (!column->info.decoded_bytes) return;
    cpu_codec codec;
    bool usable;
    for (int i = 0; cpu_codec_get(i, &codec, &usable); i++) {
        bool quick = options->settings == PEER_QUICK;
        if (!usable || (quick && !codec.is_quick)) continue;
        for (int c = 0; c < 2; c++)
            /* Of the main settings: usual levels in both sizes, others in large chunks, which are
             * denser and no slower. */
            if (quick ? c == 0 : options->settings == PEER_ALL || codec.is_quick || c == 1)
                measure_one(options, &codec, column, chunk_sizes[c]);
    }
}
