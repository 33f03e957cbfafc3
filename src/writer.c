/* writer.c - streaming compression. In: rows, in any number of calls. Out: a column file, front to back, through the
 * caller's sink. Rows wait until a unit of chunks is full (at first: until there is enough to train on), then a group of units is
 * parsed on all threads, decided by adapt.c, built on all threads and written. Refuses rows of 4 GiB and more. */
#include "writer_private.h"

#include "rows.h"
#include "threads.h"

#include <string.h>

/* Chunks in flight at most, whatever the number of threads: they bound the memory. */
#define MOST_GROUP 32u
/* Chunks are decided on in units of about this many bytes (of sample_bytes if that is less), so that small chunks are
 * trained for like large ones; or of so many rows, as a full `pending` must hold a unit; or of so many chunks, as each has
 * tables of its own. */
#define UNIT_BYTES  (8u << 20)
#define UNIT_ROWS   (2u * FP_CHUNK_ROWS)
#define UNIT_CHUNKS 128u
/* What a stream waits for before it trains, unless sample_bytes says otherwise; and with an automatic codec. */
#define FIRST_BYTES      (16u << 20)
#define FIRST_BYTES_AUTO (32u << 20)

static uint64_t least_unit(const fp_settings *settings) {
    uint64_t bytes = settings->sample_bytes && settings->sample_bytes < UNIT_BYTES
                         ? settings->sample_bytes
                         : UNIT_BYTES;
    return bytes > settings->chunk_bytes ? bytes : settings->chunk_bytes;
}

static uint64_t first_group_bytes(const fp_settings *settings) {
    uint64_t sample = settings->sample_bytes, least = FIRST_BYTES, unit = least_unit(settings);
    if (settings->choice.codec == FASTPAIR_CODEC_AUTO) least = FIRST_BYTES_AUTO;
    if (!sample) sample = fp_sample_default(settings->choice.codec, settings->choice.code_bits);
    if (settings->sample_bytes || least < sample) least = sample;
    return least > 2 * unit ? least
                            : 2 * unit; /* two units' worth always holds one that is closed */
}

static uint32_t group_units(const fp_settings *settings) {
    uint64_t chunks = settings->threads == 1 ? 1 : 2 * settings->threads;
    if (chunks > MOST_GROUP) chunks = MOST_GROUP;
    uint64_t units = chunks * settings->chunk_bytes / least_unit(settings);
    return units ? (uint32_t)units : 1;
}

/* Bytes that hold a group: what lies behind its last closed chunk is less than a chunk. */
static uint64_t target_bytes(const fastpair_writer *writer) {
    const fp_settings *settings = &writer->settings;
    return writer->footer.chunks
               ? group_units(settings) * least_unit(settings) + settings->chunk_bytes
               : first_group_bytes(settings);
}

/* ---------------------------------------------------------------- bytes out */

static fastpair_status put(fastpair_writer *writer, const void *data, uint64_t size,
                           fastpair_error *error) {
    int reason = writer->sink.write(writer->sink.context, data, (size_t)size);
    if (reason)
        return fp_fail(error, FASTPAIR_ERROR_IO, writer->position,
                       "writing %llu bytes at offset %llu failed: %s", (unsigned long long)size,
                       (unsigned long long)writer->position, strerror(reason));
    writer->position += size;
    return FASTPAIR_OK;
}

static fastpair_status put_zeros(fastpair_writer *writer, uint64_t count, fastpair_error *error) {
    static const uint8_t zeros[4096];
    return count ? put(writer, zeros, count, error) : FASTPAIR_OK;
}

static fastpair_status put_header(fastpair_writer *writer, fastpair_error *error) {
    if (writer->header_written) return FASTPAIR_OK;
    writer->header_written = 1;
    fp_file_header header = {writer->settings.alignment, writer->has_framing, writer->separator};
    uint8_t bytes[FP_FILE_HEADER];
    fp_file_header_write(&header, bytes);
    fastpair_status status = put(writer, bytes, sizeof bytes, error);
    return status ? status
                  : put_zeros(writer, fp_first_block(writer->settings.alignment) - sizeof bytes,
                              error);
}

