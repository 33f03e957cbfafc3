/* fake_cudart.c - as much of a CUDA runtime as tests need, over the made-up driver. Built as
 * libcudart.so.13. Like the real runtime it retains the primary context at its first call, and
 * makes it current on threads that have none. */
#include "fake_cuda.h"

#include <string.h>

#define RUNTIME(name) __attribute__((visibility("default"))) int name

/* The driver's, which this is linked with. */
fp_cu_result cuDevicePrimaryCtxRetain(fp_cu_context *context, fp_cu_device device);
fp_cu_result cuDevicePrimaryCtxRelease_v2(fp_cu_device device);
fp_cu_result cuCtxPushCurrent_v2(fp_cu_context context);
fp_cu_result cuCtxPopCurrent_v2(fp_cu_context *context);
fp_cu_result cuCtxGetCurrent(fp_cu_context *context);
fp_cu_result cuMemAlloc_v2(fp_cu_pointer *memory, size_t size);
fp_cu_result cuMemFree_v2(fp_cu_pointer memory);
fp_cu_result cuStreamCreate(fp_cu_stream *stream, unsigned flags);
fp_cu_result cuStreamDestroy_v2(fp_cu_stream stream);
void fake_cuda_reset(void);

static int started;

static int start(void) {
    fp_cu_context context, current = NULL;
    if (started) return 0;
    if (cuDevicePrimaryCtxRetain(&context, 0)) return 2;
    started = 1;
    if (!cuCtxGetCurrent(&current) && !current) return cuCtxPushCurrent_v2(context);
    return 0;
}

RUNTIME(cudaMalloc)(void **memory, size_t size);
RUNTIME(cudaMalloc)(void **memory, size_t size) {
    fp_cu_pointer made = 0;
    int result = start();
    if (!result) result = cuMemAlloc_v2(&made, size);
    *memory = (void *)(uintptr_t)made;
    return result;
}

RUNTIME(cudaFree)(void *memory);
RUNTIME(cudaFree)(void *memory) {
    int result = start();
    return result || !memory ? result : cuMemFree_v2((fp_cu_pointer)(uintptr_t)memory);
}

RUNTIME(cudaMemset)(void *memory, int value, size_t size);
RUNTIME(cudaMemset)(void *memory, int value, size_t size) {
    return memset(memory, value, size), start();
}

RUNTIME(cudaMemcpy)(void *to, const void *from, size_t size, int kind);
RUNTIME(cudaMemcpy)(void *to, const void *from, size_t size, int kind) {
    return memcpy(to, from, size), kind < 0 ? 1 : start();
}

RUNTIME(cudaStreamCreate)(void **stream);
RUNTIME(cudaStreamCreate)(void **stream) {
    int result = start();
    return result ? result : cuStreamCreate(stream, 0);
}

RUNTIME(cudaStreamDestroy)(void *stream);
RUNTIME(cudaStreamDestroy)(void *stream) { return cuStreamDestroy_v2(stream); }
RUNTIME(cudaStreamSynchronize)(void *stream);
RUNTIME(cudaStreamSynchronize)(void *stream) { return stream ? 0 : start(); }
RUNTIME(cudaDeviceSynchronize)(void);
RUNTIME(cudaDeviceSynchronize)(void) { return start(); }
RUNTIME(cudaGetLastError)(void);
RUNTIME(cudaGetLastError)(void) { return 0; }

RUNTIME(cudaDeviceReset)(void);
RUNTIME(cudaDeviceReset)(void) {
    fp_cu_context current;
    fake_cuda_reset();
    if (started) cuCtxPopCurrent_v2(&current), cuDevicePrimaryCtxRelease_v2(0);
    started = 0;
    return 0;
}
