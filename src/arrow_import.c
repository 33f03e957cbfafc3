/* arrow_import.c - compressing what Arrow producers give. In: arrays and streams of them. Out: rows
 * in a writer. Arrays with offsets go in as they are. Rows of other layouts are gathered into pieces
 * of some MiB.
 *
 * The trick: an array of several pieces is gathered twice. The first time finds what is to be
 * refused, so that nothing has been appended then. Refuses what arrow_source.c refuses, and text
 * that is not UTF-8. */
#include "arrow_source.h"
#include "options.h"
#include "utf8.h"
#include "writer.h"

#include <inttypes.h>
#include <string.h>

/* What is gathered at once: bytes, unless one row has more, and rows, a multiple of 8. */
#define PIECE_BYTES (4u << 20)
#define PIECE_ROWS  (64u << 10)

/* Rows that were gathered. */
typedef struct gathered {
    const fastpair_allocator *allocator;
    fp_buffer bytes;
    uint64_t *offsets; /* PIECE_ROWS + 1 of them */
    uint8_t *validity;
    uint64_t rows;
} gathered;

static fastpair_status piece_open(gathered *piece, const fastpair_allocator *allocator,
                                  fastpair_error *error) {
    uint64_t offset_bytes = (PIECE_ROWS + 1) * sizeof *piece->offsets;
    *piece = (gathered){.allocator = allocator};
    piece->offsets = fp_allocate(allocator, offset_bytes + PIECE_ROWS / 8, 1);
    if (!piece->offsets) return fp_fail_memory(error, offset_bytes + PIECE_ROWS / 8);
    piece->validity = (uint8_t *)piece->offsets + offset_bytes;
    return FASTPAIR_OK;
}

static void piece_close(gathered *piece) {
    fp_buffer_close(&piece->bytes, piece->allocator);
    fp_release(piece->allocator, piece->offsets);
}

static fastpair_rows piece_view(const gathered *piece) {
    return (fastpair_rows){.struct_size = sizeof(fastpair_rows),
                           .rows = piece->rows,
                           .bytes = piece->bytes.data,
                           .offsets = piece->offsets,
                           .offset_bits = 64,
                           .validity = piece->validity};
}

/* Gathers rows from number `first` on: at least one. */
static fastpair_status gather(gathered *piece, const fp_arrow_source *source, uint64_t first,
                              fastpair_error *error) {
    piece->rows = 0;
    piece->bytes.size = 0;
    piece->offsets[0] = 0;
    memset(piece->validity, 0, PIECE_ROWS / 8);
    for (uint64_t i = first; i < source->count && piece->rows < PIECE_ROWS; i++) {
        fp_arrow_row row;
        const char *fault = fp_arrow_source_row(source, i, &row);
        if (fault)
            return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, i, "Arrow: row %" PRIu64 ": %s",
                           i, fault);
        if (row.size > FP_MAX_CHUNK_BYTES)
            return fp_fail(error, FASTPAIR_ERROR_LIMIT, i,
                           "row %" PRIu64 " has %" PRIu64
                           " bytes; rows must be below 4 GiB: cut it into pieces",
                           i, row.size);
        if (piece->rows && piece->bytes.size + row.size > PIECE_BYTES) break;
        fastpair_status status =
            fp_buffer_reserve(&piece->bytes, piece->allocator, row.size, error);
        if (status) return status;
        if (row.size) memcpy(piece->bytes.data + piece->bytes.size, row.bytes, (size_t)row.size);
        piece->bytes.size += row.size;
        piece->validity[piece->rows / 8] |= (uint8_t)(!row.is_null << piece->rows % 8);
        piece->offsets[++piece->rows] = piece->bytes.size;
    }
    return FASTPAIR_OK;
}

