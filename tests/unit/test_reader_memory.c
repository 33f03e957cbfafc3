/* test_reader_memory.c - the streaming reader never takes more than its limit, whatever the chunks
 * say: large chunks come in parts, tables are dropped and made again, and what cannot be held is
 * LIMIT with the remedy. The rows are the same with every limit and every number of threads. */
#include "counting.h"
#include "truth.h"

/* Reads a column within a limit; compares its rows with `t` if it is not NULL, counts them and the
 * views they came in. The peak that the hooks see is checked. */
typedef struct result {
    fastpair_status status;
    uint64_t rows, views, bytes;
    fastpair_error error;
} result;

static result read_within(const forge_bytes *image, const truth *t, uint64_t limit,
                          uint32_t threads) {
    result r = {FASTPAIR_OK, 0, 0, 0, {.message = ""}};
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = counting_hooks(&memory),
                                     .threads = threads,
                                     .memory_limit = limit};
    drip from = {image->data, image->size, 0, 0, UINT64_MAX};
    fastpair_source source = {drip_read, &from};
    fastpair_reader *reader = NULL;
    uint64_t wrong = 0;
    int at_end = 0;
    r.status = fastpair_reader_open(&source, &options, &reader, &r.error);
    while (!r.status && !at_end) {
        fastpair_rows got = {.struct_size = sizeof got};
        r.status = fastpair_reader_next(reader, &got, &at_end, &r.error);
        if (r.status) CHECK(got.rows == 0 && got.bytes == NULL && at_end == 0);
        const uint64_t *offsets = got.offsets;
        r.views += got.rows > 0;
        if (got.rows) wrong += offsets[0] != 0, r.bytes += offsets[got.rows];
        for (uint64_t i = 0; i < got.rows; i++, r.rows++) {
            uint64_t length = offsets[i + 1] - offsets[i], bit = got.validity_bit_offset + i;
            if (!t) continue;
            wrong += length != t->offsets[r.rows + 1] - t->offsets[r.rows] ||
                     memcmp(got.bytes + offsets[i], t->bytes + t->offsets[r.rows], length) ||
                     (got.validity ? got.validity[bit / 8] >> bit % 8 & 1 : 1) != t->valid[r.rows];
        }
    }
    fastpair_reader_close(reader);
    CHECK_EQ(wrong, 0);
    CHECK(memory.peak_bytes <= limit);
    if (memory.peak_bytes > limit)
        fprintf(stderr, "  ^ peak %llu\n", (unsigned long long)memory.peak_bytes);
    CHECK_EQ(memory.live, 0);
    return r;
}

static void must_say_limit(const result *r) {
    CHECK_EQ(r->status, FASTPAIR_ERROR_LIMIT);
    CHECK(strstr(r->error.message, "memory_limit") && strstr(r->error.message, "--memory"));
}

/* Coded and stored chunks of some megabytes, between small ones. */
static void large_chunks(uint64_t *random) {
    truth t;
    truth_begin(&t, 64, 1);
    truth_add_dictionary(&t, 300, random);
    truth_chunk small = {.rows = 50, .batch = 96, .longest_row = 9, .null_percent = 10};
    truth_chunk large = {.rows = 50000, .batch = 256, .longest_row = 14, .null_percent = 20};
    for (int i = 0; i < 6; i++) truth_add_coded(&t, &small, random);
    truth_add_coded(&t, &large, random);
    truth_add_stored(&t, &small, random);
    large.rows = 70000, large.longest_row = 1;
    truth_add_stored(&t, &large, random);
    truth_add_coded(&t, &small, random);
    forge_finish(&t.image);
    uint64_t views = 0;
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        result whole = read_within(&t.image.file, &t, 64u << 20, threads);
        CHECK(whole.status == FASTPAIR_OK && whole.rows == t.rows && whole.views == 10);
        result parts = read_within(&t.image.file, &t, 2u << 20, threads);
        CHECK(parts.status == FASTPAIR_OK && parts.rows == t.rows && parts.views > 11);
        views += parts.views;
        result none = read_within(&t.image.file, NULL, 300u << 10, threads);
        must_say_limit(&none);
        result tiny = read_within(&t.image.file, NULL, 1000, threads);
        must_say_limit(&tiny);
    }
    printf("%llu views\n", (unsigned long long)views);
    truth_free(&t);
}

/* Chunks of all kinds, of which a few fit at once. Every limit gives all rows or says LIMIT, and
 * the rows before it are right. */
static void every_limit(uint64_t *random) {
    truth t = truth_mixed(300000, 200, 64, random);
    uint64_t good = 0;
    for (uint64_t limit = 60000; limit < 3000000; limit += limit / 7) {
        result r = read_within(&t.image.file, &t, limit, 1 + (uint32_t)(limit % 4));
        if (r.status) must_say_limit(&r);
        CHECK_EQ(r.rows == t.rows, r.status == FASTPAIR_OK);
        good += r.status == FASTPAIR_OK;
    }
    CHECK(good > 5);
    truth_free(&t);
}

/* Codes of one bit and tokens of 16 bytes: 128 decoded bytes for each byte of file. In rows of
 * `row_codes` codes. */
