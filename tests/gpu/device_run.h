/* device_run.h - columns through the public interface on a real GPU: generated rows, device memory for a batch, comparing.
 *
 * In: an opened GPU whose context is current. Out: checks. Comparing returns a word instead of checking, so that threads can do
 * it. */
#ifndef FP_TESTS_DEVICE_RUN_H
#define FP_TESTS_DEVICE_RUN_H

#include "check.h"
#include "gpu/batch.h"
#include "tpch.h"

#define ADDRESSES 5 /* the kind of rows that fills dictionaries of any size */
/* 2^bits different rows of 1 to 16 bytes, or to 8 if tokens are no longer, so that codes have so many bits. */
#define FEW_OF(bits) (10 + (int)(bits))

/* The GPU with its context current, for a test that has nothing to do without one: it then ends as skipped, or as failed
 * where there must be a GPU. */
static inline fastpair_gpu *open_or_skip(void) {
    fastpair_error error = {.message = ""};
    fastpair_gpu *gpu;
    if (fastpair_gpu_open(NULL, &gpu, &error)) {
        printf("skipped: %s\n", error.message);
        exit(getenv("FASTPAIR_TEST_GPU") ? 1 : 77);
    }
    CHECK_EQ(fp_gpu_push(gpu, &error), FASTPAIR_OK);
    return gpu;
}

/* A column and the rows it was made from. */
typedef struct sample {
    uint8_t *bytes;
    uint64_t *offsets;
    uint64_t rows;
    uint8_t *image;
    uint64_t image_size;
    fastpair_column *column;
} sample;

