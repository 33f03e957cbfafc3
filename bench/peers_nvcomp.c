/* peers_nvcomp.c - nvCOMP's codecs on the bytes of a column. In: bytes, and the library, opened from a path. Out: ratios and
 * decompression rates from device memory and from host memory. All its batched codecs have the same calls but for the options, which are
 * 64 bytes passed by value; so one set of types here serves them all, and nothing of nvCOMP is needed to build. Chunks are compressed by nvCOMP
 * itself, or on the CPU by the library that defines the format, at levels nvCOMP does not have. */
#include "peers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the library's calls */

typedef struct nvcomp_options {
    uint64_t words[8];
} nvcomp_options;

typedef int temp_size_call(size_t chunks, size_t largest, nvcomp_options options, size_t *size, size_t total,
                           void *stream);
typedef int most_output_call(size_t largest, nvcomp_options options, size_t *size);
typedef int compress_call(fp_cu_pointer from, fp_cu_pointer from_sizes, size_t largest, size_t chunks,
                          fp_cu_pointer temporary, size_t temporary_size, fp_cu_pointer to,
                          fp_cu_pointer to_sizes, nvcomp_options options, fp_cu_pointer statuses,
                          void *stream);
typedef int decompress_call(fp_cu_pointer from, fp_cu_pointer from_sizes, fp_cu_pointer rooms,
                            fp_cu_pointer to_sizes, size_t chunks, fp_cu_pointer temporary,
                            size_t temporary_size, fp_cu_pointer to, nvcomp_options options,
                            fp_cu_pointer statuses, void *stream);

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

static void *find(const nvcomp_library *library, const char *codec, const char *call) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "nvcompBatched%s%s", codec, call);
    void *address = dlsym(library->handle, symbol);
    if (!address) bench_die("nvCOMP has no %s: version 6 is needed", symbol);
    return address;
}

/* A function of the library as a function of its type. */
#define FIND(type, codec, call)                                                                              \
    (((union {                                                                                               \
         void *address;                                                                                      \
         type *function;                                                                                     \
     }){.address = find(library, codec, call)})                                                              \
         .function)

nvcomp_library *nvcomp_open(const char *path) {
    static const char *const names[NVCOMP_CODECS][2] = {
        {"zstd", "Zstd"},         {"lz4", "LZ4"}, {"snappy", "Snappy"},  {"deflate", "Deflate"},
        {"gdeflate", "Gdeflate"}, {"ans", "ANS"}, {"bitcomp", "Bitcomp"}};
    nvcomp_library *library = bench_memory(sizeof *library);
    *library = (nvcomp_library){.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!library->handle) bench_die("fastpair-peers: %s", dlerror());
    union {
        void *address;
        int (*call)(unsigned properties[2]);
    } get_properties = {.address = dlsym(library->handle, "nvcompGetProperties")};
    unsigned properties[2] = {0, 0};
    if (!get_properties.address || get_properties.call(properties)) bench_die("%s: is not nvCOMP", path);
    library->version = properties[0];
    for (int i = 0; i < NVCOMP_CODECS; i++) {
        nvcomp_codec *codec = &library->codecs[i];
        codec->name = names[i][0];
        codec->symbol = names[i][1];
        codec->compress = FIND(compress_call, codec->symbol, "CompressAsync");
        codec->decompress = FIND(decompress_call, codec->symbol, "DecompressAsync");
        codec->compress_temporary = FIND(temp_size_call, codec->symbol, "CompressGetTempSize");
        codec->decompress_temporary = FIND(temp_size_call, codec->symbol, "DecompressGetTempSize");
        codec->most_output = FIND(most_output_call, codec->symbol, "CompressGetMaxOutputChunkSize");
    }
    return library;
}

void nvcomp_close(nvcomp_library *library) {
    free(library); /* the code stays, as CUDA may still hold on to it */
}

/* ---------------------------------------------------------------- settings */

/* A codec with its options: by nvCOMP's own compressor, or by a CPU library's at a level. */
typedef struct setting {
    const char *codec;
    const char *label;
    int algorithm;         /* the first word of the options of deflate, gdeflate and bitcomp */
    const char *cpu_codec; /* NULL: nvCOMP compresses */
    int cpu_level;
    int is_quick;
    int from_host; /* measured from host memory, too, in chunks of 64 KiB */
} setting;

