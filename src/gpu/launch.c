/* launch.c - decoding a batch. In: an uploaded batch, a destination. Out: kernels queued on the caller's
 * stream. Nothing is allocated, waited for or read back, so the call may be captured in a graph. Refuses
 * destinations that are too small. */
#include "batch.h"

#include "kernels/work.h"
#include "options.h"

/* The second grid dimension counts chunks; the hardware's limit. */
#define MOST_CHUNKS_A_LAUNCH 65535u
/* Decoded bytes for which a launch of its own is no loss: a tenth of a millisecond's work. */
#define WORTH_A_LAUNCH (128u << 20)
/* Batches that make it worthwhile for one more block to copy a dictionary. */
#define BATCHES_A_BLOCK 8u
#define HELPER_THREADS  256u /* of the kernels beside the decoder */
#define HELPER_WARPS    (HELPER_THREADS / 32u)

static fastpair_status check_destination(const fastpair_gpu_batch *batch, const fastpair_gpu_destination *to,
                                         fastpair_error *error) {
    if ((!to->output && batch->output_bytes) || to->output % 16)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "output must be a device address at a multiple of 16");
    if (to->output_bytes < batch->output_bytes)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "the output needs %llu bytes, %llu were given",
                       (unsigned long long)batch->output_bytes, (unsigned long long)to->output_bytes);
    if (to->status % 4)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "status must be at a multiple of 4");
    if (!to->row_offsets) return FASTPAIR_OK;
    if ((to->offset_bits != 32 && to->offset_bits != 64) || to->row_offsets % (to->offset_bits / 8))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "offset_bits must be 32 or 64 and row_offsets aligned to it");
    for (uint64_t c = 0; c < batch->column_count; c++)
        if (to->offset_bits == 32 && batch->columns[c].column->totals.decoded_bytes > INT32_MAX)
            return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                           "column %llu decodes to more than INT32_MAX bytes; ask for 64-bit offsets",
                           (unsigned long long)c);
    return FASTPAIR_OK;
}

/* The most blocks any chunk of the slice needs, for each kernel of the launch. */
typedef struct slice_grids {
    uint32_t decode, positions, rows;
} slice_grids;

static uint32_t ceil_div(uint64_t value, uint64_t by) { return (uint32_t)((value + by - 1) / by); }

static slice_grids measure_slice(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count) {
    const fp_kernel *kernel = fp_chunk_kernel(batch, first);
    fp_block_needs needs = {kernel->threads, fp_register_limit(kernel->threads, kernel->blocks),
                            kernel->static_shared + fp_kernel_dynamic_shared(kernel, batch->most_slots)};
    uint32_t resident = batch->gpu->info.multiprocessors * fp_resident_blocks(&batch->gpu->info, &needs);
    slice_grids grids = {0};
    for (uint64_t i = first; i < first + count; i++) {
        const fp_batch_chunk *placed = &batch->chunks[i];
        uint64_t batches = fp_kernel_batches(placed->chunk, kernel->codes_per_lane);
        uint32_t decode = ceil_div(batches, kernel->threads / 32);
        /* Blocks that copy a dictionary first go through many batches each: no more than are resident. */
        if (kernel->dictionary_shared && decode > resident) decode = resident;
        uint32_t positions = placed->positions ? ceil_div(batches, HELPER_WARPS) : 0;
        uint32_t rows = ceil_div(ceil_div(placed->chunk->rows, FP_LENGTH_BLOCK), HELPER_WARPS);
        if (decode > grids.decode) grids.decode = decode;
        if (positions > grids.positions) grids.positions = positions;
        if (rows > grids.rows) grids.rows = rows;
    }
    return grids;
}

/* Work for chunks first .. first + count, if the parameters hold so many; else the kernel goes by the
 * tables. */
static void fill_work(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count, uint64_t room,
                      fp_gpu_launch *parameters) {
    fp_gpu_work *work = parameters->work; /* goes on behind the launch if that is wide */
    const fp_kernel *kernel = fp_chunk_kernel(batch, first);
    const fp_gpu_chunk *chunks = (const fp_gpu_chunk *)(const void *)batch->tables + first;
    const fp_gpu_dict *dicts = (const fp_gpu_dict *)(const void *)(batch->tables + batch->dict_table);
    parameters->has_work = count <= room;
    for (uint64_t i = 0; i < count && parameters->has_work; i++) {
        work[i] = fp_gpu_work_make(&chunks[i], dicts + (chunks[i].code_count ? chunks[i].dict : 0),
                                   parameters->out, kernel->codes_per_lane, kernel->low_bytes);
        work[i].first_batch = chunks[i].first_batch;
    }
}

