/* device_run.h - jobs through the public interface on a GPU: device memory for a job and its
 * outputs, and comparing what comes back.
 *
 * In: an opened GPU, and a driver whose context is current (cli/cuda.h). Out: checks. Clearing and
 * comparing say what is wrong instead of checking, so that threads can do it. */
#ifndef FP_TESTS_DEVICE_RUN_H
#define FP_TESTS_DEVICE_RUN_H

#include "cuda.h"
#include "gpu/layout.h"
#include "samples.h"

/* Bytes after each output that must stay as they are: 0xee. */
enum { GUARD = 16, CLEAR = 0xee };

/* The exit code of a test that cannot run here. */
enum { SKIPPED = 77 };

/* A result of the driver that must be 0. */
static inline void device_ok(const cuda_driver *cuda, int result) {
    fastpair_error error;
    CHECK_EQ(result, 0);
    if (cuda_status(cuda, result, "a test's own call", &error))
        fprintf(stderr, "  ^ %s\n", error.message);
}

/* The GPU, and the driver with its context current, for a test that has nothing to do without a
 * GPU: it then ends as skipped, or as failed where there must be a GPU. */
static inline fastpair_gpu *open_or_skip(cuda_driver *cuda) {
    fastpair_error error = {.message = ""};
    fastpair_gpu *gpu;
    if (fastpair_gpu_open(NULL, &gpu, &error)) {
        printf("skipped: %s\n", error.message);
        exit(getenv("FASTPAIR_TEST_GPU") ? 1 : SKIPPED);
    }
    CHECK_EQ(cuda_open(cuda, 0, &error), FASTPAIR_OK);
    if (!cuda->context) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    return gpu;
}

static inline void close_both(fastpair_gpu *gpu, cuda_driver *cuda) {
    cuda_close(cuda);
    fastpair_gpu_close(gpu);
}

/* ---------------------------------------------------------------- jobs and outputs */

/* An output per column of a job, each with a guard after it, and a stream. */
typedef struct device_outputs {
    fastpair_gpu_output *to;
    cuda_stream stream;
} device_outputs;

typedef struct device_run {
    const cuda_driver *cuda;
    const sample *samples;
    uint64_t count;
    fastpair_gpu_job *job;
    fastpair_gpu_job_info info;
    /* The job's device memory. */
    uint64_t memory;
    device_outputs outputs;
    fastpair_error error;
} device_run;

static const fastpair_gpu_job_options all_outputs = {
    .struct_size = sizeof all_outputs, .outputs = FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY};

/* Opens a job of `count` samples; no device memory yet. */
static inline fastpair_status run_open_job(device_run *run, const cuda_driver *cuda,
                                           fastpair_gpu *gpu, const sample *samples, uint64_t count,
                                           const fastpair_gpu_job_options *options) {
    *run = (device_run){.cuda = cuda, .samples = samples, .count = count};
    run->info.struct_size = sizeof run->info;
    const fastpair_column **columns = malloc((count + 1) * sizeof *columns);
    if (!columns) abort();
    for (uint64_t c = 0; c < count; c++) columns[c] = samples[c].column;
    fastpair_status status =
        fastpair_gpu_job_open(gpu, columns, count, options, &run->job, &run->error);
    free(columns);
    return status ? status : fastpair_gpu_job_get_info(run->job, &run->info, &run->error);
}

static inline uint64_t offsets_bytes(const sample *s) { return (s->rows + 1) * 8; }
static inline uint64_t bitmap_bytes(const sample *s) { return (s->rows + 31) / 32 * 4; }

static inline uint64_t device_block(const cuda_driver *cuda, uint64_t size) {
    uint64_t memory = 0;
    device_ok(cuda, cuda->allocate(&memory, size));
    return memory;
}

