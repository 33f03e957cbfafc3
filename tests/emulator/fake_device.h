/* fake_device.h - a driver whose device is the host and whose kernels run in the emulator, for the library's own GPU calls.
 *
 * In: a batch. Out: what the kernels do, in memory of exactly the sizes the library states. Launches that the hardware would
 * refuse are refused. One thread only: a launch has no other way to know its device. */
#ifndef FP_TESTS_FAKE_DEVICE_H
#define FP_TESTS_FAKE_DEVICE_H

#include "emulated_launch.h"
#include "gpu/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake_device {
    fastpair_gpu gpu;
    int numbers
        [FP_KERNELS]; /* of the kernels in the emulator; a function's handle is the address of its number */
    uint64_t seed; /* of the order of lanes */
    uint8_t *memory, *output, *offsets;
    uint64_t memory_bytes, output_bytes, offsets_bytes;
    uint32_t status;
    int only_counts; /* launches are counted, and run nothing */
    int wants_all;   /* launches that pass a part of their parameters are refused */
    uint32_t launches[FP_KERNELS], most_chunks, most_groups; /* the latter of assembled kernels */
    uint64_t batches, most_batches; /* of assembled kernels: in all launches, and in one */
    uint64_t copies;                /* from the host */
} fake_device;

enum { FAKE_LAUNCH_FAILED = 719 }; /* what the driver says when a kernel goes wrong */

static fake_device fake;

static fp_cu_result fake_push(fp_cu_context context) { return context ? 0 : 1; }
static fp_cu_result fake_pop(fp_cu_context *context) { return *context = NULL, 0; }
static fp_cu_result fake_id(fp_cu_context context, unsigned long long *id) {
    return *id = 0, context == NULL;
}
static fp_cu_result fake_text(fp_cu_result result, const char **text) {
    return *text = "made up", result < 0;
}

static fp_cu_result fake_copy_in(fp_cu_pointer to, const void *from, size_t size,
                                 fp_cu_stream stream) {
    (void)stream;
    fake.copies++;
    memcpy((void *)(uintptr_t)to, from, size); /* the sanitizer watches both */
    return 0;
}

static fp_cu_result fake_copy(fp_cu_pointer to, fp_cu_pointer from, size_t size,
                              fp_cu_stream stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    return 0;
}

static fp_cu_result fake_fill(fp_cu_pointer to, unsigned char value, size_t size,
                              fp_cu_stream stream) {
    (void)stream;
    memset((void *)(uintptr_t)to, value, size);
    return 0;
}

/* Counts a launch of the library's table; what is wrong with it, or NULL. */
static const char *fake_inspect(const int *number, const void *first, size_t bytes, unsigned blocks,
                                unsigned threads, unsigned shared) {
    uint32_t i = 0;
    while (i < FP_KERNELS && number != &fake.numbers[i]) i++;
    if (i == FP_KERNELS) return NULL; /* a kernel beside the decoders */
    const fp_kernel *kernel = &fp_kernel_table()[i];
    fake.launches[i]++;
    if (threads > kernel->threads || threads % 32)
        return "more threads than the kernel was compiled for";
    if (kernel->static_shared + shared > fake.gpu.info.shared_per_block)
        return "too much shared memory";
    if (!fp_kernel_is_assembled(kernel)) return NULL;
    const fp_gpu_span_launch *launch = first;
    uint32_t count = launch->span_count, groups = 0;
    if (count < 1 || count > FP_GPU_SPANS ||
        bytes != FP_GPU_SPAN_LAUNCH_BYTES(fake.wants_all ? FP_GPU_SPANS : count))
        return "more chunks than the parameters hold";
    if (launch->blocks != blocks || launch->teams < 1 || launch->teams > blocks)
        return "blocks without a team, or a team without blocks";
    for (uint32_t s = 0; s < count; s++) {
        const fp_gpu_span *span = &launch->spans[s];
        int is_last = s + 1 == count || span[1].group != span->group;
        groups += is_last;
        if (span->first_batch >= span[1].first_batch) return "a span that nothing is in";
        if (is_last ? span->group_end != span[1].first_batch : span->group_end != span[1].group_end)
            return "a group whose end is elsewhere";
    }
    if (launch->spans[count].first_batch != launch->batches) return "batches that are in no span";
    if (count > fake.most_chunks) fake.most_chunks = count;
    if (groups > fake.most_groups) fake.most_groups = groups;
    fake.batches += launch->batches;
    if (launch->batches > fake.most_batches) fake.most_batches = launch->batches;
    return NULL;
}

