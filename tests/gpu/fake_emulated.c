/* fake_emulated.c - kernels for the made-up driver that run in the emulator: right bytes without a
 * GPU, slowly. In: a launch. Out: what its kernel writes. A kernel that touches anything but device
 * memory, or reads parameters that were not passed, fails the launch, and a message says why. */
#include "emulated_launch.h"

#include "fake_cuda.h"
#include "gpu/kernel_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fake_kernel(const char *symbol) {
    for (uint32_t i = 0; i < FP_KERNELS; i++)
        if (strcmp(symbol, fp_kernel_table()[i].symbol) == 0)
            return emulated_find(fp_kernel_table()[i].name);
    return emulated_find(symbol);
}

/* ---------------------------------------------------------------- memory */

enum { MOST_KNOWN = 2048 };
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

/* ---------------------------------------------------------------- parameters */

/* Kernels have one parameter, a struct. It comes whole, through a pointer to it; or as much of it
 * as is filled in, as a buffer with its size. */
static fp_cu_result take_parameters(fake_launch *l) {
    enum { END, BUFFER, SIZE }; /* the driver's CU_LAUNCH_PARAM_... */
    size_t whole = emulated_parameter_bytes(l->kernel);
    if (l->parameters) {
        l->first = l->parameters[0];
        l->first_bytes = whole;
        return l->first ? 0 : INVALID_VALUE;
    }
    if (fake_wish.takes_no_buffers) return INVALID_VALUE;
    l->first = NULL;
    l->first_bytes = 0;
    for (void **extra = l->extra; (uintptr_t)*extra != END; extra += 2) {
        if ((uintptr_t)extra[0] == BUFFER)
            l->first = extra[1];
        else if ((uintptr_t)extra[0] == SIZE)
            memcpy(&l->first_bytes, extra[1], sizeof l->first_bytes);
        else
            return INVALID_VALUE;
    }
    return l->first && l->first_bytes && l->first_bytes <= whole ? 0 : INVALID_VALUE;
}

/* ---------------------------------------------------------------- the device */

/* One thread runs all launches, one after the other: the emulator changes stacks, and sanitizers
 * know stacks by their threads. */
typedef struct work {
    fake_launch launch;
    fp_cu_result result;
    int is_done;
} work;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static work *waiting;

static fp_cu_result emulate(fake_launch *l) {
    fp_cu_result result = take_parameters(l);
    if (result) return result;
    const char *error = fake_wish.inspect ? fake_wish.inspect(l) : NULL;
    emulated_forget(++fake_wish.seed);
    fake_each_memory(know);
    for (int i = 0; i < known_count; i++)
        emulated_know(known[i].memory, known[i].size, "a test's memory");
    emulated_grid grid = {.kernel = l->kernel, .blocks_x = l->grid_x, .blocks_y = l->grid_y};
    grid.threads = l->threads, grid.shared = l->shared;
    grid.parameters = l->first, grid.bytes = l->first_bytes;
    if (!error && !fake_wish.only_counts) error = emulated_launch(&grid);
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
    if (launch->kernel < 0) return INVALID_VALUE; /* the emulator has no such kernel */
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
