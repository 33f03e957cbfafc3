/* emulated_launch.c - kernels for the made-up driver that run in the emulator: right bytes without a GPU, slowly. In: a launch. Out:
 * what it writes. Touching anything but device memory is reported, and fails the launch. */
#include "../emulated_launch.h"

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
        if (strcmp(symbol, fp_kernel_table()[i].symbol) == 0) return emulated_find(fp_kernel_table()[i].name);
    return -9;
}

static void know(const void *memory, size_t size) { emulated_know(memory, size, "device memory"); }

fp_cu_result fake_run(int kernel, unsigned grid_x, unsigned grid_y, unsigned threads, unsigned shared,
                      void **parameters) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t seed;
    uint32_t second = 0;
    if (kernel == -9) return INVALID_VALUE; /* the emulator has no such kernel */
    if (emulated_has_second(kernel)) memcpy(&second, parameters[1], sizeof second);
    pthread_mutex_lock(&one_at_a_time);
    emulated_forget(++seed);
    fake_each_memory(know);
    const char *error = emulated_launch(kernel, parameters[0], second, grid_x, grid_y, threads, shared);
    if (error) fprintf(stderr, "kernel %d: %s\n", kernel, error);
    pthread_mutex_unlock(&one_at_a_time);
    return error ? LAUNCH_FAILED : 0;
}
