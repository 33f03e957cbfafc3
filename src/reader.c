/* reader.c - streaming decompression. In: a column file, front to back, from the caller's source.
 * Out: its rows, in order, a chunk or a part of a large chunk per call.
 *
 * The calling thread reads blocks, at least one chunk per thread where memory allows; then they are
 * checked and decoded in parallel, by threads that live as long as the reader and start when there
 * is work for them. Memory grows only as bytes really arrive, and never past the caller's limit.
 * Every chunk is validated, checksums included, before its rows are given, since nobody can go back
 * and do that later. Refuses what opening and validating refuse, a footer that does not repeat what
 * was read, bytes after the trailer, and chunks that cannot be held in memory. */
#include "reader_private.h"

#include "access.h"
#include "options.h"
#include "utf8.h"

/* Most chunks in a round, for each thread and in all: small chunks are gathered. */
#define CHUNKS_EACH 16u
#define MOST_CHUNKS 1024u

/* Checks all of a chunk. One that was cold has been looked at as it was. */
static fastpair_status check_held(const fp_held_chunk *held, fastpair_error *error) {
    fp_chunk_view view = fp_held_view(held);
    fastpair_status status =
        held->chunk.was_cold ? FASTPAIR_OK : fp_chunk_validate_block(&view, error);
    return status ? status : fp_chunk_validate_rows(&view, error);
}

/* What the footer may say of a part's rows. Bounds and type come after all rows, so they are taken
 * down whether or not the file has them. */
static void look_at_rows(fp_part *part, const fp_chunk_view *view) {
    const uint64_t *offsets = (const uint64_t *)(const void *)part->offsets.data;
    const uint8_t *bytes = fp_part_bytes_of(part);
    fastpair_rows rows = {.rows = part->rows, .bytes = bytes, .offsets = offsets};
    uint64_t byte;
    part->is_text = fp_rows_not_text(&rows, &byte) == part->rows;
    part->bounds = (fp_bounds){0};
    for (uint64_t i = 0; i < part->rows; i++)
        if (!fp_chunk_row_is_null(view, part->first_row + i))
            fp_bounds_add(&part->bounds, bytes + offsets[i], offsets[i + 1] - offsets[i]);
}

/* Checks a chunk that is given whole, and decodes the rows of a part. Needs memory only for tables
 * of a dictionary that is used first here. */
static void decode_part(void *context, uint64_t i) {
    fp_part *part = (fp_part *)context + i;
    const fp_chunk *chunk = &part->of->chunk;
    fp_chunk_view view = fp_held_view(part->of);
    if (part->rows == chunk->rows) part->status = check_held(part->of, &part->error);
    if (!part->status && chunk->coded) {
        fp_batch_cache cache; /* of batches that the part's ends cut */
        fp_batch_cache_empty(&cache);
        part->status = fp_chunk_decode_bytes(&view, part->first_byte, part->end_byte,
                                             part->bytes.data, &cache, &part->error);
    }
    uint64_t *offsets = (uint64_t *)(void *)part->offsets.data, end = part->first_row + part->rows;
    for (uint64_t row = part->first_row; row < end && !part->status;) {
        uint64_t starts[FP_LENGTH_BLOCK + 1];
        uint32_t rows, skip = (uint32_t)(row % FP_LENGTH_BLOCK);
        part->status =
            fp_chunk_row_starts(&view, row / FP_LENGTH_BLOCK, starts, &rows, &part->error);
        if (part->status) return;
        uint64_t take = rows - skip < end - row ? rows - skip : end - row;
        for (uint64_t k = 0; k <= take; k++)
            offsets[row - part->first_row + k] = starts[skip + k] - part->first_byte;
        row += take;
    }
    if (!part->status) look_at_rows(part, &view);
}

static fastpair_status start_reading(fastpair_reader *reader, fastpair_error *error) {
    const fastpair_allocator *allocator = &reader->settings.allocator;
    fp_round *round = &reader->round;
    uint32_t threads = reader->settings.threads, room = threads;
    if (threads > 1)
        room = threads > MOST_CHUNKS / CHUNKS_EACH ? MOST_CHUNKS : threads * CHUNKS_EACH;
    round->chunks = fp_allocate_zero(allocator, room, sizeof *round->chunks);
    round->parts = fp_allocate_zero(allocator, room, sizeof *round->parts);
    if (!round->chunks || !round->parts) return fp_fail_memory(error, room * sizeof *round->parts);
    round->room = room;
    uint8_t header[FP_FILE_HEADER];
    fastpair_status status = fp_reader_get(reader, header, sizeof header, "the file header", error);
    return status ? status : fp_file_header_read(header, &reader->file, error);
}

