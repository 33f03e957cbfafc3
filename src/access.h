/* access.h - what the files that decode rows share: destinations, and how much work there is. */
#ifndef FP_ACCESS_H
#define FP_ACCESS_H

#include "warm_cache.h"

#include <stdatomic.h>

/* Checks that a destination is of a size this library knows, and sets its outputs to 0. */
fastpair_status fp_begin_destination(fastpair_destination *destination, fastpair_error *error);

/* Whether a destination that was begun is well formed and has room for `bytes` bytes. */
fastpair_status fp_check_destination(const fastpair_destination *destination, uint64_t bytes,
                                     fastpair_error *error);

/* Writes one offset, if offsets are wanted. */
void fp_put_offset(const fastpair_destination *destination, uint64_t i, uint64_t offset);

/* Writes `count` offsets from index `first` on: starts[i] - base, modulo 2^64. */
void fp_put_offsets(const fastpair_destination *destination, uint64_t first, const uint64_t *starts,
                    uint32_t count, uint64_t base);

/* Whether decoded rows are UTF-8, found out while they are decoded (access_text.c). */
typedef struct fp_text_check {
    _Atomic int is_wrong;
    /* Of each task that decodes bytes: where its first byte is in the destination if the task begins
     * inside a chunk, else UINT64_MAX. */
    uint64_t *seams;
} fp_text_check;

/* Decoded rows first .. end of a destination, whose offsets are there. */
typedef struct fp_text_rows {
    const fastpair_destination *destination;
    uint64_t first, end;
    fastpair_cpu_level level;
} fp_text_rows;

/* Bytes of a destination that are judged piece by piece, as they come. */
typedef struct fp_text_walk {
    const fp_text_rows *rows; /* all rows that begin in these bytes are among them */
    uint64_t from;            /* the first byte */
    uint64_t shown;           /* bytes up to here were shown, or counted as not shown */
    uint64_t judged;          /* bytes up to here, from the fourth on, are good or wrong */
    uint64_t due;             /* bytes from `judged` up to here must be judged; others are ASCII */
    uint64_t row;             /* rows before this one need no look any more */
    int every_start;          /* all rows are looked at, whatever bytes are judged */
    uint64_t skip_to;         /* but for those from `row` on that begin before this byte */
    uint64_t looked;          /* they were looked at when bytes up to here were known */
    uint32_t wait;            /* so many times more bytes are judged, whatever the decoder knows */
    uint32_t patience;        /* how long it last waited; 0 once the decoder knew something */
    int is_whole;
    int has_ends; /* codes have the ends of rows among them: where bytes are known to be UTF-8, rows are */
    int is_wrong;
    fp_decode_starts starts; /* what the decoder may look at */
    fp_decode_watch watch;   /* whoever decodes calls it */
} fp_text_walk;

/* `is_whole`: whatever is shown are tokens that are UTF-8, each for itself. */
void fp_text_begin(fp_text_walk *walk, const fp_text_rows *rows, uint64_t from, int is_whole);

/* Which ends of the bytes are ends of rows, too. Where they are not, the first three bytes are not
 * judged, and characters may lack bytes at the end. */
typedef struct fp_text_edges {
    int is_start, is_end;
} fp_text_edges;

/* Judges the rest of the bytes, which end at `to`. 1 if they are UTF-8, as far as they can be judged,
 * and no row of them begins inside a character. */
int fp_text_end(fp_text_walk *walk, uint64_t to, fp_text_edges edges);

/* Both at once, for bytes that are whole rows. */
int fp_text_is_good(const fp_text_rows *rows, uint64_t from, uint64_t to);

/* The same for the three bytes from a seam on, when all bytes up to `end`, the last of the rows, are
 * there. */
int fp_text_seam_is_good(const fastpair_destination *destination, uint64_t at, uint64_t end);

/* What is done with rows of a range while they are decoded. */
typedef struct fp_alongside {
    /* Becomes 1 if all rows are UTF-8, null rows included, whose bytes a file may have in spite of
     * the rules. NULL: they are not looked at. */
    int *is_text;
    /* Called now and then, where one thread decodes: bytes up to `ready` of the destination are
     * there, and offsets of all rows that end there. Returns the first row whose offset is still
     * wanted; it may write over those before. NULL: nobody follows. */
    uint64_t (*follow)(void *context, uint64_t ready);
    void *context;
} fp_alongside;

