/* ranges.h - ranges of a file that is read through the caller's function, kept while they are held and
 * for a while after. Knows nothing of what the bytes mean. */
#ifndef FP_RANGES_H
#define FP_RANGES_H

#include "memory.h"

#include <pthread.h>

/* Bytes from .. to of the file. */
typedef struct fp_range {
    uint64_t from, to;
} fp_range;

/* A range that was read, or is being read. Whoever holds one may read its bytes. */
typedef struct fp_fetched {
    fp_range range;
    struct fp_fetched *next;
    uint32_t users;
    uint64_t last_used; /* by the clock */
    int is_coming;      /* its bytes are not there yet */
    int is_listed;      /* if not, the last user releases it */
    uint64_t marks;     /* for whoever holds it; 0 at first, read and set atomically */
    uint8_t bytes[];
} fp_fetched;

/* Ranges that are read in one go, at most. */
#define FP_RANGES_AT_ONCE 64u

typedef struct fp_ranges {
    fastpair_range_source source; /* with the defaults filled in */
    const fastpair_allocator *allocator;
    pthread_mutex_t lock; /* guards all below, and the list's members but for bytes */
    pthread_cond_t came;  /* a range came, or failed to */
    fp_fetched *list;
    uint64_t clock;
    uint64_t idle_bytes;   /* of ranges that nobody holds */
    uint64_t coming_bytes; /* of ranges that are being read */
    uint64_t idle_limit;   /* of both together, as far as idle ones can be released */
    uint32_t idle;
    /* Held for good: the beginning and the end of the file. NULL: not yet. Ranges that overlap them are
     * read without the bytes that they have. */
    fp_fetched *head, *tail;
} fp_ranges;

/* `allocator` must outlive the ranges. `idle_limit`: bytes that are kept though nobody holds them,
 * those that are coming included. */
fastpair_status fp_ranges_open(fp_ranges *ranges, const fastpair_range_source *source,
                               const fastpair_allocator *allocator, uint64_t idle_limit,
                               fastpair_error *error);
void fp_ranges_close(fp_ranges *ranges);

/* Holds what covers a range, if it is there or coming. NULL if not. */
fp_fetched *fp_ranges_find(fp_ranges *ranges, fp_range wanted);

/* What is read in one go when `wanted` is not there: up to FP_RANGES_AT_ONCE ranges of which the first
 * covers `wanted` and no two overlap, to `ranges_of`. Returns their number. The lock is held. */
typedef struct fp_range_plan {
    uint32_t (*make)(const void *context, fp_range wanted, fp_range *ranges_of);
    const void *context;
} fp_range_plan;

/* Holds what covers a range. If it has to be read, so are the others of the plan, which are kept; NULL:
 * there are none. Only the first can fail the call. Threads that want the same wait for whoever was
 * first. Statuses: IO, OUT_OF_MEMORY. */
fastpair_status fp_ranges_hold(fp_ranges *ranges, fp_range wanted, const fp_range_plan *plan,
                               fp_fetched **held, fastpair_error *error);

/* Whether any byte of a range is there or coming, the head and the tail left out, whose bytes are not
 * read again. For plans: the lock is held. */
int fp_ranges_touched(const fp_ranges *ranges, fp_range wanted);

/* Drops what was held; NULL is allowed. */
void fp_ranges_drop(fp_ranges *ranges, fp_fetched *held);

/* Nobody finds this range from now on. The head and the tail stay. */
void fp_ranges_forget(fp_ranges *ranges, fp_fetched *held);

/* The same for all ranges: bytes proved wrong, so others that came may be wrong as well, and all may be
 * right next time. */
void fp_ranges_forget_all(fp_ranges *ranges);

/* Reads bytes to memory of the caller's, past the list. */
fastpair_status fp_ranges_read(const fp_ranges *ranges, fp_range wanted, uint8_t *to,
                               fastpair_error *error);

#endif
