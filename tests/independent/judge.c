/* judge.c - what the library says of files: valid or not, and which rows.
 *
 * In, on standard input, for each file: its size, the threads to use, the fastpair_cpu_level to use
 * where this CPU has it, and the most bytes that a source gives at once (4 bytes each,
 * little-endian like all numbers here), then the file. Out, on standard output, two answers per
 * file, first of fastpair_column_open and _validate, then of the streaming reader: status (4),
 * position (8), size of the message (4), the message, size of the contents (8), the contents.
 * Contents of a file that is accepted: framing, separator and final separator (1 each), then every
 * row: its size (4, FFFFFFFF for null) and its bytes. A column adds its type (1), its name, its pairs
 * and, if it has them, the bounds of its chunks. A column that was opened and refused by
 * validate is decoded nevertheless: the contents are what it gives, none where it gives nothing.
 *
 * The library's calls must agree with each other: whatever a validated column decodes to in one
 * call must come back row by row, too. Where they do not, the status is DISAGREES. */
#include <fastpair.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISAGREES = 1000 };

/* Bytes that grow. */
typedef struct buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
} buffer;

typedef struct answer {
    fastpair_error error;
    buffer contents;
} answer;

static void give_up(const char *why) {
    fprintf(stderr, "judge: %s\n", why);
    exit(2);
}

/* At least one byte, so that NULL always means that there is no memory. */
static void *allocate(size_t size) {
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) give_up("out of memory");
    return memory;
}

