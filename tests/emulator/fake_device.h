/* fake_device.h - the made-up GPU of tests/gpu/fake_cuda.h in this program, for the library's own
 * GPU calls: its kernels run in the emulator, in memory of exactly the sizes the library states.
 * Launches that the hardware would refuse are refused, and all are counted. One thread only. */
#ifndef FP_TESTS_FAKE_DEVICE_H
#define FP_TESTS_FAKE_DEVICE_H

#include "emulated_launch.h"
#include "fake_cuda.h"
#include "gpu/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake_device {
    fastpair_gpu gpu; /* as the library opened it; tests may alter what it says of the device */
    uint8_t *memory, *output, *offsets;
    uint64_t memory_bytes, output_bytes, offsets_bytes;
    uint32_t status;
    uint32_t launches[FP_KERNELS], most_chunks, most_groups; /* the latter of assembled kernels */
    uint64_t batches, most_batches; /* of assembled kernels: in all launches, and in one */
} fake_device;

static fake_device fake;

/* Counts a launch of the library's table; what is wrong with it, or NULL. */
static const char *fake_inspect(const fake_launch *l) {
    uint32_t i = 0;
    while (i < FP_KERNELS && strcmp(l->symbol, fp_kernel_table()[i].symbol) != 0) i++;
    if (i == FP_KERNELS) return NULL; /* a kernel beside the decoders */
    const fp_kernel *kernel = &fp_kernel_table()[i];
    fake.launches[i]++;
    if (l->threads > kernel->threads || l->threads % 32)
        return "more threads than the kernel was compiled for";
    if (kernel->static_shared + l->shared > fake.gpu.info.shared_per_block)
        return "too much shared memory";
    if (!fp_kernel_is_assembled(kernel)) return NULL;
    const fp_gpu_span_launch *launch = l->first;
    uint32_t count = launch->span_count, groups = 0;
    if (count < 1 || count > FP_GPU_SPANS ||
        l->first_bytes != FP_GPU_SPAN_LAUNCH_BYTES(l->extra ? count : FP_GPU_SPANS))
        return "more chunks than the parameters hold";
    if (launch->blocks != l->grid_x || launch->teams < 1 || launch->teams > l->grid_x)
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

/* Opens the device once; each call gives a fresh copy of it, with nothing counted. */
static void fake_open(const fastpair_allocator *allocator) {
    static fastpair_gpu *opened;
    fastpair_error error = {0};
    if (!opened && fastpair_gpu_open(NULL, &opened, &error)) {
        fprintf(stderr, "fake_open: %s\n", error.message);
        abort();
    }
    fake = (fake_device){.gpu = *opened};
    fake.gpu.allocator = *allocator;
    fake_wish = (fake_wishes){.inspect = fake_inspect};
}

/* Whether the emulator has all kernels of a batch. */
static inline int fake_has_kernels(const fastpair_gpu_batch *batch) {
    for (uint64_t g = 0; g < batch->group_count; g++)
        if (emulated_find(fp_kernel_table()[batch->groups[g].kernel].name) < 0) return 0;
    return 1;
}

static uint8_t *fake_block(uint64_t size) {
    fp_cu_pointer memory;
    if (fake.gpu.driver.allocate(&memory, size)) abort();
    memset((void *)(uintptr_t)memory, 0xee, size);
    return (uint8_t *)(uintptr_t)memory;
}

/* Memory for a batch, and a destination there with 64-bit offsets. */
static fastpair_gpu_destination fake_allocate(const fastpair_gpu_batch *batch) {
    fake.memory_bytes = batch->device_bytes, fake.memory = fake_block(fake.memory_bytes);
    fake.output_bytes = batch->output_bytes, fake.output = fake_block(fake.output_bytes);
    fake.offsets_bytes = 8 * batch->row_slots, fake.offsets = fake_block(fake.offsets_bytes);
    fake.status = 0;
    fake_forget_memory();
    fake_know_memory(&fake.status, sizeof fake.status);
    return (fastpair_gpu_destination){.struct_size = sizeof(fastpair_gpu_destination),
                                      .output = (uint64_t)(uintptr_t)fake.output,
                                      .output_bytes = fake.output_bytes,
                                      .row_offsets = (uint64_t)(uintptr_t)fake.offsets,
                                      .offset_bits = 64,
                                      .status = (uint64_t)(uintptr_t)&fake.status};
}

static void fake_release(void) {
    uint8_t *const blocks[] = {fake.memory, fake.output, fake.offsets};
    for (int i = 0; i < 3; i++) fake.gpu.driver.release((fp_cu_pointer)(uintptr_t)blocks[i]);
}

#endif
