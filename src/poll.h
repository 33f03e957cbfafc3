/* poll.h - asking the caller now and then whether to go on. In: work that was done. Out: calls of
 * the caller's progress function, about one per MiB of work, and whether it said stop. The function
 * is called from the caller's thread alone; other threads only see that it said stop. */
#ifndef FP_POLL_H
#define FP_POLL_H

#include "error.h"

#include <pthread.h>
#include <stdatomic.h>

/* Bytes of work between two calls. Parsing a MiB takes about 10 ms. */
#define FP_POLL_BYTES ((uint64_t)1 << 20)

typedef struct fp_poll {
    fastpair_progress progress; /* NULL: nobody to ask */
    void *context;
    uint64_t done, total; /* input bytes in the file; of the column, 0: unknown */
    uint64_t unasked;     /* bytes of work since the last call */
    pthread_t caller;
    atomic_int stopped;
} fp_poll;

/* Asks now. Returns whether to stop. */
static inline int fp_poll_ask(fp_poll *poll) {
    if (!poll || !poll->progress) return 0;
    if (!atomic_load_explicit(&poll->stopped, memory_order_relaxed) &&
        pthread_equal(poll->caller, pthread_self())) {
        poll->unasked = 0;
        if (poll->progress(poll->context, poll->done, poll->total))
            atomic_store_explicit(&poll->stopped, 1, memory_order_relaxed);
    }
    return atomic_load_explicit(&poll->stopped, memory_order_relaxed);
}

/* Notes `bytes` of work, and asks if that was enough. Returns whether to stop. `poll` may be
 * NULL. */
static inline int fp_poll_work(fp_poll *poll, uint64_t bytes) {
    if (!poll || !poll->progress) return 0;
    if (pthread_equal(poll->caller, pthread_self()) && (poll->unasked += bytes) >= FP_POLL_BYTES)
        return fp_poll_ask(poll);
    return atomic_load_explicit(&poll->stopped, memory_order_relaxed);
}

static inline fastpair_status fp_fail_cancelled(fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_CANCELLED, FASTPAIR_NO_POSITION,
                   "stopped by the progress function");
}

#endif
