/* emulated_launch.c - kernels for the made-up driver that run in the emulator: right bytes without a GPU, slowly. In: a launch. Out:
 * what it writes. Touching anything but device memory is reported, and fails the launch. */
#include "emulated_launch.h"

#include "fake_cuda.h"
#include "gpu/kernel_table.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LAUNCH_FAILED = 719 };

int fake_kernel(const char *symbol) {
    if (strcmp(symbol, FP_SYMBOL_ROW_OFFSETS) == 0) return EMULATED_ROW_OFFSETS;
    if (strcmp(symbol, FP_SYMBOL_MEASURE_BATCHES) == 0) return EMULATED_MEASURE_BATCHES;
    if (strcmp(symbol, FP_SYMBOL_SCAN_BATCHES) == 0) return EMULATED_SCAN_BATCHES;
    for (uint32_t i = 0; i < FP_KERNELS; i++)
        if (strcmp(symbol, fp_kernel_table()[i].symbol) == 0)
            return emulated_find(fp_kernel_table()[i].name);
    return -9;
}

static void know(const void *memory, size_t size) { emulated_know(memory, size, "device memory"); }

/* ---------------------------------------------------------------- the device: a thread that runs one launch after the other */

/* One thread for all launches, because the emulator changes stacks, and sanitizers tell those apart by threads. */
typedef struct launch {
    int kernel;
    unsigned grid_x, grid_y, threads, shared;
    void **parameters, **extra;
    fp_cu_result result;
    int is_done;
} launch;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static launch *waiting;

static fp_cu_result emulate(const launch *l) {
    static uint64_t seed;
    uint32_t second = 0;
    size_t bytes;
    const void *first = emulated_first(l->kernel, l->parameters, l->extra, &bytes);
    if (emulated_has_second(l->kernel)) memcpy(&second, l->parameters[1], sizeof second);
    emulated_forget(++seed);
    fake_each_memory(know);
    const char *error = emulated_launch(l->kernel, first, bytes, second, l->grid_x, l->grid_y,
                                        l->threads, l->shared);
    if (error) fprintf(stderr, "kernel %d: %s\n", l->kernel, error);
    return error ? LAUNCH_FAILED : 0;
}

static void *device(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!waiting) pthread_cond_wait(&changed, &lock);
        waiting->result = emulate(waiting);
        waiting->is_done = 1;
        waiting = NULL;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

fp_cu_result fake_run(int kernel, unsigned grid_x, unsigned grid_y, unsigned threads,
                      unsigned shared, void **parameters, void **extra) {
    static int is_started;
    launch l = {kernel, grid_x, grid_y, threads, shared, parameters, extra, LAUNCH_FAILED, 0};
    pthread_t thread;
    if (kernel == -9) return INVALID_VALUE; /* the emulator has no such kernel */
    pthread_mutex_lock(&lock);
    if (!is_started)
        is_started = !pthread_create(&thread, NULL, device, NULL) && !pthread_detach(thread);
    while (waiting) pthread_cond_wait(&changed, &lock);
    waiting = is_started ? &l : NULL;
    pthread_cond_broadcast(&changed);
    while (is_started && !l.is_done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return l.result;
}
