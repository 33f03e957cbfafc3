/* gpu_encode.c - fastpair-gpu-encode: rates of compressing on a GPU, beside nvCOMP's.
 *
 * usage: fastpair-gpu-encode [--bytes=1G] [--launches=20] [--passes=5] [--piece=64M] [--codec=onpair]
 *                            [--bits=N] [--max-token=N] [--no-host] [--nvcomp=LIBRARY] FILE...
 *
 * A FILE is a column, or text whose lines are rows; in a file .nul, rows end with NUL. Its rows are repeated to --bytes. The dictionary is
 * trained on them once. Printed, one JSON object per line: the time of encoding rows that are in device
 * memory, least and median of --launches; the same from pinned host memory to a file in pinned host
 * memory, in pieces; and what nvCOMP's compressors take for the same bytes in device memory. The image
 * is compared with that of fastpair_compress, byte for byte, and is decoded on the GPU where it lies;
 * what comes out is compared with the rows. */
#include "gpu_encode.h"

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void encode_must(fastpair_status status, const fastpair_error *error) {
    if (status) bench_die("%s", error->message);
}

fastpair_gpu_block encode_block(const bench_device *device, uint64_t bytes) {
    return (fastpair_gpu_block){bench_device_memory(device, bytes), bytes};
}

void encode_release(const bench_device *device, fastpair_gpu_block *block) {
    if (block->address)
        bench_must(device, device->driver->release(block->address), "releasing device memory");
    *block = (fastpair_gpu_block){0};
}

/* ---------------------------------------------------------------- rows */

typedef struct small_rows {
    uint8_t *bytes;
    uint64_t *offsets, rows;
} small_rows;

static small_rows read_column(const char *path) {
    fastpair_error error;
    bench_column column = bench_column_open(path);
    small_rows small = {.bytes = column.bytes, .rows = column.info.rows};
    small.offsets = bench_memory((small.rows + 1) * sizeof *small.offsets);
    fastpair_destination to = {.struct_size = sizeof to, .bytes = small.bytes, .offset_bits = 64};
    to.bytes_capacity = column.info.decoded_bytes, to.offsets = small.offsets;
    encode_must(fastpair_column_decode(column.column, 0, small.rows, &to, &error), &error);
    column.bytes = NULL;
    bench_column_close(&column);
    return small;
}

static small_rows read_text(const char *path, uint8_t separator) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) bench_die("%s: cannot be read", path);
    uint64_t size = (uint64_t)ftell(file), at = 0;
    rewind(file);
    small_rows small = {.bytes = bench_memory(size)};
    if (fread(small.bytes, 1, size, file) != size) bench_die("%s: cannot be read", path);
    fclose(file);
    small.offsets = bench_memory((size + 2) * sizeof *small.offsets);
    small.offsets[0] = 0;
    for (uint64_t i = 0; i < size; i++) {
        if (small.bytes[i] != separator)
            small.bytes[at++] = small.bytes[i];
        else
            small.offsets[++small.rows] = at;
    }
    if (at > small.offsets[small.rows]) small.offsets[++small.rows] = at;
    return small;
}

/* The rows of a file, over and over. */
static void make_rows(encode_subject *s, const char *path, uint64_t wanted) {
    size_t length = strlen(path);
    const char *ending = length > 4 ? path + length - 4 : "";
    small_rows small = !strcmp(ending, ".fpc") ? read_column(path)
                                               : read_text(path, strcmp(ending, ".nul") ? '\n' : 0);
    uint64_t size = small.offsets[small.rows], tiles = bench_tiles(size, wanted);
    uint64_t *offsets = bench_memory((small.rows * tiles + 1) * sizeof *offsets);
    uint8_t *bytes = bench_memory(size * tiles);
    for (uint64_t t = 0; t < tiles; t++) {
        memcpy(bytes + t * size, small.bytes, size);
        for (uint64_t r = 0; r < small.rows; r++)
            offsets[t * small.rows + r] = t * size + small.offsets[r];
    }
    offsets[tiles * small.rows] = s->bytes = tiles * size;
    s->path = path;
    s->rows = (fastpair_rows){.struct_size = sizeof s->rows, .rows = small.rows * tiles};
    s->rows.bytes = bytes, s->rows.offsets = offsets;
    fastpair_error error;
    fastpair_rows few = {.struct_size = sizeof few, .rows = small.rows};
    few.bytes = small.bytes, few.offsets = small.offsets;
    fastpair_dictionary *dictionary = NULL;
    encode_must(fastpair_dictionary_train(&few, &s->options, &dictionary, &error), &error);
    s->options = (fastpair_compress_options){.struct_size = sizeof s->options};
    s->options.threads = bench_threads(), s->options.dictionary = dictionary;
    free(small.bytes), free(small.offsets);
    double start = bench_seconds();
    encode_must(fastpair_compress(&s->rows, &s->options, &s->image, &s->image_bytes, &error),
                &error);
    s->cpu_seconds = bench_seconds() - start;
}

