/* rows_prepare.c - deriving where rows begin among codes. In: an uploaded job, memory of the caller's.
 * Out: kernels queued on the caller's stream. Seven launches per some hundred chunks: bytes of each
 * batch, their sums, row offsets, rows with bytes, their sums, row starts, their sums. */
#include "rows.h"

#define WARPS         (FP_GPU_HELPER_THREADS / 32)
#define OFFSET_BLOCKS (WARPS * FP_GPU_LENGTH_BLOCKS)

/* A prepare under way. */
typedef struct preparing {
    const fastpair_gpu_rows *rows;
    uint64_t memory, scratch, status;
    fp_cu_stream stream;
} preparing;

/* Entries of one kernel, filled in chunk by chunk and launched when there are enough. */
typedef struct entries {
    const preparing *of;
    fp_cu_function function;
    size_t entry_bytes, all_bytes; /* of an entry, and of the kernel's struct */
    uint32_t most;                 /* entries */
    int one_block;                 /* per chunk, whatever its size */
    uint32_t count, blocks;
} entries;

static fp_cu_result flush(entries *e, void *launched) {
    fp_launch launch = {.function = e->function,
                        .blocks_x = e->one_block ? 1 : e->blocks,
                        .blocks_y = e->count,
                        .threads = FP_GPU_HELPER_THREADS,
                        .parameters = launched,
                        .used = e->count * e->entry_bytes,
                        .size = e->all_bytes};
    fp_cu_result result =
        e->count ? fp_gpu_launch(e->of->rows->job->gpu, &launch, e->of->stream) : 0;
    e->count = e->blocks = 0;
    return result;
}

/* Counts an entry that was filled in, for so many pieces of work, `each` of them per block. */
static fp_cu_result add(entries *e, void *launched, uint64_t pieces, uint32_t each) {
    uint32_t blocks = (uint32_t)((pieces + each - 1) / each);
    if (blocks > e->blocks) e->blocks = blocks;
    return ++e->count == e->most ? flush(e, launched) : 0;
}

static uint64_t chunk_count(const preparing *of) { return fp_rows_column(of->rows)->chunks; }

/* What is summed up in place by the kernel of output positions: bytes of batches, rows of batches,
 * rows of words. */
typedef enum sums { BYTES_OF_BATCHES, ROWS_OF_BATCHES, ROWS_OF_WORDS } sums;

static fp_cu_result run_positions(const preparing *of, fp_cu_function function, sums what) {
    const fastpair_gpu *gpu = of->rows->job->gpu;
    fp_gpu_positions_launch launched;
    entries e = {.of = of,
                 .function = function,
                 .entry_bytes = sizeof *launched.entry,
                 .all_bytes = sizeof launched,
                 .most = FP_GPU_ENTRIES,
                 .one_block = function == gpu->scan_batches};
    fp_cu_result result = 0;
    for (uint64_t i = 0; i < chunk_count(of) && !result; i++) {
        const fp_rows_chunk *chunk = &of->rows->chunks[i];
        const fp_rows_table *table = &of->rows->tables[chunk->table];
        const fp_job_chunk *source = fp_rows_job_chunk(of->rows, i);
        fp_gpu_positions entry = {.codes = fp_job_section(of->rows->job, source, FP_SECTION_CODES),
                                  .positions = of->memory + chunk->positions,
                                  .lengths = of->memory + table->lengths,
                                  .code_count = chunk->codes,
                                  .slots = table->slots,
                                  .code_bits = table->code_bits,
                                  .codes_per_lane = FP_GPU_SEARCH_BATCH / 32};
        if (what == ROWS_OF_BATCHES) entry.positions = of->memory + chunk->ranks;
        if (what == ROWS_OF_WORDS) {
            entry.positions = of->memory + chunk->row_ranks;
            entry.code_count = source->rows;
            entry.codes_per_lane = 1;
        }
        if (!entry.code_count) continue;
        launched.entry[e.count] = entry;
        result = add(&e, &launched, fp_search_batches(chunk->codes), WARPS);
    }
    return result ? result : flush(&e, &launched);
}

static fp_cu_result run_offsets(const preparing *of) {
    fp_gpu_offsets_launch launched;
    entries e = {.of = of,
                 .function = of->rows->job->gpu->row_offsets,
                 .entry_bytes = sizeof *launched.entry,
                 .all_bytes = sizeof launched,
                 .most = FP_GPU_ENTRIES - 1};
    fp_cu_result result = 0;
    for (uint64_t i = 0; i < chunk_count(of) && !result; i++) {
        const fp_job_chunk *source = fp_rows_job_chunk(of->rows, i);
        launched.entry[e.count] =
            (fp_gpu_offsets){.lengths = fp_job_section(of->rows->job, source, FP_SECTION_LENGTHS),
                             .lengths_bytes = source->lengths_bytes,
                             .out = of->scratch + of->rows->chunks[i].offsets,
                             .status = of->status,
                             .rows = source->rows,
                             .decoded_bytes = source->decoded_bytes,
                             .offset_bits = 32,
                             .closes_column = 1};
        uint64_t blocks = (source->rows + (uint64_t)FP_LENGTH_BLOCK - 1) / FP_LENGTH_BLOCK;
        result = add(&e, &launched, blocks, OFFSET_BLOCKS);
    }
    return result ? result : flush(&e, &launched);
}

