/* search.h - a search: a predicate compiled for a column. What the files that run searches share. */
#ifndef FP_SEARCH_H
#define FP_SEARCH_H

#include "column.h"
#include "search_filter.h"
#include "search_predicate.h"

typedef struct fp_search_settings {
    fastpair_allocator allocator;
    fastpair_search_method method;
    uint64_t memory_limit;
    int ignore_bounds;
} fp_search_settings;

/* Immutable, but for tables that are added on first use. */
struct fastpair_search {
    fastpair_column *column; /* a reference of its own */
    fp_search_settings settings;
    fp_predicate predicate;

    pthread_mutex_t lock; /* guards what follows; never held while a table is built */
    pthread_cond_t built; /* a table was, or could not be */
    uint64_t taken;       /* bytes of tables, also of those that are being built */
    /* By leaf and dictionary: NULL until first used, a mark of search.c while it is being built, then a table for good.
     * Read atomically. NULL: searches never look at codes. */
    struct fp_code_search **tables;
};

/* The automaton of a leaf for a dictionary of the column, built if it is not there. *found is NULL if
 * it would not fit into memory_limit. Statuses: OUT_OF_MEMORY. */
fastpair_status fp_search_table(const fastpair_search *search, uint32_t leaf, uint32_t dictionary,
                                const fp_code_search **found, fastpair_error *error);

/* Rows of a column that are searched, and what is found. */
typedef struct fp_search_job {
    const fastpair_search *search;
    uint64_t first, count;
    uint8_t *bitmap;   /* NULL: not wanted */
    uint8_t *validity; /* the same */
    uint64_t matches;  /* added to atomically, as is what follows */
    uint64_t nulls;
} fp_search_job;

/* Runs a job, whose counts and bitmaps are 0 before, on as many threads as the column has. The rows
 * must be in the column. */
fastpair_status fp_search_run(fp_search_job *job, fastpair_error *error);

#endif
