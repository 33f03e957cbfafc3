/* emulator.h - running kernels on the host, for tests. src/gpu/kernels/emulate.h says how. */
#ifndef FP_TESTS_EMULATOR_H
#define FP_TESTS_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#define EMULATOR_MOST_THREADS 1024u

typedef enum emulator_access {
    EMULATOR_READ,       /* stores are errors */
    EMULATOR_WRITE,      /* loads and stores */
    EMULATOR_WRITE_ONCE, /* stores, to each byte at most once in a launch, or any number of atomic
                            changes; loads are errors */
} emulator_access;

/* Forgets all memory, and seeds the order of lanes. */
void emulator_reset(uint64_t seed);

/* Makes memory known to the kernels; they may touch nothing else. Memories do not overlap. `name`
 * is for messages and must stay. */
void emulator_memory(const void *memory, uint64_t bytes, emulator_access access, const char *name);

/* A kernel with its parameters bound, called once for each lane. */
typedef void (*emulator_kernel)(const void *parameters);

/* Runs a grid, block after block in a random order. Returns NULL, or the first thing that went
 * wrong: lanes that met different words, a bad address, a race in shared memory. A block ends with
 * its first error; the other blocks still run. */
const char *emulator_run(emulator_kernel kernel, const void *parameters, uint32_t threads,
                         uint32_t grid_x, uint32_t grid_y, uint32_t dynamic_shared);

/* Bytes of EMULATOR_WRITE_ONCE memory that the last run wrote to. */
uint64_t emulator_bytes_written(void);

#endif
