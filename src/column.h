/* column.h - an open column: the image and everything parsed from it. It never changes once it is
 * open, but for tables that dictionaries build on first use, so threads share it. */
#ifndef FP_COLUMN_H
#define FP_COLUMN_H

#include "chunk_decode.h"
#include "footer.h"

struct fastpair_column {
    fp_open_settings settings;
    const uint8_t *image; /* the whole file; mapped, if mapped_bytes is not 0, else the caller's */
    uint64_t size;
    size_t mapped_bytes;
    fp_file_header file;
    fp_footer totals;
    fp_column_dict *dictionaries; /* totals.dictionaries of them */
    fp_chunk *chunks;             /* totals.chunks of them */
    uint64_t *first_row;          /* of each chunk, and the row count after the last */
    uint64_t *first_byte; /* decoded bytes before each chunk, and the total after the last */
};

/* The chunk that holds a row (below the column's rows). */
uint64_t fp_column_find_chunk(const fastpair_column *column, uint64_t row);

/* A view of chunk `number`. */
static inline fp_chunk_view fp_column_chunk(const fastpair_column *column, uint64_t number) {
    const fp_chunk *chunk = &column->chunks[number];
    return (fp_chunk_view){chunk, column->image + chunk->position,
                           chunk->coded ? &column->dictionaries[chunk->dictionary] : NULL, number,
                           0};
}

/* INVALID_ARGUMENT if rows first .. first + count are not all in the column. */
fastpair_status fp_column_check_range(const fastpair_column *column, uint64_t first, uint64_t count,
                                      fastpair_error *error);

/* Checks a chunk's sections from end to end (validate.c): checksums, gaps, row lengths, validity,
 * and for a coded chunk every code and sidecar entry. A chunk that passes decodes without error. */
fastpair_status fp_chunk_validate(const fp_chunk_view *view, fastpair_error *error);

#endif
