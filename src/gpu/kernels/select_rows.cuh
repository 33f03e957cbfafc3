/* select_rows.cuh - where a row of a column is, given its number. In: the table of chunks, what
 * prepare derived. Out: the row's bytes, and its codes.
 *
 * Nothing here walks over rows: the chunk and the batch are found by halving, the length is read from
 * its place among the packed ones, and the row's first code is found by counting row starts in one
 * batch. So a row costs the same wherever it is and whoever its neighbours are. What a hostile column
 * says is clamped: a row lies inside its chunk, and has no more codes than bytes. */
#ifndef FP_GPU_SELECT_ROWS_CUH
#define FP_GPU_SELECT_ROWS_CUH

#include "select_params.h"
#include "warp.cuh"

#define FP_SELECT_NO_CHUNK 0xffffffffu

/* A field of chunk c of the table. */
#define SELECT_CHUNK8(of, c, field)                                                                \
    global_load8((of)->chunks + sizeof(fp_gpu_select_chunk) * (uint64_t)(c) +                      \
                 offsetof(fp_gpu_select_chunk, field))
#define SELECT_CHUNK4(of, c, field)                                                                \
    global_load4((of)->chunks + sizeof(fp_gpu_select_chunk) * (uint64_t)(c) +                      \
                 offsetof(fp_gpu_select_chunk, field))

/* A row that was selected. */
typedef struct select_row {
    uint32_t chunk; /* FP_SELECT_NO_CHUNK: there is no such row */
    uint32_t row;   /* in its chunk */
    uint32_t bytes;
    uint32_t bad; /* bits of the status word */
} select_row;

/* The pieces that a tile of so many bytes is cut into; 0: none. */
DEVICE uint32_t select_pieces_of(uint64_t bytes) {
    uint32_t pieces = (uint32_t)(bytes / FP_GPU_SELECT_PIECE);
    return pieces > 1 ? pieces : 0;
}

/* Rows of the selection, as far as they are in the list. */
DEVICE uint64_t select_count(const fp_gpu_selection *of) {
    if (!of->bitmap) return of->most;
    uint64_t count = global_load8(of->totals);
    return count < of->most ? count : of->most;
}

/* The row number at a place of the list. */
DEVICE uint64_t select_number(const fp_gpu_selection *of, uint64_t at) {
    return of->number_bits == 32 ? global_load4(of->list + 4 * at)
                                 : global_load8(of->list + 8 * at);
}

/* The last chunk that begins at or before a row. Chunks without rows begin where the next one does. */
DEVICE uint32_t select_chunk(const fp_gpu_selection *of, uint64_t row) {
    uint32_t low = 0;
    for (uint32_t left = of->chunk_count; left > 1;) {
        uint32_t half = left / 2;
        if (SELECT_CHUNK8(of, low + half, first_row) <= row) low += half;
        left -= half;
    }
    return low;
}

/* Number i of those packed from an address on, `bits` wide: 1..32. */
DEVICE uint32_t select_packed(uint64_t packed, uint32_t bits, uint32_t i) {
    uint64_t from = packed + i * bits / 32 * 4;
    uint32_t shift = i * bits % 32, low = global_load4(from), high = 0;
    if (shift + bits > 32) high = global_load4(from + 4);
    return funnel_right(low, high, shift) & 0xffffffffu >> (32 - bits);
}

/* Bytes of a row, from its place among the packed lengths (docs/format.md, section 3). */
DEVICE uint32_t select_length(const fp_gpu_selection *of, uint32_t c, uint32_t row, uint32_t *bad) {
    uint64_t lengths = SELECT_CHUNK8(of, c, lengths), size = SELECT_CHUNK8(of, c, lengths_bytes);
    uint32_t rows = SELECT_CHUNK4(of, c, rows), block = row / 256;
    uint64_t directory = 16 * ((uint64_t)rows / 256 + (rows % 256 != 0));
    *bad = FP_GPU_BAD_LENGTHS;
    if (directory > size) return 0;
    fp_words4 entry = global_load16(lengths + 16 * (uint64_t)block);
    uint32_t bits = entry.word[3] & 255, above = 0;
    uint64_t needed = (uint64_t)(least(rows - block * 256, 256) * bits + 31) / 32 * 4;
    if (bits > 32 || entry.word[1] % 4 || entry.word[1] + needed > size - directory) return 0;
    if (bits) above = select_packed(lengths + directory + entry.word[1], bits, row % 256);
    uint64_t bytes = (uint64_t)entry.word[2] + above;
    if (bytes > SELECT_CHUNK4(of, c, decoded_bytes)) return 0;
    *bad = 0;
    return (uint32_t)bytes;
}

/* Where in its chunk a row begins, in bytes; select_length has found its block to be sound. By all lanes
 * of a warp, for the same row. */
