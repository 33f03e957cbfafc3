/* reader.c - streaming decompression. In: a column file, front to back, from the caller's source.
 * Out: its rows, one chunk per call, in order.
 *
 * The calling thread reads blocks, up to one chunk per thread ahead; then they are checked and
 * decoded in parallel. Memory grows only as bytes really arrive, whatever sizes a header claims.
 * Every chunk is validated, checksums included, before its rows are given, since nobody can go back
 * and do that later. Refuses what opening and validating refuse, a footer that does not repeat what
 * was read, and bytes after the trailer. */
#include "reader_private.h"

#include "options.h"
#include "threads.h"

/* Checks and decodes one chunk. Needs memory only for tables of a dictionary that is used first
 * here. */
static void decode_slot(void *context, uint64_t i) {
    fp_slot *s = (fp_slot *)context + i;
    fp_chunk_view view = {&s->chunk, s->block.data, s->dictionary, s->number, 0};
    s->status = fp_chunk_validate(&view, &s->error);
    if (!s->status && s->chunk.coded) {
        fp_batch_cache unused; /* no batch is cut */
        fp_batch_cache_empty(&unused);
        s->status = fp_chunk_decode_bytes(&view, 0, s->chunk.decoded_bytes, s->bytes.data, &unused,
                                          &s->error);
    }
    uint64_t starts[FP_LENGTH_BLOCK + 1];
    for (uint64_t row = 0; row < s->chunk.rows && !s->status; row += FP_LENGTH_BLOCK) {
        uint32_t rows;
        s->status = fp_chunk_row_starts(&view, row / FP_LENGTH_BLOCK, starts, &rows, &s->error);
        if (!s->status)
            memcpy(s->offsets.data + row * sizeof *starts, starts, (rows + 1) * sizeof *starts);
    }
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
    fastpair_reader *opened = fp_allocate_zero(&settings.allocator, 1, sizeof *opened);
    if (!opened) return fp_fail_memory(error, sizeof *opened);
    opened->source = *source;
    opened->settings = settings;
    opened->slots.list =
        fp_allocate_zero(&settings.allocator, settings.threads, sizeof *opened->slots.list);
    uint8_t header[FP_FILE_HEADER];
    if (!opened->slots.list)
        status = fp_fail_memory(error, settings.threads * sizeof *opened->slots.list);
    else
        status = fp_reader_get(opened, header, sizeof header, "the file header", error);
    if (!status) status = fp_file_header_read(header, &opened->file, error);
    if (status) {
        fastpair_reader_close(opened);
        return status;
    }
    *reader = opened;
    return FASTPAIR_OK;
}

fastpair_status fastpair_reader_next(fastpair_reader *reader, fastpair_rows *rows, int *at_end,
                                     fastpair_error *error) {
    if (!reader || !rows || !at_end)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_reader_next: reader, rows and at_end must not be NULL");
    *at_end = 0;
    fastpair_rows none = {0};
    fastpair_status status = fp_info_copy("rows", &none, sizeof none, rows, error);
    if (status) return status;
    if (reader->slots.next == reader->slots.filled && !reader->failed && !reader->at_footer) {
        reader->slots.next = reader->slots.filled = 0;
        reader->failed = fp_reader_read_ahead(reader, &reader->failure);
        fp_parallel(reader->settings.threads, reader->slots.filled, decode_slot,
                    reader->slots.list);
    }
    if (reader->slots.next == reader->slots.filled && !reader->failed && !reader->at_end)
        reader->failed = fp_reader_read_end(reader, &reader->failure);
    if (reader->slots.next < reader->slots.filled) {
        fp_slot *s = &reader->slots.list[reader->slots.next];
        if (!s->status) {
            const uint8_t *block = s->block.data;
            rows->rows = s->chunk.rows;
            rows->bytes = s->chunk.coded ? s->bytes.data
                                         : fp_chunk_section(&s->chunk, block, FP_SECTION_CODES);
            rows->offsets = s->offsets.data;
            rows->offset_bits = 64;
            if (s->chunk.has_validity)
                rows->validity = fp_chunk_section(&s->chunk, block, FP_SECTION_VALIDITY);
            reader->slots.next++;
            return FASTPAIR_OK;
        }
        reader->failed = s->status; /* stays, and so do all later chunks */
        reader->failure = s->error;
        reader->slots.next = reader->slots.filled;
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
    if (!reader || !has_framing || !separator || !final_separator)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_reader_get_framing: no argument but error may be NULL");
    *has_framing = reader->file.has_framing;
    if (!*has_framing) return FASTPAIR_OK;
    *separator = reader->file.separator;
    *final_separator = reader->at_end ? reader->totals.final_separator : 1;
    return FASTPAIR_OK;
}

void fastpair_reader_close(fastpair_reader *reader) {
    if (!reader) return;
    fastpair_allocator allocator = reader->settings.allocator;
    for (uint64_t i = 0; i < reader->totals.dictionaries; i++) {
        fp_column_dict_close(reader->dictionaries.list[i]);
        fp_release(&allocator, reader->dictionaries.list[i]);
    }
    fp_release(&allocator, reader->dictionaries.list);
    fp_buffer_close(&reader->dictionaries.code_bits, &allocator);
    fp_buffer_close(&reader->chunk_entries, &allocator);
    fp_buffer_close(&reader->scratch, &allocator);
    for (uint32_t i = 0; reader->slots.list && i < reader->settings.threads; i++) {
        fp_buffer_close(&reader->slots.list[i].block, &allocator);
        fp_buffer_close(&reader->slots.list[i].bytes, &allocator);
        fp_buffer_close(&reader->slots.list[i].offsets, &allocator);
    }
    fp_release(&allocator, reader->slots.list);
    fp_release(&allocator, reader);
}
