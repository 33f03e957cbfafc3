/* fastpair_gpu_search.h - searching and selecting rows of a column in device memory.
 *
 * The conventions of fastpair_gpu.h hold: addresses, streams, contexts, statuses. A search works on a
 * column of a job that was opened with FASTPAIR_GPU_OFFSETS and, if the column has nulls,
 * FASTPAIR_GPU_VALIDITY. Its flow:
 *   fastpair_gpu_rows_open       host only: lays out what is derived from the column's row lengths
 *   fastpair_gpu_rows_prepare    launch: derives it, once per upload of the job
 *   fastpair_gpu_search_open     host only: a compiled predicate becomes tables for the device
 *   fastpair_gpu_search_upload   copy them to device memory of the caller's, asynchronously
 *   fastpair_gpu_search_run      launch: no allocation, no synchronisation, no read-back
 * Many searches may use the same rows. */
#ifndef FASTPAIR_GPU_SEARCH_H
#define FASTPAIR_GPU_SEARCH_H

#include "fastpair_gpu.h"
#include "fastpair_search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory of the caller's, at a multiple of 256. */
typedef struct fastpair_gpu_block {
    uint64_t address;
    uint64_t bytes;
} fastpair_gpu_block;

/* ---------------------------------------------------------------- rows */

/* Where the rows of one column of a job begin among its codes. Threads may share it once it is
 * prepared. */
typedef struct fastpair_gpu_rows fastpair_gpu_rows;

/* Lays out the rows of column `column` of a job, which must outlive *rows. The job's columns must
 * still be open. No device is touched. *rows is closed with fastpair_gpu_rows_close.
 * INVALID_ARGUMENT: a NULL, no such column, a job without the outputs named above. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_rows_open(fastpair_gpu_job *job, uint64_t column,
                                                    fastpair_gpu_rows **rows,
                                                    fastpair_error *error);

/* Frees host memory. Searches of these rows must be closed; launches may still run, but for prepare.
 * NULL is allowed. */
FASTPAIR_API void fastpair_gpu_rows_close(fastpair_gpu_rows *rows);

typedef struct fastpair_gpu_rows_info {
    /* Set it to sizeof(fastpair_gpu_rows_info) before the call. */
    size_t struct_size;
    uint64_t rows;
    /* Device memory that prepare fills, and that searches read: about a bit per code and two bits
     * per row. */
    uint64_t device_bytes;
    /* Device memory that prepare needs besides, and nobody later: 4 bytes per row. */
    uint64_t scratch_bytes;
} fastpair_gpu_rows_info;

/* Describes rows. INVALID_ARGUMENT: a NULL, or struct_size is not set. */
FASTPAIR_API fastpair_status fastpair_gpu_rows_get_info(const fastpair_gpu_rows *rows,
                                                        fastpair_gpu_rows_info *info,
                                                        fastpair_error *error);

/* Derives the rows from the job's device memory, on `stream`, on which the whole column must have
 * been uploaded. `memory` is then used by searches; `scratch` is free again when the stream has come
 * so far. `status` is the address of a 32-bit word that the caller has set to 0, or 0: bits of
 * fastpair_gpu.h are ORed in where the column is corrupt. What searches find is then meaningless, but
 * they stay within their memory.
 * BUFFER_TOO_SMALL. INVALID_ARGUMENT: a NULL, a misaligned address, a job that was not uploaded.
 * UNSUPPORTED or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_rows_prepare(fastpair_gpu_rows *rows,
                                                       const fastpair_gpu_block *memory,
                                                       const fastpair_gpu_block *scratch,
                                                       uint64_t status, void *stream,
                                                       fastpair_error *error);

/* ---------------------------------------------------------------- searching */

/* A predicate compiled for some rows on a device. One thread at a time may use it. Its runs may be
 * under way at once on different streams if they have different scratch. */
typedef struct fastpair_gpu_search fastpair_gpu_search;

