/* warm_cache.h - the warm chunks of an open column that were used last. Unpacking a cold chunk takes
 * some milliseconds, so single rows and short ranges, which tend to come from the same chunks, find
 * them here. */
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

/* Turns a view of a cold chunk into one of the warm chunk, which *held holds until it is dropped. A
 * view of a warm chunk stays as it is, and *held is NULL. Threads may call this at once. Statuses:
 * CORRUPT, UNSUPPORTED, OUT_OF_MEMORY. */
fastpair_status fp_column_hold_warm(const fastpair_column *column, fp_chunk_view *view,
                                    fp_held_warm **held, fastpair_error *error);

/* Drops what was held; NULL is allowed. Views of it end. */
void fp_column_drop_warm(const fastpair_column *column, fp_held_warm *held);

/* Takes the reader that the column keeps; what comes back is empty if another thread has it. Whoever
 * takes gives back, and the column closes what it has no place for. */
fp_frame_reader fp_column_take_reader(const fastpair_column *column);
void fp_column_give_reader(const fastpair_column *column, fp_frame_reader reader);

/* Makes the cache of a column that may have cold chunks. */
fastpair_status fp_warm_cache_open(fastpair_column *column, fastpair_error *error);
void fp_warm_cache_close(fastpair_column *column);

#endif
