/* select_cut.cuh - a tile that is too much for one warp, cut into pieces. In: the number of a piece, what
 * was measured. Out: the tile, and where among its rows and codes the piece begins and ends.
 *
 * A piece has its share of the tile's bytes. Where that share begins inside a row, the piece begins with
 * the next batch of codes instead, as it is known where batches begin; so no token is looked at. Rows of
 * bytes are cut anywhere. The piece before ends there, because it finds the same cut. Wherever a hostile
 * column says that batches begin, a cut lies between its share and the end of its row. */
#ifndef FP_GPU_SELECT_CUT_CUH
#define FP_GPU_SELECT_CUT_CUH

#include "select_rows.cuh"

/* A tile; all lanes have the same but for the row. */
typedef struct select_tile {
    select_row row; /* the lane's */
    uint64_t at;    /* its place in the list */
    uint64_t end;   /* the byte of the tile after its last */
    uint64_t bytes; /* of all rows */
    uint64_t begin; /* in the output */
} select_tile;

/* A place in a tile: its byte, the lane whose row has it, and there the chunk's code, or 0 at the begin
 * of the row. Rows of bytes have no codes. */
typedef struct select_cut {
    uint64_t byte;
    uint32_t row, code;
} select_cut;

/* A number that is the same in all lanes, in a form that tells the compiler so. */
DEVICE uint64_t select_from_lane(uint64_t value, uint32_t from) {
    return (uint64_t)warp_shfl((uint32_t)(value >> 32), from) << 32 |
           warp_shfl((uint32_t)value, from);
}

/* Tile `tile` of a selection that has `count` rows. */
DEVICE select_tile select_take_tile(const fp_gpu_selection *of, uint64_t tile, uint64_t count) {
    uint64_t at = tile * FP_GPU_SELECT_TILE + lane();
    select_row row = select_find(of, at, count);
    uint64_t end = warp_inclusive_sum8(row.bytes);
    uint64_t begin = global_load8(of->tiles + 8 * tile) +
                     global_load8(of->groups + 8 * (tile / (FP_GPU_SELECT_GROUP / 32)));
    return select_tile{row, at, end, select_from_lane(end, 31), select_from_lane(begin, 0)};
}

/* The last of some ascending numbers that is at most `limit`, as it is of the first; 4 or 8 bytes each.
 * 32 of them are looked at at a time. */
DEVICE uint64_t select_last(uint64_t numbers, uint32_t size, uint64_t count, uint64_t limit) {
    uint64_t low = 0;
    for (uint64_t left = count; left > 1;) {
        uint64_t step = (left + 31) / 32, at = lane() * step, number = 0;
        if (at < left)
            number = size == 4 ? global_load4(numbers + 4 * (low + at))
                               : global_load8(numbers + 8 * (low + at));
        uint32_t last = excess(popcount(warp_ballot(at < left && number <= limit)), 1);
        low += last * step;
        left = last * step + step < left ? step : left - last * step;
    }
    return low;
}

/* A piece of a tile: piece `number` of `count`. */
typedef struct select_part {
    uint64_t tile;
    uint32_t number, count;
} select_part;

/* Piece `piece` of a selection that has `rows` rows. */
DEVICE select_part select_find_piece(const fp_gpu_selection *of, uint64_t piece, uint64_t rows) {
    const uint32_t tiles = FP_GPU_SELECT_GROUP / FP_GPU_SELECT_TILE;
    uint64_t groups = (rows + FP_GPU_SELECT_GROUP - 1) / FP_GPU_SELECT_GROUP;
    uint64_t group = select_last(of->pieces, 8, groups, piece), tile = group * tiles + lane();
    uint32_t in_group = (uint32_t)(piece - global_load8(of->pieces + 8 * group));
    /* Bytes of the group before this lane's tile, and before the next one. */
    uint64_t end = (group + 1 < groups ? global_load8(of->groups + 8 * (group + 1))
                                       : global_load8(of->totals + 8)) -
                   global_load8(of->groups + 8 * group);
    uint64_t before = end;
    if (tile * FP_GPU_SELECT_TILE < rows) before = global_load8(of->tiles + 8 * tile);
    uint64_t next = select_from_lane(before, (lane() + 1) % 32);
    if (lane() == 31) next = end;
    uint32_t pieces = select_pieces_of(next - before), sum = warp_inclusive_sum(pieces);
    uint32_t owner = least(popcount(warp_ballot(sum <= in_group)), 31);
    return select_part{group * tiles + owner, in_group - warp_shfl(sum - pieces, owner),
                       warp_shfl(pieces, owner)};
}

/* The cut for the share of a tile that begins with byte `share`. */
DEVICE select_cut select_cut_at(const fp_gpu_selection *of, const select_tile *tile, uint64_t share,
                                int is_copied) {
    uint32_t row = popcount(warp_ballot(tile->end <= share)), code = 0;
    uint32_t of_row = least(row, 31), bytes = warp_shfl(tile->row.bytes, of_row);
    uint64_t end = select_from_lane(tile->end, of_row), begin = end - bytes, byte = share;
    uint32_t c = warp_shfl(tile->row.chunk, of_row);
    uint32_t is_inside = row < 32 && share > begin && !is_copied;
    if (is_inside) is_inside = SELECT_CHUNK8(of, c, token_lengths) != 0;
    if (is_inside) {
        uint64_t positions = SELECT_CHUNK8(of, c, positions);
        uint32_t offset = select_offset_of(of, c, warp_shfl(tile->row.row, of_row));
        uint32_t target = offset + (uint32_t)(share - begin);
        uint32_t codes = SELECT_CHUNK4(of, c, code_count);
        uint32_t batches = codes / FP_GPU_SEARCH_BATCH + (codes % FP_GPU_SEARCH_BATCH != 0);
        uint32_t batch = (uint32_t)select_last(positions, 4, batches, target - 1) + 1, at = bytes;
        if (batch < batches) at = global_load4(positions + 4 * (uint64_t)batch) - offset;
        byte = begin + at;
        code = batch * FP_GPU_SEARCH_BATCH;
        if (at >= bytes || byte < share) byte = end, code = 0, row++;
    }
    if (row > 31) byte = tile->bytes;
    return select_cut{byte, row, code};
}

#endif
