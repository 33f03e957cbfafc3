/* gpu_search.c - fastpair-gpu-search: rates of searches on a GPU, beside those of decoding.
 *
 * usage: fastpair-gpu-search [--bytes=1G] [--launches=30] [--dict=FILE] FILE.fpc TEST...
 *
 * A TEST is a pattern that rows contain, or one of prefix:P, suffix:P, equals:P, like:P; or select:N,
 * which selects N % of the rows at random, or take:N, which takes them in any order. With bytes: before
 * it, a test of patterns is made byte by byte. The rows of
 * the file are repeated to --bytes and compressed with the dictionary, by default one trained as the
 * library does. Printed, one JSON object per line: the time to decode, what is derived once per upload,
 * and for each test the least time of a run and whether every row is as the CPU says. */
#include "gpu_select.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct subject {
    bench_device device;
    const char *path;
    fastpair_column *column;
    uint64_t rows, bytes, image_bytes;
    int launches;
    fastpair_gpu_job *job;
    fastpair_gpu_output output;
    fastpair_gpu_rows *row_starts;
    fastpair_gpu_block memory, scratch;
    uint64_t status;
    fastpair_gpu_search *search;
    fastpair_gpu_matches matches;
    fastpair_gpu_block found;
} subject;

static void must(fastpair_status status, const fastpair_error *error) {
    if (status) bench_die("%s", error->message);
}

static fastpair_gpu_block device_block(const bench_device *device, uint64_t bytes) {
    return (fastpair_gpu_block){bytes ? bench_device_memory(device, bytes) : 0, bytes};
}

static void release(const bench_device *device, uint64_t memory) {
    if (memory) bench_must(device, device->driver->release(memory), "releasing device memory");
}

/* ---------------------------------------------------------------- the column */

static fastpair_dictionary *open_dictionary(const char *path) {
    fastpair_error error;
    fastpair_dictionary *dictionary = NULL;
    FILE *file = fopen(path, "rb");
    static uint8_t data[16 << 20];
    size_t size = file ? fread(data, 1, sizeof data, file) : 0;
    if (!size) bench_die("%s: cannot be read", path);
    fclose(file);
    must(fastpair_dictionary_open(data, size, NULL, &dictionary, &error), &error);
    return dictionary;
}

/* The rows of a file, over and over, in one column. */
static void make_column(subject *s, const char *path, const char *dictionary_path, uint64_t bytes) {
    fastpair_error error;
    bench_column small = bench_column_open(path);
    uint64_t size = small.info.decoded_bytes, rows = small.info.rows;
    uint64_t tiles = bench_tiles(size, bytes);
    uint64_t *offsets = bench_memory((rows * tiles + 1) * sizeof *offsets);
    uint8_t *all = bench_memory(size * tiles), *image = NULL;
    fastpair_destination to = {.struct_size = sizeof to, .bytes = small.bytes};
    to.bytes_capacity = size, to.offsets = offsets, to.offset_bits = 64;
    must(fastpair_column_decode(small.column, 0, rows, &to, &error), &error);
    for (uint64_t t = 0; t < tiles; t++) {
        memcpy(all + t * size, small.bytes, size);
        for (uint64_t r = 0; r < rows; r++) offsets[t * rows + r] = t * size + offsets[r];
    }
    offsets[tiles * rows] = tiles * size;
    fastpair_rows view = {.struct_size = sizeof view};
    view.rows = rows * tiles, view.bytes = all, view.offsets = offsets;
    fastpair_compress_options options = {.struct_size = sizeof options};
    options.threads = bench_threads();
    fastpair_dictionary *dictionary = dictionary_path ? open_dictionary(dictionary_path) : NULL;
    options.dictionary = dictionary;
    must(fastpair_compress(&view, &options, &image, &s->image_bytes, &error), &error);
    fastpair_open_options open = {.struct_size = sizeof open, .threads = bench_threads()};
    must(fastpair_column_open(image, s->image_bytes, &open, &s->column, &error), &error);
    s->path = path, s->rows = rows * tiles, s->bytes = size * tiles;
    if (dictionary) fastpair_dictionary_close(dictionary);
    bench_column_close(&small);
    free(all), free(offsets);
}

/* ---------------------------------------------------------------- decode and prepare */