/* How many of `left` chunks go into one launch. One kernel decodes them; and for a staged one, no more than the
 * parameters hold, if that keeps the device busy for long enough that the launch itself does not count. */
static uint64_t slice_size(const fastpair_gpu_batch *batch, uint64_t first, uint64_t left) {
    uint32_t kernel = batch->groups[batch->chunks[first].group].kernel;
    uint64_t count = 1, bytes = 0;
    while (count < left && count < MOST_CHUNKS_A_LAUNCH &&
           batch->groups[batch->chunks[first + count].group].kernel == kernel)
        count++;
    if (count <= FP_GPU_WORK_CHUNKS || fp_kernel_is_assembled(&fp_kernel_table()[kernel])) return count;
    for (uint32_t i = 0; i < FP_GPU_WORK_CHUNKS; i++) bytes += batch->chunks[first + i].chunk->decoded_bytes;
    return bytes >= WORTH_A_LAUNCH ? FP_GPU_WORK_CHUNKS : count;
}

static fp_cu_result launch_staged(const fastpair_gpu_batch *batch, uint64_t first, uint32_t blocks,
                                  unsigned chunks, fp_gpu_launch *parameters, fp_cu_stream stream) {
    const fp_kernel *kernel = fp_chunk_kernel(batch, first);
    unsigned slots = batch->most_slots, shared = fp_kernel_dynamic_shared(kernel, slots);
    void *arguments[] = {parameters, &slots};
    return batch->gpu->driver.launch(batch->gpu->kernels[kernel - fp_kernel_table()], blocks, chunks, 1,
                                     kernel->threads, 1, 1, shared, stream, arguments, NULL);
}

/* Blocks that stay on their multiprocessor, as many as fit, for each of the slice's groups. */
static fp_cu_result launch_assembled(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count,
                                     fp_gpu_launch *parameters, fp_cu_stream stream) {
    const fastpair_gpu_info *info = &batch->gpu->info;
    const fp_kernel *kernel = fp_chunk_kernel(batch, first);
    uint32_t first_group = batch->chunks[first].group, last_group = batch->chunks[first + count - 1].group;
    uint32_t image = 0, staging = 0;
    for (uint32_t g = first_group; g <= last_group; g++) {
        const fp_assembled_plan *plan = &batch->groups[g].plan;
        if (plan->image_bytes > image) image = plan->image_bytes;
        if (plan->staging > staging) staging = plan->staging;
    }
    uint32_t warp_bytes = staging + FP_GPU_CODE_BUFFER(kernel->codes_per_lane, kernel->code_bits);
    uint32_t warps = (info->shared_per_block - image) / warp_bytes;
    if (warps > kernel->threads / 32) warps = kernel->threads / 32;
    if (!warps && count > 1) {
        /* One group's dictionary and another's batches do not fit together: one group at a time. */
        uint64_t part = batch->groups[first_group].end_chunk - first;
        fp_cu_result result = launch_assembled(batch, first, part, parameters, stream);
        return result ? result : launch_assembled(batch, first + part, count - part, parameters, stream);
    }
    fp_block_needs needs = {32 * warps, fp_register_limit(kernel->threads, 1), image + warps * warp_bytes};
    parameters->groups = batch->device_memory + batch->group_table;
    parameters->tiles = batch->device_memory + batch->tile_table;
    parameters->first_group = first_group;
    parameters->first_batch = batch->chunks[first].first_batch;
    parameters->end_batch = first + count < batch->chunk_count ? batch->chunks[first + count].first_batch
                                                               : batch->groups[last_group].end_batch;
    parameters->first_chunk = (uint32_t)first;
    parameters->chunk_count = (uint32_t)count;
    fill_work(batch, first, count, FP_GPU_WIDE_CHUNKS, parameters);
    uint32_t batches = parameters->end_batch - parameters->first_batch;
    uint32_t blocks = info->multiprocessors * fp_resident_blocks(info, &needs);
    if (!batches) return 0;
    /* Several groups share the device: as many blocks in all as run at once, or twice that, so that one with more
     * to do than others does not hold all of them up. */
    uint32_t share = last_group > first_group ? batches / (2 * blocks) : batches / blocks / 4;
    parameters->block_batches = share > BATCHES_A_BLOCK ? share : BATCHES_A_BLOCK;
    /* No more blocks in a row than the largest group has a use for: one without work still takes its turn. */
    uint32_t most = 0;
    for (uint32_t g = first_group; g <= last_group; g++) {
        uint32_t begin = batch->chunks[batch->groups[g].first_chunk].first_batch;
        if (batch->groups[g].end_batch - begin > most) most = batch->groups[g].end_batch - begin;
    }
    if (batches < most) most = batches;
    uint32_t row = ceil_div(most, parameters->block_batches);
    if (row < blocks) blocks = row;
    void *arguments[] = {parameters};
    return batch->gpu->driver.launch(batch->gpu->kernels[kernel - fp_kernel_table()], blocks,
                                     last_group - first_group + 1, 1, needs.threads, 1, 1, needs.shared,
                                     stream, arguments, NULL);
}

