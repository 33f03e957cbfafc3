/* threads.h - running independent tasks on several threads. */
#ifndef FP_THREADS_H
#define FP_THREADS_H

#include "error.h"

#include <pthread.h>
#include <stdatomic.h>

#define FP_MAX_THREADS 1024

/* What makes one more thread worth its start, in decoded bytes or what costs as much. Starting a
 * thread costs about what decoding 50 KB does. */
#define FP_THREAD_WORK (256u << 10)

/* How many of `threads` threads have enough to do: at least 1. Depends on the work alone, so that
 * results do not change with the machine. */
static inline uint32_t fp_threads_for(uint32_t threads, uint64_t work) {
    uint64_t busy = work / FP_THREAD_WORK;
    return busy < 1 ? 1 : busy < threads ? (uint32_t)busy : threads;
}

/* Threads that are kept from one run to the next. Each is started when a run first has work for it,
 * and lives until the pool is closed. One thread at a time may call fp_pool_run. */
typedef struct fp_pool {
    uint32_t threads; /* that may be used, the calling one included */
    uint32_t started; /* besides the calling one */
    pthread_t others[FP_MAX_THREADS - 1];
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t begun; /* a run has begun, or the pool is closing */
    pthread_cond_t ended; /* no other thread is at work */
    uint64_t run;         /* the number of the run */
    uint32_t wanted;      /* threads that may still join the run */
    uint32_t busy;        /* threads that have joined it and are not done */
    int closing;
    /* The tasks of the run. */
    _Atomic uint64_t next;
    uint64_t count;
    void (*task)(void *context, uint64_t i);
    void *context;
} fp_pool;

/* Starts no thread yet. */
void fp_pool_open(fp_pool *pool, uint32_t threads);

/* Runs task(context, i) once for each i in 0..count-1, on at most `threads` threads of the pool, the
 * calling one included, and returns when all are done. Order is unspecified, so results must depend
 * on i alone. Never fails: where threads cannot be made, fewer run. */
void fp_pool_run(fp_pool *pool, uint32_t threads, uint64_t count,
                 void (*task)(void *context, uint64_t i), void *context);

/* Ends the threads. */
void fp_pool_close(fp_pool *pool);

/* The same in one call, with threads of its own. */
void fp_parallel(uint32_t threads, uint64_t count, void (*task)(void *context, uint64_t i),
                 void *context);

/* Runs task(context, i, error) for every i below `count` on `threads` threads (0: one) until one
 * fails. The failure returned is that of the smallest i that fails, whatever the threads did. A task
 * that fails fills its error in. */
fastpair_status fp_run_tasks(uint32_t threads, uint64_t count,
                             fastpair_status (*task)(void *context, uint64_t i,
                                                     fastpair_error *error),
                             void *context, fastpair_error *error);

#endif
