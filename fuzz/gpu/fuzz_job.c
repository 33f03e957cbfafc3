/* fuzz_job.c - any column that opens, through the library's own GPU calls: laid out, uploaded and
 * decoded, by a driver whose device is the host and whose kernels run in the emulator.
 *
 * Where fuzz_gpu tests kernels, this tests the host side: what it plans for a hostile file, the
 * sizes it states, the grids it launches. Device memory and outputs have exactly the sizes that the
 * library says. Demanded: every call stays inside them; a column that validates gives the CPU's
 * bytes, offsets and validity, and status 0; memory is given back. */
#include "fake_device.h"
#include "fuzz.h"

enum { LARGEST_INPUT = 1 << 16, LARGEST_COLUMN = 1 << 16, MOST_CHUNKS = 60 };

/* Uploads and decodes, all at once or chunk by chunk from the end, and compares. */
static void run_job(fastpair_gpu_job *job, const fastpair_column *column, uint32_t choice,
                    int valid) {
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    fastpair_error error;
    DEMAND_OK(fastpair_gpu_job_get_info(job, &info, &error), &error);
    DEMAND(info.columns == job->column_count && info.rows == info.columns * column->totals.rows);
    fake_allocate(job, choice >> 7 & 1);
    uint64_t step = choice & 2 ? 1 : info.chunks, left = info.chunks;
    while (left) {
        left -= step;
        fastpair_gpu_range range = {left, step};
        DEMAND_OK(fastpair_gpu_job_upload(job, (uint64_t)(uintptr_t)fake.memory, info.device_bytes,
                                          &range, NULL, &error),
                  &error);
        DEMAND_OK(fastpair_gpu_job_decode(job, fake.outputs, &range, NULL, &error), &error);
    }
    for (uint64_t c = 0; c < info.columns && info.chunks; c++) {
        const char *differs = fake_status(c) ? NULL : fake_compare(column, c, valid);
        if (valid) DEMAND(fake_status(c) == 0);
        if (differs) fprintf(stderr, "column %d of the job: %s\n", (int)c, differs);
        DEMAND(!differs);
    }
    fake_release();
}

static void open_and_run(const fastpair_column *column, uint32_t choice) {
    const fastpair_column *columns[2] = {column, column};
    uint32_t named = choice / 256 % (2 * FP_KERNELS);
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .outputs = choice >> 4 & 3,
                                        .kernel = named < FP_KERNELS ? fp_kernel_table()[named].name
                                                                     : NULL,
                                        .regenerate_positions = (int)(choice & 1)};
    fastpair_gpu_job *job = NULL;
    fastpair_error error;
    fastpair_status status =
        fastpair_gpu_job_open(&fake.gpu, columns, 1 + (choice >> 3 & 1), &options, &job, &error);
    if (options.kernel && status == FASTPAIR_ERROR_INVALID_ARGUMENT) {
        options.kernel = NULL; /* it does not suit; another one does */
        status = fastpair_gpu_job_open(&fake.gpu, columns, 1 + (choice >> 3 & 1), &options, &job,
                                       &error);
    }
    if (status == FASTPAIR_ERROR_CORRUPT) { /* a chunk's header, which opening does not look at */
        DEMAND(!job && fastpair_column_validate(column, NULL) == FASTPAIR_ERROR_CORRUPT);
        return;
    }
    DEMAND_OK(status, &error);
    if (fake_has_kernels(job))
        run_job(job, column, choice, fastpair_column_validate(column, &error) == FASTPAIR_OK);
    fastpair_gpu_job_close(job);
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
        uint32_t choice = (uint32_t)(data[size / 2] + 7 * data[size / 3] + size) * 0x9e3779b1u >> 8;
        fake_wish.seed = choice;
        open_and_run(column, choice);
        DEMAND(memory.in_use == 0);
    }
    fastpair_column_close(column);
    return 0;
}
