/* select_decode.cuh - rows of a selection, decoded one after the other. In: a list of row numbers,
 * where its tiles begin, the column's codes. Out: bytes, offsets, validity.
 *
 * A warp takes a tile of 32 rows or, of a large one, a piece, and each lane finds one of the rows. Then
 * their codes are counted through, and a lane takes some that follow each other, whosever rows they are
 * of: so the shape of rows matters little. A stored row, and one that is copied from a decoded column,
 * has units of 16 bytes in place of codes. Refuses, with a bit in the status word and nothing written, a
 * selection that is larger than the output. Whatever the column says, a tile's bytes stay where the tile
 * was measured to be. */
#ifndef FP_GPU_SELECT_DECODE_CUH
#define FP_GPU_SELECT_DECODE_CUH

#include "select_cut.cuh"
#include "select_stage.cuh"
#include "validity.cuh"

/* What is noted of a row, or of a part of it, for those who take its codes. */
typedef struct select_note {
    uint64_t from;   /* the address of its first bit times 8, or the address of its first byte */
    uint32_t first;  /* the number of its first code in the tile */
    uint32_t format; /* 0: bytes; else slots - 1, bits << 16, stride / 16 << 24 */
    uint64_t token_lengths; /* or how many bytes there are */
    uint64_t cells;
} select_note;

/* The part of a row that a warp decodes: bytes skip .. skip + bytes, and no codes but low .. high. */
typedef struct select_share {
    uint32_t skip, bytes, low, high;
} select_share;

/* What is noted of a row of a decoded column. In `first`, how many units of 16 bytes; none if the column
 * does not have the row. */
DEVICE select_note select_note_decoded(const fp_gpu_decoded *decoded, uint64_t number,
                                       uint32_t row_bytes, const select_share *share) {
    uint64_t first = decoded->offset_bits == 32 ? global_load4(decoded->offsets + 4 * number)
                                                : global_load8(decoded->offsets + 8 * number);
    int is_there = first <= decoded->size && row_bytes <= decoded->size - first;
    return select_note{decoded->bytes + first + share->skip,
                       is_there ? (share->bytes - 1) / 16 + 1 : 0, 0, share->bytes, 0};
}

/* What is noted of a row, and in `first` how many codes it has, or units; none if it is corrupt. */
DEVICE select_note select_note_codes(const fp_gpu_selection *of, const select_row *row,
                                     const select_share *share) {
    select_codes codes = select_where(of, row);
    uint64_t from = SELECT_CHUNK8(of, row->chunk, codes);
    uint64_t lengths = SELECT_CHUNK8(of, row->chunk, token_lengths);
    uint64_t cells = SELECT_CHUNK8(of, row->chunk, cells);
    uint32_t slots = SELECT_CHUNK4(of, row->chunk, slots);
    /* Stride, bits and a byte that nobody uses, as they lie in the table. */
    uint32_t shape = SELECT_CHUNK4(of, row->chunk, stride), bits = shape >> 16 & 255;
    uint32_t format = (slots - 1) | bits << 16 | (shape & 0xffff) / 16 << 24;
    uint32_t first = greatest(codes.first, share->low);
    uint32_t count = greatest(least(codes.end, share->high), first) - first;
    uint32_t units = codes.end - codes.first == row->bytes ? (share->bytes - 1) / 16 + 1 : 0;
    uint64_t first_bit = 8 * from + (uint64_t)first * bits;
    int is_coded = lengths != 0;
    return select_note{is_coded ? first_bit : from + codes.first + share->skip,
                       is_coded ? count : units, is_coded ? format : 0,
                       is_coded ? lengths : share->bytes, cells};
}

/* Makes the note of the lane's part of a row. Returns its codes, or its units. */
DEVICE uint32_t select_prepare(const fp_gpu_select_launch *launch, const select_tile *tile,
                               const select_share *share, select_note *note) {
    uint32_t codes = 0;
    if (share->bytes) {
        *note = launch->from.bytes
                    ? select_note_decoded(&launch->from, select_number(&launch->of, tile->at),
                                          tile->row.bytes, share)
                    : select_note_codes(&launch->of, &tile->row, share);
        /* A token has at least a byte. */
        codes = least(note->first, share->bytes);
    }
    return codes;
}

