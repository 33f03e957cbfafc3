/* harness.c - what the measuring programs share. In: columns, pieces of work. Out: times and
 * verdicts. Timing is by events on a stream for what happens on the device alone, by the host's
 * clock for what begins or ends on the host. */
#include "harness.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Most launches before the clock counts: they load code, fill caches and let the clock rise. */
#define WARM_UP_LAUNCHES 5

void bench_die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

double bench_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void *bench_memory(uint64_t size) {
    void *memory = malloc((size_t)size + 1);
    if (!memory) bench_die("no memory for %llu bytes", (unsigned long long)size);
    return memory;
}

uint64_t bench_size(const char *text) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end == 'K') value *= 1000u, end++;
    if (*end == 'M') value *= 1000000u, end++;
    if (*end == 'G') value *= 1000000000u, end++;
    if (end == text || *end || *text == '-') bench_die("\"%s\" is not a size", text);
    return value;
}

int bench_count(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > 1000000)
        bench_die("\"%s\" is not a count", text);
    return (int)value;
}

double bench_duration(const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value < 1e6))
        bench_die("\"%s\" is not a duration", text);
    return value;
}

uint32_t bench_threads(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > 64 ? 64 : (uint32_t)processors;
}

/* ---------------------------------------------------------------- threads */

typedef struct shared_work {
    void (*work)(void *context, uint64_t i);
    void *context;
    uint64_t count;
    uint64_t next; /* taken with an atomic addition */
} shared_work;

