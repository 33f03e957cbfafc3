/* access_listed.c - decoding single rows and lists of rows. In: an open column and row numbers in
 * any order. Out: the listed rows, in the order of the list.
 *
 * The trick: lengths alone tell where every row goes. So a list is cut into pieces, all pieces
 * are measured, and then each is decoded on its own. Rows that follow each other are decoded
 * together. The last decoded batch and the last block of row starts are kept, so an ascending
 * list decodes nothing twice within a piece. Refuses rows outside the column; checks sections
 * as access.c does. */
#include "access.h"

#include "lengths.h"
#include "threads.h"

#include <inttypes.h>
#include <stdatomic.h>

/* Rows of one task: a multiple of 8, so that no two tasks write the same byte of validity. */
#define PIECE_ROWS FP_LIST_PIECE

/* What finding one row costs, for fp_threads_for, in decoded bytes: threads pay from 4096 rows
 * on. */
#define ROW_WORK 64u

/* A place in the column: the chunk and the block of row starts that the last row was in. */
typedef struct cursor {
    const fastpair_column *column;
    fp_chunk_view view;
    uint64_t first_row, end_row; /* of the chunk; both 0 before the first row */
    uint64_t block;              /* whose starts are in `starts`; UINT64_MAX for none */
    /* Of the chunk and of the one before it, whose rows may still have to be decoded. */
    fp_hold held, held_before;
    uint64_t starts[FP_LENGTH_BLOCK + 1];
} cursor;

static void cursor_start(cursor *at, const fastpair_column *column) {
    at->column = column;
    at->first_row = at->end_row = 0;
    at->block = UINT64_MAX;
    at->held = at->held_before = (fp_hold){0};
}

static void cursor_end(cursor *at) {
    fp_column_drop(at->column, &at->held);
    fp_column_drop(at->column, &at->held_before);
}

/* Moves to the chunk of a row. */
static fastpair_status find_row(cursor *at, uint64_t row, fastpair_error *error) {
    if (row >= at->first_row && row < at->end_row) return FASTPAIR_OK;
    const fastpair_column *column = at->column;
    if (row >= column->totals.rows)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, row,
                       "row %" PRIu64 " is not in the column, which has %" PRIu64 " rows", row,
                       column->totals.rows);
    uint64_t number = fp_column_find_chunk(column, row);
    fp_chunk_view view;
    fp_hold held;
    fastpair_status status =
        fp_column_hold(column, &(fp_wanted_chunk){.number = number}, &view, &held, error);
    if (status) {
        fp_column_drop(column, &held);
        return status;
    }
    fp_column_drop(column, &at->held_before);
    at->held_before = at->held;
    at->held = held;
    at->view = view;
    at->first_row = column->starts.row[number];
    at->end_row = column->starts.row[number + 1];
    at->block = UINT64_MAX;
    return FASTPAIR_OK;
}

/* The chunk bytes of a row. `next` is the row wanted afterwards: the whole block of row starts is
 * read only if both rows share it. */
static fastpair_status find_bytes(cursor *at, uint64_t row, uint64_t next, uint64_t *from,
                                  uint64_t *to, fastpair_error *error) {
    fastpair_status status = find_row(at, row, error);
    if (status) return status;
    uint64_t in_chunk = row - at->first_row, block = in_chunk / FP_LENGTH_BLOCK;
    if (block != at->block) {
        if ((next - at->first_row) / FP_LENGTH_BLOCK != block)
            return fp_chunk_row(&at->view, in_chunk, from, to, error);
        uint32_t rows;
        at->block = UINT64_MAX;
        if ((status = fp_chunk_row_starts(&at->view, block, at->starts, &rows, error)))
            return status;
        at->block = block;
    }
    *from = at->starts[in_chunk % FP_LENGTH_BLOCK];
    *to = at->starts[in_chunk % FP_LENGTH_BLOCK + 1];
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_decode_row(const fastpair_column *column, uint64_t row,
                                           uint8_t *bytes, uint64_t capacity, uint64_t *size,
                                           int *is_null, fastpair_error *error) {
    if (size) *size = 0;
    if (is_null) *is_null = 0;
    if (!column || !size || (!bytes && capacity))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_decode_row: column, size and bytes must not be NULL");
    cursor at;
    cursor_start(&at, column);
    uint64_t from, to;
    fastpair_status status = find_row(&at, row, error);
    if (!status) status = fp_chunk_row(&at.view, row - at.first_row, &from, &to, error);
    if (!status && to - from > capacity) {
        *size = to - from;
        status = fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, row,
                         "row %" PRIu64 " has %" PRIu64 " bytes and capacity is %" PRIu64, row,
                         *size, capacity);
    }
    if (!status) {
        fp_batch_cache cache;
        fp_batch_cache_empty(&cache);
        status = fp_chunk_decode_bytes(&at.view, from, to, bytes, &cache, error);
        if (!status) *size = to - from;
        if (!status && is_null) *is_null = fp_chunk_row_is_null(&at.view, row - at.first_row);
    }
    cursor_end(&at);
    return status;
}

