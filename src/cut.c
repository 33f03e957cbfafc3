/* cut.c - rows on their way into a writer. In: the caller's rows, in any number of calls. Out: the
 * same rows in one buffer, listed as chunks by a rule that sees only the rows. Null rows lose their
 * bytes here, once and for all. Refuses nothing but a lack of memory. */
#include "cut.h"

#include "parse.h"
#include "rows.h"
#include "sample.h"

#include <string.h>

/* Chunks that one list has at most, whatever the number of threads: they bound the memory. */
#define MAX_LISTED 32u
/* A unit has about UNIT_BYTES, or sample_bytes if that is less. */
#define UNIT_BYTES (8u << 20)
/* What a stream waits for before it trains, unless sample_bytes says otherwise. */
#define FIRST_BYTES (32u << 20)

/* ---------------------------------------------------------------- rules */

static uint64_t unit_bytes(const fp_settings *settings) {
    uint64_t bytes = settings->sample_bytes && settings->sample_bytes < UNIT_BYTES
                         ? settings->sample_bytes
                         : UNIT_BYTES;
    return bytes > settings->chunk_bytes ? bytes : settings->chunk_bytes;
}

uint64_t fp_cut_first_bytes(const fp_settings *settings) {
    uint64_t sample = settings->sample_bytes, bytes = FIRST_BYTES, unit = unit_bytes(settings);
    if (!sample)
        sample =
            fp_sample_default(settings->choice.codec, settings->choice.code_bits, settings->level);
    if (settings->sample_bytes || bytes < sample) bytes = sample;
    /* Two units' worth always holds a complete unit. */
    return bytes > 2 * unit ? bytes : 2 * unit;
}

static uint32_t units_at_once(const fp_settings *settings) {
    uint64_t chunks = settings->threads == 1 ? 1 : 2 * settings->threads;
    if (chunks > MAX_LISTED) chunks = MAX_LISTED;
    uint64_t units = chunks * settings->chunk_bytes / unit_bytes(settings);
    return units ? (uint32_t)units : 1;
}

void fp_cut_open(fp_cut *cut, const fp_settings *settings) {
    *cut = (fp_cut){.allocator = settings->allocator,
                    .rules = {.chunk_bytes = settings->chunk_bytes,
                              .unit_bytes = unit_bytes(settings),
                              .first_bytes = fp_cut_first_bytes(settings),
                              .units = units_at_once(settings)}};
}

void fp_cut_close(fp_cut *cut) {
    fp_buffer_close(&cut->bytes, &cut->allocator);
    fp_buffer_close(&cut->offsets, &cut->allocator);
    fp_buffer_close(&cut->null_rows, &cut->allocator);
    fp_buffer_close(&cut->chunks, &cut->allocator);
    cut->rows = 0;
}

/* ---------------------------------------------------------------- rows in */

static const uint64_t *offsets_of(const fp_cut *cut) {
    return (const uint64_t *)(const void *)cut->offsets.data;
}

/* Bytes that must wait: enough for a list, and past its last complete chunk there is less than a
 * chunk. */
static uint64_t wanted_bytes(const fp_cut *cut) {
    const fp_cut_rules *rules = &cut->rules;
    return cut->started ? rules->units * rules->unit_bytes + rules->chunk_bytes
                        : rules->first_bytes;
}

uint64_t fp_cut_bytes(const fp_cut *cut) { return cut->rows ? offsets_of(cut)[cut->rows] : 0; }

int fp_cut_is_full(const fp_cut *cut) {
    return fp_cut_bytes(cut) >= wanted_bytes(cut) || cut->rows >= FP_WAITING_ROWS;
}

/* How many rows from `first` on are valid and come before the most bytes are reached; at least 1 if
 * row `first` is valid. */
static uint64_t valid_stretch(const fastpair_rows *rows, uint64_t first, uint64_t most_rows,
                              uint64_t most_bytes) {
    uint64_t row = first;
    while (row < rows->rows && row - first < most_rows && !fp_row_is_null(rows, row)) {
        row++;
        if (fp_row_start(rows, row) - fp_row_start(rows, first) >= most_bytes) break;
    }
    return row - first;
}

/* Empties the buffers and writes the first offset. */
static fastpair_status start_over(fp_cut *cut, fastpair_error *error) {
    cut->bytes.size = cut->null_rows.size = cut->offsets.size = 0;
    fastpair_status status =
        fp_buffer_reserve(&cut->offsets, &cut->allocator, sizeof(uint64_t), error);
    if (status) return status;
    memset(cut->offsets.data, 0, sizeof(uint64_t));
    cut->offsets.size = sizeof(uint64_t);
    return FASTPAIR_OK;
}

/* Appends `count` rows from `row` on, all valid, or one null row. */
static fastpair_status append(fp_cut *cut, const fastpair_rows *rows, uint64_t row, uint64_t count,
                              int null, fastpair_error *error) {
    const fastpair_allocator *allocator = &cut->allocator;
    fastpair_status status;
    uint64_t start = cut->bytes.size, base = fp_row_start(rows, row),
             size = null ? 0 : fp_row_start(rows, row + count) - base;
    if ((status = fp_buffer_reserve(&cut->bytes, allocator, size + FP_SLACK, error)) ||
        (status = fp_buffer_reserve(&cut->offsets, allocator, count * sizeof(uint64_t), error)) ||
        (status = fp_buffer_reserve(&cut->null_rows, allocator, count, error)))
        return status;
    if (size) memcpy(cut->bytes.data + start, rows->bytes + base, (size_t)size);
    memset(cut->bytes.data + start + size, 0, FP_SLACK);
    memset(cut->null_rows.data + cut->rows, null, (size_t)count);
    uint64_t *offsets = (uint64_t *)(void *)cut->offsets.data + cut->rows;
    for (uint64_t i = 1; i <= count; i++)
        offsets[i] = null ? start : start + (fp_row_start(rows, row + i) - base);
    cut->bytes.size += size;
    cut->offsets.size += count * sizeof(uint64_t);
    cut->null_rows.size += count;
    cut->rows += count;
    return FASTPAIR_OK;
}

