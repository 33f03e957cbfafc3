/* encode_sample.c - dictionaries of rows in device memory. In: rows there, options for training. Out: a
 * sample in the caller's host memory, and the dictionary that fastpair_dictionary_train makes of the same
 * rows. Kernels draw the very sample that src/sample.c draws, so training, on the CPU, cannot tell.
 * Refuses samples of 4 GiB and more, and what kernels say of a sample if it contradicts itself. */
#include "encoder.h"

#include "options.h"
#include "rows.h"

#include "kernels/sample_params.h"

#include <string.h>

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

FP_GPU_ASSERT(FP_GPU_SAMPLE_PIECE_SHIFT == FP_SAMPLE_PIECE_SHIFT &&
                  FP_GPU_SAMPLE_DECK_BITS == FP_SAMPLE_DECK_BITS,
              "kernels draw the sample of src/sample.c");

struct fastpair_gpu_sampler {
    fastpair_gpu *gpu;
    fp_settings settings; /* an automatic codec is replaced by the chosen one */
};

fastpair_status fastpair_gpu_sampler_open(fastpair_gpu *gpu,
                                          const fastpair_compress_options *options,
                                          fastpair_gpu_sampler **result, fastpair_error *error) {
    if (result) *result = NULL;
    REFUSE(!gpu || !result, FASTPAIR_ERROR_INVALID_ARGUMENT, "gpu and sampler must not be NULL");
    fp_settings settings;
    fastpair_status status = fp_dictionary_settle(options, &settings, error);
    if (status) return status;
    settings.metadata = (fastpair_metadata){0}; /* the caller's, and not needed */
    fastpair_gpu_sampler *sampler = fp_allocate_zero(&settings.allocator, 1, sizeof *sampler);
    if (!sampler) return fp_fail_memory(error, sizeof *sampler);
    *sampler = (fastpair_gpu_sampler){gpu, settings};
    *result = sampler;
    return FASTPAIR_OK;
}

void fastpair_gpu_sampler_close(fastpair_gpu_sampler *sampler) {
    if (!sampler) return;
    fastpair_allocator allocator = sampler->settings.allocator;
    fp_release(&allocator, sampler);
}

/* ---------------------------------------------------------------- sizes */

/* Where things lie, from 0 on: in the sample, and after it in scratch. */
typedef struct places {
    uint64_t cap, blocks;
    uint64_t bytes, lengths, sample_end; /* the head comes first */
    uint64_t state, counts, sums, starts, scratch_end;
} places;

static uint64_t take(uint64_t *at, uint64_t bytes) {
    uint64_t place = *at;
    *at = fp_device_align(place + bytes);
    return place;
}

/* Lengths follow the room for the bytes. */
static uint64_t lengths_at(uint64_t cap) { return sizeof(fp_gpu_sample_head) + fp_align(cap, 16); }

