/* access_cold.c - decoding ranges of columns that may have cold chunks, or whose chunks come from a
 * source. In: a range. Out: bytes, offsets and validity in the caller's memory. The trick: a cold chunk
 * is unpacked as a whole, and one from a source is read as a whole, so threads take whole chunks, and
 * each is unpacked and read once. A chunk of which all rows are wanted is not
 * kept, as nobody comes back for it soon; one that the range cuts is. Refuses what access.c refuses,
 * and frames that hold anything else than the headers say. */
#include "access.h"

#include "threads.h"

typedef struct cold_job {
    fp_range_job *range;
    uint64_t first_chunk, end_chunk;
} cold_job;

/* Rows of one chunk that are wanted. */
typedef struct slice {
    uint64_t row, rows; /* within the chunk */
    uint64_t index;     /* of the first in the destination */
} slice;

/* ORs bits into a bitmap that is 0 there. Bytes at the ends are shared with tasks for the chunks before
 * and after. */
static void put_validity(const fp_chunk_view *view, const slice *wanted, uint8_t *bitmap) {
    for (uint64_t done = 0; done < wanted->rows;) {
        uint64_t at = wanted->index + done, take = 8 - at % 8;
        if (take > wanted->rows - done) take = wanted->rows - done;
        uint8_t bits = 0;
        fp_chunk_validity(view, wanted->row + done, take, &bits, at % 8);
        if (take == 8)
            bitmap[at / 8] = bits;
        else
            __atomic_fetch_or(&bitmap[at / 8], bits, __ATOMIC_RELAXED);
        done += take;
    }
}

static fastpair_status decode_slice(fp_range_job *job, const fp_chunk_view *view,
                                    const slice *wanted, fastpair_error *error) {
    const fastpair_destination *destination = job->destination;
    uint64_t base = job->column->starts.byte[view->number], from = 0, to = 0;
    fastpair_status status = fp_chunk_row_start(view, wanted->row, &from, error);
    if (!status) status = fp_chunk_row_start(view, wanted->row + wanted->rows, &to, error);
    /* The range was measured by the same numbers, unless others change the image meanwhile. */
    if (!status && (from > to || base + from < job->begin || base + to > job->end))
        status = fp_chunk_fault(view, FP_SECTION_LENGTHS, 0, "row starts decrease", error);
    if (status) return status;
    fp_batch_cache cache;
    fp_batch_cache_empty(&cache);
    status = fp_chunk_decode_bytes(view, from, to, destination->bytes + (base + from - job->begin),
                                   &cache, error);
    if (!status && destination->offset_bits)
        status = fp_decode_offsets(job, view, wanted->row, wanted->rows, wanted->index, error);
    if (status) return status;
    if (destination->validity) put_validity(view, wanted, destination->validity);
    uint64_t nulls = fp_chunk_validity(view, wanted->row, wanted->rows, NULL, 0);
    atomic_fetch_add_explicit(&job->nulls, nulls, memory_order_relaxed);
    return FASTPAIR_OK;
}

/* Decodes all rows of a cold chunk. */
static fastpair_status decode_whole(fp_range_job *job, const fp_chunk_view *cold,
                                    const slice *wanted, fastpair_error *error) {
    const fastpair_allocator *allocator = &job->column->settings.allocator;
    const fp_chunk *chunk = cold->chunk;
    if (!chunk->coded) {
        fp_warm warm;
        fastpair_status status = fp_warm_open(cold, allocator, &warm, error);
        if (status) return status;
        fp_chunk_view view = fp_warm_view(&warm, cold);
        status = decode_slice(job, &view, wanted, error);
        fp_warm_close(&warm, allocator);
        return status;
    }
    return fp_decode_words(job, cold, wanted->index, error);
}

/* Looks at the rows of a chunk that were decoded. Their offsets are there, and no others need be. */
static void look_at_text(const fp_range_job *job, const fp_chunk_view *view, const slice *wanted) {
    const uint64_t *starts = job->column->starts.byte + view->number;
    if (!job->text || fp_chunk_is_ascii(view)) return;
    uint64_t from = starts[0] > job->begin ? starts[0] : job->begin;
    uint64_t to = starts[1] < job->end ? starts[1] : job->end;
    fp_text_rows rows = {job->destination, wanted->index, wanted->index + wanted->rows,
                         fp_text_level(job->column, job->bulk)};
    if (!fp_text_is_good(&rows, from - job->begin, to - job->begin)) job->text->is_wrong = 1;
}

static fastpair_status decode_chunk(void *context, uint64_t i, fastpair_error *error) {
    const cold_job *cold = context;
    fp_range_job *job = cold->range;
    const fastpair_column *column = job->column;
    uint64_t number = cold->first_chunk + i, first = column->starts.row[number],
             end = column->starts.row[number + 1];
    uint64_t from = first > job->first ? first : job->first;
    uint64_t to = end < job->first + job->count ? end : job->first + job->count;
    slice wanted = {from - first, to - from, from - job->first};
    fp_chunk room;
    fp_chunk_view view;
    fp_hold hold;
    fp_wanted_chunk chunk = {number, cold->end_chunk, &room};
    fastpair_status status;
    if (wanted.rows < end - first) {
        status = fp_column_hold(column, &chunk, &view, &hold, error);
    } else {
        status = fp_column_hold_block(column, &chunk, &view, &hold, error);
    }
    if (!status) {
        view.bulk = job->bulk;
        status = view.chunk->cold ? decode_whole(job, &view, &wanted, error)
                                  : decode_slice(job, &view, &wanted, error);
    }
    /* Words were looked at while they were decoded. */
    if (!status && !(view.chunk->cold && view.chunk->coded)) look_at_text(job, &view, &wanted);
    fp_column_drop(column, &hold);
    return status;
}

fastpair_status fp_decode_cold_range(fp_range_job *job, uint32_t threads, fastpair_error *error) {
    if (!job->count) return FASTPAIR_OK;
    cold_job cold = {job, fp_column_find_chunk(job->column, job->first),
                     fp_column_find_chunk(job->column, job->first + job->count - 1) + 1};
    if (job->destination->validity)
        memset(job->destination->validity, 0, (size_t)((job->count + 7) / 8));
    return fp_run_tasks(threads, cold.end_chunk - cold.first_chunk, decode_chunk, &cold, error);
}
