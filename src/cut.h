/* cut.h - from rows to chunks: the first stage of a writer (cut → choose → number → encode →
 * file_out).
 *
 * Rows wait here until enough are there to compress. Then they are listed as chunks, and chunks as
 * *units* of some MiB. One decision on the dictionary is made per unit, so that small chunks are
 * trained for like large ones. Where chunks and units end depends on the rows and settings alone.
 * It does not matter how the caller divided rows into appends, nor how many threads there are. */
#ifndef FP_CUT_H
#define FP_CUT_H

#include "memory.h"
#include "settings.h"

/* The most rows a chunk gets. */
#define FP_CHUNK_ROWS (1u << 20)
/* A unit ends early after this many rows, because waiting rows are limited and must hold a unit. */
#define FP_UNIT_ROWS (2u * FP_CHUNK_ROWS)
/* Rows that wait at most. */
#define FP_WAITING_ROWS (4ull * FP_CHUNK_ROWS)

/* The rows of one chunk, in the memory of fp_cut. */
typedef struct fp_chunk_rows {
    const uint8_t *bytes;     /* readable for FP_SLACK bytes past the last row */
    const uint64_t *offsets;  /* rows + 1 entries into `bytes` */
    const uint8_t *null_rows; /* one byte per row, 1 = null; null rows have no bytes */
    uint64_t rows;
    uint64_t nulls;
    int ends_unit; /* the last chunk of its unit */
} fp_chunk_rows;

static inline uint64_t fp_chunk_rows_bytes(const fp_chunk_rows *chunk) {
    return chunk->offsets[chunk->rows] - chunk->offsets[0];
}

/* How large things are, from the settings. */
typedef struct fp_cut_rules {
    uint64_t chunk_bytes;
    uint64_t unit_bytes;
    uint64_t first_bytes; /* wanted before the first chunks are listed: they are trained on */
    uint32_t units;       /* listed at once, later on */
} fp_cut_rules;

typedef struct fp_cut {
    fastpair_allocator allocator;
    fp_cut_rules rules;
    fp_buffer bytes;     /* of the waiting rows, back to back, then FP_SLACK zero bytes */
    fp_buffer offsets;   /* of uint64_t: rows + 1, the first is 0 */
    fp_buffer null_rows; /* one byte per row */
    fp_buffer chunks;    /* of fp_chunk_rows: the last list */
    uint64_t rows;       /* that wait */
    int started;         /* the first chunks have been dropped */
} fp_cut;

/* Some chunks to compress. Valid until rows are taken or dropped. */
typedef struct fp_cut_list {
    const fp_chunk_rows *chunks;
    uint32_t count;
    uint64_t rows; /* of all these chunks */
    int is_first;  /* the column begins with these chunks */
    int is_whole;  /* and they are all of it */
} fp_cut_list;

/* The most chunks of so many rows that have so many bytes. A chunk is closed by FP_CHUNK_ROWS rows,
 * or by bytes; in the latter case it and the first row after it have at least chunk_bytes bytes.
 * Take neighbouring chunks as pairs. The first of a pair is closed by rows, at most rows /
 * FP_CHUNK_ROWS times, or the pair has chunk_bytes bytes, at most bytes / chunk_bytes times. One
 * chunk may be left over, and none is empty. */
static inline uint64_t fp_cut_most_chunks(uint64_t rows, uint64_t bytes, uint64_t chunk_bytes) {
    unsigned __int128 most =
        2 * ((unsigned __int128)(rows / FP_CHUNK_ROWS) + bytes / chunk_bytes) + 1;
    return most < rows ? (uint64_t)most : rows;
}

/* How many bytes wait, unless there are FP_WAITING_ROWS rows before, until the first are listed. */
uint64_t fp_cut_first_bytes(const fp_settings *settings);

void fp_cut_open(fp_cut *cut, const fp_settings *settings);
void fp_cut_close(fp_cut *cut);

/* Copies rows from `first` on until enough wait or the rows end; *next is the first row not
 * taken. */
fastpair_status fp_cut_take(fp_cut *cut, const fastpair_rows *rows, uint64_t first, uint64_t *next,
                            fastpair_error *error);

/* Bytes of the rows that wait. */
uint64_t fp_cut_bytes(const fp_cut *cut);

/* Whether enough rows wait. */
int fp_cut_is_full(const fp_cut *cut);

/* All rows that wait, for training. */
fastpair_rows fp_cut_rows(const fp_cut *cut);

/* Lists chunks to compress next, whole units of them: at first all there are, later rules.units.
 * `last`: no more rows will come. Until then a chunk that more rows may join waits, and so does its
 * unit. */
fastpair_status fp_cut_next(fp_cut *cut, int last, fp_cut_list *list, fastpair_error *error);

/* Forgets the first `rows` rows. */
void fp_cut_drop(fp_cut *cut, uint64_t rows);

#endif