static fastpair_status place_all(const fastpair_gpu_sampler *sampler,
                                 const fastpair_gpu_encode_input *input, places *at,
                                 fastpair_error *error) {
    REFUSE(!sampler || !input, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "sampler and input must not be NULL");
    fastpair_status status = fp_encode_input_check(input, error);
    if (status) return status;
    uint64_t cap = fp_dictionary_cap(&sampler->settings), size = input->bytes_size;
    if (cap > size) cap = size;
    REFUSE(cap > UINT32_MAX, FASTPAIR_ERROR_LIMIT, "samples must be below 4 GiB");
    /* No piece is empty, and a row has one more for each 4 KiB that the bytes reach in it. */
    uint64_t most = input->rows + (size >> FP_SAMPLE_PIECE_SHIFT), row_blocks, end;
    *at = (places){.cap = cap, .blocks = most / FP_GPU_HELPER_THREADS + 1};
    if (at->blocks > FP_GPU_SAMPLE_BLOCKS) at->blocks = FP_GPU_SAMPLE_BLOCKS;
    at->bytes = sizeof(fp_gpu_sample_head);
    at->lengths = lengths_at(cap);
    at->sample_end = at->lengths + 2 * (most < cap ? most : cap);
    end = fp_device_align(at->sample_end);
    row_blocks = input->rows / FP_GPU_ENCODE_ROWS + 1;
    at->state = take(&end, sizeof(fp_gpu_encode_state));
    at->counts = take(&end, at->blocks * (FP_GPU_HELPER_THREADS / 32) * FP_GPU_SAMPLE_DECKS * 16);
    if (input->validity) {
        at->sums = take(&end, 8 * row_blocks);
        at->starts = take(&end, 8 * (input->rows + 1));
    }
    at->scratch_end = end;
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_sampler_sizes(const fastpair_gpu_sampler *sampler,
                                           const fastpair_gpu_encode_input *input,
                                           fastpair_gpu_sample_sizes *sizes,
                                           fastpair_error *error) {
    places at;
    REFUSE(!sizes, FASTPAIR_ERROR_INVALID_ARGUMENT, "sizes must not be NULL");
    fastpair_status status = place_all(sampler, input, &at, error);
    if (status) return status;
    fastpair_gpu_sample_sizes filled = {.struct_size = sizeof filled,
                                        .scratch_bytes = at.scratch_end,
                                        .sample_bytes = at.sample_end};
    return fp_info_copy("sizes", &filled, sizeof filled, sizes, error);
}

/* ---------------------------------------------------------------- taking */

/* A sample being queued. */
typedef struct queue {
    const fastpair_gpu *gpu;
    fp_gpu_sample_launch *launch;
    fp_cu_stream stream;
    fp_cu_result result; /* the first failure; nothing is queued after it */
} queue;

/* A kernel that takes `size` bytes from the launch's start: its rows, or all. */
static void launch(queue *to, fp_cu_function function, uint64_t blocks, uint32_t threads,
                   size_t size) {
    fp_launch launched = {.function = function,
                          .blocks_x = (uint32_t)blocks,
                          .blocks_y = 1,
                          .threads = threads,
                          .parameters = to->launch,
                          .used = size,
                          .size = size};
    if (blocks && !to->result) to->result = fp_gpu_launch(to->gpu, &launched, to->stream);
}

static void launch_rows(queue *to) {
    const fp_cu_function *encode = to->gpu->encode;
    const fp_gpu_encode_launch *rows = &to->launch->rows;
    const uint64_t rows_blocks = (rows->input.rows + FP_GPU_ENCODE_ROWS - 1) / FP_GPU_ENCODE_ROWS;
    const size_t size = sizeof *rows;
    const uint32_t threads = FP_GPU_HELPER_THREADS;
    launch(to, encode[FP_ENCODE_check], rows_blocks, threads, size);
    if (rows->input.validity) launch(to, encode[FP_ENCODE_sums], rows_blocks, threads, size);
    launch(to, encode[FP_ENCODE_scan], 1, FP_GPU_ENCODE_THREADS, size);
    if (rows->input.validity) launch(to, encode[FP_ENCODE_starts], rows_blocks, threads, size);
}

static fp_cu_result launch_all(queue *to, const places *at, void *sample) {
    const fastpair_gpu *gpu = to->gpu;
    const size_t size = sizeof *to->launch;
    const uint32_t threads = FP_GPU_HELPER_THREADS;
    to->result = gpu->driver.fill(to->launch->rows.scratch.state, 0, sizeof(fp_gpu_encode_state),
                                  to->stream);
    launch_rows(to);
    launch(to, gpu->sample_plan, 1, 32, size);
    launch(to, gpu->sample_count, at->blocks, threads, size);
    launch(to, gpu->sample_scan, 1, FP_GPU_ENCODE_THREADS, size);
    launch(to, gpu->sample_copy, at->blocks, threads, size);
    if (!to->result)
        to->result =
            gpu->driver.copy_to_host(sample, to->launch->head, (size_t)at->sample_end, to->stream);
    return to->result;
}

fastpair_status fastpair_gpu_sampler_take(const fastpair_gpu_sampler *sampler,
                                          const fastpair_gpu_encode_input *input,
                                          const fastpair_gpu_block *scratch,
                                          const fastpair_gpu_sample *sample, void *stream,
                                          fastpair_error *error) {
    places at;
    fastpair_status status = place_all(sampler, input, &at, error);
    if (!status) status = fp_encode_addresses_check(input, error);
    if (status) return status;
    REFUSE(!sample, FASTPAIR_ERROR_INVALID_ARGUMENT, "sample must not be NULL");
    if ((status = fp_struct_check("sample", sample, sizeof *sample, error)) ||
        (status = fp_gpu_block_check("scratch", scratch, at.scratch_end, error)))
        return status;
    REFUSE(!sample->memory, FASTPAIR_ERROR_INVALID_ARGUMENT, "sample->memory must not be NULL");
    REFUSE(sample->bytes < at.sample_end, FASTPAIR_ERROR_BUFFER_TOO_SMALL,
           "the sample takes %llu bytes and has %llu", (unsigned long long)at.sample_end,
           (unsigned long long)sample->bytes);
    const uint64_t base = scratch->address;
    fp_gpu_sample_launch launched = {
        .rows = {.input = fp_encode_input_of(input),
                 .scratch = {.state = base + at.state,
                             .sums = input->validity ? base + at.sums : 0,
                             .starts = input->validity ? base + at.starts : 0},
                 .round = at.blocks * (FP_GPU_HELPER_THREADS / 32) * FP_GPU_SAMPLE_DECKS},
        .head = base,
        .lengths = base + at.lengths,
        .bytes = base + at.bytes,
        .counts = base + at.counts,
        .cap = at.cap,
        .seed = sampler->settings.seed};
    const fastpair_gpu *gpu = sampler->gpu;
    queue to = {.gpu = gpu, .launch = &launched, .stream = stream};
    if ((status = fp_gpu_push(gpu, error))) return status;
    fp_cu_result result = launch_all(&to, &at, sample->memory);
    if (result) status = fp_driver_fail(&gpu->driver, result, "taking a sample of rows", error);
    fp_gpu_pop(gpu);
    return status;
}

/* ---------------------------------------------------------------- training */

/* Reads what kernels left, which is not trusted. */
static fastpair_status open_sample(const fastpair_gpu_sampler *sampler,
                                   const fastpair_gpu_sample *from, fp_sample *sample,
                                   fastpair_error *error) {
    const uint8_t *memory = from->memory;
    fp_gpu_sample_head head;
    *sample = (fp_sample){0};
    REFUSE(from->bytes < sizeof head, FASTPAIR_ERROR_BUFFER_TOO_SMALL,
           "a sample has at least %zu bytes", sizeof head);
    memcpy(&head, memory, sizeof head);
    REFUSE(head.status, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "offsets decrease, or point past the bytes, or a row has 4 GiB or more");
    uint64_t cap = fp_dictionary_cap(&sampler->settings);
    REFUSE(head.cap > UINT32_MAX, FASTPAIR_ERROR_CORRUPT, "the sample contradicts itself");
    REFUSE(head.seed != sampler->settings.seed || head.cap > cap ||
               (head.cap < cap && head.column_bytes > head.cap),
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "this sample is not the one that the sampler wants now: take another");
    const uint64_t lengths = lengths_at(head.cap);
    REFUSE(from->bytes < lengths || (from->bytes - lengths) / 2 < head.pieces,
           FASTPAIR_ERROR_BUFFER_TOO_SMALL, "the sample has more bytes than %llu",
           (unsigned long long)from->bytes);
    REFUSE(head.size > head.cap || head.pieces > head.size || head.size > head.column_bytes,
           FASTPAIR_ERROR_CORRUPT, "the sample contradicts itself");
    return fp_sample_copy(&(fp_sample_drawn){.bytes = memory + sizeof head,
                                             .size = head.size,
                                             .lengths = memory + lengths,
                                             .pieces = head.pieces,
                                             .column_bytes = head.column_bytes},
                          &sampler->settings.allocator, sample, error);
}

fastpair_status fastpair_gpu_sampler_train(fastpair_gpu_sampler *sampler,
                                           const fastpair_gpu_sample *from,
                                           fastpair_dictionary **dictionary,
                                           fastpair_error *error) {
    if (dictionary) *dictionary = NULL;
    REFUSE(!sampler || !from || !dictionary, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "sampler, sample and dictionary must not be NULL");
    fastpair_status status = fp_struct_check("sample", from, sizeof *from, error);
    if (status) return status;
    REFUSE(!from->memory, FASTPAIR_ERROR_INVALID_ARGUMENT, "sample->memory must not be NULL");
    fp_sample sample;
    fp_poll poll;
    status = open_sample(sampler, from, &sample, error);
    fp_settings_poll(&sampler->settings, sample.column_bytes, &poll);
    if (!status) status = fp_dictionary_step(&sample, &sampler->settings, dictionary, error);
    sampler->settings.poll = NULL;
    fp_sample_close(&sample, &sampler->settings.allocator);
    return status;
}
