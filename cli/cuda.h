/* cuda.h - the CUDA driver for programs: device memory, streams, events and graphs, which the
 * library leaves to its callers. The command, the bench and the tests share it.
 *
 * No CUDA header is needed: handles are pointers, device addresses 64-bit integers, results ints (0
 * is success). */
#ifndef CLI_CUDA_H
#define CLI_CUDA_H

#include "fastpair.h"

typedef void *cuda_stream;
typedef void *cuda_event;
typedef void *cuda_graph;

/* Name here, symbol in the driver, parameters. */
#define CUDA_CALLS(CALL)                                                                           \
    CALL(init, "cuInit", (unsigned flags))                                                         \
    CALL(error_text, "cuGetErrorString", (int result, const char **text))                          \
    CALL(device_get, "cuDeviceGet", (int *device, int ordinal))                                    \
    CALL(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                 \
    CALL(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                            \
    CALL(context_push, "cuCtxPushCurrent_v2", (void *context))                                     \
    CALL(context_pop, "cuCtxPopCurrent_v2", (void **context))                                      \
    CALL(allocate, "cuMemAlloc_v2", (uint64_t * memory, size_t size))                              \
    CALL(release, "cuMemFree_v2", (uint64_t memory))                                               \
    CALL(allocate_pinned, "cuMemAllocHost_v2", (void **memory, size_t size))                       \
    CALL(release_pinned, "cuMemFreeHost", (void *memory))                                          \
    CALL(copy_to_device, "cuMemcpyHtoDAsync_v2",                                                   \
         (uint64_t to, const void *from, size_t size, cuda_stream stream))                         \
    CALL(copy_to_host, "cuMemcpyDtoHAsync_v2",                                                     \
         (void *to, uint64_t from, size_t size, cuda_stream stream))                               \
    CALL(copy_on_device, "cuMemcpyDtoDAsync_v2",                                                   \
         (uint64_t to, uint64_t from, size_t size, cuda_stream stream))                            \
    CALL(fill, "cuMemsetD8Async",                                                                  \
         (uint64_t to, unsigned char value, size_t size, cuda_stream stream))                      \
    CALL(stream_open, "cuStreamCreate", (cuda_stream * stream, unsigned flags))                    \
    CALL(stream_close, "cuStreamDestroy_v2", (cuda_stream stream))                                 \
    CALL(stream_wait, "cuStreamSynchronize", (cuda_stream stream))                                 \
    CALL(stream_wait_event, "cuStreamWaitEvent",                                                   \
         (cuda_stream stream, cuda_event event, unsigned flags))                                   \
    CALL(event_open, "cuEventCreate", (cuda_event * event, unsigned flags))                        \
    CALL(event_close, "cuEventDestroy_v2", (cuda_event event))                                     \
    CALL(event_record, "cuEventRecord", (cuda_event event, cuda_stream stream))                    \
    CALL(event_wait, "cuEventSynchronize", (cuda_event event))                                     \
    CALL(event_elapsed, "cuEventElapsedTime",                                                      \
         (float *milliseconds, cuda_event start, cuda_event end))                                  \
    CALL(capture_begin, "cuStreamBeginCapture_v2", (cuda_stream stream, int mode))                 \
    CALL(capture_end, "cuStreamEndCapture", (cuda_stream stream, cuda_graph * graph))              \
    CALL(graph_instantiate, "cuGraphInstantiateWithFlags",                                         \
         (cuda_graph * instance, cuda_graph graph, unsigned long long flags))                      \
    CALL(graph_launch, "cuGraphLaunch", (cuda_graph instance, cuda_stream stream))                 \
    CALL(graph_close, "cuGraphDestroy", (cuda_graph graph))                                        \
    CALL(graph_instance_close, "cuGraphExecDestroy", (cuda_graph instance))

typedef struct cuda_driver {
    void *library;
    void *context;
    int device;
#define CUDA_DECLARE_CALL(name, symbol, parameters) int(*name) parameters;
    CUDA_CALLS(CUDA_DECLARE_CALL)
#undef CUDA_DECLARE_CALL
} cuda_driver;

/* For cuStreamCreate: does not wait for the default stream. */
#define CUDA_STREAM_INDEPENDENT 1u

/* Opens the driver and makes the device's primary context current in this thread, the context that
 * the library uses, until cuda_close. UNSUPPORTED where there is no driver, or an old one. */
fastpair_status cuda_open(cuda_driver *driver, int ordinal, fastpair_error *error);

/* Closes what cuda_open opened; allowed after a failure and on a driver of zeros. */
void cuda_close(cuda_driver *driver);

/* The status for a driver's result: OK for 0. Else *error says what failed, the driver's reason and
 * what to do; OUT_OF_MEMORY for the driver's own out-of-memory, UNSUPPORTED for the rest. */
fastpair_status cuda_status(const cuda_driver *driver, int result, const char *purpose,
                            fastpair_error *error);

#endif
