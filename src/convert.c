/* convert.c - a column from warm to cold and back. In: an open column. Out: the same rows, chunks and
 * dictionaries in a new file, through the caller's sink. Nothing is trained or parsed, and a warm file
 * that this library wrote comes back byte for byte. Chunks are checked as fastpair_column_validate
 * does, since the old file may be thrown away afterwards. Refuses chunks that do not pass. */
#include "access.h"
#include "cold_write.h"
#include "column_source.h"
#include "file_out.h"
#include "options.h"
#include "poll.h"
#include "threads.h"

/* A chunk on its way: a new block, or the old one as it is. */
typedef struct passage {
    fp_chunk chunk;
    fp_buffer block; /* empty: the old one */
    fp_cold_writer cold;
    fastpair_status status;
    fastpair_error error;
} passage;

typedef struct conversion {
    const fastpair_column *column;
    fastpair_convert_options options;
    fp_file_out file;
    passage *passages;
    uint32_t room;
    uint64_t first; /* chunk of the first passage */
} conversion;

/* ---------------------------------------------------------------- one chunk */

/* Lays a warm chunk out as files have it. */
static fastpair_status build_warm(const conversion *of, const fp_chunk_view *warm,
                                  passage *result) {
    const fastpair_allocator *allocator = &of->column->settings.allocator;
    fp_chunk *chunk = &result->chunk;
    *chunk = *warm->chunk;
    fp_chunk_layout(chunk, of->column->file.alignment);
    result->block.size = 0;
    fastpair_status status =
        fp_buffer_reserve(&result->block, allocator, chunk->block_bytes, &result->error);
    if (status) return status;
    memset(result->block.data, 0, (size_t)chunk->block_bytes);
    for (int s = 0; s < FP_SECTIONS; s++) {
        fp_section *section = &chunk->sections[s];
        uint8_t *to = result->block.data + section->offset;
        memcpy(to, warm->block + warm->chunk->sections[s].offset, (size_t)section->size);
        section->checksum = fp_checksum(to, section->size);
    }
    fp_chunk_write_header(chunk, result->block.data);
    result->block.size = chunk->block_bytes;
    return FASTPAIR_OK;
}

static fastpair_status build_cold(const conversion *of, const fp_chunk_view *warm,
                                  passage *result) {
    const fastpair_allocator *allocator = &of->column->settings.allocator;
    fp_cold_input input = {.warm = warm->chunk,
                           .block = warm->block,
                           .alignment = of->column->file.alignment,
                           .level = of->options.level,
                           .allocator = allocator};
    fastpair_status status = FASTPAIR_OK;
    if (warm->chunk->coded) {
        input.dict = &warm->dictionary->dict;
        status = fp_column_dict_lengths(warm->dictionary, &input.lengths_of_code, &result->error);
    }
    fp_chunk chunk;
    if (!status) status = fp_cold_build(&result->cold, &input, &chunk);
    if (status == FASTPAIR_ERROR_CORRUPT)
        return fp_fail(&result->error, status, FASTPAIR_NO_POSITION,
                       "the compressed image was changed by others while it was read");
    if (status) return fp_fail_memory(&result->error, warm->chunk->block_bytes);
    if (!chunk.cold) return FASTPAIR_OK;
    fp_buffer old = result->block;
    result->chunk = chunk;
    result->block = result->cold.block;
    result->cold.block = old;
    return FASTPAIR_OK;
}

/* The old block in a header of this version: a later one may have set fields that are zero here. Also
 * for a block that is dropped before it is written. */
static fastpair_status build_same(const conversion *of, const fp_chunk_view *view,
                                  passage *result) {
    uint64_t size = view->chunk->block_bytes;
    fastpair_status status =
        fp_buffer_reserve(&result->block, &of->column->settings.allocator, size, &result->error);
    if (status) return status;
    memcpy(result->block.data, view->block, (size_t)size);
    fp_chunk_write_header(view->chunk, result->block.data);
    result->block.size = size;
    return FASTPAIR_OK;
}

static void convert_chunk(void *context, uint64_t i) {
    const conversion *of = context;
    passage *result = &of->passages[i];
    const fastpair_allocator *allocator = &of->column->settings.allocator;
    fp_chunk_view view;
    fp_hold hold;
    fp_warm warm = {0};
    fp_wanted_chunk wanted = {of->first + i, of->column->totals.chunks, &result->chunk};
    result->block.size = 0;
    fastpair_status status = fp_column_hold_raw(of->column, &wanted, &view, &hold, &result->error);
    if (!status) {
        result->chunk = *view.chunk;
        view.chunk = &result->chunk;
        status = fp_chunk_validate_block(&view, &result->error);
    }
    fp_chunk_view rows = view;
    if (!status && view.chunk->cold) {
        status = fp_warm_open(&view, allocator, &warm, &result->error);
        rows = fp_warm_view(&warm, &view);
    }
    if (!status) status = fp_chunk_validate_rows(&rows, &result->error);
    if (!status) status = fp_column_check_rows(of->column, &rows, &result->error);
    if (!status && of->options.cold != view.chunk->cold)
        status = of->options.cold ? build_cold(of, &rows, result) : build_warm(of, &rows, result);
    if (!status && (of->column->file.minor || hold.block) && !result->block.size)
        status = build_same(of, &view, result);
    fp_warm_close(&warm, allocator);
    fp_column_drop(of->column, &hold);
    result->status = status;
}

/* ---------------------------------------------------------------- the file */

