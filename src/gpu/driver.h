/* driver.h - the CUDA driver, opened at run time: the calls that the library makes, as function
 * pointers. It never allocates device memory and never waits, so it has no calls for that; what it
 * copies to the host is a sample of rows, because the caller asks for it.
 *
 * Types are spelled out here because no CUDA header is needed to build: handles are pointers,
 * device addresses 64-bit integers, results ints (0 is success). */
#ifndef FP_GPU_DRIVER_H
#define FP_GPU_DRIVER_H

#include "error.h"
#include "fastpair_gpu.h"

typedef int fp_cu_result;
typedef int fp_cu_device;
typedef void *fp_cu_context;
typedef void *fp_cu_module;
typedef void *fp_cu_function;
typedef void *fp_cu_stream;
typedef uint64_t fp_cu_pointer;

/* Name here, symbol in the driver, parameters. One list: declarations, loading and messages come
 * from it. */
#define FP_DRIVER_CALLS(CALL)                                                                      \
    CALL(init, "cuInit", (unsigned flags))                                                         \
    CALL(driver_version, "cuDriverGetVersion", (int *version))                                     \
    CALL(error_text, "cuGetErrorString", (fp_cu_result result, const char **text))                 \
    CALL(device_count, "cuDeviceGetCount", (int *count))                                           \
    CALL(device_get, "cuDeviceGet", (fp_cu_device * device, int ordinal))                          \
    CALL(device_name, "cuDeviceGetName", (char *name, int size, fp_cu_device device))              \
    CALL(device_attribute, "cuDeviceGetAttribute",                                                 \
         (int *value, int attribute, fp_cu_device device))                                         \
    CALL(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, fp_cu_device device))              \
    CALL(context_retain, "cuDevicePrimaryCtxRetain",                                               \
         (fp_cu_context * context, fp_cu_device device))                                           \
    CALL(context_release, "cuDevicePrimaryCtxRelease_v2", (fp_cu_device device))                   \
    CALL(context_push, "cuCtxPushCurrent_v2", (fp_cu_context context))                             \
    CALL(context_pop, "cuCtxPopCurrent_v2", (fp_cu_context * context))                             \
    CALL(context_id, "cuCtxGetId", (fp_cu_context context, unsigned long long *id))                \
    CALL(module_load, "cuModuleLoadData", (fp_cu_module * module, const void *image))              \
    CALL(module_unload, "cuModuleUnload", (fp_cu_module module))                                   \
    CALL(module_function, "cuModuleGetFunction",                                                   \
         (fp_cu_function * function, fp_cu_module module, const char *name))                       \
    CALL(function_attribute, "cuFuncGetAttribute",                                                 \
         (int *value, int attribute, fp_cu_function function))                                     \
    CALL(function_set, "cuFuncSetAttribute", (fp_cu_function function, int attribute, int value))  \
    CALL(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                 \
         (int *blocks, fp_cu_function function, int threads, size_t shared))                       \
    CALL(launch, "cuLaunchKernel",                                                                 \
         (fp_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,                   \
          fp_cu_stream stream, void **parameters, void **extra))                                   \
    CALL(copy_to_device, "cuMemcpyHtoDAsync_v2",                                                   \
         (fp_cu_pointer to, const void *from, size_t size, fp_cu_stream stream))                   \
    CALL(copy_on_device, "cuMemcpyDtoDAsync_v2",                                                   \
         (fp_cu_pointer to, fp_cu_pointer from, size_t size, fp_cu_stream stream))                 \
    CALL(copy_to_host, "cuMemcpyDtoHAsync_v2",                                                     \
         (void *to, fp_cu_pointer from, size_t size, fp_cu_stream stream))                         \
    CALL(fill, "cuMemsetD8Async",                                                                  \
         (fp_cu_pointer to, unsigned char value, size_t size, fp_cu_stream stream))

typedef struct fp_driver {
    void *library;
#define FP_DECLARE_CALL(name, symbol, parameters) fp_cu_result(*name) parameters;
    FP_DRIVER_CALLS(FP_DECLARE_CALL)
#undef FP_DECLARE_CALL
} fp_driver;

/* Opens libcuda.so.1 and finds every call. UNSUPPORTED if there is no driver or it lacks one. */
fastpair_status fp_driver_open(fp_driver *driver, fastpair_error *error);
void fp_driver_close(fp_driver *driver);

/* The status for a failed call: OUT_OF_MEMORY for the driver's own out-of-memory, else UNSUPPORTED.
 * The message names the call's purpose, the driver's reason and, where one is known, the remedy. */
fastpair_status fp_driver_fail(const fp_driver *driver, fp_cu_result result, const char *purpose,
                               fastpair_error *error);

/* Results, device attributes and function attributes, by the driver's numbers. */
enum { FP_CU_INVALID_VALUE = 1 };
enum {
    FP_CU_MAX_SHARED_PER_MULTIPROCESSOR = 81,
    FP_CU_COMPUTE_MAJOR = 75,
    FP_CU_COMPUTE_MINOR = 76,
    FP_CU_MULTIPROCESSORS = 16,
    FP_CU_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    FP_CU_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    FP_CU_MAX_SHARED_PER_BLOCK_OPTIN = 97,
    FP_CU_RESERVED_SHARED_PER_BLOCK = 111,
    FP_CU_MAX_BLOCKS_PER_MULTIPROCESSOR = 106
};
enum {
    FP_CU_FUNCTION_SHARED = 1,
    FP_CU_FUNCTION_LOCAL = 3,
    FP_CU_FUNCTION_REGISTERS = 4,
    FP_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    FP_CU_FUNCTION_CARVEOUT = 9
};

#endif
