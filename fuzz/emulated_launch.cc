/* emulated_launch.cc - the emulator for C. */
#include "emulated_launch.h"

#include "kernel_case.h"

#include <string.h>

int emulated_find(const char *name) {
    const emulated_variant *carried = emulated_carried();
    /* Here a kernel's name ends before its register budget, which means nothing to the emulator. */
    for (int i = 0; carried[i].name; i++) {
        size_t length = strlen(carried[i].name);
        if (!strncmp(name, carried[i].name, length) && (name[length] == ' ' || !name[length])) return i;
    }
    return -9;
}

void emulated_forget(uint64_t seed) { emulator_reset(seed); }

void emulated_know(const void *memory, uint64_t bytes, const char *name) {
    emulator_memory(memory, bytes, EMULATOR_WRITE, name);
}

const char *emulated_launch(int kernel, const void *parameters, uint32_t second, uint32_t grid_x,
                            uint32_t grid_y, uint32_t threads, uint32_t dynamic_shared) {
    emulated_parameters p;
    memcpy(&p.launch, parameters, sizeof p.launch);
    p.second = second;
    emulator_kernel run = kernel == EMULATED_ROW_OFFSETS       ? emulated_row_offsets
                          : kernel == EMULATED_MEASURE_BATCHES ? emulated_measure_batches
                          : kernel == EMULATED_SCAN_BATCHES    ? emulated_scan_batches
                                                               : emulated_carried()[kernel].kernel;
    return emulator_run(run, &p, threads, grid_x, grid_y, dynamic_shared);
}
