/* emulated_launch.h - the emulator for C: launching a kernel of the library's table by its name. */
#ifndef FP_TESTS_EMULATED_LAUNCH_H
#define FP_TESTS_EMULATED_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EMULATED_ROW_OFFSETS = -1, EMULATED_MEASURE_BATCHES = -2, EMULATED_SCAN_BATCHES = -3 };

/* The number of a kernel that the library calls so, or -9 if the emulator has none that is the same. */
int emulated_find(const char *name);

/* Whether a kernel has a second parameter. */
int emulated_has_second(int kernel);

/* Memory that kernels may touch, all of it anew for each launch. `name` must stay. */
void emulated_forget(uint64_t seed);
void emulated_know(const void *memory, uint64_t bytes, const char *name);

/* A launch's first parameter, an fp_gpu_launch, or an fp_gpu_span_launch for assembled kernels, from what cuLaunchKernel is given:
 * pointers to parameters, or one buffer with all of them, of which `bytes` are passed. */
const void *emulated_first(int kernel, void **parameters, void **extra, size_t *bytes);

/* Runs a launch; kernels find nonsense behind what is passed. Returns NULL or what went wrong. */
const char *emulated_launch(int kernel, const void *first, size_t bytes, uint32_t second,
                            uint32_t grid_x, uint32_t grid_y, uint32_t threads,
                            uint32_t dynamic_shared);

#ifdef __cplusplus
}
#endif
#endif
