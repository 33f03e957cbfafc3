/* test_column.c - open columns: every way of opening and decoding gives the rows that were put in,
 * in memory of exactly the right size, whatever the threads; and calls that cannot be are
 * refused. */
#include "counting.h"
#include "guard.h"
#include "truth.h"

#include <unistd.h>

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
    for (uint64_t i = count; to->validity && i % 8; i++)
        wrong += to->validity[i / 8] >> (i % 8) & 1;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(to->nulls, nulls);
}

/* Decodes a range (rows NULL) or a list into memory of exactly the right size. (Eight parameters:
 * all that one decode call can be asked.) */
static void try_decode(const fastpair_column *column, const truth *t, const uint64_t *rows,
                       uint64_t first, uint64_t count, uint32_t offset_bits, int validity,
                       uint32_t threads) {
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
    fastpair_destination to =
        to_memory(bytes.data, size, offsets.data, offset_bits, validity ? bitmap.data : NULL);
    to.nulls = 9;
    fastpair_status status = rows ? decode_listed_with(threads, column, rows, count, &to, &error)
                                  : decode_with(threads, column, first, count, &to, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status)
        fprintf(stderr, "  ^ %s\n", error.message);
    else
        check_destination(t, &to, rows, first, count);
    if (size) {
        to.bytes_capacity = size - 1;
        CHECK_EQ(rows ? decode_listed_with(threads, column, rows, count, &to, &error)
                      : decode_with(threads, column, first, count, &to, &error),
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
    CHECK_EQ(validate_with(2, column, NULL), FASTPAIR_OK);
    for (uint32_t i = 0; i < 12; i++)
        try_decode(column, t, NULL, 0, t->rows, bits[i % 3], i / 3 % 2, i % 4);
    for (uint32_t i = 0; i < 40 && t->rows; i++) {
        uint64_t first = check_random(random) % t->rows,
                 count = check_random(random) % (t->rows - first + 1);
        if (i % 2) count = count < 20 ? count : check_random(random) % 20;
        try_decode(column, t, NULL, first, count, bits[check_random(random) % 3], i & 1, i % 3);
    }
    try_decode(column, t, NULL, t->rows, 0, 64, 1, 1);
    for (uint32_t i = 0; i < 200 && t->rows; i++)
        try_row(column, t, check_random(random) % t->rows);
    uint64_t *list = malloc(12000 * sizeof *list);
    for (uint32_t i = 0; i < 12 && t->rows; i++) {
        uint64_t count = i < 3 ? i : check_random(random) % 12000;
        for (uint64_t j = 0; j < count; j++) list[j] = check_random(random) % t->rows;
        if (i % 3 == 0) qsort(list, count, sizeof *list, ascending);
        if (i % 3 == 1) /* stretches of neighbours, some backwards */
            for (uint64_t j = 1; j < count; j++)
                if (list[j] % 9)
                    list[j] = (list[j - 1] + (list[j] % 7 ? 1 : t->rows - 1)) % t->rows;
        try_decode(column, t, list, 0, count, bits[i % 3], i & 1, i % 4);
    }
    free(list);
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
    uint64_t codes = 0;
    for (uint64_t i = 0; i < 16; i++) codes += info.codes_by_length[i];
    CHECK_EQ(codes, info.codes);
    CHECK(info.coded_bytes <= info.decoded_bytes && info.coded_bytes >= codes);
    /* A struct shorter than the first version had is an uninitialised size: nothing is written. */
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(fastpair_column_info, decoded_bytes);
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK(info.rows == 0x5a5a5a5a5a5a5a5au); /* nothing was written */
    info.struct_size = 0;
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
}

static void try_open_options(const truth *t) {
    const uint8_t *data = t->image.file.data;
    uint64_t size = t->image.file.size;
    fastpair_column *column;
    fastpair_error error;
    fastpair_open_options options = {.struct_size = 0};
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    options.struct_size = sizeof options;
    options.cpu_level = (fastpair_cpu_level)5;
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    options.cpu_level = 1;
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error), FASTPAIR_OK);
    fastpair_column_close(column);
    options.allocator.release = NULL;
    options.allocator.allocate = counting_allocate;
    CHECK_EQ(fastpair_column_open(data, size, &options, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    struct {
        fastpair_open_options known;
        uint64_t later;
    } longer = {{.struct_size = sizeof longer}, 0};
    CHECK_EQ(fastpair_column_open(data, size, &longer.known, &column, &error), FASTPAIR_OK);
    fastpair_column_close(column);
    longer.later = 1; /* an option of a later version that would be ignored */
    CHECK_EQ(fastpair_column_open(data, size, &longer.known, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_open(data, size, NULL, NULL, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_open(NULL, size, NULL, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
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
    fastpair_destination to = to_memory(bytes, sizeof bytes, NULL, 0, NULL);
    CHECK_EQ(fastpair_column_rows_size(column, t->rows + 1, 0, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_rows_size(column, 1, t->rows, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_rows_size(column, 1, UINT64_MAX, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_with(0, column, 0, 0, &to, &error), FASTPAIR_OK);
    to.offset_bits = 32;
    CHECK_EQ(decode_with(0, column, 0, 0, &to, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    to.offset_bits = 16;
    to.offsets = offsets;
    CHECK_EQ(decode_with(0, column, 0, 0, &to, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_listed_size(column, outside, 2, &size, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(error.position, t->rows);
    CHECK_EQ(fastpair_column_decode_row(column, t->rows, bytes, 16, &size, NULL, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(decode_listed_with(0, column, NULL, 1, &to, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
}

/* ---------------------------------------------------------------- limits */

/* Any allocation may fail. */
static void failing_allocations(const truth *t) {
    uint64_t list[9000];
    for (uint64_t i = 0; i < 9000; i++) list[i] = i * 7 % t->rows;
    for (uint64_t n = 0, done = 0; !done; n++) {
        counting memory;
        counting_start(&memory);
        memory.fail_at = n;
        fastpair_open_options options = {.struct_size = sizeof options,
                                         .allocator = counting_hooks(&memory)};
        fastpair_column *column = NULL;
        fastpair_error error;
        fastpair_status status =
            fastpair_column_open(t->image.file.data, t->image.file.size, &options, &column, &error);
        if (!status) {
            uint64_t size = 0;
            status = fastpair_column_listed_size(column, list, 9000, &size, NULL);
            CHECK(size || status);
            uint8_t *bytes = malloc(size + 1);
            fastpair_destination to = to_memory(bytes, size, NULL, 0, NULL);
            if (!status) status = decode_listed_with(2, column, list, 9000, &to, &error);
            if (!status) status = validate_with(2, column, &error);
            free(bytes);
        }
        if (status) CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        done = !status;
        CHECK(column || status);
        fastpair_column_close(column);
        CHECK_EQ(memory.live, 0);
    }
}

/* 2 GiB of decoded bytes in 16 MiB of codes: 32-bit offsets do not reach, and positions pass
 * 2^31. */
static void two_gigabytes(void) {
    static const char *const tokens[2] = {"0123456789abcdef", "x"};
    uint32_t lengths[3] = {(1u << 31) - 32, 16, 16};
    const uint64_t codes = 1u << 27, batches = codes / 1024;
    truth t;
    truth_begin(&t, 64, 0);
    forge_dictionary d = forge_plain_dictionary(tokens, 2);
    forge_add_dictionary(&t.image, &d);
    forge_chunk c = {
        .encoding = 1, .rows = 3, .codes = codes, .batch = 1024, .group = 4, .largest = 16384};
    c.largest_pair = 32768, c.largest_four = 65536;
    c.decoded = codes * 16;
    c.by_length[9] = codes;
    forge_append(&c.sections[FORGE_CODES], NULL, codes / 8);
    uint8_t *sidecar =
        forge_append(&c.sections[FORGE_SIDECAR], NULL, batches / 4 * 4 + batches * 2);
    for (uint64_t k = 0; k < batches; k++) {
        forge_put(sidecar + k / 4 * 4, k / 4 * 65536, 4);
        forge_put(sidecar + batches / 4 * 4 + k * 2, k % 4 * 16384, 2);
    }
    c.sections[FORGE_LENGTHS] = forge_lengths(&(forge_rows){lengths, NULL, 3}, 32);
    forge_add_chunk(&t.image, &c);
    forge_finish(&t.image);
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(t.image.file.data, t.image.file.size, NULL, &column, NULL),
             FASTPAIR_OK);
    uint8_t bytes[33];
    uint32_t offsets[4];
    uint64_t size;
    fastpair_destination to = to_memory(bytes, UINT64_MAX, offsets, 32, NULL);
    CHECK_EQ(fastpair_column_rows_size(column, 0, 3, &size, NULL), FASTPAIR_OK);
    CHECK_EQ(size, 1u << 31);
    CHECK_EQ(decode_with(1, column, 0, 3, &to, NULL), FASTPAIR_ERROR_LIMIT);
    to.bytes_capacity = 32;
    CHECK_EQ(decode_with(1, column, 0, 2, &to, NULL), FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    memset(bytes, 7, sizeof bytes);
    CHECK_EQ(decode_with(2, column, 1, 2, &to, NULL), FASTPAIR_OK);
    CHECK(!memcmp(bytes, "0123456789abcdef0123456789abcdef\7", 33));
    CHECK(offsets[0] == 0 && offsets[1] == 16 && offsets[2] == 32);
    CHECK_EQ(validate_with(2, column, NULL), FASTPAIR_OK);
    fastpair_column_close(column);
    truth_free(&t);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 31, random = seed;
    printf("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < 3; i++) {
        truth t =
            truth_mixed(i == 1 ? 1500000 : 20000, i == 1 ? 350 : 60, i == 2 ? 4096 : 64, &random);
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
        if (i == 0) {
            try_open_options(&t);
            try_files(&t, &random);
            failing_allocations(&t);
        }
        truth_free(&t);
    }
    truth none;
    truth_begin(&none, 64, 1);
    none.image.final_separator = 0;
    forge_finish(&none.image);
    CHECK_EQ(none.image.file.size, 208);
    fastpair_column *empty = NULL;
    CHECK_EQ(fastpair_column_open(none.image.file.data, 208, NULL, &empty, NULL), FASTPAIR_OK);
    try_column(empty, &none, &random);
    fastpair_column_close(empty);
    for (uint64_t cut = 0; cut < 208; cut++)
        CHECK_EQ(fastpair_column_open(none.image.file.data, cut, NULL, &empty, NULL),
                 FASTPAIR_ERROR_CORRUPT);
    truth_free(&none);
    two_gigabytes();
    return check_done();
}
