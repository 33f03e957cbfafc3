/* threads.c - a parallel for. In: a task and a count. Out: every task done, or the first failure.
 * Threads live for one call: a library should leave no threads running, and starting one costs less
 * than decoding 100 KB. Refuses nothing: without threads the caller's own does all. */
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct parallel_work {
    _Atomic uint64_t next;
    uint64_t count;
    void (*task)(void *context, uint64_t i);
    void *context;
} parallel_work;

static void *take_tasks(void *argument) {
    parallel_work *work = argument;
    for (;;) {
        uint64_t i = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
        if (i >= work->count) return NULL;
        work->task(work->context, i);
    }
}

void fp_parallel(uint32_t threads, uint64_t count, void (*task)(void *context, uint64_t i),
                 void *context) {
    parallel_work work = {.count = count, .task = task, .context = context};
    if (threads > count) threads = (uint32_t)count;
    if (threads > FP_MAX_THREADS) threads = FP_MAX_THREADS;
    pthread_t others[FP_MAX_THREADS];
    uint32_t started = 0;
    while (started + 1 < threads && pthread_create(&others[started], NULL, take_tasks, &work) == 0)
        started++;
    take_tasks(&work);
    for (uint32_t i = 0; i < started; i++) pthread_join(others[i], NULL);
}

/* ---------------------------------------------------------------- tasks that may fail */

typedef struct guarded_work {
    fastpair_status (*task)(void *context, uint64_t i, fastpair_error *error);
    void *context;
    _Atomic uint64_t first_failed;
    _Atomic int out_of_memory;
} guarded_work;

static void run_guarded(void *context, uint64_t i) {
    guarded_work *work = context;
    if (i > atomic_load_explicit(&work->first_failed, memory_order_relaxed)) return;
    fastpair_status status = work->task(work->context, i, NULL);
    if (status == FASTPAIR_OK) return;
    if (status == FASTPAIR_ERROR_OUT_OF_MEMORY) atomic_store(&work->out_of_memory, 1);
    uint64_t seen = atomic_load(&work->first_failed);
    while (i < seen && !atomic_compare_exchange_weak(&work->first_failed, &seen, i)) {}
}

fastpair_status fp_run_tasks(uint32_t threads, uint64_t count,
                             fastpair_status (*task)(void *context, uint64_t i,
                                                     fastpair_error *error),
                             void *context, fastpair_error *error) {
    guarded_work work = {task, context, UINT64_MAX, 0};
    fp_parallel(threads ? threads : 1, count, run_guarded, &work);
    uint64_t failed = atomic_load(&work.first_failed);
    if (failed == UINT64_MAX) return FASTPAIR_OK;
    fastpair_status status = task(context, failed, error);
    if (status) return status;
    /* The task went well this time. Memory may have been short for a moment; but later tasks were
     * left out, so the work is not done. */
    if (atomic_load(&work.out_of_memory)) return fp_fail_memory(error, 0);
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT, FASTPAIR_NO_POSITION,
                   "the compressed image was changed by others while it was read");
}