static fp_cu_result fake_launch(fp_cu_function function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared, fp_cu_stream stream,
                                void **parameters, void **extra) {
    const int *number = function;
    const char *error = NULL;
    uint32_t second = 0;
    size_t bytes;
    const void *first = emulated_first(*number, parameters, extra, &bytes);
    (void)stream;
    if (extra && fake.wants_all) return FP_CU_INVALID_VALUE;
    if (!grid_x || !grid_y || grid_y > 65535 || grid_z != 1 || !block_x || block_y != 1 ||
        block_z != 1)
        error = "a grid that no device takes";
    if (!error) error = fake_inspect(number, first, bytes, grid_x, block_x, shared);
    if (emulated_has_second(*number)) memcpy(&second, parameters[1], sizeof second);
    emulated_forget(fake.seed);
    emulated_know(fake.memory, fake.memory_bytes, "device memory");
    emulated_know(fake.output, fake.output_bytes, "output");
    emulated_know(fake.offsets, fake.offsets_bytes, "row offsets");
    emulated_know(&fake.status, 4, "status");
    if (!error && !fake.only_counts)
        error = emulated_launch(*number, first, bytes, second, grid_x, grid_y, block_x, shared);
    if (error) fprintf(stderr, "kernel %d: %s\n", *number, error);
    return error ? FAKE_LAUNCH_FAILED : 0;
}

/* A GPU as an H100 is, but for the kernels that the emulator lacks: their numbers are below 0. */
static void fake_open(const fastpair_allocator *allocator) {
    static int helpers[3] = {EMULATED_ROW_OFFSETS, EMULATED_MEASURE_BATCHES, EMULATED_SCAN_BATCHES};
    fake = (fake_device){.gpu = {.allocator = *allocator, .context = helpers}};
    fastpair_gpu *gpu = &fake.gpu;
    gpu->driver.context_push = fake_push, gpu->driver.context_pop = fake_pop;
    gpu->driver.context_id = fake_id;
    gpu->driver.error_text = fake_text, gpu->driver.launch = fake_launch;
    gpu->driver.copy_to_device = fake_copy_in, gpu->driver.copy_on_device = fake_copy;
    gpu->driver.fill = fake_fill;
    gpu->info = (fastpair_gpu_info){.struct_size = sizeof gpu->info,
                                    .compute_major = 9,
                                    .multiprocessors = 132,
                                    .warps_per_multiprocessor = 64,
                                    .registers_per_multiprocessor = 65536,
                                    .shared_per_multiprocessor = 233472,
                                    .shared_per_block = 232448,
                                    .shared_reserved_per_block = 1024};
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        fake.numbers[i] = emulated_find(fp_kernel_table()[i].name);
        gpu->kernels[i] = &fake.numbers[i];
    }
    gpu->row_offsets = &helpers[0], gpu->measure_batches = &helpers[1],
    gpu->scan_batches = &helpers[2];
}

/* Whether the emulator has all kernels of a batch. */
static inline int fake_has_kernels(const fastpair_gpu_batch *batch) {
    for (uint64_t g = 0; g < batch->group_count; g++)
        if (fake.numbers[batch->groups[g].kernel] < 0) return 0;
    return 1;
}

static uint8_t *fake_block(uint64_t size) {
    void *memory;
    if (posix_memalign(&memory, 256, size ? size : 1)) abort();
    memset(memory, 0xee, size);
    return memory;
}

/* Memory for a batch, and a destination there with 64-bit offsets. */
static fastpair_gpu_destination fake_allocate(const fastpair_gpu_batch *batch) {
    fake.memory_bytes = batch->device_bytes, fake.memory = fake_block(fake.memory_bytes);
    fake.output_bytes = batch->output_bytes, fake.output = fake_block(fake.output_bytes);
    fake.offsets_bytes = 8 * batch->row_slots, fake.offsets = fake_block(fake.offsets_bytes);
    fake.status = 0;
    return (fastpair_gpu_destination){.struct_size = sizeof(fastpair_gpu_destination),
                                      .output = (uint64_t)(uintptr_t)fake.output,
                                      .output_bytes = fake.output_bytes,
                                      .row_offsets = (uint64_t)(uintptr_t)fake.offsets,
                                      .offset_bits = 64,
                                      .status = (uint64_t)(uintptr_t)&fake.status};
}

static void fake_release(void) { free(fake.memory), free(fake.output), free(fake.offsets); }

#endif