fastpair_status fp_writer_emit_dictionary(fastpair_writer *writer, fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    fp_numbering *numbering = writer->regimes.present.numbering;
    uint64_t size = fp_dict_block_size(&numbering->dict, settings->alignment);
    fastpair_status status = put_header(writer, error);
    if (!status)
        status = fp_buffer_reserve(&writer->dict_entries, &settings->allocator,
                                   sizeof(fp_dict_entry), error);
    if (status) return status;
    uint8_t *block = fp_allocate(&settings->allocator, size, 1);
    if (!block) return fp_fail_memory(error, size);
    fp_dict_write(&numbering->dict, settings->alignment, block);
    memset(writer->regimes.present.used, 0, FP_MAX_TOKENS);
    fp_dict_entry entry = {.position = writer->position, .block_bytes = size};
    memcpy(writer->dict_entries.data + writer->dict_entries.size, &entry, sizeof entry);
    writer->dict_entries.size += sizeof entry;
    numbering->number = (uint32_t)writer->footer.dictionaries++;
    status = put(writer, block, size, error);
    fp_release(&settings->allocator, block);
    return status;
}

/* ---------------------------------------------------------------- groups of chunks */

typedef struct group_work {
    fastpair_writer *writer;
    uint32_t from;
} group_work;

static void parse_task(void *context, uint64_t i) {
    group_work *work = context;
    fp_job_parse(&work->writer->jobs[work->from + i], fp_writer_model(work->writer),
                 &work->writer->settings.allocator);
}

static void build_task(void *context, uint64_t i) {
    group_work *work = context;
    const fp_settings *settings = &work->writer->settings;
    fp_job_build(&work->writer->jobs[work->from + i], work->writer->regimes.present.numbering,
                 settings->batch_codes, settings->alignment, &settings->allocator);
}

/* The first failure, by position in the file, so that the same input fails the same way. */
static fastpair_status first_failure(const fastpair_writer *writer, uint32_t from, uint32_t to,
                                     fastpair_error *error) {
    for (uint32_t j = from; j < to; j++)
        if (writer->jobs[j].status) {
            if (error) *error = writer->jobs[j].error;
            return writer->jobs[j].status;
        }
    return FASTPAIR_OK;
}

fastpair_status fp_writer_parse(fastpair_writer *writer, uint32_t from, uint32_t to,
                                fastpair_error *error) {
    group_work work = {writer, from};
    fp_parallel(writer->settings.threads, to - from, parse_task, &work);
    return first_failure(writer, from, to, error);
}

fastpair_status fp_writer_emit(fastpair_writer *writer, uint32_t from, uint32_t to,
                               fastpair_error *error) {
    group_work work = {writer, from};
    fp_parallel(writer->settings.threads, to - from, build_task, &work);
    fastpair_status status = first_failure(writer, from, to, error);
    if (!status) status = put_header(writer, error);
    if (!status)
        status = fp_buffer_reserve(&writer->chunk_entries, &writer->settings.allocator,
                                   (to - from) * sizeof(fp_chunk_entry), error);
    for (uint32_t j = from; j < to && !status; j++) {
        const fp_job *job = &writer->jobs[j];
        fp_chunk_entry entry = {writer->position, job->block.size, job->rows,
                                job->chunk.decoded_bytes};
        memcpy(writer->chunk_entries.data + writer->chunk_entries.size, &entry, sizeof entry);
        writer->chunk_entries.size += sizeof entry;
        writer->footer.chunks++;
        writer->footer.rows += job->rows;
        writer->footer.nulls += job->nulls;
        writer->footer.codes += job->chunk.codes;
        writer->footer.decoded_bytes += job->chunk.decoded_bytes;
        status = put(writer, job->block.data, job->block.size, error);
    }
    return status;
}

static fastpair_status make_jobs(fastpair_writer *writer, uint32_t count, fastpair_error *error) {
    if (count <= writer->job_capacity) return FASTPAIR_OK;
    const fastpair_allocator *allocator = &writer->settings.allocator;
    uint64_t capacity = writer->job_capacity ? 2ull * writer->job_capacity : 4;
    fp_job *jobs = fp_allocate_zero(allocator, capacity, sizeof *jobs);
    if (!jobs) return fp_fail_memory(error, capacity * sizeof *jobs);
    if (writer->job_capacity) memcpy(jobs, writer->jobs, writer->job_capacity * sizeof *jobs);
    fp_release(allocator, writer->jobs);
    writer->jobs = jobs;
    writer->job_capacity = (uint32_t)capacity;
    return FASTPAIR_OK;
}