static const setting settings[] = {
    {"zstd", "default", 0, NULL, 0, 1, 1},         {"zstd", "CPU level -10", 0, "zstd", -10, 0, 0},
    {"zstd", "CPU level 3", 0, "zstd", 3, 0, 0},   {"zstd", "CPU level 19", 0, "zstd", 19, 0, 1},
    {"lz4", "default", 0, NULL, 0, 1, 1},          {"lz4", "CPU level 12", 0, "lz4", 12, 0, 0},
    {"snappy", "default", 0, NULL, 0, 1, 1},       {"deflate", "algorithm 1", 1, NULL, 0, 1, 1},
    {"deflate", "algorithm 5", 5, NULL, 0, 0, 0},  {"deflate", "CPU level 12", 0, "deflate", 12, 0, 0},
    {"gdeflate", "algorithm 1", 1, NULL, 0, 1, 1}, {"gdeflate", "algorithm 5", 5, NULL, 0, 0, 1},
    {"ans", "default", 0, NULL, 0, 1, 1},          {"bitcomp", "default", 0, NULL, 0, 1, 0},
    {"bitcomp", "sparse", 1, NULL, 0, 0, 0},
};

#define TYPE_UNSIGNED_CHAR 1u    /* bitcomp's compressor takes the type of its input... */
#define TYPE_FROM_STREAM   0xffu /* ...and ANS's decompressor that of its output; it can read it off the data */

static nvcomp_options compress_options(const setting *how) {
    nvcomp_options options = {{(uint64_t)(unsigned)how->algorithm}};
    if (!strcmp(how->codec, "bitcomp")) options.words[0] |= (uint64_t)TYPE_UNSIGNED_CHAR << 32;
    return options;
}

static nvcomp_options decompress_options(const setting *how) {
    nvcomp_options options = {{0}}; /* backend: the library's choice */
    if (!strcmp(how->codec, "ans")) options.words[0] |= (uint64_t)TYPE_FROM_STREAM << 32;
    return options;
}

/* ---------------------------------------------------------------- compressing */

#define ALIGNMENT 16u /* of compressed chunks: the most any of its decompressors asks for */

static uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

static fp_cu_pointer upload(const bench_device *device, const void *data, uint64_t size) {
    fp_cu_pointer memory = bench_device_memory(device, size);
    bench_must(device, device->driver->copy_to_device(memory, data, (size_t)size, device->streams[0]),
               "copying to the device");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "copying to the device");
    return memory;
}

static void download(const bench_device *device, void *to, fp_cu_pointer from, uint64_t size) {
    bench_must(device, device->driver->copy_to_host(to, from, (size_t)size, device->streams[0]),
               "copying from the device");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "copying from the device");
}

/* Addresses `first`, `first + stride`...; on the device. */
static fp_cu_pointer upload_addresses(const bench_device *device, fp_cu_pointer first, uint64_t stride,
                                      uint64_t count) {
    uint64_t *addresses = bench_memory(count * sizeof *addresses);
    for (uint64_t i = 0; i < count; i++) addresses[i] = first + i * stride;
    fp_cu_pointer memory = upload(device, addresses, count * sizeof *addresses);
    free(addresses);
    return memory;
}

/* Takes chunks that lie `stride` apart, with their sizes, together. */
static void pack(chunked *chunks, const uint8_t *scattered, uint64_t stride) {
    chunks->offsets = bench_memory(chunks->count * sizeof *chunks->offsets);
    for (uint64_t i = 0; i < chunks->count; i++) {
        chunks->offsets[i] = chunks->data_bytes;
        chunks->data_bytes = round_up(chunks->data_bytes + chunks->sizes[i], ALIGNMENT);
        chunks->compressed_bytes += chunks->sizes[i];
    }
    chunks->data = bench_memory(chunks->data_bytes);
    for (uint64_t i = 0; i < chunks->count; i++)
        memcpy(chunks->data + chunks->offsets[i], scattered + i * stride, (size_t)chunks->sizes[i]);
}

