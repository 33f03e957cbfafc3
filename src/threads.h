/* threads.h - running independent tasks on several threads. */
#ifndef FP_THREADS_H
#define FP_THREADS_H

#include "error.h"

#define FP_MAX_THREADS 1024

/* Runs task(context, i) once for each i in 0..count-1, on at most `threads` threads, the calling
 * one included, and returns when all are done. Order is unspecified, so results must depend on i
 * alone. Never fails: where threads cannot be made, fewer run. */
void fp_parallel(uint32_t threads, uint64_t count, void (*task)(void *context, uint64_t i),
                 void *context);

/* Runs task(context, i, NULL) for every i below `count` on `threads` threads (0: one) until one
 * fails. The failure returned is that of the smallest i that fails, whatever the threads did: the
 * caller's thread runs that task once more to fill `error`. So tasks must fail in the same way each
 * time and may be run twice. */
fastpair_status fp_run_tasks(uint32_t threads, uint64_t count,
                             fastpair_status (*task)(void *context, uint64_t i,
                                                     fastpair_error *error),
                             void *context, fastpair_error *error);

#endif
