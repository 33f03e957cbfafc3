/* emulated_launch.cc - the emulator for C. */
#include "emulated_launch.h"

#include "kernel_case.h"

#include <stdlib.h>
#include <string.h>

/* Assembled kernels are numbered from here on. */
enum { FIRST_ASSEMBLED = 1000 };

static int find(const emulated_variant *table, const char *name) {
    /* Here a kernel's name ends before its register budget, which means nothing to the emulator. */
    for (int i = 0; table[i].name; i++) {
        size_t length = strlen(table[i].name);
        if (!strncmp(name, table[i].name, length) && (name[length] == ' ' || !name[length]))
            return i;
    }
    return -9;
}

int emulated_find(const char *name) {
    int assembled = find(emulated_assembled(), name);
    return assembled >= 0 ? FIRST_ASSEMBLED + assembled : find(emulated_carried(), name);
}

int emulated_has_second(int kernel) {
    return kernel < FIRST_ASSEMBLED && kernel != EMULATED_ROW_OFFSETS;
}

void emulated_forget(uint64_t seed) { emulator_reset(seed); }

void emulated_know(const void *memory, uint64_t bytes, const char *name) {
    emulator_memory(memory, bytes, EMULATOR_WRITE, name);
}

const void *emulated_first(int kernel, void **parameters, void **extra, size_t *bytes) {
    *bytes = kernel >= FIRST_ASSEMBLED ? sizeof(fp_gpu_span_launch) : sizeof(fp_gpu_launch);
    if (parameters) return parameters[0];
    /* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END are 1, 2 and 0. */
    if ((uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || extra[4]) abort();
    memcpy(bytes, extra[3], sizeof *bytes);
    return extra[1];
}

const char *emulated_launch(int kernel, const void *first, size_t bytes, uint32_t second,
                            uint32_t grid_x, uint32_t grid_y, uint32_t threads,
                            uint32_t dynamic_shared) {
    static emulated_parameters p;
    int assembled = kernel - FIRST_ASSEMBLED;
    if (bytes > (assembled >= 0 ? sizeof p.spans : sizeof p.launch)) return "too many parameters";
    memset(&p, 0xdb, sizeof p);
    if (assembled >= 0)
        memcpy(&p.spans, first, bytes);
    else
        memcpy(&p.launch, first, bytes);
    p.second = second;
    emulator_kernel run = assembled >= 0                   ? emulated_assembled()[assembled].kernel
                          : kernel == EMULATED_ROW_OFFSETS ? emulated_row_offsets
                          : kernel == EMULATED_MEASURE_BATCHES ? emulated_measure_batches
                          : kernel == EMULATED_SCAN_BATCHES    ? emulated_scan_batches
                                                               : emulated_carried()[kernel].kernel;
    return emulator_run(run, &p, threads, grid_x, grid_y, dynamic_shared);
}
