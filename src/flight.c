/* flight.c - the chunks in flight. In: chunks, a model, a numbering. Out: parsed drafts, finished
 * blocks. The trick: decisions are made unit after unit, but drafts are parsed several at a time,
 * twice as many each time, as if nothing would change; if the model does change, later drafts are
 * parsed again. Refuses nothing but a lack of memory. */
#include "flight.h"

#include "threads.h"
#include "utf8.h"

#include <string.h>

/* Blocks are built and written in steps of so many decoded bytes per thread. */
#define BUILD_BYTES ((uint64_t)1 << 20)

void fp_flight_close(fp_flight *flight, const fastpair_allocator *allocator) {
    for (uint32_t i = 0; i < flight->capacity; i++) fp_draft_close(&flight->drafts[i], allocator);
    fp_release(allocator, flight->drafts);
    for (uint32_t i = 0; i < flight->block_capacity; i++) {
        fp_buffer_close(&flight->blocks[i].bytes, allocator);
        fp_cold_writer_close(&flight->blocks[i].cold, allocator);
    }
    fp_release(allocator, flight->blocks);
    *flight = (fp_flight){0};
}

/* Makes room for `count` things of `size` bytes. Things that are there keep their buffers, the new
 * ones are zero. */
static fastpair_status reserve(void **things, uint32_t *capacity, uint32_t count, size_t size,
                               const fastpair_allocator *allocator, fastpair_error *error) {
    if (count <= *capacity) return FASTPAIR_OK;
    uint64_t wanted = *capacity ? *capacity : 4;
    while (wanted < count) wanted *= 2;
    void *more = fp_allocate_zero(allocator, wanted, size);
    if (!more) return fp_fail_memory(error, wanted * size);
    if (*capacity) memcpy(more, *things, *capacity * size);
    fp_release(allocator, *things);
    *things = more;
    *capacity = (uint32_t)wanted;
    return FASTPAIR_OK;
}

fastpair_status fp_flight_load(fp_flight *flight, const fp_cut_list *list,
                               const fastpair_allocator *allocator, fastpair_error *error) {
    void *drafts = flight->drafts;
    fastpair_status status =
        reserve(&drafts, &flight->capacity, list->count, sizeof *flight->drafts, allocator, error);
    flight->drafts = drafts;
    if (status) return status;
    for (uint32_t i = 0; i < list->count; i++) fp_draft_begin(&flight->drafts[i], &list->chunks[i]);
    flight->count = flight->ahead = list->count;
    flight->parsed = flight->written = 0;
    return FASTPAIR_OK;
}

uint32_t fp_flight_unit_end(const fp_flight *flight, uint32_t from) {
    uint32_t end = from + 1;
    while (end < flight->count && !flight->drafts[end - 1].rows.ends_unit) end++;
    return end;
}

/* ---------------------------------------------------------------- on several threads */

typedef struct flight_work {
    fp_draft *drafts; /* task i works on drafts[i] */
    fp_block *blocks;
    const fastpair_dictionary *model;
    const fp_numbering *numbering;
    const fp_settings *settings;
} flight_work;

static void parse_task(void *context, uint64_t i) {
    const flight_work *work = context;
    fp_draft_parse(&work->drafts[i], work->model, work->settings);
}

/* What the file says of a chunk's rows. */
static void look_at_rows(const fp_chunk_rows *rows, const fp_settings *settings, fp_block *block) {
    block->bounds = (fp_bounds){0};
    block->is_text = 1;
    for (uint64_t row = 0; settings->bound_bytes != FASTPAIR_NO_BOUNDS && row < rows->rows; row++)
        if (!rows->null_rows[row])
            fp_bounds_add(&block->bounds, rows->bytes + rows->offsets[row],
                          rows->offsets[row + 1] - rows->offsets[row]);
    if (settings->metadata.type != FASTPAIR_TYPE_DETECT) return;
    fastpair_rows view = {.rows = rows->rows, .bytes = rows->bytes, .offsets = rows->offsets};
    uint64_t byte;
    block->is_text = fp_rows_not_text(&view, &byte) == rows->rows;
}

