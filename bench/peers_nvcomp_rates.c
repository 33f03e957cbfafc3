/* peers_nvcomp_rates.c - decompressing with nvCOMP. In: a column. Out: for each codec, level and
 * chunk size the ratio and the rate from device memory, for some also from host memory, verified.
 * From device memory only the decompression call is timed; pointers to chunks are there already. */
#include "peers_nvcomp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunk sizes, as bits of `host`, `main` and `all` below. */
#define K64  1
#define K256 2
#define M1   4
static const uint64_t chunk_sizes[] = {65536, 262144, 1048576};

/* The main settings are those that were fastest at their ratio, or densest, on some column when all
 * settings were measured on several columns, and the best of every codec. From host memory: of each
 * codec the settings that should arrive first, by the smaller of its rate and of ratio x link, on
 * most columns. Chunks of 1 MiB take nvCOMP seconds to compress, and decompress slowly. */
static const setting settings[] = {
    {"snappy", "default", 0, NULL, 0, 1, K64 | K256, K64 | K256, K64 | K256 | M1},
    {"lz4", "CPU level 12", 0, "lz4", 12, 0, K64, K64, K64 | M1},
    {"lz4", "default", 0, NULL, 0, 1, K64, K64, K64 | K256 | M1},
    {"ans", "default", 0, NULL, 0, 1, K256, K256 | M1, K64 | K256 | M1},
    {"gdeflate", "algorithm 5", 5, NULL, 0, 0, K64, K64 | K256, K64 | K256 | M1},
    {"gdeflate", "algorithm 1", 1, NULL, 0, 1, 0, K64, K64 | K256},
    {"zstd", "CPU level 3", 0, "zstd", 3, 0, K64, K64, K64 | M1},
    {"zstd", "default", 0, NULL, 0, 1, K64, K64, K64 | K256 | M1},
    {"zstd", "CPU level -10", 0, "zstd", -10, 0, 0, 0, K64},
    {"zstd", "CPU level 19", 0, "zstd", 19, 0, 0, K64 | M1, K64 | M1},
    {"deflate", "algorithm 1", 1, NULL, 0, 1, 0, 0, K64},
    {"deflate", "algorithm 5", 5, NULL, 0, 0, K64, K64, K64 | K256 | M1},
    {"deflate", "CPU level 12", 0, "deflate", 12, 0, 0, 0, K64 | M1},
    {"bitcomp", "default", 0, NULL, 0, 1, K64, K64, K64 | K256 | M1},
    {"bitcomp", "sparse", 1, NULL, 0, 0, 0, K64, K64},
};

/* ANS's decompressor wants the type of its output, and can read it off the data. */
#define TYPE_FROM_STREAM 0xffu

static nvcomp_options decompress_options(const setting *how) {
    nvcomp_options options = {{0}}; /* backend: the library's choice */
    if (!strcmp(how->codec, "ans")) options.words[0] |= (uint64_t)TYPE_FROM_STREAM << 32;
    return options;
}

/* ---------------------------------------------------------------- decompressing */

/* Arrays on the device with an entry per chunk. */
typedef struct chunk_arrays {
    uint64_t from, from_sizes, rooms, to, to_sizes, statuses;
} chunk_arrays;

/* A column's chunks, repeated, on the device and ready to be decompressed. */
typedef struct nvcomp_work {
    const bench_device *device;
    const nvcomp_codec *codec;
    nvcomp_options options;
    const chunked *chunks;
    uint64_t tiles, count;  /* count: chunks of all tiles */
    uint64_t output_stride; /* between tiles */
    uint64_t data, output;
    chunk_arrays arrays;
    uint64_t temporary[BENCH_STREAMS];
    size_t temporary_size;
    uint8_t *host; /* all compressed tiles in host memory */
    uint64_t tiles_per_part;
} nvcomp_work;

static int launch(const nvcomp_work *work, uint64_t first, uint64_t count, int stream) {
    uint64_t words = first * sizeof(uint64_t);
    return work->codec->decompress(
        work->arrays.from + words, work->arrays.from_sizes + words, work->arrays.rooms + words,
        work->arrays.to_sizes + words, count, work->temporary[stream], work->temporary_size,
        work->arrays.to + words, work->options, work->arrays.statuses + first * sizeof(uint32_t),
        work->device->streams[stream]);
}

static void decompress_all(void *context) {
    const nvcomp_work *work = context;
    int result = launch(work, 0, work->count, 0);
    if (result) bench_die("nvCOMP's %s failed with status %d", work->codec->name, result);
}

