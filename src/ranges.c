/* ranges.c - reading ranges of a file through the caller's function. In: ranges that are wanted. Out:
 * their bytes, held in memory until they are dropped.
 *
 * The trick: a range is listed before it is read, so whoever else wants it waits for it instead of
 * asking twice. The lock is never held while bytes are read. Ranges that nobody holds are released when
 * they are more than the limit, the one that was used longest ago first. Refuses reads that fail or are
 * short; nothing of them is kept. */
#include "ranges.h"

#include "threads.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Ranges that are kept though nobody holds them: so that searching the list stays cheap. */
#define MOST_IDLE 64u

fastpair_status fp_ranges_open(fp_ranges *ranges, const fastpair_range_source *source,
                               const fastpair_allocator *allocator, uint64_t idle_limit,
                               fastpair_error *error) {
    *ranges = (fp_ranges){.source = *source, .allocator = allocator, .idle_limit = idle_limit};
    if (pthread_mutex_init(&ranges->lock, NULL)) return fp_fail_memory(error, sizeof ranges->lock);
    if (pthread_cond_init(&ranges->came, NULL)) {
        pthread_mutex_destroy(&ranges->lock);
        return fp_fail_memory(error, sizeof ranges->came);
    }
    return FASTPAIR_OK;
}

void fp_ranges_close(fp_ranges *ranges) {
    for (fp_fetched *next; ranges->list; ranges->list = next) {
        next = ranges->list->next;
        fp_release(ranges->allocator, ranges->list);
    }
    pthread_cond_destroy(&ranges->came);
    pthread_mutex_destroy(&ranges->lock);
}

/* ---------------------------------------------------------------- the list; the lock is held */

static void unlist(fp_ranges *ranges, fp_fetched *fetched) {
    fp_fetched **place = &ranges->list;
    while (*place != fetched) place = &(*place)->next;
    *place = fetched->next;
    fetched->is_listed = 0;
}

/* Releases ranges that nobody holds until they are below the limit. */
static void release_idle(fp_ranges *ranges) {
    while (ranges->idle_bytes + ranges->coming_bytes > ranges->idle_limit ||
           ranges->idle > MOST_IDLE) {
        fp_fetched *oldest = NULL;
        for (fp_fetched *at = ranges->list; at; at = at->next)
            if (!at->users && (!oldest || at->last_used < oldest->last_used)) oldest = at;
        if (!oldest) return;
        ranges->idle_bytes -= oldest->range.to - oldest->range.from;
        ranges->idle--;
        unlist(ranges, oldest);
        fp_release(ranges->allocator, oldest);
    }
}

static void add_user(fp_ranges *ranges, fp_fetched *fetched) {
    if (fetched->is_listed && !fetched->users) {
        ranges->idle_bytes -= fetched->range.to - fetched->range.from;
        ranges->idle--;
    }
    fetched->users++;
    fetched->last_used = ++ranges->clock;
}

static void remove_user(fp_ranges *ranges, fp_fetched *fetched) {
    if (--fetched->users) return;
    if (!fetched->is_listed) {
        fp_release(ranges->allocator, fetched);
        return;
    }
    ranges->idle_bytes += fetched->range.to - fetched->range.from;
    ranges->idle++;
    release_idle(ranges);
}

static fp_fetched *find(const fp_ranges *ranges, fp_range wanted) {
    fp_fetched *at = ranges->list;
    while (at && (at->range.from > wanted.from || at->range.to < wanted.to)) at = at->next;
    return at;
}

/* Holds what covers a range once its bytes have come; NULL if nobody has it. */
static fp_fetched *await(fp_ranges *ranges, fp_range wanted) {
    fp_fetched *found;
    while ((found = find(ranges, wanted))) {
        add_user(ranges, found);
        while (found->is_coming) pthread_cond_wait(&ranges->came, &ranges->lock);
        if (found->is_listed) return found;
        remove_user(ranges, found); /* it failed to come */
    }
    return NULL;
}

int fp_ranges_touched(const fp_ranges *ranges, fp_range wanted) {
    const fp_fetched *at = ranges->list;
    while (at && (at == ranges->head || at == ranges->tail || at->range.from >= wanted.to ||
                  at->range.to <= wanted.from))
        at = at->next;
    return at != NULL;
}

/* ---------------------------------------------------------------- reading */

static fastpair_status read_bytes(const fp_ranges *ranges, fp_range wanted, uint8_t *to,
                                  fastpair_error *error) {
    uint64_t size = wanted.to - wanted.from;
    int64_t got = ranges->source.read_at(ranges->source.context, wanted.from, to, (size_t)size);
    if (got >= 0 && (uint64_t)got == size) return FASTPAIR_OK;
    if (got < 0) {
        char reason[160] = "";
        if (ranges->source.explain)
            ranges->source.explain(ranges->source.context, reason, sizeof reason);
        reason[sizeof reason - 1] = 0;
        errno = got > -4096 ? (int)-got : EIO; /* what %m prints */
        if (!reason[0])
            return fp_fail(error, FASTPAIR_ERROR_IO, wanted.from,
                           "bytes %" PRIu64 " .. %" PRIu64 " of the file cannot be read: %m",
                           wanted.from, wanted.to);
        return fp_fail(error, FASTPAIR_ERROR_IO, wanted.from,
                       "bytes %" PRIu64 " .. %" PRIu64 " of the file cannot be read: %s",
                       wanted.from, wanted.to, reason);
    }
    return fp_fail(error, FASTPAIR_ERROR_IO, wanted.from,
                   "of bytes %" PRIu64 " .. %" PRIu64 " of the file %" PRIu64
                   " came: the file is shorter than it was said to be, or the read was cut off",
                   wanted.from, wanted.to, (uint64_t)got);
}

