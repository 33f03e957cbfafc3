/* rows.h - the caller's view of rows: checked once, then read through the helpers here alone. */
#ifndef FP_ROWS_H
#define FP_ROWS_H

#include "format.h"
#include "memory.h"

/* The view is well formed: struct_size and offset_bits known, offsets present and never decreasing,
 * bytes present if any row has some, every valid row below 4 GiB. */
fastpair_status fp_rows_check(const fastpair_rows *rows, fastpair_error *error);

/* Where row i begins in the bytes; row `rows` begins where the last row ends. */
static inline uint64_t fp_row_start(const fastpair_rows *rows, uint64_t i) {
    const uint8_t *offsets = rows->offsets;
    return rows->offset_bits == 32 ? fp_load32(offsets + i * 4) : fp_load64(offsets + i * 8);
}

static inline int fp_row_is_null(const fastpair_rows *rows, uint64_t row) {
    if (!rows->validity) return 0;
    uint64_t bit = rows->validity_bit_offset + row;
    return !(rows->validity[bit / 8] >> (bit % 8) & 1);
}

/* The bytes of all valid rows. */
uint64_t fp_rows_size(const fastpair_rows *rows);

/* A view of the same rows whose null rows are empty, for whoever looks at lengths alone: its bytes
 * are not those of the rows. *view is `rows` itself if no null row has bytes; otherwise it has
 * offsets in *own, which the caller releases (NULL if there are none). So equal rows look equal,
 * whatever lies under their nulls. */
fastpair_status fp_rows_lengths(const fastpair_rows *rows, const fastpair_allocator *allocator,
                                fastpair_rows *view, uint64_t **own, fastpair_error *error);

#endif
