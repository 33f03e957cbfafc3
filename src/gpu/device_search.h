/* device_search.h - a search on a device: tables of its leaves, and the program of its verdict. */
#ifndef FP_GPU_DEVICE_SEARCH_H
#define FP_GPU_DEVICE_SEARCH_H

#include "kernels/scan_params.h"
#include "search_predicate.h"
#include "select.h"

/* A leaf's automaton for the tokens of one table of the rows. Places are bytes from the search's
 * device memory on. */
typedef struct fp_gpu_leaf_table {
    uint64_t filter, transitions;
    /* The filter tells codes that match at once. */
    int at_once;
} fp_gpu_leaf_table;

typedef struct fp_gpu_leaf {
    /* One per table of the rows. */
    fp_gpu_leaf_table *tables;
    uint32_t start, rest;
    /* Rows are walked from their start; else a walk may begin anywhere. */
    uint8_t by_rows;
    /* No state accepts but the one that is never left. */
    uint8_t at_once;
    /* A row without bytes matches. */
    uint8_t takes_empty;
    /* Tables by code do not hold the patterns, and rows are searched byte by byte: `bytes` says how,
     * with places in the search's device memory for addresses. There are no `tables`. */
    uint8_t by_bytes;
    /* A row matches if it contains one of the patterns. */
    uint8_t contains;
    fp_gpu_scan_automaton bytes;
} fp_gpu_leaf;

struct fastpair_gpu_search {
    const fastpair_gpu_rows *rows;
    fp_gpu_leaf *leaves;
    uint32_t leaf_count;
    fp_gpu_op ops[FP_GPU_MOST_OPS];
    /* How many there are, and the most values that they keep at once. */
    uint32_t op_count, depth;
    /* The tables as they go to the device, and their bytes. */
    uint8_t *memory;
    uint64_t bytes;
    /* Where tokens are, for leaves that are searched byte by byte; NULL if there are none. In device
     * memory it comes after the tables. */
    fastpair_gpu_select *select;
    /* 0 until uploaded. */
    uint64_t device_memory;
};

/* How a leaf is run: fills in all but `tables`. OUT_OF_MEMORY. */
fastpair_status fp_gpu_leaf_plan(const fp_automaton *automaton, const fastpair_allocator *allocator,
                                 fp_gpu_leaf *leaf, fastpair_error *error);

/* Bytes of a filter and of transitions, each in whole units of device memory. */
uint64_t fp_gpu_filter_bytes(const fp_rows_table *table);
uint64_t fp_gpu_transition_bytes(const fp_automaton *automaton, const fp_rows_table *table);

/* Writes both. Returns whether the filter tells codes that match at once. */
int fp_gpu_leaf_write(const fp_automaton *automaton, const fp_rows_table *table,
                      const fp_gpu_leaf *leaf, uint8_t *filter, uint8_t *transitions);

/* Plans a leaf that is searched byte by byte: its tables come at *end of the search's memory, which
 * moves on. */
void fp_gpu_scan_plan(const fp_leaf *from, fp_gpu_leaf *leaf, uint64_t *end);

/* Writes these tables; `memory` is the host's copy of the search's device memory. */
void fp_gpu_scan_write(const fp_leaf *from, const fp_gpu_leaf *leaf, uint8_t *memory);

/* A run under way. */
typedef struct fp_gpu_run {
    const fastpair_gpu_search *search;
    const fastpair_gpu_matches *matches;
    uint64_t scratch;
    int is_plain;
    fp_cu_stream stream;
} fp_gpu_run;

/* Whether what the only leaf finds is the result, so that no verdict is needed: all rows have bytes,
 * and nobody asks for validity or counts. */
int fp_gpu_run_is_plain(const fastpair_gpu_search *search, const fastpair_gpu_matches *matches);

/* Each queues kernels: what leaves find, and what the predicate says. What a plain run finds is its
 * result. */
fp_cu_result fp_launch_leaves(const fp_gpu_run *run);
fp_cu_result fp_launch_verdict(const fp_gpu_run *run);

/* Queues the search of a leaf byte by byte. */
fp_cu_result fp_launch_scan(const fp_gpu_run *run, uint32_t leaf);

#endif