/* Rows of one kind, compressed with one codec. */
static sample make_sample(int kind, uint64_t bytes, const fastpair_compress_options *options) {
    sample s = {.bytes = malloc(bytes + FP_TPCH_MAX_ROW), .offsets = malloc((bytes + 2) * 8)};
    uint64_t size = 0, state = 7 + (uint64_t)kind;
    fp_tpch_gen generator;
    fp_tpch_init(&generator, 11,
                 kind == ADDRESSES ? FP_TPCH_C_ADDRESS
                 : kind % 2        ? FP_TPCH_PS_COMMENT
                                   : FP_TPCH_L_COMMENT);
    s.offsets[0] = 0;
    while (size < bytes) {
        uint64_t length;
        if (kind < 2 || kind == ADDRESSES)
            length = fp_tpch_next(&generator, (char *)s.bytes + size);
        else if (kind > FEW_OF(0)) {
            uint64_t which = check_random(&state) % (1u << (kind - FEW_OF(0)));
            uint64_t longest = options->max_token == 8 ? 8 : 16;
            for (length = 0; length < 1 + which * 5 % longest; length++)
                s.bytes[size + length] = (uint8_t)(which + length * 37);
        } else if (kind == 2) /* short and empty rows */
            for (length = 0; length < check_random(&state) % 5; length++)
                s.bytes[size + length] = (uint8_t) "abcab"[check_random(&state) % 5];
        else if (kind == 3) { /* one 16-byte token over and over */
            length = 16;
            memcpy(s.bytes + size, "ABCDEFGHIJKLMNOP", 16);
        } else /* random bytes: stored */
            for (length = 0; length < 40; length++)
                s.bytes[size + length] = (uint8_t)check_random(&state);
        size += length;
        s.offsets[++s.rows] = size;
    }
    fp_tpch_destroy(&generator);
    fastpair_rows rows = {.rows = s.rows, .bytes = s.bytes, .offsets = s.offsets};
    fastpair_error error;
    CHECK_EQ(fastpair_compress(&rows, options, &s.image, &s.image_size, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_open(s.image, s.image_size, NULL, &s.column, &error), FASTPAIR_OK);
    return s;
}

static void free_sample(sample *s) {
    fastpair_column_close(s->column);
    fastpair_free(NULL, s->image);
    free(s->bytes);
    free(s->offsets);
}

/* Memory for one batch, and a stream. The output has 16 bytes more, which must stay as they are. */
typedef struct device_buffers {
    uint64_t tables, output, offsets, status;
    fp_cu_stream stream;
} device_buffers;

static void device_ok(const fastpair_gpu *gpu, fp_cu_result result) {
    fastpair_error error;
    if (result) {
        fp_driver_fail(&gpu->driver, result, "a test's own call", &error);
        fprintf(stderr, "%s\n", error.message);
    }
    CHECK_EQ(result, 0);
}

static inline device_buffers make_buffers(const fastpair_gpu *gpu,
                                          const fastpair_gpu_batch_info *info, uint64_t columns) {
    device_buffers b = {0};
    const fp_driver *d = &gpu->driver;
    device_ok(gpu, d->allocate(&b.tables, info->device_bytes + 1));
    device_ok(gpu, d->allocate(&b.output, info->output_bytes + 16));
    device_ok(gpu, d->allocate(&b.offsets, (info->rows + columns) * 8));
    device_ok(gpu, d->allocate(&b.status, 4));
    device_ok(gpu, d->stream_create(&b.stream, 1));
    device_ok(gpu, d->fill(b.output, 0xee, info->output_bytes + 16, b.stream));
    device_ok(gpu, d->fill(b.status, 0, 4, b.stream));
    return b;
}

static void free_buffers(const fastpair_gpu *gpu, device_buffers *b) {
    device_ok(gpu, gpu->driver.stream_wait(b->stream));
    gpu->driver.release(b->tables);
    gpu->driver.release(b->output);
    gpu->driver.release(b->offsets);
    gpu->driver.release(b->status);
    gpu->driver.stream_destroy(b->stream);
}

static inline fastpair_gpu_destination destination_in(const device_buffers *b,
                                                      uint64_t output_bytes) {
    return (fastpair_gpu_destination){.struct_size = sizeof(fastpair_gpu_destination),
                                      .output = b->output,
                                      .output_bytes = output_bytes,
                                      .row_offsets = b->offsets,
                                      .offset_bits = 64,
                                      .status = b->status};
}

static inline uint32_t read_status(const fastpair_gpu *gpu, const device_buffers *b) {
    uint32_t word = 0xffffffff;
    device_ok(gpu, gpu->driver.copy_to_host(&word, b->status, 4, b->stream));
    device_ok(gpu, gpu->driver.stream_wait(b->stream));
    return word;
}

/* What is wrong with output, row offsets and the guard behind the output, as they are on the host; NULL: nothing. */
static const char *compare_host(const fastpair_gpu_batch *batch, const sample *samples,
                                uint64_t count, const uint8_t *output, const uint8_t *offsets,
                                uint32_t offset_bits) {
    uint64_t slot = 0;
    for (uint64_t c = 0; c < count; c++) {
        uint64_t at, size;
        fastpair_gpu_batch_get_column(batch, c, &at, &size, NULL, NULL);
        if (size != samples[c].offsets[samples[c].rows]) return "the size of a column";
        if (memcmp(output + at, samples[c].bytes, size) != 0) return "decoded bytes";
        for (uint64_t row = 0; row <= samples[c].rows && offset_bits; row++, slot++) {
            uint64_t wide = 0;
            uint32_t narrow = 0;
            memcpy(&narrow, offsets + slot * 4, offset_bits == 32 ? 4 : 0);
            memcpy(&wide, offsets + slot * 8, offset_bits == 32 ? 0 : 8);
            if ((offset_bits == 32 ? narrow : wide) != samples[c].offsets[row])
                return "row offsets";
        }
    }
    for (int i = 0; i < 16; i++)
        if (output[batch->output_bytes + (uint64_t)i] != 0xee) return "bytes behind the output";
    return NULL;
}

/* Waits for a decode and compares. */
static inline const char *compare_output(const fastpair_gpu *gpu, const fastpair_gpu_batch *batch,
                                         const sample *samples, uint64_t count,
                                         const device_buffers *b, uint32_t offset_bits) {
    uint64_t bytes = batch->output_bytes, slots = batch->row_slots;
    uint8_t *output = malloc(bytes + 16), *offsets = malloc(slots * 8);
    uint32_t word = 0xffffffff;
    const char *wrong = output && offsets ? NULL : "no host memory";
    const fp_driver *d = &gpu->driver;
    if (!wrong && (d->copy_to_host(output, b->output, bytes + 16, b->stream) ||
                   d->copy_to_host(offsets, b->offsets, slots * (offset_bits / 8), b->stream) ||
                   d->copy_to_host(&word, b->status, 4, b->stream) || d->stream_wait(b->stream)))
        wrong = "a copy to the host";
    if (!wrong && word) wrong = "the status word";
    if (!wrong) wrong = compare_host(batch, samples, count, output, offsets, offset_bits);
    free(output);
    free(offsets);
    return wrong;
}

static inline void check_output(const fastpair_gpu *gpu, const fastpair_gpu_batch *batch,
                                const sample *samples, uint64_t count, const device_buffers *b,
                                uint32_t offset_bits) {
    const char *wrong = compare_output(gpu, batch, samples, count, b, offset_bits);
    CHECK(wrong == NULL);
    if (wrong) fprintf(stderr, "  ^ wrong: %s\n", wrong);
}

#endif
