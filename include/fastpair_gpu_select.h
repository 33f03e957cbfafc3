/* fastpair_gpu_select.h - decoding selected rows of a column in device memory, one after the other.
 *
 * The conventions of fastpair_gpu.h hold: addresses, streams, contexts, statuses. Rows are selected by
 * a bitmap in device memory, for example what fastpair_gpu_search_run found, or by a list of row
 * numbers there. A selection works on rows that fastpair_gpu_rows_prepare has prepared. Its flow:
 *   fastpair_gpu_select_open     host only: tokens and chunks of the column as selections need them
 *   fastpair_gpu_select_upload   copy these to device memory of the caller's, asynchronously
 *   fastpair_gpu_select_sizes    launch: how many rows and bytes there are, for the caller to read
 *   fastpair_gpu_select_decode   launch: the rows, if there is room for them
 * Neither launch allocates, synchronises or reads back. A caller who knows enough of the sizes need not
 * read them; the decode compares them with the room that it is given. */
#ifndef FASTPAIR_GPU_SELECT_H
#define FASTPAIR_GPU_SELECT_H

#include "fastpair_gpu_search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What selections need of a column. Threads may share it once it is uploaded. Selections may be under
 * way at once on different streams if they have different scratch. */
typedef struct fastpair_gpu_select fastpair_gpu_select;

/* Lays out what selections from `rows` need; `rows` must outlive *select, and the job's columns must
 * still be open. No device is touched. *select is closed with fastpair_gpu_select_close.
 * INVALID_ARGUMENT: a NULL. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_select_open(const fastpair_gpu_rows *rows,
                                                      fastpair_gpu_select **select,
                                                      fastpair_error *error);

/* Frees host memory. Uploads must have finished; decodes may still be under way. NULL is allowed. */
FASTPAIR_API void fastpair_gpu_select_close(fastpair_gpu_select *select);

typedef struct fastpair_gpu_select_info {
    /* Set it to sizeof(fastpair_gpu_select_info) before the call. */
    size_t struct_size;
    /* Device memory for tokens, padded to one length, and for some 100 bytes per chunk. */
    uint64_t device_bytes;
} fastpair_gpu_select_info;

/* Describes a select. INVALID_ARGUMENT: a NULL, or struct_size is not set. */
FASTPAIR_API fastpair_status fastpair_gpu_select_get_info(const fastpair_gpu_select *select,
                                                          fastpair_gpu_select_info *info,
                                                          fastpair_error *error);

/* Copies it to device memory: device_bytes of it. Asynchronous on `stream`. Rows must have been
 * prepared, at least as a launch that is queued; if they are prepared anew elsewhere, this is called
 * again.
 * BUFFER_TOO_SMALL. INVALID_ARGUMENT: a NULL, a misaligned address, rows that were not prepared.
 * UNSUPPORTED or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_select_upload(fastpair_gpu_select *select,
                                                        const fastpair_gpu_block *memory,
                                                        void *stream, fastpair_error *error);

/* ---------------------------------------------------------------- selecting */

/* Which rows. Every address is the caller's device memory. */
typedef struct fastpair_gpu_selection {
    /* sizeof(fastpair_gpu_selection) */
    size_t struct_size;
    /* An Arrow bitmap of the column's rows at a multiple of 4, in whole 32-bit words: rows whose bit
     * is 1, in order. Bits after the last row mean nothing. 0: there are row numbers. */
    uint64_t bitmap;
    /* Row numbers of number_bits (32 or 64), aligned to that, in any order; a row may be there more
     * than once. Numbers that the column does not have stand for null rows without bytes, and decode
     * reports them. */
    uint64_t numbers;
    uint32_t number_bits;
    /* With row numbers: how many there are. With a bitmap: the most rows that may be selected, which
     * scratch depends on; 0: all of the column's. If more are, sizes counts all rows, but bytes of the
     * first ones alone, and decode says TOO_SMALL. */
    uint64_t most_rows;
} fastpair_gpu_selection;

/* Sets *bytes to the scratch that a selection needs: some quarter byte per row, at most; with a bitmap
 * also 4 bytes per row, at most. Its contents do not matter: only struct_size, which of bitmap and
 * numbers is 0, and most_rows do.
 * INVALID_ARGUMENT: a NULL, struct_size is not set, both or neither of bitmap and numbers. LIMIT: more
 * than 2^38 rows. */
FASTPAIR_API fastpair_status fastpair_gpu_select_scratch(const fastpair_gpu_select *select,
                                                         const fastpair_gpu_selection *selection,
                                                         uint64_t *bytes, fastpair_error *error);

/* Computes what a selection takes: at the scratch's address there will be two 64-bit numbers, of rows
 * and of bytes. Launches on `stream` and returns. `selection` may go when the call returns; the bitmap
 * or the numbers must stay as they are until the rows are decoded.
 * BUFFER_TOO_SMALL, LIMIT. INVALID_ARGUMENT: a NULL, a misaligned address, something that was not
 * uploaded. UNSUPPORTED or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_select_sizes(const fastpair_gpu_select *select,
                                                       const fastpair_gpu_selection *selection,
                                                       const fastpair_gpu_block *scratch,
                                                       void *stream, fastpair_error *error);

/* Bits of a selection's status word, besides those of fastpair_gpu.h.
 * TOO_SMALL: the rows do not fit; nothing was written. A bitmap or numbers that were changed after
 * sizes were computed may be reported so as well, with parts written.
 * BAD_ROW: a row number that the column does not have. */
#define FASTPAIR_GPU_TOO_SMALL 8u
#define FASTPAIR_GPU_BAD_ROW   16u

/* Where rows go. Every field that names memory is a device address of the caller's; 0 means that this
 * output is not wanted. Nothing is ever written outside. If the column is corrupt, what is written is
 * meaningless. */
typedef struct fastpair_gpu_selected {
    /* sizeof(fastpair_gpu_selected) */
    size_t struct_size;
    /* At any address. 0 only if bytes_capacity is 0. In columns of long rows, the closer the capacity
     * to the truth, the fewer blocks are launched in vain. */
    uint64_t bytes, bytes_capacity;
    /* Rows for which offsets and validity have room. The closer to the truth, the fewer blocks are
     * launched in vain. */
    uint64_t rows_capacity;
    /* rows + 1 offsets from 0 on, each offset_bits wide (32 or 64) and aligned to that. More than
     * INT32_MAX bytes do not fit 32-bit offsets. */
    uint64_t offsets;
    uint32_t offset_bits;
    /* An Arrow bitmap at a multiple of 4, in whole 32-bit words: 1 = valid, spare bits 0. */
    uint64_t validity;
    /* A 32-bit word that the caller has set to 0. */
    uint64_t status;
    /* 0: rows are decoded. Else the whole column as fastpair_gpu_job_decode left it, and its offsets,
     * of decoded_offset_bits: rows are copied from there. */
    uint64_t decoded, decoded_offsets;
    uint32_t decoded_offset_bits;
} fastpair_gpu_selected;

/* Decodes the rows of a selection, whose sizes were computed in this scratch, on this stream or on one
 * that the caller has ordered. Launches on `stream` and returns; the structs may go then.
 * BUFFER_TOO_SMALL: of the scratch. LIMIT. INVALID_ARGUMENT: a NULL, a misaligned address, something
 * that was not uploaded. UNSUPPORTED or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_select_decode(const fastpair_gpu_select *select,
                                                        const fastpair_gpu_selection *selection,
                                                        const fastpair_gpu_block *scratch,
                                                        const fastpair_gpu_selected *selected,
                                                        void *stream, fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