/* Compresses on the GPU. False if the codec refuses. */
static bool compress_on_device(const bench_device *device, const nvcomp_codec *codec, const setting *how,
                               const bench_column *column, uint64_t chunk_bytes, chunked *chunks) {
    uint64_t size = column->info.decoded_bytes;
    nvcomp_options options = compress_options(how);
    *chunks =
        (chunked){.count = (size + chunk_bytes - 1) / chunk_bytes, .chunk_bytes = chunk_bytes, .bytes = size};
    size_t most = 0, temporary_size = 0;
    if (codec->most_output(chunk_bytes, options, &most) ||
        codec->compress_temporary(chunks->count, chunk_bytes, options, &temporary_size, size,
                                  device->streams[0]))
        return false;
    uint64_t stride = round_up(most, 256), n = chunks->count;
    chunks->sizes = bench_memory(n * sizeof *chunks->sizes);
    for (uint64_t i = 0; i < n; i++) chunks->sizes[i] = chunk_size(chunks, i);
    fp_cu_pointer bytes = upload(device, column->bytes, size);
    fp_cu_pointer output = bench_device_memory(device, n * stride);
    fp_cu_pointer temporary = bench_device_memory(device, temporary_size);
    fp_cu_pointer from = upload_addresses(device, bytes, chunk_bytes, n);
    fp_cu_pointer from_sizes = upload(device, chunks->sizes, n * sizeof *chunks->sizes);
    fp_cu_pointer to = upload_addresses(device, output, stride, n);
    fp_cu_pointer to_sizes = bench_device_memory(device, n * sizeof(uint64_t));
    fp_cu_pointer statuses = bench_device_memory(device, n * sizeof(uint32_t));
    bench_must(device, device->driver->fill(statuses, 0, n * sizeof(uint32_t), device->streams[0]),
               "filling device memory");
    bool good = codec->compress(from, from_sizes, chunk_bytes, n, temporary, temporary_size, to, to_sizes,
                                options, statuses, device->streams[0]) == 0;
    uint32_t *codes = bench_memory(n * sizeof *codes);
    download(device, codes, statuses, n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) good = good && codes[i] == 0;
    if (good) {
        uint8_t *scattered = bench_memory(n * stride);
        download(device, chunks->sizes, to_sizes, n * sizeof *chunks->sizes);
        download(device, scattered, output, n * stride);
        pack(chunks, scattered, stride);
        free(scattered);
    } else
        chunked_free(chunks);
    const fp_cu_pointer all[] = {bytes, output, temporary, from, from_sizes, to, to_sizes, statuses};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) device->driver->release(all[i]);
    free(codes);
    return good;
}

/* Compresses with the CPU library of the format. False where it is not installed. */
static bool compress_on_host(const setting *how, const bench_column *column, uint64_t chunk_bytes,
                             chunked *chunks) {
    cpu_codec codec;
    bool usable;
    for (int i = 0; cpu_codec_get(i, &codec, &usable); i++)
        if (usable && !strcmp(codec.name, how->cpu_codec) && codec.level == how->cpu_level)
            return chunk_and_compress(&codec, column->bytes, column->info.decoded_bytes, chunk_bytes,
                                      ALIGNMENT, chunks);
    return false;
}

/* ---------------------------------------------------------------- decompressing */

/* A column's chunks, repeated, on the device and ready to be decompressed. */
typedef struct nvcomp_work {
    const bench_device *device;
    const nvcomp_codec *codec;
    nvcomp_options options;
    const chunked *chunks;
    uint64_t tiles, count;  /* count: chunks of all tiles */
    uint64_t output_stride; /* between tiles */
    fp_cu_pointer data, output;
    fp_cu_pointer from, from_sizes, rooms, to, to_sizes, statuses; /* arrays with an entry a chunk */
    fp_cu_pointer temporary[BENCH_STREAMS];
    size_t temporary_size;
    uint8_t *host; /* all compressed tiles in host memory */
    uint64_t tiles_a_part;
} nvcomp_work;

static int launch(const nvcomp_work *work, uint64_t first, uint64_t count, int stream) {
    uint64_t words = first * sizeof(uint64_t);
    return work->codec->decompress(work->from + words, work->from_sizes + words, work->rooms + words,
                                   work->to_sizes + words, count, work->temporary[stream],
                                   work->temporary_size, work->to + words, work->options,
                                   work->statuses + first * sizeof(uint32_t), work->device->streams[stream]);
}

static void decompress_all(void *context) {
    const nvcomp_work *work = context;
    int result = launch(work, 0, work->count, 0);
    if (result) bench_die("nvCOMP's %s failed with status %d", work->codec->name, result);
}

/* From host memory: in parts of whole tiles that alternate between two streams, as fastpair's are. */
static void pass_from_host(void *context) {
    const nvcomp_work *work = context;
    uint64_t tile_bytes = work->chunks->data_bytes;
    int stream = 0;
    for (uint64_t tile = 0; tile < work->tiles; tile += work->tiles_a_part, stream ^= 1) {
        uint64_t left = work->tiles - tile, count = left < work->tiles_a_part ? left : work->tiles_a_part;
        bench_must(work->device,
                   work->device->driver->copy_to_device(
                       work->data + tile * tile_bytes, work->host + tile * tile_bytes,
                       (size_t)(count * tile_bytes), work->device->streams[stream]),
                   "copying to the device");
        if (launch(work, tile * work->chunks->count, count * work->chunks->count, stream))
            bench_die("nvCOMP's %s failed", work->codec->name);
    }
}

