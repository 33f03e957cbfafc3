/* sample_params.h - what the host tells the kernels that draw a sample of rows, and what they leave for
 * each other: the sample of src/sample.c, from rows in device memory. Rows are checked first, and where
 * null rows have bytes the starts of rows are computed, by kernels of the encoder (encode_rows.cuh). Then:
 *   plan    how pieces are drawn, from the bytes of all rows
 *   count   which pieces; how many, and of how many bytes, each warp has for each deck
 *   scan    where these go: deck after deck, warp after warp
 *   copy    pieces, once more → the sample
 * Every kernel returns at once if the encoder's state has a status. */
#ifndef FP_GPU_SAMPLE_PARAMS_H
#define FP_GPU_SAMPLE_PARAMS_H

#include "encode_params.h"

/* FP_SAMPLE_PIECE_SHIFT and FP_SAMPLE_DECK_BITS of sample.h. */
#define FP_GPU_SAMPLE_PIECE_SHIFT 12u
#define FP_GPU_SAMPLE_DECK_BITS   6u
#define FP_GPU_SAMPLE_PIECE       (1u << FP_GPU_SAMPLE_PIECE_SHIFT)
#define FP_GPU_SAMPLE_DECKS       (1u << FP_GPU_SAMPLE_DECK_BITS)
/* Blocks that share the pieces, at most. */
#define FP_GPU_SAMPLE_BLOCKS 128u

/* The beginning of a sample, which the host reads: then come `cap` bytes of room for its bytes, and from
 * the next multiple of 16 on lengths of pieces, 2 bytes each. Fields from `numbers` on are the plan. */
typedef struct fp_gpu_sample_head {
    uint32_t status;       /* as in the encoder's state; not 0: all that follows is 0 */
    uint32_t reserved;     /* 0 */
    uint64_t column_bytes; /* of the valid rows */
    uint64_t size, pieces; /* of the sample */
    uint64_t cap, seed;    /* of the launch */
    uint64_t numbers;      /* of pieces in the column, empty ones too */
    uint64_t run;          /* neighbours that are taken together */
    uint64_t strata;       /* of which each gives a run; 0: there are no bytes */
    uint64_t width;        /* of a stratum, in whole runs */
    uint64_t width_part;   /* and what is left, in runs of 2^-32 */
    uint64_t no_use;       /* a multiple of 16 bytes in all */
} fp_gpu_sample_head;

typedef struct fp_gpu_sample_launch {
    fp_gpu_encode_launch rows; /* its input, and of scratch: state, starts, sums */
    uint64_t head, lengths, bytes;
    /* Per deck and warp 16 bytes: bytes and pieces of the warp; after the scan, of all before it. */
    uint64_t counts;
    uint64_t cap, seed; /* cap: below 2^32 */
} fp_gpu_sample_launch;

FP_GPU_ASSERT(sizeof(fp_gpu_sample_head) % 16 == 0 &&
                  sizeof(fp_gpu_sample_launch) <= FP_GPU_MOST_PARAMETERS,
              "bytes of a sample are aligned, and parameters fit");

#endif