/* Adds the length of a row, without the rest of its block, to *sum. */
static fastpair_status measure_row(cursor *at, uint64_t row, uint64_t *sum, fastpair_error *error) {
    fastpair_status status = find_row(at, row, error);
    if (status) return status;
    const fp_section *lengths = &at->view.chunk->sections[FP_SECTION_LENGTHS];
    uint64_t in_chunk = row - at->first_row;
    uint64_t length = fp_lengths_row(at->view.block + lengths->offset, lengths->size,
                                     at->view.chunk->rows, in_chunk, NULL);
    if (length > at->view.chunk->decoded_bytes)
        return fp_chunk_fault(&at->view, FP_SECTION_LENGTHS,
                              in_chunk / FP_LENGTH_BLOCK * FP_LENGTH_ENTRY,
                              "a row is longer than its chunk", error);
    if (__builtin_add_overflow(*sum, length, sum))
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, row, "the listed rows have 2^64 bytes or more");
    return FASTPAIR_OK;
}

static fastpair_status measure_rows(const fastpair_column *column, const uint64_t *rows,
                                    uint64_t count, uint64_t *bytes, fastpair_error *error) {
    cursor at;
    cursor_start(&at, column);
    fastpair_status status = FASTPAIR_OK;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count && !status; i++) status = measure_row(&at, rows[i], &sum, error);
    cursor_end(&at);
    if (!status) *bytes = sum;
    return status;
}

fastpair_status fastpair_column_listed_size(const fastpair_column *column, const uint64_t *rows,
                                            uint64_t count, uint64_t *bytes,
                                            fastpair_error *error) {
    if (bytes) *bytes = 0;
    if (!column || !bytes || (!rows && count))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_listed_size: column, rows and bytes must not be NULL");
    return measure_rows(column, rows, count, bytes, error);
}

/* ---------------------------------------------------------------- lists */

typedef struct list_job {
    const fastpair_column *column;
    const fastpair_destination *destination;
    const fp_row_list *list;
    uint64_t *ends; /* of each piece: first its bytes, then where it ends in the destination */
    _Atomic uint64_t nulls;
    fp_text_check *text; /* NULL: bytes need not be UTF-8 */
} list_job;

static uint64_t piece_rows(const list_job *job, uint64_t piece) {
    uint64_t left = job->list->count - piece * PIECE_ROWS;
    return left < PIECE_ROWS ? left : PIECE_ROWS;
}

/* The row numbers of a piece: the caller's, or those of bits that are 1. */
static const uint64_t *piece_list(const list_job *job, uint64_t piece, uint64_t *room) {
    const fp_row_list *list = job->list;
    if (list->rows) return list->rows + piece * PIECE_ROWS;
    uint64_t bit = list->begins[piece], count = piece_rows(job, piece);
    uint32_t byte = list->bitmap[bit / 8] >> bit % 8 << bit % 8;
    for (uint64_t i = 0, at = bit / 8; i < count; byte &= byte - 1) {
        while (!byte) byte = list->bitmap[++at];
        room[i++] = list->first + at * 8 + (uint32_t)__builtin_ctz(byte);
    }
    return room;
}

static fastpair_status measure_piece(void *context, uint64_t piece, fastpair_error *error) {
    list_job *job = context;
    uint64_t room[PIECE_ROWS];
    return measure_rows(job->column, piece_list(job, piece, room), piece_rows(job, piece),
                        &job->ends[piece], error);
}

