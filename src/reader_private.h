/* reader_private.h - the streaming reader's state, shared by reader.c (calls, decoding),
 * reader_blocks.c (bytes in), reader_end.c (the footer) and reader_memory.c (what is held at
 * once). */
#ifndef FP_READER_PRIVATE_H
#define FP_READER_PRIVATE_H

#include "bounds.h"
#include "cold.h"
#include "column.h"
#include "threads.h"

/* Bytes read at once while a block grows. */
#define FP_PIECE_BYTES (1u << 20)

/* The caller's allocator with a limit on what it gives. Threads may share it. */
typedef struct fp_meter {
    fastpair_allocator base;
    uint64_t limit;
    _Atomic uint64_t used;
    _Atomic int refused; /* something was refused for the limit */
} fp_meter;

/* A chunk that has been read. Buffers are kept from chunk to chunk. */
typedef struct fp_held_chunk {
    fp_chunk chunk;
    uint64_t number;
    fp_column_dict *dictionary; /* NULL for a stored chunk */
    fp_buffer block;
} fp_held_chunk;

/* Rows that are given together: those of a chunk, or a part of them. */
typedef struct fp_part {
    const fp_held_chunk *of;
    uint64_t first_row, rows;      /* within the chunk */
    uint64_t first_byte, end_byte; /* the same rows in the chunk's decoded bytes */
    fp_buffer bytes;               /* unused for a stored chunk, which is given as it is */
    fp_buffer offsets;             /* rows + 1 numbers of 64 bits */
    fastpair_status status;
    fastpair_error error;
    fp_bounds bounds; /* of its rows */
    int is_text;      /* its rows are UTF-8 */
} fp_part;

/* The dictionaries seen so far; fp_seen.totals counts them. */
typedef struct fp_reader_dicts {
    fp_column_dict **list; /* each in memory of its own, so that chunks may point to it */
    uint64_t capacity;
    fp_table_budget budget;
    fp_buffer code_bits; /* uint32_t of each */
} fp_reader_dicts;

/* Chunks that were read together, and their parts. A chunk that is too large for all its rows at
 * once is alone, and is cut into one round of parts after the other. */
typedef struct fp_round {
    fp_held_chunk *chunks;
    fp_part *parts;
    uint32_t room;         /* of both lists */
    uint32_t held;         /* chunks */
    uint32_t filled, next; /* parts[next .. filled) are still to be given */
    int pending;           /* the header of chunks[held] is read, but did not fit this round */
    int cutting;           /* chunks[0] is given in parts; rows before next_row are cut */
    uint64_t next_row;
} fp_round;

/* What was read so far, to be compared with the footer. */
typedef struct fp_seen {
    fp_buffer chunk_entries; /* fp_chunk_entry of each chunk */
    fp_footer totals;        /* is_text is kept as not_text */
    int not_text;            /* a row is not UTF-8 */
    fp_bounds bounds;        /* of the chunk whose rows are being given */
    /* A hash, for each K, of the entries of bounds that a file must have of the chunks so far. So
     * bounds are compared with rows in memory that does not grow. */
    uint64_t bounds_hash[FP_BOUND_WIDTHS];
} fp_seen;

struct fastpair_reader {
    fastpair_source source;
    fp_open_settings settings; /* their allocator is the meter */
    fp_meter meter;
    fp_pool pool;
    fp_file_header file;
    uint64_t position; /* bytes read so far */

    fp_reader_dicts dictionaries;
    fp_seen seen;
    fp_buffer scratch; /* dictionary blocks, footer entries */

    fp_round round;
    uint8_t start[FP_BLOCK_START]; /* of the footer, once it has been met */
    int at_footer, at_end;
    fastpair_status failed; /* met after the filled parts; final once they are given */
    fastpair_error failure;
};

/* The decoded bytes of a part. */
static inline const uint8_t *fp_part_bytes_of(const fp_part *part) {
    const fp_chunk *chunk = &part->of->chunk;
    return chunk->coded
               ? part->bytes.data
               : fp_chunk_section(chunk, part->of->block.data, FP_SECTION_CODES) + part->first_byte;
}

static inline fp_chunk_view fp_held_view(const fp_held_chunk *held) {
    return (fp_chunk_view){.chunk = &held->chunk,
                           .block = held->block.data,
                           .dictionary = held->dictionary,
                           .number = held->number};
}

/* ---------------------------------------------------------------- bytes (reader_blocks.c) */

/* Reads exactly `size` bytes; `what` names what they belong to, in case the input ends there. */
fastpair_status fp_reader_get(fastpair_reader *reader, uint8_t *into, uint64_t size,
                              const char *what, fastpair_error *error);

/* Makes `buffer` hold `total` bytes, reading what is missing piece by piece. */
fastpair_status fp_reader_fill(fastpair_reader *reader, fp_buffer *buffer, uint64_t total,
                               const char *what, fastpair_error *error);

/* Reads blocks until a round is full or the footer begins (at_footer). What was read before a
 * failure stays: `held` chunks, each whole in parts[i] unless `cutting` is set. */
fastpair_status fp_reader_read_ahead(fastpair_reader *reader, fastpair_error *error);

/* ---------------------------------------------------------------- the end (reader_end.c) */

/* Takes what the rows of a part are, in the order in which they are given. */
void fp_reader_note_part(fastpair_reader *reader, const fp_part *part);

/* Skips a block that is not known, after its start, in a file of a later version. */
fastpair_status fp_reader_skip_extra(fastpair_reader *reader, fastpair_error *error);

/* Reads footer and trailer, compares them with what was read, and sets at_end. */
fastpair_status fp_reader_read_end(fastpair_reader *reader, fastpair_error *error);

/* ---------------------------------------------------------------- memory (reader_memory.c) */

/* The meter as an allocator. */
fastpair_allocator fp_meter_hooks(fp_meter *meter);

/* What a chunk whose header is read needs. */
typedef enum fp_fit { FP_FITS_WHOLE, FP_FITS_IN_PARTS, FP_FITS_LATER, FP_FITS_NEVER } fp_fit;

/* Whether chunks[held] can be read beside what is held. Frees what is not needed, where that
 * helps. */
fp_fit fp_reader_fit(fastpair_reader *reader);

/* Whether the round has room for one more block, of whatever kind. */
int fp_reader_may_go_on(const fastpair_reader *reader);

/* Frees what is not needed if less than `bytes` is left. */
void fp_reader_make_room(fastpair_reader *reader, uint64_t bytes);

/* Frees the buffers of chunks and parts from number `first` on. */
void fp_reader_release(fastpair_reader *reader, uint32_t first);

/* Empties a buffer and makes it hold `size` bytes; what it held is released first. */
fastpair_status fp_reader_room(fastpair_reader *reader, fp_buffer *buffer, uint64_t size,
                               fastpair_error *error);

/* Puts the warm chunk in the place of a cold one that is held, once the cold one's block is found to
 * be in order. */
fastpair_status fp_reader_make_warm(fastpair_reader *reader, fp_held_chunk *held,
                                    fastpair_error *error);

/* Gives a part its rows and its memory. */
fastpair_status fp_part_open(fastpair_reader *reader, fp_part *part, fastpair_error *error);

/* Cuts the next rows of chunks[0], which is valid, into parts; clears `cutting` once none are left.
 * LIMIT if a row does not fit. */
fastpair_status fp_reader_cut(fastpair_reader *reader, fastpair_error *error);

/* OUT_OF_MEMORY becomes LIMIT if it was the limit that refused. */
fastpair_status fp_reader_judge(fastpair_reader *reader, fastpair_status status,
                                fastpair_error *error);

#endif