/* From host memory: in parts of whole tiles that alternate between two streams, as fastpair's
 * are. */
static void pass_from_host(void *context) {
    const nvcomp_work *work = context;
    uint64_t tile_bytes = work->chunks->data_bytes;
    int stream = 0;
    for (uint64_t tile = 0; tile < work->tiles; tile += work->tiles_per_part, stream ^= 1) {
        uint64_t left = work->tiles - tile,
                 count = left < work->tiles_per_part ? left : work->tiles_per_part;
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
    work->arrays.from = nvcomp_upload(work->device, from, n * sizeof *from);
    work->arrays.from_sizes = nvcomp_upload(work->device, from_sizes, n * sizeof *from_sizes);
    work->arrays.rooms = nvcomp_upload(work->device, rooms, n * sizeof *rooms);
    work->arrays.to = nvcomp_upload(work->device, to, n * sizeof *to);
    work->arrays.to_sizes = bench_device_memory(work->device, n * sizeof(uint64_t));
    work->arrays.statuses = bench_device_memory(work->device, n * sizeof(uint32_t));
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
                   device->driver->copy_to_device(work->data + tile * chunks->data_bytes,
                                                  chunks->data, (size_t)chunks->data_bytes,
                                                  device->streams[0]),
                   "copying to the device");
    bench_must(device,
               device->driver->fill(work->output, 0xa5, work->tiles * work->output_stride,
                                    device->streams[0]),
               "filling device memory");
    upload_arrays(work);
    return true;
}

