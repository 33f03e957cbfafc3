/* access_list.h - what decoding lists of rows is made of: a place that goes from row to row, and the
 * list, cut into pieces. */
#ifndef FP_ACCESS_LIST_H
#define FP_ACCESS_LIST_H

#include "access.h"

/* A place in the column: the chunk and the block of row starts that the last row was in. */
typedef struct fp_row_place {
    const fastpair_column *column;
    fp_chunk_view view;
    uint64_t first_row, end_row; /* of the chunk; both 0 before the first row */
    uint64_t block;              /* whose starts are in `starts`; UINT64_MAX for none */
    /* Of the chunk and of the one before it, whose rows may still have to be decoded. */
    fp_hold held, held_before;
    uint64_t starts[FP_LENGTH_BLOCK + 1];
} fp_row_place;

void fp_place_start(fp_row_place *at, const fastpair_column *column);
void fp_place_end(fp_row_place *at);

/* Moves to the chunk of a row. */
fastpair_status fp_place_find_row(fp_row_place *at, uint64_t row, fastpair_error *error);

/* fp_place_find_bytes for a row outside the last block. */
fastpair_status fp_place_move(fp_row_place *at, uint64_t row, uint64_t next, uint64_t *from,
                              uint64_t *to, fastpair_error *error);

/* Rows of a block from which on all its lengths are read at once. */
#define FP_BLOCK_PAYS 4u

/* The chunk bytes of a row. `next` is the row wanted FP_BLOCK_PAYS rows later, or UINT64_MAX: the whole
 * block of row starts is read only if both rows share it. */
static inline fastpair_status fp_place_find_bytes(fp_row_place *at, uint64_t row, uint64_t next,
                                                  uint64_t *from, uint64_t *to,
                                                  fastpair_error *error) {
    uint64_t in_chunk = row - at->first_row;
    if (row >= at->end_row || in_chunk / FP_LENGTH_BLOCK != at->block)
        return fp_place_move(at, row, next, from, to, error);
    *from = at->starts[in_chunk % FP_LENGTH_BLOCK];
    *to = at->starts[in_chunk % FP_LENGTH_BLOCK + 1];
    return FASTPAIR_OK;
}

typedef struct fp_list_job {
    const fastpair_column *column;
    const fastpair_destination *destination;
    const fp_row_list *list;
    uint64_t *ends; /* of each piece: first its bytes, then where it ends in the destination */
    _Atomic uint64_t nulls;
    fp_text_check *text; /* NULL: bytes need not be UTF-8 */
} fp_list_job;

static inline uint64_t fp_piece_rows(const fp_list_job *job, uint64_t piece) {
    uint64_t left = job->list->count - piece * FP_LIST_PIECE;
    return left < FP_LIST_PIECE ? left : FP_LIST_PIECE;
}

/* The row numbers of a piece: the caller's, or those of bits that are 1, put into `room`, which has
 * FP_LIST_PIECE entries. */
const uint64_t *fp_piece_list(const fp_list_job *job, uint64_t piece, uint64_t *room);

/* Decodes a piece whose bytes were measured: a task of fp_run_tasks. `context` is the fp_list_job. */
fastpair_status fp_decode_piece(void *context, uint64_t piece, fastpair_error *error);

#endif
