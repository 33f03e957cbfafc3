/* reader_memory.c - what the streaming reader holds at once. In: chunk headers, and the caller's
 * limit. Out: chunks that are read whole beside others, or alone and in parts.
 *
 * The trick: every allocation of a reader goes through a meter, so no file can make it pass the
 * limit; the estimates here only decide what to try. A chunk's block must be held whole, since its
 * checksums come first. What it decodes to, up to 512 times as much, need not be. Refuses, with
 * LIMIT, chunks whose block and rows that do not fit. */
#include "reader_private.h"

#include <inttypes.h>

/* Left free while more than one chunk is held: for a dictionary, and entries of chunks. */
#define SPARE_BYTES (8u << 20)
/* Left free in any case: pages of the allocator's, entries. */
#define LEAST_SPARE (64u << 10)
/* A part of a large chunk: decoded bytes and offsets. Larger ones decode no faster. */
#define PART_BYTES (16u << 20)

/* ---------------------------------------------------------------- the meter */

#define METER_HEAD 16u /* before each block: its size */

static void *meter_allocate(void *context, size_t size) {
    fp_meter *meter = context;
    uint64_t used = atomic_load_explicit(&meter->used, memory_order_relaxed), all;
    if (__builtin_add_overflow(size, METER_HEAD, &all)) return NULL;
    do {
        if (used > meter->limit || all > meter->limit - used) {
            atomic_store_explicit(&meter->refused, 1, memory_order_relaxed);
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&meter->used, &used, used + all,
                                                    memory_order_relaxed, memory_order_relaxed));
    uint8_t *block = meter->base.allocate(meter->base.context, (size_t)all);
    if (!block) {
        atomic_fetch_sub_explicit(&meter->used, all, memory_order_relaxed);
        return NULL;
    }
    fp_store64(block, all);
    return block + METER_HEAD;
}

static void meter_release(void *context, void *memory) {
    fp_meter *meter = context;
    uint8_t *block = (uint8_t *)memory - METER_HEAD;
    atomic_fetch_sub_explicit(&meter->used, fp_load64(block), memory_order_relaxed);
    meter->base.release(meter->base.context, block);
}

fastpair_allocator fp_meter_hooks(fp_meter *meter) {
    return (fastpair_allocator){meter_allocate, meter_release, meter};
}

static uint64_t left(const fastpair_reader *reader) {
    uint64_t used = atomic_load_explicit(&reader->meter.used, memory_order_relaxed);
    return used < reader->meter.limit ? reader->meter.limit - used : 0;
}

fastpair_status fp_reader_judge(fastpair_reader *reader, fastpair_status status,
                                fastpair_error *error) {
    if (status != FASTPAIR_ERROR_OUT_OF_MEMORY ||
        !atomic_load_explicit(&reader->meter.refused, memory_order_relaxed))
        return status;
    return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                   "reading takes more than %" PRIu64
                   " bytes of memory; allow more with memory_limit (--memory of the command)",
                   reader->meter.limit);
}

/* ---------------------------------------------------------------- what fits */

static void drop_tables(fastpair_reader *reader, const fp_column_dict *but) {
    for (uint64_t i = 0; i < reader->seen.totals.dictionaries; i++)
        if (reader->dictionaries.list[i] != but)
            fp_column_dict_drop_tables(reader->dictionaries.list[i]);
}

void fp_reader_release(fastpair_reader *reader, uint32_t first) {
    const fastpair_allocator *allocator = &reader->settings.allocator;
    for (uint32_t i = first; i < reader->round.room; i++) {
        fp_buffer_close(&reader->round.chunks[i].block, allocator);
        fp_buffer_close(&reader->round.parts[i].bytes, allocator);
        fp_buffer_close(&reader->round.parts[i].offsets, allocator);
    }
}

/* A little more than asked for, since the next chunk may be a little larger. */
static uint64_t with_slack(uint64_t size) { return size + size / 32 + METER_HEAD; }

