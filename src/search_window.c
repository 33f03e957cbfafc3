/* search_window.c - codes and their places. In: a coded chunk. Out: the byte that a code begins with,
 * the code that a byte begins with, the row that a byte belongs to. The trick: the sidecar has the
 * place of every batch, so only batches in which something was found have the lengths of their tokens
 * added up. Refuses sums that contradict the sidecar, and rows that contradict the codes. */
#include "search_window.h"

fastpair_status fp_window_open(fp_code_window *window, const fp_chunk_view *view,
                               fastpair_error *error) {
    const fp_chunk *chunk = view->chunk;
    const fp_section *codes = &chunk->sections[FP_SECTION_CODES];
    window->view = view;
    window->packed = view->block + codes->offset;
    window->packed_size = codes->size;
    window->bits = view->dictionary->dict.code_bits;
    window->batch_codes = chunk->batch_codes;
    window->batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes);
    window->sidecar = fp_sidecar_open(fp_chunk_section(chunk, view->block, FP_SECTION_SIDECAR),
                                      window->batches, chunk->group_batches);
    window->first = window->count = window->placed_from = window->placed_to = 0;
    return fp_column_dict_lengths(view->dictionary, &window->lengths, error);
}

void fp_window_move(fp_code_window *window, uint64_t code) {
    uint64_t left;
    window->first = code / window->batch_codes * window->batch_codes;
    window->count = FP_WINDOW_CODES / window->batch_codes * window->batch_codes;
    left = window->view->chunk->codes - window->first;
    if (window->count > left) window->count = (uint32_t)left;
    window->placed_from = window->placed_to = 0;
}

void fp_window_unpack(fp_code_window *window) {
    fp_unpack(window->packed, window->packed_size, window->bits, window->first, window->count,
              window->codes);
}

uint32_t fp_window_look_ahead(fp_code_window *window) {
    if (window->first + window->count >= window->view->chunk->codes) return window->count;
    fp_unpack(window->packed, window->packed_size, window->bits, window->first + window->count, 1,
              window->codes + window->count);
    return window->count + 1;
}

fastpair_status fp_window_place(fp_code_window *window, uint32_t i, fastpair_error *error) {
    uint32_t from = i / window->batch_codes * window->batch_codes, to = from + window->batch_codes;
    if (to > window->count) to = window->count;
    uint64_t batch = (window->first + from) / window->batch_codes,
             place = fp_window_batch_place(window, batch),
             end = fp_window_batch_place(window, batch + 1);
    if (end < place || end > window->view->chunk->decoded_bytes)
        return fp_chunk_fault(window->view, FP_SECTION_SIDECAR, 0,
                              "sidecar positions contradict each other", error);
    uint32_t at = (uint32_t)place;
    for (uint32_t k = from; k < to; k++) {
        window->places[k] = at;
        at += window->lengths[window->codes[k]];
    }
    window->places[to] = at;
    /* A batch has at most 64 KiB, so the sum cannot wrap round to the right one. */
    if (at != end)
        return fp_chunk_fault(
            window->view, FP_SECTION_CODES, 0,
            "codes are not in the dictionary or do not decode to the size the sidecar gives",
            error);
    if (from != window->placed_to || !window->placed_to) window->placed_from = from;
    window->placed_to = to;
    return FASTPAIR_OK;
}

uint64_t fp_window_batch_of(const fp_code_window *window, uint64_t batch, uint64_t place) {
    const fp_sidecar_reader *sidecar = &window->sidecar;
    uint64_t step = 1;
    while (batch + step < window->batches && fp_sidecar_read(sidecar, batch + step) <= place)
        step *= 2;
    for (; step; step /= 2)
        if (batch + step < window->batches && fp_sidecar_read(sidecar, batch + step) <= place)
            batch += step;
    return batch;
}

fastpair_status fp_window_find(fp_code_window *window, uint64_t place, uint64_t *code,
                               fastpair_error *error) {
    *code = window->view->chunk->codes;
    if (place == window->view->chunk->decoded_bytes) return FASTPAIR_OK;
    fp_window_move(window, fp_window_batch_of(window, 0, place) * window->batch_codes);
    fp_window_unpack(window);
    fastpair_status status = fp_window_place(window, 0, error);
    if (status) return status;
    uint32_t i = fp_window_skip(window, 0, place);
    if (window->places[i] != place)
        return fp_chunk_fault(window->view, FP_SECTION_LENGTHS, 0,
                              "a row begins in the middle of a token", error);
    *code = window->first + i;
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- rows */

/* Where a block of rows begins, by the directory. */
static uint64_t block_start(const fp_chunk_view *view, uint64_t block) {
    const fp_section *lengths = &view->chunk->sections[FP_SECTION_LENGTHS];
    return fp_load32(view->block + lengths->offset + block * FP_LENGTH_ENTRY);
}

fastpair_status fp_row_cursor_seek(fp_row_cursor *cursor, uint64_t place, fastpair_error *error) {
    const fp_chunk_view *view = cursor->view;
    uint64_t low = 0, high = (view->chunk->rows + FP_LENGTH_BLOCK - 1) / FP_LENGTH_BLOCK;
    if (cursor->block != UINT64_MAX && cursor->starts[0] <= place) { /* near, if not here */
        low = cursor->block;
        for (uint64_t step = 1; low + step < high; step *= 2)
            if (block_start(view, low + step) > place) high = low + step;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (block_start(view, middle) <= place)
            low = middle;
        else
            high = middle;
    }
    if (low != cursor->block) {
        cursor->block = UINT64_MAX;
        fastpair_status status =
            fp_chunk_row_starts(view, low, cursor->starts, &cursor->rows, error);
        if (status) return status;
        cursor->block = low;
    }
    uint32_t from = 0, to = cursor->rows;
    while (to - from > 1) {
        uint32_t middle = from + (to - from) / 2;
        if (cursor->starts[middle] <= place)
            from = middle;
        else
            to = middle;
    }
    cursor->at = from;
    if (cursor->starts[from] <= place && place < cursor->starts[from + 1]) return FASTPAIR_OK;
    return fp_chunk_fault(view, FP_SECTION_LENGTHS, low * FP_LENGTH_ENTRY,
                          "row lengths contradict each other or the decoded size", error);
}
