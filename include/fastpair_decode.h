/* fastpair_decode.h - columns out: decode rows, make columns cold or warm, stream. The conventions of
 * every function are in fastpair.h, which includes this header. */
#ifndef FASTPAIR_DECODE_H
#define FASTPAIR_DECODE_H

#include "fastpair_column.h"
#include "fastpair_compress.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- decoding */

/* Where decoded rows go. All memory is the caller's, of exactly the size needed: no slack is asked
 * for, and nothing outside is touched. */
typedef struct fastpair_destination {
    /* sizeof(fastpair_destination). */
    size_t struct_size;
    /* Room for the bytes of all rows, back to back. */
    uint8_t *bytes;
    uint64_t bytes_capacity;
    /* Gets count + 1 numbers, the first of which is 0; no alignment is asked for. */
    void *offsets;
    /* Width of an offset: 32 or 64; 0: no offsets are wanted. 32 with more than INT32_MAX bytes is
     * LIMIT, since Arrow's offsets are signed. */
    uint32_t offset_bits;
    /* Gets (count + 7) / 8 bytes, 1 means valid, spare bits are 0. NULL: not wanted. */
    uint8_t *validity;
    /* Set by the call: how many of the rows are null. */
    uint64_t nulls;
} fastpair_destination;

/* The decoded size of rows first .. first + count, without decoding them. Costs the lookup of two
 * rows, and of cold chunks that the range cuts the unpacking. Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_rows_size(const fastpair_column *column,
                                                       uint64_t first, uint64_t count,
                                                       uint64_t *bytes, fastpair_error *error);

/* Decodes rows first .. first + count; 0 and the number of rows decode all. Sizes in the sections
 * are compared with each other and nothing outside the destination is touched, whatever the image
 * holds; for speed no section checksum is verified. After a failure the destination's contents are
 * undefined. Statuses: CORRUPT, BUFFER_TOO_SMALL, LIMIT. */
FASTPAIR_API fastpair_status fastpair_column_decode(const fastpair_column *column, uint64_t first,
                                                    uint64_t count,
                                                    fastpair_destination *destination,
                                                    fastpair_error *error);

/* Decodes one row into `bytes`, which may be NULL if `capacity` is 0. *size gets the row's length,
 * and *is_null (may be NULL) 1 for a null row, else 0. If the capacity is too small the status is
 * BUFFER_TOO_SMALL and *size is set all the same; after any other failure both are 0. Statuses:
 * also CORRUPT. (Seven parameters rather than a destination: for a single short row, filling a
 * struct in would be much of the work.) */
FASTPAIR_API fastpair_status fastpair_column_decode_row(const fastpair_column *column, uint64_t row,
                                                        uint8_t *bytes, uint64_t capacity,
                                                        uint64_t *size, int *is_null,
                                                        fastpair_error *error);

/* The decoded size of `count` listed rows, in any order, repeats allowed. Statuses: CORRUPT,
 * LIMIT. */
FASTPAIR_API fastpair_status fastpair_column_listed_size(const fastpair_column *column,
                                                         const uint64_t *rows, uint64_t count,
                                                         uint64_t *bytes, fastpair_error *error);

/* Decodes listed rows, in the order listed, as fastpair_column_decode does. Ascending lists are
 * fastest. */
FASTPAIR_API fastpair_status fastpair_column_decode_listed(const fastpair_column *column,
                                                           const uint64_t *rows, uint64_t count,
                                                           fastpair_destination *destination,
                                                           fastpair_error *error);

/* ---------------------------------------------------------------- cold and warm */

typedef struct fastpair_convert_options {
    /* sizeof(fastpair_convert_options). */
    size_t struct_size;
    /* 1: to a cold file, which is small at rest (fastpair_compress_options.cold). 0: to a warm one. */
    int cold;
    /* How hard frames are squeezed, 1..FASTPAIR_LEVEL_MOST; 0: FASTPAIR_LEVEL_DEFAULT. Chunks that
     * are cold already keep their frames. */
    uint32_t level;
    /* NULL: none. Counts decoded bytes. */
    fastpair_progress progress;
    void *progress_context;
} fastpair_convert_options;

/* Writes the same column to `sink`, cold or warm, without training: the same rows, chunks and
 * dictionaries, so also the same codes. A warm file that this library wrote, made cold and warm
 * again, is the same byte for byte. Every chunk is checked as fastpair_column_validate does. As many
 * threads work as the column has. Memory: some eight times the largest chunk's bytes per thread.
 * Statuses: CORRUPT, IO, CANCELLED; UNSUPPORTED if a cold file is asked for and the library was built
 * without zstd. */
FASTPAIR_API fastpair_status fastpair_column_convert(const fastpair_column *column,
                                                     const fastpair_convert_options *options,
                                                     const fastpair_sink *sink,
                                                     fastpair_error *error);

/* ---------------------------------------------------------------- streams */

/* Where a reader gets its bytes. `read` puts up to `size` bytes into `data`, sets *got (0 means the
 * end) and returns 0, or returns a non-zero errno value. */
typedef struct fastpair_source {
    int (*read)(void *context, void *data, size_t size, size_t *got);
    void *context;
} fastpair_source;

/* Reads a column front to back in bounded memory, from a pipe for example. One thread at a time. */
typedef struct fastpair_reader fastpair_reader;

/* Starts reading. `source` is copied. What the footer says of the column (name, type, pairs, bounds)
 * is compared with the rows, and not given: a column that is opened gives it. Memory: the dictionaries seen so far, tables of those in use,
 * 32 bytes per chunk, and at least one chunk as it is in the file; all within
 * options->memory_limit, and grown only as bytes really arrive. As many chunks are read ahead as
 * there are threads, or a few more if they are small, where the limit allows. Statuses: CORRUPT,
 * UNSUPPORTED, IO, LIMIT. */
FASTPAIR_API fastpair_status fastpair_reader_open(const fastpair_source *source,
                                                  const fastpair_open_options *options,
                                                  fastpair_reader **reader, fastpair_error *error);

/* Gives the next rows, a chunk of them or, where memory_limit asks for it, a part of a chunk. The
 * chunk was checked as fastpair_column_validate does. *rows, whose struct_size the caller sets,
 * becomes a view of the reader's memory that lasts until the next call. Its offsets have 64 bits
 * and begin with 0; its validity_bit_offset may be above 0. LIMIT if a chunk's block, or a single
 * row, cannot be held within memory_limit. No call gives 0 rows but at the end. There, after the
 * footer with all that it says of the column was compared with what was read, rows->rows is 0 and
 * *at_end is 1. A failure comes back
 * from every later call. Statuses: CORRUPT, LIMIT, IO. */
FASTPAIR_API fastpair_status fastpair_reader_next(fastpair_reader *reader, fastpair_rows *rows,
                                                  int *at_end, fastpair_error *error);

/* What fastpair_writer_set_framing recorded; all 0 if it was not called. The separator is known
 * from the start; final_separator is 1 until fastpair_reader_next has said at_end. */
FASTPAIR_API fastpair_status fastpair_reader_get_framing(const fastpair_reader *reader,
                                                         int *has_framing, uint8_t *separator,
                                                         int *final_separator,
                                                         fastpair_error *error);

/* Closes a reader. */
FASTPAIR_API void fastpair_reader_close(fastpair_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
