/* warm_cache.h - holding chunks of an open column: their blocks are in memory and warm until they are
 * dropped. The warm chunks of cold ones that were used last are kept. Unpacking a cold chunk takes some
 * milliseconds, so single rows and short ranges, which tend to come from the same chunks, find them
 * here. */
#ifndef FP_WARM_CACHE_H
#define FP_WARM_CACHE_H

#include "cold.h"
#include "column.h"

/* Chunks that are kept though nobody uses them. */
#define FP_WARM_KEPT 4u

/* A warm chunk that others may be using, too. */
typedef struct fp_held_warm {
    fp_warm warm;
    uint64_t number;
    uint32_t users;
    uint64_t last_used; /* by the cache's clock */
    int is_kept;        /* by the cache; if not, the last user closes it */
} fp_held_warm;

typedef struct fp_warm_cache {
    pthread_mutex_t lock; /* guards all below, and what users change of a held chunk */
    uint64_t clock;
    fp_held_warm *kept[FP_WARM_KEPT];
    fp_frame_reader reader; /* that nobody uses; may be empty */
} fp_warm_cache;

/* A chunk that is wanted. */
typedef struct fp_wanted_chunk {
    uint64_t number;
    uint64_t end;   /* the caller asks for chunks up to this one next, if it is above number */
    fp_chunk *room; /* for its header, if nobody has kept that; NULL: it is kept with the column */
} fp_wanted_chunk;

/* What a caller holds of a chunk; all zero: nothing. */
typedef struct fp_hold {
    fp_held_warm *warm;       /* of a cold chunk */
    struct fp_fetched *block; /* of a column that has a source */
} fp_hold;

/* A view of a chunk as it is in the file, cold or warm, with its block. Sections are not compared with
 * their checksums. *hold holds the block until it is dropped, after a failure as well. Threads may call
 * this at once. Statuses: CORRUPT, UNSUPPORTED, OUT_OF_MEMORY, IO. */
fastpair_status fp_column_hold_raw(const fastpair_column *column, const fp_wanted_chunk *wanted,
                                   fp_chunk_view *view, fp_hold *hold, fastpair_error *error);

/* The same, but sections that a source gave are compared with their checksums. */
fastpair_status fp_column_hold_block(const fastpair_column *column, const fp_wanted_chunk *wanted,
                                     fp_chunk_view *view, fp_hold *hold, fastpair_error *error);

/* Turns a view that is held into one of the warm chunk, which is held, too. A view of a warm chunk stays
 * as it is. */
fastpair_status fp_column_hold_warm(const fastpair_column *column, fp_chunk_view *view,
                                    fp_hold *hold, fastpair_error *error);

/* A view of a chunk that is warm, or was unpacked. */
fastpair_status fp_column_hold(const fastpair_column *column, const fp_wanted_chunk *wanted,
                               fp_chunk_view *view, fp_hold *hold, fastpair_error *error);

/* Drops what is held. Views of it end. */
void fp_column_drop_held(const fastpair_column *column, fp_hold *hold);
static inline void fp_column_drop(const fastpair_column *column, fp_hold *hold) {
    if (hold->warm || hold->block) fp_column_drop_held(column, hold);
}

/* Takes the reader that the column keeps; what comes back is empty if another thread has it. Whoever
 * takes gives back, and the column closes what it has no place for. */
fp_frame_reader fp_column_take_reader(const fastpair_column *column);
void fp_column_give_reader(const fastpair_column *column, fp_frame_reader reader);

/* Makes the cache of a column that may have cold chunks. */
fastpair_status fp_warm_cache_open(fastpair_column *column, fastpair_error *error);
void fp_warm_cache_close(fastpair_column *column);

#endif
