/* writer.c - streaming compression. In: rows, in any number of calls. Out: a column file, front to
 * back, through the caller's sink. Rows wait in the cut until enough are there, then writer_units.c
 * takes them through the stages of writer_private.h. Refuses rows of 4 GiB and more. */
#include "writer_private.h"

#include "auto.h"
#include "rows.h"
#include "utf8.h"

#include <inttypes.h>

/* Compresses the chunks that are ready. *more is 0 when there are none. */
static fastpair_status compress_ready(fastpair_writer *writer, int last, int *more,
                                      fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    fp_cut_list list;
    fastpair_status status = FASTPAIR_OK;
    if (!writer->trained) {
        /* The first chunks are about to be cut: the model sees all that was waited for. */
        fastpair_rows rows = fp_cut_rows(&writer->cut);
        writer->trained = 1;
        int trains = settings->choice.codec != FASTPAIR_CODEC_STORED && !settings->dictionary &&
                     fp_cut_bytes(&writer->cut);
        writer->tries_all = trains && last && fp_tries_all(settings) &&
                            fp_cut_bytes(&writer->cut) <= FP_SMALL_COLUMN;
        /* A stream that ended before is no longer of unknown length. */
        if (last) writer->column_bytes = fp_cut_bytes(&writer->cut);
        if (trains && !writer->tries_all)
            status = fp_auto_train(&rows, &writer->settings, writer->column_bytes,
                                   &writer->regimes.present.model, error);
    }
    if (!status) status = fp_cut_next(&writer->cut, last, &list, error);
    if (status) return status;
    *more = list.count > 0;
    if (!list.count) return FASTPAIR_OK;
    if ((status = fp_writer_compress(writer, &list, error))) return status;
    fp_cut_drop(&writer->cut, list.rows);
    return FASTPAIR_OK;
}

fastpair_status fp_writer_open(const fastpair_sink *sink, const fp_settings *settings,
                               uint64_t column_bytes, fastpair_dictionary *model,
                               fastpair_writer **result, fastpair_error *error) {
    fastpair_writer *writer = fp_allocate_zero(&settings->allocator, 1, sizeof *writer);
    if (!writer) {
        fp_model_close(model);
        return fp_fail_memory(error, sizeof *writer);
    }
    writer->settings = *settings;
    fp_settings_poll(&writer->settings, column_bytes, &writer->poll);
    writer->column_bytes = column_bytes;
    writer->trained = model != NULL;
    fp_cut_open(&writer->cut, settings);
    fp_file_out_open(&writer->file, sink, settings->alignment, &settings->allocator);
    if (settings->cold) writer->file.header.features = FP_FEATURE_COLD;
    fastpair_status status =
        fp_regime_open(model, &settings->allocator, &writer->regimes.present, error);
    if (!status)
        status =
            fp_file_out_describe(&writer->file, &settings->metadata, settings->bound_bytes, error);
    writer->settings.metadata.name = NULL; /* the caller's: copied, and not needed again */
    writer->settings.metadata.pairs = NULL;
    if (status) {
        fastpair_writer_close(writer);
        return status;
    }
    *result = writer;
    return FASTPAIR_OK;
}

const fp_settings *fp_writer_settings(const fastpair_writer *writer) { return &writer->settings; }

fastpair_status fastpair_writer_open(const fastpair_sink *sink,
                                     const fastpair_compress_options *options,
                                     fastpair_writer **writer, fastpair_error *error) {
    if (writer) *writer = NULL;
    if (!sink || !sink->write || !writer)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "sink, its write function and writer must not be NULL");
    fp_settings settings;
    fastpair_status status = fp_settings_resolve(options, &settings, error);
    return status ? status : fp_writer_open(sink, &settings, 0, NULL, writer, error);
}

/* A writer that failed or finished takes nothing more. */
static fastpair_status check_usable(fastpair_writer *writer, fastpair_error *error) {
    if (!writer || writer->failed || writer->finished)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the writer %s",
                       !writer            ? "must not be NULL"
                       : writer->finished ? "has finished its column; open another"
                                          : "has failed before and can only be closed");
    writer->poll.caller = pthread_self(); /* another thread may have called before */
    return FASTPAIR_OK;
}

/* Refuses rows that are not UTF-8. */
static fastpair_status check_text(const fastpair_rows *rows, fastpair_error *error) {
    uint64_t byte = 0, row = fp_rows_not_text(rows, &byte);
    if (row == rows->rows) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, row,
                   "row %" PRIu64 " is not UTF-8 from its byte %" PRIu64
                   " on; give the column the type of bytes",
                   row, byte);
}

fastpair_status fastpair_writer_append(fastpair_writer *writer, const fastpair_rows *rows,
                                       fastpair_error *error) {
    fastpair_status status = check_usable(writer, error);
    if (status) return status;
    if (!rows)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows must not be NULL");
    if (!(status = fp_rows_check(rows, error)) &&
        writer->settings.metadata.type == FASTPAIR_TYPE_TEXT)
        status = check_text(rows, error);
    if (status) return status; /* nothing was taken: the writer stays usable */
    uint64_t next = 0;
    while (next < rows->rows && !status) {
        status = fp_cut_take(&writer->cut, rows, next, &next, error);
        int more = 1;
        while (!status && more && fp_cut_is_full(&writer->cut))
            status = compress_ready(writer, 0, &more, error);
    }
    writer->failed = status != FASTPAIR_OK;
    return status;
}

fastpair_status fastpair_writer_set_framing(fastpair_writer *writer, uint8_t separator,
                                            int final_separator, fastpair_error *error) {
    fastpair_status status = check_usable(writer, error);
    if (status) return status;
    fp_file_header *header = &writer->file.header;
    int has_begun = writer->file.header_written || writer->cut.rows;
    if (has_begun && (!header->has_framing || header->separator != separator))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the separator must be set before the first append");
    header->has_framing = 1;
    header->separator = separator;
    writer->file.final_separator = final_separator != 0;
    return FASTPAIR_OK;
}

fastpair_status fastpair_writer_finish(fastpair_writer *writer, fastpair_error *error) {
    fastpair_status status = check_usable(writer, error);
    if (status) return status;
    int more = 1;
    while (!status && more && writer->cut.rows) status = compress_ready(writer, 1, &more, error);
    if (!status) status = fp_file_out_finish(&writer->file, error);
    writer->failed = status != FASTPAIR_OK;
    writer->finished = !writer->failed;
    return status;
}

void fastpair_writer_close(fastpair_writer *writer) {
    if (!writer) return;
    fastpair_allocator allocator = writer->settings.allocator;
    fp_cut_close(&writer->cut);
    fp_flight_close(&writer->flight, &allocator);
    fp_regimes_close(&writer->regimes, &allocator);
    fp_file_out_close(&writer->file);
    fp_release(&allocator, writer);
}
