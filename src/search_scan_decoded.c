/* search_scan_decoded.c - the way that always works: rows are decoded, and the automaton runs over
 * their bytes. In: rows of a chunk. Out: a bit for each that passes. The trick: rows are decoded in
 * windows, and the state is kept from one to the next, so that a row of any length needs no more
 * memory. Refuses what decoding refuses. */
#include "search_scan.h"

#include <string.h>

fastpair_status fp_scan_row_starts(const fp_chunk_view *view, uint64_t first, uint32_t count,
                                   uint64_t *starts, fastpair_error *error) {
    uint64_t end = 0;
    for (uint32_t done = 0; done < count;) {
        uint64_t block[FP_LENGTH_BLOCK + 1], row = first + done;
        uint32_t rows, skip = (uint32_t)(row % FP_LENGTH_BLOCK);
        fastpair_status status =
            fp_chunk_row_starts(view, row / FP_LENGTH_BLOCK, block, &rows, error);
        if (status) return status;
        uint32_t take = rows - skip < count - done ? rows - skip : count - done;
        /* Each block ends where the next says that it begins, so starts never decrease. */
        memcpy(starts + done, block + skip, take * sizeof *starts);
        end = block[skip + take];
        done += take;
    }
    starts[count] = end;
    return FASTPAIR_OK;
}

/* The state of a row: of the automaton, or a node of the trie. */
static uint32_t first_state(const fp_leaf *leaf) {
    return leaf->automaton.next ? leaf->automaton.start : 0;
}

static uint32_t run(const fp_leaf *leaf, uint32_t state, const uint8_t *bytes, uint64_t size) {
    if (leaf->automaton.next) return fp_automaton_run(&leaf->automaton, state, bytes, size);
    for (uint64_t i = 0; i < size && state != FP_NO_STATE; i++)
        state = fp_pattern_trie_step(&leaf->trie, state, bytes[i]);
    return state;
}

static int accepts(const fp_leaf *leaf, uint32_t state) {
    return leaf->automaton.next ? state >= leaf->automaton.first_accepting
                                : fp_pattern_trie_accepts(&leaf->trie, state);
}

/* The bytes of a window: of a stored chunk where they are, of others decoded. */
static fastpair_status open_window(const fp_chunk_view *view, uint64_t from, uint64_t to,
                                   fp_scan_room *room, const uint8_t **bytes,
                                   fastpair_error *error) {
    *bytes = room->bytes;
    if (view->chunk->coded)
        return fp_chunk_decode_bytes(view, from, to, room->bytes, &room->cache, error);
    *bytes = fp_chunk_section(view->chunk, view->block, FP_SECTION_CODES) + from;
    return FASTPAIR_OK;
}

/* Rows first .. first + count of the chunk, whose starts are known. `bit` is that of the first. */
static fastpair_status scan_rows(const fp_leaf *leaf, const fp_chunk_view *view, uint32_t count,
                                 uint64_t bit, fp_scan_room *room, uint64_t *bits,
                                 fastpair_error *error) {
    const uint64_t *starts = room->starts, end = starts[count];
    uint64_t from = starts[0], to = from;
    uint32_t row = 0, state = first_state(leaf);
    const uint8_t *bytes = NULL;
    do {
        /* Window by window; empty rows need none. */
        to = end - from < FP_SCAN_BYTES ? end : from + FP_SCAN_BYTES;
        fastpair_status status = open_window(view, from, to, room, &bytes, error);
        if (status) return status;
        for (uint64_t at = from; row < count; row++) {
            uint64_t stop = starts[row + 1] < to ? starts[row + 1] : to;
            state = run(leaf, state, bytes + (at - from), stop - at);
            at = stop;
            if (starts[row + 1] > to) break;
            if (accepts(leaf, state)) fp_set_bit(bits, bit + row);
            state = first_state(leaf);
        }
        from = to;
    } while (row < count);
    return FASTPAIR_OK;
}

fastpair_status fp_scan_decoded(const fp_leaf *leaf, const fp_piece *piece, fp_scan_room *room,
                                uint64_t *bits, fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t done = 0; done < piece->rows && !status;) {
        uint32_t left = piece->rows - done, count = left < FP_SCAN_ROWS ? left : FP_SCAN_ROWS;
        status = fp_scan_row_starts(piece->view, piece->first + done, count, room->starts, error);
        if (!status) status = scan_rows(leaf, piece->view, count, done, room, bits, error);
        done += count;
    }
    return status;
}