static void clean_up(nvcomp_work *work) {
    const uint64_t all[] = {
        work->data,         work->output,      work->arrays.from,     work->arrays.from_sizes,
        work->arrays.rooms, work->arrays.to,   work->arrays.to_sizes, work->arrays.statuses,
        work->temporary[0], work->temporary[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) work->device->driver->release(all[i]);
}

static bool verify(const nvcomp_work *work, const bench_column *column) {
    uint32_t *codes = bench_memory(work->count * sizeof *codes);
    nvcomp_download(work->device, codes, work->arrays.statuses, work->count * sizeof *codes);
    bool same = true;
    for (uint64_t i = 0; i < work->count; i++) same = same && codes[i] == 0;
    for (uint64_t tile = 0; tile < work->tiles && same; tile++)
        same = bench_same(work->device, work->output + tile * work->output_stride, column->bytes,
                          column->info.decoded_bytes);
    free(codes);
    return same;
}

/* One rate, from host memory of a kind or, with NULL, from device memory. */
typedef struct figure {
    const char *memory;
    uint64_t part_bytes; /* decoded bytes of a part from host memory */
    int repetitions;
    bench_times times;
    bool verified;
} figure;

static void print_line(const nvcomp_work *work, const nvcomp_library *library, const setting *how,
                       const bench_column *column, figure rate) {
    const char *memory = rate.memory;
    double bytes = (double)column->info.decoded_bytes * (double)work->tiles;
    char version[32];
    snprintf(version, sizeof version, "%u.%u.%u", library->version / 1000,
             library->version % 1000 / 100, library->version % 100);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", memory ? "host_peer" : "gpu_peer");
    cli_json_string(&json, "file", column->path);
    cli_json_string(&json, "library", "nvCOMP");
    cli_json_string(&json, "version", version);
    cli_json_string(&json, "codec", how->codec);
    cli_json_string(&json, "level", how->label);
    if (memory) cli_json_string(&json, "memory", memory);
    if (memory) cli_json_number(&json, "part_bytes", rate.part_bytes);
    cli_json_number(&json, "chunk_bytes", work->chunks->chunk_bytes);
    cli_json_number(&json, "bytes", column->info.decoded_bytes * work->tiles);
    cli_json_number(&json, "compressed_bytes", work->chunks->compressed_bytes);
    cli_json_real(&json, "ratio",
                  (double)column->info.decoded_bytes / (double)work->chunks->compressed_bytes);
    cli_json_real(&json, "gb_s", bytes / (rate.times.least * 1e6));
    cli_json_real(&json, "gb_s_median", bytes / (rate.times.median * 1e6));
    cli_json_number(&json, memory ? "passes" : "launches", (uint64_t)rate.repetitions);
    cli_json_bool(&json, "verified", rate.verified);
    cli_json_end(&json);
    fflush(stdout);
}

/* Decoded bytes of one part from host memory: the same as for fastpair, and more, since a codec that
 * decompresses a chunk per warp or block fills the device with many chunks alone. The better of the
 * two counts. */
static const uint64_t part_bytes[] = {64u << 20, 256u << 20};

static void measure_from_host(nvcomp_work *work, const nvcomp_library *library, const setting *how,
                              const peer_options *options, const bench_column *column) {
    const bench_device *device = work->device;
    uint64_t tile_bytes = work->chunks->data_bytes;
    work->temporary[1] = bench_device_memory(device, work->temporary_size);
    for (int pinned = options->only_pinned; pinned < 2; pinned++) {
        work->host = pinned ? bench_pinned_memory(device, work->tiles * tile_bytes)
                            : bench_memory(work->tiles * tile_bytes);
        for (uint64_t tile = 0; tile < work->tiles; tile++)
            memcpy(work->host + tile * tile_bytes, work->chunks->data, (size_t)tile_bytes);
        figure rate = {pinned ? "pinned" : "pageable", 0, options->passes, {1e30, 1e30}, false};
        for (int i = 0; i < 2; i++) {
            work->tiles_per_part = part_bytes[i] / work->chunks->bytes + 1;
            bench_times times = bench_time_passes(device, options->passes, pass_from_host, work);
            if (times.least >= rate.times.least) continue;
            rate.times = times;
            rate.part_bytes = part_bytes[i];
        }
        /* One more pass of the better size alone, so that nothing of an earlier one can pass for
         * its output. */
        work->tiles_per_part = rate.part_bytes / work->chunks->bytes + 1;
        bench_must(device,
                   device->driver->fill(work->output, 0xa5, work->tiles * work->output_stride,
                                        device->streams[0]),
                   "filling device memory");
        bench_must(device, device->driver->stream_wait(device->streams[0]),
                   "filling device memory");
        bench_time_passes(device, 1, pass_from_host, work);
        rate.verified = verify(work, column);
        print_line(work, library, how, column, rate);
        if (pinned)
            device->driver->release_pinned(work->host);
        else
            free(work->host);
    }
}

/* Slow codecs are not launched as often: a launch of milliseconds varies little. */
#define FEWEST_LAUNCHES 6
#define ENOUGH_SECONDS  0.1

static int launches_for(const nvcomp_work *work, const peer_options *options) {
    double milliseconds = bench_time_passes(work->device, 1, decompress_all, (void *)work).least;
    double enough = ENOUGH_SECONDS * 1e3 / milliseconds;
    int launches = enough < options->launches ? (int)enough : options->launches;
    return launches < FEWEST_LAUNCHES ? FEWEST_LAUNCHES : launches;
}

static void measure_setting(const bench_device *device, const peer_options *options,
                            const nvcomp_library *library, const setting *how,
                            const bench_column *column, int size) {
    const nvcomp_codec *codec = library->codecs;
    uint64_t chunk_bytes = chunk_sizes[size];
    while (strcmp(codec->name, how->codec) != 0) codec++;
    chunked chunks;
    if (!nvcomp_compress(device, codec, how, column, chunk_bytes, &chunks)) {
        fprintf(stderr, "fastpair-peers: %s, %s, chunks of %llu: not compressed, left out\n",
                how->codec, how->label, (unsigned long long)chunk_bytes);
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
        figure rate = {NULL, 0, launches, times, verify(&work, column)};
        print_line(&work, library, how, column, rate);
        if (options->from_host && how->host & 1 << size)
            measure_from_host(&work, library, how, options, column);
    }
    clean_up(&work);
    chunked_close(&chunks);
}

/* The chunk sizes of a setting that the options ask for. */
static int wanted_sizes(const peer_options *options, const setting *how) {
    const int sizes[] = {[PEER_MAIN] = how->main,
                         [PEER_QUICK] = how->is_quick ? K64 : 0,
                         [PEER_HOST] = how->host,
                         [PEER_ALL] = how->all};
    return sizes[options->settings] & (options->not_host ? ~how->host : ~0);
}

void measure_nvcomp(const bench_device *device, const peer_options *options,
                    const nvcomp_library *library, const bench_column *column) {
    for (size_t i = 0; i < sizeof settings / sizeof *settings && column->info.decoded_bytes; i++) {
        const setting *how = &settings[i];
        int wanted = wanted_sizes(options, how);
        for (int size = 0; size < 3; size++)
            if (wanted & 1 << size) measure_setting(device, options, library, how, column, size);
    }
}