static forge_bytes dense(uint64_t codes, uint32_t row_codes) {
    static const char *const tokens[2] = {"0123456789abcdef", "y"};
    static const uint8_t length_of[2] = {16, 1};
    uint32_t *numbers = calloc(codes, sizeof *numbers);
    uint32_t rows = (uint32_t)(codes / row_codes), *lengths = malloc(rows * sizeof *lengths);
    for (uint32_t i = 0; i < rows; i++) lengths[i] = 16 * row_codes;
    forge_dictionary d = forge_plain_dictionary(tokens, 2);
    forge_chunk c = forge_coded_chunk(&(forge_codes){numbers, codes, 1, length_of, 1024},
                                      &(forge_rows){lengths, NULL, rows});
    free(numbers), free(lengths);
    return forge_column(&d, &c);
}

static void dense_chunk(void) {
    enum { CODES = 1 << 20 };
    forge_bytes image = dense(CODES, 64);
    CHECK(image.size < 300000);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        result r = read_within(&image, NULL, 1u << 20, threads);
        CHECK_EQ(r.status, FASTPAIR_OK);
        CHECK(r.rows == CODES / 64 && r.bytes == 16ull * CODES && r.views > 16);
    }
    free(image.data);
    /* Rows of 1 MiB: one at a time, and none within less. */
    image = dense(CODES, 1 << 16);
    result one = read_within(&image, NULL, 2u << 20, 3),
           none = read_within(&image, NULL, 1u << 20, 3);
    CHECK(one.status == FASTPAIR_OK && one.rows == 16 && one.views == 16);
    must_say_limit(&none);
    CHECK(strstr(none.error.message, "a row takes") != NULL);
    free(image.data);
}

/* 16 bytes of file for 256 rows: offsets take 128 times as much. */
static void empty_rows(void) {
    enum { ROWS = 1 << 20 };
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_chunk c = {.dictionary = 0xffffffffu, .rows = ROWS};
    forge_append(&c.sections[FORGE_LENGTHS], NULL, ROWS / 256 * 16);
    forge_add_chunk(&f, &c);
    forge_finish(&f);
    result r = read_within(&f.file, NULL, 1u << 20, 2);
    CHECK(r.status == FASTPAIR_OK && r.rows == ROWS && r.bytes == 0 && r.views > 8);
    free(f.file.data);
}

/* A hundred dictionaries, whose tables take 80 KB each. */
static void many_dictionaries(void) {
    static forge_classes classes;
    forge f;
    forge_begin(&f, 64, 0, 0);
    for (uint32_t i = 0; i < 100; i++) {
        forge_dictionary d = forge_class_dictionary(&classes, 12, 16, 0, i);
        forge_add_dictionary(&f, &d);
        forge_chunk c = forge_class_chunk(&classes, 100, 32, i);
        c.dictionary = i;
        forge_add_chunk(&f, &c);
    }
    forge_finish(&f);
    uint64_t tables = 100ull * (18 << 12), limit = f.file.size * 2 + (1u << 20);
    CHECK(limit < tables);
    result r = read_within(&f.file, NULL, limit, 2);
    CHECK_EQ(r.status, FASTPAIR_OK);
    CHECK(r.rows > 100);
    result all = read_within(&f.file, NULL, 4 * tables, 2);
    CHECK(all.status == FASTPAIR_OK && all.rows == r.rows && all.bytes == r.bytes);
    free(f.file.data), free(f.entries[0].data), free(f.entries[1].data);
}

/* What the caller's hooks refuse is OUT_OF_MEMORY, in parts too. */
static void failing_hooks(uint64_t *random) {
    truth t;
    truth_begin(&t, 64, 0);
    truth_add_dictionary(&t, 9, random);
    truth_add_coded(&t, &(truth_chunk){.rows = 40000, .batch = 256, .longest_row = 4}, random);
    forge_finish(&t.image);
    for (uint64_t n = 0, done = 0; !done; n++) {
        counting memory;
        counting_start(&memory);
        memory.fail_at = n, memory.fail_after_too = 1;
        fastpair_open_options options = {.struct_size = sizeof options,
                                         .allocator = counting_hooks(&memory),
                                         .memory_limit = 900000};
        drip from = {t.image.file.data, t.image.file.size, 0, 0, UINT64_MAX};
        fastpair_source source = {drip_read, &from};
        fastpair_reader *reader = NULL;
        fastpair_rows got = {.struct_size = sizeof got};
        int at_end = 0;
        fastpair_status status = fastpair_reader_open(&source, &options, &reader, NULL);
        while (!status && !at_end) status = fastpair_reader_next(reader, &got, &at_end, NULL);
        fastpair_reader_close(reader);
        done = memory.calls <= n;
        CHECK_EQ(status, done ? FASTPAIR_OK : FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(memory.live, 0);
    }
    truth_free(&t);
}

int main(void) {
    uint64_t random = 61;
    large_chunks(&random);
    every_limit(&random);
    dense_chunk();
    empty_rows();
    many_dictionaries();
    failing_hooks(&random);
    return check_done();
}
