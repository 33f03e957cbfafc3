/* fake_cuda.c - a CUDA driver with one made-up GPU, for machines without any: the device, contexts,
 * modules, launches. Built as libcuda.so.1, or linked with a test: fake_cuda.h says from which
 * files.
 *
 *   FAKE_CUDA          CALL:N:RESULT: the N-th call of that name, counted from 0, returns RESULT
 *                      and does nothing else
 *   FAKE_CUDA_COMPUTE  the compute capability, 90 if not given
 *   FAKE_CUDA_DEVICES  how many devices there are, 1 if not given
 *   fake_cuda_live     what has not been given back
 *   fake_cuda_fired    whether the fault happened
 *   fake_cuda_reset    does what the runtime's cudaDeviceReset does
 *
 * At the end of the process 'g' on the descriptor FASTPAIR_FAULT_REPORT says that something was not
 * given back. A handle that is no more ends the program. */
#include "fake_cuda.h"

#include "gpu/kernel_table.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CURRENT = 16, CONTEXT_BYTES = 1 << 20 };

/* A module and its functions: the library's table of decoders, and a few kernels besides. */
enum { MOST_FUNCTIONS = FP_KERNELS + 96 };
typedef struct fake_function {
    char symbol[128];
    int kernel;
} fake_function;
typedef struct fake_module {
    fake_function functions[MOST_FUNCTIONS];
    int count;
} fake_module;

fake_wishes fake_wish;

static atomic_int calls, fired; /* of the call that is to fail */
static char primary;            /* its address is the primary context */
static int retained, active;
static unsigned long long generation = 7; /* of the primary context: its id */
static _Thread_local fp_cu_context stack[MOST_CURRENT];
static _Thread_local int depth;

__attribute__((visibility("default"))) long fake_cuda_live(void);
long fake_cuda_live(void) { return fake_things() + retained + depth; }

__attribute__((visibility("default"))) int fake_cuda_fired(void);
int fake_cuda_fired(void) { return atomic_load(&fired); }

static void report(char what) {
    const char *descriptor = getenv("FASTPAIR_FAULT_REPORT");
    if (descriptor) (void)!write(atoi(descriptor), &what, 1);
}

__attribute__((destructor)) static void at_the_end(void) {
    if (fake_cuda_live()) report('g');
}

