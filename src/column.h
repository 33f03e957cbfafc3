/* column.h - an open column: the image and everything parsed from it. Immutable once open, so threads share it. */
#ifndef FP_COLUMN_H
#define FP_COLUMN_H

#include "chunk_decode.h"
#include "footer.h"

/* A dictionary with its decoding tables. */
typedef struct fp_column_dict {
    fp_dict dict;
    fp_decoder *decoder;
    uint8_t *
        length_of_code; /* 2^b entries; 0 for codes that have no token, unlike in the decoder's tables */
    fp_dict_entry entry; /* where its block is, and the tokens in use */
    uint64_t checksum;   /* of the block's section: right, but others may have the same */
} fp_column_dict;

struct fastpair_column {
    fastpair_allocator allocator;
    const uint8_t *image; /* the whole file; mapped, if mapped_bytes is not 0, else the caller's */
    uint64_t size;
    size_t mapped_bytes;
    fp_file_header file;
    fp_footer totals;
    fp_column_dict *dictionaries; /* totals.dictionaries of them */
    fp_chunk *chunks;             /* totals.chunks of them */
    uint64_t *first_row;          /* of each chunk, and the row count behind the last */
    uint64_t *first_byte; /* decoded bytes before each chunk, and the total behind the last */
};

/* How much memory decoding tables may take for an image of `size` bytes: a file of 200 bytes can ask for 1.1 MiB of
 * them, so a hostile one that holds many such dictionaries is refused. A dictionary that fills half of its code
 * width, as any has that a writer made, has at least one byte of file for every 36 bytes of tables. */
static inline uint64_t fp_table_limit(uint64_t size) {
    return (size < UINT64_MAX >> 7 ? size * 64 : UINT64_MAX >> 1) + (2u << 20);
}

/* Reads a dictionary block and makes its decoding tables, unless all tables would then take more than
 * fp_table_limit(image_bytes) (LIMIT). *table_bytes counts them. `available` bytes are at `block`. */
fastpair_status fp_column_dict_open(const uint8_t *block, uint64_t available,
                                    const fp_file_header *file, uint64_t position,
                                    uint64_t image_bytes, fp_cpu_level level,
                                    const fastpair_allocator *allocator, uint64_t *table_bytes,
                                    fp_column_dict *dictionary, fastpair_error *error);
void fp_column_dict_close(fp_column_dict *dictionary, const fastpair_allocator *allocator);

/* The options of both kinds of opening: the allocator with defaults filled in, and a level that this CPU has. */
fastpair_status fp_open_options_resolve(const fastpair_open_options *options,
                                        fastpair_allocator *allocator, fp_cpu_level *level,
                                        fastpair_error *error);

/* The chunk that holds a row (below the column's rows). */
uint64_t fp_column_find_chunk(const fastpair_column *column, uint64_t row);

/* A view of chunk `number`. */
static inline fp_chunk_view fp_column_chunk(const fastpair_column *column, uint64_t number) {
    const fp_chunk *chunk = &column->chunks[number];
    return (fp_chunk_view){chunk, column->image + chunk->position,
                           chunk->coded ? column->dictionaries[chunk->dictionary].decoder : NULL,
                           number, 0};
}

/* Checks a chunk's sections from end to end (validate.c): checksums, gaps, row lengths, validity, and for a coded chunk
 * every code and sidecar entry. `dictionary` is NULL for a stored chunk. A chunk that passes decodes without error. */
fastpair_status fp_chunk_validate(const fp_chunk_view *view, const fp_column_dict *dictionary,
                                  fastpair_error *error);

/* INVALID_ARGUMENT if `threads` is above FP_MAX_THREADS. */
fastpair_status fp_check_threads(uint32_t threads, fastpair_error *error);

#endif
