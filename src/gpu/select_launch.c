/* select_launch.c - queueing a selection. In: a bitmap or row numbers, scratch. Out: kernels on the
 * caller's stream: bits are counted, scanned and listed, rows measured and scanned; then the output's
 * room is compared and rows are decoded. Refuses what could not be addressed. */
#include "options.h"
#include "select.h"

#define MOST_ROWS   (1ull << 38) /* blocks are counted in 31 bits */
#define BLOCK_ROWS  (FP_GPU_HELPER_THREADS / 32 * FP_GPU_SELECT_TILE)
#define BITMAP_ROWS (32ull * FP_GPU_SELECT_WORDS)

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

FP_GPU_ASSERT(FP_GPU_TOO_SMALL == FASTPAIR_GPU_TOO_SMALL && FP_GPU_BAD_ROW == FASTPAIR_GPU_BAD_ROW,
              "kernels report the bits of fastpair_gpu_select.h");

/* ---------------------------------------------------------------- scratch */

/* Places in the scratch, in bytes. */
typedef struct scratch_places {
    uint64_t bitmap_counts, list, tiles, groups, pieces, end;
    uint64_t most;
    uint32_t number_bits;
} scratch_places;

static uint64_t divide_up(uint64_t value, uint64_t by) { return value / by + (value % by != 0); }

static uint64_t take(uint64_t *at, uint64_t bytes) {
    uint64_t place = *at;
    *at = fp_device_align(place + bytes);
    return place;
}