/* fastpair_column_decode, for a destination with offsets. `alongside` NULL: nothing. */
fastpair_status fp_column_decode(const fastpair_column *column, uint64_t first, uint64_t count,
                                 fastpair_destination *destination, const fp_alongside *alongside,
                                 fastpair_error *error);

/* Rows of a column, and where they go. */
typedef struct fp_range_job {
    const fastpair_column *column;
    const fastpair_destination *destination;
    uint64_t first, count; /* rows */
    uint64_t begin, end;   /* decoded bytes of the column */
    uint64_t window;       /* decoded bytes of one task */
    uint64_t byte_tasks;
    int bulk;     /* as fp_decode_codes takes it */
    int is_alone; /* one thread does all tasks, in order */
    _Atomic uint64_t nulls;
    fp_text_check *text; /* NULL: bytes need not be UTF-8 */
    const fp_alongside *alongside;
    uint64_t first_offset; /* offsets of rows before this one, from the first on, are gone */
} fp_range_job;

/* Offsets of rows first .. first + count of a warm chunk; `index` is the place of the first in the
 * destination. */
fastpair_status fp_decode_offsets(const fp_range_job *job, const fp_chunk_view *view,
                                  uint64_t first, uint64_t count, uint64_t index,
                                  fastpair_error *error);

/* Decodes a range of a column that may have cold chunks (access_cold.c), chunk by chunk. `threads`
 * work on it. */
fastpair_status fp_decode_cold_range(fp_range_job *job, uint32_t threads, fastpair_error *error);

/* Decodes all rows of a coded and cold chunk, whose first is `index` in the destination, and looks whether
 * they are UTF-8 (access_words.c). */
fastpair_status fp_decode_words(fp_range_job *job, const fp_chunk_view *cold, uint64_t index,
                                fastpair_error *error);

/* Rows that are listed are decoded in pieces of so many. */
#define FP_LIST_PIECE 4096u

/* Rows to decode, in any order: by number, or those whose bit is 1. */
typedef struct fp_row_list {
    const uint64_t *rows;  /* NULL: the rows are those of the bitmap */
    const uint8_t *bitmap; /* bit 0 belongs to row `first` */
    uint64_t first;
    const uint64_t *begins; /* the bit of each FP_LIST_PIECE-th row of the bitmap */
    uint64_t count;         /* of rows in the list */
    fp_text_check *text;    /* NULL: bytes need not be UTF-8 */
} fp_row_list;

/* How many bytes listed rows have. */
typedef struct fp_list_sizes {
    uint64_t bytes;
    uint64_t
        *ends; /* of each piece: where it ends in the destination; NULL if there is one piece */
} fp_list_sizes;

/* Measures listed rows (access_listed.c). fp_list_sizes_close, not after a failure. */
fastpair_status fp_measure_list(const fastpair_column *column, const fp_row_list *list,
                                fp_list_sizes *sizes, fastpair_error *error);
void fp_list_sizes_close(const fastpair_column *column, fp_list_sizes *sizes);

/* Decodes listed rows that were measured to a destination that was begun. */
fastpair_status fp_decode_list(const fastpair_column *column, const fp_row_list *list,
                               const fp_list_sizes *sizes, fastpair_destination *destination,
                               fastpair_error *error);

/* 1 if whatever a chunk holds is UTF-8. */
static inline int fp_chunk_is_ascii(const fp_chunk_view *view) {
    return view->dictionary && fp_column_dict_text(view->dictionary) == FP_TOKENS_ASCII;
}

/* 1 if every token of a chunk is UTF-8 by itself. */
static inline int fp_chunk_is_whole(const fp_chunk_view *view) {
    return view->dictionary && fp_column_dict_text(view->dictionary) <= FP_TOKENS_WHOLE;
}

/* Which instructions judge UTF-8: the widest ones only where there is much to do. */
static inline fastpair_cpu_level fp_text_level(const fastpair_column *column, int bulk) {
    fastpair_cpu_level level = column->settings.level;
    return level == FASTPAIR_CPU_AVX512 && !bulk ? FASTPAIR_CPU_AVX2 : level;
}

/* What decoding so many bytes and rows costs, for fp_threads_for. */
static inline uint64_t fp_column_work(uint64_t bytes, uint64_t rows) {
    return bytes < UINT64_MAX / 16 && rows < UINT64_MAX / 16 ? bytes + 8 * rows : UINT64_MAX;
}

#endif