DEVICE void select_write_note(uint8_t *to, const select_note *note) {
    shared_store16(to, fp_words4{{(uint32_t)note->from, (uint32_t)(note->from >> 32), note->first,
                                  note->format}});
    shared_store16(to + 16,
                   fp_words4{{(uint32_t)note->token_lengths, (uint32_t)(note->token_lengths >> 32),
                              (uint32_t)note->cells, (uint32_t)(note->cells >> 32)}});
}

/* The token of code `at` of the tile, or the unit with that number. */
DEVICE select_piece select_take(const uint8_t *note, uint32_t at) {
    fp_words4 head = shared_load16(note), tail = shared_load16(note + 16);
    uint32_t format = head.word[3], index = at - head.word[2];
    select_piece piece;
    if (!format) {
        piece.left = tail.word[0] - 16 * index;
        piece.length = least(piece.left, 16);
        piece.from = words_low(head) + 16 * (uint64_t)index;
        return piece;
    }
    uint32_t bits = format >> 16 & 255, last = format & 0xffff;
    uint64_t bit = words_low(head) + (uint64_t)index * bits, word = bit / 32 * 4;
    uint32_t shift = (uint32_t)bit % 32, low = global_load4(word);
    uint32_t high = shift + bits > 32 ? global_load4(word + 4) : 0;
    uint32_t code = least(funnel_right(low, high, shift) & ((1u << bits) - 1), last);
    piece.length = global_load1(words_low(tail) + code);
    piece.from = words_high(tail) + 16 * (uint64_t)(code * (format >> 24));
    piece.left = 0;
    return piece;
}

/* One turn: codes base .. base + 32 * FP_GPU_SELECT_CODES of a tile that has `all`. The row of each
 * is one of those that begin in this turn, marked in `begins`, or the last one before, `row`. */
DEVICE uint32_t select_turn(select_stage *stage, const uint8_t *notes, const uint32_t *begins,
                            uint32_t row, uint32_t base, uint32_t all) {
    const uint32_t each = FP_GPU_SELECT_CODES;
    uint32_t own = lane() * each / 32, bit = lane() * each % 32, mine = 0, bytes = 0, bad = 0;
    select_piece piece[FP_GPU_SELECT_CODES];
    UNROLL for (uint32_t i = 0; i < each; i++) {
        if (i < own) row += popcount(begins[i]);
        if (i == own) mine = begins[i];
    }
    row += popcount(mine & ((1u << bit) - 1));
    UNROLL for (uint32_t k = 0; k < each; k++) {
        uint32_t at = base + lane() * each + k;
        row += mine >> (bit + k) & 1;
        piece[k] = select_piece{0, 0, 0};
        if (at < all) piece[k] = select_take(notes + FP_GPU_SELECT_NOTE * row, at);
        bytes += piece[k].length;
    }
    uint32_t sum = warp_inclusive_sum(bytes), total = warp_shfl(sum, 31), shift = stage->next % 16;
    uint64_t room = stage->end - stage->next;
    if (total > room) bad = FP_GPU_BAD_LENGTHS, total = (uint32_t)room;
    for (uint32_t from = 0; from < shift + total; from += FP_GPU_SELECT_STAGE) {
        uint32_t at = sum - bytes, filled = shift + total - from;
        UNROLL for (uint32_t k = 0; k < each; k++) {
            /* A token that would not fit is left out; the column is corrupt. */
            if (piece[k].length && at + piece[k].length <= total)
                select_put(stage->bytes, (int)(shift + at - from), &piece[k]);
            at += piece[k].length;
        }
        select_store_units(stage, stage->next - shift + from, least(filled, FP_GPU_SELECT_STAGE));
    }
    stage->next += total;
    return bad;
}

