/* rows.h - checks and small helpers on the caller's view of rows. */
#ifndef FP_ROWS_H
#define FP_ROWS_H

#include "error.h"

/* Offsets present and never decreasing, bytes present if any row has some, every valid row below 4 GiB. */
fastpair_status fp_rows_check(const fastpair_rows *rows, fastpair_error *error);

/* Where row i begins in the bytes; row `rows` begins where the last row ends. */
static inline uint64_t fp_row_start(const fastpair_rows *rows, uint64_t i) {
    return rows->offsets[i];
}

static inline int fp_row_is_null(const fastpair_rows *rows, uint64_t row) {
    if (!rows->validity) return 0;
    uint64_t bit = rows->validity_bit_offset + row;
    return !(rows->validity[bit / 8] >> (bit % 8) & 1);
}

#endif