/* What a buffer takes besides what it holds. */
static uint64_t growth(const fp_buffer *buffer, uint64_t size) {
    return size > buffer->capacity ? with_slack(size) - buffer->capacity : 0;
}

/* The block grows by copying, from a quarter of its size or one piece at last. */
static uint64_t block_growth(const fp_held_chunk *held) {
    uint64_t size = held->chunk.block_bytes, before = size / 4 + METER_HEAD;
    if (size <= held->block.capacity) return 0;
    if (before < FP_PIECE_BYTES) before = size < FP_PIECE_BYTES ? 0 : FP_PIECE_BYTES;
    return size + METER_HEAD + before;
}

static uint64_t offset_bytes(uint64_t rows) { return (rows + 1) * sizeof(uint64_t); }

/* The chunk's block, the warm one beside it, and the dictionary's tables if they are not there. */
static uint64_t base_need(const fp_held_chunk *held) {
    uint64_t tables = held->dictionary ? fp_column_dict_missing_bytes(held->dictionary) : 0;
    uint32_t bits = held->dictionary ? held->dictionary->dict.code_bits : 0;
    return block_growth(held) + tables + (held->chunk.cold ? fp_warm_peak(&held->chunk, bits) : 0);
}

static int fits_whole(const fastpair_reader *reader, const fp_held_chunk *held) {
    const fp_part *part = &reader->round.parts[reader->round.held];
    uint64_t need = base_need(held) + growth(&part->offsets, offset_bytes(held->chunk.rows)) +
                    (held->chunk.coded ? growth(&part->bytes, held->chunk.decoded_bytes) : 0);
    return need + (reader->round.held ? SPARE_BYTES : LEAST_SPARE) <= left(reader);
}

fp_fit fp_reader_fit(fastpair_reader *reader) {
    fp_held_chunk *held = &reader->round.chunks[reader->round.held];
    if (fits_whole(reader, held)) return FP_FITS_WHOLE;
    fp_reader_release(reader, reader->round.held + 1);
    if (fits_whole(reader, held)) return FP_FITS_WHOLE;
    if (reader->round.held) return FP_FITS_LATER;
    drop_tables(reader, held->dictionary);
    if (fits_whole(reader, held)) return FP_FITS_WHOLE;
    fp_buffer_close(&reader->round.parts[0].bytes, &reader->settings.allocator);
    fp_buffer_close(&reader->round.parts[0].offsets, &reader->settings.allocator);
    /* The header, which is in the block's buffer, has been parsed. */
    return base_need(held) + 2 * LEAST_SPARE <= left(reader) ? FP_FITS_IN_PARTS : FP_FITS_NEVER;
}

void fp_reader_make_room(fastpair_reader *reader, uint64_t bytes) {
    if (left(reader) >= bytes) return;
    fp_reader_release(reader, reader->round.held);
    if (!reader->round.held) drop_tables(reader, NULL);
}

int fp_reader_may_go_on(const fastpair_reader *reader) {
    return !reader->round.held || left(reader) >= SPARE_BYTES;
}

