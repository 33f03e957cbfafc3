/* rows.c - checking the caller's rows once, so that no later stage has to. In: a fastpair_rows.
 * Out: a status; sizes that leave null rows out. Refuses offsets that decrease and rows of 4 GiB or
 * more. */
#include "rows.h"

#include "options.h"

#include <inttypes.h>

/* The first row that decreases or is too long, or `rows` if there is none; a null row may be long.
 * Inlined for each width, so that the loop does not ask for the width of every offset. */
static inline __attribute__((always_inline)) uint64_t first_bad_row(const fastpair_rows *rows,
                                                                    uint32_t bits) {
    const fastpair_rows view = {.offsets = rows->offsets, .offset_bits = bits};
    uint64_t start = fp_row_start(&view, 0);
    for (uint64_t row = 0; row < rows->rows; row++) {
        uint64_t end = fp_row_start(&view, row + 1);
        /* A decrease wraps to a huge length. */
        if (end - start > FP_MAX_CHUNK_BYTES && (end < start || !fp_row_is_null(rows, row)))
            return row;
        start = end;
    }
    return rows->rows;
}

fastpair_status fp_rows_check(const fastpair_rows *rows, fastpair_error *error) {
    fastpair_status status = fp_struct_check("rows", rows, sizeof *rows, error);
    if (status) return status;
    if (rows->offset_bits != 0 && rows->offset_bits != 32 && rows->offset_bits != 64)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows: offset_bits is %" PRIu32 "; it must be 32, 64 or 0 for 64",
                       rows->offset_bits);
    if (rows->rows == 0) return FASTPAIR_OK;
    if (!rows->offsets)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows: offsets must not be NULL");
    uint64_t row = rows->offset_bits == 32 ? first_bad_row(rows, 32) : first_bad_row(rows, 64);
    if (row < rows->rows) {
        uint64_t start = fp_row_start(rows, row), end = fp_row_start(rows, row + 1);
        if (end < start)
            return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, row,
                           "row %" PRIu64 ": its end offset %" PRIu64
                           " is before its start %" PRIu64,
                           row, end, start);
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, row,
                       "row %" PRIu64 " has %" PRIu64
                       " bytes; rows must be below 4 GiB: cut it into pieces",
                       row, end - start);
    }
    if (!rows->bytes && fp_rows_size(rows))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows: bytes must not be NULL when a valid row is not empty");
    return FASTPAIR_OK;
}

uint64_t fp_rows_size(const fastpair_rows *rows) {
    if (!rows->rows) return 0;
    if (!rows->validity) return fp_row_start(rows, rows->rows) - fp_row_start(rows, 0);
    uint64_t size = 0;
    for (uint64_t row = 0; row < rows->rows; row++)
        if (!fp_row_is_null(rows, row))
            size += fp_row_start(rows, row + 1) - fp_row_start(rows, row);
    return size;
}

fastpair_status fp_rows_lengths(const fastpair_rows *rows, const fastpair_allocator *allocator,
                                fastpair_rows *view, uint64_t **own, fastpair_error *error) {
    *view = *rows;
    *own = NULL;
    if (!rows->validity || !rows->rows ||
        fp_rows_size(rows) == fp_row_start(rows, rows->rows) - fp_row_start(rows, 0))
        return FASTPAIR_OK;
    uint64_t *offsets = fp_allocate(allocator, rows->rows + 1, sizeof *offsets);
    if (!offsets) return fp_fail_memory(error, (rows->rows + 1) * sizeof *offsets);
    offsets[0] = 0;
    for (uint64_t row = 0; row < rows->rows; row++)
        offsets[row + 1] =
            offsets[row] +
            (fp_row_is_null(rows, row) ? 0 : fp_row_start(rows, row + 1) - fp_row_start(rows, row));
    view->offsets = *own = offsets;
    view->offset_bits = 64;
    return FASTPAIR_OK;
}
