/* pending.c - rows on their way into a writer. In: the caller's rows, cut anyhow. Out: the same rows in one buffer, cut
 * into chunks by a rule that sees only the rows. Null rows lose their bytes here, once and for all. */
#include "pending.h"

#include "rows.h"
#include "train.h"

#include <string.h>

#define PENDING_MOST_ROWS (4ull * FP_CHUNK_ROWS)

int fp_pending_is_full(const fp_pending *pending, uint64_t target) {
    return fp_pending_bytes(pending) >= target || pending->rows >= PENDING_MOST_ROWS;
}

/* How many rows from `first` on are valid and fit together before the target is reached; at least 1 if any is valid. */
static uint64_t valid_stretch(const fastpair_rows *rows, uint64_t first, uint64_t most_rows,
                              uint64_t most_bytes) {
    uint64_t row = first;
    while (row < rows->rows && row - first < most_rows && !fp_row_is_null(rows, row)) {
        row++;
        if (fp_row_start(rows, row) - fp_row_start(rows, first) >= most_bytes) break;
    }
    return row - first;
}

fastpair_status fp_pending_take(fp_pending *pending, const fastpair_rows *rows, uint64_t first,
                                uint64_t target, const fastpair_allocator *allocator,
                                uint64_t *next, fastpair_error *error) {
    fastpair_status status;
    uint64_t row = first;
    if (!pending->rows) {
        pending->bytes.size = pending->null_rows.size = pending->offsets.size = 0;
        if ((status = fp_buffer_reserve(&pending->offsets, allocator, sizeof(uint64_t), error)))
            return status;
        memset(pending->offsets.data, 0, sizeof(uint64_t));
        pending->offsets.size = sizeof(uint64_t);
    }
    while (row < rows->rows && !fp_pending_is_full(pending, target)) {
        uint64_t start = pending->bytes.size;
        int null = fp_row_is_null(rows, row);
        uint64_t count =
            null ? 1 : valid_stretch(rows, row, PENDING_MOST_ROWS - pending->rows, target - start);
        uint64_t base = fp_row_start(rows, row),
                 size = null ? 0 : fp_row_start(rows, row + count) - base;
        if ((status = fp_buffer_reserve(&pending->bytes, allocator, size + FP_SLACK, error)) ||
            (status = fp_buffer_reserve(&pending->offsets, allocator, count * sizeof(uint64_t),
                                        error)) ||
            (status = fp_buffer_reserve(&pending->null_rows, allocator, count, error)))
            return status;
        if (size) memcpy(pending->bytes.data + start, rows->bytes + base, (size_t)size);
        memset(pending->bytes.data + start + size, 0, FP_SLACK);
        memset(pending->null_rows.data + pending->rows, null, (size_t)count);
        uint64_t *offsets = (uint64_t *)(void *)pending->offsets.data + pending->rows;
        for (uint64_t i = 1; i <= count; i++)
            offsets[i] = null ? start : start + (fp_row_start(rows, row + i) - base);
        pending->bytes.size += size;
        pending->offsets.size += count * sizeof(uint64_t);
        pending->null_rows.size += count;
        pending->rows += count;
        row += count;
    }
    *next = row;
    return FASTPAIR_OK;
}

uint64_t fp_pending_chunk_end(const fp_pending *pending, uint64_t first, uint64_t chunk_bytes,
                              int *closed) {
    const uint64_t *offsets = fp_pending_offsets(pending);
    uint64_t row = first;
    *closed = 0;
    while (row < pending->rows) {
        uint64_t bytes = offsets[row] - offsets[first];
        *closed = row > first && (row - first >= FP_CHUNK_ROWS || bytes >= chunk_bytes ||
                                  offsets[row + 1] - offsets[first] > chunk_bytes);
        if (*closed) return row;
        row++;
    }
    *closed = row - first >= FP_CHUNK_ROWS || offsets[row] - offsets[first] >= chunk_bytes;
    return row;
}

void fp_pending_drop(fp_pending *pending, uint64_t rows) {
    uint64_t *offsets = (uint64_t *)(void *)pending->offsets.data;
    uint64_t base = offsets[rows], left = pending->rows - rows;
    memmove(pending->bytes.data, pending->bytes.data + base, (size_t)(pending->bytes.size - base));
    memmove(pending->null_rows.data, pending->null_rows.data + rows, (size_t)left);
    for (uint64_t i = 0; i <= left; i++) offsets[i] = offsets[rows + i] - base;
    pending->bytes.size -= base;
    memset(pending->bytes.data + pending->bytes.size, 0, FP_SLACK);
    pending->offsets.size = (left + 1) * sizeof(uint64_t);
    pending->null_rows.size = left;
    pending->rows = left;
}

void fp_pending_free(fp_pending *pending, const fastpair_allocator *allocator) {
    fp_buffer_free(&pending->bytes, allocator);
    fp_buffer_free(&pending->offsets, allocator);
    fp_buffer_free(&pending->null_rows, allocator);
    *pending = (fp_pending){0};
}
