/* launch.c - decoding a batch. In: an uploaded batch, a destination. Out: kernels queued on the caller's
 * stream. Nothing is allocated, waited for or read back, so the call may be captured in a graph. Refuses
 * destinations that are too small. */
#include "batch.h"

#include "kernels/work.h"
#include "options.h"

#include <string.h>

/* The second grid dimension counts chunks; the hardware's limit. */
#define MOST_CHUNKS_A_LAUNCH 65535u
/* Decoded bytes for which a launch of its own is no loss: a tenth of a millisecond's work. */
#define WORTH_A_LAUNCH (128u << 20)
/* Batches that make it worthwhile for one more block to copy a dictionary. */
#define BATCHES_A_BLOCK 8u
/* Chunks of a launch that are not too many for one team of blocks. */
#define SPANS_A_TEAM 48u
/* A launch with more batches takes no more chunks. One chunk has at most 2^27, so that their numbers stay below 2^32, also
 * those behind the last that warps look at. */
#define MANY_BATCHES   (1u << 31)
#define HELPER_THREADS 256u /* of the kernels beside the decoder */
#define HELPER_WARPS   (HELPER_THREADS / 32u)

static fastpair_status check_destination(const fastpair_gpu_batch *batch,
                                         const fastpair_gpu_destination *to,
                                         fastpair_error *error) {
    if ((!to->output && batch->output_bytes) || to->output % 16)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "output must be a device address at a multiple of 16");
    if (to->output_bytes < batch->output_bytes)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "the output needs %llu bytes, %llu were given",
                       (unsigned long long)batch->output_bytes,
                       (unsigned long long)to->output_bytes);
    if (to->status % 4)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "status must be at a multiple of 4");
    if (!to->row_offsets) return FASTPAIR_OK;
    if ((to->offset_bits != 32 && to->offset_bits != 64) || to->row_offsets % (to->offset_bits / 8))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "offset_bits must be 32 or 64 and row_offsets aligned to it");
    for (uint64_t c = 0; c < batch->column_count; c++)
        if (to->offset_bits == 32 && batch->columns[c].output_bytes > INT32_MAX)
            return fp_fail(
                error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
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
                            kernel->static_shared +
                                fp_kernel_dynamic_shared(kernel, batch->most_slots)};
    uint32_t resident =
        batch->gpu->info.multiprocessors * fp_resident_blocks(&batch->gpu->info, &needs);
    slice_grids grids = {0};
    for (uint64_t i = first; i < first + count; i++) {
        const fp_gpu_chunk *chunk = fp_chunk_on_device(batch, i);
        uint64_t batches = fp_kernel_batches(chunk->code_count, kernel->codes_per_lane);
        uint32_t decode = ceil_div(batches, kernel->threads / 32);
        /* Blocks that copy a dictionary first go through many batches each: no more than are resident. */
        if (kernel->dictionary_shared && decode > resident) decode = resident;
        uint32_t positions = chunk->positions ? ceil_div(batches, HELPER_WARPS) : 0;
        uint32_t rows = ceil_div(ceil_div(chunk->row_count, FP_LENGTH_BLOCK), HELPER_WARPS);
        if (decode > grids.decode) grids.decode = decode;
        if (positions > grids.positions) grids.positions = positions;
        if (rows > grids.rows) grids.rows = rows;
    }
    return grids;
}

static fp_gpu_work make_work(const fastpair_gpu_batch *batch, uint64_t i, uint64_t out) {
    const fp_kernel *kernel = fp_chunk_kernel(batch, i);
    const fp_gpu_chunk *chunk = fp_chunk_on_device(batch, i);
    const fp_gpu_dict *dicts =
        (const fp_gpu_dict *)(const void *)(batch->tables + batch->dict_table);
    return fp_gpu_work_make(chunk, dicts + (chunk->code_count ? chunk->dict : 0), out,
                            kernel->codes_per_lane, kernel->low_bytes);
}

static fp_cu_result launch_staged(const fastpair_gpu_batch *batch, uint64_t first, unsigned count,
                                  uint32_t blocks, fp_gpu_launch *parameters, fp_cu_stream stream) {
    const fp_kernel *kernel = fp_chunk_kernel(batch, first);
    unsigned slots = batch->most_slots, shared = fp_kernel_dynamic_shared(kernel, slots);
    parameters->has_work = count <= FP_GPU_WORK_CHUNKS;
    for (uint64_t i = 0; i < count && parameters->has_work; i++)
        parameters->work[i] = make_work(batch, first + i, parameters->out);
    void *arguments[] = {parameters, &slots};
    return batch->gpu->driver.launch(batch->gpu->kernels[kernel - fp_kernel_table()], blocks, count,
                                     1, kernel->threads, 1, 1, shared, stream, arguments, NULL);
}