static fp_cu_result launch_slice(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count,
                                 fp_gpu_launch *parameters, fp_cu_stream stream) {
    const fastpair_gpu *gpu = batch->gpu;
    const fp_driver *driver = &gpu->driver;
    const fp_kernel *kernel = fp_chunk_kernel(batch, first);
    slice_grids grids = measure_slice(batch, first, count);
    unsigned chunks = (unsigned)count, lane_codes = kernel->codes_per_lane;
    parameters->first_chunk = (uint32_t)first;
    if (!fp_kernel_is_assembled(kernel)) fill_work(batch, first, count, FP_GPU_WORK_CHUNKS, parameters);
    void *arguments[] = {parameters, &lane_codes};
    fp_cu_result result = 0;
    if (grids.positions) {
        result = driver->launch(gpu->measure_batches, grids.positions, chunks, 1, HELPER_THREADS, 1, 1, 0,
                                stream, arguments, NULL);
        if (!result)
            result = driver->launch(gpu->scan_batches, 1, chunks, 1, HELPER_THREADS, 1, 1, 0, stream,
                                    arguments, NULL);
    }
    if (!result && grids.decode)
        result = fp_kernel_is_assembled(kernel)
                     ? launch_assembled(batch, first, count, parameters, stream)
                     : launch_staged(batch, first, grids.decode, chunks, parameters, stream);
    parameters->first_chunk = (uint32_t)first;
    if (!result && parameters->row_offsets)
        result = driver->launch(gpu->row_offsets, grids.rows, chunks, 1, HELPER_THREADS, 1, 1, 0, stream,
                                arguments, NULL);
    return result;
}

/* Stored chunks are copies; columns without chunks have one row offset, which is 0. */
static fp_cu_result copy_rest(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count,
                              const fastpair_gpu_destination *to, fp_cu_stream stream) {
    const fp_driver *driver = &batch->gpu->driver;
    fp_cu_result result = 0;
    for (uint64_t i = first; i < first + count && !result; i++) {
        const fp_chunk *chunk = batch->chunks[i].chunk;
        const fp_gpu_chunk *entry = (const fp_gpu_chunk *)(const void *)batch->tables + i;
        if (!chunk->coded && chunk->decoded_bytes)
            result = driver->copy_on_device(to->output + entry->out_offset, entry->codes,
                                            (size_t)chunk->decoded_bytes, stream);
    }
    for (uint64_t c = 0; c < batch->column_count && to->row_offsets && first == 0 && !result; c++)
        if (!batch->columns[c].column->totals.chunks) {
            uint32_t width = to->offset_bits / 8;
            result =
                driver->fill(to->row_offsets + batch->columns[c].first_row_slot * width, 0, width, stream);
        }
    return result;
}

fastpair_status fastpair_gpu_batch_decode(fastpair_gpu_batch *batch, uint64_t first, uint64_t count,
                                          const fastpair_gpu_destination *destination, void *stream,
                                          fastpair_error *error) {
    if (!batch || !destination)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "batch and destination must not be NULL");
    fastpair_gpu_destination to;
    fastpair_status status = fp_options_copy(destination, &to, sizeof to, error);
    if (!status) status = check_destination(batch, &to, error);
    if (status) return status;
    if (first > batch->chunk_count || count > batch->chunk_count - first)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the batch has only %llu chunks", (unsigned long long)batch->chunk_count);
    if (!batch->device_memory && batch->device_bytes)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the batch has not been uploaded");
    fp_gpu_wide_launch wide = {.launch = {.chunks = batch->device_memory,
                                          .dicts = batch->device_memory + batch->dict_table,
                                          .out = to.output,
                                          .out_bytes = to.output_bytes,
                                          .status = to.status,
                                          .row_offsets = to.row_offsets,
                                          .offset_bits = to.offset_bits}};
    if ((status = fp_gpu_push(batch->gpu, error))) return status;
    fp_cu_result result = copy_rest(batch, first, count, &to, stream);
    for (uint64_t done = 0, slice; done < count && !result; done += slice) {
        slice = slice_size(batch, first + done, count - done);
        result = launch_slice(batch, first + done, slice, &wide.launch, stream);
    }
    if (result) status = fp_driver_fail(&batch->gpu->driver, result, "launching a decode", error);
    fp_gpu_pop(batch->gpu);
    return status;
}
