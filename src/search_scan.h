/* search_scan.h - which rows of a piece of a chunk pass a leaf of a predicate. */
#ifndef FP_SEARCH_SCAN_H
#define FP_SEARCH_SCAN_H

#include "chunk_decode.h"
#include "search_predicate.h"
#include "search_window.h"

/* Rows of a piece: bounds what a search holds per thread. */
#define FP_PIECE_ROWS (32u << 10)

/* Rows first .. first + rows of a warm chunk. */
typedef struct fp_piece {
    const fp_chunk_view *view;
    uint64_t first;
    uint32_t rows; /* 1..FP_PIECE_ROWS */
} fp_piece;

/* Row starts that are looked at together: whole blocks, and those at both ends. */
#define FP_SCAN_ROWS  (16u * FP_LENGTH_BLOCK)
#define FP_SCAN_BYTES (64u << 10)

/* States of an automaton over the codes of a window, a byte or two each. */
typedef struct fp_states {
    uint16_t after[FP_WINDOW_CODES];    /* each code */
    uint16_t keep[FP_WINDOW_CODES + 1]; /* all ones, or 0 where the state before becomes 0 */
} fp_states;

/* A bit for each byte of a window's tokens, and what vector loads may read after them. */
#define FP_MARK_BYTES (FP_WINDOW_CODES * FP_MAX_TOKEN / 8 + 256)

/* What a scan works with. One thread at a time. */
typedef struct fp_scan_room {
    uint64_t starts[FP_SCAN_ROWS + 1];
    uint8_t bytes[FP_SCAN_BYTES];
    fp_batch_cache cache;
    fp_code_window window;
    fp_row_cursor rows;
    fp_states states;
    uint8_t marks[FP_MARK_BYTES];
} fp_scan_room;

/* Sets the bits of rows that pass; bit 0 belongs to the piece's first row, and all are 0 before.
 * Decodes the rows and runs the automaton or the trie over their bytes. Statuses: CORRUPT,
 * OUT_OF_MEMORY. */
fastpair_status fp_scan_decoded(const fp_leaf *leaf, const fp_piece *piece, fp_scan_room *room,
                                uint64_t *bits, fastpair_error *error);

/* Row starts of rows first .. first + count of a chunk, in chunk bytes: room for count + 1. At most
 * FP_SCAN_ROWS rows, of any blocks. */
fastpair_status fp_scan_row_starts(const fp_chunk_view *view, uint64_t first, uint32_t count,
                                   uint64_t *starts, fastpair_error *error);

static inline void fp_set_bit(uint64_t *bits, uint64_t i) { bits[i / 64] |= 1ull << i % 64; }

#endif