/* ---------------------------------------------------------------- assembled */

/* A launch of an assembled kernel that is being put together. */
typedef struct span_launch {
    uint32_t kernel;
    uint32_t groups;             /* that have spans in it */
    uint32_t image, staging;     /* the largest dictionary of any of them, and the largest buffer */
    fp_gpu_span_launch launched; /* 32 KiB, of which only what is filled in counts */
} span_launch;

/* Blocks for a launch: as large as the largest dictionary and the largest batch allow, and how many run at once. */
typedef struct block_plan {
    uint32_t threads, shared, resident;
} block_plan;

static block_plan plan_blocks(const fastpair_gpu *gpu, const fp_kernel *kernel, uint32_t image,
                              uint32_t staging) {
    fp_block_needs needs = {.registers = fp_register_limit(kernel->threads, 1)};
    needs.threads = 32 * fp_assembled_warps(kernel, &gpu->info, image, staging, &needs.shared);
    block_plan plan = {needs.threads, needs.shared, 0};
    if (!needs.threads) return plan;
    uint32_t resident = fp_resident_blocks(&gpu->info, &needs);
    plan.resident = gpu->info.multiprocessors *
                    (resident ? resident : 1); /* whatever the model says, one must run */
    return plan;
}

static uint32_t greater(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Teams of blocks. As many as there are dictionaries, so that most blocks need one or two; more if chunks are many, as each
 * block then goes through fewer of them, but not with HOT, which loses more by it; with FAR every block is a team.
 * Measured: docs/kernels.md. */
static uint32_t count_teams(fp_gpu_home home, uint32_t groups, uint32_t spans) {
    if (home == FP_GPU_FAR) return UINT32_MAX;
    return home == FP_GPU_HOT ? groups : greater(groups, spans / SPANS_A_TEAM);
}

/* No more blocks than run at once, nor than are worth copying a dictionary for. */
static void divide_blocks(fp_gpu_span_launch *launched, fp_gpu_home home, uint32_t groups,
                          uint32_t resident) {
    uint32_t blocks = ceil_div(launched->batches, BATCHES_A_BLOCK),
             teams = count_teams(home, groups, launched->span_count);
    launched->blocks = blocks < resident ? blocks : resident;
    launched->teams = teams < launched->blocks ? teams : launched->blocks;
}

/* The first entry of a group's list of chunks, or its end, that is not below `chunk`. */
static uint64_t first_listed_from(const fastpair_gpu_batch *batch, const fp_batch_group *group,
                                  uint64_t chunk) {
    uint64_t low = group->first_listed, high = low + group->listed;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (batch->coded_chunks[middle] < chunk)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int is_full(const fp_gpu_span_launch *launched) {
    return launched->span_count == FP_GPU_SPANS || launched->batches > MANY_BATCHES;
}

/* Whether blocks for what is in the launch and one more group are nearly as good as blocks for the group alone. */
static int goes_with(const fastpair_gpu_batch *batch, const fp_batch_group *group,
                     const span_launch *making) {
    block_plan plan = plan_blocks(batch->gpu, fp_group_kernel(group),
                                  greater(making->image, group->plan.image_bytes),
                                  greater(making->staging, group->plan.staging));
    return !making->groups || plan.threads >= 24 * group->plan.warps;
}

/* Adds chunks of a group to a launch that is not full, from entry `at` of the list on, as long as there is room. Returns
 * the entry to go on with. */
static uint64_t add_group(const fastpair_gpu_batch *batch, uint32_t number, uint64_t at,
                          uint64_t end, uint64_t out, span_launch *making) {
    const fp_batch_group *group = &batch->groups[number];
    uint32_t lane_codes = fp_group_kernel(group)->codes_per_lane,
             first = making->launched.span_count;
    fp_gpu_span_launch *launched = &making->launched;
    for (; at < end && !is_full(launched); at++) {
        const fp_gpu_chunk *chunk = fp_chunk_on_device(batch, batch->coded_chunks[at]);
        fp_gpu_span *span = &launched->spans[launched->span_count++];
        *span = fp_gpu_span_make(chunk, out, lane_codes);
        span->first_batch = launched->batches;
        span->group = number;
        launched->batches += (uint32_t)fp_kernel_batches(chunk->code_count, lane_codes);
    }
    for (uint32_t s = first; s < launched->span_count; s++)
        launched->spans[s].group_end = launched->batches;
    launched->spans[launched->span_count] = (fp_gpu_span){.first_batch = launched->batches};
    making->groups += 1;
    making->image = greater(making->image, group->plan.image_bytes);
    making->staging = greater(making->staging, group->plan.staging);
    return at;
}

/* Passes what is filled in of the parameters; all of them if the driver insists. */
static fp_cu_result launch_prefix(const fastpair_gpu *gpu, span_launch *making,
                                  const block_plan *plan, fp_cu_stream stream) {
    enum { PARAMETERS_END, PARAMETERS_AT, PARAMETERS_SIZE }; /* the driver's CU_LAUNCH_PARAM_... */
    void *parameters = &making->launched;
    size_t size = FP_GPU_SPAN_LAUNCH_BYTES(making->launched.span_count);
    void *prefix[] = {(void *)PARAMETERS_AT, parameters, (void *)PARAMETERS_SIZE, &size,
                      (void *)PARAMETERS_END};
    uint32_t blocks = making->launched.blocks;
    fp_cu_result result =
        gpu->driver.launch(gpu->kernels[making->kernel], blocks, 1, 1, plan->threads, 1, 1,
                           plan->shared, stream, NULL, prefix);
    if (result != FP_CU_INVALID_VALUE) return result;
    memset((uint8_t *)parameters + size, 0, sizeof making->launched - size);
    return gpu->driver.launch(gpu->kernels[making->kernel], blocks, 1, 1, plan->threads, 1, 1,
                              plan->shared, stream, &parameters, NULL);
}

static void start_anew(span_launch *making) {
    making->groups = making->image = making->staging = 0;
    making->launched.span_count = making->launched.batches = 0;
}

/* Launches what has been put together, and starts anew. */
static fp_cu_result launch_spans(const fastpair_gpu *gpu, span_launch *making,
                                 fp_cu_stream stream) {
    fp_cu_result result = 0;
    if (making->groups) {
        const fp_kernel *kernel = &fp_kernel_table()[making->kernel];
        block_plan plan = plan_blocks(gpu, kernel, making->image, making->staging);
        divide_blocks(&making->launched, kernel->home, making->groups, plan.resident);
        result = launch_prefix(gpu, making, &plan, stream);
    }
    start_anew(making);
    return result;
}

/* All chunks of the range in groups that have the kernel of group `of`, the first of them, in as few launches as hold them. */
static fp_cu_result launch_assembled(const fastpair_gpu_batch *batch, uint64_t of, uint64_t first,
                                     uint64_t end, const fp_gpu_launch *parameters,
                                     fp_cu_stream stream) {
    fp_cu_result result = 0;
    span_launch making;
    making.kernel = batch->groups[of].kernel;
    making.launched.status = parameters->status;
    making.launched.groups = batch->device_memory + batch->group_table;
    start_anew(&making);
    for (uint64_t g = of; g < batch->group_count && !result; g++) {
        const fp_batch_group *group = &batch->groups[g];
        if (group->kernel != making.kernel) continue;
        uint64_t at = first_listed_from(batch, group, first),
                 stop = first_listed_from(batch, group, end);
        while (at < stop && !result) {
            if (is_full(&making.launched) || !goes_with(batch, group, &making))
                result = launch_spans(batch->gpu, &making, stream);
            at = add_group(batch, (uint32_t)g, at, stop, parameters->out, &making);
        }
    }
    return result ? result : launch_spans(batch->gpu, &making, stream);
}

/* ---------------------------------------------------------------- all kernels of a decode */

/* How many of `left` chunks from `first` on have the same kernel, up to what a grid holds. */
static uint64_t run_of_kernel(const fastpair_gpu_batch *batch, uint64_t first, uint64_t left) {
    uint32_t kernel = batch->groups[batch->chunks[first].group].kernel;
    uint64_t count = 1;
    while (count < left && count < MOST_CHUNKS_A_LAUNCH &&
           batch->groups[batch->chunks[first + count].group].kernel == kernel)
        count++;
    return count;
}

/* How many chunks of a run go into one staged launch: no more than the parameters hold, if that keeps the device
 * busy for long enough that the launch itself does not count. */
static uint64_t staged_slice(const fastpair_gpu_batch *batch, uint64_t first, uint64_t run) {
    uint64_t bytes = 0;
    if (run <= FP_GPU_WORK_CHUNKS) return run;
    for (uint32_t i = 0; i < FP_GPU_WORK_CHUNKS; i++)
        bytes += fp_chunk_on_device(batch, first + i)->decoded_bytes;
    return bytes >= WORTH_A_LAUNCH ? FP_GPU_WORK_CHUNKS : run;
}

/* A run of chunks with one kernel: positions where the sidecar does not serve it, and the staged decoder. */
static fp_cu_result launch_run(const fastpair_gpu_batch *batch, uint64_t first, uint64_t run,
                               fp_gpu_launch *parameters, fp_cu_stream stream) {
    const fastpair_gpu *gpu = batch->gpu;
    const fp_kernel *kernel = fp_chunk_kernel(batch, first);
    unsigned chunks = (unsigned)run, lane_codes = kernel->codes_per_lane;
    uint32_t positions = batch->regenerates ? measure_slice(batch, first, run).positions : 0;
    void *arguments[] = {parameters, &lane_codes};
    fp_cu_result result = 0;
    parameters->first_chunk = (uint32_t)first;
    if (positions)
        result = gpu->driver.launch(gpu->measure_batches, positions, chunks, 1, HELPER_THREADS, 1,
                                    1, 0, stream, arguments, NULL);
    if (positions && !result)
        result = gpu->driver.launch(gpu->scan_batches, 1, chunks, 1, HELPER_THREADS, 1, 1, 0,
                                    stream, arguments, NULL);
    if (fp_kernel_is_assembled(kernel)) return result;
    for (uint64_t done = 0, slice; done < run && !result; done += slice) {
        slice = staged_slice(batch, first + done, run - done);
        uint32_t blocks = measure_slice(batch, first + done, slice).decode;
        parameters->first_chunk = (uint32_t)(first + done);
        if (blocks)
            result =
                launch_staged(batch, first + done, (unsigned)slice, blocks, parameters, stream);
    }
    return result;
}

static fp_cu_result launch_rows(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count,
                                fp_gpu_launch *parameters, fp_cu_stream stream) {
    const fastpair_gpu *gpu = batch->gpu;
    fp_cu_result result = 0;
    for (uint64_t done = 0, slice; done < count && !result; done += slice) {
        slice = count - done < MOST_CHUNKS_A_LAUNCH ? count - done : MOST_CHUNKS_A_LAUNCH;
        parameters->first_chunk = (uint32_t)(first + done);
        void *arguments[] = {parameters};
        result = gpu->driver.launch(gpu->row_offsets,
                                    measure_slice(batch, first + done, slice).rows, (unsigned)slice,
                                    1, HELPER_THREADS, 1, 1, 0, stream, arguments, NULL);
    }
    return result;
}

/* No group before this one has its kernel. */
static int is_first_with_kernel(const fastpair_gpu_batch *batch, uint64_t group) {
    uint64_t g = 0;
    while (batch->groups[g].kernel != batch->groups[group].kernel) g++;
    return g == group;
}

static fp_cu_result launch_all(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count,
                               fp_gpu_launch *parameters, fp_cu_stream stream) {
    fp_cu_result result = 0;
    for (uint64_t done = 0, run; done < count && !result; done += run) {
        run = run_of_kernel(batch, first + done, count - done);
        result = launch_run(batch, first + done, run, parameters, stream);
    }
    for (uint64_t g = 0; g < batch->group_count && !result; g++)
        if (fp_kernel_is_assembled(fp_group_kernel(&batch->groups[g])) &&
            is_first_with_kernel(batch, g))
            result = launch_assembled(batch, g, first, first + count, parameters, stream);
    return result || !parameters->row_offsets
               ? result
               : launch_rows(batch, first, count, parameters, stream);
}

/* Stored chunks are copies; columns without chunks have one row offset, which is 0. */
static fp_cu_result copy_rest(const fastpair_gpu_batch *batch, uint64_t first, uint64_t count,
                              const fastpair_gpu_destination *to, fp_cu_stream stream) {
    const fp_driver *driver = &batch->gpu->driver;
    fp_cu_result result = 0;
    for (uint64_t i = first; i < first + count && !result; i++) {
        const fp_gpu_chunk *chunk = fp_chunk_on_device(batch, i);
        if (!chunk->code_count && chunk->decoded_bytes)
            result = driver->copy_on_device(to->output + chunk->out_offset, chunk->codes,
                                            chunk->decoded_bytes, stream);
    }
    for (uint64_t c = 0; c < batch->column_count && to->row_offsets && first == 0 && !result; c++)
        if (!batch->columns[c].chunks) {
            uint32_t width = to->offset_bits / 8;
            result = driver->fill(to->row_offsets + batch->columns[c].first_row_slot * width, 0,
                                  width, stream);
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
    fp_gpu_launch parameters = {.chunks = batch->device_memory,
                                .dicts = batch->device_memory + batch->dict_table,
                                .out = to.output,
                                .out_bytes = to.output_bytes,
                                .status = to.status,
                                .row_offsets = to.row_offsets,
                                .offset_bits = to.offset_bits};
    if ((status = fp_gpu_push(batch->gpu, error))) return status;
    fp_cu_result result = copy_rest(batch, first, count, &to, stream);
    if (!result) result = launch_all(batch, first, count, &parameters, stream);
    if (result) status = fp_driver_fail(&batch->gpu->driver, result, "launching a decode", error);
    fp_gpu_pop(batch->gpu);
    return status;
}