/* What the old file says of the column, for the new one. Bounds are those of the same rows. */
static fastpair_status describe(conversion *of, fastpair_error *error) {
    const fastpair_column *column = of->column;
    fastpair_metadata metadata = {.struct_size = sizeof metadata};
    fp_column_bounds bounds = {0};
    fastpair_status status = column->source ? fp_source_load_all(column, error) : FASTPAIR_OK;
    if (!status) status = fp_column_check_parts(column, error);
    if (!status) status = fastpair_column_get_metadata(column, &metadata, error);
    if (!status) status = fp_file_out_describe(&of->file, &metadata, FASTPAIR_NO_BOUNDS, error);
    if (!status) status = fp_column_find_bounds(column, &bounds, error);
    if (status || !bounds.entries) return status;
    fp_buffer *part = &of->file.bounds.part;
    uint64_t size = fp_bounds_part_size(column->totals.chunks, bounds.width);
    status = fp_buffer_reserve(part, &column->settings.allocator, size, error);
    if (status) return status;
    fp_bounds_write_header(bounds.width, part->data);
    memcpy(part->data + FP_BOUNDS_HEADER, bounds.entries, (size_t)(size - FP_BOUNDS_HEADER));
    for (uint64_t at = FP_BOUNDS_HEADER; at < size; at += fp_bounds_entry_size(bounds.width))
        fp_bounds_clear_zero(part->data + at);
    part->size = size;
    return FASTPAIR_OK;
}

/* Writes the dictionaries that come before a file offset. */
static fastpair_status put_dictionaries(conversion *of, uint64_t position, fastpair_error *error) {
    fp_file_out *file = &of->file;
    fastpair_status status = FASTPAIR_OK;
    while (!status && file->footer.dictionaries < of->column->totals.dictionaries) {
        const fp_column_dict *next = &of->column->dictionaries[file->footer.dictionaries];
        if (next->entry.position >= position) break;
        uint32_t number;
        fp_buffer block = {0};
        status =
            fp_dict_build(&next->dict, file->header.alignment, &file->allocator, &block, error);
        if (!status) status = fp_file_out_dictionary(file, &next->dict, &block, &number, error);
        fp_buffer_close(&block, &file->allocator);
        if (!status) fp_file_out_use_tokens(file, number, next->entry.tokens_in_use);
    }
    return status;
}

static fastpair_status put_chunk(conversion *of, uint64_t i, fastpair_error *error) {
    const passage *result = &of->passages[i];
    if (result->status) {
        if (error) *error = result->error;
        return result->status;
    }
    fp_chunk_entry entry = fp_column_entry(of->column, of->first + i);
    fastpair_status status = put_dictionaries(of, entry.position, error);
    if (status) return status;
    const fp_buffer *block = &result->block;
    fp_buffer old = {NULL, entry.block_bytes, entry.block_bytes};
    if (!block->size) {
        old.data = (uint8_t *)(uintptr_t)(of->column->image + entry.position);
        block = &old;
    }
    return fp_file_out_chunk(&of->file, &result->chunk, block, (fp_row_facts){0}, error);
}

static fastpair_status convert_all(conversion *of, fastpair_error *error) {
    const fastpair_column *column = of->column;
    fastpair_status status = FASTPAIR_OK;
    while (of->first < column->totals.chunks && !status) {
        uint64_t left = column->totals.chunks - of->first,
                 count = left < of->room ? left : of->room;
        fp_parallel(of->room, count, convert_chunk, of);
        for (uint64_t i = 0; i < count && !status; i++) status = put_chunk(of, i, error);
        of->first += count;
        if (!status && of->options.progress &&
            of->options.progress(of->options.progress_context, of->file.footer.decoded_bytes,
                                 column->totals.decoded_bytes))
            status = fp_fail_cancelled(error);
    }
    if (!status) status = put_dictionaries(of, UINT64_MAX, error);
    if (!status)
        status =
            fp_column_check_totals(column, of->file.footer.nulls, of->file.footer.codes, error);
    return status ? status : fp_file_out_finish(&of->file, error);
}

static fastpair_status check_options(const fastpair_convert_options *options,
                                     fastpair_convert_options *given, fastpair_error *error) {
    fastpair_status status = fp_options_copy(options, given, sizeof *given, error);
    if (status) return status;
    if (!given->level) given->level = FASTPAIR_LEVEL_DEFAULT;
    if (given->level > FASTPAIR_LEVEL_MOST || (given->cold != 0 && given->cold != 1))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_convert: level is %u and cold is %d; they must be in 0..9 "
                       "and 0..1",
                       given->level, given->cold);
    if (given->cold && !fp_frames_available())
        return fp_frames_missing(FASTPAIR_NO_POSITION, error);
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_convert(const fastpair_column *column,
                                        const fastpair_convert_options *options,
                                        const fastpair_sink *sink, fastpair_error *error) {
    if (!column || !sink || !sink->write)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_convert: column, sink and its write must not be NULL");
    conversion of = {.column = column, .room = column->settings.threads};
    const fastpair_allocator *allocator = &column->settings.allocator;
    fastpair_status status = check_options(options, &of.options, error);
    if (status) return status;
    of.passages = fp_allocate_zero(allocator, of.room, sizeof *of.passages);
    if (!of.passages) return fp_fail_memory(error, of.room * sizeof *of.passages);
    fp_file_out_open(&of.file, sink, column->file.alignment, allocator);
    of.file.header = column->file;
    of.file.header.features = of.options.cold ? FP_FEATURE_COLD : 0;
    of.file.final_separator = column->totals.final_separator;
    status = describe(&of, error);
    if (!status) status = convert_all(&of, error);
    for (uint32_t i = 0; i < of.room; i++) {
        fp_buffer_close(&of.passages[i].block, allocator);
        fp_cold_writer_close(&of.passages[i].cold, allocator);
    }
    fp_release(allocator, of.passages);
    fp_file_out_close(&of.file);
    return status;
}