/* Clears outputs and status words on their stream; the driver's result. */
static inline int outputs_clear(const device_run *run, const device_outputs *outputs) {
    const cuda_driver *cuda = run->cuda;
    cuda_stream stream = outputs->stream;
    int result = 0;
    for (uint64_t c = 0; c < run->count && !result; c++) {
        const fastpair_gpu_output *to = &outputs->to[c];
        const sample *s = &run->samples[c];
        result = cuda->fill(to->bytes, CLEAR, to->bytes_capacity + GUARD, stream);
        if (!result && to->offsets)
            result = cuda->fill(to->offsets, CLEAR, offsets_bytes(s) + GUARD, stream);
        if (!result && to->validity)
            result = cuda->fill(to->validity, CLEAR, bitmap_bytes(s) + GUARD, stream);
        if (!result) result = cuda->fill(to->status, 0, 4, stream);
    }
    return result;
}

/* Outputs with everything that the job was opened for, 64-bit offsets. */
static inline device_outputs outputs_open(const device_run *run) {
    const cuda_driver *cuda = run->cuda;
    device_outputs outputs = {calloc(run->count + 1, sizeof *outputs.to), NULL};
    if (!outputs.to) abort();
    device_ok(cuda, cuda->stream_open(&outputs.stream, CUDA_STREAM_INDEPENDENT));
    for (uint64_t c = 0; c < run->count; c++) {
        const sample *s = &run->samples[c];
        fastpair_gpu_output *to = &outputs.to[c];
        *to = (fastpair_gpu_output){.struct_size = sizeof *to, .offset_bits = 64};
        to->bytes_capacity = s->offsets[s->rows];
        to->bytes = device_block(cuda, to->bytes_capacity + GUARD);
        if (run->job->outputs & FASTPAIR_GPU_OFFSETS)
            to->offsets = device_block(cuda, offsets_bytes(s) + GUARD);
        if (run->job->outputs & FASTPAIR_GPU_VALIDITY)
            to->validity = device_block(cuda, bitmap_bytes(s) + GUARD);
        to->status = device_block(cuda, 4);
    }
    device_ok(cuda, outputs_clear(run, &outputs));
    return outputs;
}

static inline void outputs_close(const device_run *run, device_outputs *outputs) {
    const cuda_driver *cuda = run->cuda;
    device_ok(cuda, cuda->stream_wait(outputs->stream));
    for (uint64_t c = 0; c < run->count; c++) {
        const fastpair_gpu_output *to = &outputs->to[c];
        device_ok(cuda, cuda->release(to->bytes));
        if (to->offsets) device_ok(cuda, cuda->release(to->offsets));
        if (to->validity) device_ok(cuda, cuda->release(to->validity));
        device_ok(cuda, cuda->release(to->status));
    }
    device_ok(cuda, cuda->stream_close(outputs->stream));
    free(outputs->to);
}

/* Memory for the job and its first outputs. */
static inline void run_allocate(device_run *run) {
    run->memory = device_block(run->cuda, run->info.device_bytes + 1);
    run->outputs = outputs_open(run);
}

static inline void run_close(device_run *run) {
    outputs_close(run, &run->outputs);
    device_ok(run->cuda, run->cuda->release(run->memory));
    fastpair_gpu_job_close(run->job);
}

static inline fastpair_status run_upload(device_run *run, const fastpair_gpu_range *range,
                                         cuda_stream stream) {
    return fastpair_gpu_job_upload(run->job, run->memory, run->info.device_bytes, range, stream,
                                   &run->error);
}

static inline fastpair_status run_decode(device_run *run, const fastpair_gpu_range *range,
                                         cuda_stream stream) {
    return fastpair_gpu_job_decode(run->job, run->outputs.to, range, stream, &run->error);
}

/* ---------------------------------------------------------------- comparing */

/* Where outputs are copied to for comparing; the sizes include guards. */
typedef struct host_output {
    uint8_t *bytes, *offsets, *validity;
    uint32_t status;
} host_output;

