/* access_listed.c - decoding single rows and lists of rows. In: an open column and row numbers in
 * any order. Out: the listed rows, in the order of the list.
 *
 * The trick: lengths alone tell where every row goes. So a list is cut into pieces, all pieces
 * are measured, and then each is decoded on its own (access_piece.c). Refuses rows outside the column;
 * checks sections as access.c does. */
#include "access_list.h"

#include "lengths.h"
#include "threads.h"

#include <inttypes.h>
#include <stdatomic.h>

/* What finding one row costs, for fp_threads_for, in decoded bytes: threads pay from 4096 rows
 * on. */
#define ROW_WORK 64u

void fp_place_start(fp_row_place *at, const fastpair_column *column) {
    at->column = column;
    at->first_row = at->end_row = 0;
    at->block = UINT64_MAX;
    at->held = at->held_before = (fp_hold){0};
}

void fp_place_end(fp_row_place *at) {
    fp_column_drop(at->column, &at->held);
    fp_column_drop(at->column, &at->held_before);
}

fastpair_status fp_place_find_row(fp_row_place *at, uint64_t row, fastpair_error *error) {
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

fastpair_status fp_place_move(fp_row_place *at, uint64_t row, uint64_t next, uint64_t *from,
                              uint64_t *to, fastpair_error *error) {
    fastpair_status status = fp_place_find_row(at, row, error);
    if (status) return status;
    uint64_t in_chunk = row - at->first_row, block = in_chunk / FP_LENGTH_BLOCK;
    if ((next - at->first_row) / FP_LENGTH_BLOCK != block)
        return fp_chunk_row(&at->view, in_chunk, from, to, error);
    uint32_t rows;
    at->block = UINT64_MAX;
    if ((status = fp_chunk_row_starts(&at->view, block, at->starts, &rows, error))) return status;
    at->block = block;
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
    fp_row_place at;
    fp_place_start(&at, column);
    uint64_t from, to;
    fastpair_status status = fp_place_find_row(&at, row, error);
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
    fp_place_end(&at);
    return status;
}

static fastpair_status fail_sum(uint64_t row, fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_LIMIT, row, "the listed rows have 2^64 bytes or more");
}

/* Adds the length of a row, without the rest of its block, to *sum. */
static fastpair_status measure_row(fp_row_place *at, uint64_t row, uint64_t *sum,
                                   fastpair_error *error) {
    fastpair_status status = fp_place_find_row(at, row, error);
    if (status) return status;
    const fp_section *lengths = &at->view.chunk->sections[FP_SECTION_LENGTHS];
    uint64_t in_chunk = row - at->first_row;
    uint64_t length = fp_lengths_row(at->view.block + lengths->offset, lengths->size,
                                     at->view.chunk->rows, in_chunk, NULL);
    if (length > at->view.chunk->decoded_bytes)
        return fp_chunk_fault(&at->view, FP_SECTION_LENGTHS,
                              in_chunk / FP_LENGTH_BLOCK * FP_LENGTH_ENTRY,
                              "a row is longer than its chunk", error);
    return __builtin_add_overflow(*sum, length, sum) ? fail_sum(row, error) : FASTPAIR_OK;
}

static fastpair_status measure_rows(const fastpair_column *column, const uint64_t *rows,
                                    uint64_t count, uint64_t *bytes, fastpair_error *error) {
    fp_row_place at;
    fp_place_start(&at, column);
    fastpair_status status = FASTPAIR_OK;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count && !status; i++) {
        uint64_t from, to, row = rows[i];
        uint64_t later = i + FP_BLOCK_PAYS < count ? rows[i + FP_BLOCK_PAYS] : UINT64_MAX;
        if (later - row < FP_LENGTH_BLOCK || (row - at.first_row) / FP_LENGTH_BLOCK == at.block) {
            status = fp_place_find_bytes(&at, row, row, &from, &to, error);
            if (!status && __builtin_add_overflow(sum, to - from, &sum))
                status = fail_sum(row, error);
        } else {
            status = measure_row(&at, row, &sum, error);
        }
    }
    fp_place_end(&at);
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