DEVICE uint32_t select_offset_of(const fp_gpu_selection *of, uint32_t c, uint32_t row) {
    uint64_t lengths = SELECT_CHUNK8(of, c, lengths);
    uint32_t rows = SELECT_CHUNK4(of, c, rows), before = 0;
    fp_words4 entry = global_load16(lengths + 16 * (uint64_t)(row / 256));
    uint64_t packed = lengths + 16 * ((uint64_t)rows / 256 + (rows % 256 != 0)) + entry.word[1];
    uint32_t bits = entry.word[3] & 255;
    for (uint32_t i = lane(); i < row % 256 && bits; i += 32)
        before += select_packed(packed, bits, i);
    before = warp_shfl(warp_inclusive_sum(before), 31);
    return entry.word[0] + row % 256 * entry.word[2] + before;
}

/* The row at a place of the list; the place may be past its end. */
DEVICE select_row select_find(const fp_gpu_selection *of, uint64_t at, uint64_t count) {
    uint32_t chunk = FP_SELECT_NO_CHUNK, in_chunk = 0, bytes = 0, bad = 0;
    uint64_t row = at < count ? select_number(of, at) : 0;
    if (at < count && row < of->rows) {
        chunk = select_chunk(of, row);
        in_chunk = (uint32_t)(row - SELECT_CHUNK8(of, chunk, first_row));
        bytes = select_length(of, chunk, in_chunk, &bad);
    } else if (at < count) {
        bad = FP_GPU_BAD_ROW;
    }
    return select_row{chunk, in_chunk, bytes, bad};
}

/* ---------------------------------------------------------------- codes of a row */

/* Codes first .. end of a chunk. */
typedef struct select_codes {
    uint32_t first, end;
} select_codes;

/* What finding codes needs of a chunk. */
typedef struct select_starts {
    uint64_t starts, ranks;
    uint32_t code_count, batches;
} select_starts;

/* The bit with number `rank` among the row starts of a batch, the first of which has the number 0; or
 * the end of the chunk's codes. */
DEVICE uint32_t select_in_batch(const select_starts *in, uint32_t batch, uint32_t rank) {
    uint64_t words = in->starts + 128 * (uint64_t)batch;
    uint32_t w = 0, bits = global_load4(words);
    while (rank >= popcount(bits) && w < 31) {
        rank -= popcount(bits);
        bits = global_load4(words + 4 * ++w);
    }
    if (rank >= popcount(bits)) return in->code_count;
    for (; rank; rank--) bits &= bits - 1;
    return batch * FP_GPU_SEARCH_BATCH + 32 * w + first_bit(bits);
}

/* Where row `rank` of those with bytes begins, or where the chunk's codes end. */
DEVICE uint32_t select_begin(const select_starts *in, uint32_t rank) {
    uint32_t low = 0; /* the last batch with no more rows before it than that */
    for (uint32_t left = in->batches; left > 1;) {
        uint32_t half = left / 2;
        if (global_load4(in->ranks + 4 * (uint64_t)(low + half)) <= rank) low += half;
        left -= half;
    }
    uint32_t before = global_load4(in->ranks + 4 * (uint64_t)low);
    return least(select_in_batch(in, low, excess(rank, before)), in->code_count);
}

/* Where the row that begins with `code` ends, if that is near; else 0. */
DEVICE uint32_t select_near(const select_starts *in, uint32_t code) {
    uint32_t word = code / 32;
    uint64_t at = in->starts + 4 * (uint64_t)word;
    /* Bits above that of the code; the next word is always there. */
    uint32_t low = global_load4(at) & (uint32_t)(0xfffffffeull << code % 32);
    uint32_t high = global_load4(at + 4);
    uint32_t after = low ? 32 * word : 32 * word + 32, bits = low ? low : high;
    return bits ? after + first_bit(bits) : 0;
}

/* The codes of a row that has bytes; none if the column is corrupt. */
DEVICE select_codes select_where(const fp_gpu_selection *of, const select_row *row) {
    uint32_t c = row->chunk, first = 0, end = 0;
    select_starts in = {SELECT_CHUNK8(of, c, starts), SELECT_CHUNK8(of, c, ranks),
                        SELECT_CHUNK4(of, c, code_count), 0};
    in.batches = in.code_count / FP_GPU_SEARCH_BATCH + (in.code_count % FP_GPU_SEARCH_BATCH != 0);
    uint64_t word = 4 * (uint64_t)(row->row / 32);
    uint32_t filled = global_load4(SELECT_CHUNK8(of, c, filled) + word);
    uint32_t rank = global_load4(SELECT_CHUNK8(of, c, row_ranks) + word) +
                    popcount(filled & ((1u << row->row % 32) - 1));
    if (in.batches) first = select_begin(&in, rank);
    if (first < in.code_count) {
        end = select_near(&in, first);
        if (!end) end = select_begin(&in, rank + 1);
        end = least(end, in.code_count);
    }
    return select_codes{first, greatest(first, end)};
}

#endif