static void set_job(const fp_pending *pending, uint64_t first, uint64_t end, fp_job *job) {
    job->bytes = pending->bytes.data;
    job->offsets = fp_pending_offsets(pending) + first;
    job->null_rows = pending->null_rows.data + first;
    job->rows = end - first;
    job->nulls = job->codes = 0;
    for (uint64_t row = 0; row < job->rows; row++) job->nulls += job->null_rows[row];
}

/* Cuts pending rows into chunks, closed ones only unless `last`, up to `most` units of them and only whole units unless `last`.
 * Where chunks and units end depends on the rows alone. *count chunks have *rows rows. */
static fastpair_status cut_units(fastpair_writer *writer, uint32_t most, int last, uint32_t *count,
                                 uint64_t *rows, fastpair_error *error) {
    const fp_pending *pending = &writer->pending;
    fastpair_status status;
    uint64_t row = 0, unit_bytes = 0;
    uint32_t chunks = 0, units = 0;
    for (*count = 0, *rows = 0; units < most && row < pending->rows;) {
        int closed;
        uint64_t end = fp_pending_chunk_end(pending, row, writer->settings.chunk_bytes, &closed);
        if (!closed && !last) break;
        if ((status = make_jobs(writer, chunks + 1, error))) return status;
        fp_job *job = &writer->jobs[chunks++];
        set_job(pending, row, end, job);
        row = end;
        unit_bytes += fp_job_bytes(job);
        job->ends_unit =
            unit_bytes + writer->settings.chunk_bytes / 2 >= least_unit(&writer->settings) ||
            row - *rows >= UNIT_ROWS || chunks - *count >= UNIT_CHUNKS ||
            (last && row == pending->rows);
        if (!job->ends_unit) continue;
        unit_bytes = 0;
        units++;
        *count = chunks;
        *rows = row;
    }
    return FASTPAIR_OK;
}

/* Compresses one group of pending chunks. The first group is all that was waited for, so that the dictionary is numbered by
 * all of it. *more is 0 when no chunk was ready. */
static fastpair_status process_group(fastpair_writer *writer, int last, int *more,
                                     fastpair_error *error) {
    int first_group = !writer->footer.chunks;
    uint64_t rows;
    uint32_t count;
    fastpair_status status = fp_adapt_train(writer, error);
    if (!status)
        status = cut_units(writer, first_group ? UINT32_MAX : group_units(&writer->settings), last,
                           &count, &rows, error);
    if (status) return status;
    *more = count > 0;
    if (!count) return FASTPAIR_OK;
    int whole = last && rows == writer->pending.rows;
    if ((status = fp_adapt_group(writer, count, first_group, whole, error))) return status;
    fp_pending_drop(&writer->pending, rows);
    if (writer->settings.progress &&
        writer->settings.progress(writer->settings.progress_context, writer->footer.decoded_bytes,
                                  writer->column_bytes))
        return fp_fail(error, FASTPAIR_ERROR_CANCELLED, FASTPAIR_NO_POSITION,
                       "stopped by the progress function");
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- the public calls */

fastpair_status fp_writer_create(const fastpair_sink *sink, const fp_settings *settings,
                                 uint64_t column_bytes, fastpair_dictionary *model,
                                 fastpair_writer **result, fastpair_error *error) {
    fastpair_writer *writer = fp_allocate_zero(&settings->allocator, 1, sizeof *writer);
    if (!writer) {
        fastpair_dictionary_free(model);
        return fp_fail_memory(error, sizeof *writer);
    }
    writer->settings = *settings;
    writer->sink = *sink;
    writer->column_bytes = column_bytes;
    writer->trained = model != NULL;
    fastpair_status status =
        fp_regime_create(model, &settings->allocator, &writer->regimes.present, error);
    if (status) {
        fastpair_writer_close(writer);
        return status;
    }
    *result = writer;
    return FASTPAIR_OK;
}

fastpair_status fastpair_writer_open(const fastpair_sink *sink,
                                     const fastpair_compress_options *options,
                                     fastpair_writer **writer, fastpair_error *error) {
    if (!sink || !sink->write || !writer)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "sink, its write function and writer must not be NULL");
    *writer = NULL;
    fp_settings settings;
    fastpair_status status = fp_settings_resolve(options, &settings, error);
    return status ? status : fp_writer_create(sink, &settings, 0, NULL, writer, error);
}

