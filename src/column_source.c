/* column_source.c - a column whose bytes come from the caller's function. In: what is wanted of the
 * column. Out: ranges of its file, held, and dictionaries, opened when a chunk first needs them.
 *
 * The trick: the footer says where every block is, so one request can bring all that a call is going to
 * need, and a dictionary is asked for together with its chunk before the chunk's header has come.
 * Refuses nothing itself: what came is checked by whoever checks it in an image. */
#include "column_source.h"

#include "options.h"
#include "threads.h"

#include <inttypes.h>

/* Chunks that are joined to one request, at most. */
#define JOINED_CHUNKS 64u

/* Chunks that are asked for one after the other are read ahead: 1, 2, 4, ... of them. */
#define MOST_DOUBLINGS 6u

/* Bytes that are kept though nobody holds them: at least two rounds of requests, so that what was read
 * ahead is still there when its turn comes. */
#define IDLE_BYTES (32u << 20)

#define DEFAULT_REQUESTS 4u

/* ---------------------------------------------------------------- opening */

fastpair_status fp_source_open(fastpair_column *column, const fastpair_range_source *given,
                               const fp_source_sizes *sizes, fastpair_error *error) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    fastpair_range_source source = *given;
    if (!source.requests) source.requests = DEFAULT_REQUESTS;
    uint64_t idle = 2 * source.requests * sizes->joined;
    fp_column_source *made = fp_allocate_zero(allocator, 1, sizeof *made);
    if (!made) return fp_fail_memory(error, sizeof *made);
    made->sizes = *sizes;
    fastpair_status status = FASTPAIR_OK;
    if (pthread_mutex_init(&made->loading, NULL)) {
        status = fp_fail_memory(error, sizeof made->loading);
    } else if ((status = fp_ranges_open(&made->ranges, &source, allocator,
                                        idle > IDLE_BYTES ? idle : IDLE_BYTES, error))) {
        pthread_mutex_destroy(&made->loading);
    }
    if (status)
        fp_release(allocator, made);
    else
        column->source = made;
    return status;
}

void fp_source_close(fastpair_column *column) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    fp_column_source *source = column->source;
    if (!source) return;
    fp_ranges_close(&source->ranges);
    pthread_mutex_destroy(&source->loading);
    fp_release(allocator, source->is_loaded);
    fp_release(allocator, source->table_bytes);
    fp_release(allocator, source);
    column->source = NULL;
}

/* The beginning of the file, as one more range that is read with its end. */
static uint32_t plan_ends(const void *context, fp_range wanted, fp_range *planned) {
    const fp_range *head = context;
    planned[0] = wanted;
    planned[1] = *head;
    return 2;
}

fastpair_status fp_source_read_ends(fastpair_column *column, const uint8_t **head,
                                    const uint8_t **trailer, fastpair_error *error) {
    fp_ranges *ranges = &column->source->ranges;
    const fp_source_sizes *sizes = &column->source->sizes;
    uint64_t size = column->size;
    int is_small = size <= sizes->tail + sizes->head;
    fp_range head_range = {0, sizes->head};
    fp_range tail = {is_small ? 0 : size - sizes->tail, size};
    fp_range_plan plan = {plan_ends, &head_range};
    fastpair_status status =
        fp_ranges_hold(ranges, tail, is_small ? NULL : &plan, &ranges->tail, error);
    if (status) return status;
    if (!is_small) status = fp_ranges_hold(ranges, head_range, NULL, &ranges->head, error);
    if (status) return status;
    *head = is_small ? ranges->tail->bytes : ranges->head->bytes;
    *trailer = fp_fetched_at(ranges->tail, size - FP_TRAILER);
    return FASTPAIR_OK;
}

fastpair_status fp_source_read_footer(fastpair_column *column, uint64_t position,
                                      fastpair_error *error) {
    fp_ranges *ranges = &column->source->ranges;
    if (position < ranges->tail->range.from) {
        fp_fetched *longer;
        fastpair_status status =
            fp_ranges_hold(ranges, (fp_range){position, column->size}, NULL, &longer, error);
        if (status) return status;
        fp_fetched *shorter = ranges->tail;
        ranges->tail = longer;
        fp_ranges_forget(ranges, shorter);
        fp_ranges_drop(ranges, shorter);
    }
    column->source->footer = fp_fetched_at(ranges->tail, position);
    return FASTPAIR_OK;
}