/* The arrays nvCOMP wants, for all chunks of all tiles. */
static void upload_arrays(nvcomp_work *work) {
    const chunked *chunks = work->chunks;
    uint64_t n = work->count, *entries = bench_memory(4 * n * sizeof *entries);
    uint64_t *from = entries, *from_sizes = from + n, *rooms = from_sizes + n, *to = rooms + n;
    for (uint64_t tile = 0, at = 0; tile < work->tiles; tile++)
        for (uint64_t i = 0; i < chunks->count; i++, at++) {
            from[at] = work->data + tile * chunks->data_bytes + chunks->offsets[i];
            from_sizes[at] = chunks->sizes[i];
            rooms[at] = chunk_size(chunks, i);
            to[at] = work->output + tile * work->output_stride + i * chunks->chunk_bytes;
        }
    work->from = upload(work->device, from, n * sizeof *from);
    work->from_sizes = upload(work->device, from_sizes, n * sizeof *from_sizes);
    work->rooms = upload(work->device, rooms, n * sizeof *rooms);
    work->to = upload(work->device, to, n * sizeof *to);
    work->to_sizes = bench_device_memory(work->device, n * sizeof(uint64_t));
    work->statuses = bench_device_memory(work->device, n * sizeof(uint32_t));
    free(entries);
}

/* False if nvCOMP refuses. */
static bool prepare(nvcomp_work *work) {
    const bench_device *device = work->device;
    const chunked *chunks = work->chunks;
    work->count = work->tiles * chunks->count;
    work->output_stride = round_up(chunks->bytes, 256);
    if (work->codec->decompress_temporary(work->count, chunks->chunk_bytes, work->options,
                                          &work->temporary_size, work->tiles * chunks->bytes,
                                          device->streams[0]))
        return false;
    work->data = bench_device_memory(device, work->tiles * chunks->data_bytes);
    work->output = bench_device_memory(device, work->tiles * work->output_stride);
    work->temporary[0] = bench_device_memory(device, work->temporary_size);
    for (uint64_t tile = 0; tile < work->tiles; tile++)
        bench_must(device,
                   device->driver->copy_to_device(work->data + tile * chunks->data_bytes, chunks->data,
                                                  (size_t)chunks->data_bytes, device->streams[0]),
                   "copying to the device");
    bench_must(
        device,
        device->driver->fill(work->output, 0xa5, work->tiles * work->output_stride, device->streams[0]),
        "filling device memory");
    upload_arrays(work);
    return true;
}

