/* test_column.c - the reading side on forged images: opening, ranges, lists, single rows, streaming, and refusals.
 *
 * Images are built field by field (forge.h), so nothing here depends on the writer: several dictionaries, coded and
 * stored chunks, chunks of empty rows, nulls at any bit, rows that cross many windows of work. */
#include "counting.h"
#include "fastpair.h"
#include "forge.h"
#include "guard.h"

#include "check.h"

#include <stdlib.h>
#include <unistd.h>

/* A column and what its rows are. */
typedef struct truth {
    forge image;
    uint64_t rows, nulls, size;
    uint8_t *bytes;
    uint64_t *offsets;
    uint8_t *valid;
} truth;

#define MOST_TOKENS 300u
static char token_text[MOST_TOKENS][17];
static const char *token_list[MOST_TOKENS];

/* Room for `more` items of `size` bytes behind the first `used`, growing by doubling. */
static void *room(void *items, uint64_t used, uint64_t more, uint64_t size) {
    uint64_t before = 64, after = 64;
    while (before < used) before *= 2;
    while (after < used + more) after *= 2;
    if (items && before == after) return items;
    items = realloc(items, after * size);
    if (!items) abort();
    return items;
}

static uint32_t add_dictionary(truth *t, uint32_t tokens, uint64_t *random) {
    for (uint32_t i = 0; i < tokens; i++) {
        uint32_t length = 1 + (uint32_t)(check_random(random) % 16);
        for (uint32_t j = 0; j < length; j++) token_text[i][j] = (char)(33 + check_random(random) % 90);
        token_text[i][length] = 0;
        token_list[i] = token_text[i];
    }
    forge_dictionary d = forge_plain_dictionary(token_list, tokens);
    uint32_t bits = d.bits;
    forge_add_dictionary(&t->image, &d);
    return bits;
}

/* A chunk of random rows with the last dictionary, which has `tokens` tokens; 0 tokens: stored. */
static void add_chunk(truth *t, uint64_t rows, uint32_t tokens, uint32_t bits, uint32_t batch,
                      uint32_t longest_row, uint32_t null_percent, uint64_t *random) {
    uint64_t codes_size = 0, first_byte = t->size, nulls = t->nulls;
    uint32_t *codes = NULL, *lengths = malloc(rows * sizeof *lengths);
    uint8_t length_of[MOST_TOKENS], *valid = malloc(rows);
    for (uint32_t i = 0; i < tokens; i++) length_of[i] = (uint8_t)strlen(token_text[i]);
    for (uint64_t row = 0; row < rows; row++) {
        valid[row] = check_random(random) % 100 >= null_percent;
        uint64_t pieces = valid[row] ? check_random(random) % (longest_row + 1) : 0, before = t->size;
        t->bytes = room(t->bytes, t->size, pieces * 16, 1);
        t->offsets = room(t->offsets, t->rows + 1, 1, sizeof *t->offsets);
        t->valid = room(t->valid, t->rows, 1, 1);
        codes = room(codes, codes_size, pieces, sizeof *codes);
        t->valid[t->rows++] = valid[row];
        t->nulls += !valid[row];
        for (uint64_t i = 0; i < pieces; i++) {
            uint32_t code = tokens ? (uint32_t)(check_random(random) % tokens) : 0;
            const char *text = tokens ? token_text[code] : "stored \n";
            memcpy(t->bytes + t->size, text, strlen(text));
            t->size += strlen(text);
            codes[codes_size++] = code;
        }
        t->offsets[t->rows] = t->size;
        lengths[row] = (uint32_t)(t->size - before);
    }
    forge_chunk c;
    if (tokens && codes_size) {
        c = forge_coded_chunk(codes, codes_size, bits, length_of, batch, lengths, valid, rows);
        c.dictionary = (uint32_t)t->image.dictionaries - 1;
    } else {
        c = forge_stored_chunk(t->bytes + first_byte, t->size - first_byte, lengths, rows);
        c.nulls = t->nulls - nulls;
        if ((c.has_validity = c.nulls != 0)) {
            forge_append(&c.sections[FORGE_VALIDITY], NULL, (rows + 7) / 8);
            for (uint64_t i = 0; i < rows; i++) forge_bits(c.sections[FORGE_VALIDITY].data, i, 1, valid[i]);
        }
    }
    forge_add_chunk(&t->image, &c);
    free(codes), free(lengths), free(valid);
}

static void truth_begin(truth *t, uint32_t alignment, int framing) {
    memset(t, 0, sizeof *t);
    forge_begin(&t->image, alignment, framing, framing ? '\n' : 0);
    t->image.final_separator = framing;
    t->offsets = room(NULL, 0, 1, sizeof *t->offsets);
    t->bytes = room(NULL, 0, 1, 1);
    t->valid = room(NULL, 0, 1, 1);
    t->offsets[0] = 0;
}

static void truth_free(truth *t) {
    free(t->image.file.data), free(t->bytes), free(t->offsets), free(t->valid);
}

