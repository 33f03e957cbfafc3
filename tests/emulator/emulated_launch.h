/* emulated_launch.h - the emulator for C: launching a kernel of the library as the driver does. */
#ifndef FP_TESTS_EMULATED_LAUNCH_H
#define FP_TESTS_EMULATED_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of the kernel with this symbol ("fp_validity") or, for a decode kernel, with this name
 * of the library's table. -1: the emulator has no such kernel. */
int emulated_find(const char *name);

/* Bytes of the struct that the kernel takes. */
size_t emulated_parameter_bytes(int kernel);

/* Forgets all memory, and seeds the order of lanes. */
void emulated_forget(uint64_t seed);
/* Makes memory known to the launches that follow; they may touch nothing else. `name` must stay. */
void emulated_know(const void *memory, uint64_t bytes, const char *name);

typedef struct emulated_grid {
    int kernel;
    uint32_t blocks_x, blocks_y, threads;
    /* Bytes of dynamic shared memory. */
    uint32_t shared;
    /* The first `bytes` bytes of the struct that the kernel takes. */
    const void *parameters;
    size_t bytes;
} emulated_grid;

/* Runs a launch. The kernel finds nonsense after the bytes that are passed; a build with the
 * address sanitizer ends when it looks. Returns NULL or what went wrong. */
const char *emulated_launch(const emulated_grid *grid);

#ifdef __cplusplus
}
#endif
#endif
