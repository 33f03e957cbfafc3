/* warm_cache.c - holding chunks. In: numbers of chunks. Out: views of them, warm if that is wanted. The
 * trick: a chunk is unpacked without the lock, so threads wait for nobody. Of two that unpack the same
 * chunk, one keeps it, and the other closes its own after use. Refuses what fp_warm_open refuses, and
 * sections from a source that do not match their checksums. */
#include "warm_cache.h"

#include "column_source.h"

fastpair_status fp_warm_cache_open(fastpair_column *column, fastpair_error *error) {
    fp_warm_cache *cache = fp_allocate_zero(&column->settings.allocator, 1, sizeof *cache);
    if (!cache || pthread_mutex_init(&cache->lock, NULL)) {
        fp_release(&column->settings.allocator, cache);
        return fp_fail_memory(error, sizeof *cache);
    }
    column->warm = cache;
    return FASTPAIR_OK;
}

static void close_held(const fastpair_column *column, fp_held_warm *held) {
    fp_warm_close(&held->warm, &column->settings.allocator);
    fp_release(&column->settings.allocator, held);
}

void fp_warm_cache_close(fastpair_column *column) {
    fp_warm_cache *cache = column->warm;
    if (!cache) return;
    for (uint32_t i = 0; i < FP_WARM_KEPT; i++)
        if (cache->kept[i]) close_held(column, cache->kept[i]);
    fp_frame_reader_close(&cache->reader);
    pthread_mutex_destroy(&cache->lock);
    fp_release(&column->settings.allocator, cache);
    column->warm = NULL;
}

/* The chunk, if it is kept, with one more user. */
static fp_held_warm *find(fp_warm_cache *cache, uint64_t number) {
    fp_held_warm *found = NULL;
    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < FP_WARM_KEPT && !found; i++)
        if (cache->kept[i] && cache->kept[i]->number == number) found = cache->kept[i];
    if (found) {
        found->users++;
        found->last_used = ++cache->clock;
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

/* Keeps a chunk in the place of the one that was used longest ago and that nobody uses now. Returns
 * what had been there. */
static fp_held_warm *keep(fp_warm_cache *cache, fp_held_warm *held) {
    fp_held_warm **place = NULL, *evicted = NULL;
    pthread_mutex_lock(&cache->lock);
    held->last_used = ++cache->clock;
    for (uint32_t i = 0; i < FP_WARM_KEPT; i++) {
        fp_held_warm **other = &cache->kept[i];
        if (*other && (*other)->number == held->number) { /* another thread was first */
            place = NULL;
            break;
        }
        if (*other && (*other)->users) continue;
        if (!place || (*place && (!*other || (*other)->last_used < (*place)->last_used)))
            place = other;
    }
    if (place) {
        evicted = *place;
        *place = held;
        held->is_kept = 1;
    }
    pthread_mutex_unlock(&cache->lock);
    return evicted;
}

/* ---------------------------------------------------------------- holding */

static fastpair_status hold_fetched(const fastpair_column *column, const fp_wanted_chunk *wanted,
                                    fp_chunk_view *view, fp_hold *hold, fastpair_error *error) {
    fastpair_status status =
        fp_source_hold(column, wanted->number, wanted->end, &hold->block, error);
    if (status) return status;
    /* Headers are kept even if there is room: they may be needed again when the block is gone. */
    status = fp_column_chunk(column, wanted->number, view, error);
    if (status)
        fp_ranges_forget_all(&column->source->ranges);
    else
        view->block = fp_fetched_at(hold->block, view->chunk->position);
    return status;
}

fastpair_status fp_column_hold_raw(const fastpair_column *column, const fp_wanted_chunk *wanted,
                                   fp_chunk_view *view, fp_hold *hold, fastpair_error *error) {
    *hold = (fp_hold){0};
    if (column->source) return hold_fetched(column, wanted, view, hold, error);
    return wanted->room ? fp_column_pass_chunk(column, wanted->number, wanted->room, view, error)
                        : fp_column_chunk(column, wanted->number, view, error);
}

fastpair_status fp_column_hold_block(const fastpair_column *column, const fp_wanted_chunk *wanted,
                                     fp_chunk_view *view, fp_hold *hold, fastpair_error *error) {
    fastpair_status status = fp_column_hold_raw(column, wanted, view, hold, error);
    if (status || !hold->block) return status;
    status = fp_source_verify(column, view, hold->block, error);
    if (status) fp_ranges_forget_all(&column->source->ranges);
    return status;
}

fastpair_status fp_column_hold_warm(const fastpair_column *column, fp_chunk_view *view,
                                    fp_hold *hold, fastpair_error *error) {
    if (!view->chunk->cold) return FASTPAIR_OK;
    fp_held_warm *found = find(column->warm, view->number);
    if (!found) {
        const fastpair_allocator *allocator = &column->settings.allocator;
        found = fp_allocate_zero(allocator, 1, sizeof *found);
        if (!found) return fp_fail_memory(error, sizeof *found);
        fastpair_status status = fp_warm_open(view, allocator, &found->warm, error);
        if (status) {
            fp_release(allocator, found);
            return status;
        }
        found->number = view->number;
        found->users = 1;
        fp_held_warm *evicted = keep(column->warm, found);
        if (evicted) close_held(column, evicted);
    }
    hold->warm = found;
    *view = fp_warm_view(&found->warm, view);
    return FASTPAIR_OK;
}

fastpair_status fp_column_hold(const fastpair_column *column, const fp_wanted_chunk *wanted,
                               fp_chunk_view *view, fp_hold *hold, fastpair_error *error) {
    fastpair_status status;
    const fp_chunk *kept = column->source ? fp_column_find_kept(column, wanted->number) : NULL;
    if (kept && kept->cold && (hold->warm = find(column->warm, wanted->number))) {
        hold->block = NULL; /* the cold block need not be there */
        *view = fp_column_view(column, wanted->number, kept);
        *view = fp_warm_view(&hold->warm->warm, view);
        return FASTPAIR_OK;
    }
    status = fp_column_hold_block(column, wanted, view, hold, error);
    return status ? status : fp_column_hold_warm(column, view, hold, error);
}

void fp_column_drop_held(const fastpair_column *column, fp_hold *hold) {
    fp_held_warm *held = hold->warm;
    if (held) {
        pthread_mutex_lock(&column->warm->lock);
        int closes = --held->users == 0 && !held->is_kept;
        pthread_mutex_unlock(&column->warm->lock);
        if (closes) close_held(column, held);
    }
    if (hold->block) fp_ranges_drop(&column->source->ranges, hold->block);
    *hold = (fp_hold){0};
}

/* ---------------------------------------------------------------- the reader */

static fp_frame_reader exchange_reader(fp_warm_cache *cache, fp_frame_reader reader) {
    pthread_mutex_lock(&cache->lock);
    fp_frame_reader before = cache->reader;
    cache->reader = reader;
    pthread_mutex_unlock(&cache->lock);
    return before;
}

fp_frame_reader fp_column_take_reader(const fastpair_column *column) {
    return exchange_reader(column->warm, (fp_frame_reader){0});
}

void fp_column_give_reader(const fastpair_column *column, fp_frame_reader reader) {
    fp_frame_reader before = exchange_reader(column->warm, reader);
    fp_frame_reader_close(&before);
}