/* Copies what the head or the tail has of either end of a range, and makes the range smaller. */
static void copy_known(const fp_fetched *known, fp_range *wanted, uint64_t base, uint8_t *to) {
    if (!known || known->range.to <= wanted->from || known->range.from >= wanted->to) return;
    fp_range both = {known->range.from > wanted->from ? known->range.from : wanted->from,
                     known->range.to < wanted->to ? known->range.to : wanted->to};
    if (both.from != wanted->from && both.to != wanted->to) return;
    memcpy(to + (both.from - base), known->bytes + (both.from - known->range.from),
           (size_t)(both.to - both.from));
    if (both.from == wanted->from)
        wanted->from = both.to;
    else
        wanted->to = both.from;
}

fastpair_status fp_ranges_read(const fp_ranges *ranges, fp_range wanted, uint8_t *to,
                               fastpair_error *error) {
    fp_range left = wanted;
    copy_known(ranges->head, &left, wanted.from, to);
    copy_known(ranges->tail, &left, wanted.from, to);
    if (left.from >= left.to) return FASTPAIR_OK;
    return read_bytes(ranges, left, to + (left.from - wanted.from), error);
}

/* Ranges that are read in one go. */
typedef struct round {
    fp_ranges *ranges;
    fp_fetched *fetched[FP_RANGES_AT_ONCE];
    fastpair_status status[FP_RANGES_AT_ONCE];
    fastpair_error *error; /* of the first */
} round;

static void read_one(void *context, uint64_t i) {
    round *of = context;
    fp_ranges *ranges = of->ranges;
    fp_fetched *fetched = of->fetched[i];
    of->status[i] = fp_ranges_read(ranges, fetched->range, fetched->bytes, i ? NULL : of->error);
    pthread_mutex_lock(&ranges->lock);
    fetched->is_coming = 0;
    ranges->coming_bytes -= fetched->range.to - fetched->range.from;
    if (of->status[i]) unlist(ranges, fetched);
    pthread_cond_broadcast(&ranges->came);
    pthread_mutex_unlock(&ranges->lock);
}

/* Lists a range that is about to be read. NULL if there is no memory. */
static fp_fetched *list(fp_ranges *ranges, fp_range wanted) {
    uint64_t size = wanted.to - wanted.from;
    fp_fetched *made = size < PTRDIFF_MAX - sizeof *made
                           ? fp_allocate(ranges->allocator, sizeof *made + size, 1)
                           : NULL;
    if (!made) return NULL;
    *made = (fp_fetched){.range = wanted,
                         .next = ranges->list,
                         .users = 1,
                         .last_used = ++ranges->clock,
                         .is_coming = 1,
                         .is_listed = 1};
    ranges->list = made;
    ranges->coming_bytes += size;
    return made;
}

fp_fetched *fp_ranges_find(fp_ranges *ranges, fp_range wanted) {
    pthread_mutex_lock(&ranges->lock);
    fp_fetched *found = await(ranges, wanted);
    pthread_mutex_unlock(&ranges->lock);
    return found;
}

fastpair_status fp_ranges_hold(fp_ranges *ranges, fp_range wanted, const fp_range_plan *plan,
                               fp_fetched **held, fastpair_error *error) {
    round of = {.ranges = ranges, .error = error};
    fp_range planned[FP_RANGES_AT_ONCE] = {wanted};
    uint32_t reads = 0, count = 1;
    pthread_mutex_lock(&ranges->lock);
    *held = await(ranges, wanted);
    if (!*held && plan) count = plan->make(plan->context, wanted, planned);
    for (uint32_t i = 0; i < count && !*held; i++) {
        of.fetched[reads] = list(ranges, planned[i]);
        if (!of.fetched[reads] && !i) break;
        reads += of.fetched[reads] != NULL;
    }
    release_idle(ranges);
    pthread_mutex_unlock(&ranges->lock);
    if (*held) return FASTPAIR_OK;
    if (!reads) return fp_fail_memory(error, planned[0].to - planned[0].from);
    fp_parallel(ranges->source.requests, reads, read_one, &of);
    pthread_mutex_lock(&ranges->lock);
    for (uint32_t i = of.status[0] ? 0 : 1; i < reads; i++) remove_user(ranges, of.fetched[i]);
    pthread_mutex_unlock(&ranges->lock);
    if (!of.status[0]) *held = of.fetched[0];
    return of.status[0];
}

void fp_ranges_drop(fp_ranges *ranges, fp_fetched *held) {
    if (!held) return;
    pthread_mutex_lock(&ranges->lock);
    remove_user(ranges, held);
    pthread_mutex_unlock(&ranges->lock);
}

/* The lock is held. */
static void forget(fp_ranges *ranges, fp_fetched *fetched) {
    if (fetched == ranges->head || fetched == ranges->tail || !fetched->is_listed ||
        fetched->is_coming)
        return;
    add_user(ranges, fetched);
    unlist(ranges, fetched);
    remove_user(ranges, fetched);
}

void fp_ranges_forget(fp_ranges *ranges, fp_fetched *held) {
    pthread_mutex_lock(&ranges->lock);
    forget(ranges, held);
    pthread_mutex_unlock(&ranges->lock);
}

void fp_ranges_forget_all(fp_ranges *ranges) {
    pthread_mutex_lock(&ranges->lock);
    for (fp_fetched *at = ranges->list, *next; at; at = next) {
        next = at->next;
        forget(ranges, at);
    }
    pthread_mutex_unlock(&ranges->lock);
}
