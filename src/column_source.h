/* column_source.h - what a column has besides when its bytes come from the caller's function: ranges
 * that were read, and which dictionaries are there. All functions here are for such columns, whose
 * `source` is not NULL. */
#ifndef FP_COLUMN_SOURCE_H
#define FP_COLUMN_SOURCE_H

#include "column.h"
#include "ranges.h"

/* How much is read at once. */
typedef struct fp_source_sizes {
    uint64_t tail,
        head;        /* of both ends when the column is opened. A file of up to both is read whole.
                          * The head holds all that comes before the first block. */
    uint64_t joined; /* neighbours are joined to requests of so many bytes */
} fp_source_sizes;

typedef struct fp_column_source {
    fp_source_sizes sizes;
    fp_ranges ranges;
    const uint8_t *footer;   /* footer and trailer, in the range that is held as the tail */
    pthread_mutex_t loading; /* held by the one thread that opens a dictionary */
    uint32_t *is_loaded;     /* of each dictionary: read atomically */
    uint64_t *table_bytes;   /* of each dictionary that is loaded: what its tables may take */
    uint64_t taken;          /* their sum */
    /* The chunk after the last one that was read, and in how many rounds such a chunk came next. Guarded
     * by the lock of `ranges`. */
    uint64_t next_chunk;
    uint32_t rounds_in_row;
} fp_column_source;

/* fastpair_column_open_source with other sizes than those that the public call has, for tests. */
fastpair_status fp_column_open_sized(const fastpair_range_source *source,
                                     const fp_source_sizes *sizes,
                                     const fastpair_open_options *options, fastpair_column **column,
                                     fastpair_error *error);

/* Gives the column a copy of the caller's source. Statuses: OUT_OF_MEMORY. */
fastpair_status fp_source_open(fastpair_column *column, const fastpair_range_source *given,
                               const fp_source_sizes *sizes, fastpair_error *error);
void fp_source_close(fastpair_column *column);

/* Reads both ends of the file, for good. *head gets its first bytes, at least as many as come before
 * the first block if the file has them, and *trailer its last FP_TRAILER. */
fastpair_status fp_source_read_ends(fastpair_column *column, const uint8_t **head,
                                    const uint8_t **trailer, fastpair_error *error);

/* Reads all of the footer, for good. */
fastpair_status fp_source_read_footer(fastpair_column *column, uint64_t position,
                                      fastpair_error *error);

/* Makes places for the dictionaries that the footer counts. */
fastpair_status fp_source_make_places(fastpair_column *column, fastpair_error *error);

/* Loads a dictionary, if nobody has. Statuses: those of fp_column_dict_open, and IO. */
fastpair_status fp_source_load(const fastpair_column *column, uint64_t number,
                               fastpair_error *error);

/* Loads all of them in file order, and fails as opening an image in memory does. */
fastpair_status fp_source_load_all(const fastpair_column *column, fastpair_error *error);

/* The header of a chunk, FP_CHUNK_HEADER bytes, to `header`: from its block if somebody holds that. */
fastpair_status fp_source_read_header(const fastpair_column *column, const fp_chunk_entry *entry,
                                      uint8_t *header, fastpair_error *error);

/* Reads and keeps the headers of all chunks, several at once. */
fastpair_status fp_source_keep_headers(const fastpair_column *column, fastpair_error *error);

/* Holds the block of chunk `number`. If it has to be read, it is read together with the dictionary
 * before it, which it is likely to need, and with chunks up to `end` (excluded), which the caller is
 * going to ask for. Callers that ask for one chunk after the other get more ahead each time. Statuses: IO,
 * OUT_OF_MEMORY. */
fastpair_status fp_source_hold(const fastpair_column *column, uint64_t number, uint64_t end,
                               fp_fetched **held, fastpair_error *error);

/* Compares a chunk that is held with its checksums, once. */
fastpair_status fp_source_verify(const fastpair_column *column, const fp_chunk_view *view,
                                 fp_fetched *held, fastpair_error *error);

/* A held block's bytes from a file offset on. */
static inline const uint8_t *fp_fetched_at(const fp_fetched *held, uint64_t position) {
    return held->bytes + (position - held->range.from);
}

#endif
