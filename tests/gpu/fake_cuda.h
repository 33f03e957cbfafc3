/* fake_cuda.h - what the files of the made-up driver share: faults on demand, things that have to be given back, contexts. */
#ifndef FP_TESTS_FAKE_CUDA_H
#define FP_TESTS_FAKE_CUDA_H

#include "gpu/driver.h"

#define CALL(name) __attribute__((visibility("default"))) fp_cu_result name
#define FAULT_OR_GO(name)                                                                          \
    do {                                                                                           \
        fp_cu_result fault = fake_fault(name);                                                     \
        if (fault) return fault;                                                                   \
    } while (0)

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    DESTROYED = 709
};

/* The result that this call is to fail with; 0: it is not. */
fp_cu_result fake_fault(const char *name);

/* ---------------------------------------------------------------- things that have to be given back (fake_memory.c) */

typedef enum fake_kind { FAKE_MEMORY, FAKE_PINNED, FAKE_STREAM, FAKE_MODULE, FAKE_OTHER } fake_kind;

/* Zeroed, at a multiple of 256; its address is its handle. Belongs to the context that is current. Memory and modules count as
 * device memory. */
fp_cu_result fake_make(fake_kind kind, size_t size, void **handle);
fp_cu_result fake_drop(fake_kind kind, void *handle);
void fake_drop_all_of(fp_cu_context context);
long fake_things(void);

/* The thing of this kind that an address lies in, or NULL; and its context. */
void *fake_find(fake_kind kind, const void *address, fp_cu_context *context);
/* Calls `each` for every block of device memory. */
void fake_each_memory(void (*each)(const void *memory, size_t size));

/* Takes device memory or gives it back, for this process and those it starts; 0 if there is not so much. */
int fake_take(long long bytes);

/* ---------------------------------------------------------------- contexts (fake_cuda.c) */

/* The calling thread's; NULL if none. */
fp_cu_context fake_current(void);

/* ---------------------------------------------------------------- kernels (fake_launch.c or emulated_launch.c) */

/* The number by which a kernel is run; and running it: 0, or what the driver would say. One at a time. */
int fake_kernel(const char *symbol);
fp_cu_result fake_run(int kernel, unsigned grid_x, unsigned grid_y, unsigned threads,
                      unsigned shared, void **parameters, void **extra);

#endif
