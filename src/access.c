/* access.c - decoding ranges of rows. In: an open column and a range. Out: bytes, offsets and
 * validity in the caller's memory, of exactly the size needed.
 *
 * The trick: where every row and every batch goes is known before anything is decoded. So the
 * output is cut into windows that threads fill on their own, each a function of its number alone.
 * For speed no section checksum is verified; fastpair_column_validate and the streaming reader do
 * that. Sections are not trusted all the same: their sizes are compared with the headers, and
 * nothing is written outside its window. Refuses ranges outside the column and destinations that
 * are too small. */
#include "access.h"

#include "threads.h"

#include <stdatomic.h>

/* Output bytes of one task. Large windows are faster, since the last 4 KiB of each are decoded
 * aside and copied; small ones give many threads something to do. A window is large beside a batch
 * (at most 16 KiB), by which its ends may be moved. The number of threads has no say, or the fault
 * found in a file would depend on it. */
#define LEAST_WINDOW   (128u << 10)
#define LARGEST_WINDOW (1u << 20)
#define WINDOWS        32u
/* Rows of one task: a multiple of 8, so that no two tasks write the same byte of validity. */
#define WINDOW_ROWS (64u << 10)

/* ---------------------------------------------------------------- rows and their places */

/* Where row `row` (0 .. rows) begins in the column's decoded bytes. */
static fastpair_status row_start(const fastpair_column *column, uint64_t row, uint64_t *start,
                                 fastpair_error *error) {
    *start = column->totals.decoded_bytes;
    if (row == column->totals.rows) return FASTPAIR_OK;
    uint64_t number = fp_column_find_chunk(column, row);
    if (row == column->starts.row[number]) { /* the chunk need not be touched */
        *start = column->starts.byte[number];
        return FASTPAIR_OK;
    }
    fp_chunk_view view;
    fp_hold hold;
    fastpair_status status =
        fp_column_hold(column, &(fp_wanted_chunk){.number = number}, &view, &hold, error);
    if (!status) status = fp_chunk_row_start(&view, row - column->starts.row[number], start, error);
    fp_column_drop(column, &hold);
    *start += column->starts.byte[number];
    return status;
}

static fastpair_status range_starts(const fastpair_column *column, uint64_t first, uint64_t count,
                                    uint64_t *begin, uint64_t *end, fastpair_error *error) {
    fastpair_status status = fp_column_check_range(column, first, count, error);
    if (!status) status = row_start(column, first, begin, error);
    if (!status) status = row_start(column, first + count, end, error);
    if (status || *end >= *begin) return status;
    fp_chunk_view view;
    status = fp_column_chunk(column, fp_column_find_chunk(column, first), &view, error);
    return status ? status
                  : fp_chunk_fault(&view, FP_SECTION_LENGTHS, 0, "row starts decrease", error);
}

fastpair_status fastpair_column_rows_size(const fastpair_column *column, uint64_t first,
                                          uint64_t count, uint64_t *bytes, fastpair_error *error) {
    if (bytes) *bytes = 0;
    if (!column || !bytes)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_rows_size: column and bytes must not be NULL");
    uint64_t begin = 0, end = 0;
    fastpair_status status = range_starts(column, first, count, &begin, &end, error);
    if (!status) *bytes = end - begin;
    return status;
}

/* ---------------------------------------------------------------- ranges of rows */

/* Chunk bytes from .. to, and where they go. */
typedef struct slice {
    uint64_t from, to;
    uint8_t *out;
} slice;

/* Decodes bytes from .. to of a chunk in task i and looks whether they are UTF-8. */
static fastpair_status decode_text(const fp_range_job *job, fp_chunk_view *view, slice wanted,
                                   uint64_t i, fp_batch_cache *cache, fastpair_error *error) {
    uint64_t base = job->column->starts.byte[view->number], first = base + wanted.from - job->begin;
    fp_text_rows rows = {job->destination, job->first_offset, job->count,
                         fp_text_level(job->column, job->bulk)};
    fp_text_edges edges = {wanted.from == 0 || base + wanted.from == job->begin,
                           wanted.to == view->chunk->decoded_bytes || base + wanted.to == job->end};
    fp_text_walk walk;
    fp_text_begin(&walk, &rows, first, fp_chunk_is_whole(view));
    view->watch = &walk.watch;
    fastpair_status status =
        fp_chunk_decode_bytes(view, wanted.from, wanted.to, wanted.out, cache, error);
    view->watch = NULL;
    if (status) return status;
    if (!edges.is_start) job->text->seams[i] = first;
    if (!fp_text_end(&walk, first + (wanted.to - wanted.from), edges)) job->text->is_wrong = 1;
    return FASTPAIR_OK;
}

