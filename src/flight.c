/* flight.c - the chunks in flight. In: chunks, a model, a numbering. Out: parsed drafts, finished
 * blocks. The trick: decisions are made unit after unit, but drafts are parsed several at a time,
 * twice as many each time, as if nothing would change; if the model does change, later drafts are
 * parsed again. Refuses nothing but a lack of memory. */
#include "flight.h"

#include "threads.h"

#include <string.h>

void fp_flight_close(fp_flight *flight, const fastpair_allocator *allocator) {
    for (uint32_t i = 0; i < flight->capacity; i++) fp_draft_close(&flight->drafts[i], allocator);
    fp_release(allocator, flight->drafts);
    *flight = (fp_flight){0};
}

/* Makes room for `count` drafts; drafts that are there keep their buffers. */
static fastpair_status reserve(fp_flight *flight, uint32_t count,
                               const fastpair_allocator *allocator, fastpair_error *error) {
    if (count <= flight->capacity) return FASTPAIR_OK;
    uint64_t capacity = flight->capacity ? flight->capacity : 4;
    while (capacity < count) capacity *= 2;
    fp_draft *drafts = fp_allocate_zero(allocator, capacity, sizeof *drafts);
    if (!drafts) return fp_fail_memory(error, capacity * sizeof *drafts);
    if (flight->capacity) memcpy(drafts, flight->drafts, flight->capacity * sizeof *drafts);
    fp_release(allocator, flight->drafts);
    flight->drafts = drafts;
    flight->capacity = (uint32_t)capacity;
    return FASTPAIR_OK;
}

fastpair_status fp_flight_load(fp_flight *flight, const fp_cut_list *list,
                               const fastpair_allocator *allocator, fastpair_error *error) {
    fastpair_status status = reserve(flight, list->count, allocator, error);
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
    const fastpair_dictionary *model;
    const fp_numbering *numbering;
    const fp_settings *settings;
} flight_work;

static void parse_task(void *context, uint64_t i) {
    const flight_work *work = context;
    fp_draft_parse(&work->drafts[i], work->model, &work->settings->allocator);
}

static void build_task(void *context, uint64_t i) {
    const flight_work *work = context;
    const fp_settings *settings = work->settings;
    fp_draft_build(&work->drafts[i], work->numbering, settings->batch_codes, settings->alignment,
                   &settings->allocator);
}

/* The first failure in file order, so that the same input fails the same way. */
static fastpair_status first_failure(const fp_flight *flight, uint32_t from, uint32_t to,
                                     fastpair_error *error) {
    for (uint32_t i = from; i < to; i++)
        if (flight->drafts[i].status) {
            if (error) *error = flight->drafts[i].error;
            return flight->drafts[i].status;
        }
    return FASTPAIR_OK;
}

fastpair_status fp_flight_parse(fp_flight *flight, uint32_t end, const fastpair_dictionary *model,
                                const fp_settings *settings, fastpair_error *error) {
    if (end <= flight->parsed) return FASTPAIR_OK;
    uint32_t from = flight->parsed, to = end - from > flight->ahead ? end : from + flight->ahead;
    flight->parsed = to < flight->count ? to : flight->count;
    flight->ahead *= 2;
    flight_work work = {.drafts = flight->drafts + from, .model = model, .settings = settings};
    fp_parallel(settings->threads, flight->parsed - from, parse_task, &work);
    return first_failure(flight, from, flight->parsed, error);
}

void fp_flight_forget(fp_flight *flight, uint32_t from, uint32_t end) {
    flight->parsed = from;
    flight->ahead = end - from;
}

fastpair_status fp_flight_build(fp_flight *flight, uint32_t end, const fp_numbering *numbering,
                                const fp_settings *settings, fastpair_error *error) {
    uint32_t from = flight->written;
    flight_work work = {
        .drafts = flight->drafts + from, .numbering = numbering, .settings = settings};
    fp_parallel(settings->threads, end - from, build_task, &work);
    return first_failure(flight, from, end, error);
}

/* ---------------------------------------------------------------- some drafts taken together */

fp_unit fp_flight_measure(const fp_flight *flight, uint32_t from, uint32_t to, uint32_t code_bits,
                          uint32_t batch_codes) {
    fp_unit unit = {0};
    for (uint32_t i = from; i < to; i++) {
        const fp_draft *draft = &flight->drafts[i];
        unit.bytes += fp_chunk_rows_bytes(&draft->rows);
        unit.codes += draft->parsed.codes;
        unit.saved += fp_draft_saving(draft, code_bits, batch_codes);
    }
    return unit;
}

fastpair_rows fp_flight_rows(const fp_flight *flight, uint32_t from, uint32_t to) {
    fastpair_rows rows = {.bytes = flight->drafts[from].rows.bytes,
                          .offsets = flight->drafts[from].rows.offsets};
    for (uint32_t i = from; i < to; i++) rows.rows += flight->drafts[i].rows.rows;
    return rows;
}
