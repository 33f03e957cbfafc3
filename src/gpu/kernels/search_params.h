/* search_params.h - what the host tells the kernels of a search and of a selection: plain structs,
 * passed by value as those of params.h are, and the constants that both sides compute with. */
#ifndef FP_GPU_SEARCH_PARAMS_H
#define FP_GPU_SEARCH_PARAMS_H

#include "params.h"

/* ---------------------------------------------------------------- rows, once per upload */

/* A lane takes 32 codes that follow each other, its segment; a warp takes 32 segments, a batch. */
#define FP_GPU_SEGMENT      32u
#define FP_GPU_SEARCH_BATCH 1024u

/* 32-bit words of row starts: a bit per code and one after the last code, which ends its row; whole
 * batches and one word more. */
#define FP_GPU_START_WORDS(batches) ((uint64_t)(batches)*32 + 1)

/* A chunk whose row starts are wanted. 80 bytes. */
typedef struct fp_gpu_row_starts {
    uint64_t codes;
    /* Where each batch begins in the chunk's bytes, 4 bytes each. */
    uint64_t positions;
    /* Lengths of tokens, a byte per code; 0: no such token. */
    uint64_t lengths;
    /* Where rows begin in the chunk's bytes, 4 bytes each, and where the last one ends. */
    uint64_t offsets;
    /* Out: a bit per code, 1 where a row begins, and one more where the last row ends. */
    uint64_t starts;
    /* Out: how many of them each batch has, 4 bytes each. */
    uint64_t counts;
    uint64_t status;
    uint32_t code_count, rows, decoded_bytes, slots;
    uint32_t code_bits, reserved;
} fp_gpu_row_starts;

/* A chunk whose rows with bytes are to be marked. 32 bytes. */
typedef struct fp_gpu_filled_rows {
    uint64_t offsets;
    /* Out: a bit per row, 1 where the row has bytes; and how many each word has, 4 bytes each. */
    uint64_t filled, counts;
    uint32_t rows, reserved;
} fp_gpu_filled_rows;

#define FP_GPU_START_ENTRIES 400u

typedef struct fp_gpu_row_starts_launch {
    fp_gpu_row_starts entry[FP_GPU_START_ENTRIES];
} fp_gpu_row_starts_launch;
typedef struct fp_gpu_filled_rows_launch {
    fp_gpu_filled_rows entry[FP_GPU_ENTRIES];
} fp_gpu_filled_rows_launch;

/* ---------------------------------------------------------------- searching codes */

/* A transition: the next state, and what it means. */
#define FP_GPU_STATE     0x3fffu
#define FP_GPU_AT_END    0x4000u /* the row matches if it ends here */
#define FP_GPU_MATCHES   0x8000u /* the row matches whatever follows */
#define FP_GPU_NO_REST   0xffffffffu
#define FP_GPU_MOST_WALK 0x3fffu /* states of an automaton that runs over codes */

/* What the filter says of a code. A token may begin a match: it leads from the start to another state
 * than the resting one. It may go on with a match: after one such token it leads elsewhere than it
 * would lead from the resting state. A row matches at once where a token leads to a match from the
 * start.
 *   class     at_once is 0                                   at_once is 1
 *   GOES_ON   may go on, and begins nothing                  the same
 *   BEGINS    may begin a match, and goes on with none       may begin a match
 *   SURE      matches at once or where the row ends, or      matches at once
 *             both begins and goes on: a walk must begin
 * A walk begins with a code of class BEGINS only if the next code may go on. */
#define FP_GPU_CLASS_NONE    0u
#define FP_GPU_CLASS_GOES_ON 1u
#define FP_GPU_CLASS_BEGINS  2u
#define FP_GPU_CLASS_SURE    3u

/* A chunk that is searched. 48 bytes. */
typedef struct fp_gpu_search_span {
    uint64_t codes, starts;
    /* Rows with bytes that begin before each batch, 4 bytes each. */
    uint64_t ranks;
    /* Out: a bit per row with bytes, ORed in. */
    uint64_t found;
    uint32_t code_count;
    /* 32-bit words that `found` has, and the bit of the first that is the chunk's first row. */
    uint32_t found_words, found_bit;
    uint32_t first_batch;
} fp_gpu_search_span;

#define FP_GPU_SEARCH_SPANS 640u

/* Chunks that share a dictionary, in the order of first_batch, and one more after the last. */
typedef struct fp_gpu_search_launch {
    /* A class per code, FP_GPU_CLASS_, two bits: those of code c begin with bit 30 - 2 * (c % 16) of
     * word c / 16. 0: there is no filter, and walks begin with every code, or every row. */
    uint64_t filter;
    /* Transitions, 2 bytes each: [state * slots + code]. Those that end a walk lead to `rest`. */
    uint64_t table;
    uint32_t slots, start, rest;
    /* 1: walks begin only where rows do, and end in the resting state alone. */
    uint32_t by_rows;
    /* 1: rows with a code of class SURE match, and no walk is needed. */
    uint32_t at_once;
    uint32_t span_count, batches, reserved;
    fp_gpu_search_span span[FP_GPU_SEARCH_SPANS + 1];
} fp_gpu_search_launch;

