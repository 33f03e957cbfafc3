/* rows.h - where the rows of a column begin among its codes, in device memory: sizes and places. */
#ifndef FP_GPU_ROWS_H
#define FP_GPU_ROWS_H

#include "fastpair_gpu_search.h"
#include "kernels/search_params.h"
#include "layout.h"

/* A chunk as searches see it. A stored chunk has 8-bit codes, its bytes, with tokens of one byte.
 * Places are bytes from the rows' device memory on, or from the scratch on. */
typedef struct fp_rows_chunk {
    /* A bit per code; rows before each batch, and bytes; a bit per row, and rows with bytes before each
     * word of these. */
    uint64_t starts, ranks, positions, filled, row_ranks;
    /* In scratch: where rows begin, in bytes. */
    uint64_t offsets;
    /* Where in `found` of a leaf the chunk begins, in bytes, and its words. */
    uint64_t found;
    uint32_t found_words;
    uint32_t codes, code_bits;
    /* In rows->tables. */
    uint32_t table;
} fp_rows_chunk;

#define FP_ROWS_SAMPLE 512u

/* The tokens of some chunks: a dictionary of the job, or single bytes for stored chunks. */
typedef struct fp_rows_table {
    /* NULL: single bytes. Of use as long as the job's columns are open. */
    const fp_dict *dict;
    uint32_t slots, code_bits;
    /* Where lengths of tokens are, in the rows' device memory. */
    uint64_t lengths;
    /* Some codes of the first chunk that uses the table, to tell frequent ones by. */
    uint32_t sampled;
    uint16_t sample[FP_ROWS_SAMPLE];
} fp_rows_table;

struct fastpair_gpu_rows {
    fastpair_gpu_job *job;
    uint64_t column;
    fp_rows_chunk *chunks; /* of the column */
    fp_rows_table *tables;
    uint32_t table_count;
    uint8_t *lengths; /* the host's copy of the first bytes of device memory */
    uint64_t lengths_bytes;
    uint64_t device_bytes, scratch_bytes;
    /* Bytes of what a leaf finds in all chunks. */
    uint64_t found_bytes;
    /* Some row may have no bytes. */
    int may_be_empty;
    /* No row has more bytes, says the file. */
    uint64_t longest;
    /* 0 until prepared. */
    uint64_t device_memory;
};

static inline const fp_job_column *fp_rows_column(const fastpair_gpu_rows *rows) {
    return &rows->job->columns[rows->column];
}

static inline const fp_job_chunk *fp_rows_job_chunk(const fastpair_gpu_rows *rows, uint64_t chunk) {
    return &rows->job->chunks[fp_rows_column(rows)->first_chunk + chunk];
}

static inline uint32_t fp_search_batches(uint32_t codes) {
    return codes / FP_GPU_SEARCH_BATCH + (codes % FP_GPU_SEARCH_BATCH != 0);
}

/* INVALID_ARGUMENT or BUFFER_TOO_SMALL unless `block` has `bytes` bytes at a multiple of 256. A block
 * of which nothing is needed may be NULL. */
fastpair_status fp_gpu_block_check(const char *name, const fastpair_gpu_block *block,
                                   uint64_t bytes, fastpair_error *error);

#endif