fp_cu_result fake_fault(const char *name) {
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

void fake_count_anew(void) {
    atomic_store(&calls, 0);
    atomic_store(&fired, 0);
}

static int number_from(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text ? atoi(text) : otherwise;
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
    int compute = number_from("FAKE_CUDA_COMPUTE", FAKE_COMPUTE);
    (void)device;
    switch (attribute) {
    case FP_CU_COMPUTE_MAJOR: *value = compute / 10; break;
    case FP_CU_COMPUTE_MINOR: *value = compute % 10; break;
    case FP_CU_MULTIPROCESSORS: *value = FAKE_MULTIPROCESSORS; break;
    case FP_CU_MAX_THREADS_PER_MULTIPROCESSOR: *value = FAKE_THREADS_PER_MULTIPROCESSOR; break;
    case FP_CU_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = FAKE_REGISTERS_PER_MULTIPROCESSOR; break;
    case FP_CU_MAX_SHARED_PER_MULTIPROCESSOR: *value = FAKE_SHARED_PER_MULTIPROCESSOR; break;
    case FP_CU_MAX_SHARED_PER_BLOCK_OPTIN: *value = FAKE_SHARED_PER_BLOCK; break;
    case FP_CU_RESERVED_SHARED_PER_BLOCK: *value = FAKE_SHARED_RESERVED_PER_BLOCK; break;
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

/* ---------------------------------------------------------------- contexts */

fp_cu_context fake_current(void) { return depth ? stack[depth - 1] : NULL; }

/* Ends the primary context. Whoever uses the device next gets another one with the same handle. */
static void end_context(void) {
    if (!active) return;
    fake_drop_all_of(&primary);
    fake_take(-CONTEXT_BYTES);
    active = 0;
    generation++;
}

__attribute__((visibility("default"))) void fake_cuda_reset(void);
void fake_cuda_reset(void) { end_context(); }

CALL(cuDevicePrimaryCtxRetain)(fp_cu_context *context, fp_cu_device device) {
    FAULT_OR_GO("cuDevicePrimaryCtxRetain");
    (void)device;
    if (!active && !fake_take(CONTEXT_BYTES)) return OUT_OF_MEMORY;
    *context = &primary;
    retained++;
    active = 1;
    return 0;
}

CALL(cuDevicePrimaryCtxRelease_v2)(fp_cu_device device) {
    (void)device;
    if (--retained == 0) end_context();
    FAULT_OR_GO("cuDevicePrimaryCtxRelease_v2");
    return 0;
}

CALL(cuCtxPushCurrent_v2)(fp_cu_context context) {
    FAULT_OR_GO("cuCtxPushCurrent_v2");
    if (!context || depth == MOST_CURRENT) return INVALID_CONTEXT;
    if (context == &primary && !active) return DESTROYED;
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
    if (context == &primary && !active) return DESTROYED;
    *id = context == &primary ? generation : 1;
    return 0;
}

/* The calls that only tests make. */
CALL(cuCtxGetCurrent)(fp_cu_context *context);
CALL(cuCtxGetCurrent)(fp_cu_context *context) { return *context = fake_current(), 0; }

CALL(cuCtxCreate_v2)(fp_cu_context *context, unsigned flags, fp_cu_device device);
CALL(cuCtxCreate_v2)(fp_cu_context *context, unsigned flags, fp_cu_device device) {
    (void)flags, (void)device;
    fp_cu_result result = fake_make(FAKE_OTHER, 1, context);
    return result ? result : cuCtxPushCurrent_v2(*context);
}

CALL(cuCtxDestroy_v2)(fp_cu_context context);
CALL(cuCtxDestroy_v2)(fp_cu_context context) {
    if (fake_current() == context) depth--;
    fake_drop_all_of(context);
    return fake_drop(FAKE_OTHER, context);
}

/* ---------------------------------------------------------------- modules, kernels */

CALL(cuModuleLoadData)(fp_cu_module *module, const void *image) {
    FAULT_OR_GO("cuModuleLoadData");
    if (!image || !depth) return INVALID_CONTEXT;
    return fake_make(FAKE_MODULE, sizeof(fake_module), module);
}

CALL(cuModuleUnload)(fp_cu_module module) {
    if (fake_drop(FAKE_MODULE, module)) abort();
    FAULT_OR_GO("cuModuleUnload");
    return 0;
}

CALL(cuModuleGetFunction)(fp_cu_function *function, fp_cu_module module, const char *name) {
    FAULT_OR_GO("cuModuleGetFunction");
    fake_module *found = fake_find(FAKE_MODULE, module, NULL);
    if (!found || found->count == MOST_FUNCTIONS) return INVALID_VALUE;
    fake_function *made = &found->functions[found->count++];
    snprintf(made->symbol, sizeof made->symbol, "%s", name);
    made->kernel = fake_kernel(name);
    *function = made;
    return 0;
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
 unsigned block_y, unsigned block_z, unsigned shared, fp_cu_stream stream, void **parameters,
 void **extra) {
    FAULT_OR_GO("cuLaunchKernel");
    fp_cu_context of_function, of_stream = fake_current();
    if (!depth) return INVALID_CONTEXT;
    if (!fake_find(FAKE_MODULE, function, &of_function) || of_function != fake_current()) abort();
    if (stream && (!fake_find(FAKE_STREAM, stream, &of_stream) || of_stream != of_function))
        return INVALID_HANDLE;
    if (!parameters == !extra || !grid_x || !grid_y || grid_y > 65535 || grid_z != 1 || !block_x ||
        block_y != 1 || block_z != 1)
        return INVALID_VALUE;
    const fake_function *found = function;
    fake_launch launch = {.symbol = found->symbol, .kernel = found->kernel};
    launch.grid_x = grid_x, launch.grid_y = grid_y;
    launch.threads = block_x, launch.shared = shared;
    launch.parameters = parameters, launch.extra = extra;
    return fake_queue(&launch, stream);
}