/* Everything at once: at least `bytes` decoded bytes, in up to 16 * `scale` rows a chunk. */
static truth make_mixed(uint64_t bytes, uint64_t scale, uint32_t alignment, uint64_t *random) {
    truth t;
    truth_begin(&t, alignment, 1);
    static const uint32_t batches[4] = {32, 256, 1024, 96}, tokens[4] = {1, 300, 9, 64};
    for (int i = 0; t.size < bytes || i < 4; i++) {
        uint32_t bits = add_dictionary(&t, tokens[i % 4], random);
        add_chunk(&t, 1 + check_random(random) % (2 * scale), tokens[i % 4], bits, batches[i % 4], 9, 0,
                  random);
        add_chunk(&t, 1 + check_random(random) % (scale / 8), tokens[i % 4], bits, 1024, (uint32_t)scale * 15,
                  20, random);
        add_chunk(&t, 1 + check_random(random) % scale, 0, 0, 0, 20, 30, random); /* stored */
        add_chunk(&t, 1 + check_random(random) % (3 * scale), 0, 0, 0, 0, 50,
                  random); /* empty and null rows only */
        add_chunk(&t, 1 + check_random(random) % (16 * scale), tokens[i % 4], bits, 32, 3, 10, random);
    }
    forge_finish(&t.image);
    return t;
}

/* ---------------------------------------------------------------- decoding */

static void check_destination(const truth *t, const fastpair_destination *to, const uint64_t *rows,
                              uint64_t first, uint64_t count) {
    uint64_t at = 0, nulls = 0, wrong = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = rows ? rows[i] : first + i, start = t->offsets[row],
                 length = t->offsets[row + 1] - start;
        if (to->offset_bits == 32) wrong += ((uint32_t *)to->offsets)[i] != at;
        if (to->offset_bits == 64) wrong += ((uint64_t *)to->offsets)[i] != at;
        wrong += length && memcmp(to->bytes + at, t->bytes + start, length) != 0;
        if (to->validity) wrong += (to->validity[i / 8] >> (i % 8) & 1) != t->valid[row];
        nulls += !t->valid[row];
        at += length;
    }
    if (to->offset_bits == 32) wrong += ((uint32_t *)to->offsets)[count] != at;
    if (to->offset_bits == 64) wrong += ((uint64_t *)to->offsets)[count] != at;
    for (uint64_t i = count; to->validity && i % 8; i++) wrong += to->validity[i / 8] >> (i % 8) & 1;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(to->nulls, nulls);
}

/* Decodes a range (rows NULL) or a list into memory of exactly the right size. */
static void try_decode(const fastpair_column *column, const truth *t, const uint64_t *rows, uint64_t first,
                       uint64_t count, uint32_t offset_bits, int validity, uint32_t threads) {
    uint64_t size = 0, expected = 0;
    fastpair_error error = {.message = ""};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = rows ? rows[i] : first + i;
        expected += t->offsets[row + 1] - t->offsets[row];
    }
    CHECK_EQ(rows ? fastpair_column_listed_size(column, rows, count, &size, &error)
                  : fastpair_column_rows_size(column, first, count, &size, &error),
             FASTPAIR_OK);
    CHECK_EQ(size, expected);
    guard bytes = guard_make(size), offsets = guard_make((count + 1) * offset_bits / 8),
          bitmap = guard_make(validity ? (count + 7) / 8 : 0);
    fastpair_destination to = {bytes.data, size, offsets.data, offset_bits, validity ? bitmap.data : NULL, 9};
    fastpair_status status = rows ? fastpair_column_decode_listed(column, rows, count, &to, threads, &error)
                                  : fastpair_column_decode(column, first, count, &to, threads, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status)
        fprintf(stderr, "  ^ %s\n", error.message);
    else
        check_destination(t, &to, rows, first, count);
    if (size) {
        to.bytes_capacity = size - 1;
        CHECK_EQ(rows ? fastpair_column_decode_listed(column, rows, count, &to, threads, &error)
                      : fastpair_column_decode(column, first, count, &to, threads, &error),
                 FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    }
    CHECK(guard_free(&bytes) && guard_free(&offsets) && guard_free(&bitmap));
}

