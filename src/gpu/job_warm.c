/* job_warm.c - chunks that a job has to have for itself. In: open columns. Out: cold chunks,
 * unpacked, and copies of chunks that come from a source. The trick: chunks of all columns at once,
 * so that small columns keep threads busy, too. Refuses what unpacking refuses. */
#include "layout.h"

#include "threads.h"
#include "warm_cache.h"

typedef struct warming {
    fastpair_gpu_job *job;
    const fastpair_column *const *columns;
    const uint64_t *images; /* of each column in device memory, or NULL */
    uint64_t *first_chunk;  /* of each column in the job */
} warming;

/* Whether the job needs copies of a column's chunks: its bytes come from a source, and are not in
 * device memory. */
static int is_copied(const uint64_t *images, const fastpair_column *column, uint64_t number) {
    return column->source && !(images && images[number]);
}

/* A copy of a warm chunk, to last as long as the job. */
static fastpair_status copy_chunk(const fp_chunk_view *view, const fastpair_allocator *allocator,
                                  fp_warm *copy, fastpair_error *error) {
    uint64_t size = view->chunk->block_bytes;
    uint8_t *block = fp_allocate(allocator, size, 1);
    if (!block) return fp_fail_memory(error, size);
    memcpy(block, view->block, (size_t)size);
    *copy = (fp_warm){*view->chunk, block};
    return FASTPAIR_OK;
}

static fastpair_status warm_chunk(void *context, uint64_t i, fastpair_error *error) {
    const warming *of = context;
    fp_warm *warm = &of->job->warmed[i];
    uint64_t low = 0, high = of->job->column_count;
    while (high - low > 1) { /* the last column that begins at or before the chunk */
        uint64_t middle = low + (high - low) / 2;
        if (of->first_chunk[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    const fastpair_column *column = of->columns[low];
    if (!column->warm && !is_copied(of->images, column, low)) return FASTPAIR_OK;
    const fastpair_allocator *allocator = &of->job->gpu->allocator;
    fp_wanted_chunk wanted = {i - of->first_chunk[low], column->totals.chunks, NULL};
    fp_chunk_view view;
    fp_hold hold;
    fastpair_status status = fp_column_hold_block(column, &wanted, &view, &hold, error);
    if (!status && view.chunk->cold)
        status = fp_warm_open(&view, allocator, warm, error);
    else if (!status && is_copied(of->images, column, low))
        status = copy_chunk(&view, allocator, warm, error);
    fp_column_drop(column, &hold);
    return status;
}

fastpair_status fp_job_warm(fastpair_gpu_job *job, const fastpair_column *const *columns,
                            const uint64_t *images, fastpair_error *error) {
    const fastpair_allocator *allocator = &job->gpu->allocator;
    uint32_t threads = 0;
    for (uint64_t c = 0; c < job->column_count; c++)
        if ((columns[c]->warm || is_copied(images, columns[c], c)) &&
            columns[c]->settings.threads > threads)
            threads = columns[c]->settings.threads;
    if (!threads) return FASTPAIR_OK; /* all chunks are warm in their images */
    warming of = {job, columns, images,
                  fp_allocate(allocator, job->column_count, sizeof *of.first_chunk)};
    job->warmed = fp_allocate_zero(allocator, job->chunk_count, sizeof *job->warmed);
    fastpair_status status = FASTPAIR_OK;
    if (!of.first_chunk || !job->warmed) {
        status = fp_fail_memory(error, job->chunk_count * sizeof *job->warmed);
    } else {
        uint64_t next = 0;
        for (uint64_t c = 0; c < job->column_count; c++) {
            of.first_chunk[c] = next;
            next += columns[c]->totals.chunks;
        }
        status = fp_run_tasks(threads, job->chunk_count, warm_chunk, &of, error);
    }
    fp_release(allocator, of.first_chunk);
    return status;
}