typedef struct fastpair_gpu_search_options {
    /* sizeof(fastpair_gpu_search_options) */
    size_t struct_size;
    /* Bytes of device memory that the tables of one leaf may take; 0: 64 MiB. A leaf that needs more
     * is searched byte by byte, with tables that do not depend on the dictionary and may be larger
     * than this; get_info says so. */
    uint64_t memory_limit;
    /* 1: walk every row from its start and pass over nothing. For measurements and tests. */
    int walk_rows;
} fastpair_gpu_search_options;

/* Makes tables of a predicate for the dictionaries of `rows`, which must outlive *search. The job's
 * columns must still be open; `search` may be closed when the call returns. No device is touched.
 * `options` NULL: all defaults. *gpu_search is closed with fastpair_gpu_search_close.
 * INVALID_ARGUMENT: a NULL, or a search of a column with another number of rows. LIMIT: a
 * predicate of more than 256 nodes or one that nests too deeply. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_search_open(fastpair_gpu_rows *rows,
                                                      const fastpair_search *search,
                                                      const fastpair_gpu_search_options *options,
                                                      fastpair_gpu_search **gpu_search,
                                                      fastpair_error *error);

/* Frees host memory. Uploads must have finished; runs may still be under way. NULL is allowed. */
FASTPAIR_API void fastpair_gpu_search_close(fastpair_gpu_search *search);

typedef struct fastpair_gpu_search_info {
    /* Set it to sizeof(fastpair_gpu_search_info) before the call. */
    size_t struct_size;
    /* Device memory for tables, and for what a run finds before its verdict. */
    uint64_t device_bytes, scratch_bytes;
    /* What a bitmap takes: whole 32-bit words. */
    uint64_t bitmap_bytes;
    /* Leaves that have patterns; those of them that are walked from the start of every row, because a
     * match depends on how the row begins. */
    uint32_t leaves, leaves_by_rows;
    /* Leaves that are searched byte by byte, which is slow: those whose automaton has more than 16,383
     * states, or whose tables would be larger than memory_limit. */
    uint32_t leaves_by_bytes;
} fastpair_gpu_search_info;

/* Describes a search. INVALID_ARGUMENT: a NULL, or struct_size is not set. */
FASTPAIR_API fastpair_status fastpair_gpu_search_get_info(const fastpair_gpu_search *search,
                                                          fastpair_gpu_search_info *info,
                                                          fastpair_error *error);

/* Copies the tables to device memory: device_bytes of them. Asynchronous on `stream`. If leaves are
 * searched byte by byte, rows must have been prepared, at least as a launch that is queued.
 * BUFFER_TOO_SMALL. INVALID_ARGUMENT: a NULL, a misaligned address, rows that were not prepared. UNSUPPORTED or OUT_OF_MEMORY:
 * the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_search_upload(fastpair_gpu_search *search,
                                                        const fastpair_gpu_block *memory,
                                                        void *stream, fastpair_error *error);

/* Where a run's result goes. Every address is the caller's device memory; 0: not wanted. */
typedef struct fastpair_gpu_matches {
    /* sizeof(fastpair_gpu_matches) */
    size_t struct_size;
    /* Arrow bitmaps of bitmap_bytes at multiples of 4, spare bits 0: rows for which the predicate is
     * true; rows for which it is true or false. */
    uint64_t bitmap, validity;
    /* Two 64-bit numbers at a multiple of 8: rows for which the predicate is true, and for which it
     * is null. */
    uint64_t counts;
} fastpair_gpu_matches;

/* Searches all rows of the column. Launches on `stream` and returns. Rows must have been prepared and
 * tables uploaded on this stream, or the caller has ordered the streams. `matches` may go when the
 * call returns.
 * BUFFER_TOO_SMALL. INVALID_ARGUMENT: a NULL, a misaligned address, rows that were not prepared,
 * tables that were not uploaded. UNSUPPORTED or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_search_run(fastpair_gpu_search *search,
                                                     const fastpair_gpu_block *scratch,
                                                     const fastpair_gpu_matches *matches,
                                                     void *stream, fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