const uint64_t *fp_piece_list(const fp_list_job *job, uint64_t piece, uint64_t *room) {
    const fp_row_list *list = job->list;
    if (list->rows) return list->rows + piece * FP_LIST_PIECE;
    uint64_t bit = list->begins[piece], count = fp_piece_rows(job, piece);
    uint32_t byte = list->bitmap[bit / 8] >> bit % 8 << bit % 8;
    for (uint64_t i = 0, at = bit / 8; i < count; byte &= byte - 1) {
        while (!byte) byte = list->bitmap[++at];
        room[i++] = list->first + at * 8 + (uint32_t)__builtin_ctz(byte);
    }
    return room;
}

static fastpair_status measure_piece(void *context, uint64_t piece, fastpair_error *error) {
    fp_list_job *job = context;
    uint64_t room[FP_LIST_PIECE];
    return measure_rows(job->column, fp_piece_list(job, piece, room), fp_piece_rows(job, piece),
                        &job->ends[piece], error);
}

static uint64_t piece_count(const fp_row_list *list) {
    return list->count / FP_LIST_PIECE + (list->count % FP_LIST_PIECE != 0);
}

static uint32_t threads_for(const fastpair_column *column, uint64_t count) {
    return fp_threads_for(column->settings.threads,
                          count < UINT64_MAX / ROW_WORK ? count * ROW_WORK : UINT64_MAX);
}

fastpair_status fp_measure_list(const fastpair_column *column, const fp_row_list *list,
                                fp_list_sizes *sizes, fastpair_error *error) {
    const uint64_t pieces = piece_count(list);
    const fastpair_allocator *allocator = &column->settings.allocator;
    uint64_t sum = 0, only = 0, *ends = &only;
    *sizes = (fp_list_sizes){0};
    if (pieces > 1 && !(ends = fp_allocate(allocator, pieces, sizeof *ends)))
        return fp_fail_memory(error, pieces * sizeof *ends);
    fp_list_job job = {.column = column, .list = list, .ends = ends};
    fastpair_status status =
        fp_run_tasks(threads_for(column, list->count), pieces, measure_piece, &job, error);
    for (uint64_t i = 0; i < pieces && !status; i++) {
        if (__builtin_add_overflow(sum, ends[i], &sum))
            status = fail_sum(FASTPAIR_NO_POSITION, error);
        ends[i] = sum;
    }
    if (ends != &only && status) fp_release(allocator, ends);
    if (!status) *sizes = (fp_list_sizes){sum, ends == &only ? NULL : ends};
    return status;
}

void fp_list_sizes_close(const fastpair_column *column, fp_list_sizes *sizes) {
    fp_release(&column->settings.allocator, sizes->ends);
    *sizes = (fp_list_sizes){0};
}

fastpair_status fp_decode_list(const fastpair_column *column, const fp_row_list *list,
                               const fp_list_sizes *sizes, fastpair_destination *destination,
                               fastpair_error *error) {
    uint64_t only_end = sizes->bytes;
    fp_list_job job = {.column = column,
                       .destination = destination,
                       .list = list,
                       .ends = sizes->ends ? sizes->ends : &only_end,
                       .text = list->text};
    fastpair_status status = fp_check_destination(destination, sizes->bytes, error);
    if (!status)
        status = fp_run_tasks(threads_for(column, list->count), piece_count(list), fp_decode_piece,
                              &job, error);
    if (status) return status;
    fp_put_offset(destination, list->count, sizes->bytes);
    destination->nulls = job.nulls;
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_decode_listed(const fastpair_column *column, const uint64_t *rows,
                                              uint64_t count, fastpair_destination *destination,
                                              fastpair_error *error) {
    if (!column || !destination || (!rows && count))
        return fp_fail(
            error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
            "fastpair_column_decode_listed: column, rows and destination must not be NULL");
    fp_row_list list = {.rows = rows, .count = count};
    fp_list_sizes sizes;
    fastpair_status status = fp_begin_destination(destination, error);
    if (!status) status = fp_measure_list(column, &list, &sizes, error);
    if (status) return status;
    status = fp_decode_list(column, &list, &sizes, destination, error);
    fp_list_sizes_close(column, &sizes);
    return status;
}
