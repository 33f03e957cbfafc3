/* validate_rows.c - the rows of a chunk against what the footer says of them. In: a chunk that is
 * valid. Out: OK, or a row that is no text, or bounds that are not those of the rows.
 *
 * The trick: rows are decoded into a window of fixed size, so memory does not grow with them. A row
 * that is longer than the window is seen in pieces: UTF-8 goes on where it stopped, and of a bound
 * 64 bytes are enough. Refuses rows that do not keep what the file promises of them. */
#include "column.h"

#include "bounds.h"
#include "utf8.h"

#include <inttypes.h>

/* Decoded at once. */
#define WINDOW (64u << 10)

typedef struct row_walk {
    const fp_chunk_view *view;
    int wants_text;
    int is_ascii; /* the window: no row of it needs to be looked at */
    uint64_t row;
    uint64_t starts[FP_LENGTH_BLOCK + 1]; /* of the block that has the row */
    fp_bounds bounds;
    fp_utf8 utf8;                /* of all rows so far, taken together */
    uint8_t head[FP_MOST_BOUND]; /* the first bytes of a row that a window cuts */
    uint64_t head_size;
    fp_batch_cache cache;
    uint8_t window[WINDOW];
} row_walk;

static fastpair_status text_fault(const row_walk *walk, fastpair_error *error) {
    const fp_chunk *chunk = walk->view->chunk;
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, chunk->position,
                   "chunk %" PRIu64 " (offset %" PRIu64 "): a row up to its row %" PRIu64
                   " is not UTF-8, but the footer says that the column is text",
                   walk->view->number, chunk->position, walk->row);
}

/* Takes bytes of the present row; `is_last`: the row ends with them. */
static void take_piece(row_walk *walk, const uint8_t *bytes, uint64_t size, uint64_t row_size,
                       int is_last) {
    int is_whole = is_last && size == row_size;
    if (!is_whole) {
        uint64_t room = sizeof walk->head - walk->head_size, part = size < room ? size : room;
        memcpy(walk->head + walk->head_size, bytes, (size_t)part);
        walk->head_size += part;
    }
    if (is_last && !fp_chunk_row_is_null(walk->view, walk->row))
        fp_bounds_add(&walk->bounds, is_whole ? bytes : walk->head, row_size);
    if (is_last) walk->head_size = 0;
}

/* Walks over the rows in chunk bytes from .. to, which are in the window. */
static fastpair_status walk_window(row_walk *walk, uint64_t from, uint64_t to,
                                   fastpair_error *error) {
    const fp_chunk_view *view = walk->view;
    walk->is_ascii = !walk->wants_text ||
                     (fp_utf8_is_whole(&walk->utf8) && fp_is_ascii(walk->window, to - from));
    /* All rows taken together, and then that no row begins inside a character (utf8.c). */
    int is_good = walk->is_ascii || fp_utf8_take(&walk->utf8, walk->window, to - from) == to - from;
    if (walk->is_ascii) walk->utf8 = (fp_utf8){{0}};
    while (walk->row < view->chunk->rows) {
        uint32_t rows, i = (uint32_t)(walk->row % FP_LENGTH_BLOCK);
        if (i == 0) {
            fastpair_status status =
                fp_chunk_row_starts(view, walk->row / FP_LENGTH_BLOCK, walk->starts, &rows, error);
            if (status) return status;
        }
        uint64_t start = walk->starts[i], end = walk->starts[i + 1];
        uint64_t first = start > from ? start : from, last = end < to ? end : to;
        if (start > to || (start == to && end > to)) break;
        if (!walk->is_ascii && start >= from && start < to &&
            (walk->window[start - from] & 0xc0) == 0x80)
            return text_fault(walk, error);
        take_piece(walk, walk->window + (first - from), last - first, end - start, end <= to);
        if (end > to) break;
        walk->row++;
    }
    return is_good ? FASTPAIR_OK : text_fault(walk, error);
}

/* Decodes window after window. Each ends where a batch does, so that no batch is decoded twice. */
static fastpair_status walk_rows(row_walk *walk, fastpair_error *error) {
    const fp_chunk *chunk = walk->view->chunk;
    uint64_t from = 0, to = 0;
    fp_batch_cache_empty(&walk->cache);
    do {
        uint64_t end = chunk->decoded_bytes;
        fastpair_status status = FASTPAIR_OK;
        if (end - from > WINDOW)
            status = fp_chunk_next_batch(walk->view, from + WINDOW - FP_LARGEST_BATCH, &end, error);
        if (status) return status;
        to = end - from > WINDOW ? from + WINDOW : end;
        status = fp_chunk_decode_bytes(walk->view, from, to, walk->window, &walk->cache, error);
        if (!status) status = walk_window(walk, from, to, error);
        if (status) return status;
        from = to;
    } while (to < chunk->decoded_bytes);
    return fp_utf8_is_whole(&walk->utf8) ? FASTPAIR_OK : text_fault(walk, error);
}

fastpair_status fp_column_check_rows(const fastpair_column *column, const fp_chunk_view *view,
                                     fastpair_error *error) {
    fp_column_bounds bounds;
    fastpair_status status = fp_column_find_bounds(column, &bounds, error);
    if (status || (!bounds.entries && !column->totals.is_text)) return status;
    row_walk *walk = fp_allocate(&column->settings.allocator, 1, sizeof *walk);
    if (!walk) return fp_fail_memory(error, sizeof *walk);
    walk->view = view;
    walk->wants_text = column->totals.is_text;
    walk->row = walk->head_size = 0;
    walk->bounds = (fp_bounds){0};
    walk->utf8 = (fp_utf8){{0}};
    status = walk_rows(walk, error);
    if (!status && bounds.entries) {
        uint8_t said[FP_BOUNDS_ENTRY_HEAD + 2 * FP_MOST_BOUND], found[sizeof said];
        uint64_t size = fp_bounds_entry_size(bounds.width), at = view->number * size;
        memcpy(said, bounds.entries + at, (size_t)size);
        fp_bounds_clear_zero(said);
        fp_bounds_write(&walk->bounds, bounds.width, found);
        uint64_t where =
            column->footer_position + (uint64_t)(bounds.entries - fp_column_footer(column)) + at;
        if (memcmp(said, found, (size_t)size) != 0)
            status = fp_fail(error, FASTPAIR_ERROR_CORRUPT, where,
                             "footer: the smallest or the largest row of chunk %" PRIu64
                             " (offset %" PRIu64 ") is another",
                             view->number, where);
    }
    fp_release(&column->settings.allocator, walk);
    return status;
}