/* Rows with `count` codes each, of a warp's lanes. Returns what is wrong with them. */
DEVICE uint32_t select_rows(select_stage *stage, uint8_t *notes, select_note *note,
                            uint32_t count) {
    uint32_t sum = warp_inclusive_sum(count), all = warp_shfl(sum, 31), row = 0xffffffffu, bad = 0;
    uint32_t place = rank_in(warp_ballot(count != 0));
    note->first = sum - count;
    if (count) select_write_note(notes + FP_GPU_SELECT_NOTE * place, note);
    warp_sync(); /* all notes are there */
    for (uint32_t base = 0; base < all; base += 32 * FP_GPU_SELECT_CODES) {
        uint32_t begins[FP_GPU_SELECT_CODES], slot = note->first - base;
        UNROLL for (uint32_t i = 0; i < FP_GPU_SELECT_CODES; i++) begins[i] =
            warp_or(count && slot / 32 == i ? 1u << slot % 32 : 0);
        bad |= select_turn(stage, notes, begins, row, base, all);
        UNROLL for (uint32_t i = 0; i < FP_GPU_SELECT_CODES; i++) row += popcount(begins[i]);
    }
    warp_sync(); /* before notes are replaced */
    return bad;
}

DEVICE void select_offset(const fp_gpu_selected *to, uint64_t at, uint64_t offset) {
    if (to->offset_bits == 32)
        global_store4(to->offsets + 4 * at, (uint32_t)offset);
    else
        global_store8(to->offsets + 8 * at, offset);
}

/* Offsets and validity of a tile of a selection that has `count` rows. */
DEVICE void select_describe(const fp_gpu_select_launch *launch, const select_tile *tile,
                            uint64_t count) {
    const fp_gpu_selected *to = &launch->to;
    const select_row *row = &tile->row;
    uint64_t at = tile->at, end = tile->begin + tile->end;
    if (to->offsets && at < count) select_offset(to, at, end - row->bytes);
    if (to->offsets && at + 1 == count) select_offset(to, at + 1, end);
    if (to->validity) {
        int valid = 0;
        if (row->chunk != FP_SELECT_NO_CHUNK) {
            uint64_t section = SELECT_CHUNK8(&launch->of, row->chunk, section);
            valid = !section || global_load1(section + row->row / 8) >> row->row % 8 & 1;
        }
        uint32_t bits = warp_ballot(valid);
        if (lane() == 0) global_store4(to->validity + at / 32 * 4, bits);
    }
}

/* What is left of the lane's row between two cuts. */
DEVICE select_share select_share_between(const select_tile *tile, const select_cut *from,
                                         const select_cut *to) {
    uint64_t begin = tile->end - tile->row.bytes, low = begin < from->byte ? from->byte : begin;
    uint64_t high = tile->end < to->byte ? tile->end : to->byte;
    return select_share{(uint32_t)(low - begin), low < high ? (uint32_t)(high - low) : 0,
                        lane() == from->row ? from->code : 0,
                        lane() == to->row ? to->code : 0xffffffffu};
}

/* The warp's room in shared memory, with a buffer that is cleared. At the begin of a kernel: later it
 * costs the compiler registers. */
DEVICE uint8_t *select_room(uint8_t *shared, uint32_t warp) {
    uint8_t *room = shared + warp * FP_GPU_SELECT_SHARED;
    for (uint32_t i = 16 * lane(); i < FP_GPU_SELECT_STAGE; i += 16 * 32)
        shared_store16(room + 32 * FP_GPU_SELECT_NOTE + i, fp_words4{{0, 0, 0, 0}});
    return room;
}

/* Writes bytes first .. end of a tile, shared among its rows. Returns what is wrong with them. */
DEVICE uint32_t select_write(const fp_gpu_select_launch *launch, const select_tile *tile,
                             const select_share *share, uint64_t first, uint64_t end,
                             uint8_t *room) {
    uint64_t out = launch->to.bytes + tile->begin;
    select_stage stage = {room + 32 * FP_GPU_SELECT_NOTE, out + first, out + first, out + end};
    select_note note = {0, 0, 0, 0, 0};
    uint32_t codes = select_prepare(launch, tile, share, &note);
    uint32_t bad = select_rows(&stage, room, &note, codes);
    select_store_rest(&stage);
    return stage.next != stage.end ? bad | FP_GPU_BAD_LENGTHS : bad;
}