static fastpair_status place_scratch(const fastpair_gpu_select *select,
                                     const fastpair_gpu_selection *selection,
                                     scratch_places *placed, fastpair_error *error) {
    REFUSE(!select || !selection, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "select and selection must not be NULL");
    fastpair_status status = fp_struct_check("selection", selection, sizeof *selection, error);
    if (status) return status;
    uint64_t rows = fp_rows_column(select->rows)->rows, most = selection->most_rows;
    int is_bitmap = selection->bitmap != 0;
    /* An address of no numbers at all may be 0. */
    REFUSE(is_bitmap ? selection->numbers != 0 : !selection->numbers && most,
           FASTPAIR_ERROR_INVALID_ARGUMENT, "a selection has either a bitmap or row numbers");
    if (is_bitmap && (!most || most > rows)) most = rows;
    REFUSE(most > MOST_ROWS || rows > MOST_ROWS, FASTPAIR_ERROR_LIMIT,
           "a selection has at most %llu rows", (unsigned long long)MOST_ROWS);
    *placed = (scratch_places){.most = most, .number_bits = selection->number_bits};
    uint64_t at = 0;
    take(&at, 32); /* totals */
    if (is_bitmap) {
        placed->number_bits = rows > UINT32_MAX ? 64 : 32;
        placed->bitmap_counts = take(&at, 8 * divide_up(rows, BITMAP_ROWS));
        placed->list = take(&at, most * (placed->number_bits / 8));
    }
    placed->tiles = take(&at, 8 * divide_up(most, FP_GPU_SELECT_TILE));
    placed->groups = take(&at, 8 * divide_up(most, FP_GPU_SELECT_GROUP));
    placed->pieces = take(&at, 8 * divide_up(most, FP_GPU_SELECT_GROUP));
    placed->end = at;
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_select_scratch(const fastpair_gpu_select *select,
                                            const fastpair_gpu_selection *selection,
                                            uint64_t *bytes, fastpair_error *error) {
    scratch_places placed;
    REFUSE(!bytes, FASTPAIR_ERROR_INVALID_ARGUMENT, "bytes must not be NULL");
    fastpair_status status = place_scratch(select, selection, &placed, error);
    if (!status) *bytes = placed.end;
    return status;
}

/* Checks a selection and what it needs, and describes it to kernels. */
static fastpair_status describe(const fastpair_gpu_select *select,
                                const fastpair_gpu_selection *selection,
                                const fastpair_gpu_block *scratch, fp_gpu_selection *of,
                                fastpair_error *error) {
    scratch_places placed;
    fastpair_status status = place_scratch(select, selection, &placed, error);
    if (!status) status = fp_gpu_block_check("scratch", scratch, placed.end, error);
    if (status) return status;
    REFUSE(placed.number_bits != 32 && placed.number_bits != 64 && placed.most,
           FASTPAIR_ERROR_INVALID_ARGUMENT, "row numbers have 32 or 64 bits");
    REFUSE(selection->bitmap % 4 ||
               (placed.number_bits && selection->numbers % (placed.number_bits / 8)),
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "a bitmap must be at a multiple of 4, row numbers at one of their size");
    REFUSE(!select->device_memory && select->bytes, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the select has not been uploaded");
    *of = (fp_gpu_selection){.chunks = select->device_memory,
                             .rows = fp_rows_column(select->rows)->rows,
                             .chunk_count = (uint32_t)fp_rows_column(select->rows)->chunks,
                             .number_bits = placed.number_bits,
                             .list = selection->numbers,
                             .most = placed.most,
                             .bitmap = selection->bitmap,
                             .totals = scratch->address,
                             .tiles = scratch->address + placed.tiles,
                             .groups = scratch->address + placed.groups,
                             .pieces = scratch->address + placed.pieces};
    if (selection->bitmap) {
        of->list = scratch->address + placed.list;
        of->bitmap_counts = scratch->address + placed.bitmap_counts;
    }
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- launches */

static fp_cu_result launch_kernel(const fastpair_gpu *gpu, fp_cu_function function, uint64_t blocks,
                                  fp_gpu_select_launch *parameters, fp_cu_stream stream) {
    fp_launch launch = {.function = function,
                        .blocks_x = (uint32_t)blocks,
                        .blocks_y = 1,
                        .threads = FP_GPU_HELPER_THREADS,
                        .parameters = parameters,
                        .used = sizeof *parameters,
                        .size = sizeof *parameters};
    return blocks ? fp_gpu_launch(gpu, &launch, stream) : 0;
}

static fp_cu_result launch_scan(const fastpair_gpu *gpu, fp_gpu_select_scan scan,
                                fp_cu_stream stream) {
    fp_launch launch = {.function = gpu->select_scan,
                        .blocks_x = scan.values[1] ? 2 : 1,
                        .blocks_y = 1,
                        .threads = FP_GPU_HELPER_THREADS,
                        .parameters = &scan,
                        .used = sizeof scan,
                        .size = sizeof scan};
    return fp_gpu_launch(gpu, &launch, stream);
}

static fp_cu_result launch_sizes(const fastpair_gpu *gpu, fp_gpu_select_launch *launched,
                                 fp_cu_stream stream) {
    const fp_gpu_selection *of = &launched->of;
    uint64_t groups = divide_up(of->most, FP_GPU_SELECT_GROUP);
    uint64_t blocks = 8ull * gpu->info.multiprocessors;
    fp_gpu_select_scan rows = {.values = {of->groups, of->pieces},
                               .total = {of->totals + 8, of->totals + 24},
                               .count = of->most,
                               .counted = of->totals,
                               .each = FP_GPU_SELECT_GROUP};
    fp_cu_result result = 0;
    if (of->bitmap) {
        uint64_t counts = divide_up(of->rows, BITMAP_ROWS);
        fp_gpu_select_scan bits = {
            .values = {of->bitmap_counts}, .total = {of->totals}, .count = counts};
        result = launch_kernel(gpu, gpu->select_count_bits, counts, launched, stream);
        if (!result) result = launch_scan(gpu, bits, stream);
        if (!result) result = launch_kernel(gpu, gpu->select_list_bits, counts, launched, stream);
    }
    if (groups < blocks) blocks = groups ? groups : 1;
    if (!result) result = launch_kernel(gpu, gpu->select_measure, blocks, launched, stream);
    return result ? result : launch_scan(gpu, rows, stream);
}

fastpair_status fastpair_gpu_select_sizes(const fastpair_gpu_select *select,
                                          const fastpair_gpu_selection *selection,
                                          const fastpair_gpu_block *scratch, void *stream,
                                          fastpair_error *error) {
    fp_gpu_select_launch launched = {0};
    fastpair_status status = describe(select, selection, scratch, &launched.of, error);
    if (status) return status;
    const fastpair_gpu *gpu = select->rows->job->gpu;
    if ((status = fp_gpu_push(gpu, error))) return status;
    fp_cu_result result = launch_sizes(gpu, &launched, stream);
    if (result) status = fp_driver_fail(&gpu->driver, result, "launching a selection", error);
    fp_gpu_pop(gpu);
    return status;
}

/* ---------------------------------------------------------------- decode */

static fastpair_status check_selected(const fastpair_gpu_selected *to, fastpair_error *error) {
    REFUSE(!to, FASTPAIR_ERROR_INVALID_ARGUMENT, "selected must not be NULL");
    fastpair_status status = fp_struct_check("selected", to, sizeof *to, error);
    if (status) return status;
    REFUSE(!to->bytes && to->bytes_capacity, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "selected rows need memory for their bytes");
    REFUSE(to->offsets && to->offset_bits != 32 && to->offset_bits != 64,
           FASTPAIR_ERROR_INVALID_ARGUMENT, "offsets have 32 or 64 bits");
    REFUSE(to->decoded && ((to->decoded_offset_bits != 32 && to->decoded_offset_bits != 64) ||
                           !to->decoded_offsets),
           FASTPAIR_ERROR_INVALID_ARGUMENT, "a decoded column has offsets of 32 or 64 bits");
    REFUSE((to->offsets && to->offsets % (to->offset_bits / 8)) || to->validity % 4 ||
               to->status % 4 || to->decoded % 16 ||
               (to->decoded && to->decoded_offsets % (to->decoded_offset_bits / 8)),
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "offsets must be aligned to their size, validity and status to 4, a decoded column to "
           "16");
    return FASTPAIR_OK;
}

/* Blocks for the pieces of large tiles. A column of short rows has none. */
static uint64_t piece_blocks(const fastpair_gpu_select *select, const fastpair_gpu_selected *to) {
    uint64_t pieces = to->bytes_capacity / FP_GPU_SELECT_PIECE;
    uint64_t most = MOST_ROWS / BLOCK_ROWS; /* for more bytes than any device has */
    if (FP_GPU_SELECT_TILE * select->rows->longest < 2ull * FP_GPU_SELECT_PIECE) pieces = 0;
    pieces = divide_up(pieces, FP_GPU_HELPER_THREADS / 32);
    return pieces < most ? pieces : most;
}

fastpair_status fastpair_gpu_select_decode(const fastpair_gpu_select *select,
                                           const fastpair_gpu_selection *selection,
                                           const fastpair_gpu_block *scratch,
                                           const fastpair_gpu_selected *to, void *stream,
                                           fastpair_error *error) {
    fp_gpu_select_launch launched = {0};
    fastpair_status status = describe(select, selection, scratch, &launched.of, error);
    if (!status) status = check_selected(to, error);
    if (status) return status;
    launched.to = (fp_gpu_selected){.bytes = to->bytes,
                                    .bytes_capacity = to->bytes_capacity,
                                    .offsets = to->offsets,
                                    .validity = to->validity,
                                    .rows_capacity = to->rows_capacity,
                                    .status = to->status,
                                    .offset_bits = to->offset_bits};
    if (to->decoded)
        launched.from = (fp_gpu_decoded){.bytes = to->decoded,
                                         .size = fp_rows_column(select->rows)->decoded_bytes,
                                         .offsets = to->decoded_offsets,
                                         .offset_bits = to->decoded_offset_bits};
    const fastpair_gpu *gpu = select->rows->job->gpu;
    uint64_t rows = launched.of.most < to->rows_capacity ? launched.of.most : to->rows_capacity;
    if ((status = fp_gpu_push(gpu, error))) return status;
    fp_cu_result result = launch_kernel(gpu, gpu->select_check, 1, &launched, stream);
    if (!result)
        result =
            launch_kernel(gpu, gpu->select_pieces, piece_blocks(select, to), &launched, stream);
    if (!result)
        result =
            launch_kernel(gpu, gpu->select_decode, divide_up(rows, BLOCK_ROWS), &launched, stream);
    if (result) status = fp_driver_fail(&gpu->driver, result, "launching a selection", error);
    fp_gpu_pop(gpu);
    return status;
}