static void try_row(const fastpair_column *column, const truth *t, uint64_t row) {
    uint64_t length = t->offsets[row + 1] - t->offsets[row], size = 77;
    int is_null = 7;
    fastpair_error error;
    guard bytes = guard_make(length);
    CHECK_EQ(fastpair_column_decode_row(column, row, bytes.data, length, &size, &is_null, &error),
             FASTPAIR_OK);
    CHECK_EQ(size, length);
    CHECK_EQ(is_null, !t->valid[row]);
    CHECK(!length || !memcmp(bytes.data, t->bytes + t->offsets[row], length));
    CHECK(guard_free(&bytes));
    if (length) {
        CHECK_EQ(fastpair_column_decode_row(column, row, NULL, 0, &size, NULL, &error),
                 FASTPAIR_ERROR_BUFFER_TOO_SMALL);
        CHECK_EQ(size, length);
        CHECK_EQ(error.position, row);
    }
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void try_column(const fastpair_column *column, const truth *t, uint64_t *random) {
    static const uint32_t bits[3] = {0, 32, 64};
    CHECK_EQ(fastpair_column_validate(column, 2, NULL), FASTPAIR_OK);
    for (uint32_t i = 0; i < 12; i++) try_decode(column, t, NULL, 0, t->rows, bits[i % 3], i / 3 % 2, i % 4);
    for (uint32_t i = 0; i < 40 && t->rows; i++) {
        uint64_t first = check_random(random) % t->rows, count = check_random(random) % (t->rows - first + 1);
        if (i % 2) count = count < 20 ? count : check_random(random) % 20;
        try_decode(column, t, NULL, first, count, bits[check_random(random) % 3], i & 1, i % 3);
    }
    try_decode(column, t, NULL, t->rows, 0, 64, 1, 1);
    for (uint32_t i = 0; i < 200 && t->rows; i++) try_row(column, t, check_random(random) % t->rows);
    uint64_t *list = malloc(12000 * sizeof *list);
    for (uint32_t i = 0; i < 12 && t->rows; i++) {
        uint64_t count = i < 3 ? i : check_random(random) % 12000;
        for (uint64_t j = 0; j < count; j++) list[j] = check_random(random) % t->rows;
        if (i % 3 == 0) qsort(list, count, sizeof *list, ascending);
        if (i % 3 == 1) /* stretches of neighbours, some backwards */
            for (uint64_t j = 1; j < count; j++)
                if (list[j] % 9) list[j] = (list[j - 1] + (list[j] % 7 ? 1 : t->rows - 1)) % t->rows;
        try_decode(column, t, list, 0, count, bits[i % 3], i & 1, i % 4);
    }
    free(list);
}

/* ---------------------------------------------------------------- streaming */

typedef struct drip {
    const uint8_t *data;
    uint64_t size, at;
    uint64_t most;    /* bytes a call; 0: all asked for */
    uint64_t fail_at; /* EIO when this offset is reached */
} drip;

static int drip_read(void *context, void *data, size_t size, size_t *got) {
    drip *d = context;
    uint64_t take = d->size - d->at < size ? d->size - d->at : size;
    if (d->most && take > d->most) take = d->most;
    if (d->at + take > d->fail_at) return 5;
    memcpy(data, d->data + d->at, take);
    d->at += take;
    *got = take;
    return 0;
}

/* Reads to the end or an error; counts the rows given and checks them against `t` where it is not NULL. */
static fastpair_status stream(drip *from, const truth *t, uint32_t threads, const fastpair_allocator *hooks,
                              uint64_t *rows_read, fastpair_error *error) {
    fastpair_source source = {drip_read, from};
    fastpair_open_options options = {.struct_size = sizeof options};
    if (hooks) options.allocator = *hooks;
    fastpair_reader *reader = NULL;
    uint64_t row = 0, wrong = 0;
    int at_end = 0, has = -1, final = -1;
    uint8_t separator = 9;
    fastpair_status status = fastpair_reader_open(&source, &options, threads, &reader, error);
    while (status == FASTPAIR_OK && !at_end) {
        fastpair_rows got;
        CHECK_EQ(fastpair_reader_get_framing(reader, &has, &separator, &final, NULL), FASTPAIR_OK);
        if (has) CHECK(separator == '\n' && final == 1);
        status = fastpair_reader_next(reader, &got, &at_end, error);
        if (status) {
            fastpair_error again;
            CHECK_EQ(fastpair_reader_next(reader, &got, &at_end, &again), status); /* it stays failed */
            CHECK(!strcmp(error->message, again.message));
            break;
        }
        CHECK_EQ(got.rows == 0, at_end);
        for (uint64_t i = 0; i < got.rows && t; i++, row++) {
            uint64_t start = t->offsets[row], length = t->offsets[row + 1] - start,
                     bit = got.validity_bit_offset + i;
            wrong += got.offsets[i + 1] - got.offsets[i] != length ||
                     (length && memcmp(got.bytes + got.offsets[i], t->bytes + start, length)) ||
                     (got.validity ? got.validity[bit / 8] >> (bit % 8) & 1 : 1) != t->valid[row];
        }
    }
    if (status == FASTPAIR_OK) {
        fastpair_rows got;
        CHECK_EQ(fastpair_reader_next(reader, &got, &at_end, NULL), FASTPAIR_OK);
        CHECK(at_end == 1 && got.rows == 0);
    }
    CHECK_EQ(wrong, 0);
    *rows_read = row;
    fastpair_reader_close(reader);
    return status;
}

static void try_stream(const truth *t) {
    fastpair_error error = {.message = ""};
    uint64_t rows;
    for (uint32_t i = 0; i < 6; i++) {
        drip from = {t->image.file.data, t->image.file.size, 0, i % 2 ? 4097 : 0, UINT64_MAX};
        CHECK_EQ(stream(&from, t, i, NULL, &rows, &error), FASTPAIR_OK);
        CHECK_EQ(rows, t->rows);
    }
    /* Rows that came before a failure are given first, whatever the threads. */
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t cut = t->image.file.size * i / 10, first_rows = 0;
        for (uint32_t threads = 1; threads <= 3; threads++) {
            drip from = {t->image.file.data, cut, 0, 0, UINT64_MAX};
            CHECK_EQ(stream(&from, t, threads, NULL, &rows, &error), FASTPAIR_ERROR_CORRUPT);
            CHECK(strstr(error.message, "ends at byte") != NULL);
            CHECK_EQ(error.position, cut);
            if (threads == 1) first_rows = rows;
            CHECK_EQ(rows, first_rows);
        }
        drip broken = {t->image.file.data, t->image.file.size, 0, 0, cut};
        CHECK_EQ(stream(&broken, t, 2, NULL, &rows, &error), FASTPAIR_ERROR_IO);
        CHECK_EQ(rows, first_rows);
    }
    uint8_t *longer = malloc(t->image.file.size + 1);
    memcpy(longer, t->image.file.data, t->image.file.size);
    longer[t->image.file.size] = 0;
    drip from = {longer, t->image.file.size + 1, 0, 0, UINT64_MAX};
    CHECK_EQ(stream(&from, t, 1, NULL, &rows, &error), FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(error.position, t->image.file.size);
    free(longer);
}

/* ---------------------------------------------------------------- opening */

static void try_info(const fastpair_column *column, const truth *t) {
    fastpair_column_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(info.rows, t->rows);
    CHECK_EQ(info.nulls, t->nulls);
    CHECK_EQ(info.decoded_bytes, t->size);
    CHECK_EQ(info.compressed_bytes, t->image.file.size);
    CHECK_EQ(info.chunks, t->image.chunks);
    CHECK_EQ(info.codes, t->image.codes);
    CHECK_EQ(info.dictionaries, t->image.dictionaries);
    CHECK(info.has_framing && info.separator == '\n' && info.final_separator == 1);
    uint64_t codes = 0, bytes = 0;
    for (uint64_t i = 0; i < 16; i++)
        codes += info.codes_by_length[i], bytes += info.codes_by_length[i] * (i + 1);
    CHECK_EQ(codes, info.codes);
    CHECK(bytes <= info.decoded_bytes && bytes > 0);
    /* A caller of an older version has a shorter struct: nothing behind it is written. */
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(fastpair_column_info, decoded_bytes);
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK(info.rows == t->rows && info.decoded_bytes == 0x5a5a5a5a5a5a5a5au);
    info.struct_size = 0;
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
}

static void try_open_options(const truth *t) {
    const uint8_t *data = t->image.file.data;
    uint64_t size = t->image.file.size;
    fastpair_column *column;
    fastpair_error error;
    fastpair_open_options options = {.struct_size = 0};
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    options.struct_size = sizeof options;
    options.cpu_level = 5;
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    options.cpu_level = 1;
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error), FASTPAIR_OK);
    fastpair_column_close(column);
    options.allocator.release = NULL;
    options.allocator.allocate = counting_allocate;
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    struct {
        fastpair_open_options known;
        uint64_t later;
    } longer = {{.struct_size = sizeof longer}, 0};
    CHECK_EQ(fastpair_column_open(data, size, &longer.known, &column, &error), FASTPAIR_OK);
    fastpair_column_close(column);
    longer.later = 1; /* an option of a later version that would be ignored */
    CHECK_EQ(fastpair_column_open(data, size, &longer.known, &column, &error), FASTPAIR_ERROR_UNSUPPORTED);
    CHECK_EQ(fastpair_column_open(data, size, NULL, NULL, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_open(NULL, size, NULL, &column, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
}

static void try_files(const truth *t, uint64_t *random) {
    char path[] = "/tmp/fastpair-test-XXXXXX";
    int file = mkstemp(path);
    fastpair_column *column = NULL;
    fastpair_error error;
    CHECK(file >= 0);
    CHECK_EQ(fastpair_column_open_file(path, NULL, &column, &error), FASTPAIR_ERROR_CORRUPT);
    CHECK(strstr(error.message, path) && strstr(error.message, "empty"));
    CHECK(write(file, t->image.file.data, t->image.file.size) == (ssize_t)t->image.file.size);
    CHECK_EQ(fastpair_column_open_file(path, NULL, &column, &error), FASTPAIR_OK);
    unlink(path); /* the mapping stays */
    try_column(column, t, random);
    fastpair_column_close(column);
    CHECK_EQ(fastpair_column_open_file(path, NULL, &column, &error), FASTPAIR_ERROR_IO);
    CHECK(column == NULL && strstr(error.message, path));
    CHECK_EQ(fastpair_column_open_file("/", NULL, &column, &error), FASTPAIR_ERROR_IO);
    CHECK(strstr(error.message, "directory") != NULL);
    CHECK_EQ(fastpair_column_open_file("/dev/null", NULL, &column, &error), FASTPAIR_ERROR_IO);
    close(file);
}

static void try_arguments(const fastpair_column *column, const truth *t) {
    uint8_t bytes[16];
    uint64_t size, offsets[4], outside[2] = {0, t->rows};
    fastpair_error error;
    fastpair_destination to = {bytes, sizeof bytes, NULL, 0, NULL, 0};
    CHECK_EQ(fastpair_column_rows_size(column, t->rows + 1, 0, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_rows_size(column, 1, t->rows, &size, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_rows_size(column, 1, UINT64_MAX, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_decode(column, 0, 0, &to, 1025, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_decode(column, 0, 0, &to, 0, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_validate(column, 1025, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    to.offset_bits = 32;
    CHECK_EQ(fastpair_column_decode(column, 0, 0, &to, 0, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    to.offset_bits = 16;
    to.offsets = offsets;
    CHECK_EQ(fastpair_column_decode(column, 0, 0, &to, 0, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_listed_size(column, outside, 2, &size, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(error.position, t->rows);
    CHECK_EQ(fastpair_column_decode_row(column, t->rows, bytes, 16, &size, NULL, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_decode_listed(column, NULL, 1, &to, 0, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
}

/* ---------------------------------------------------------------- memory */

static void failing_allocations(const truth *t) {
    uint64_t list[9000], rows;
    for (uint64_t i = 0; i < 9000; i++) list[i] = i * 7 % t->rows;
    for (uint64_t n = 0, done = 0; !done; n++) {
        counting memory;
        counting_start(&memory);
        memory.fail_at = n;
        fastpair_open_options options = {.struct_size = sizeof options, .allocator = counting_hooks(&memory)};
        fastpair_column *column = NULL;
        fastpair_error error;
        fastpair_status status =
            fastpair_column_open(t->image.file.data, t->image.file.size, &options, &column, &error);
        if (!status) {
            uint64_t size = 0;
            CHECK_EQ(fastpair_column_listed_size(column, list, 9000, &size, NULL), FASTPAIR_OK);
            uint8_t *bytes = malloc(size);
            fastpair_destination to = {bytes, size, NULL, 0, NULL, 0};
            status = fastpair_column_decode_listed(column, list, 9000, &to, 2, &error);
            if (!status) status = fastpair_column_validate(column, 2, &error);
            free(bytes);
        }
        if (status) CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        done = !status;
        CHECK(column || status);
        fastpair_column_close(column);
        CHECK_EQ(memory.live, 0);
    }
    for (uint64_t n = 0, done = 0; !done; n++) {
        counting memory;
        counting_start(&memory);
        memory.fail_at = n;
        fastpair_allocator hooks = counting_hooks(&memory);
        drip from = {t->image.file.data, t->image.file.size, 0, 0, UINT64_MAX};
        fastpair_error error;
        fastpair_status status = stream(&from, t, 3, &hooks, &rows, &error);
        /* A buffer that cannot be doubled is asked for at its plain size, so one failure may do no harm. */
        if (status) CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        done = memory.calls <= n;
        if (done) CHECK_EQ(status, FASTPAIR_OK);
        CHECK_EQ(memory.live, 0);
    }
}

/* Dictionaries that claim 16-bit codes and hold one token: 1.1 MiB of tables for 192 bytes of file. */
static void wide_dictionaries(void) {
    truth t;
    truth_begin(&t, 64, 0);
    for (int i = 0; i < 100; i++) {
        forge_dictionary d = {.codec = 1, .longest = 16, .slots = 65536, .tokens = 1, .runs = 1, .bits = 16};
        uint8_t *run = forge_append(&d.section, NULL, 9);
        run[6] = 1, run[8] = 'x';
        forge_add_dictionary(&t.image, &d);
    }
    forge_finish(&t.image);
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options, .allocator = counting_hooks(&memory)};
    fastpair_column *column;
    fastpair_error error;
    uint64_t rows;
    CHECK_EQ(fastpair_column_open(t.image.file.data, t.image.file.size, &options, &column, &error),
             FASTPAIR_ERROR_LIMIT);
    CHECK(memory.live == 0 && memory.peak_bytes < 64 * t.image.file.size + (4u << 20));
    drip from = {t.image.file.data, t.image.file.size, 0, 0, UINT64_MAX};
    CHECK_EQ(stream(&from, NULL, 1, &options.allocator, &rows, &error), FASTPAIR_ERROR_LIMIT);
    CHECK(memory.live == 0 && memory.peak_bytes < 64 * t.image.file.size + (4u << 20));
    truth_free(&t);
}

/* A header that claims a large chunk, of which a few bytes arrive. */
static void claims(uint64_t *random) {
    truth t;
    truth_begin(&t, 64, 0);
    uint32_t bits = add_dictionary(&t, 300, random), length = 0x70000000;
    add_chunk(&t, 10, 300, bits, 32, 9, 0, random);
    uint64_t before = t.image.file.size;
    forge_chunk c = forge_stored_chunk("few", 3, &length, 1);
    forge_add_chunk(&t.image, &c);
    uint8_t *h = t.image.file.data + before;
    uint64_t block_bytes = 320 + (uint64_t)length + 64;
    forge_put(h + 8, block_bytes, 8), forge_put(h + 48, length, 8);
    forge_put(h + 208, 320, 8), forge_put(h + 216, length, 8), forge_put(h + 256, 320 + length, 8);
    forge_put(h + 312, XXH3_64bits(h, 312), 8);
    counting memory;
    counting_start(&memory);
    fastpair_allocator hooks = counting_hooks(&memory);
    drip from = {t.image.file.data, t.image.file.size, 0, 0, UINT64_MAX};
    fastpair_error error;
    uint64_t rows;
    CHECK_EQ(stream(&from, &t, 2, &hooks, &rows, &error), FASTPAIR_ERROR_CORRUPT);
    CHECK(rows == 10 && strstr(error.message, "inside a chunk") != NULL);
    CHECK(memory.peak_bytes < 8u << 20);
    truth_free(&t);
}

/* ---------------------------------------------------------------- lies in the sections */

/* Random nonsense in sections of a column large enough for many windows of work. With every checksum made right, decoding
 * must stay in its memory; and whether it fails, and how, must not depend on the number of threads. */
static void lying_sections(uint64_t *random) {
    truth t;
    truth_begin(&t, 64, 0);
    uint32_t bits = add_dictionary(&t, 200, random);
    add_chunk(&t, 900, 200, bits, 32, 200, 5, random);
    add_chunk(&t, 900, 200, bits, 1024, 200, 5, random);
    forge_finish(&t.image);
    uint64_t size = t.image.file.size, list[500];
    uint8_t *copy = malloc(size);
    for (int attempt = 0; attempt < 200; attempt++) {
        memcpy(copy, t.image.file.data, size);
        uint64_t chunk = forge_block(copy, size, "FPCH", check_random(random) % 2);
        uint8_t *entry = copy + chunk + 208 + 24 * (check_random(random) % 4);
        uint64_t length = forge_get(entry + 8, 8), changes = 1 + check_random(random) % 3;
        uint8_t *section = copy + chunk + forge_get(entry, 8);
        uint64_t narrow =
            attempt % 2 && length > 64 ? 64 : length; /* the first bytes: directories, positions */
        for (uint64_t i = 0; i < changes; i++)
            section[check_random(random) % narrow] = (uint8_t)check_random(random);
        forge_reseal(copy, size);
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(copy, size, NULL, &column, NULL), FASTPAIR_OK);
        guard bytes = guard_make(t.size), offsets = guard_make((t.rows + 1) * 8),
              validity = guard_make((t.rows + 7) / 8);
        fastpair_error first = {.message = ""}, error = {.message = ""};
        fastpair_destination to = {bytes.data, t.size, offsets.data, 64, validity.data, 0};
        fastpair_status valid = fastpair_column_validate(column, 2, &error), one;
        one = fastpair_column_decode(column, 0, t.rows, &to, 1, &first);
        if (valid == FASTPAIR_OK) CHECK_EQ(one, FASTPAIR_OK);
        for (uint32_t threads = 2; threads < 4; threads++) {
            error.message[0] = 0;
            CHECK_EQ(fastpair_column_decode(column, 0, t.rows, &to, threads, &error), one);
            CHECK(!strcmp(first.message, error.message));
        }
        for (uint64_t i = 0; one == FASTPAIR_OK && i < t.rows; i++)
            CHECK(((uint64_t *)(void *)offsets.data)[i] <= ((uint64_t *)(void *)offsets.data)[i + 1]);
        for (uint64_t i = 0; i < 500; i++) list[i] = check_random(random) % t.rows;
        uint64_t listed = 0;
        if (fastpair_column_listed_size(column, list, 500, &listed, NULL) == FASTPAIR_OK &&
            listed < 1u << 24) {
            guard some = guard_make(listed);
            fastpair_destination there = {some.data, listed, NULL, 0, NULL, 0};
            one = fastpair_column_decode_listed(column, list, 500, &there, 1, &first);
            CHECK_EQ(fastpair_column_decode_listed(column, list, 500, &there, 2, &error), one);
            CHECK(guard_free(&some));
        }
        CHECK(guard_free(&bytes) && guard_free(&offsets) && guard_free(&validity));
        fastpair_column_close(column);
    }
    free(copy);
    truth_free(&t);
}

/* A first row that begins at 1 and ends where it should: only its start is wrong. */
static void first_row_not_at_0(void) {
    uint32_t lengths[3] = {4, 2, 1};
    truth t;
    truth_begin(&t, 64, 0);
    forge_chunk c = forge_stored_chunk("abcdefg", 7, lengths, 3);
    forge_put(c.sections[FORGE_LENGTHS].data, 1, 4);
    forge_put(c.sections[FORGE_LENGTHS].data + 16, 3, 4);
    forge_add_chunk(&t.image, &c);
    forge_finish(&t.image);
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(t.image.file.data, t.image.file.size, NULL, &column, NULL), FASTPAIR_OK);
    uint8_t bytes[7];
    uint64_t offsets[4], size;
    fastpair_destination to = {bytes, sizeof bytes, offsets, 64, NULL, 0};
    CHECK_EQ(fastpair_column_decode(column, 0, 3, &to, 1, NULL), FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(fastpair_column_decode_row(column, 0, bytes, 7, &size, NULL, NULL), FASTPAIR_ERROR_CORRUPT);
    CHECK_EQ(fastpair_column_validate(column, 1, NULL), FASTPAIR_ERROR_CORRUPT);
    fastpair_column_close(column);
    truth_free(&t);
}

/* 2 GiB of decoded bytes in 16 MiB of codes: 32-bit offsets do not reach, and positions pass 2^31. */
static void two_gigabytes(void) {
    static const char *const tokens[2] = {"0123456789abcdef", "x"};
    uint32_t lengths[3] = {(1u << 31) - 32, 16, 16};
    const uint64_t codes = 1u << 27, batches = codes / 1024;
    truth t;
    truth_begin(&t, 64, 0);
    forge_dictionary d = forge_plain_dictionary(tokens, 2);
    forge_add_dictionary(&t.image, &d);
    forge_chunk c = {.encoding = 1, .rows = 3, .codes = codes, .batch = 1024, .group = 4, .largest = 16384};
    c.decoded = codes * 16;
    c.by_length[15] = codes;
    forge_append(&c.sections[FORGE_CODES], NULL, codes / 8);
    uint8_t *sidecar = forge_append(&c.sections[FORGE_SIDECAR], NULL, batches / 4 * 4 + batches * 2);
    for (uint64_t k = 0; k < batches; k++) {
        forge_put(sidecar + k / 4 * 4, k / 4 * 65536, 4);
        forge_put(sidecar + batches / 4 * 4 + k * 2, k % 4 * 16384, 2);
    }
    c.sections[FORGE_LENGTHS] = forge_lengths(lengths, 3, 32);
    forge_add_chunk(&t.image, &c);
    forge_finish(&t.image);
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(t.image.file.data, t.image.file.size, NULL, &column, NULL), FASTPAIR_OK);
    uint8_t bytes[33];
    uint32_t offsets[4];
    uint64_t size;
    fastpair_destination to = {bytes, UINT64_MAX, offsets, 32, NULL, 0};
    CHECK_EQ(fastpair_column_rows_size(column, 0, 3, &size, NULL), FASTPAIR_OK);
    CHECK_EQ(size, 1u << 31);
    CHECK_EQ(fastpair_column_decode(column, 0, 3, &to, 1, NULL), FASTPAIR_ERROR_LIMIT);
    to.bytes_capacity = 32;
    CHECK_EQ(fastpair_column_decode(column, 0, 2, &to, 1, NULL), FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    memset(bytes, 7, sizeof bytes);
    CHECK_EQ(fastpair_column_decode(column, 1, 2, &to, 2, NULL), FASTPAIR_OK);
    CHECK(!memcmp(bytes, "0123456789abcdef0123456789abcdef\7", 33));
    CHECK(offsets[0] == 0 && offsets[1] == 16 && offsets[2] == 32);
    CHECK_EQ(fastpair_column_validate(column, 2, NULL), FASTPAIR_OK);
    fastpair_column_close(column);
    truth_free(&t);
}

/* Lies of the file header, the footer and the trailer, with every checksum made right. */
static void lying_frame(uint64_t *random) {
    truth t = make_mixed(0, 16, 64, random);
    uint64_t size = t.image.file.size, footer = forge_block(t.image.file.data, size, "FPFT", 0), rows;
    uint64_t chunks = footer + 112 + 24 * t.image.dictionaries;
    struct {
        uint64_t at, size, add;
    } lies[] = {{8, 2, 1},
                {10, 2, 1},
                {12, 4, 64},
                {16, 1, 1},
                {18, 1, 1},
                {55, 1, 1},
                {footer + 4, 4, 8},
                {footer + 8, 8, 24},
                {footer + 16, 8, 1},
                {footer + 16, 8, -1},
                {footer + 24, 8, 1},
                {footer + 24, 8, -1},
                {footer + 32, 8, 1},
                {footer + 40, 8, 1},
                {footer + 48, 8, 1},
                {footer + 56, 8, 1},
                {footer + 64, 1, 1},
                {footer + 65, 1, 1},
                {footer + 103, 1, 1},
                {footer + 112, 8, 64},
                {footer + 120, 8, 64},
                {footer + 132, 4, 1},
                {chunks, 8, 64},
                {chunks + 8, 8, 64},
                {chunks + 8, 8, -64},
                {chunks + 8, 8, 1},
                {chunks + 16, 8, 1},
                {chunks + 24, 8, 1},
                {chunks + 24, 8, 1ull << 63},
                {size - 32, 8, 64},
                {size - 32, 8, -64},
                {size - 24, 8, 1}};
    uint8_t *copy = malloc(size);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(copy, t.image.file.data, size);
        uint8_t *field = copy + lies[i].at;
        forge_put(field, forge_get(field, (int)lies[i].size) + lies[i].add, (int)lies[i].size);
        forge_reseal(copy, size);
        fastpair_column *column = NULL;
        fastpair_error error;
        fastpair_status expected = lies[i].at < 12 ? FASTPAIR_ERROR_UNSUPPORTED : FASTPAIR_ERROR_CORRUPT;
        fastpair_status status = fastpair_column_open(copy, size, NULL, &column, &error);
        CHECK_EQ(status, expected);
        CHECK(column == NULL && error.position < size);
        drip from = {copy, size, 0, 0, UINT64_MAX};
        CHECK_EQ(stream(&from, NULL, 1, NULL, &rows, &error), expected);
        if (status != expected) fprintf(stderr, "  ^ lie %zu\n", i);
    }
    /* Rows moved from one chunk's entry to another's: the sums still agree. */
    memcpy(copy, t.image.file.data, size);
    forge_put(copy + chunks + 16, forge_get(copy + chunks + 16, 8) + 1, 8);
    forge_put(copy + chunks + 48, forge_get(copy + chunks + 48, 8) - 1, 8);
    forge_reseal(copy, size);
    fastpair_column *column = NULL;
    fastpair_error error;
    CHECK_EQ(fastpair_column_open(copy, size, NULL, &column, &error), FASTPAIR_ERROR_CORRUPT);
    drip from = {copy, size, 0, 0, UINT64_MAX};
    CHECK_EQ(stream(&from, NULL, 1, NULL, &rows, &error), FASTPAIR_ERROR_CORRUPT);
    free(copy);
    truth_free(&t);
}

/* Every byte of a small image, altered without new checksums: opening, validating or streaming must notice. */
static void every_byte(uint64_t *random) {
    truth t = make_mixed(0, 16, 64, random);
    uint64_t size = t.image.file.size, unnoticed = 0, streamed = 0, rows;
    uint8_t *copy = malloc(size);
    for (uint64_t i = 0; i < size; i += 1 + (i > 2000 ? check_random(random) % 97 : 0)) {
        memcpy(copy, t.image.file.data, size);
        copy[i] ^= (uint8_t)(1 + check_random(random) % 255);
        fastpair_column *column = NULL;
        fastpair_status status = fastpair_column_open(copy, size, NULL, &column, NULL);
        if (!status) status = fastpair_column_validate(column, 1, NULL);
        unnoticed += status == FASTPAIR_OK;
        fastpair_column_close(column);
        drip from = {copy, size, 0, 0, UINT64_MAX};
        fastpair_error error;
        streamed += stream(&from, NULL, 1 + (uint32_t)(i % 3), NULL, &rows, &error) == FASTPAIR_OK;
    }
    CHECK_EQ(unnoticed, 0);
    CHECK_EQ(streamed, 0);
    free(copy);
    truth_free(&t);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 31, random = seed;
    printf("seed %" PRIu64 "\n", seed);
    truth none;
    truth_begin(&none, 64, 1);
    none.image.final_separator = 0;
    forge_finish(&none.image);
    CHECK_EQ(none.image.file.size, 208);
    for (int i = 0; i < 3; i++) {
        truth t = make_mixed(i == 1 ? 1500000 : 20000, i == 1 ? 350 : 60, i == 2 ? 4096 : 64, &random);
        fastpair_column *column = NULL;
        fastpair_error error = {.message = ""};
        CHECK_EQ(fastpair_column_open(t.image.file.data, t.image.file.size, NULL, &column, &error),
                 FASTPAIR_OK);
        if (!column) fprintf(stderr, "  ^ %s\n", error.message);
        if (column) {
            try_column(column, &t, &random);
            try_info(column, &t);
            try_arguments(column, &t);
        }
        fastpair_column_close(column);
        try_stream(&t);
        if (i == 0) {
            try_open_options(&t);
            try_files(&t, &random);
            failing_allocations(&t);
        }
        truth_free(&t);
    }
    fastpair_column *empty = NULL;
    CHECK_EQ(fastpair_column_open(none.image.file.data, 208, NULL, &empty, NULL), FASTPAIR_OK);
    try_column(empty, &none, &random);
    fastpair_column_close(empty);
    for (uint64_t cut = 0; cut < 208; cut++)
        CHECK_EQ(fastpair_column_open(none.image.file.data, cut, NULL, &empty, NULL), FASTPAIR_ERROR_CORRUPT);
    truth_free(&none);
    wide_dictionaries();
    claims(&random);
    first_row_not_at_0();
    two_gigabytes();
    lying_sections(&random);
    lying_frame(&random);
    every_byte(&random);
    return check_done();
}