fastpair_status fp_source_make_places(fastpair_column *column, fastpair_error *error) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    fp_column_source *source = column->source;
    uint64_t count = column->totals.dictionaries;
    source->is_loaded = fp_allocate_zero(allocator, count, sizeof *source->is_loaded);
    source->table_bytes = fp_allocate_zero(allocator, count, sizeof *source->table_bytes);
    if (source->is_loaded && source->table_bytes) return FASTPAIR_OK;
    return fp_fail_memory(error, count * sizeof *source->table_bytes);
}

/* ---------------------------------------------------------------- dictionaries */

static int is_loaded(const fastpair_column *column, uint64_t number) {
    return __atomic_load_n(&column->source->is_loaded[number], __ATOMIC_ACQUIRE) != 0;
}

static fp_range range_of_dict(const fastpair_column *column, uint64_t number) {
    fp_dict_entry entry = fp_column_dict_entry(column, number);
    return (fp_range){entry.position, entry.position + entry.block_bytes};
}

/* Opens a dictionary; `loading` is held. */
static fastpair_status load(const fastpair_column *column, uint64_t number, fastpair_error *error) {
    fp_column_source *source = column->source;
    fp_range range = range_of_dict(column, number);
    fp_fetched *held;
    fastpair_status status = fp_ranges_hold(&source->ranges, range, NULL, &held, error);
    if (status) return status;
    /* Alone: the budget is that of the whole file. */
    fp_table_budget budget = {0};
    status = fp_column_open_dict(column, number, fp_fetched_at(held, range.from), &budget, error);
    if (!status) {
        source->table_bytes[number] = budget.taken;
        budget.taken += source->taken;
        status = fp_table_budget_check(&budget, range.from, column->size, error);
        if (status) fp_column_dict_close(&column->dictionaries[number]);
    }
    if (!status) {
        source->taken = budget.taken;
        __atomic_store_n(&source->is_loaded[number], 1, __ATOMIC_RELEASE);
    }
    /* What proved wrong is asked for again, and a dictionary alone is needed no more. */
    if (status)
        fp_ranges_forget_all(&source->ranges);
    else if (held->range.from == range.from && held->range.to == range.to)
        fp_ranges_forget(&source->ranges, held);
    fp_ranges_drop(&source->ranges, held);
    return status;
}

fastpair_status fp_source_load(const fastpair_column *column, uint64_t number,
                               fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    if (is_loaded(column, number)) return FASTPAIR_OK;
    pthread_mutex_lock(&column->source->loading);
    if (!is_loaded(column, number)) status = load(column, number, error);
    pthread_mutex_unlock(&column->source->loading);
    return status;
}

fastpair_status fp_source_load_all(const fastpair_column *column, fastpair_error *error) {
    fp_table_budget budget = {0};
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t i = 0; i < column->totals.dictionaries && !status; i++) {
        fp_range range = range_of_dict(column, i);
        status = fp_source_load(column, i, error);
        if (!status) budget.taken += column->source->table_bytes[i];
        if (!status) status = fp_table_budget_check(&budget, range.from, range.to, error);
    }
    return status;
}

/* ---------------------------------------------------------------- chunks */

fastpair_status fp_source_read_header(const fastpair_column *column, const fp_chunk_entry *entry,
                                      uint8_t *header, fastpair_error *error) {
    fp_ranges *ranges = &column->source->ranges;
    fp_range range = {entry->position, entry->position + FP_CHUNK_HEADER};
    fp_fetched *held = fp_ranges_find(ranges, range);
    if (!held) return fp_ranges_read(ranges, range, header, error);
    memcpy(header, fp_fetched_at(held, range.from), FP_CHUNK_HEADER);
    fp_ranges_drop(ranges, held);
    return FASTPAIR_OK;
}

static fastpair_status keep_header(void *context, uint64_t number, fastpair_error *error) {
    fp_chunk_view view;
    return fp_column_chunk(context, number, &view, error);
}

fastpair_status fp_source_keep_headers(const fastpair_column *column, fastpair_error *error) {
    return fp_run_tasks(column->source->ranges.source.requests, column->totals.chunks, keep_header,
                        (void *)(uintptr_t)column, error);
}

/* A plan on its way: what a call for chunks `number` up to `end` reads in one go. */
typedef struct chunk_plan {
    const fastpair_column *column;
    uint64_t number, end;
} chunk_plan;

static fp_range range_of_chunk(const fastpair_column *column, uint64_t number) {
    fp_chunk_entry entry = fp_column_entry(column, number);
    return (fp_range){entry.position, entry.position + entry.block_bytes};
}