fastpair_status fp_reader_make_warm(fastpair_reader *reader, fp_held_chunk *held,
                                    fastpair_error *error) {
    const fastpair_allocator *allocator = &reader->settings.allocator;
    fp_chunk_view cold = fp_held_view(held);
    fp_warm warm;
    fastpair_status status = fp_chunk_validate_block(&cold, error);
    if (!status) status = fp_warm_open(&cold, allocator, &warm, error);
    if (status) return status;
    fp_buffer_close(&held->block, allocator);
    held->chunk = warm.chunk;
    held->block = (fp_buffer){warm.block, warm.chunk.block_bytes, warm.chunk.block_bytes};
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- parts */

fastpair_status fp_reader_room(fastpair_reader *reader, fp_buffer *buffer, uint64_t size,
                               fastpair_error *error) {
    const fastpair_allocator *allocator = &reader->settings.allocator;
    buffer->size = 0;
    if (size <= buffer->capacity) return FASTPAIR_OK;
    fp_buffer_close(buffer, allocator);
    uint64_t capacity = with_slack(size);
    buffer->data = fp_allocate(allocator, capacity, 1);
    if (!buffer->data) buffer->data = fp_allocate(allocator, capacity = size, 1);
    if (!buffer->data) return fp_fail_memory(error, size);
    buffer->capacity = capacity;
    return FASTPAIR_OK;
}

fastpair_status fp_part_open(fastpair_reader *reader, fp_part *part, fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    part->status = FASTPAIR_OK;
    if (part->of->chunk.coded)
        status = fp_reader_room(reader, &part->bytes, part->end_byte - part->first_byte, error);
    return status ? status
                  : fp_reader_room(reader, &part->offsets, offset_bytes(part->rows), error);
}

/* Cuts rows from `first` on, which take at most `most` bytes with their offsets, but at least one
 * row. Returns what they take. */
static fastpair_status cut_part(const fp_held_chunk *held, uint64_t first, uint64_t most,
                                fp_part *part, uint64_t *takes, fastpair_error *error) {
    fp_chunk_view view = fp_held_view(held);
    uint64_t row = first, from = 0, end = 0;
    *takes = 0;
    for (int full = 0; !full && row < held->chunk.rows;) {
        uint64_t starts[FP_LENGTH_BLOCK + 1];
        uint32_t rows;
        fastpair_status status =
            fp_chunk_row_starts(&view, row / FP_LENGTH_BLOCK, starts, &rows, error);
        if (status) return status;
        uint32_t i = (uint32_t)(row % FP_LENGTH_BLOCK);
        if (row == first) from = starts[i];
        for (; i < rows && !full; i++) {
            uint64_t with = (held->chunk.coded ? with_slack(starts[i + 1] - from) : 0) +
                            with_slack(offset_bytes(row + 1 - first));
            if (row > first && with > most) {
                full = 1;
            } else {
                *takes = with;
                end = starts[i + 1];
                row++;
            }
        }
    }
    part->of = held;
    part->first_row = first;
    part->rows = row - first;
    part->first_byte = from;
    part->end_byte = end;
    return FASTPAIR_OK;
}

fastpair_status fp_reader_cut(fastpair_reader *reader, fastpair_error *error) {
    fp_round *round = &reader->round;
    const fp_held_chunk *held = &round->chunks[0];
    fp_buffer block = held->block;
    round->chunks[0].block = (fp_buffer){0}; /* which stays */
    fp_reader_release(reader, 0);
    round->chunks[0].block = block;
    uint64_t missing = held->dictionary ? fp_column_dict_missing_bytes(held->dictionary) : 0;
    uint64_t spare = left(reader), share;
    spare = spare > missing + LEAST_SPARE ? spare - missing - LEAST_SPARE : 0;
    share = spare / reader->settings.threads;
    if (share > PART_BYTES) share = PART_BYTES;
    if (share < LEAST_SPARE) share = spare < LEAST_SPARE ? spare : LEAST_SPARE;
    while (round->filled < round->room && round->filled < reader->settings.threads &&
           round->next_row < held->chunk.rows) {
        fp_part *part = &round->parts[round->filled];
        uint64_t takes;
        fastpair_status status = cut_part(held, round->next_row, share, part, &takes, error);
        if (status) return status;
        if (takes > spare && round->filled) break; /* alone in the next round */
        if (takes > spare)
            return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                           "chunk %" PRIu64 ": a row takes %" PRIu64
                           " bytes and memory for %" PRIu64
                           " is left; allow more with memory_limit (--memory of the command)",
                           held->number, takes, spare);
        if ((status = fp_part_open(reader, part, error))) return status;
        spare -= takes;
        round->next_row += part->rows;
        round->filled++;
    }
    round->cutting = round->next_row < held->chunk.rows;
    return FASTPAIR_OK;
}