fastpair_status fp_cut_take(fp_cut *cut, const fastpair_rows *rows, uint64_t first, uint64_t *next,
                            fastpair_error *error) {
    const uint64_t wanted = wanted_bytes(cut);
    uint64_t row = first;
    fastpair_status status = cut->rows ? FASTPAIR_OK : start_over(cut, error);
    while (!status && row < rows->rows && !fp_cut_is_full(cut)) {
        int null = fp_row_is_null(rows, row);
        uint64_t count =
            null ? 1
                 : valid_stretch(rows, row, FP_WAITING_ROWS - cut->rows, wanted - cut->bytes.size);
        status = append(cut, rows, row, count, null, error);
        row += count;
    }
    *next = row;
    return status;
}

fastpair_rows fp_cut_rows(const fp_cut *cut) {
    return (fastpair_rows){.rows = cut->rows, .bytes = cut->bytes.data, .offsets = offsets_of(cut)};
}

/* ---------------------------------------------------------------- chunks out */

/* The end of the chunk that begins at row `first`. A chunk is complete once it has chunk_bytes
 * decoded bytes or FP_CHUNK_ROWS rows, or when the next row would take it past chunk_bytes. If it
 * is not, the rows ended first, and more may join. */
static uint64_t chunk_end(const fp_cut *cut, uint64_t first, int *is_complete) {
    const uint64_t *offsets = offsets_of(cut), chunk_bytes = cut->rules.chunk_bytes;
    uint64_t row = first;
    *is_complete = 0;
    while (row < cut->rows) {
        uint64_t bytes = offsets[row] - offsets[first];
        *is_complete = row > first && (row - first >= FP_CHUNK_ROWS || bytes >= chunk_bytes ||
                                       offsets[row + 1] - offsets[first] > chunk_bytes);
        if (*is_complete) return row;
        row++;
    }
    *is_complete = row - first >= FP_CHUNK_ROWS || offsets[row] - offsets[first] >= chunk_bytes;
    return row;
}

static fp_chunk_rows chunk_of(const fp_cut *cut, uint64_t first, uint64_t end) {
    fp_chunk_rows chunk = {.bytes = cut->bytes.data,
                           .offsets = offsets_of(cut) + first,
                           .null_rows = cut->null_rows.data + first,
                           .rows = end - first};
    for (uint64_t row = 0; row < chunk.rows; row++) chunk.nulls += chunk.null_rows[row];
    return chunk;
}

fastpair_status fp_cut_next(fp_cut *cut, int last, fp_cut_list *list, fastpair_error *error) {
    const fp_cut_rules *rules = &cut->rules;
    const uint32_t most_units = cut->started ? rules->units : UINT32_MAX;
    uint64_t row = 0, bytes = 0; /* bytes: of the unit so far */
    uint32_t count = 0, units = 0;
    *list = (fp_cut_list){.is_first = !cut->started};
    cut->chunks.size = 0;
    while (units < most_units && row < cut->rows) {
        int is_complete;
        uint64_t end = chunk_end(cut, row, &is_complete);
        if (!is_complete && !last) break;
        fastpair_status status =
            fp_buffer_reserve(&cut->chunks, &cut->allocator, sizeof(fp_chunk_rows), error);
        if (status) return status;
        fp_chunk_rows chunk = chunk_of(cut, row, end);
        row = end;
        count++;
        bytes += fp_chunk_rows_bytes(&chunk);
        chunk.ends_unit = bytes + rules->chunk_bytes / 2 >= rules->unit_bytes ||
                          row - list->rows >= FP_UNIT_ROWS || (last && row == cut->rows);
        memcpy(cut->chunks.data + cut->chunks.size, &chunk, sizeof chunk);
        cut->chunks.size += sizeof chunk;
        if (!chunk.ends_unit) continue;
        bytes = 0;
        units++;
        list->count = count;
        list->rows = row;
    }
    list->chunks = (const fp_chunk_rows *)(const void *)cut->chunks.data;
    list->is_whole = list->is_first && last && list->rows == cut->rows;
    return FASTPAIR_OK;
}

void fp_cut_drop(fp_cut *cut, uint64_t rows) {
    uint64_t *offsets = (uint64_t *)(void *)cut->offsets.data;
    uint64_t base = offsets[rows], left = cut->rows - rows;
    memmove(cut->bytes.data, cut->bytes.data + base, (size_t)(cut->bytes.size - base));
    memmove(cut->null_rows.data, cut->null_rows.data + rows, (size_t)left);
    for (uint64_t i = 0; i <= left; i++) offsets[i] = offsets[rows + i] - base;
    cut->bytes.size -= base;
    memset(cut->bytes.data + cut->bytes.size, 0, FP_SLACK);
    cut->offsets.size = (left + 1) * sizeof(uint64_t);
    cut->null_rows.size = left;
    cut->rows = left;
    cut->started = 1;
}