static void decode(void *context) {
    subject *s = context;
    fastpair_error error;
    must(fastpair_gpu_job_decode(s->job, &s->output, NULL, s->device.streams[0], &error), &error);
}

static void prepare(void *context) {
    subject *s = context;
    fastpair_error error;
    must(fastpair_gpu_rows_prepare(s->row_starts, &s->memory, &s->scratch, s->status,
                                   s->device.streams[0], &error),
         &error);
}

static void upload(subject *s) {
    fastpair_error error;
    fastpair_gpu_job_options options = {.struct_size = sizeof options};
    options.outputs = FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY;
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    fastpair_gpu_rows_info rows_info = {.struct_size = sizeof rows_info};
    const fastpair_column *columns[] = {s->column};
    must(fastpair_gpu_job_open(s->device.gpu, columns, 1, &options, &s->job, &error), &error);
    must(fastpair_gpu_job_get_info(s->job, &info, &error), &error);
    uint64_t memory = bench_device_memory(&s->device, info.device_bytes);
    must(fastpair_gpu_job_upload(s->job, memory, info.device_bytes, NULL, s->device.streams[0],
                                 &error),
         &error);
    must(fastpair_gpu_rows_open(s->job, 0, &s->row_starts, &error), &error);
    must(fastpair_gpu_rows_get_info(s->row_starts, &rows_info, &error), &error);
    s->memory = device_block(&s->device, rows_info.device_bytes);
    s->scratch = device_block(&s->device, rows_info.scratch_bytes);
    s->status = bench_device_memory(&s->device, 4);
    bench_must(&s->device, s->device.driver->fill(s->status, 0, 4, s->device.streams[0]),
               "filling");
    s->output = (fastpair_gpu_output){.struct_size = sizeof s->output,
                                      .bytes = bench_device_memory(&s->device, s->bytes),
                                      .bytes_capacity = s->bytes,
                                      .status = s->status};
    bench_times decoded = bench_time_launches(&s->device, s->launches, decode, s);
    bench_times prepared = bench_time_launches(&s->device, 3, prepare, s);
    uint32_t bad = 1;
    bench_must(&s->device, s->device.driver->copy_to_host(&bad, s->status, 4, s->device.streams[0]),
               "copying");
    bench_must(&s->device, s->device.driver->stream_wait(s->device.streams[0]), "waiting");
    printf("{\"file\": \"%s\", \"rows\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"image\": %" PRIu64
           ", \"kernel\": \"%s\", \"decode_ms\": %.4f, \"decode_gbs\": %.0f, \"prepare_ms\": %.4f, "
           "\"rows_bytes\": %" PRIu64 ", \"rows_scratch\": %" PRIu64 ", \"status\": %u}\n",
           s->path, s->rows, s->bytes, s->image_bytes, info.kernel, decoded.least,
           (double)s->bytes / decoded.least / 1e6, prepared.least, rows_info.device_bytes,
           rows_info.scratch_bytes, bad);
}

/* ---------------------------------------------------------------- tests */

static fastpair_predicate predicate_of(const char *test, fastpair_pattern *pattern) {
    static const struct {
        const char *word;
        fastpair_predicate_kind kind;
    } kinds[] = {{"prefix:", FASTPAIR_STARTS_WITH},
                 {"suffix:", FASTPAIR_ENDS_WITH},
                 {"equals:", FASTPAIR_EQUALS},
                 {"like:", FASTPAIR_LIKE}};
    fastpair_predicate predicate = {.struct_size = sizeof predicate, .kind = FASTPAIR_CONTAINS};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(test, kinds[i].word, strlen(kinds[i].word))) {
            predicate.kind = kinds[i].kind;
            test += strlen(kinds[i].word);
        }
    *pattern = (fastpair_pattern){test, strlen(test)};
    predicate.patterns = pattern, predicate.pattern_count = 1;
    return predicate;
}

static void run(void *context) {
    subject *s = context;
    fastpair_error error;
    must(fastpair_gpu_search_run(s->search, &s->found, &s->matches, s->device.streams[0], &error),
         &error);
}

