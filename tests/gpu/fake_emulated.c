/* fake_emulated.c - kernels for the made-up driver that run in the emulator: right bytes without a
 * GPU, slowly. In: a launch. Out: what it writes. Touching anything but device memory is reported,
 * and fails the launch. */
#include "emulated_launch.h"

#include "fake_cuda.h"
#include "gpu/kernel_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fake_kernel(const char *symbol) {
    if (strcmp(symbol, FP_SYMBOL_ROW_OFFSETS) == 0) return EMULATED_ROW_OFFSETS;
    if (strcmp(symbol, FP_SYMBOL_MEASURE_BATCHES) == 0) return EMULATED_MEASURE_BATCHES;
    if (strcmp(symbol, FP_SYMBOL_SCAN_BATCHES) == 0) return EMULATED_SCAN_BATCHES;
    for (uint32_t i = 0; i < FP_KERNELS; i++)
        if (strcmp(symbol, fp_kernel_table()[i].symbol) == 0)
            return emulated_find(fp_kernel_table()[i].name);
    return -9;
}

/* ---------------------------------------------------------------- memory */

enum { MOST_KNOWN = 16 };
static struct {
    const void *memory;
    size_t size;
} known[MOST_KNOWN];
static int known_count;

void fake_forget_memory(void) { known_count = 0; }

void fake_know_memory(const void *memory, size_t size) {
    if (known_count == MOST_KNOWN) abort();
    known[known_count].memory = memory;
    known[known_count++].size = size;
}

static void know(const void *memory, size_t size) { emulated_know(memory, size, "device memory"); }

/* ---------------------------------------------------------------- the device: a thread that runs one launch after the other */

/* One thread for all launches: the emulator changes stacks, and sanitizers know stacks by their
 * threads. */
typedef struct work {
    fake_launch launch;
    fp_cu_result result;
    int is_done;
} work;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static work *waiting;

static fp_cu_result emulate(fake_launch *l) {
    uint32_t second = 0;
    l->first = emulated_first(l->kernel, l->parameters, l->extra, &l->first_bytes);
    if (l->extra && fake_wish.takes_no_buffers) return INVALID_VALUE;
    const char *error = fake_wish.inspect ? fake_wish.inspect(l) : NULL;
    if (emulated_has_second(l->kernel)) memcpy(&second, l->parameters[1], sizeof second);
    emulated_forget(++fake_wish.seed);
    fake_each_memory(know);
    for (int i = 0; i < known_count; i++)
        emulated_know(known[i].memory, known[i].size, "a test's memory");
    if (!error && !fake_wish.only_counts)
        error = emulated_launch(l->kernel, l->first, l->first_bytes, second, l->grid_x, l->grid_y,
                                l->threads, l->shared);
    if (error) fprintf(stderr, "%s: %s\n", l->symbol, error);
    return error ? LAUNCH_FAILED : 0;
}

static void *device(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!waiting) pthread_cond_wait(&changed, &lock);
        waiting->result = emulate(&waiting->launch);
        waiting->is_done = 1;
        waiting = NULL;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

fp_cu_result fake_run(const fake_launch *launch) {
    static int is_started;
    work w = {*launch, LAUNCH_FAILED, 0};
    pthread_t thread;
    if (launch->kernel == -9) return INVALID_VALUE; /* the emulator has no such kernel */
    pthread_mutex_lock(&lock);
    if (!is_started)
        is_started = !pthread_create(&thread, NULL, device, NULL) && !pthread_detach(thread);
    while (waiting) pthread_cond_wait(&changed, &lock);
    waiting = is_started ? &w : NULL;
    pthread_cond_broadcast(&changed);
    while (is_started && !w.is_done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return w.result;
}
