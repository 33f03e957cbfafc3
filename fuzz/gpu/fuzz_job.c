/* fuzz_job.c - any column that opens, through the library's own GPU calls: laid out, uploaded and
 * decoded, by a driver whose device is the host and whose kernels run in the emulator.
 *
 * Where fuzz_gpu tests kernels, this tests the host side: what it plans for a hostile file, the
 * sizes it states, the grids it launches; and searches and selections on a column that nobody has
 * validated. Device memory and outputs have exactly the sizes that the library says. Demanded: every call stays inside them; a column that validates gives the CPU's
 * bytes, offsets and validity, and status 0; memory is given back. */
#include "fake_device.h"
#include "fastpair_gpu_select.h"
#include "fuzz.h"

enum { LARGEST_INPUT = 1 << 16, LARGEST_COLUMN = 1 << 16, MOST_CHUNKS = 60 };

/* ---------------------------------------------------------------- rows, searches, selections */

enum {
    ROWS,
    ROWS_SCRATCH,
    SELECT,
    GIVEN,
    SCRATCH,
    BYTES,
    OFFSETS,
    VALIDITY,
    STATUS,
    TABLES,
    FOUND
};
enum { BLOCKS = FOUND + 1 };

static fastpair_gpu_block take_block(void **blocks, int i, uint64_t size) {
    return (fastpair_gpu_block){fake_block(&blocks[i], 0, size), size};
}

/* A search for two bytes; its bitmap is in block GIVEN. */
static void run_search(const fastpair_column *column, fastpair_gpu_rows *rows, void **blocks,
                       uint32_t choice) {
    fastpair_error error;
    fastpair_search *search;
    fastpair_gpu_search *gpu_search;
    uint8_t wanted[2] = {(uint8_t)(choice >> 8), (uint8_t)(choice >> 16)};
    fastpair_pattern pattern = {wanted, 1 + (choice >> 5 & 1)};
    fastpair_predicate predicate = {.struct_size = sizeof predicate, .patterns = &pattern};
    predicate.kind = (fastpair_predicate_kind)(FASTPAIR_EQUALS + choice % 4);
    predicate.pattern_count = 1, predicate.negate = (int)(choice >> 9 & 1);
    fastpair_gpu_search_options options = {.struct_size = sizeof options};
    options.memory_limit = choice >> 10 & 1; /* byte by byte, or on codes */
    fastpair_gpu_search_info info = {.struct_size = sizeof info};
    DEMAND_OK(fastpair_search_open((fastpair_column *)(uintptr_t)column, &predicate, NULL, &search,
                                   &error),
              &error);
    DEMAND_OK(fastpair_gpu_search_open(rows, search, &options, &gpu_search, &error), &error);
    DEMAND_OK(fastpair_gpu_search_get_info(gpu_search, &info, &error), &error);
    fastpair_gpu_block tables = take_block(blocks, TABLES, info.device_bytes);
    fastpair_gpu_block found = take_block(blocks, FOUND, info.scratch_bytes);
    fastpair_gpu_matches to = {.struct_size = sizeof to};
    to.bitmap = take_block(blocks, GIVEN, info.bitmap_bytes).address;
    DEMAND_OK(fastpair_gpu_search_upload(gpu_search, &tables, NULL, &error), &error);
    DEMAND_OK(fastpair_gpu_search_run(gpu_search, &found, &to, NULL, &error), &error);
    fastpair_gpu_search_close(gpu_search);
    fastpair_search_close(search);
}

