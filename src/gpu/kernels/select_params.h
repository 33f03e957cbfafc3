/* select_params.h - what the host tells the kernels of a selection: plain structs, and the constants
 * that both sides compute with. Unlike those of a decode, chunks are described in device memory: a row
 * that is selected may be in any of them. */
#ifndef FP_GPU_SELECT_PARAMS_H
#define FP_GPU_SELECT_PARAMS_H

#include "search_params.h"

/* Bits of the status word besides those of params.h. select_launch.c asserts that they are those of
 * fastpair_gpu_select.h. */
#define FP_GPU_TOO_SMALL 8u
#define FP_GPU_BAD_ROW   16u

/* A tile is what a warp takes: 32 rows of the selection, one per lane. Sizes are added up in groups of
 * tiles. */
#define FP_GPU_SELECT_TILE  32u
#define FP_GPU_SELECT_GROUP 1024u
/* A warp's codes at a time, in a tile: so many per lane, one after the other. */
#define FP_GPU_SELECT_CODES 2u
/* A tile of at least twice as many bytes is cut into pieces of about so many, for a warp each. */
#define FP_GPU_SELECT_PIECE 16384u
/* Words of a bitmap that a block takes, one per thread. */
#define FP_GPU_SELECT_WORDS 256u
/* Numbers that a thread adds up at a time. */
#define FP_GPU_SELECT_SUMS 4u

/* Room of a warp in shared memory: what codes need to know of the tile's rows, and decoded bytes. A
 * warp's codes fit with tokens of up to 16 bytes, wherever in 16 bytes the output is. */
#define FP_GPU_SELECT_NOTE   32u
#define FP_GPU_SELECT_STAGE  (32 * FP_GPU_SELECT_CODES * 16 + 16)
#define FP_GPU_SELECT_SHARED (32 * FP_GPU_SELECT_NOTE + FP_GPU_SELECT_STAGE)

/* Rows of a chunk as a selection finds them. 120 bytes. */
typedef struct fp_gpu_select_chunk {
    uint64_t first_row; /* within the column */
    uint64_t codes;
    /* As prepare derives them: search_params.h. */
    uint64_t starts, ranks, filled, row_ranks, positions;
    /* The row-length section and its size; the validity section, or 0. */
    uint64_t lengths, lengths_bytes, section;
    /* Tokens: a byte for the length of each, and from `cells` on, in device memory, `stride` bytes for
     * each. 0: codes are bytes. */
    uint64_t token_lengths, cells;
    uint32_t rows, code_count, decoded_bytes;
    uint16_t stride;
    uint8_t code_bits, reserved;
    uint32_t slots, reserved_too;
} fp_gpu_select_chunk;

/* Which rows. All addresses are of device memory. */
typedef struct fp_gpu_selection {
    uint64_t chunks; /* the table, ascending */
    uint64_t rows;   /* of the column */
    uint32_t chunk_count;
    uint32_t number_bits; /* of a row number in the list: 32 or 64 */
    uint64_t list;        /* row numbers */
    uint64_t most;        /* that the list has room for, or has */
    /* 0, or the bitmap that the list is made of; and rows in it before each FP_GPU_SELECT_WORDS of its
     * words, 8 bytes each. */
    uint64_t bitmap, bitmap_counts;
    /* Four 8-byte numbers: rows that are selected, their bytes, rows that are decoded, which is 0 if
     * the output has too little room, and pieces. */
    uint64_t totals;
    /* Bytes of the group before each tile, and of all groups before each group; pieces of all groups
     * before each group; 8 bytes each. */
    uint64_t tiles, groups, pieces;
} fp_gpu_selection;

/* Where rows go. */
typedef struct fp_gpu_selected {
    uint64_t bytes, bytes_capacity;
    uint64_t offsets, validity; /* 0: not wanted */
    uint64_t rows_capacity;
    uint64_t status;
    uint32_t offset_bits, reserved;
} fp_gpu_selected;

/* The column as it was decoded, to copy rows from; bytes 0: rows are decoded. */
typedef struct fp_gpu_decoded {
    uint64_t bytes, size, offsets;
    uint32_t offset_bits, reserved;
} fp_gpu_decoded;

/* Numbers of 8 bytes that are replaced by the sums of all before them: one or two arrays. */
typedef struct fp_gpu_select_scan {
    uint64_t values[2];
    uint64_t total[2]; /* out: the sum of all */
    /* Of values; or, if `counted` is not 0, there is one per `each` of the number at that address, of
     * which no more than `count` count. */
    uint64_t count, counted;
    uint32_t each, reserved;
} fp_gpu_select_scan;

/* What all but the scan take. */
typedef struct fp_gpu_select_launch {
    fp_gpu_selection of;
    fp_gpu_selected to;
    fp_gpu_decoded from;
} fp_gpu_select_launch;

FP_GPU_ASSERT(sizeof(fp_gpu_select_chunk) == 120 && sizeof(fp_gpu_selection) == 88 &&
                  sizeof(fp_gpu_selected) == 56 && sizeof(fp_gpu_decoded) == 32 &&
                  sizeof(fp_gpu_select_scan) == 56,
              "host and device must agree on these sizes");

#endif