static void build_task(void *context, uint64_t i) {
    const flight_work *work = context;
    fp_draft_build(&work->drafts[i], work->numbering, work->settings, &work->blocks[i]);
    look_at_rows(&work->drafts[i].rows, work->settings, &work->blocks[i]);
    fp_poll_work(work->settings->poll, fp_chunk_rows_bytes(&work->drafts[i].rows));
}

fastpair_status fp_flight_parse(fp_flight *flight, uint32_t end, const fastpair_dictionary *model,
                                const fp_settings *settings, fastpair_error *error) {
    if (end <= flight->parsed) return FASTPAIR_OK;
    uint32_t from = flight->parsed, to = end - from > flight->ahead ? end : from + flight->ahead;
    flight->parsed = to < flight->count ? to : flight->count;
    flight->ahead *= 2;
    flight_work work = {.drafts = flight->drafts + from, .model = model, .settings = settings};
    fp_parallel(settings->threads, flight->parsed - from, parse_task, &work);
    for (uint32_t i = from; i < flight->parsed; i++)
        if (flight->drafts[i].status) return fp_draft_failure(&flight->drafts[i], error);
    return FASTPAIR_OK;
}

void fp_flight_forget(fp_flight *flight, uint32_t from, uint32_t end) {
    flight->parsed = from;
    flight->ahead = end - from;
}

/* How many drafts to build at once: two per thread, and more if they are small, so that it is worth
 * starting threads. Blocks of tiny chunks are larger than their rows, so not all are there at
 * once. */
static uint32_t build_count(const fp_flight *flight, uint32_t end, uint32_t threads) {
    uint32_t least = threads == 1 ? 1 : 2 * threads, count = 0;
    uint64_t bytes = 0;
    while (flight->written + count < end && (count < least || bytes < threads * BUILD_BYTES))
        bytes += fp_chunk_rows_bytes(&flight->drafts[flight->written + count++].rows);
    return count;
}

fastpair_status fp_flight_build(fp_flight *flight, uint32_t end, const fp_numbering *numbering,
                                const fp_settings *settings, uint32_t *built,
                                fastpair_error *error) {
    const uint32_t count = build_count(flight, end, settings->threads);
    void *blocks = flight->blocks;
    fastpair_status status = reserve(&blocks, &flight->block_capacity, count,
                                     sizeof *flight->blocks, &settings->allocator, error);
    flight->blocks = blocks;
    *built = count;
    if (status) return status;
    flight_work work = {.drafts = flight->drafts + flight->written,
                        .blocks = flight->blocks,
                        .numbering = numbering,
                        .settings = settings};
    fp_parallel(settings->threads, count, build_task, &work);
    for (uint32_t i = 0; i < count; i++)
        if (flight->blocks[i].status)
            return fp_fail_memory(error, flight->blocks[i].chunk.block_bytes);
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- some drafts taken together */

fp_unit fp_flight_measure(const fp_flight *flight, uint32_t from, uint32_t to, fp_packing packing) {
    fp_unit unit = {0};
    for (uint32_t i = from; i < to; i++) {
        const fp_draft *draft = &flight->drafts[i];
        unit.bytes += fp_chunk_rows_bytes(&draft->rows);
        unit.codes += draft->parsed.codes;
        unit.saved += fp_draft_saving(draft, packing);
    }
    return unit;
}

fastpair_rows fp_flight_rows(const fp_flight *flight, uint32_t from, uint32_t to) {
    fastpair_rows rows = {.bytes = flight->drafts[from].rows.bytes,
                          .offsets = flight->drafts[from].rows.offsets};
    for (uint32_t i = from; i < to; i++) rows.rows += flight->drafts[i].rows.rows;
    return rows;
}
