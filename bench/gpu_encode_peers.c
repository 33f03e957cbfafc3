/* gpu_encode_peers.c - nvCOMP's compressors. In: bytes in device memory. Out: for each codec the ratio
 * and the time of its compression call alone, in pages of 64 KiB, as most who use nvCOMP have them.
 * Pointers to pages are there before the clock starts; pages lie apart afterwards, and are not moved
 * together. Row offsets are not part of what is compressed. */
#include "gpu_encode.h"
#include "peers_nvcomp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 65536u

typedef struct peer_work {
    const encode_subject *s;
    const nvcomp_codec *codec;
    nvcomp_options options;
    uint64_t pages;
    size_t temporary_size;
    fastpair_gpu_block output, temporary, from, from_sizes, to, to_sizes, statuses;
} peer_work;

static void compress(void *context) {
    const peer_work *w = context;
    int result = w->codec->compress(w->from.address, w->from_sizes.address, PAGE, w->pages,
                                    w->temporary.address, w->temporary_size, w->to.address,
                                    w->to_sizes.address, w->options, w->statuses.address,
                                    w->s->device.streams[0]);
    if (result) bench_die("nvCOMP's %s failed with status %d", w->codec->name, result);
}

/* Numbers on the device: first, first + step... */
static fastpair_gpu_block put_numbers(const peer_work *w, uint64_t first, uint64_t step) {
    uint64_t *numbers = bench_memory(w->pages * sizeof *numbers), bytes = w->pages * 8;
    for (uint64_t i = 0; i < w->pages; i++) numbers[i] = first + i * step;
    if (!step) numbers[w->pages - 1] = w->s->bytes - (w->pages - 1) * PAGE;
    fastpair_gpu_block block = {nvcomp_upload(&w->s->device, numbers, bytes), bytes};
    free(numbers);
    return block;
}

/* Bytes of all compressed pages; 0 if one failed. */
static uint64_t compressed_bytes(const peer_work *w) {
    uint64_t *sizes = bench_memory(w->pages * 8), sum = 0;
    uint32_t *statuses = bench_memory(w->pages * 4), bad = 0;
    nvcomp_download(&w->s->device, sizes, w->to_sizes.address, w->pages * 8);
    nvcomp_download(&w->s->device, statuses, w->statuses.address, w->pages * 4);
    for (uint64_t i = 0; i < w->pages; i++) sum += sizes[i], bad |= statuses[i];
    free(sizes), free(statuses);
    return bad ? 0 : sum;
}

static void measure(const encode_subject *s, const nvcomp_codec *codec, int algorithm) {
    const bench_device *device = &s->device;
    peer_work w = {.s = s, .codec = codec, .options = {{(uint64_t)(unsigned)algorithm}}};
    size_t most = 0;
    w.pages = (s->bytes + PAGE - 1) / PAGE;
    if (codec->most_output(PAGE, w.options, &most) ||
        codec->compress_temporary(w.pages, PAGE, w.options, &w.temporary_size, s->bytes,
                                  device->streams[0])) {
        fprintf(stderr, "nvCOMP refuses %s\n", codec->name);
        return;
    }
    uint64_t stride = round_up(most, 256);
    w.output = encode_block(device, w.pages * stride);
    w.temporary = encode_block(device, w.temporary_size);
    w.from = put_numbers(&w, s->input.bytes, PAGE);
    w.from_sizes = put_numbers(&w, PAGE, 0);
    w.to = put_numbers(&w, w.output.address, stride);
    w.to_sizes = encode_block(device, 8 * w.pages);
    w.statuses = encode_block(device, 4 * w.pages);
    bench_must(device, device->driver->fill(w.statuses.address, 0, 4 * w.pages, device->streams[0]),
               "filling");
    double once = bench_time_passes(device, 1, compress, &w).least;
    bench_times times =
        bench_time_launches(device, once > 100 ? 2 : s->launches / 2 + 1, compress, &w);
    uint64_t bytes = compressed_bytes(&w);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "gpu_encode_peer");
    cli_json_string(&json, "file", s->path);
    cli_json_string(&json, "library", "nvCOMP");
    cli_json_string(&json, "codec", codec->name);
    cli_json_number(&json, "algorithm", (uint64_t)algorithm);
    cli_json_number(&json, "chunk_bytes", PAGE);
    cli_json_number(&json, "bytes", s->bytes);
    cli_json_number(&json, "compressed_bytes", bytes);
    cli_json_real(&json, "ratio", (double)s->bytes / (double)bytes);
    cli_json_real(&json, "least_ms", times.least);
    cli_json_real(&json, "median_ms", times.median);
    cli_json_real(&json, "gbs", (double)s->bytes / times.least / 1e6);
    cli_json_end(&json);
    fflush(stdout);
    fastpair_gpu_block *all[] = {&w.output, &w.temporary, &w.from,    &w.from_sizes,
                                 &w.to,     &w.to_sizes,  &w.statuses};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) encode_release(device, all[i]);
}

void encode_peers(encode_subject *s, const char *nvcomp) {
    nvcomp_library *library = nvcomp_open(nvcomp);
    for (int i = 0; i < NVCOMP_CODECS; i++) {
        const nvcomp_codec *codec = &library->codecs[i];
        int is_deflate = strstr(codec->name, "deflate") != NULL;
        /* Bitcomp is for numbers. */
        if (!strcmp(codec->name, "bitcomp")) continue;
        measure(s, codec, is_deflate ? 1 : 0);
        if (is_deflate) measure(s, codec, 5);
    }
    nvcomp_close(library);
}
