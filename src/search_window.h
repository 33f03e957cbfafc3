/* search_window.h - codes of a chunk, some thousand at a time, with the place of each in the chunk's
 * bytes where it is wanted; and rows by the place of a byte. */
#ifndef FP_SEARCH_WINDOW_H
#define FP_SEARCH_WINDOW_H

#include "chunk_decode.h"
#include "pack.h"
#include "sidecar.h"

/* Codes of a window, at most: whole batches. */
#define FP_WINDOW_CODES 2048u

/* Places after the last, which vector loads may read. */
#define FP_WINDOW_SLACK 32u

/* A window begins with a batch. One thread at a time. */
typedef struct fp_code_window {
    const fp_chunk_view *view;
    const uint8_t *packed; /* the codes section, of packed_size bytes */
    uint64_t packed_size;
    const uint8_t *lengths; /* of tokens, by code */
    fp_sidecar_reader sidecar;
    uint64_t batches;
    uint32_t bits, batch_codes;
    uint64_t first; /* the window holds codes first .. first + count of the chunk */
    uint32_t count;
    uint32_t placed_from, placed_to; /* codes whose places are known; both 0: none */
    uint16_t codes[FP_WINDOW_CODES + 1];
    uint32_t places[FP_WINDOW_CODES + 1 + FP_WINDOW_SLACK];
} fp_code_window;

/* Prepares a window on a coded, warm chunk; the codes come with fp_window_move. */
fastpair_status fp_window_open(fp_code_window *window, const fp_chunk_view *view,
                               fastpair_error *error);

/* Has the window begin with the batch of code `code`, which the chunk must have. Sets first and count;
 * the caller, or fp_window_unpack, sets the codes. */
void fp_window_move(fp_code_window *window, uint64_t code);
void fp_window_unpack(fp_code_window *window);

/* Adds the code after the window's last, if the chunk has one. Returns how many codes are known. */
uint32_t fp_window_look_ahead(fp_code_window *window);

/* Where a batch begins, by the sidecar; or where the last one ends. */
static inline uint64_t fp_window_batch_place(const fp_code_window *window, uint64_t batch) {
    return batch == window->batches ? window->view->chunk->decoded_bytes
                                    : fp_sidecar_read(&window->sidecar, batch);
}

/* The last batch from `batch` on that begins at byte `place` or before it; `batch` if none does. */
uint64_t fp_window_batch_of(const fp_code_window *window, uint64_t batch, uint64_t place);

/* Finds the places of the batch of code `i` of the window. CORRUPT if they contradict the sidecar. */
fastpair_status fp_window_place(fp_code_window *window, uint32_t i, fastpair_error *error);

/* The byte of the chunk that code `i` (at most count) of the window begins with. */
static inline fastpair_status fp_window_at(fp_code_window *window, uint32_t i, uint64_t *place,
                                           fastpair_error *error) {
    if (i < window->placed_from || i > window->placed_to || !window->placed_to) {
        fastpair_status status =
            fp_window_place(window, i < window->count ? i : window->count - 1, error);
        if (status) return status;
    }
    *place = window->places[i];
    return FASTPAIR_OK;
}

/* Puts what vector loads may read after the place of the last code: no byte comes after it. */
static inline void fp_window_close_places(fp_code_window *window) {
    for (uint32_t i = 1; i <= FP_WINDOW_SLACK; i++) window->places[window->count + i] = UINT32_MAX;
}

/* The first code from `i` on that begins at byte `place` or after it, as far as places are known. */
static inline uint32_t fp_window_skip(const fp_code_window *window, uint32_t i, uint64_t place) {
    const uint32_t *places = window->places, end = window->placed_to;
    for (uint32_t below = 8; below == 8 && i + 8 <= end; i += below) {
        below = 0;
        for (uint32_t k = 0; k < 8; k++) below += places[i + k] < place;
        if (below < 8) return i + below;
    }
    while (i < end && places[i] < place) i++;
    return i;
}

/* Where a row of a chunk is in the chunk's bytes. It moves forth and back, mostly a few rows. */
typedef struct fp_row_cursor {
    const fp_chunk_view *view;
    uint64_t block; /* whose starts are here; UINT64_MAX: none */
    uint32_t rows, at;
    uint64_t starts[FP_LENGTH_BLOCK + 1];
} fp_row_cursor;

static inline void fp_row_cursor_open(fp_row_cursor *cursor, const fp_chunk_view *view) {
    cursor->view = view;
    cursor->block = UINT64_MAX;
}

/* Moves to the row that has byte `place` of the chunk. */
fastpair_status fp_row_cursor_seek(fp_row_cursor *cursor, uint64_t place, fastpair_error *error);

static inline fastpair_status fp_row_cursor_find(fp_row_cursor *cursor, uint64_t place,
                                                 fastpair_error *error) {
    if (cursor->block != UINT64_MAX && place >= cursor->starts[cursor->at]) {
        uint32_t at = cursor->at, last = cursor->rows - 1;
        for (uint32_t i = 0; i < 8 && at < last && cursor->starts[at + 1] <= place; i++) at++;
        cursor->at = at;
        if (place < cursor->starts[at + 1]) return FASTPAIR_OK;
    }
    return fp_row_cursor_seek(cursor, place, error);
}

/* The row, and where it begins and ends. */
static inline uint64_t fp_row_cursor_row(const fp_row_cursor *cursor) {
    return cursor->block * FP_LENGTH_BLOCK + cursor->at;
}
static inline uint64_t fp_row_cursor_start(const fp_row_cursor *cursor) {
    return cursor->starts[cursor->at];
}
static inline uint64_t fp_row_cursor_end(const fp_row_cursor *cursor) {
    return cursor->starts[cursor->at + 1];
}

/* The code with which byte `place` of the chunk begins: 0 .. codes. CORRUPT if the byte is in the
 * middle of a token. Moves the window. */
fastpair_status fp_window_find(fp_code_window *window, uint64_t place, uint64_t *code,
                               fastpair_error *error);

#endif