/* A writer that failed or finished takes nothing more. */
static fastpair_status check_usable(const fastpair_writer *writer, fastpair_error *error) {
    if (!writer || writer->failed || writer->finished)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the writer %s",
                       !writer            ? "must not be NULL"
                       : writer->finished ? "has finished its column; open another"
                                          : "has failed before and can only be closed");
    return FASTPAIR_OK;
}

fastpair_status fastpair_writer_append(fastpair_writer *writer, const fastpair_rows *rows,
                                       fastpair_error *error) {
    fastpair_status status = check_usable(writer, error);
    if (status) return status;
    if (!rows)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows must not be NULL");
    if ((status = fp_rows_check(rows, error)))
        return status; /* nothing was taken: the writer stays usable */
    uint64_t next = 0;
    while (next < rows->rows && !status) {
        status = fp_pending_take(&writer->pending, rows, next, target_bytes(writer),
                                 &writer->settings.allocator, &next, error);
        int more = 1;
        while (!status && more && fp_pending_is_full(&writer->pending, target_bytes(writer)))
            status = process_group(writer, 0, &more, error);
    }
    writer->failed = status != FASTPAIR_OK;
    return status;
}

fastpair_status fastpair_writer_set_framing(fastpair_writer *writer, uint8_t separator,
                                            int final_separator, fastpair_error *error) {
    fastpair_status status = check_usable(writer, error);
    if (status) return status;
    int started = writer->header_written || writer->pending.rows;
    if (started && (!writer->has_framing || writer->separator != separator))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the separator must be set before the first append");
    writer->has_framing = 1;
    writer->separator = separator;
    writer->final_separator = final_separator != 0;
    return FASTPAIR_OK;
}

static fastpair_status put_footer(fastpair_writer *writer, fastpair_error *error) {
    fp_footer *footer = &writer->footer;
    footer->final_separator = writer->has_framing && writer->final_separator;
    uint64_t size = fp_footer_size(footer->dictionaries, footer->chunks) + FP_TRAILER;
    uint8_t *bytes = fp_allocate(&writer->settings.allocator, size, 1);
    if (!bytes) return fp_fail_memory(error, size);
    fp_footer_write(footer, (const fp_dict_entry *)(const void *)writer->dict_entries.data,
                    (const fp_chunk_entry *)(const void *)writer->chunk_entries.data,
                    writer->position, bytes);
    fastpair_status status = put(writer, bytes, size, error);
    fp_release(&writer->settings.allocator, bytes);
    return status;
}

fastpair_status fastpair_writer_finish(fastpair_writer *writer, fastpair_error *error) {
    fastpair_status status = check_usable(writer, error);
    if (status) return status;
    int more = 1;
    while (!status && more && writer->pending.rows) status = process_group(writer, 1, &more, error);
    if (!status) status = put_header(writer, error);
    if (!status) status = put_footer(writer, error);
    writer->failed = status != FASTPAIR_OK;
    writer->finished = !writer->failed;
    return status;
}

void fastpair_writer_close(fastpair_writer *writer) {
    if (!writer) return;
    fastpair_allocator allocator = writer->settings.allocator;
    fp_pending_free(&writer->pending, &allocator);
    for (uint32_t j = 0; j < writer->job_capacity; j++) fp_job_free(&writer->jobs[j], &allocator);
    fp_release(&allocator, writer->jobs);
    fp_regimes_free(&writer->regimes, &allocator);
    fp_buffer_free(&writer->dict_entries, &allocator);
    fp_buffer_free(&writer->chunk_entries, &allocator);
    fp_release(&allocator, writer);
}