static void *take_work(void *argument) {
    shared_work *shared = argument;
    for (uint64_t i; (i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < shared->count;)
        shared->work(shared->context, i);
    return NULL;
}

void bench_parallel(uint32_t threads, uint64_t count, void (*work)(void *context, uint64_t i),
                    void *context) {
    enum { MOST = 64 };
    shared_work shared = {work, context, count, 0};
    pthread_t others[MOST];
    uint32_t started = 0;
    while (started + 1 < threads && started < MOST &&
           !pthread_create(&others[started], NULL, take_work, &shared))
        started++;
    take_work(&shared);
    while (started) pthread_join(others[--started], NULL);
}

/* ---------------------------------------------------------------- columns */

bench_column bench_column_open(const char *path) {
    bench_column opened = {.path = path, .info = {.struct_size = sizeof opened.info}};
    fastpair_error error;
    fastpair_open_options options = {.struct_size = sizeof options, .threads = bench_threads()};
    if (fastpair_column_open_file(path, &options, &opened.column, &error) ||
        fastpair_column_get_info(opened.column, &opened.info, &error))
        bench_die("%s: %s", path, error.message);
    opened.bytes = bench_memory(opened.info.decoded_bytes);
    fastpair_destination to = {.struct_size = sizeof to,
                               .bytes = opened.bytes,
                               .bytes_capacity = opened.info.decoded_bytes};
    if (fastpair_column_decode(opened.column, 0, opened.info.rows, &to, &error))
        bench_die("%s: %s", path, error.message);
    return opened;
}

void bench_column_close(bench_column *column) {
    fastpair_column_close(column->column);
    free(column->bytes);
    *column = (bench_column){0};
}

uint64_t bench_tiles(uint64_t size, uint64_t wanted) {
    uint64_t tiles = size ? (wanted + size / 2) / size : 1;
    return tiles ? tiles : 1;
}

/* ---------------------------------------------------------------- the GPU */

void bench_must(const bench_device *device, int result, const char *purpose) {
    fastpair_error error;
    if (cuda_status(device->driver, result, purpose, &error)) bench_die("%s", error.message);
}

bool bench_device_open(bench_device *device, fastpair_error *error) {
    *device = (bench_device){.info = {.struct_size = sizeof device->info}};
    if (fastpair_gpu_open(NULL, &device->gpu, error)) return false;
    device->driver = &device->cuda;
    if (fastpair_gpu_get_info(device->gpu, &device->info, error) ||
        cuda_open(&device->cuda, 0, error))
        bench_die("%s", error->message);
    for (int i = 0; i < BENCH_STREAMS; i++)
        bench_must(device,
                   device->driver->stream_open(&device->streams[i], CUDA_STREAM_INDEPENDENT),
                   "making a stream");
    bench_must(device, device->driver->event_open(&device->start, 0), "making an event");
    bench_must(device, device->driver->event_open(&device->end, 0), "making an event");
    device->pinned = bench_pinned_memory(device, BENCH_PIECE);
    return true;
}

void bench_device_close(bench_device *device) {
    if (!device->gpu) return;
    device->driver->release_pinned(device->pinned);
    device->driver->event_close(device->start);
    device->driver->event_close(device->end);
    for (int i = 0; i < BENCH_STREAMS; i++) device->driver->stream_close(device->streams[i]);
    fastpair_gpu_close(device->gpu);
    cuda_close(&device->cuda);
    *device = (bench_device){0};
}

uint64_t bench_device_memory(const bench_device *device, uint64_t size) {
    uint64_t memory = 0;
    bench_must(device, device->driver->allocate(&memory, (size_t)size + 1),
               "allocating device memory");
    return memory;
}

void *bench_pinned_memory(const bench_device *device, uint64_t size) {
    void *memory = NULL;
    bench_must(device, device->driver->allocate_pinned(&memory, (size_t)size + 1),
               "allocating pinned memory");
    return memory;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_times bench_summary(double *milliseconds, int count) {
    qsort(milliseconds, (size_t)count, sizeof *milliseconds, compare_doubles);
    return (bench_times){milliseconds[0], milliseconds[count / 2]};
}

bench_times bench_time_launches(const bench_device *device, int launches,
                                void (*work)(void *context), void *context) {
    const cuda_driver *driver = device->driver;
    double *times = bench_memory((uint64_t)launches * sizeof *times);
    int ahead = launches / 10 + 1;
    for (int i = ahead < WARM_UP_LAUNCHES ? -ahead : -WARM_UP_LAUNCHES; i < launches; i++) {
        float milliseconds = 0;
        bench_must(device, driver->event_record(device->start, device->streams[0]), "timing");
        work(context);
        bench_must(device, driver->event_record(device->end, device->streams[0]), "timing");
        bench_must(device, driver->event_wait(device->end), "running the measured work");
        bench_must(device, driver->event_elapsed(&milliseconds, device->start, device->end),
                   "timing");
        if (i >= 0) times[i] = (double)milliseconds;
    }
    bench_times summary = bench_summary(times, launches);
    free(times);
    return summary;
}

bench_times bench_time_passes(const bench_device *device, int passes, void (*work)(void *context),
                              void *context) {
    double *times = bench_memory((uint64_t)passes * sizeof *times);
    for (int i = -1; i < passes; i++) {
        double start = bench_seconds();
        work(context);
        for (int s = 0; s < BENCH_STREAMS; s++)
            bench_must(device, device->driver->stream_wait(device->streams[s]),
                       "running the measured work");
        if (i >= 0) times[i] = (bench_seconds() - start) * 1e3;
    }
    bench_times summary = bench_summary(times, passes);
    free(times);
    return summary;
}

/* ---------------------------------------------------------------- comparing */

#define COMPARE_SLICE (4u << 20)

typedef struct comparison {
    const uint8_t *a, *b;
    uint64_t size;
    bool *same; /* of each slice */
} comparison;

static void compare_slice(void *context, uint64_t i) {
    const comparison *all = context;
    uint64_t from = i * COMPARE_SLICE, left = all->size - from;
    all->same[i] =
        memcmp(all->a + from, all->b + from, left < COMPARE_SLICE ? left : COMPARE_SLICE) == 0;
}

bool bench_same(const bench_device *device, uint64_t memory, const uint8_t *expected,
                uint64_t size) {
    bool slices[BENCH_PIECE / COMPARE_SLICE + 1], same = true;
    for (uint64_t done = 0; done < size && same; done += BENCH_PIECE) {
        uint64_t piece = size - done < BENCH_PIECE ? size - done : BENCH_PIECE;
        bench_must(device,
                   device->driver->copy_to_host(device->pinned, memory + done, (size_t)piece,
                                                device->streams[0]),
                   "copying back");
        bench_must(device, device->driver->stream_wait(device->streams[0]), "copying back");
        comparison pair = {device->pinned, expected + done, piece, slices};
        uint64_t count = (piece + COMPARE_SLICE - 1) / COMPARE_SLICE;
        bench_parallel(bench_threads() < 8 ? bench_threads() : 8, count, compare_slice, &pair);
        for (uint64_t i = 0; i < count; i++) same = same && slices[i];
    }
    return same;
}