static fastpair_status decode_piece_at(cursor *at, list_job *job, uint64_t piece,
                                       fastpair_error *error) {
    const fastpair_destination *destination = job->destination;
    uint64_t room[PIECE_ROWS];
    const uint64_t *rows = piece_list(job, piece, room);
    uint64_t first = piece * PIECE_ROWS, count = piece_rows(job, piece), nulls = 0;
    uint64_t place = piece ? job->ends[piece - 1] : 0, end = job->ends[piece];
    fp_batch_cache cache;
    fp_batch_cache_empty(&cache);
    if (destination->validity)
        memset(destination->validity + first / 8, 0, (size_t)((count + 7) / 8));

    /* Bytes waiting_from .. waiting_to of chunk `waiting` are found to follow each other but are
     * not decoded yet; they end at `place`. */
    fp_chunk_view waiting = {0};
    uint64_t waiting_from = 0, waiting_to = 0;
    fastpair_status status;
    int is_ascii = 1;
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t from, to;
        uint64_t row = rows[i - first];
        uint64_t next = i + 1 < first + count ? rows[i + 1 - first] : UINT64_MAX;
        if ((status = find_bytes(at, row, next, &from, &to, error))) return status;
        if (from != waiting_to || at->view.chunk != waiting.chunk) {
            if (waiting_from < waiting_to &&
                (status = fp_chunk_decode_bytes(
                     &waiting, waiting_from, waiting_to,
                     destination->bytes + (place - (waiting_to - waiting_from)), &cache, error)))
                return status;
            waiting = at->view;
            waiting_from = from;
            if (job->text) is_ascii &= fp_chunk_is_ascii(&at->view);
        }
        waiting_to = to;
        if (to - from > end - place) /* it was shorter when measured: others change the image */
            return fp_chunk_fault(&at->view, FP_SECTION_LENGTHS, 0,
                                  "row lengths changed while being read", error);
        fp_put_offset(destination, i, place);
        place += to - from;
        int is_null = fp_chunk_row_is_null(&at->view, row - at->first_row);
        nulls += (uint64_t)is_null;
        if (destination->validity) destination->validity[i / 8] |= (uint8_t)(!is_null << i % 8);
    }
    if (waiting_from < waiting_to &&
        (status = fp_chunk_decode_bytes(&waiting, waiting_from, waiting_to,
                                        destination->bytes + (place - (waiting_to - waiting_from)),
                                        &cache, error)))
        return status;
    if (place != end) /* so that no byte of a row was never written */
        return fp_chunk_fault(&at->view, FP_SECTION_LENGTHS, 0,
                              "row lengths changed while being read", error);
    if (!is_ascii) {
        fp_text_rows judged = {destination, first, first + count, fp_text_level(job->column, 0)};
        uint64_t start = piece ? job->ends[piece - 1] : 0;
        if (!fp_text_is_good(&judged, start, place)) job->text->is_wrong = 1;
    }
    atomic_fetch_add_explicit(&job->nulls, nulls, memory_order_relaxed);
    return FASTPAIR_OK;
}

static fastpair_status decode_piece(void *context, uint64_t piece, fastpair_error *error) {
    list_job *job = context;
    cursor at;
    cursor_start(&at, job->column);
    fastpair_status status = decode_piece_at(&at, job, piece, error);
    cursor_end(&at);
    return status;
}

/* Finds where each piece ends in the destination. */
static fastpair_status measure_pieces(list_job *job, uint32_t threads, uint64_t pieces,
                                      uint64_t *bytes, fastpair_error *error) {
    fastpair_status status = fp_run_tasks(threads, pieces, measure_piece, job, error);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < pieces && !status; i++) {
        if (__builtin_add_overflow(sum, job->ends[i], &sum))
            status = fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                             "the listed rows have 2^64 bytes or more");
        job->ends[i] = sum;
    }
    if (!status) *bytes = sum;
    return status;
}

fastpair_status fp_decode_list(const fastpair_column *column, const fp_row_list *list,
                               fastpair_destination *destination, uint64_t *bytes,
                               fastpair_error *error) {
    const uint64_t count = list->count, pieces = count / PIECE_ROWS + (count % PIECE_ROWS != 0);
    const uint32_t threads = fp_threads_for(
        column->settings.threads, count < UINT64_MAX / ROW_WORK ? count * ROW_WORK : UINT64_MAX);
    const fastpair_allocator *allocator = &column->settings.allocator;
    uint64_t size = 0, only_end;
    list_job job = {.column = column,
                    .destination = destination,
                    .list = list,
                    .ends = &only_end,
                    .text = list->text};
    if (pieces > 1 && !(job.ends = fp_allocate(allocator, pieces, sizeof *job.ends)))
        return fp_fail_memory(error, pieces * sizeof *job.ends);
    fastpair_status status = measure_pieces(&job, threads, pieces, &size, error);
    if (!status && destination) status = fp_check_destination(destination, size, error);
    if (!status && destination) status = fp_run_tasks(threads, pieces, decode_piece, &job, error);
    if (job.ends != &only_end) fp_release(allocator, job.ends);
    if (status) return status;
    if (bytes) *bytes = size;
    if (!destination) return FASTPAIR_OK;
    fp_put_offset(destination, count, size);
    destination->nulls = job.nulls;
    return FASTPAIR_OK;
}

fastpair_status fp_column_decode_listed(const fastpair_column *column, const uint64_t *rows,
                                        uint64_t count, fastpair_destination *destination,
                                        int *is_text, fastpair_error *error) {
    if (!column || !destination || (!rows && count))
        return fp_fail(
            error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
            "fastpair_column_decode_listed: column, rows and destination must not be NULL");
    fp_text_check text = {0};
    fp_row_list list = {.rows = rows, .count = count, .text = is_text ? &text : NULL};
    fastpair_status status = fp_begin_destination(destination, error);
    if (!status) status = fp_decode_list(column, &list, destination, NULL, error);
    if (!status && is_text) *is_text = !text.is_wrong;
    return status;
}

fastpair_status fastpair_column_decode_listed(const fastpair_column *column, const uint64_t *rows,
                                              uint64_t count, fastpair_destination *destination,
                                              fastpair_error *error) {
    return fp_column_decode_listed(column, rows, count, destination, NULL, error);
}
