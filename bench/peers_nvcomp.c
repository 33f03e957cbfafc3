/* peers_nvcomp.c - compressing for nvCOMP. In: bytes, and the library, opened from a path. Out:
 * compressed chunks in host memory. Chunks are compressed by nvCOMP itself, or on the CPU by the
 * library that defines the format, at levels nvCOMP does not have. */
#include "peers_nvcomp.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *find(const nvcomp_library *library, const char *codec, const char *call) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "nvcompBatched%s%s", codec, call);
    void *address = dlsym(library->handle, symbol);
    if (!address) bench_die("nvCOMP has no %s: version 6 is needed", symbol);
    return address;
}

/* A function of the library as a function of its type. */
#define FIND(type, codec, call)                                                                    \
    (((union {                                                                                     \
         void *address;                                                                            \
         type *function;                                                                           \
     }){.address = find(library, codec, call)})                                                    \
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
    if (!get_properties.address || get_properties.call(properties))
        bench_die("%s: is not nvCOMP", path);
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

#define TYPE_UNSIGNED_CHAR 1u /* bitcomp's compressor takes the type of its input */

static nvcomp_options compress_options(const setting *how) {
    nvcomp_options options = {{(uint64_t)(unsigned)how->algorithm}};
    if (!strcmp(how->codec, "bitcomp")) options.words[0] |= (uint64_t)TYPE_UNSIGNED_CHAR << 32;
    return options;
}

/* ---------------------------------------------------------------- compressing */

uint64_t nvcomp_upload(const bench_device *device, const void *data, uint64_t size) {
    uint64_t memory = bench_device_memory(device, size);
    bench_must(device,
               device->driver->copy_to_device(memory, data, (size_t)size, device->streams[0]),
               "copying to the device");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "copying to the device");
    return memory;
}

void nvcomp_download(const bench_device *device, void *to, uint64_t from, uint64_t size) {
    bench_must(device, device->driver->copy_to_host(to, from, (size_t)size, device->streams[0]),
               "copying from the device");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "copying from the device");
}

/* Addresses `first`, `first + stride`...; on the device. */
static uint64_t upload_addresses(const bench_device *device, uint64_t first, uint64_t stride,
                                 uint64_t count) {
    uint64_t *addresses = bench_memory(count * sizeof *addresses);
    for (uint64_t i = 0; i < count; i++) addresses[i] = first + i * stride;
    uint64_t memory = nvcomp_upload(device, addresses, count * sizeof *addresses);
    free(addresses);
    return memory;
}

/* Takes chunks that lie `stride` apart, with their sizes, together. */
static void pack(chunked *chunks, const uint8_t *scattered, uint64_t stride) {
    chunks->offsets = bench_memory(chunks->count * sizeof *chunks->offsets);
    for (uint64_t i = 0; i < chunks->count; i++) {
        chunks->offsets[i] = chunks->data_bytes;
        chunks->data_bytes = round_up(chunks->data_bytes + chunks->sizes[i], NVCOMP_ALIGNMENT);
        chunks->compressed_bytes += chunks->sizes[i];
    }
    chunks->data = bench_memory(chunks->data_bytes);
    for (uint64_t i = 0; i < chunks->count; i++)
        memcpy(chunks->data + chunks->offsets[i], scattered + i * stride, (size_t)chunks->sizes[i]);
}

/* Compresses on the GPU. False if the codec refuses. */
static bool compress_on_device(const bench_device *device, const nvcomp_codec *codec,
                               const setting *how, const bench_column *column, uint64_t chunk_bytes,
                               chunked *chunks) {
    uint64_t size = column->info.decoded_bytes;
    nvcomp_options options = compress_options(how);
    *chunks = (chunked){
        .count = (size + chunk_bytes - 1) / chunk_bytes, .chunk_bytes = chunk_bytes, .bytes = size};
    size_t most = 0, temporary_size = 0;
    if (codec->most_output(chunk_bytes, options, &most) ||
        codec->compress_temporary(chunks->count, chunk_bytes, options, &temporary_size, size,
                                  device->streams[0]))
        return false;
    uint64_t stride = round_up(most, 256), n = chunks->count;
    chunks->sizes = bench_memory(n * sizeof *chunks->sizes);
    for (uint64_t i = 0; i < n; i++) chunks->sizes[i] = chunk_size(chunks, i);
    uint64_t bytes = nvcomp_upload(device, column->bytes, size);
    uint64_t output = bench_device_memory(device, n * stride);
    uint64_t temporary = bench_device_memory(device, temporary_size);
    uint64_t from = upload_addresses(device, bytes, chunk_bytes, n);
    uint64_t from_sizes = nvcomp_upload(device, chunks->sizes, n * sizeof *chunks->sizes);
    uint64_t to = upload_addresses(device, output, stride, n);
    uint64_t to_sizes = bench_device_memory(device, n * sizeof(uint64_t));
    uint64_t statuses = bench_device_memory(device, n * sizeof(uint32_t));
    bench_must(device, device->driver->fill(statuses, 0, n * sizeof(uint32_t), device->streams[0]),
               "filling device memory");
    bool good = codec->compress(from, from_sizes, chunk_bytes, n, temporary, temporary_size, to,
                                to_sizes, options, statuses, device->streams[0]) == 0;
    uint32_t *codes = bench_memory(n * sizeof *codes);
    nvcomp_download(device, codes, statuses, n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) good = good && codes[i] == 0;
    if (good) {
        uint8_t *scattered = bench_memory(n * stride);
        nvcomp_download(device, chunks->sizes, to_sizes, n * sizeof *chunks->sizes);
        nvcomp_download(device, scattered, output, n * stride);
        pack(chunks, scattered, stride);
        free(scattered);
    } else
        chunked_close(chunks);
    const uint64_t all[] = {bytes, output, temporary, from, from_sizes, to, to_sizes, statuses};
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
            return chunk_and_compress(&codec, column->bytes, column->info.decoded_bytes,
                                      chunk_bytes, NVCOMP_ALIGNMENT, chunks);
    return false;
}

bool nvcomp_compress(const bench_device *device, const nvcomp_codec *codec, const setting *how,
                     const bench_column *column, uint64_t chunk_bytes, chunked *chunks) {
    return how->cpu_codec ? compress_on_host(how, column, chunk_bytes, chunks)
                          : compress_on_device(device, codec, how, column, chunk_bytes, chunks);
}
