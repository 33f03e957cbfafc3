/* reader_private.h - the streaming reader's state, shared by reader.c (calls, decoding) and
 * reader_blocks.c (bytes in). */
#ifndef FP_READER_PRIVATE_H
#define FP_READER_PRIVATE_H

#include "column.h"

#define FP_BLOCK_START 16u /* kind, header size, block size */

/* A chunk that has been read, and what it decodes to. Buffers are kept from chunk to chunk. */
typedef struct fp_slot {
    fp_chunk chunk;
    uint64_t number;
    fp_column_dict *dictionary; /* NULL for a stored chunk */
    fp_buffer block;
    fp_buffer bytes;   /* unused for a stored chunk, which is given as it is */
    fp_buffer offsets; /* rows + 1 numbers of 64 bits */
    fastpair_status status;
    fastpair_error error;
} fp_slot;

/* The dictionaries seen so far; fastpair_reader.totals counts them. */
typedef struct fp_reader_dicts {
    fp_column_dict **list; /* each in memory of its own, so that slots may point to it */
    uint64_t capacity;
    fp_table_budget budget;
    fp_buffer code_bits; /* uint32_t of each */
} fp_reader_dicts;

/* Chunks that were read together, one per thread. */
typedef struct fp_reader_slots {
    fp_slot *list;         /* settings.threads of them */
    uint32_t filled, next; /* list[next .. filled) are still to be given */
} fp_reader_slots;

struct fastpair_reader {
    fastpair_source source;
    fp_open_settings settings;
    fp_file_header file;
    uint64_t position; /* bytes read so far */

    fp_reader_dicts dictionaries;
    fp_buffer chunk_entries; /* fp_chunk_entry of each chunk, to be compared with the footer */
    fp_footer totals;        /* of what was read so far */
    fp_buffer scratch;       /* dictionary blocks, footer entries */

    fp_reader_slots slots;
    uint8_t start[FP_BLOCK_START]; /* of the footer, once it has been met */
    int at_footer, at_end;
    fastpair_status failed; /* met after the filled slots; final once they are given */
    fastpair_error failure;
};

/* Reads exactly `size` bytes; `what` names what they belong to, in case the input ends there. */
fastpair_status fp_reader_get(fastpair_reader *reader, uint8_t *into, uint64_t size,
                              const char *what, fastpair_error *error);

/* Reads blocks until every slot has a chunk (`filled` counts them) or the footer begins
 * (at_footer). What was read before a failure stays. */
fastpair_status fp_reader_read_ahead(fastpair_reader *reader, fastpair_error *error);

/* Reads footer and trailer, compares them with what was read, and sets at_end. */
fastpair_status fp_reader_read_end(fastpair_reader *reader, fastpair_error *error);

#endif
