/* gpu_select.h - what selecting rows on a GPU takes, for fastpair-gpu-search. */
#ifndef FP_BENCH_GPU_SELECT_H
#define FP_BENCH_GPU_SELECT_H

#include "fastpair_gpu_select.h"
#include "harness.h"

/* A column on a GPU whose rows are prepared. */
typedef struct select_subject {
    const bench_device *device;
    const char *path;
    fastpair_column *column;
    fastpair_gpu_job *job;
    const fastpair_gpu_rows *rows;
    /* The column's bytes in device memory, which a decode of the whole column may overwrite. */
    uint64_t decoded;
    int launches;
} select_subject;

/* Selects a share of the rows at random, by a bitmap, or with `in_any_order` by a list that is
 * shuffled. Prints one JSON object: the least time from codes, and that of decoding all rows and
 * copying the selected ones; whether every byte and offset of both is right. */
void bench_select(const select_subject *s, double percent, bool in_any_order);

#endif
