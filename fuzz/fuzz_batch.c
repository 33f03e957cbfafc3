/* fuzz_batch.c - any column that opens, through the library's own GPU calls: laid out, uploaded and decoded, by a driver whose
 * device is the host and whose kernels run in the emulator.
 *
 * Where fuzz_gpu tests kernels, this tests the host side: the tables it makes of a hostile file, the sizes it states, the grids it
 * launches. Device memory, output and row offsets have exactly the sizes the library says. What is demanded: every call stays
 * inside them; a column that validates gives the CPU's bytes and row offsets; memory is given back. */
#include "emulated_launch.h"
#include "fuzz.h"
#include "gpu/batch.h"

enum { LARGEST_INPUT = 1 << 16, LARGEST_COLUMN = 1 << 15, MOST_CHUNKS = 60, MOST_SLOTS = 12000 };

/* What the emulator may touch at a launch; launches have no other way to know. One thread only. */
static struct device_state {
    const uint8_t *memory, *output, *offsets, *status;
    uint64_t memory_bytes, output_bytes, offsets_bytes;
    uint32_t choice;
} on_device;

static fp_cu_result fake_push(fp_cu_context context) { return context ? 0 : 1; }
static fp_cu_result fake_pop(fp_cu_context *context) { return *context = NULL, 0; }
static fp_cu_result fake_text(fp_cu_result result, const char **text) {
    return *text = "made up", result < 0;
}

static fp_cu_result fake_copy_in(fp_cu_pointer to, const void *from, size_t size, fp_cu_stream stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, size); /* the sanitizer watches both */
    return 0;
}

static fp_cu_result fake_copy(fp_cu_pointer to, fp_cu_pointer from, size_t size, fp_cu_stream stream) {
    return fake_copy_in(to, (const void *)(uintptr_t)from, size, stream);
}

static fp_cu_result fake_fill(fp_cu_pointer to, unsigned char value, size_t size, fp_cu_stream stream) {
    (void)stream;
    memset((void *)(uintptr_t)to, value, size);
    return 0;
}

/* A function's handle is the address of its number. */
static fp_cu_result fake_launch(fp_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                fp_cu_stream stream, void **parameters, void **extra) {
    (void)stream, (void)extra;
    DEMAND(grid_x && grid_y && grid_y < 65536 && grid_z == 1 && block_y == 1 && block_z == 1);
    uint32_t second = 0;
    if (emulated_has_second(*(const int *)function)) memcpy(&second, parameters[1], sizeof second);
    emulated_forget(on_device.choice);
    emulated_know(on_device.memory, on_device.memory_bytes, "device memory");
    emulated_know(on_device.output, on_device.output_bytes, "output");
    emulated_know(on_device.offsets, on_device.offsets_bytes, "row offsets");
    emulated_know(on_device.status, 4, "status");
    const char *error =
        emulated_launch(*(const int *)function, parameters[0], second, grid_x, grid_y, block_x, shared);
    if (error) fprintf(stderr, "kernel %d: %s\n", *(const int *)function, error);
    DEMAND(!error);
    return 0;
}

/* A GPU as an H100 is, but for the kernels that the emulator lacks. */
static void make_gpu(fastpair_gpu *gpu, int *numbers, fuzz_memory *memory) {
    static int helpers[3] = {EMULATED_ROW_OFFSETS, EMULATED_MEASURE_BATCHES, EMULATED_SCAN_BATCHES};
    *gpu = (fastpair_gpu){.allocator = fuzz_allocator(memory), .context = helpers};
    gpu->driver.context_push = fake_push, gpu->driver.context_pop = fake_pop;
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
        numbers[i] = emulated_find(fp_kernel_table()[i].name);
        gpu->kernels[i] = &numbers[i];
    }
    gpu->row_offsets = &helpers[0], gpu->measure_batches = &helpers[1], gpu->scan_batches = &helpers[2];
}

static uint8_t *exact(uint64_t size) {
    void *memory;
    if (posix_memalign(&memory, 256, size ? size : 1)) abort();
    memset(memory, 0xee, size);
    return memory;
}

/* The same columns on the CPU; 1 if that went well. */
static void demand_column(const fastpair_gpu_batch *batch, const fastpair_column *column, uint64_t number,
                          uint64_t first_slot, int must) {
    uint64_t rows = column->totals.rows, size = column->totals.decoded_bytes, at;
    uint8_t *bytes = fuzz_need(size);
    uint64_t *offsets = fuzz_need((rows + 1) * sizeof *offsets);
    fastpair_destination to = {bytes, size, offsets, 64, NULL, 0};
    fastpair_error error;
    fastpair_status status = fastpair_column_decode(column, 0, rows, &to, 1, &error);
    if (must) DEMAND_OK(status, &error);
    if (status == FASTPAIR_OK) {
        DEMAND_OK(fastpair_gpu_batch_get_column(batch, number, &at, NULL, NULL, &error), &error);
        DEMAND(!memcmp(on_device.output + at, bytes, size));
        DEMAND(!memcmp(on_device.offsets + 8 * first_slot, offsets, 8 * (rows + 1)));
    }
    free(bytes), free(offsets);
}

