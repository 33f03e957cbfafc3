/* search_launch.c - queueing a search. In: a run. Out: kernels on the caller's stream: one per leaf
 * and dictionary, then the verdict over all chunks. Plans how many warps of a search kernel a device
 * holds. */
#include "device_search.h"

/* With fewer warps beside it a filter is not worth its room. */
#define FEWEST_WARPS 4u

typedef struct search_block {
    uint32_t warps, shared;
    uint32_t resident; /* blocks that run at once */
} search_block;

/* The largest block that fits, with a filter of so many bytes; 0 warps if none does. */
static search_block plan_block(const fastpair_gpu_info *gpu, uint32_t bits, uint32_t filter) {
    uint32_t warps = FP_GPU_SEARCH_THREADS / 32;
    while (warps && (uint32_t)FP_GPU_SEARCH_SHARED(bits, warps, filter) > gpu->shared_per_block)
        warps--;
    if (!warps) return (search_block){0};
    search_block block = {warps, (uint32_t)FP_GPU_SEARCH_SHARED(bits, warps, filter), 0};
    uint32_t fit = gpu->shared_per_multiprocessor / (block.shared + gpu->shared_reserved_per_block);
    uint32_t hold = gpu->warps_per_multiprocessor / warps;
    block.resident = gpu->multiprocessors * (fit < hold ? fit : hold);
    return block;
}

static fp_cu_result flush(const fp_gpu_run *run, fp_gpu_search_launch *launched, uint32_t bits) {
    const fastpair_gpu *gpu = run->search->rows->job->gpu;
    if (!launched->span_count) return 0;
    search_block block = plan_block(&gpu->info, bits, (uint32_t)FP_GPU_FILTER_BYTES(bits));
    if (block.warps < FEWEST_WARPS) { /* no room for the filter */
        launched->filter = 0;
        block = plan_block(&gpu->info, bits, 0);
    }
    uint32_t blocks = (launched->batches + block.warps - 1) / block.warps;
    launched->span[launched->span_count] = (fp_gpu_search_span){.first_batch = launched->batches};
    fp_launch launch = {.function = gpu->search[bits],
                        .blocks_x = blocks < block.resident ? blocks : block.resident,
                        .blocks_y = 1,
                        .threads = 32 * block.warps,
                        .shared = block.shared,
                        .parameters = launched,
                        .used = FP_GPU_SEARCH_LAUNCH_BYTES(launched->span_count),
                        .size = sizeof *launched};
    fp_cu_result result = fp_gpu_launch(gpu, &launch, run->stream);
    launched->span_count = launched->batches = 0;
    return result;
}

static fp_gpu_search_span make_span(const fp_gpu_run *run, uint32_t leaf, uint64_t i,
                                    uint32_t first_batch) {
    const fastpair_gpu_rows *rows = run->search->rows;
    const fp_rows_chunk *chunk = &rows->chunks[i];
    const fp_job_chunk *source = fp_rows_job_chunk(rows, i);
    fp_gpu_search_span span = {.codes = fp_job_section(rows->job, source, FP_SECTION_CODES),
                               .starts = rows->device_memory + chunk->starts,
                               .ranks = rows->device_memory + chunk->ranks,
                               .found = run->scratch + leaf * rows->found_bytes + chunk->found,
                               .code_count = chunk->codes,
                               .found_words = chunk->found_words,
                               .first_batch = first_batch};
    if (run->is_plain) {
        span.found = run->matches->bitmap + source->first_row / 32 * 4;
        span.found_bit = (uint32_t)(source->first_row % 32);
        span.found_words = (span.found_bit + source->rows + 31) / 32;
    }
    return span;
}

int fp_gpu_run_is_plain(const fastpair_gpu_search *search, const fastpair_gpu_matches *matches) {
    return search->op_count == 1 && search->ops[0].kind == FP_GPU_OP_LEAF && matches->bitmap &&
           !matches->validity && !matches->counts && !search->rows->may_be_empty &&
           !search->leaves[search->ops[0].leaf].by_bytes;
}