static int is_inside(fp_range range, const fp_fetched *fetched) {
    return fetched && range.from >= fetched->range.from && range.to <= fetched->range.to;
}

/* Whether a dictionary has to be asked for. */
static int is_missing(const fastpair_column *column, uint64_t number) {
    const fp_ranges *ranges = &column->source->ranges;
    fp_range range = range_of_dict(column, number);
    return !is_loaded(column, number) && !is_inside(range, ranges->head) &&
           !is_inside(range, ranges->tail) && !fp_ranges_touched(ranges, range);
}

/* The first byte before a chunk from which on all is missing: dictionaries between `from` and it. */
static uint64_t missing_from(const fastpair_column *column, uint64_t from, uint64_t position) {
    uint64_t start = position;
    for (uint64_t d = fp_column_dicts_before(column, position); d > 0; d--) {
        fp_range range = range_of_dict(column, d - 1);
        if (range.from < from || range.to != start || !is_missing(column, d - 1)) break;
        start = range.from;
    }
    return start;
}

/* Where reading ahead ends: where the caller says, or further on if chunks are asked for in order. */
static uint64_t end_of_plan(fp_column_source *source, const chunk_plan *of) {
    int is_next = of->number && of->number == source->next_chunk;
    source->rounds_in_row = is_next ? source->rounds_in_row + 1 : 0;
    if (source->rounds_in_row > MOST_DOUBLINGS) source->rounds_in_row = MOST_DOUBLINGS;
    uint64_t end = of->number + (1ull << source->rounds_in_row), all = of->column->totals.chunks;
    if (end < of->end) end = of->end;
    return end < all ? end : all;
}

/* 1 + the number of the dictionary that a chunk most likely uses; 0: none. */
static uint64_t dictionary_of(const fastpair_column *column, uint64_t number) {
    fp_chunk_entry entry = fp_column_entry(column, number);
    return entry.dictionary ? entry.dictionary : fp_column_dicts_before(column, entry.position);
}

static uint32_t plan_chunks(const void *context, fp_range wanted, fp_range *planned) {
    const chunk_plan *of = context;
    const fastpair_column *column = of->column;
    const fp_ranges *ranges = &column->source->ranges;
    const uint64_t joined = column->source->sizes.joined;
    uint32_t count = 1, chunks = 1, most = ranges->source.requests;
    uint64_t left = most * joined; /* large chunks are not read ahead */
    planned[0] = wanted;
    uint64_t before = dictionary_of(column, of->number);
    if (before && is_missing(column, before - 1)) {
        fp_range dict = range_of_dict(column, before - 1);
        if (dict.to == wanted.from)
            planned[0].from = dict.from;
        else if (most > 1)
            planned[count++] = dict;
    }
    fp_range *last = &planned[0];
    uint64_t end = end_of_plan(column->source, of), n = of->number + 1;
    for (; n < end; n++) {
        fp_range next = range_of_chunk(column, n);
        if (fp_ranges_touched(ranges, next)) break;
        uint64_t from = missing_from(column, last->to, next.from);
        if (next.to - wanted.from > left) break;
        if (from == last->to && next.to - last->from <= joined && chunks < JOINED_CHUNKS) {
            last->to = next.to;
            chunks++;
        } else if (count < most) {
            last = &planned[count++];
            *last = (fp_range){from, next.to};
            chunks = 1;
        } else {
            break;
        }
    }
    column->source->next_chunk = n;
    return count;
}

fastpair_status fp_source_hold(const fastpair_column *column, uint64_t number, uint64_t end,
                               fp_fetched **held, fastpair_error *error) {
    chunk_plan of = {column, number, end};
    fp_range_plan plan = {plan_chunks, &of};
    return fp_ranges_hold(&column->source->ranges, range_of_chunk(column, number), &plan, held,
                          error);
}

fastpair_status fp_source_verify(const fastpair_column *column, const fp_chunk_view *view,
                                 fp_fetched *held, fastpair_error *error) {
    const fp_ranges *ranges = &column->source->ranges;
    /* Other ranges have at most so many chunks that no two share a bit. */
    int can_mark = held != ranges->head && held != ranges->tail;
    uint64_t mark = 1ull << view->number % JOINED_CHUNKS;
    if (can_mark && __atomic_load_n(&held->marks, __ATOMIC_ACQUIRE) & mark) return FASTPAIR_OK;
    fastpair_status status = fp_chunk_verify_checksums(view, error);
    if (!status && can_mark) __atomic_fetch_or(&held->marks, mark, __ATOMIC_ACQ_REL);
    return status;
}