/* What was selected of a valid column: the CPU selects the same. */
static void compare_selection(const fastpair_column *column, void **blocks) {
    uint64_t count = column->totals.rows, rows = 0, size = 0;
    const uint64_t *sizes = blocks[SCRATCH];
    fastpair_error error;
    DEMAND(*(const uint32_t *)blocks[STATUS] == 0);
    DEMAND_OK(fastpair_column_selected_size(column, 0, count, blocks[GIVEN], &rows, &size, &error),
              &error);
    DEMAND(sizes[0] == rows && sizes[1] == size);
    uint8_t *bytes = malloc(size + 1), *validity = calloc(rows / 8 + 1, 1);
    uint64_t *offsets = malloc((rows + 1) * sizeof *offsets);
    DEMAND(bytes && validity && offsets);
    fastpair_destination to = to_memory(bytes, size, offsets, 64, validity);
    DEMAND_OK(fastpair_column_decode_selected(column, 0, count, blocks[GIVEN], &to, &error),
              &error);
    DEMAND(!size || !memcmp(blocks[BYTES], bytes, size));
    DEMAND(!memcmp(blocks[OFFSETS], offsets, 8 * (rows + 1)));
    DEMAND(!rows || !memcmp(blocks[VALIDITY], validity, (rows + 7) / 8));
    free(bytes), free(validity), free(offsets);
}

/* Selects what was found, in room for all rows of an honest column. */
static void run_selection(const fastpair_column *column, fastpair_gpu_rows *rows, void **blocks,
                          int valid) {
    fastpair_error error;
    fastpair_gpu_select *select;
    fastpair_gpu_select_info info = {.struct_size = sizeof info};
    uint64_t count = column->totals.rows, size = 0;
    DEMAND_OK(fastpair_gpu_select_open(rows, &select, &error), &error);
    DEMAND_OK(fastpair_gpu_select_get_info(select, &info, &error), &error);
    fastpair_gpu_block memory = take_block(blocks, SELECT, info.device_bytes);
    DEMAND_OK(fastpair_gpu_select_upload(select, &memory, NULL, &error), &error);
    fastpair_gpu_selection selection = {.struct_size = sizeof selection};
    selection.bitmap = (uint64_t)(uintptr_t)blocks[GIVEN];
    DEMAND_OK(fastpair_gpu_select_scratch(select, &selection, &size, &error), &error);
    fastpair_gpu_block scratch = take_block(blocks, SCRATCH, size);
    fastpair_gpu_selected to = {
        .struct_size = sizeof to, .rows_capacity = count, .offset_bits = 64};
    to.bytes_capacity = column->totals.decoded_bytes;
    to.bytes = take_block(blocks, BYTES, to.bytes_capacity).address;
    to.offsets = take_block(blocks, OFFSETS, 8 * (count + 1)).address;
    to.validity = take_block(blocks, VALIDITY, (count + 31) / 32 * 4).address;
    to.status = take_block(blocks, STATUS, 4).address;
    memset(blocks[STATUS], 0, 4);
    DEMAND_OK(fastpair_gpu_select_sizes(select, &selection, &scratch, NULL, &error), &error);
    DEMAND_OK(fastpair_gpu_select_decode(select, &selection, &scratch, &to, NULL, &error), &error);
    if (valid) compare_selection(column, blocks);
    fastpair_gpu_select_close(select);
}

static void run_rows(fastpair_gpu_job *job, const fastpair_column *column, uint32_t choice,
                     int valid) {
    void *blocks[BLOCKS] = {NULL};
    fastpair_error error;
    fastpair_gpu_rows *rows;
    fastpair_gpu_rows_info info = {.struct_size = sizeof info};
    DEMAND_OK(fastpair_gpu_rows_open(job, 0, &rows, &error), &error);
    DEMAND_OK(fastpair_gpu_rows_get_info(rows, &info, &error), &error);
    fastpair_gpu_block memory = take_block(blocks, ROWS, info.device_bytes);
    fastpair_gpu_block scratch = take_block(blocks, ROWS_SCRATCH, info.scratch_bytes);
    DEMAND_OK(fastpair_gpu_rows_prepare(rows, &memory, &scratch, 0, NULL, &error), &error);
    run_search(column, rows, blocks, choice);
    run_selection(column, rows, blocks, valid);
    fastpair_gpu_rows_close(rows);
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
}

/* ---------------------------------------------------------------- jobs */

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
    if (job->outputs == (FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY) && info.chunks)
        run_rows(job, column, choice, valid);
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