static inline host_output host_output_open(const sample *s) {
    host_output host = {malloc(s->offsets[s->rows] + GUARD), malloc(offsets_bytes(s) + GUARD),
                        malloc(bitmap_bytes(s) + GUARD), UINT32_MAX};
    if (!host.bytes || !host.offsets || !host.validity) abort();
    return host;
}

static inline void host_output_close(host_output *host) {
    free(host->bytes), free(host->offsets), free(host->validity);
}

static inline int guard_holds(const uint8_t *end) {
    for (int i = 0; i < GUARD; i++)
        if (end[i] != CLEAR) return 0;
    return 1;
}

/* What is wrong with a column's output, as it is on the host; NULL: nothing. */
static inline const char *compare_host(const sample *s, const fastpair_gpu_output *to,
                                       const host_output *host) {
    uint64_t size = s->offsets[s->rows], width = to->offset_bits / 8;
    if (host->status) return "the status word";
    if (memcmp(host->bytes, s->bytes, size) != 0) return "decoded bytes";
    if (!guard_holds(host->bytes + size)) return "bytes after the output";
    for (uint64_t row = 0; to->offsets && row <= s->rows; row++) {
        uint64_t offset = 0;
        memcpy(&offset, host->offsets + row * width, width);
        if (offset != s->offsets[row]) return "offsets";
    }
    if (to->offsets && !guard_holds(host->offsets + (s->rows + 1) * width))
        return "bytes after the offsets";
    if (to->validity && memcmp(host->validity, s->validity, bitmap_bytes(s)) != 0)
        return "validity";
    if (to->validity && !guard_holds(host->validity + bitmap_bytes(s)))
        return "bytes after the validity bits";
    return NULL;
}

/* Waits for a decode and compares all columns. */
static inline const char *outputs_compare(const device_run *run, const device_outputs *outputs) {
    const cuda_driver *cuda = run->cuda;
    const char *wrong = NULL;
    for (uint64_t c = 0; c < run->count && !wrong; c++) {
        const fastpair_gpu_output *to = &outputs->to[c];
        const sample *s = &run->samples[c];
        cuda_stream stream = outputs->stream;
        host_output host = host_output_open(s);
        int result = cuda->copy_to_host(host.bytes, to->bytes, to->bytes_capacity + GUARD, stream);
        if (!result && to->offsets)
            result =
                cuda->copy_to_host(host.offsets, to->offsets, offsets_bytes(s) + GUARD, stream);
        if (!result && to->validity)
            result =
                cuda->copy_to_host(host.validity, to->validity, bitmap_bytes(s) + GUARD, stream);
        if (!result) result = cuda->copy_to_host(&host.status, to->status, 4, stream);
        if (!result) result = cuda->stream_wait(stream);
        wrong = result ? "a copy to the host" : compare_host(s, to, &host);
        host_output_close(&host);
    }
    return wrong;
}

static inline void run_check(const device_run *run) {
    const char *wrong = outputs_compare(run, &run->outputs);
    CHECK(wrong == NULL);
    if (wrong) fprintf(stderr, "  ^ %s: wrong: %s\n", run->info.kernel, wrong);
}

/* The status words of all columns, ORed together. */
static inline uint32_t run_status(const device_run *run) {
    uint32_t all = 0;
    for (uint64_t c = 0; c < run->count; c++) {
        uint32_t word = UINT32_MAX;
        device_ok(run->cuda, run->cuda->copy_to_host(&word, run->outputs.to[c].status, 4,
                                                     run->outputs.stream));
        device_ok(run->cuda, run->cuda->stream_wait(run->outputs.stream));
        all |= word;
    }
    return all;
}

/* Spoils a section of a chunk, on the device. */
static inline void run_spoil(const device_run *run, uint64_t chunk, int section, uint8_t value) {
    device_ok(run->cuda,
              run->cuda->fill(fp_job_section(run->job, &run->job->chunks[chunk], section), value,
                              run->job->sources[chunk].host.chunk->sections[section].size,
                              run->outputs.stream));
}

#endif
