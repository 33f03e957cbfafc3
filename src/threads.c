/* threads.c - a parallel for. In: a task and a count. Out: every task done. Threads live for one call: a
 * library should not leave threads behind, and starting one costs less than decoding 100 KB. */
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct fp_work {
    _Atomic uint64_t next;
    uint64_t count;
    void (*task)(void *context, uint64_t i);
    void *context;
} fp_work;

static void *run_tasks(void *argument) {
    fp_work *work = argument;
    for (;;) {
        uint64_t i = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
        if (i >= work->count) return NULL;
        work->task(work->context, i);
    }
}

void fp_parallel(uint32_t threads, uint64_t count, void (*task)(void *context, uint64_t i),
                 void *context) {
    fp_work work = {.count = count, .task = task, .context = context};
    if (threads > count) threads = (uint32_t)count;
    if (threads > FP_MAX_THREADS) threads = FP_MAX_THREADS;
    pthread_t others[FP_MAX_THREADS];
    uint32_t started = 0;
    while (started + 1 < threads && pthread_create(&others[started], NULL, run_tasks, &work) == 0)
        started++;
    run_tasks(&work);
    for (uint32_t i = 0; i < started; i++) pthread_join(others[i], NULL);
}