/* Decodes the bytes of one window. A cut inside a chunk moves forward to the next batch start. That
 * depends on the cut alone, so neighbouring windows agree on it, and is less than a window away, so
 * windows never overlap. */
static fastpair_status decode_window(const fp_range_job *job, uint64_t i, fastpair_error *error) {
    const fastpair_column *column = job->column;
    uint64_t window_begin = job->begin + i * job->window;
    uint64_t window_end =
        job->end - window_begin < job->window ? job->end : window_begin + job->window;
    uint64_t low = 0, high = column->totals.chunks;
    while (high - low > 1) { /* the chunk that holds the window's first byte */
        uint64_t middle = low + (high - low) / 2;
        if (column->starts.byte[middle] <= window_begin)
            low = middle;
        else
            high = middle;
    }
    fp_batch_cache cache;
    fp_batch_cache_empty(&cache);
    for (uint64_t number = low;
         number < column->totals.chunks && column->starts.byte[number] < window_end; number++) {
        fp_chunk room;
        fp_chunk_view view;
        fastpair_status status = fp_column_pass_chunk(column, number, &room, &view, error);
        if (status) return status;
        view.bulk = job->bulk;
        uint64_t base = column->starts.byte[number], size = view.chunk->decoded_bytes;
        uint64_t from = window_begin > base ? window_begin - base : 0;
        uint64_t to = window_end - base < size ? window_end - base : size;
        if (window_begin > base && window_begin > job->begin)
            status = fp_chunk_next_batch(&view, from, &from, error);
        if (!status && window_end - base < size && window_end < job->end)
            status = fp_chunk_next_batch(&view, to, &to, error);
        /* The last cut may have moved past the end of the range. */
        if (base + to > job->end) to = job->end - base;
        slice wanted = {from, to, job->destination->bytes + (base + from - job->begin)};
        if (job->is_alone) view.spare = job->end - (base + to); /* nobody has written there */
        if (!status && from < to)
            status = job->text && !fp_chunk_is_ascii(&view)
                         ? decode_text(job, &view, wanted, i, &cache, error)
                         : fp_chunk_decode_bytes(&view, from, to, wanted.out, &cache, error);
        if (status) return status;
    }
    return FASTPAIR_OK;
}

fastpair_status fp_decode_offsets(const fp_range_job *job, const fp_chunk_view *view,
                                  uint64_t first, uint64_t count, uint64_t index,
                                  fastpair_error *error) {
    const fastpair_destination *destination = job->destination;
    uint64_t base = job->begin - job->column->starts.byte[view->number];
    for (uint64_t row = first; row < first + count;) {
        uint64_t starts[FP_LENGTH_BLOCK + 1];
        uint32_t in_block, skip = (uint32_t)(row % FP_LENGTH_BLOCK);
        fastpair_status status =
            fp_chunk_row_starts(view, row / FP_LENGTH_BLOCK, starts, &in_block, error);
        if (status) return status;
        uint64_t take =
            in_block - skip < first + count - row ? in_block - skip : first + count - row;
        fp_put_offsets(destination, index + (row - first), starts + skip, (uint32_t)take, base);
        row += take;
    }
    return FASTPAIR_OK;
}

static fastpair_status decode_row_window(fp_range_job *job, uint64_t i, fastpair_error *error) {
    const fastpair_column *column = job->column;
    uint64_t index = i * WINDOW_ROWS,
             end = index + WINDOW_ROWS < job->count ? index + WINDOW_ROWS : job->count;
    uint64_t nulls = 0, number = fp_column_find_chunk(column, job->first + index);
    if (job->destination->validity)
        memset(job->destination->validity + index / 8, 0, (size_t)((end - index + 7) / 8));
    while (index < end) {
        fp_chunk room;
        fp_chunk_view view;
        fastpair_status status = fp_column_pass_chunk(column, number, &room, &view, error);
        if (status) return status;
        uint64_t row = job->first + index - column->starts.row[number],
                 take = view.chunk->rows - row;
        if (take > end - index) take = end - index;
        nulls += fp_chunk_validity(&view, row, take, job->destination->validity, index);
        if (job->destination->offset_bits)
            status = fp_decode_offsets(job, &view, row, take, index, error);
        if (status) return status;
        index += take;
        number++;
    }
    atomic_fetch_add_explicit(&job->nulls, nulls, memory_order_relaxed);
    return FASTPAIR_OK;
}

static fastpair_status range_task(void *context, uint64_t i, fastpair_error *error) {
    fp_range_job *job = context;
    return i < job->byte_tasks ? decode_window(job, i, error)
                               : decode_row_window(job, i - job->byte_tasks, error);
}

static fastpair_status rows_task(void *context, uint64_t i, fastpair_error *error) {
    return decode_row_window(context, i, error);
}