static void put_rows(encode_subject *s) {
    const bench_device *device = &s->device;
    uint64_t offsets = (s->rows.rows + 1) * 8;
    s->input = (fastpair_gpu_encode_input){.struct_size = sizeof s->input,
                                           .rows = s->rows.rows,
                                           .bytes = bench_device_memory(device, s->bytes),
                                           .bytes_size = s->bytes,
                                           .offsets = bench_device_memory(device, offsets),
                                           .offset_bits = 64};
    bench_must(
        device,
        device->driver->copy_to_device(s->input.bytes, s->rows.bytes, s->bytes, device->streams[0]),
        "copying rows");
    bench_must(device,
               device->driver->copy_to_device(s->input.offsets, s->rows.offsets, offsets,
                                              device->streams[0]),
               "copying offsets");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "copying rows");
}

/* ---------------------------------------------------------------- in device memory */

typedef struct encoding {
    encode_subject *s;
    fastpair_gpu_block scratch;
    fastpair_gpu_encode_output output;
    uint64_t record_bytes;
} encoding;

static void encode(void *context) {
    encoding *e = context;
    fastpair_error error;
    encode_must(fastpair_gpu_encoder_encode(e->s->encoder, &e->s->input, &e->scratch, &e->output,
                                            e->s->device.streams[0], &error),
                &error);
}

/* The file on the host, compared with that of the CPU. */
static bool same_file(const encoding *e, fastpair_gpu_encoded *encoded,
                      const fastpair_gpu_encoded_piece *piece) {
    const encode_subject *s = e->s;
    const uint8_t *footer = NULL;
    uint64_t footer_bytes = 0;
    fastpair_error error;
    uint8_t *bytes = bench_memory(piece->image_bytes);
    bench_must(&s->device,
               s->device.driver->copy_to_host(bytes, e->output.image.address, piece->image_bytes,
                                              s->device.streams[0]),
               "copying the image");
    bench_must(&s->device, s->device.driver->stream_wait(s->device.streams[0]), "copying");
    encode_must(fastpair_gpu_encoded_complete(encoded, 0, bytes, piece->image_bytes, &error),
                &error);
    encode_must(fastpair_gpu_encoded_finish(encoded, &footer, &footer_bytes, &error), &error);
    bool same = piece->image_bytes + footer_bytes == s->image_bytes &&
                !memcmp(bytes, s->image, piece->image_bytes) &&
                !memcmp(footer, s->image + piece->image_bytes, footer_bytes);
    free(bytes);
    return same;
}

