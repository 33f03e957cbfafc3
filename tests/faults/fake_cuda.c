/* fake_cuda.c - a CUDA driver with one made-up GPU, for machines without any.
 *
 * Built as libcuda.so.1. Device memory is host memory, copies are memcpy, streams run at once; kernels do nothing. FAKE_CUDA is
 * CALL:N:RESULT: the N-th call of that name, counted from 0, returns RESULT and does nothing else. FAKE_CUDA_COMPUTE is the
 * compute capability, 90 if not given; FAKE_CUDA_DEVICES their number, 1 if not given. fake_cuda_live says what has not been given
 * back, fake_cuda_fired whether the fault happened; at the end 'g' on the descriptor FASTPAIR_FAULT_REPORT says the same.
 * fake_cuda_reset does what the runtime's cudaDeviceReset does. */
#include "gpu/driver.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL(name) __attribute__((visibility("default"))) fp_cu_result name
#define FAULT_OR_GO(name)                                                                                    \
    do {                                                                                                     \
        fp_cu_result fault = fault_of(name);                                                                 \
        if (fault) return fault;                                                                             \
    } while (0)

enum { OUT_OF_MEMORY = 2, INVALID_VALUE = 1, INVALID_CONTEXT = 201, DESTROYED = 709, MOST_CONTEXTS = 16 };

static atomic_long live;                    /* contexts retained, modules, memory, streams, events, graphs */
static atomic_int calls, fired;             /* of the call that is to fail */
static char contexts[2];                    /* the primary context, and one of the program's own */
static fp_cu_module modules[MOST_CONTEXTS]; /* they go with the context, if not before */
static int retained, active;
static unsigned long long generation = 7; /* of the primary context: its id */
static fp_cu_context stack[MOST_CONTEXTS];
static int depth;

__attribute__((visibility("default"))) long fake_cuda_live(void);
long fake_cuda_live(void) { return atomic_load(&live) + depth; }

__attribute__((visibility("default"))) int fake_cuda_fired(void);
int fake_cuda_fired(void) { return atomic_load(&fired); }

__attribute__((visibility("default"))) void fake_cuda_reset(void);

static void report(char what) {
    const char *descriptor = getenv("FASTPAIR_FAULT_REPORT");
    if (descriptor) (void)!write(atoi(descriptor), &what, 1);
}

__attribute__((destructor)) static void at_the_end(void) {
    if (fake_cuda_live()) report('g');
}

static fp_cu_result fault_of(const char *name) {
    const char *fault = getenv("FAKE_CUDA");
    size_t length = strlen(name);
    if (!fault || strncmp(fault, name, length) != 0 || fault[length] != ':') return 0;
    char *end;
    long chosen = strtol(fault + length + 1, &end, 10);
    if (atomic_fetch_add(&calls, 1) != chosen || *end != ':') return 0;
    atomic_store(&fired, 1);
    report('f');
    return atoi(end + 1);
}

static int number_from(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text ? atoi(text) : otherwise;
}

/* Something that has to be given back; its address is its handle. */
static fp_cu_result make(void **handle, size_t size) {
    *handle = calloc(1, size ? size : 1);
    if (!*handle) return OUT_OF_MEMORY;
    atomic_fetch_add(&live, 1);
    return 0;
}

static fp_cu_result drop(void *handle) {
    if (!handle) return INVALID_VALUE;
    atomic_fetch_sub(&live, 1);
    free(handle);
    return 0;
}

/* ---------------------------------------------------------------- the device */

CALL(cuInit)(unsigned flags) {
    FAULT_OR_GO("cuInit");
    return flags ? INVALID_VALUE : 0;
}

CALL(cuDriverGetVersion)(int *version) {
    FAULT_OR_GO("cuDriverGetVersion");
    *version = 12080;
    return 0;
}

CALL(cuGetErrorString)(fp_cu_result result, const char **text) {
    FAULT_OR_GO("cuGetErrorString");
    *text = result == OUT_OF_MEMORY ? "out of memory" : "a made-up error";
    return result > 9000 ? INVALID_VALUE : 0;
}

CALL(cuDeviceGetCount)(int *count) {
    FAULT_OR_GO("cuDeviceGetCount");
    *count = number_from("FAKE_CUDA_DEVICES", 1);
    return 0;
}

CALL(cuDeviceGet)(fp_cu_device *device, int ordinal) {
    FAULT_OR_GO("cuDeviceGet");
    *device = ordinal;
    return 0;
}

CALL(cuDeviceGetName)(char *name, int size, fp_cu_device device) {
    FAULT_OR_GO("cuDeviceGetName");
    snprintf(name, (size_t)size, "Made-up GPU %d", device);
    return 0;
}

