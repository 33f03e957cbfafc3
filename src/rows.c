/* rows.c - checking the caller's rows once, so that no later stage has to. In: a fastpair_rows. Out: a status. Refuses
 * offsets that decrease and rows of 4 GiB or more. */
#include "rows.h"

#include "format.h"

#include <inttypes.h>

fastpair_status fp_rows_check(const fastpair_rows *rows, fastpair_error *error) {
    if (rows->rows == 0) return FASTPAIR_OK;
    if (!rows->offsets)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows: offsets must not be NULL");
    for (uint64_t row = 0; row < rows->rows; row++) {
        uint64_t start = fp_row_start(rows, row), end = fp_row_start(rows, row + 1);
        if (end < start)
            return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, row,
                           "row %" PRIu64 ": its end offset %" PRIu64
                           " is before its start %" PRIu64,
                           row, end, start);
        if (end - start > FP_MAX_CHUNK_BYTES && !fp_row_is_null(rows, row))
            return fp_fail(error, FASTPAIR_ERROR_LIMIT, row,
                           "row %" PRIu64 " has %" PRIu64
                           " bytes; rows must be below 4 GiB: cut it into pieces",
                           row, end - start);
    }
    if (!rows->bytes && fp_row_start(rows, rows->rows) != fp_row_start(rows, 0))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows: bytes must not be NULL when some row is not empty");
    return FASTPAIR_OK;
}