/* Whether there is room for a tile. Only a list that was changed after it was measured could be larger. */
DEVICE int select_fits(const fp_gpu_select_launch *launch, const select_tile *tile) {
    uint64_t capacity = launch->to.bytes_capacity;
    return tile->begin <= capacity && tile->bytes <= capacity - tile->begin;
}

/* A kernel: one thread decides whether the output has room, and notes how many rows are decoded.
 * It is a kernel of its own because nvcc 13.0 does not come to an end if the next ones do this. */
DEVICE void select_check(const fp_gpu_select_launch *launch) {
    const fp_gpu_selected *to = &launch->to;
    uint64_t rows = global_reload8(launch->of.totals),
             bytes = global_reload8(launch->of.totals + 8);
    int fits = rows <= launch->of.most && rows <= to->rows_capacity && bytes <= to->bytes_capacity;
    if (to->offsets && to->offset_bits == 32 && bytes > 0x7fffffff) fits = 0;
    if (thread_in_block() == 0) {
        if (!fits) report(to->status, FP_GPU_TOO_SMALL);
        if (fits && to->offsets && !rows) select_offset(to, 0, 0);
        global_store8(launch->of.totals + 16, fits ? rows : 0);
    }
}

/* A kernel: a warp takes a piece of a large tile. */
DEVICE void select_pieces(const fp_gpu_select_launch *launch) {
    SHARED_BYTES(shared, FP_GPU_HELPER_THREADS / 32 * FP_GPU_SELECT_SHARED);
    const fp_gpu_selection *of = &launch->of;
    uint32_t warp = warp_same(warp_in_block()), bad = 0;
    uint64_t rows = global_reload8(of->totals + 16);
    uint64_t piece = (uint64_t)block_x() * (FP_GPU_HELPER_THREADS / 32) + warp;
    if (!rows || piece >= global_reload8(of->totals + 24)) return;
    uint8_t *room = select_room(shared, warp);
    select_part part = select_find_piece(of, piece, rows);
    select_tile tile = select_take_tile(of, part.tile, rows);
    uint64_t each = tile.bytes / part.count + 1, first = part.number * each;
    int is_copied = launch->from.bytes != 0, is_last = part.number + 1 == part.count;
    select_cut from = select_cut_at(of, &tile, first, is_copied);
    select_cut to = select_cut_at(of, &tile, is_last ? tile.bytes : first + each, is_copied);
    if (from.byte > to.byte) bad = FP_GPU_BAD_LENGTHS, to = from;
    select_share share = select_share_between(&tile, &from, &to);
    if (select_fits(launch, &tile))
        bad |= select_write(launch, &tile, &share, from.byte, to.byte, room);
    bad = warp_or(bad);
    if (bad && lane() == 0) report(launch->to.status, bad);
}

/* A kernel: a warp takes a tile. */
DEVICE void select_decode(const fp_gpu_select_launch *launch) {
    SHARED_BYTES(shared, FP_GPU_HELPER_THREADS / 32 * FP_GPU_SELECT_SHARED);
    uint32_t warp = warp_same(warp_in_block());
    uint64_t number = (uint64_t)block_x() * (FP_GPU_HELPER_THREADS / 32) + warp;
    uint64_t rows = global_reload8(launch->of.totals + 16);
    if (number * FP_GPU_SELECT_TILE >= rows) return;
    uint8_t *room = select_room(shared, warp);
    select_tile tile = select_take_tile(&launch->of, number, rows);
    uint32_t bad = tile.row.bad, bytes = 0;
    if (select_fits(launch, &tile)) {
        select_describe(launch, &tile, rows);
        if (!select_pieces_of(tile.bytes)) bytes = (uint32_t)tile.bytes;
    } else {
        bad |= FP_GPU_TOO_SMALL;
    }
    select_share share = {0, bytes ? tile.row.bytes : 0, 0, 0xffffffffu};
    bad |= select_write(launch, &tile, &share, 0, bytes, room);
    bad = warp_or(bad);
    if (bad && lane() == 0) report(launch->to.status, bad);
}

#endif
