/* pending.h - rows a writer has taken and not yet compressed, and how they fall into chunks. */
#ifndef FP_PENDING_H
#define FP_PENDING_H

#include "memory.h"

/* Rows in the writer's own memory: bytes back to back with FP_SLACK readable bytes behind, rows + 1 offsets (the first is
 * 0), a byte a row that is 1 for nulls. All zero is empty. */
typedef struct fp_pending {
    fp_buffer bytes;
    fp_buffer offsets; /* of uint64_t */
    fp_buffer null_rows;
    uint64_t rows;
} fp_pending;

/* The most rows a chunk gets. */
#define FP_CHUNK_ROWS (1u << 20)

/* Copies rows from `first` on until the pending bytes reach `target`, or FP_CHUNK_ROWS * 4 rows are pending, or the rows
 * end; returns in *next the first row not taken. Stops at the same row however the caller cut his rows into calls. */
fastpair_status fp_pending_take(fp_pending *pending, const fastpair_rows *rows, uint64_t first,
                                uint64_t target, const fastpair_allocator *allocator,
                                uint64_t *next, fastpair_error *error);

/* True once fp_pending_take has stopped for a reason other than running out of rows. */
int fp_pending_is_full(const fp_pending *pending, uint64_t target);

static inline const uint64_t *fp_pending_offsets(const fp_pending *pending) {
    return (const uint64_t *)(const void *)pending->offsets.data;
}
static inline uint64_t fp_pending_bytes(const fp_pending *pending) {
    return pending->rows ? fp_pending_offsets(pending)[pending->rows] : 0;
}

/* The end of the chunk that begins at row `first`. A chunk is closed once it has chunk_bytes decoded bytes or FP_CHUNK_ROWS
 * rows, or when the next row would take it past chunk_bytes. *closed says whether that happened; otherwise the rows ended
 * first and more may join. */
uint64_t fp_pending_chunk_end(const fp_pending *pending, uint64_t first, uint64_t chunk_bytes,
                              int *closed);

/* Forgets the first `rows` rows. */
void fp_pending_drop(fp_pending *pending, uint64_t rows);

void fp_pending_free(fp_pending *pending, const fastpair_allocator *allocator);

#endif
