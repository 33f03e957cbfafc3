/* harness.h - what the measuring programs share: a GPU with streams and events, timing, comparing,
 * columns and their bytes.
 *
 * These are programs for measurements: whatever goes wrong that is not the subject of a measurement
 * ends them with a message. */
#ifndef FP_BENCH_HARNESS_H
#define FP_BENCH_HARNESS_H

#include "cuda.h"
#include "fastpair_gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the program with a message on standard error, printf style. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

double bench_seconds(void);

/* malloc that ends the program instead of returning NULL. */
void *bench_memory(uint64_t size);

/* Reads sizes such as 500, 64K, 1M, 4G: decimal multiples, since rates are decimal too. Ends the
 * program if it is none. */
uint64_t bench_size(const char *text);

/* A number of 1 or more; a number of seconds. End the program if it is none. */
int bench_count(const char *text);
double bench_duration(const char *text);

/* Threads to use for what is not measured: as many as there are processors. */
uint32_t bench_threads(void);

/* Calls work(context, i) for every i below `count`, on up to `threads` threads. */
void bench_parallel(uint32_t threads, uint64_t count, void (*work)(void *context, uint64_t i),
                    void *context);

/* ---------------------------------------------------------------- columns */

/* A column, opened, with all its bytes decoded by the CPU: what everything is compared with. */
typedef struct bench_column {
    const char *path;
    fastpair_column *column;
    fastpair_column_info info;
    uint8_t *bytes;
} bench_column;

bench_column bench_column_open(const char *path);
void bench_column_close(bench_column *column);

/* How often a column of `size` bytes is repeated to make about `wanted` bytes; at least once. */
uint64_t bench_tiles(uint64_t size, uint64_t wanted);

/* ---------------------------------------------------------------- the GPU */

enum { BENCH_STREAMS = 2 };

typedef struct bench_device {
    fastpair_gpu *gpu;
    cuda_driver cuda;
    const cuda_driver *driver; /* the same */
    fastpair_gpu_info info;
    cuda_stream streams[BENCH_STREAMS];
    cuda_event start, end;
    void *pinned; /* of BENCH_PIECE bytes, for comparing */
} bench_device;

#define BENCH_PIECE (64u << 20)

/* Opens the first GPU and makes its context current until it is closed. False, with the reason in
 * *error, where there is none. */
bool bench_device_open(bench_device *device, fastpair_error *error);
void bench_device_close(bench_device *device);

/* Ends the program if a driver call failed. */
void bench_must(const bench_device *device, int result, const char *purpose);

uint64_t bench_device_memory(const bench_device *device, uint64_t size);
void *bench_pinned_memory(const bench_device *device, uint64_t size);

/* Least and median of several measurements, in milliseconds. */
typedef struct bench_times {
    double least, median;
} bench_times;

bench_times bench_summary(double *milliseconds, int count);

/* Queues `work` on streams[0] between two events, `launches` times after a few that are not
 * counted. */
bench_times bench_time_launches(const bench_device *device, int launches,
                                void (*work)(void *context), void *context);

/* The same by the host's clock, from the call of `work` until all streams are idle. */
bench_times bench_time_passes(const bench_device *device, int passes, void (*work)(void *context),
                              void *context);

/* Whether `size` bytes of device memory are those of `expected`. */
bool bench_same(const bench_device *device, uint64_t memory, const uint8_t *expected,
                uint64_t size);

#endif
