/* fake_cuda.h - the made-up driver, and the one description of the GPU it has. Its files share what
 * is below: faults on demand, things that have to be given back, contexts and launches. Tests that
 * are linked with the driver may ask it for more.
 *
 *   fake_cuda.c      device, contexts, modules, launches
 *   fake_memory.c    memory, streams, events, graphs
 *   fake_idle.c      kernels that do nothing, or
 *   fake_emulated.c  kernels that run in the emulator
 *   fake_linked.c    opens a driver that is linked with the program, instead of libcuda.so.1
 *   fake_cudart.c    a CUDA runtime over the driver
 *
 * It has every call of both lists: that of the library (src/gpu/driver.h) and that of programs
 * (cli/cuda.h). */
#ifndef FP_TESTS_FAKE_CUDA_H
#define FP_TESTS_FAKE_CUDA_H

#include "../../cli/cuda.h"
#include "gpu/driver.h"

#define CALL(name) __attribute__((visibility("default"))) fp_cu_result name
#define FAULT_OR_GO(name)                                                                          \
    do {                                                                                           \
        fp_cu_result fault = fake_fault(name);                                                     \
        if (fault) return fault;                                                                   \
    } while (0)

/* The GPU is like an H100. FAKE_CUDA_COMPUTE overrules its compute capability. */
enum {
    FAKE_COMPUTE = 90,
    FAKE_MULTIPROCESSORS = 132,
    FAKE_THREADS_PER_MULTIPROCESSOR = 2048,
    FAKE_REGISTERS_PER_MULTIPROCESSOR = 65536,
    FAKE_SHARED_PER_MULTIPROCESSOR = 233472,
    FAKE_SHARED_PER_BLOCK = 232448,
    FAKE_SHARED_RESERVED_PER_BLOCK = 1024
};

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    DESTROYED = 709,
    LAUNCH_FAILED = 719
};

/* The result that this call is to fail with; 0: it is not. */
fp_cu_result fake_fault(const char *name);
/* For another fault in the same process: calls count from 0 again. */
void fake_count_anew(void);

/* ---------------------------------------------------------------- things (fake_memory.c) */

typedef enum fake_kind { FAKE_MEMORY, FAKE_PINNED, FAKE_STREAM, FAKE_MODULE, FAKE_OTHER } fake_kind;

/* Makes a zeroed thing at a multiple of 256; its address is its handle. It belongs to the context
 * that is current. Memory and modules count as device memory. */
fp_cu_result fake_make(fake_kind kind, size_t size, void **handle);
fp_cu_result fake_drop(fake_kind kind, void *handle);
void fake_drop_all_of(fp_cu_context context);
long fake_things(void);

/* The thing of this kind that an address lies in, or NULL; and its context. */
void *fake_find(fake_kind kind, const void *address, fp_cu_context *context);
/* Calls `each` for every block of device memory. */
void fake_each_memory(void (*each)(const void *memory, size_t size));

/* Takes device memory or gives it back, for this process and those it starts. Returns 0 if there is
 * not so much. */
int fake_take(long long bytes);

/* ---------------------------------------------------------------- contexts (fake_cuda.c) */

/* The calling thread's; NULL if none. */
fp_cu_context fake_current(void);

/* ---------------------------------------------------------------- launches (fake_idle.c) */

typedef struct fake_launch {
    /* The kernel's symbol, and its number from fake_kernel. */
    const char *symbol;
    int kernel;
    unsigned grid_x, grid_y, threads, shared;
    /* As cuLaunchKernel is given them. */
    void **parameters, **extra;
    /* The one parameter that kernels take, of which `first_bytes` are passed. */
    const void *first;
    size_t first_bytes;
} fake_launch;

/* The number by which a kernel is run. */
int fake_kernel(const char *symbol);
/* Runs it: 0, or what the driver would say. One launch at a time. */
fp_cu_result fake_run(const fake_launch *launch);

/* Runs a launch, or keeps it if its stream is being captured (fake_memory.c). */
fp_cu_result fake_queue(const fake_launch *launch, cuda_stream stream);

/* What a test asks of a driver it is linked with. */
typedef struct fake_wishes {
    /* Of the order of lanes; each launch adds 1. */
    uint64_t seed;
    /* 1: launches run nothing. */
    int only_counts;
    /* 1: launches whose parameters come in one buffer are refused. */
    int takes_no_buffers;
    /* Says what is wrong with a launch, or NULL. */
    const char *(*inspect)(const fake_launch *launch);
    /* Counts copies from the host, and their bytes. */
    uint64_t copies, copied_bytes;
} fake_wishes;

extern fake_wishes fake_wish;

/* Memory besides the device's own that kernels may touch: forgets what was known, and adds some. */
void fake_forget_memory(void);
void fake_know_memory(const void *memory, size_t size);

#endif