/* Uploads and decodes, all at once or chunk by chunk, and compares. */
static void run_batch(fastpair_gpu_batch *batch, const fastpair_column *column, uint64_t columns, int valid) {
    fastpair_gpu_batch_info info = {.struct_size = sizeof info};
    fastpair_error error;
    DEMAND_OK(fastpair_gpu_batch_get_info(batch, &info, &error), &error);
    uint64_t slots = info.rows + columns, step = on_device.choice & 2 ? 1 : info.chunks;
    uint8_t *memory = exact(info.device_bytes), *output = exact(info.output_bytes),
            *offsets = exact(8 * slots);
    uint32_t status = 0;
    on_device.memory = memory, on_device.memory_bytes = info.device_bytes;
    on_device.output = output, on_device.output_bytes = info.output_bytes;
    on_device.offsets = offsets, on_device.offsets_bytes = 8 * slots;
    on_device.status = (const uint8_t *)&status;
    fastpair_gpu_destination to = {.struct_size = sizeof to,
                                   .output = (uint64_t)(uintptr_t)output,
                                   .output_bytes = info.output_bytes,
                                   .row_offsets = (uint64_t)(uintptr_t)offsets,
                                   .offset_bits = 64,
                                   .status = (uint64_t)(uintptr_t)&status};
    for (uint64_t first = 0; first < info.chunks; first += step) {
        DEMAND_OK(fastpair_gpu_batch_upload(batch, (uint64_t)(uintptr_t)memory, info.device_bytes, first,
                                            step, NULL, &error),
                  &error);
        DEMAND_OK(fastpair_gpu_batch_decode(batch, first, step, &to, NULL, &error), &error);
    }
    if (valid) DEMAND(status == 0);
    for (uint64_t c = 0; c < columns && status == 0 && info.chunks; c++)
        demand_column(batch, column, c, c * (column->totals.rows + 1), valid);
    free(memory), free(output), free(offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fastpair_column *column;
    fastpair_error error;
    if (size > LARGEST_INPUT || fastpair_column_open(data, size, NULL, &column, &error) != FASTPAIR_OK)
        return 0;
    uint32_t most_slots = 0;
    for (uint64_t i = 0; i < column->totals.dictionaries; i++)
        if (column->dictionaries[i].dict.code_slots > most_slots)
            most_slots = column->dictionaries[i].dict.code_slots;
    if (column->totals.decoded_bytes <= LARGEST_COLUMN && column->totals.rows <= LARGEST_COLUMN &&
        column->totals.chunks <= MOST_CHUNKS && most_slots <= MOST_SLOTS) {
        fuzz_memory memory = {.cap = 256 << 20};
        fastpair_gpu gpu;
        static int numbers[FP_KERNELS];
        make_gpu(&gpu, numbers, &memory);
        /* The same input always meets the same kernel, so that a finding can be repeated. */
        on_device.choice = (uint32_t)(data[size / 2] + 7 * data[size / 3] + size);
        const fastpair_column *columns[2] = {column, column};
        uint64_t count = 1 + (on_device.choice >> 3 & 1);
        uint32_t named = on_device.choice / 16 % (2 * FP_KERNELS);
        fastpair_gpu_batch_options options = {.struct_size = sizeof options,
                                              .kernel =
                                                  named < FP_KERNELS ? fp_kernel_table()[named].name : NULL,
                                              .regenerate_sidecar = (int)(on_device.choice & 1)};
        fastpair_gpu_batch *batch = NULL;
        fastpair_status status = fastpair_gpu_batch_create(&gpu, columns, count, &options, &batch, &error);
        DEMAND(status == FASTPAIR_OK || (options.kernel && status == FASTPAIR_ERROR_INVALID_ARGUMENT));
        int emulated = status == FASTPAIR_OK;
        for (uint64_t g = 0; emulated && g < batch->group_count; g++)
            emulated = numbers[batch->groups[g].kernel] >= 0;
        if (emulated)
            run_batch(batch, column, count, fastpair_column_validate(column, 1, &error) == FASTPAIR_OK);
        fastpair_gpu_batch_free(batch);
        DEMAND(memory.in_use == 0);
    }
    fastpair_column_close(column);
    return 0;
}
