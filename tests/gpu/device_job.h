/* device_job.h - one column decoded on a real GPU with memory and streams of anybody's: the CUDA runtime's, found at run time, or the
 * driver's in whatever context is current. In: an opened GPU. Out: each step on its own, for tests that put something between. */
#ifndef FP_TESTS_DEVICE_JOB_H
#define FP_TESTS_DEVICE_JOB_H

#include "device_run.h"

#include <dlfcn.h>

enum { SKIPPED = 77 };

/* ---------------------------------------------------------------- the runtime */

/* name, symbol, parameters. */
#define RUNTIME_CALLS(CALL)                                                                        \
    CALL(allocate, "cudaMalloc", (void **memory, size_t size))                                     \
    CALL(release, "cudaFree", (void *memory))                                                      \
    CALL(fill, "cudaMemset", (void *memory, int value, size_t size))                               \
    CALL(copy, "cudaMemcpy", (void *to, const void *from, size_t size, int kind))                  \
    CALL(stream_create, "cudaStreamCreate", (void **stream))                                       \
    CALL(stream_destroy, "cudaStreamDestroy", (void *stream))                                      \
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
static int runtime_open(runtime *r) {
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

/* ---------------------------------------------------------------- one column, with memory of anybody's */

typedef struct job {
    fastpair_gpu *gpu;
    const sample *source;
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info;
    device_buffers buffers;
    int of_runtime; /* memory and stream */
    fastpair_error error;
} job;

static sample make_column(void) {
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 10000};
    return make_sample(0, getenv("FASTPAIR_TEST_SMALL") ? 30000 : 1000000, &options);
}

static uint64_t runtime_memory(const runtime *r, uint64_t size) {
    void *memory = NULL;
    CHECK_EQ(r->allocate(&memory, size), 0);
    CHECK_EQ(r->fill(memory, 0, size), 0);
    return (uint64_t)(uintptr_t)memory;
}

/* Lays a column out; memory and stream are the runtime's, or the driver's in the context that is current. */
static void job_open(job *j, fastpair_gpu *gpu, const sample *source, const runtime *r) {
    *j = (job){.gpu = gpu,
               .source = source,
               .info = {.struct_size = sizeof j->info},
               .of_runtime = r != NULL};
    const fastpair_column *column = source->column;
    CHECK_EQ(fastpair_gpu_batch_create(gpu, &column, 1, NULL, &j->batch, &j->error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_batch_get_info(j->batch, &j->info, &j->error), FASTPAIR_OK);
    if (!r) {
        j->buffers = make_buffers(gpu, &j->info, 1);
        return;
    }
    j->buffers.tables = runtime_memory(r, j->info.device_bytes);
    j->buffers.output = runtime_memory(r, j->info.output_bytes + 16);
    j->buffers.offsets = runtime_memory(r, (j->info.rows + 1) * 8);
    j->buffers.status = runtime_memory(r, 4);
    CHECK_EQ(r->stream_create(&j->buffers.stream), 0);
    CHECK_EQ(r->fill((void *)(uintptr_t)j->buffers.output, 0xee, j->info.output_bytes + 16), 0);
    CHECK_EQ(r->wait(), 0);
}

static fastpair_status job_upload(job *j, fp_cu_stream stream) {
    return fastpair_gpu_batch_upload(j->batch, j->buffers.tables, j->info.device_bytes, 0,
                                     j->info.chunks, stream, &j->error);
}

static fastpair_status job_decode(job *j, fp_cu_stream stream) {
    fastpair_gpu_destination to = destination_in(&j->buffers, j->info.output_bytes);
    return fastpair_gpu_batch_decode(j->batch, 0, j->info.chunks, &to, stream, &j->error);
}

/* Fetches and compares by the runtime alone. */
static void job_compare(job *j, const runtime *r) {
    uint8_t *output = malloc(j->info.output_bytes + 16), *offsets = malloc((j->info.rows + 1) * 8);
    uint32_t word = 1;
    CHECK_EQ(r->stream_wait(j->buffers.stream), 0);
    CHECK_EQ(
        r->copy(output, (void *)(uintptr_t)j->buffers.output, j->info.output_bytes + 16, TO_HOST),
        0);
    CHECK_EQ(
        r->copy(offsets, (void *)(uintptr_t)j->buffers.offsets, (j->info.rows + 1) * 8, TO_HOST),
        0);
    CHECK_EQ(r->copy(&word, (void *)(uintptr_t)j->buffers.status, 4, TO_HOST), 0);
    CHECK_EQ(word, 0);
    const char *wrong = compare_host(j->batch, j->source, 1, output, offsets, 64);
    CHECK(wrong == NULL);
    if (wrong) fprintf(stderr, "  ^ wrong: %s\n", wrong);
    free(output), free(offsets);
}

static void job_free(job *j, const runtime *r) {
    const uint64_t memory[] = {j->buffers.tables, j->buffers.output, j->buffers.offsets,
                               j->buffers.status};
    for (int i = 0; i < 4 && r; i++) CHECK_EQ(r->release((void *)(uintptr_t)memory[i]), 0);
    if (r) CHECK_EQ(r->stream_destroy(j->buffers.stream), 0);
    if (!j->of_runtime) free_buffers(j->gpu, &j->buffers);
    fastpair_gpu_batch_free(j->batch);
}

static fastpair_gpu *must_open(void) {
    fastpair_error error = {.message = ""};
    fastpair_gpu *gpu = NULL;
    CHECK_EQ(fastpair_gpu_open(NULL, &gpu, &error), FASTPAIR_OK);
    if (gpu) return gpu;
    fprintf(stderr, "  ^ %s\n", error.message);
    exit(check_done());
}

#endif
