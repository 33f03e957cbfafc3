/* fuzz_batch.c - any column that opens, through the library's own GPU calls: laid out, uploaded and decoded, by a driver whose
 * device is the host and whose kernels run in the emulator.
 *
 * Where fuzz_gpu tests kernels, this tests the host side: the tables it makes of a hostile file, the sizes it states, the grids it
 * launches. Device memory, output and row offsets have exactly the sizes the library says. What is demanded: every call stays
 * inside them; a column that validates gives the CPU's bytes and row offsets; memory is given back. */
#include "fake_device.h"
#include "fuzz.h"

enum { LARGEST_INPUT = 1 << 16, LARGEST_COLUMN = 1 << 16, MOST_CHUNKS = 60 };

/* A column must be the same on the CPU; and decode there, if it `must`. */
static void demand_column(const fastpair_gpu_batch *batch, const fastpair_column *column,
                          uint64_t number, uint64_t first_slot, int must) {
    uint64_t rows = column->totals.rows, size = column->totals.decoded_bytes, at;
    uint8_t *bytes = fuzz_need(size);
    uint64_t *offsets = fuzz_need((rows + 1) * sizeof *offsets);
    fastpair_destination to = {bytes, size, offsets, 64, NULL, 0};
    fastpair_error error;
    fastpair_status status = fastpair_column_decode(column, 0, rows, &to, 1, &error);
    if (must) DEMAND_OK(status, &error);
    if (status == FASTPAIR_OK) {
        DEMAND_OK(fastpair_gpu_batch_get_column(batch, number, &at, NULL, NULL, &error), &error);
        DEMAND(!memcmp(fake.output + at, bytes, size));
        DEMAND(!memcmp(fake.offsets + 8 * first_slot, offsets, 8 * (rows + 1)));
    }
    free(bytes), free(offsets);
}

/* Uploads and decodes, all at once or chunk by chunk, and compares. */
static void run_batch(fastpair_gpu_batch *batch, const fastpair_column *column, uint64_t columns,
                      int one_by_one, int valid) {
    fastpair_gpu_batch_info info = {.struct_size = sizeof info};
    fastpair_error error;
    DEMAND_OK(fastpair_gpu_batch_get_info(batch, &info, &error), &error);
    DEMAND(info.rows + columns == batch->row_slots);
    fastpair_gpu_destination to = fake_allocate(batch);
    uint64_t step = one_by_one ? 1 : info.chunks;
    for (uint64_t first = 0; first < info.chunks; first += step) {
        DEMAND_OK(fastpair_gpu_batch_upload(batch, (uint64_t)(uintptr_t)fake.memory,
                                            info.device_bytes, first, step, NULL, &error),
                  &error);
        DEMAND_OK(fastpair_gpu_batch_decode(batch, first, step, &to, NULL, &error), &error);
    }
    if (valid) DEMAND(fake.status == 0);
    for (uint64_t c = 0; c < columns && fake.status == 0 && info.chunks; c++)
        demand_column(batch, column, c, c * (column->totals.rows + 1), valid);
    fake_release();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fastpair_column *column;
    fastpair_error error;
    if (size > LARGEST_INPUT ||
        fastpair_column_open(data, size, NULL, &column, &error) != FASTPAIR_OK)
        return 0;
    if (column->totals.decoded_bytes <= LARGEST_COLUMN && column->totals.rows <= LARGEST_COLUMN &&
        column->totals.chunks <= MOST_CHUNKS) {
        fuzz_memory memory = {.cap = 256 << 20};
        fastpair_allocator allocator = fuzz_allocator(&memory);
        fake_open(&allocator);
        /* The same input always meets the same kernel, so that a finding can be repeated. */
        uint32_t choice = (uint32_t)(data[size / 2] + 7 * data[size / 3] + size);
        fake_wish.seed = choice;
        const fastpair_column *columns[2] = {column, column};
        uint64_t count = 1 + (choice >> 3 & 1);
        uint32_t named = choice / 16 % (2 * FP_KERNELS);
        fastpair_gpu_batch_options options = {
            .struct_size = sizeof options,
            .kernel = named < FP_KERNELS ? fp_kernel_table()[named].name : NULL,
            .regenerate_sidecar = (int)(choice & 1)};
        fastpair_gpu_batch *batch = NULL;
        fastpair_status status =
            fastpair_gpu_batch_create(&fake.gpu, columns, count, &options, &batch, &error);
        DEMAND(status == FASTPAIR_OK ||
               (options.kernel && status == FASTPAIR_ERROR_INVALID_ARGUMENT));
        if (status == FASTPAIR_OK && fake_has_kernels(batch))
            run_batch(batch, column, count, choice & 2,
                      fastpair_column_validate(column, 1, &error) == FASTPAIR_OK);
        fastpair_gpu_batch_free(batch);
        DEMAND(memory.in_use == 0);
    }
    fastpair_column_close(column);
    return 0;
}