static fp_cu_result run_filled(const preparing *of) {
    fp_gpu_filled_rows_launch launched;
    entries e = {.of = of,
                 .function = of->rows->job->gpu->filled_rows,
                 .entry_bytes = sizeof *launched.entry,
                 .all_bytes = sizeof launched,
                 .most = FP_GPU_ENTRIES};
    fp_cu_result result = 0;
    for (uint64_t i = 0; i < chunk_count(of) && !result; i++) {
        const fp_rows_chunk *chunk = &of->rows->chunks[i];
        uint32_t rows = fp_rows_job_chunk(of->rows, i)->rows;
        launched.entry[e.count] = (fp_gpu_filled_rows){.offsets = of->scratch + chunk->offsets,
                                                       .filled = of->memory + chunk->filled,
                                                       .counts = of->memory + chunk->row_ranks,
                                                       .rows = rows};
        result = add(&e, &launched, rows, FP_GPU_HELPER_THREADS);
    }
    return result ? result : flush(&e, &launched);
}

static fp_cu_result run_starts(const preparing *of) {
    fp_gpu_row_starts_launch launched;
    entries e = {.of = of,
                 .function = of->rows->job->gpu->row_starts,
                 .entry_bytes = sizeof *launched.entry,
                 .all_bytes = sizeof launched,
                 .most = FP_GPU_START_ENTRIES};
    fp_cu_result result = 0;
    for (uint64_t i = 0; i < chunk_count(of) && !result; i++) {
        const fp_rows_chunk *chunk = &of->rows->chunks[i];
        const fp_rows_table *table = &of->rows->tables[chunk->table];
        const fp_job_chunk *source = fp_rows_job_chunk(of->rows, i);
        if (!chunk->codes) continue;
        launched.entry[e.count] =
            (fp_gpu_row_starts){.codes = fp_job_section(of->rows->job, source, FP_SECTION_CODES),
                                .positions = of->memory + chunk->positions,
                                .lengths = of->memory + table->lengths,
                                .offsets = of->scratch + chunk->offsets,
                                .starts = of->memory + chunk->starts,
                                .counts = of->memory + chunk->ranks,
                                .status = of->status,
                                .code_count = chunk->codes,
                                .rows = source->rows,
                                .decoded_bytes = source->decoded_bytes,
                                .slots = table->slots,
                                .code_bits = table->code_bits};
        result = add(&e, &launched, fp_search_batches(chunk->codes), WARPS);
    }
    return result ? result : flush(&e, &launched);
}

static fp_cu_result launch_all(const preparing *of) {
    const fastpair_gpu_rows *rows = of->rows;
    const fastpair_gpu *gpu = rows->job->gpu;
    fp_cu_result result = 0;
    if (rows->lengths_bytes)
        result = gpu->driver.copy_to_device(of->memory, rows->lengths, (size_t)rows->lengths_bytes,
                                            of->stream);
    if (!result) result = run_positions(of, gpu->measure_batches, BYTES_OF_BATCHES);
    if (!result) result = run_positions(of, gpu->scan_batches, BYTES_OF_BATCHES);
    if (!result) result = run_offsets(of);
    if (!result) result = run_filled(of);
    if (!result) result = run_positions(of, gpu->scan_batches, ROWS_OF_WORDS);
    if (!result) result = run_starts(of);
    if (!result) result = run_positions(of, gpu->scan_batches, ROWS_OF_BATCHES);
    return result;
}

fastpair_status fastpair_gpu_rows_prepare(fastpair_gpu_rows *rows, const fastpair_gpu_block *memory,
                                          const fastpair_gpu_block *scratch, uint64_t status_word,
                                          void *stream, fastpair_error *error) {
    if (!rows || status_word % 4)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows must not be NULL, and status must be at a multiple of 4");
    const fastpair_gpu_job *job = rows->job;
    fastpair_status status = fp_gpu_block_check("memory", memory, rows->device_bytes, error);
    if (!status) status = fp_gpu_block_check("scratch", scratch, rows->scratch_bytes, error);
    if (!status && !job->device_memory && job->sizes.all)
        status = fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                         "the job has not been uploaded");
    if (!status && rows->device_bytes) status = fp_gpu_push(job->gpu, error);
    if (status || !rows->device_bytes) return status;
    preparing of = {rows, memory->address, scratch->address, status_word, stream};
    fp_cu_result result = launch_all(&of);
    if (result)
        status = fp_driver_fail(&job->gpu->driver, result, "launching a prepare", error);
    else
        rows->device_memory = memory->address;
    fp_gpu_pop(job->gpu);
    return status;
}