/* Refuses what fastpair_writer_append would refuse of some piece. */
static fastpair_status check_pieces(gathered *piece, const fp_arrow_source *source, int is_text,
                                    fastpair_error *error) {
    for (uint64_t first = 0; first < source->count; first += piece->rows) {
        fastpair_status status = gather(piece, source, first, error);
        if (status) return status;
        fastpair_rows view = piece_view(piece);
        uint64_t byte = 0, row = is_text ? fp_rows_not_text(&view, &byte) : view.rows;
        if (row < view.rows)
            return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, first + row,
                           "row %" PRIu64 " is not UTF-8 from its byte %" PRIu64
                           " on; give the column the type of bytes",
                           first + row, byte);
        if (first == 0 && view.rows == source->count) break; /* append does the same */
    }
    return FASTPAIR_OK;
}

static fastpair_status append_pieces(fastpair_writer *writer, const fp_arrow_source *source,
                                     fastpair_error *error) {
    const fp_settings *settings = fp_writer_settings(writer);
    gathered piece;
    fastpair_status status = piece_open(&piece, &settings->allocator, error);
    if (status) return status;
    status = check_pieces(&piece, source, settings->metadata.type == FASTPAIR_TYPE_TEXT, error);
    int is_gathered = piece.rows == source->count;
    for (uint64_t first = 0; first < source->count && !status; first += piece.rows) {
        if (!is_gathered) status = gather(&piece, source, first, error);
        fastpair_rows view = piece_view(&piece);
        if (!status) status = fastpair_writer_append(writer, &view, error);
    }
    piece_close(&piece);
    return status;
}

/* ---------------------------------------------------------------- arrays with offsets */

/* Rows that are valid in a struct and in themselves; *own is NULL if one of the two bitmaps does. */
static fastpair_status combine_validity(const fp_arrow_source *source,
                                        const fastpair_allocator *allocator, fastpair_rows *view,
                                        uint8_t **own, fastpair_error *error) {
    const fp_arrow_strings *strings = &source->strings;
    view->validity = strings->validity;
    view->validity_bit_offset = strings->first;
    if (!source->outer_validity) return FASTPAIR_OK;
    if (!strings->validity) {
        view->validity = source->outer_validity;
        view->validity_bit_offset = source->outer_first;
        return FASTPAIR_OK;
    }
    uint8_t *both = fp_allocate_zero(allocator, source->count / 8 + 1, 1);
    if (!both) return fp_fail_memory(error, source->count / 8 + 1);
    for (uint64_t i = 0; i < source->count; i++)
        both[i / 8] |= (uint8_t)((fp_arrow_bit(source->outer_validity, source->outer_first + i) &
                                  fp_arrow_bit(strings->validity, strings->first + i))
                                 << i % 8);
    view->validity = *own = both;
    view->validity_bit_offset = 0;
    return FASTPAIR_OK;
}

/* The writer takes offsets for unsigned. */
static fastpair_status check_signs(const fastpair_rows *view, fastpair_error *error) {
    uint64_t all = 0, row = 0, negative = 1ull << (view->offset_bits - 1);
    for (uint64_t i = 0; i <= view->rows; i++) all |= fp_row_start(view, i);
    if (!(all & negative)) return FASTPAIR_OK;
    while (!((fp_row_start(view, row) | fp_row_start(view, row + 1)) & negative)) row++;
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, row,
                   "Arrow: row %" PRIu64 ": its offsets are negative", row);
}

static fastpair_status append_offsets(fastpair_writer *writer, const fp_arrow_source *source,
                                      fastpair_error *error) {
    const fp_arrow_strings *strings = &source->strings;
    const fastpair_allocator *allocator = &fp_writer_settings(writer)->allocator;
    const uint32_t bits = strings->kind == FP_ARROW_IS_OFFSETS32 ? 32 : 64;
    fastpair_rows view = {.struct_size = sizeof view,
                          .rows = source->count,
                          .bytes = strings->bytes,
                          .offsets = strings->rows + strings->first * (bits / 8),
                          .offset_bits = bits};
    uint8_t *own = NULL;
    fastpair_status status = combine_validity(source, allocator, &view, &own, error);
    if (!status) status = check_signs(&view, error);
    if (!status) status = fastpair_writer_append(writer, &view, error);
    fp_release(allocator, own);
    return status;
}

