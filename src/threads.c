/* threads.c - a parallel for. In: a task and a count. Out: every task done, or the first failure.
 *
 * Threads live as long as a call or, in a pool, as long as the object that owns it: a library leaves
 * no threads running. The trick: a run does not wait for threads that have not woken up when its
 * last task is taken, so a run that is done early costs one wake-up, not the slowest. Refuses
 * nothing: without threads the caller's own does all. */
#include "threads.h"

#include <signal.h>

static void take_tasks(fp_pool *pool) {
    for (;;) {
        uint64_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->count) return;
        pool->task(pool->context, i);
    }
}

static void *serve(void *argument) {
    fp_pool *pool = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->closing && (pool->run == seen || !pool->wanted))
            pthread_cond_wait(&pool->begun, &pool->lock);
        if (pool->closing) break;
        seen = pool->run;
        pool->wanted--;
        pool->busy++;
        pthread_mutex_unlock(&pool->lock);
        take_tasks(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->ended);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

void fp_pool_open(fp_pool *pool, uint32_t threads) {
    pool->threads = threads < 1 ? 1 : threads > FP_MAX_THREADS ? FP_MAX_THREADS : threads;
    pool->started = pool->wanted = pool->busy = 0;
    pool->run = 0;
    pool->closing = 0;
    if (pool->threads == 1 || pthread_mutex_init(&pool->lock, NULL)) {
        pool->threads = 1;
        return;
    }
    if (pthread_cond_init(&pool->begun, NULL)) {
        pthread_mutex_destroy(&pool->lock);
        pool->threads = 1;
    } else if (pthread_cond_init(&pool->ended, NULL)) {
        pthread_cond_destroy(&pool->begun);
        pthread_mutex_destroy(&pool->lock);
        pool->threads = 1;
    }
}

/* Starts threads until there are `others`. Signals that are sent to the process are for the
 * caller's threads; faults are raised in the thread that makes them and must not be blocked. */
static void start_threads(fp_pool *pool, uint32_t others) {
    if (pool->started >= others) return;
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    int masked = pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0;
    while (pool->started < others &&
           pthread_create(&pool->others[pool->started], NULL, serve, pool) == 0)
        pool->started++;
    if (masked) pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void fp_pool_run(fp_pool *pool, uint32_t threads, uint64_t count,
                 void (*task)(void *context, uint64_t i), void *context) {
    if (threads > pool->threads) threads = pool->threads;
    if (threads > count) threads = (uint32_t)count;
    if (threads <= 1) {
        for (uint64_t i = 0; i < count; i++) task(context, i);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->count = count;
    pool->task = task;
    pool->context = context;
    pool->run++;
    pool->wanted = threads - 1;
    pthread_cond_broadcast(&pool->begun);
    pthread_mutex_unlock(&pool->lock);
    start_threads(pool, threads - 1);
    take_tasks(pool);
    pthread_mutex_lock(&pool->lock);
    pool->wanted = 0;
    while (pool->busy) pthread_cond_wait(&pool->ended, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void fp_pool_close(fp_pool *pool) {
    if (pool->threads <= 1) return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = 1;
    pthread_cond_broadcast(&pool->begun);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->started; i++) pthread_join(pool->others[i], NULL);
    pthread_cond_destroy(&pool->ended);
    pthread_cond_destroy(&pool->begun);
    pthread_mutex_destroy(&pool->lock);
    pool->threads = 1;
}

void fp_parallel(uint32_t threads, uint64_t count, void (*task)(void *context, uint64_t i),
                 void *context) {
    fp_pool pool; /* some KiB that only started threads write to */
    fp_pool_open(&pool, threads < count ? threads : (uint32_t)count);
    fp_pool_run(&pool, threads, count, task, context);
    fp_pool_close(&pool);
}

/* ---------------------------------------------------------------- tasks that may fail */

typedef struct guarded_work {
    fastpair_status (*task)(void *context, uint64_t i, fastpair_error *error);
    void *context;
    _Atomic uint64_t first_failed;
    pthread_mutex_t lock;   /* guards what follows */
    fastpair_status status; /* of the first that failed */
    fastpair_error failure;
} guarded_work;

static void run_guarded(void *context, uint64_t i) {
    guarded_work *work = context;
    if (i > atomic_load_explicit(&work->first_failed, memory_order_relaxed)) return;
    fastpair_error failure;
    fastpair_status status = work->task(work->context, i, &failure);
    if (status == FASTPAIR_OK) return;
    pthread_mutex_lock(&work->lock);
    if (i < atomic_load_explicit(&work->first_failed, memory_order_relaxed)) {
        atomic_store_explicit(&work->first_failed, i, memory_order_relaxed);
        work->status = status;
        work->failure = failure;
    }
    pthread_mutex_unlock(&work->lock);
}

fastpair_status fp_run_tasks(uint32_t threads, uint64_t count,
                             fastpair_status (*task)(void *context, uint64_t i,
                                                     fastpair_error *error),
                             void *context, fastpair_error *error) {
    guarded_work work = {.task = task, .context = context, .first_failed = UINT64_MAX};
    if (pthread_mutex_init(&work.lock, NULL)) return fp_fail_memory(error, sizeof work.lock);
    fp_parallel(threads ? threads : 1, count, run_guarded, &work);
    pthread_mutex_destroy(&work.lock);
    if (work.status && error) *error = work.failure;
    return work.status;
}