static void append(buffer *to, const void *bytes, size_t size) {
    if (size == 0) return;
    if (to->capacity - to->size < size) {
        to->capacity = 2 * to->capacity + size;
        to->bytes = realloc(to->bytes, to->capacity);
        if (to->bytes == NULL) give_up("out of memory");
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void append_row(buffer *to, const uint8_t *bytes, uint64_t size, int is_null) {
    uint32_t prefix = is_null ? UINT32_MAX : (uint32_t)size;
    append(to, &prefix, sizeof prefix);
    if (!is_null) append(to, bytes, size);
}

static void disagree(answer *out, const char *what, uint64_t row) {
    out->error.status = (fastpair_status)DISAGREES;
    out->error.position = row;
    snprintf(out->error.message, sizeof out->error.message, "%.200s disagrees", what);
}

/* ---------------------------------------------------------------- open and validate */

/* Adds all rows to the contents; row by row they must be the same. Returns the status of the
 * first failure, DISAGREES included, and leaves its error in *error. */
static fastpair_status decode_column(const fastpair_column *column, uint64_t rows, answer *out,
                                     fastpair_error *error) {
    uint64_t bytes;
    fastpair_status status = fastpair_column_rows_size(column, 0, rows, &bytes, error);
    if (status != FASTPAIR_OK) return status;
    fastpair_destination to = {
        .struct_size = sizeof to, .bytes_capacity = bytes, .offset_bits = 64};
    uint64_t *offsets = allocate((rows + 1) * sizeof *offsets);
    to.bytes = allocate(bytes);
    to.offsets = offsets;
    to.validity = allocate((rows + 7) / 8);
    uint8_t *row = allocate(bytes);
    status = fastpair_column_decode(column, 0, rows, &to, error);
    for (uint64_t i = 0; status == FASTPAIR_OK && i < rows; i++) {
        uint64_t size = offsets[i + 1] - offsets[i], row_size = 0;
        int valid = to.validity[i / 8] >> i % 8 & 1, is_null = 0;
        append_row(&out->contents, to.bytes + offsets[i], size, !valid);
        status = fastpair_column_decode_row(column, i, row, bytes, &row_size, &is_null, error);
        if (status == FASTPAIR_OK && (row_size != size || is_null == valid ||
                                      memcmp(row, to.bytes + offsets[i], size) != 0)) {
            status = (fastpair_status)DISAGREES;
            *error = (fastpair_error){status, i, "fastpair_column_decode_row"};
        }
    }
    free(row);
    free(to.validity);
    free(to.bytes);
    free(offsets);
    return status;
}

static void append_sized(buffer *to, const void *bytes, uint64_t size) {
    uint32_t prefix = (uint32_t)size;
    append(to, &prefix, sizeof prefix);
    append(to, bytes, size);
}

static void append_bound(buffer *to, int is_cut, const uint8_t *bytes, uint64_t size) {
    uint8_t head[2] = {(uint8_t)is_cut, (uint8_t)size};
    append(to, head, sizeof head);
    append(to, bytes, size);
}

/* What the file says of the column. */
static fastpair_status describe(const fastpair_column *column, uint64_t chunks, buffer *to,
                                fastpair_error *error) {
    fastpair_metadata metadata = {.struct_size = sizeof metadata};
    fastpair_status status = fastpair_column_get_metadata(column, &metadata, error);
    if (status != FASTPAIR_OK) return status;
    uint8_t type = metadata.type == FASTPAIR_TYPE_TEXT;
    uint32_t pairs = (uint32_t)metadata.pair_count;
    append(to, &type, 1);
    append_sized(to, metadata.name, metadata.name ? strlen(metadata.name) : 0);
    append(to, &pairs, sizeof pairs);
    for (uint64_t i = 0; i < pairs; i++) {
        const fastpair_pair *pair = &metadata.pairs[i];
        uint32_t sizes[2] = {(uint32_t)strlen(pair->key), (uint32_t)pair->value_size};
        append(to, sizes, sizeof sizes);
        append(to, pair->key, sizes[0]);
        append(to, pair->value, sizes[1]);
    }
    for (uint64_t i = 0; i < chunks; i++) {
        fastpair_chunk_bounds bounds = {.struct_size = sizeof bounds};
        status = fastpair_column_get_chunk_bounds(column, i, &bounds, error);
        if (status != FASTPAIR_OK || !bounds.has_bounds) return status;
        uint8_t has_row = (uint8_t)bounds.has_row;
        append(to, &has_row, 1);
        if (!has_row) continue;
        append_bound(to, bounds.smallest_is_cut, bounds.smallest, bounds.smallest_size);
        append_bound(to, bounds.largest_is_cut, bounds.largest, bounds.largest_size);
    }
    return FASTPAIR_OK;
}

static void judge_column(const uint8_t *image, uint32_t size, const fastpair_open_options *options,
                         answer *out) {
    fastpair_column *column;
    fastpair_error error;
    if (fastpair_column_open(image, size, options, &column, &out->error) != FASTPAIR_OK) return;
    fastpair_column_info info = {.struct_size = sizeof info};
    if (fastpair_column_get_info(column, &info, &error) != FASTPAIR_OK)
        disagree(out, "fastpair_column_get_info", 0);
    uint8_t framing[3] = {(uint8_t)info.has_framing, info.separator, (uint8_t)info.final_separator};
    append(&out->contents, framing, sizeof framing);
    fastpair_status status = fastpair_column_validate(column, &out->error);
    if (decode_column(column, info.rows, out, &error) != FASTPAIR_OK) {
        out->contents.size = 0;
        if (status == FASTPAIR_OK) disagree(out, error.message, error.position);
    } else if (describe(column, info.chunks, &out->contents, &error) != FASTPAIR_OK) {
        if (status == FASTPAIR_OK) disagree(out, error.message, error.position);
    }
    fastpair_column_close(column);
}

/* ---------------------------------------------------------------- the streaming reader */

/* A source that gives the image in pieces. */
typedef struct pieces {
    const uint8_t *image;
    size_t left;
    size_t piece;
} pieces;

static int read_piece(void *context, void *data, size_t size, size_t *got) {
    pieces *from = context;
    if (size > from->piece) size = from->piece;
    if (size > from->left) size = from->left;
    if (size > 0) memcpy(data, from->image, size);
    from->image += size;
    from->left -= size;
    *got = size;
    return 0;
}

static void append_rows(buffer *to, const fastpair_rows *rows) {
    const uint64_t *offsets = rows->offsets;
    for (uint64_t i = 0; i < rows->rows; i++) {
        uint64_t bit = rows->validity_bit_offset + i;
        int is_null = rows->validity != NULL && !(rows->validity[bit / 8] >> bit % 8 & 1);
        append_row(to, rows->bytes + offsets[i], offsets[i + 1] - offsets[i], is_null);
    }
}

static void judge_reader(pieces *from, const fastpair_open_options *options, answer *out) {
    fastpair_source source = {.read = read_piece, .context = from};
    fastpair_reader *reader;
    if (fastpair_reader_open(&source, options, &reader, &out->error) != FASTPAIR_OK) return;
    uint8_t framing[3] = {0};
    append(&out->contents, framing, sizeof framing);
    for (int at_end = 0; !at_end && out->error.status == FASTPAIR_OK;) {
        fastpair_rows rows = {.struct_size = sizeof rows};
        if (fastpair_reader_next(reader, &rows, &at_end, &out->error) == FASTPAIR_OK)
            append_rows(&out->contents, &rows);
        else
            out->contents.size = 0;
    }
    fastpair_error error;
    int has_framing = 0, final_separator = 0;
    if (fastpair_reader_get_framing(reader, &has_framing, &framing[1], &final_separator, &error) !=
        FASTPAIR_OK)
        disagree(out, "fastpair_reader_get_framing", 0);
    framing[0] = (uint8_t)has_framing;
    framing[2] = (uint8_t)final_separator;
    memcpy(out->contents.bytes, framing, sizeof framing); /* the final separator is known last */
    fastpair_reader_close(reader);
}

/* ---------------------------------------------------------------- frames */

static void put(const void *bytes, size_t size) {
    if (size > 0 && fwrite(bytes, size, 1, stdout) != 1) give_up("cannot write");
}

static void put_answer(answer *out) {
    uint32_t status = (uint32_t)out->error.status;
    uint32_t message_size = status == 0 ? 0 : (uint32_t)strlen(out->error.message);
    uint64_t contents_size = out->contents.size;
    put(&status, sizeof status);
    put(&out->error.position, sizeof out->error.position);
    put(&message_size, sizeof message_size);
    put(out->error.message, message_size);
    put(&contents_size, sizeof contents_size);
    put(out->contents.bytes, contents_size);
    free(out->contents.bytes);
}

int main(void) {
    uint32_t frame[4];
    while (fread(frame, sizeof frame, 1, stdin) == 1) {
        uint32_t size = frame[0];
        fastpair_open_options options = {.struct_size = sizeof options, .threads = frame[1]};
        if (frame[2] <= (uint32_t)fastpair_cpu_detect())
            options.cpu_level = (fastpair_cpu_level)frame[2];
        uint8_t *image = allocate(size); /* exactly: a sanitizer sees a read past its end */
        if (size > 0 && fread(image, size, 1, stdin) != 1) give_up("a file is cut short");
        answer by_column = {0}, by_reader = {0};
        judge_column(image, size, &options, &by_column);
        judge_reader(&(pieces){image, size, frame[3]}, &options, &by_reader);
        put_answer(&by_column);
        put_answer(&by_reader);
        if (fflush(stdout) != 0) give_up("cannot write");
        free(image);
    }
    return 0;
}