fastpair_status fastpair_writer_append_arrow(fastpair_writer *writer,
                                             const struct ArrowSchema *schema,
                                             const struct ArrowArray *array, const char *field,
                                             fastpair_error *error) {
    fp_arrow_source source;
    fastpair_rows none = {.struct_size = sizeof none};
    /* No rows: whether the writer takes any. */
    fastpair_status status = fastpair_writer_append(writer, &none, error);
    if (!status) status = fp_arrow_source_open(schema, array, field, &source, error);
    if (status || !source.count) return status;
    int has_offsets = source.strings.kind == FP_ARROW_IS_OFFSETS32 ||
                      source.strings.kind == FP_ARROW_IS_OFFSETS64;
    return has_offsets && !source.indices.indices ? append_offsets(writer, &source, error)
                                                  : append_pieces(writer, &source, error);
}

/* ---------------------------------------------------------------- streams */

static fastpair_status stream_fault(struct ArrowArrayStream *stream, int code,
                                    fastpair_error *error) {
    const char *message = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    return fp_fail(error, FASTPAIR_ERROR_IO, FASTPAIR_NO_POSITION,
                   "Arrow: the stream failed with code %d: %.150s", code,
                   message ? message : "it does not say why");
}

static fastpair_status append_stream(fastpair_writer *writer, struct ArrowArrayStream *stream,
                                     const struct ArrowSchema *schema, const char *field,
                                     fastpair_error *error) {
    for (uint64_t rows = 0;;) {
        struct ArrowArray array = {0};
        int code = stream->get_next(stream, &array);
        if (code) return stream_fault(stream, code, error);
        if (!array.release) return FASTPAIR_OK;
        fastpair_error inner = {.position = FASTPAIR_NO_POSITION};
        fastpair_status status =
            fastpair_writer_append_arrow(writer, schema, &array, field, &inner);
        uint64_t length = (uint64_t)array.length;
        array.release(&array);
        if (status && inner.position != FASTPAIR_NO_POSITION)
            return fp_fail(error, status, rows + inner.position,
                           "%.160s (array from row %" PRIu64 " on)", inner.message, rows);
        if (status) return fp_fail(error, status, FASTPAIR_NO_POSITION, "%s", inner.message);
        rows += length;
    }
}

/* With a writer and the schema at hand. */
static fastpair_status compress_stream(struct ArrowArrayStream *stream,
                                       const struct ArrowSchema *schema, const char *field,
                                       const fastpair_compress_options *options,
                                       const fastpair_sink *sink, fastpair_error *error) {
    const struct ArrowSchema *type;
    int64_t child;
    fastpair_status status = fp_arrow_find_field(schema, field, &type, &child, error);
    if (status) return status;
    fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                  .type = fp_arrow_is_text(type) ? FASTPAIR_TYPE_TEXT
                                                                 : FASTPAIR_TYPE_BYTES,
                                  .name = type->name};
    fastpair_compress_options with_metadata = {.struct_size = sizeof with_metadata};
    if (options && (status = fp_options_copy(options, &with_metadata, sizeof with_metadata, error)))
        return status;
    if (!with_metadata.metadata) with_metadata.metadata = &metadata;
    fastpair_writer *writer = NULL;
    status = fastpair_writer_open(sink, &with_metadata, &writer, error);
    if (!status) status = append_stream(writer, stream, schema, field, error);
    if (!status) status = fastpair_writer_finish(writer, error);
    fastpair_writer_close(writer);
    return status;
}

fastpair_status fastpair_compress_arrow(struct ArrowArrayStream *stream, const char *field,
                                        const fastpair_compress_options *options,
                                        const fastpair_sink *sink, fastpair_error *error) {
    if (!stream || !stream->release)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_compress_arrow: the stream is NULL or was released");
    struct ArrowSchema schema = {0};
    int code = stream->get_schema(stream, &schema);
    fastpair_status status = code ? stream_fault(stream, code, error)
                                  : compress_stream(stream, &schema, field, options, sink, error);
    if (schema.release) schema.release(&schema);
    stream->release(stream);
    return status;
}