static fastpair_status bytes_task(void *context, uint64_t i, fastpair_error *error) {
    return decode_window(context, i, error);
}

/* The cut after a window only ever moves forward, so all bytes before it are there. */
static fastpair_status followed_task(void *context, uint64_t i, fastpair_error *error) {
    fp_range_job *job = context;
    const fp_alongside *alongside = job->alongside;
    fastpair_status status = decode_window(job, i, error);
    uint64_t size = job->end - job->begin, ready = (i + 1) * job->window;
    if (!status)
        job->first_offset = alongside->follow(alongside->context, ready < size ? ready : size);
    return status;
}

/* Offsets first, for those who want to know where rows begin in the bytes: tasks of bytes then run
 * in order if somebody follows. */
static fastpair_status decode_in_order(fp_range_job *job, uint64_t row_tasks, uint32_t threads,
                                       fastpair_error *error) {
    int is_followed = job->is_alone && job->alongside->follow;
    fastpair_status status = fp_run_tasks(threads, row_tasks, rows_task, job, error);
    if (status) return status;
    return fp_run_tasks(threads, job->byte_tasks, is_followed ? followed_task : bytes_task, job,
                        error);
}

static fastpair_status decode_as_text(fp_range_job *job, uint64_t row_tasks, uint32_t threads,
                                      fastpair_error *error) {
    const fastpair_allocator *allocator = &job->column->settings.allocator;
    uint64_t *seams = fp_allocate(allocator, job->byte_tasks, sizeof *seams);
    if (!seams) return fp_fail_memory(error, job->byte_tasks * sizeof *seams);
    for (uint64_t i = 0; i < job->byte_tasks; i++) seams[i] = UINT64_MAX;
    job->text->seams = seams;
    fastpair_status status = decode_in_order(job, row_tasks, threads, error);
    for (uint64_t i = 0; i < job->byte_tasks && !status; i++)
        if (seams[i] != UINT64_MAX &&
            !fp_text_seam_is_good(job->destination, seams[i], job->end - job->begin))
            job->text->is_wrong = 1;
    fp_release(allocator, seams);
    return status;
}

static uint64_t window_of(uint64_t bytes) {
    uint64_t share = bytes / WINDOWS;
    return share < LEAST_WINDOW ? LEAST_WINDOW : share > LARGEST_WINDOW ? LARGEST_WINDOW : share;
}

/* Whether each thread's share is FP_BULK_CODES or more, at the mean token length of the column. */
static int is_bulk(const fp_footer *totals, uint64_t bytes, uint32_t threads) {
    if (!totals->decoded_bytes) return 0;
    double codes = (double)bytes * (double)totals->codes / (double)totals->decoded_bytes;
    return codes >= (double)FP_BULK_CODES * threads;
}

fastpair_status fp_column_decode(const fastpair_column *column, uint64_t first, uint64_t count,
                                 fastpair_destination *destination, const fp_alongside *alongside,
                                 fastpair_error *error) {
    static const fp_alongside nothing;
    if (!column || !destination)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_decode: column and destination must not be NULL");
    if (!alongside) alongside = &nothing;
    fp_text_check text = {0};
    fp_range_job job = {.column = column,
                        .destination = destination,
                        .first = first,
                        .count = count,
                        .text = alongside->is_text ? &text : NULL,
                        .alongside = alongside};
    fastpair_status status = fp_begin_destination(destination, error);
    if (!status) status = range_starts(column, first, count, &job.begin, &job.end, error);
    if (!status) status = fp_check_destination(destination, job.end - job.begin, error);
    if (status) return status;
    uint64_t bytes = job.end - job.begin;
    uint32_t threads = fp_threads_for(column->settings.threads, fp_column_work(bytes, count));
    job.window = window_of(bytes);
    job.bulk = is_bulk(&column->totals, bytes, threads);
    job.is_alone = threads == 1;
    job.byte_tasks = bytes ? (bytes - 1) / job.window + 1 : 0;
    uint64_t row_tasks = count / WINDOW_ROWS + (count % WINDOW_ROWS != 0);
    fp_put_offset(destination, count, bytes);
    if (column->warm || column->source)
        status = fp_decode_cold_range(&job, threads, error);
    else if (job.text)
        status = decode_as_text(&job, row_tasks, threads, error);
    else if (alongside->follow)
        status = decode_in_order(&job, row_tasks, threads, error);
    else
        status = fp_run_tasks(threads, job.byte_tasks + row_tasks, range_task, &job, error);
    if (status) return status;
    destination->nulls = job.nulls;
    if (alongside->is_text) *alongside->is_text = !text.is_wrong;
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_decode(const fastpair_column *column, uint64_t first,
                                       uint64_t count, fastpair_destination *destination,
                                       fastpair_error *error) {
    return fp_column_decode(column, first, count, destination, NULL, error);
}