static void measure(subject *s, const char *test) {
    fastpair_error error;
    fastpair_pattern pattern;
    int by_bytes = !strncmp(test, "bytes:", 6);
    fastpair_predicate predicate = predicate_of(test + (by_bytes ? 6 : 0), &pattern);
    fastpair_gpu_search_options options = {.struct_size = sizeof options, .memory_limit = by_bytes};
    fastpair_search *search = NULL;
    uint64_t size = (s->rows + 31) / 32 * 4;
    fastpair_matches wanted = {.struct_size = sizeof wanted, .bitmap = bench_memory(size + 1)};
    memset(wanted.bitmap, 0, size);
    must(fastpair_search_open(s->column, &predicate, NULL, &search, &error), &error);
    must(fastpair_search_run(search, 0, s->rows, &wanted, &error), &error);
    must(fastpair_gpu_search_open(s->row_starts, search, &options, &s->search, &error), &error);
    fastpair_gpu_search_info info = {.struct_size = sizeof info};
    must(fastpair_gpu_search_get_info(s->search, &info, &error), &error);
    fastpair_gpu_block tables = device_block(&s->device, info.device_bytes);
    s->found = device_block(&s->device, info.scratch_bytes);
    s->matches = (fastpair_gpu_matches){.struct_size = sizeof s->matches,
                                        .bitmap = bench_device_memory(&s->device, size + 16)};
    s->matches.counts = bench_device_memory(&s->device, 16);
    must(fastpair_gpu_search_upload(s->search, &tables, s->device.streams[0], &error), &error);
    bench_times counted = bench_time_launches(&s->device, s->launches, run, s);
    bool is_right = bench_same(&s->device, s->matches.bitmap, wanted.bitmap, size);
    uint64_t counts = s->matches.counts;
    is_right &= bench_same(&s->device, counts, (const uint8_t *)&wanted.matches, 8);
    s->matches.counts = 0;
    bench_times times = bench_time_launches(&s->device, s->launches, run, s);
    is_right &= bench_same(&s->device, s->matches.bitmap, wanted.bitmap, size);
    printf(
        "{\"file\": \"%s\", \"test\": \"%s\", \"ms\": %.4f, \"counted_ms\": %.4f, \"gbs\": %.0f, "
        "\"matches\": %.4f, \"by_rows\": %u, \"tables\": %" PRIu64 ", \"right\": %s}\n",
        s->path, test, times.least, counted.least, (double)s->bytes / times.least / 1e6,
        (double)wanted.matches / (double)s->rows, info.leaves_by_rows, info.device_bytes,
        is_right ? "true" : "false");
    fflush(stdout);
    fastpair_gpu_search_close(s->search);
    fastpair_search_close(search);
    release(&s->device, tables.address), release(&s->device, s->found.address);
    release(&s->device, s->matches.bitmap), release(&s->device, counts);
    free(wanted.bitmap);
}

int main(int argc, char **argv) {
    static subject s;
    uint64_t bytes = 1000000000;
    const char *dictionary = NULL;
    int at = 1;
    s.launches = 30;
    for (; at < argc && !strncmp(argv[at], "--", 2); at++) {
        if (!strncmp(argv[at], "--bytes=", 8)) bytes = bench_size(argv[at] + 8);
        if (!strncmp(argv[at], "--launches=", 11)) s.launches = bench_count(argv[at] + 11);
        if (!strncmp(argv[at], "--dict=", 7)) dictionary = argv[at] + 7;
    }
    fastpair_error error;
    if (at >= argc)
        bench_die("usage: fastpair-gpu-search [--bytes=N] [--dict=FILE] FILE.fpc TEST...");
    if (!bench_device_open(&s.device, &error)) bench_die("%s", error.message);
    make_column(&s, argv[at], dictionary, bytes);
    upload(&s);
    select_subject selecting = {&s.device,    s.path,         s.column,  s.job,
                                s.row_starts, s.output.bytes, s.launches};
    for (int i = at + 1; i < argc; i++) {
        if (!strncmp(argv[i], "select:", 7))
            bench_select(&selecting, atof(argv[i] + 7), false);
        else if (!strncmp(argv[i], "take:", 5))
            bench_select(&selecting, atof(argv[i] + 5), true);
        else
            measure(&s, argv[i]);
    }
    fastpair_gpu_rows_close(s.row_starts);
    fastpair_gpu_job_close(s.job);
    fastpair_column_close(s.column);
    bench_device_close(&s.device);
    return 0;
}
