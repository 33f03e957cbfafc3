/* driver_calls.h - the calls of the GPU's driver that the library and the command make, by name: for
 * programs that let each of them fail. */
#ifndef DRIVER_CALLS_H
#define DRIVER_CALLS_H

#include "../../cli/cuda.h"
#include "gpu/driver.h"

#include <string.h>

/* Both lists, one after the other. */
static const char *const calls[] = {
#define NAME_OF_CALL(name, symbol, parameters) symbol,
    FP_DRIVER_CALLS(NAME_OF_CALL) CUDA_CALLS(NAME_OF_CALL)
#undef NAME_OF_CALL
};

static int is_repeated(size_t call) {
    for (size_t i = 0; i < call; i++)
        if (strcmp(calls[i], calls[call]) == 0) return 1;
    return 0;
}

/* What gives back may fail without harm, and so may what only describes. */
static int is_harmless(const char *call) {
    static const char *const parts[] = {"Release", "Free",  "Unload",      "Destroy", "Pop",
                                        "Push",    "GetId", "Synchronize", "Error"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(call, parts[i])) return 1;
    return 0;
}

#endif