/* Decodes the sections where they lie, and compares rows. */
static bool same_rows(const encoding *e, fastpair_gpu_encoded *encoded) {
    const encode_subject *s = e->s;
    const bench_device *device = &s->device;
    fastpair_error error;
    fastpair_column *column = NULL;
    fastpair_gpu_job *job = NULL;
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    encode_must(fastpair_gpu_encoded_open_column(encoded, NULL, &column, &error), &error);
    const fastpair_column *columns[] = {column};
    const uint64_t images[] = {e->output.image.address};
    fastpair_gpu_job_options options = {.struct_size = sizeof options, .device_images = images};
    options.outputs = FASTPAIR_GPU_OFFSETS;
    encode_must(fastpair_gpu_job_open(device->gpu, columns, 1, &options, &job, &error), &error);
    encode_must(fastpair_gpu_job_get_info(job, &info, &error), &error);
    fastpair_gpu_block memory = encode_block(device, info.device_bytes),
                       bytes = encode_block(device, s->bytes + 16),
                       offsets = encode_block(device, 8 * (s->rows.rows + 1)),
                       status = encode_block(device, 4);
    bench_must(device, device->driver->fill(status.address, 0, 4, device->streams[0]), "filling");
    bench_must(device, device->driver->fill(bytes.address, 0xa5, s->bytes, device->streams[0]),
               "filling");
    encode_must(fastpair_gpu_job_upload(job, memory.address, memory.bytes, NULL, device->streams[0],
                                        &error),
                &error);
    fastpair_gpu_output to = {.struct_size = sizeof to, .bytes = bytes.address, .offset_bits = 64};
    to.bytes_capacity = s->bytes, to.offsets = offsets.address, to.status = status.address;
    encode_must(fastpair_gpu_job_decode(job, &to, NULL, device->streams[0], &error), &error);
    const uint8_t zeros[4] = {0};
    bool same = bench_same(device, status.address, zeros, 4) &&
                bench_same(device, bytes.address, s->rows.bytes, s->bytes) &&
                bench_same(device, offsets.address, s->rows.offsets, 8 * (s->rows.rows + 1));
    encode_release(device, &memory), encode_release(device, &bytes);
    encode_release(device, &offsets), encode_release(device, &status);
    fastpair_gpu_job_close(job);
    fastpair_column_close(column);
    return same;
}

static void measure(encode_subject *s) {
    fastpair_error error;
    encoding e = {.s = s, .output = {.struct_size = sizeof e.output}};
    fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
    encode_must(fastpair_gpu_encoder_sizes(s->encoder, &s->input, &sizes, &error), &error);
    e.scratch = encode_block(&s->device, sizes.scratch_bytes);
    e.output.image = encode_block(&s->device, sizes.output_bytes);
    e.output.record = encode_block(&s->device, sizes.record_bytes);
    bench_times times = bench_time_launches(&s->device, s->launches, encode, &e);
    uint8_t *record = bench_memory(sizes.record_bytes);
    bench_must(&s->device,
               s->device.driver->copy_to_host(record, e.output.record.address, sizes.record_bytes,
                                              s->device.streams[0]),
               "copying the record");
    bench_must(&s->device, s->device.driver->stream_wait(s->device.streams[0]), "copying");
    fastpair_gpu_encoded *encoded = NULL;
    fastpair_gpu_encoded_piece piece = {.struct_size = sizeof piece};
    encode_must(fastpair_gpu_encoded_open(s->encoder, &encoded, &error), &error);
    encode_must(fastpair_gpu_encoded_add(encoded, record, sizes.record_bytes, &piece, &error),
                &error);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "gpu_encode");
    cli_json_string(&json, "file", s->path);
    cli_json_number(&json, "rows", s->rows.rows);
    cli_json_number(&json, "bytes", s->bytes);
    cli_json_number(&json, "image_bytes", s->image_bytes);
    cli_json_real(&json, "ratio", (double)s->bytes / (double)s->image_bytes);
    cli_json_number(&json, "chunks", piece.chunks);
    cli_json_number(&json, "coded_chunks", piece.coded_chunks);
    cli_json_number(&json, "scratch_bytes", sizes.scratch_bytes);
    cli_json_real(&json, "least_ms", times.least);
    cli_json_real(&json, "median_ms", times.median);
    cli_json_real(&json, "gbs", (double)s->bytes / times.least / 1e6);
    cli_json_real(&json, "cpu_gbs", (double)s->bytes / s->cpu_seconds / 1e9);
    cli_json_number(&json, "cpu_threads", s->options.threads);
    cli_json_bool(&json, "same_file", same_file(&e, encoded, &piece));
    cli_json_bool(&json, "same_rows", same_rows(&e, encoded));
    cli_json_end(&json);
    fflush(stdout);
    fastpair_gpu_encoded_close(encoded);
    encode_release(&s->device, &e.scratch);
    encode_release(&s->device, &e.output.image), encode_release(&s->device, &e.output.record);
    free(record);
}