CALL(cuDeviceGetAttribute)(int *value, int attribute, fp_cu_device device) {
    FAULT_OR_GO("cuDeviceGetAttribute");
    int compute = number_from("FAKE_CUDA_COMPUTE", 90);
    (void)device;
    switch (attribute) {
    case FP_CU_COMPUTE_MAJOR: *value = compute / 10; break;
    case FP_CU_COMPUTE_MINOR: *value = compute % 10; break;
    case FP_CU_MULTIPROCESSORS: *value = 132; break;
    case FP_CU_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case FP_CU_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = 65536; break;
    case FP_CU_MAX_SHARED_PER_MULTIPROCESSOR: *value = 233472; break;
    case FP_CU_MAX_SHARED_PER_BLOCK_OPTIN: *value = 232448; break;
    case FP_CU_RESERVED_SHARED_PER_BLOCK: *value = 1024; break;
    default: *value = 32; break;
    }
    return 0;
}

CALL(cuDeviceTotalMem_v2)(size_t *bytes, fp_cu_device device) {
    FAULT_OR_GO("cuDeviceTotalMem_v2");
    (void)device;
    *bytes = (size_t)80 << 30;
    return 0;
}

/* ---------------------------------------------------------------- contexts, modules, kernels */

static void forget_module(fp_cu_module module) {
    for (int i = 0; i < MOST_CONTEXTS; i++)
        if (module && modules[i] == module) {
            modules[i] = NULL;
            drop(module);
        }
}

/* The primary context ends; whoever uses the device next gets another one with the same handle. */
static void end_context(void) {
    for (int i = 0; i < MOST_CONTEXTS; i++) forget_module(modules[i]);
    active = 0;
    generation++;
}

void fake_cuda_reset(void) { end_context(); }

CALL(cuDevicePrimaryCtxRetain)(fp_cu_context *context, fp_cu_device device) {
    FAULT_OR_GO("cuDevicePrimaryCtxRetain");
    (void)device;
    *context = &contexts[0];
    atomic_fetch_add(&live, 1);
    retained++;
    active = 1;
    return 0;
}

CALL(cuDevicePrimaryCtxRelease_v2)(fp_cu_device device) {
    (void)device;
    atomic_fetch_sub(&live, 1);
    retained--;
    if (retained == 0) end_context();
    FAULT_OR_GO("cuDevicePrimaryCtxRelease_v2");
    return 0;
}

CALL(cuCtxPushCurrent_v2)(fp_cu_context context) {
    FAULT_OR_GO("cuCtxPushCurrent_v2");
    if (!context || depth == MOST_CONTEXTS) return INVALID_CONTEXT;
    if (context == &contexts[0] && !active) return DESTROYED;
    stack[depth++] = context;
    return 0;
}

CALL(cuCtxPopCurrent_v2)(fp_cu_context *context) {
    if (!depth) return INVALID_CONTEXT;
    *context = stack[--depth];
    FAULT_OR_GO("cuCtxPopCurrent_v2");
    return 0;
}

CALL(cuCtxGetId)(fp_cu_context context, unsigned long long *id) {
    FAULT_OR_GO("cuCtxGetId");
    if (context == &contexts[0] && !active) return DESTROYED;
    *id = context == &contexts[0] ? generation : 1;
    return 0;
}

CALL(cuModuleLoadData)(fp_cu_module *module, const void *image) {
    FAULT_OR_GO("cuModuleLoadData");
    int place = 0;
    while (place < MOST_CONTEXTS && modules[place]) place++;
    if (!image || !depth || place == MOST_CONTEXTS) return INVALID_CONTEXT;
    fp_cu_result result = make(&modules[place], 1);
    *module = modules[place];
    return result;
}

static int is_loaded(fp_cu_module module) {
    int place = 0;
    while (place < MOST_CONTEXTS && modules[place] != module) place++;
    return module && place < MOST_CONTEXTS;
}

CALL(cuModuleUnload)(fp_cu_module module) {
    if (!is_loaded(module)) abort();
    forget_module(module);
    FAULT_OR_GO("cuModuleUnload");
    return 0;
}

CALL(cuModuleGetFunction)(fp_cu_function *function, fp_cu_module module, const char *name) {
    FAULT_OR_GO("cuModuleGetFunction");
    *function = module;
    return name && module ? 0 : INVALID_VALUE;
}

CALL(cuFuncGetAttribute)(int *value, int attribute, fp_cu_function function) {
    FAULT_OR_GO("cuFuncGetAttribute");
    (void)attribute, (void)function;
    *value = 64;
    return 0;
}

CALL(cuFuncSetAttribute)(fp_cu_function function, int attribute, int value) {
    FAULT_OR_GO("cuFuncSetAttribute");
    (void)attribute, (void)value;
    return function ? 0 : INVALID_VALUE;
}

CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor)
(int *blocks, fp_cu_function function, int threads, size_t shared) {
    FAULT_OR_GO("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    (void)function, (void)threads, (void)shared;
    *blocks = 2;
    return 0;
}

CALL(cuLaunchKernel)
(fp_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
 unsigned block_y, unsigned block_z, unsigned shared, fp_cu_stream stream, void **parameters, void **extra) {
    FAULT_OR_GO("cuLaunchKernel");
    (void)shared, (void)stream, (void)extra;
    if (!depth) return INVALID_CONTEXT;
    if (!is_loaded(function)) abort(); /* what a real driver does then is anyone's guess */
    return parameters && grid_x && grid_y && grid_z && block_x && block_y && block_z ? 0 : INVALID_VALUE;
}

/* ---------------------------------------------------------------- memory */

CALL(cuMemAlloc_v2)(fp_cu_pointer *memory, size_t size) {
    FAULT_OR_GO("cuMemAlloc_v2");
    *memory = 0;
    void *block = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!block) return OUT_OF_MEMORY;
    memset(block, 0, size);
    atomic_fetch_add(&live, 1);
    *memory = (fp_cu_pointer)(uintptr_t)block;
    return 0;
}

CALL(cuMemFree_v2)(fp_cu_pointer memory) {
    drop((void *)(uintptr_t)memory);
    FAULT_OR_GO("cuMemFree_v2");
    return 0;
}

CALL(cuMemAllocHost_v2)(void **memory, size_t size) {
    FAULT_OR_GO("cuMemAllocHost_v2");
    return make(memory, size);
}

CALL(cuMemFreeHost)(void *memory) {
    drop(memory);
    FAULT_OR_GO("cuMemFreeHost");
    return 0;
}

CALL(cuMemcpyHtoDAsync_v2)(fp_cu_pointer to, const void *from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyHtoDAsync_v2");
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, size);
    return 0;
}

CALL(cuMemcpyDtoHAsync_v2)(void *to, fp_cu_pointer from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyDtoHAsync_v2");
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, size);
    return 0;
}

CALL(cuMemcpyDtoDAsync_v2)(fp_cu_pointer to, fp_cu_pointer from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyDtoDAsync_v2");
    (void)stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    return 0;
}

CALL(cuMemsetD8Async)(fp_cu_pointer to, unsigned char value, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemsetD8Async");
    (void)stream;
    memset((void *)(uintptr_t)to, value, size);
    return 0;
}

/* ---------------------------------------------------------------- streams, events, graphs */

#define MAKER(name, type, parameters)                                                                        \
    CALL(name) parameters {                                                                                  \
        FAULT_OR_GO(#name);                                                                                  \
        return make((void **)made, 1);                                                                       \
    }
#define DROPPER(name, type)                                                                                  \
    CALL(name)(type handle) {                                                                                \
        drop(handle);                                                                                        \
        FAULT_OR_GO(#name);                                                                                  \
        return 0;                                                                                            \
    }
#define NOTHING(name, parameters, ...)                                                                       \
    CALL(name) parameters {                                                                                  \
        FAULT_OR_GO(#name);                                                                                  \
        __VA_ARGS__;                                                                                         \
        return 0;                                                                                            \
    }
MAKER(cuStreamCreate, fp_cu_stream, (fp_cu_stream * made, unsigned flags __attribute__((unused))))
MAKER(cuEventCreate, fp_cu_event, (fp_cu_event * made, unsigned flags __attribute__((unused))))
MAKER(cuStreamEndCapture, fp_cu_graph, (fp_cu_stream stream __attribute__((unused)), fp_cu_graph *made))
MAKER(cuGraphInstantiateWithFlags, fp_cu_graph,
      (fp_cu_graph * made, fp_cu_graph graph __attribute__((unused)),
       unsigned long long flags __attribute__((unused))))
DROPPER(cuStreamDestroy_v2, fp_cu_stream)
DROPPER(cuEventDestroy_v2, fp_cu_event)
DROPPER(cuGraphDestroy, fp_cu_graph)
DROPPER(cuGraphExecDestroy, fp_cu_graph)
NOTHING(cuStreamSynchronize, (fp_cu_stream stream), (void)stream)
NOTHING(cuEventRecord, (fp_cu_event event, fp_cu_stream stream), (void)event, (void)stream)
NOTHING(cuEventSynchronize, (fp_cu_event event), (void)event)
NOTHING(cuEventElapsedTime, (float *milliseconds, fp_cu_event start, fp_cu_event end), (void)start, (void)end,
        *milliseconds = 1)
NOTHING(cuStreamBeginCapture_v2, (fp_cu_stream stream, int mode), (void)stream, (void)mode)
NOTHING(cuGraphLaunch, (fp_cu_graph instance, fp_cu_stream stream), (void)instance, (void)stream)