/* A leaf over the chunks that share a table of tokens. */
static fp_cu_result launch_table(const fp_gpu_run *run, uint32_t number, uint32_t t) {
    const fastpair_gpu_search *search = run->search;
    const fastpair_gpu_rows *rows = search->rows;
    const fp_rows_table *table = &rows->tables[t];
    const fp_gpu_leaf *leaf = &search->leaves[number];
    fp_gpu_search_launch launched = {
        .filter = search->device_memory + leaf->tables[t].filter,
        .table = search->device_memory + leaf->tables[t].transitions,
        .slots = table->slots,
        .start = leaf->start,
        .rest = leaf->rest,
        .by_rows = leaf->by_rows,
        .at_once = (uint32_t)leaf->tables[t].at_once,
    };
    fp_cu_result result = 0;
    for (uint64_t i = 0; i < fp_rows_column(rows)->chunks && !result; i++) {
        const fp_rows_chunk *chunk = &rows->chunks[i];
        if (chunk->table != t || !chunk->codes) continue;
        launched.span[launched.span_count++] = make_span(run, number, i, launched.batches);
        launched.batches += fp_search_batches(chunk->codes);
        /* A chunk has at most 2^22 batches. */
        if (launched.span_count == FP_GPU_SEARCH_SPANS || launched.batches > 1u << 30)
            result = flush(run, &launched, table->code_bits);
    }
    return result ? result : flush(run, &launched, table->code_bits);
}

fp_cu_result fp_launch_leaves(const fp_gpu_run *run) {
    fp_cu_result result = 0;
    for (uint32_t i = 0; i < run->search->leaf_count && !result; i++) {
        if (run->search->leaves[i].by_bytes) {
            result = fp_launch_scan(run, i);
            continue;
        }
        for (uint32_t t = 0; t < run->search->rows->table_count && !result; t++)
            result = launch_table(run, i, t);
    }
    return result;
}

fp_cu_result fp_launch_verdict(const fp_gpu_run *run) {
    const fastpair_gpu_search *search = run->search;
    const fastpair_gpu_rows *rows = search->rows;
    fp_gpu_verdict_launch launched = {.bitmap = run->matches->bitmap,
                                      .validity = run->matches->validity,
                                      .counts = run->matches->counts,
                                      .leaf_stride = rows->found_bytes,
                                      .op_count = search->op_count};
    for (uint32_t i = 0; i < search->op_count; i++) launched.op[i] = search->ops[i];
    fp_launch launch = {.function = rows->job->gpu->verdict,
                        .threads = FP_GPU_HELPER_THREADS,
                        .shared = FP_GPU_VERDICT_SHARED(search->depth),
                        .parameters = &launched,
                        .size = sizeof launched};
    fp_cu_result result = 0;
    uint64_t chunks = fp_rows_column(rows)->chunks;
    for (uint64_t i = 0; i < chunks && !result; i++) {
        const fp_rows_chunk *chunk = &rows->chunks[i];
        const fp_job_chunk *source = fp_rows_job_chunk(rows, i);
        uint64_t section = fp_job_section(rows->job, source, FP_SECTION_VALIDITY);
        launched.entry[launch.blocks_y++] =
            (fp_gpu_verdict){.filled = rows->device_memory + chunk->filled,
                             .ranks = rows->device_memory + chunk->row_ranks,
                             .found = run->scratch + chunk->found,
                             .section = source->has_validity ? section : 0,
                             .first_row = source->first_row,
                             .rows = source->rows,
                             .found_words = chunk->found_words,
                             .closes_column = source->closes_column};
        uint64_t words = (source->first_row % 32 + source->rows + 31) / 32;
        uint32_t blocks = (uint32_t)((words + FP_GPU_HELPER_THREADS - 1) / FP_GPU_HELPER_THREADS);
        if (blocks > launch.blocks_x) launch.blocks_x = blocks;
        if (launch.blocks_y < FP_GPU_VERDICT_ENTRIES && i + 1 < chunks) continue;
        launch.used =
            offsetof(fp_gpu_verdict_launch, entry) + launch.blocks_y * sizeof *launched.entry;
        result = fp_gpu_launch(rows->job->gpu, &launch, run->stream);
        launch.blocks_x = launch.blocks_y = 0;
    }
    return result;
}
