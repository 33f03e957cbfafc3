/* select_stage.cuh - bytes on their way to a selection's output. In: tokens and pieces of rows, each
 * with its place. Out: the same bytes in global memory, in units of 16.
 *
 * Bytes are ORed into a cleared buffer in shared memory, a word at a time, so that lanes may meet in a
 * word. What does not fill a unit stays for the next turn. Only the first and the last unit of a tile
 * are stored byte by byte, as other warps have bytes in them. */
#ifndef FP_GPU_SELECT_STAGE_CUH
#define FP_GPU_SELECT_STAGE_CUH

#include "select_params.h"
#include "warp.cuh"

/* Output of a tile under way. The buffer begins with the unit that the next byte lies in, and is 0 but
 * for bytes of that unit that came before. */
typedef struct select_stage {
    uint8_t *bytes;
    uint64_t begin, next,
        end; /* addresses: of the tile's first byte, of the next, after the last */
} select_stage;

/* Up to 64 bytes: a token's cell, which is padded with zeros, or bytes of a row. */
typedef struct select_piece {
    uint64_t from;
    uint32_t length;
    uint32_t left; /* of a row: its bytes from `from` on; 0: a cell */
} select_piece;

/* Bytes of a row, at most 16, from any address on. A word is read whole if the row has all that is
 * after it; what is before it is in the same section. */
DEVICE fp_words4 select_read(const select_piece *piece) {
    uint64_t first = piece->from & ~(uint64_t)3, end = piece->from + piece->left;
    uint32_t word[5], shift = (uint32_t)piece->from % 4 * 8;
    UNROLL for (uint32_t i = 0; i < 5; i++) {
        uint64_t at = first + 4 * i;
        word[i] = 0;
        if (at >= piece->from + piece->length) continue;
        if (at + 4 <= end) {
            word[i] = global_load4(at);
        } else {
            for (uint32_t b = 0; at + b < end; b++) word[i] |= global_load1(at + b) << 8 * b;
        }
    }
    fp_words4 read;
    UNROLL for (uint32_t i = 0; i < 4; i++) {
        uint32_t bytes = excess(piece->length, 4 * i);
        read.word[i] = funnel_right(word[i], word[i + 1], shift);
        if (bytes < 4) read.word[i] &= (1u << 8 * bytes) - 1;
    }
    return read;
}

/* ORs 16 bytes into the buffer, from byte `at` on, which may be before it; no word outside. */
DEVICE void select_or(uint8_t *stage, int at, fp_words4 bytes) {
    int word = at >> 2;
    uint32_t shift = (uint32_t)at % 4 * 8, below = 0;
    UNROLL for (int i = 0; i < 5; i++) {
        uint32_t here = i < 4 ? bytes.word[i] : 0, moved = funnel_left(below, here, shift);
        uint32_t to = (uint32_t)(word + i);
        if (moved && to < FP_GPU_SELECT_STAGE / 4) shared_or4(stage + 4 * to, moved);
        below = here;
    }
}

/* Puts a piece into the buffer, as far as it lies in it. */
DEVICE void select_put(uint8_t *stage, int at, const select_piece *piece) {
    for (uint32_t done = 0; done < piece->length; done += 16) {
        fp_words4 bytes = piece->left ? select_read(piece) : global_load16(piece->from + done);
        select_or(stage, at + (int)done, bytes);
    }
}

/* Single bytes of the first unit in the buffer, those at begin .. end. */
DEVICE void select_store_bytes(const select_stage *stage, uint64_t unit, uint64_t end) {
    uint64_t at = unit + lane();
    if (lane() < 16 && at >= stage->begin && at < end)
        global_store1(at, shared_load1(stage->bytes + lane()));
}

/* Stores the units that the first `filled` bytes of the buffer make up, the first of which belongs at
 * `unit`, and clears them; what is left becomes the buffer's first unit. */
DEVICE void select_store_units(const select_stage *stage, uint64_t unit, uint32_t filled) {
    uint32_t units = filled / 16, is_cut = unit < stage->begin;
    const fp_words4 zero = {{0, 0, 0, 0}};
    warp_sync(); /* all bytes are there */
    if (units && is_cut) select_store_bytes(stage, unit, unit + 16);
    if (is_cut) warp_sync(); /* the first unit has been read */
    for (uint32_t u = lane(); u < units; u += 32) {
        fp_words4 bytes = shared_load16(stage->bytes + 16 * u);
        if (u || !is_cut) global_store16(unit + 16 * u, bytes);
        shared_store16(stage->bytes + 16 * u, zero);
    }
    if (lane() == 0 && units && filled % 16) {
        fp_words4 rest = shared_load16(stage->bytes + 16 * units);
        shared_store16(stage->bytes + 16 * units, zero);
        shared_store16(stage->bytes, rest);
    }
    warp_sync(); /* the buffer may be filled again */
}

/* Ends a tile: what is left in the buffer. */
DEVICE void select_store_rest(const select_stage *stage) {
    uint64_t unit = stage->next & ~(uint64_t)15;
    select_store_bytes(stage, unit, stage->next);
    warp_sync(); /* all bytes have been read */
    if (lane() == 0) shared_store16(stage->bytes, fp_words4{{0, 0, 0, 0}});
    warp_sync(); /* the buffer may be filled again */
}

#endif
