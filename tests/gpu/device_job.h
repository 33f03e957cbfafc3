/* device_job.h - one column decoded on a GPU with memory and streams of the CUDA runtime, which is
 * found at run time. In: an opened GPU. Out: each step on its own, for tests that put something
 * between. */
#ifndef FP_TESTS_DEVICE_JOB_H
#define FP_TESTS_DEVICE_JOB_H

#include "device_run.h"

#include <dlfcn.h>

/* ---------------------------------------------------------------- the runtime */

/* name, symbol, parameters. */
#define RUNTIME_CALLS(CALL)                                                                        \
    CALL(allocate, "cudaMalloc", (void **memory, size_t size))                                     \
    CALL(release, "cudaFree", (void *memory))                                                      \
    CALL(fill, "cudaMemset", (void *memory, int value, size_t size))                               \
    CALL(copy, "cudaMemcpy", (void *to, const void *from, size_t size, int kind))                  \
    CALL(stream_open, "cudaStreamCreate", (void **stream))                                         \
    CALL(stream_close, "cudaStreamDestroy", (void *stream))                                        \
    CALL(stream_wait, "cudaStreamSynchronize", (void *stream))                                     \
    CALL(wait, "cudaDeviceSynchronize", (void))                                                    \
    CALL(last_error, "cudaGetLastError", (void))                                                   \
    CALL(reset, "cudaDeviceReset", (void))

typedef struct runtime {
#define DECLARE_CALL(name, symbol, parameters) int(*name) parameters;
    RUNTIME_CALLS(DECLARE_CALL)
#undef DECLARE_CALL
} runtime;

enum { TO_DEVICE = 1, TO_HOST = 2 };

/* Finds libcudart; 0: there is none. */
static inline int runtime_open(runtime *r) {
    static const char *const names[] = {"libcudart.so.13",
                                        "libcudart.so.12",
                                        "libcudart.so",
                                        "/usr/local/cuda/lib64/libcudart.so.13",
                                        "/usr/local/cuda/lib64/libcudart.so.12",
                                        "/usr/local/cuda/lib64/libcudart.so"};
    const char *given = getenv("FASTPAIR_CUDART");
    void *library = given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    int found = library != NULL;
#define FIND_CALL(name, symbol, parameters)                                                        \
    *(void **)(void *)&r->name = library ? dlsym(library, symbol) : NULL;                          \
    found = found && r->name;
    RUNTIME_CALLS(FIND_CALL)
#undef FIND_CALL
    return found;
}

/* ---------------------------------------------------------------- one column in its memory */

static inline void *address(uint64_t memory) { return (void *)(uintptr_t)memory; }

static inline uint64_t runtime_block(const runtime *r, uint64_t size, int value) {
    void *memory = NULL;
    CHECK_EQ(r->allocate(&memory, size), 0);
    CHECK_EQ(r->fill(memory, value, size), 0);
    return (uint64_t)(uintptr_t)memory;
}

/* Opens a job of one column, with memory, outputs and a stream of the runtime's. */
static inline void runtime_run_open(device_run *run, fastpair_gpu *gpu, const sample *s,
                                    const runtime *r) {
    CHECK_EQ(run_open_job(run, NULL, gpu, s, 1, &all_outputs), FASTPAIR_OK);
    run->memory = runtime_block(r, run->info.device_bytes, 0);
    run->outputs.to = calloc(1, sizeof *run->outputs.to);
    if (!run->outputs.to) abort();
    *run->outputs.to =
        (fastpair_gpu_output){.struct_size = sizeof *run->outputs.to,
                              .bytes = runtime_block(r, s->offsets[s->rows] + GUARD, CLEAR),
                              .bytes_capacity = s->offsets[s->rows],
                              .offsets = runtime_block(r, offsets_bytes(s) + GUARD, CLEAR),
                              .offset_bits = 64,
                              .validity = runtime_block(r, bitmap_bytes(s) + GUARD, CLEAR),
                              .status = runtime_block(r, 4, 0)};
    CHECK_EQ(r->stream_open(&run->outputs.stream), 0);
    CHECK_EQ(r->wait(), 0);
}

/* Fetches and compares by the runtime alone, and clears the bytes for another decode. */
static inline void runtime_run_check(const device_run *run, const runtime *r) {
    const sample *s = run->samples;
    const fastpair_gpu_output *to = run->outputs.to;
    host_output host = host_output_open(s);
    CHECK_EQ(r->stream_wait(run->outputs.stream), 0);
    CHECK_EQ(r->copy(host.bytes, address(to->bytes), to->bytes_capacity + GUARD, TO_HOST), 0);
    CHECK_EQ(r->copy(host.offsets, address(to->offsets), offsets_bytes(s) + GUARD, TO_HOST), 0);
    CHECK_EQ(r->copy(host.validity, address(to->validity), bitmap_bytes(s) + GUARD, TO_HOST), 0);
    CHECK_EQ(r->copy(&host.status, address(to->status), 4, TO_HOST), 0);
    const char *wrong = compare_host(s, to, &host);
    CHECK(wrong == NULL);
    if (wrong) fprintf(stderr, "  ^ wrong: %s\n", wrong);
    host_output_close(&host);
    CHECK_EQ(r->fill(address(to->bytes), CLEAR, to->bytes_capacity), 0);
}

/* Closes the job; `r` NULL: memory and stream went with the context. */
static inline void runtime_run_close(device_run *run, const runtime *r) {
    const fastpair_gpu_output *to = run->outputs.to;
    const uint64_t memory[] = {run->memory, to->bytes, to->offsets, to->validity, to->status};
    for (int i = 0; i < 5 && r; i++) CHECK_EQ(r->release(address(memory[i])), 0);
    if (r) CHECK_EQ(r->stream_close(run->outputs.stream), 0);
    free(run->outputs.to);
    fastpair_gpu_job_close(run->job);
}

#endif
