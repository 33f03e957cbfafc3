/* access.h - what the files that decode rows share: destinations, and how much work there is. */
#ifndef FP_ACCESS_H
#define FP_ACCESS_H

#include "warm_cache.h"

#include <stdatomic.h>

/* Checks that a destination is of a size this library knows, and sets its outputs to 0. */
fastpair_status fp_begin_destination(fastpair_destination *destination, fastpair_error *error);

/* Whether a destination that was begun is well formed and has room for `bytes` bytes. */
fastpair_status fp_check_destination(const fastpair_destination *destination, uint64_t bytes,
                                     fastpair_error *error);

/* Writes one offset, if offsets are wanted. */
void fp_put_offset(const fastpair_destination *destination, uint64_t i, uint64_t offset);

/* Writes `count` offsets from index `first` on: starts[i] - base, modulo 2^64. */
void fp_put_offsets(const fastpair_destination *destination, uint64_t first, const uint64_t *starts,
                    uint32_t count, uint64_t base);

/* Rows of a column, and where they go. */
typedef struct fp_range_job {
    const fastpair_column *column;
    const fastpair_destination *destination;
    uint64_t first, count; /* rows */
    uint64_t begin, end;   /* decoded bytes of the column */
    uint64_t window;       /* decoded bytes of one task */
    uint64_t byte_tasks;
    int bulk; /* as fp_decode_codes takes it */
    _Atomic uint64_t nulls;
} fp_range_job;

/* Offsets of rows first .. first + count of a warm chunk; `index` is the place of the first in the
 * destination. */
fastpair_status fp_decode_offsets(const fp_range_job *job, const fp_chunk_view *view,
                                  uint64_t first, uint64_t count, uint64_t index,
                                  fastpair_error *error);

/* Decodes a range of a column that may have cold chunks (access_cold.c), chunk by chunk. `threads`
 * work on it. */
fastpair_status fp_decode_cold_range(fp_range_job *job, uint32_t threads, fastpair_error *error);

/* What decoding so many bytes and rows costs, for fp_threads_for. */
static inline uint64_t fp_column_work(uint64_t bytes, uint64_t rows) {
    return bytes < UINT64_MAX / 16 && rows < UINT64_MAX / 16 ? bytes + 8 * rows : UINT64_MAX;
}

#endif