static void clean_up(nvcomp_work *work) {
    const fp_cu_pointer all[] = {work->data,         work->output,      work->from,     work->from_sizes,
                                 work->rooms,        work->to,          work->to_sizes, work->statuses,
                                 work->temporary[0], work->temporary[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) work->device->driver->release(all[i]);
}

static bool verify(const nvcomp_work *work, const bench_column *column) {
    uint32_t *codes = bench_memory(work->count * sizeof *codes);
    download(work->device, codes, work->statuses, work->count * sizeof *codes);
    bool same = true;
    for (uint64_t i = 0; i < work->count; i++) same = same && codes[i] == 0;
    for (uint64_t tile = 0; tile < work->tiles && same; tile++)
        same = bench_same(work->device, work->output + tile * work->output_stride, column->bytes,
                          column->info.decoded_bytes);
    free(codes);
    return same;
}

static void print_line(const nvcomp_work *work, const nvcomp_library *library, const setting *how,
                       const bench_column *column, const char *memory, int repetitions, bench_times times,
                       bool verified) {
    double bytes = (double)column->info.decoded_bytes * (double)work->tiles;
    char version[32];
    snprintf(version, sizeof version, "%u.%u.%u", library->version / 1000, library->version % 1000 / 100,
             library->version % 100);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", memory ? "host_peer" : "gpu_peer");
    cli_json_string(&json, "file", column->path);
    cli_json_string(&json, "library", "nvCOMP");
    cli_json_string(&json, "version", version);
    cli_json_string(&json, "codec", how->codec);
    cli_json_string(&json, "level", how->label);
    if (memory) cli_json_string(&json, "memory", memory);
    cli_json_number(&json, "chunk_bytes", work->chunks->chunk_bytes);
    cli_json_number(&json, "bytes", column->info.decoded_bytes * work->tiles);
    cli_json_number(&json, "compressed_bytes", work->chunks->compressed_bytes);
    cli_json_real(&json, "ratio",
                  (double)column->info.decoded_bytes / (double)work->chunks->compressed_bytes);
    cli_json_real(&json, "gb_s", bytes / (times.least * 1e6));
    cli_json_real(&json, "gb_s_median", bytes / (times.median * 1e6));
    cli_json_number(&json, memory ? "passes" : "launches", (uint64_t)repetitions);
    cli_json_bool(&json, "verified", verified);
    cli_json_end(&json);
    fflush(stdout);
}

/* Decoded bytes of one part from host memory, the same as for fastpair. */
#define PART_BYTES (64u << 20)

static void measure_from_host(nvcomp_work *work, const nvcomp_library *library, const setting *how,
                              const peer_options *options, const bench_column *column) {
    const bench_device *device = work->device;
    uint64_t tile_bytes = work->chunks->data_bytes;
    work->tiles_a_part = PART_BYTES / work->chunks->bytes + 1;
    work->temporary[1] = bench_device_memory(device, work->temporary_size);
    for (int pinned = 0; pinned < 2; pinned++) {
        work->host = pinned ? bench_pinned_memory(device, work->tiles * tile_bytes)
                            : bench_memory(work->tiles * tile_bytes);
        for (uint64_t tile = 0; tile < work->tiles; tile++)
            memcpy(work->host + tile * tile_bytes, work->chunks->data, (size_t)tile_bytes);
        bench_times times = bench_time_passes(device, options->passes, pass_from_host, work);
        print_line(work, library, how, column, pinned ? "pinned" : "pageable", options->passes, times,
                   verify(work, column));
        if (pinned)
            device->driver->release_pinned(work->host);
        else
            free(work->host);
    }
}

/* Slow codecs are not launched as often: the least of ten says enough. */
#define FEWEST_LAUNCHES 10
#define ENOUGH_SECONDS  0.2

static int launches_for(const nvcomp_work *work, const peer_options *options) {
    double milliseconds = bench_time_launches(work->device, 1, decompress_all, (void *)work).least;
    double enough = ENOUGH_SECONDS * 1e3 / milliseconds;
    int launches = enough < options->launches ? (int)enough : options->launches;
    return launches < FEWEST_LAUNCHES ? FEWEST_LAUNCHES : launches;
}

static void measure_setting(const bench_device *device, const peer_options *options,
                            const nvcomp_library *library, const setting *how, const bench_column *column,
                            uint64_t chunk_bytes) {
    const nvcomp_codec *codec = library->codecs;
    while (strcmp(codec->name, how->codec) != 0) codec++;
    chunked chunks;
    bool compressed = how->cpu_codec ? compress_on_host(how, column, chunk_bytes, &chunks)
                                     : compress_on_device(device, codec, how, column, chunk_bytes, &chunks);
    if (!compressed) {
        fprintf(stderr, "fastpair-peers: %s, %s, chunks of %llu: not compressed, left out\n", how->codec,
                how->label, (unsigned long long)chunk_bytes);
        return;
    }
    nvcomp_work work = {.device = device,
                        .codec = codec,
                        .options = decompress_options(how),
                        .chunks = &chunks,
                        .tiles = bench_tiles(column->info.decoded_bytes, options->bytes)};
    if (prepare(&work)) {
        int launches = launches_for(&work, options);
        bench_times times = bench_time_launches(device, launches, decompress_all, &work);
        print_line(&work, library, how, column, NULL, launches, times, verify(&work, column));
        if (how->from_host && chunk_bytes == 65536) measure_from_host(&work, library, how, options, column);
    }
    clean_up(&work);
    chunked_free(&chunks);
}

void measure_nvcomp(const bench_device *device, const peer_options *options, const nvcomp_library *library,
                    const bench_column *column) {
    static const uint64_t chunk_sizes[] = {65536, 262144, 1048576};
    for (size_t i = 0; i < sizeof settings / sizeof *settings && column->info.decoded_bytes; i++)
        for (int c = 0; c < 3; c++)
            if (!options->quick || (settings[i].is_quick && c == 0))
                measure_setting(device, options, library, &settings[i], column, chunk_sizes[c]);
}