fastpair_status fastpair_reader_open(const fastpair_source *source,
                                     const fastpair_open_options *options, fastpair_reader **reader,
                                     fastpair_error *error) {
    if (reader) *reader = NULL;
    if (!reader || !source || !source->read)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_reader_open: reader, source and its read must not be NULL");
    fp_open_settings settings;
    fastpair_status status = fp_open_settings_resolve(options, &settings, error);
    if (status) return status;
    if (settings.memory_limit < sizeof(fastpair_reader))
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "memory_limit is less than a reader takes; allow more (--memory of the "
                       "command)");
    fastpair_reader *opened = fp_allocate_zero(&settings.allocator, 1, sizeof *opened);
    if (!opened) return fp_fail_memory(error, sizeof *opened);
    opened->source = *source;
    opened->meter.base = settings.allocator;
    opened->meter.limit = settings.memory_limit;
    atomic_init(&opened->meter.used, sizeof *opened);
    opened->settings = settings;
    opened->settings.allocator = fp_meter_hooks(&opened->meter);
    fp_pool_open(&opened->pool, settings.threads);
    status = fp_reader_judge(opened, start_reading(opened, error), error);
    if (status) {
        fastpair_reader_close(opened);
        return status;
    }
    *reader = opened;
    return FASTPAIR_OK;
}

/* Reads and decodes the next round, if there is one. What fails comes after the parts that are
 * filled. */
static void next_round(fastpair_reader *reader) {
    fp_round *round = &reader->round;
    fastpair_error *error = &reader->failure;
    fastpair_status status = FASTPAIR_OK;
    round->next = round->filled = 0;
    atomic_store_explicit(&reader->meter.refused, 0, memory_order_relaxed);
    if (!round->cutting) {
        if (reader->at_footer) return;
        status = fp_reader_read_ahead(reader, error);
        if (round->cutting) {
            if (!status) status = check_held(&round->chunks[0], error);
        } else {
            round->filled = round->held;
        }
    }
    if (round->cutting && !status) status = fp_reader_cut(reader, error);
    reader->failed = fp_reader_judge(reader, status, error);
    uint64_t work = 0;
    for (uint32_t i = 0; i < round->filled; i++)
        work += fp_column_work(round->parts[i].end_byte - round->parts[i].first_byte,
                               round->parts[i].rows);
    fp_pool_run(&reader->pool, fp_threads_for(reader->settings.threads, work), round->filled,
                decode_part, round->parts);
}

static void show_part(const fp_part *part, fastpair_rows *rows) {
    const fp_chunk *chunk = &part->of->chunk;
    const uint8_t *block = part->of->block.data;
    rows->rows = part->rows;
    rows->bytes = fp_part_bytes_of(part);
    rows->offsets = part->offsets.data;
    rows->offset_bits = 64;
    if (!chunk->has_validity) return;
    rows->validity = fp_chunk_section(chunk, block, FP_SECTION_VALIDITY) + part->first_row / 8;
    rows->validity_bit_offset = part->first_row % 8;
}

fastpair_status fastpair_reader_next(fastpair_reader *reader, fastpair_rows *rows, int *at_end,
                                     fastpair_error *error) {
    fastpair_rows none = {0};
    if (at_end) *at_end = 0;
    fastpair_status status =
        rows ? fp_info_copy("rows", &none, sizeof none, rows, error) : FASTPAIR_OK;
    if (status) return status;
    if (!reader || !rows || !at_end)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_reader_next: reader, rows and at_end must not be NULL");
    fp_round *round = &reader->round;
    if (round->next == round->filled && !reader->failed) next_round(reader);
    if (round->next == round->filled && !reader->failed && !reader->at_end)
        reader->failed =
            fp_reader_judge(reader, fp_reader_read_end(reader, &reader->failure), &reader->failure);
    if (round->next < round->filled) {
        fp_part *part = &round->parts[round->next];
        if (!part->status) {
            fp_reader_note_part(reader, part);
            show_part(part, rows);
            round->next++;
            return FASTPAIR_OK;
        }
        reader->failure = part->error; /* stays, and so do all later chunks */
        reader->failed = fp_reader_judge(reader, part->status, &reader->failure);
        round->next = round->filled;
    }
    if (reader->failed) {
        if (error) *error = reader->failure;
        return reader->failed;
    }
    *at_end = 1;
    return FASTPAIR_OK;
}

fastpair_status fastpair_reader_get_framing(const fastpair_reader *reader, int *has_framing,
                                            uint8_t *separator, int *final_separator,
                                            fastpair_error *error) {
    if (has_framing) *has_framing = 0;
    if (separator) *separator = 0;
    if (final_separator) *final_separator = 0;
    if (!reader || !has_framing || !separator || !final_separator)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_reader_get_framing: no argument but error may be NULL");
    *has_framing = reader->file.has_framing;
    if (!*has_framing) return FASTPAIR_OK;
    *separator = reader->file.separator;
    *final_separator = reader->at_end ? reader->seen.totals.final_separator : 1;
    return FASTPAIR_OK;
}

void fastpair_reader_close(fastpair_reader *reader) {
    if (!reader) return;
    const fastpair_allocator *allocator = &reader->settings.allocator;
    fastpair_allocator base = reader->meter.base;
    fp_pool_close(&reader->pool);
    for (uint64_t i = 0; i < reader->seen.totals.dictionaries; i++) {
        fp_column_dict_close(reader->dictionaries.list[i]);
        fp_release(allocator, reader->dictionaries.list[i]);
    }
    fp_release(allocator, reader->dictionaries.list);
    fp_buffer_close(&reader->dictionaries.code_bits, allocator);
    fp_buffer_close(&reader->seen.chunk_entries, allocator);
    fp_buffer_close(&reader->scratch, allocator);
    fp_reader_release(reader, 0);
    fp_release(allocator, reader->round.chunks);
    fp_release(allocator, reader->round.parts);
    fp_release(&base, reader);
}