#define FP_GPU_SEARCH_LAUNCH_BYTES(count)                                                          \
    (offsetof(fp_gpu_search_launch, span) + ((size_t)(count) + 1) * sizeof(fp_gpu_search_span))

/* The filter in shared memory. Lanes have copies of their own, in banks of their own; where these
 * would be too large, 2 or 4 lanes share one. */
#define FP_GPU_FILTER_WORDS(bits)  ((bits) <= 4 ? 1 : 1 << ((bits)-4))
#define FP_GPU_FILTER_COPIES(bits) ((bits) <= 13 ? 32 : (bits) <= 15 ? 16 : 8)
#define FP_GPU_FILTER_BYTES(bits)  (4 * FP_GPU_FILTER_WORDS(bits) * FP_GPU_FILTER_COPIES(bits))
/* Words from a lane's segment to the next one's in shared memory, so that lanes read different
 * banks. */
#define FP_GPU_SEGMENT_STRIDE(bits) ((bits) + ((bits) % 8 == 0 ? 4 : 0))
/* What a warp has besides codes: rows that it has found, a bit each for 1025 of them; row starts, as
 * many; and codes to walk from, 2 bytes each, so many at a time. */
#define FP_GPU_GATHERED     144u
#define FP_GPU_LISTED_WALKS 128u
/* So many walks of a batch set the bits of rows one by one. */
#define FP_GPU_FEW_WALKS   32u
#define FP_GPU_SEARCH_ROOM (2 * FP_GPU_GATHERED + 2 * FP_GPU_LISTED_WALKS)
/* Batches of codes that a warp keeps: the one at hand, and the next. */
#define FP_GPU_SEARCH_BUFFERS(bits) ((bits) <= 14 ? 2 : 1)
#define FP_GPU_SEARCH_CODES(bits)   (128 * FP_GPU_SEGMENT_STRIDE(bits) * FP_GPU_SEARCH_BUFFERS(bits))
/* Shared memory of a block: rooms and codes of its warps, and the filter. */
#define FP_GPU_SEARCH_SHARED(bits, warps, filter)                                                  \
    ((warps) * (FP_GPU_SEARCH_ROOM + FP_GPU_SEARCH_CODES(bits)) + (filter))
#define FP_GPU_SEARCH_THREADS 1024

/* ---------------------------------------------------------------- verdicts */

/* What a verdict is made of: postfix, each takes its operands from a stack. */
enum {
    FP_GPU_OP_LEAF, /* the rows that a leaf of the predicate found */
    FP_GPU_OP_NULL, /* the rows that are null */
    FP_GPU_OP_ALL,  /* the two topmost, combined as SQL combines them */
    FP_GPU_OP_ANY,
    FP_GPU_OP_NOT
};
/* Leaf: rows without bytes match; the bits are of all rows, not of those with bytes. */
#define FP_GPU_LEAF_EMPTY 1u
#define FP_GPU_LEAF_PLAIN 2u

typedef struct fp_gpu_op {
    uint8_t kind, flags;
    uint16_t leaf;
} fp_gpu_op;

#define FP_GPU_MOST_OPS   256u
#define FP_GPU_MOST_STACK 16u
/* Shared memory of a block: two sums per warp, and a stack per thread, whose topmost value lies in
 * registers. */
#define FP_GPU_VERDICT_SHARED(depth)                                                               \
    (2 * FP_GPU_HELPER_THREADS / 32 * 4 + 8 * FP_GPU_HELPER_THREADS * ((depth)-1))

/* A chunk whose verdicts are wanted. 56 bytes. */
typedef struct fp_gpu_verdict {
    /* As fp_gpu_filled_rows made them, its counts summed up. */
    uint64_t filled, ranks;
    /* What leaf 0 found in this chunk. */
    uint64_t found;
    /* The validity section; 0: all rows are valid. */
    uint64_t section;
    uint64_t first_row;
    uint32_t rows, found_words;
    uint32_t closes_column, reserved;
} fp_gpu_verdict;

#define FP_GPU_VERDICT_ENTRIES 480u

typedef struct fp_gpu_verdict_launch {
    /* The column's bitmap and its validity, in 32-bit words; two 64-bit numbers, of rows that match
     * and of rows that are null. 0: not wanted. */
    uint64_t bitmap, validity, counts;
    /* Bytes from what one leaf found to what the next one found. */
    uint64_t leaf_stride;
    uint32_t op_count, reserved;
    fp_gpu_op op[FP_GPU_MOST_OPS];
    fp_gpu_verdict entry[FP_GPU_VERDICT_ENTRIES];
} fp_gpu_verdict_launch;

FP_GPU_ASSERT(sizeof(fp_gpu_row_starts) == 80 && sizeof(fp_gpu_filled_rows) == 32 &&
                  sizeof(fp_gpu_search_span) == 48 && sizeof(fp_gpu_verdict) == 56 &&
                  sizeof(fp_gpu_op) == 4,
              "host and device must agree on these sizes");
FP_GPU_ASSERT(sizeof(fp_gpu_row_starts_launch) <= FP_GPU_MOST_PARAMETERS &&
                  sizeof(fp_gpu_search_launch) <= FP_GPU_MOST_PARAMETERS &&
                  sizeof(fp_gpu_verdict_launch) <= FP_GPU_MOST_PARAMETERS,
              "the most that devices take");

#endif
