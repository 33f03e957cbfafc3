/* access.h - what the files that decode rows share: destinations, and how much work there is. */
#ifndef FP_ACCESS_H
#define FP_ACCESS_H

#include "column.h"

/* Checks that a destination is of a size this library knows, and sets its outputs to 0. */
fastpair_status fp_begin_destination(fastpair_destination *destination, fastpair_error *error);

/* Whether a destination that was begun is well formed and has room for `bytes` bytes. */
fastpair_status fp_check_destination(const fastpair_destination *destination, uint64_t bytes,
                                     fastpair_error *error);

/* Writes one offset, if offsets are wanted. */
void fp_put_offset(const fastpair_destination *destination, uint64_t i, uint64_t offset);

/* What decoding so many bytes and rows costs, for fp_threads_for. */
static inline uint64_t fp_column_work(uint64_t bytes, uint64_t rows) {
    return bytes < UINT64_MAX / 16 && rows < UINT64_MAX / 16 ? bytes + 8 * rows : UINT64_MAX;
}

#endif