/* ---------------------------------------------------------------- the program */

static void open_encoder(encode_subject *s) {
    fastpair_error error;
    fastpair_gpu_encoder_info info = {.struct_size = sizeof info};
    encode_must(fastpair_gpu_encoder_open(s->device.gpu, &s->options, &s->encoder, &error), &error);
    encode_must(fastpair_gpu_encoder_get_info(s->encoder, &info, &error), &error);
    s->tables = encode_block(&s->device, info.device_bytes);
    encode_must(fastpair_gpu_encoder_upload(s->encoder, &s->tables, s->device.streams[0], &error),
                &error);
}

static void close_rows(encode_subject *s) {
    fastpair_gpu_block bytes = {s->input.bytes, 0}, offsets = {s->input.offsets, 0};
    fastpair_gpu_encoder_close(s->encoder);
    fastpair_dictionary_close((fastpair_dictionary *)(uintptr_t)s->options.dictionary);
    encode_release(&s->device, &s->tables);
    encode_release(&s->device, &bytes), encode_release(&s->device, &offsets);
    free((void *)(uintptr_t)s->rows.bytes), free((void *)(uintptr_t)s->rows.offsets);
    fastpair_free(NULL, s->image);
}

/* What follows an option's name, or NULL if it is another one. */
static const char *value_of(const char *argument, const char *name) {
    size_t length = strlen(name);
    return strncmp(argument, name, length) ? NULL : argument + length;
}

int main(int argc, char **argv) {
    static encode_subject s;
    fastpair_compress_options options = {.struct_size = sizeof options};
    uint64_t bytes = 1000000000;
    const char *nvcomp = NULL, *value;
    int at = 1, from_host = 1;
    s.launches = 20, s.passes = 5, s.piece_bytes = 64000000;
    for (; at < argc && !strncmp(argv[at], "--", 2); at++) {
        if ((value = value_of(argv[at], "--bytes=")))
            bytes = bench_size(value);
        else if ((value = value_of(argv[at], "--launches=")))
            s.launches = bench_count(value);
        else if ((value = value_of(argv[at], "--passes=")))
            s.passes = bench_count(value);
        else if ((value = value_of(argv[at], "--piece=")))
            s.piece_bytes = bench_size(value);
        else if (!strcmp(argv[at], "--codec=onpair"))
            options.codec = FASTPAIR_CODEC_ONPAIR;
        else if (!strcmp(argv[at], "--codec=fsst12"))
            options.codec = FASTPAIR_CODEC_FSST12;
        else if ((value = value_of(argv[at], "--bits=")))
            options.code_bits = (uint32_t)bench_count(value);
        else if ((value = value_of(argv[at], "--max-token=")))
            options.max_token = (uint32_t)bench_count(value);
        else if (!strcmp(argv[at], "--no-host"))
            from_host = 0;
        else if ((value = value_of(argv[at], "--nvcomp=")))
            nvcomp = value;
        else
            bench_die("unknown option %s", argv[at]);
    }
    fastpair_error error;
    if (at >= argc) bench_die("usage: fastpair-gpu-encode [--bytes=N] [--bits=N] ... FILE...");
    if (options.code_bits || options.max_token)
        if (!options.codec) options.codec = FASTPAIR_CODEC_ONPAIR;
    if (!bench_device_open(&s.device, &error)) bench_die("%s", error.message);
    for (; at < argc; at++) {
        s.options = options;
        make_rows(&s, argv[at], bytes);
        put_rows(&s);
        open_encoder(&s);
        measure(&s);
        if (from_host) encode_from_host(&s);
        if (nvcomp) encode_peers(&s, nvcomp);
        close_rows(&s);
    }
    bench_device_close(&s.device);
    return 0;
}
