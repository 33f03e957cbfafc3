/* test_sample.c - what training gets to see: everything of a small column, a fair part of a large
 * one. */
#include "calls.h"
#include "check.h"
#include "counting.h"
#include "parse.h"
#include "sample.h"

#define PIECE 4096u

/* A column of rows whose bytes tell where they come from. */
struct column {
    fastpair_rows rows;
    uint8_t *bytes;
    uint64_t *offsets;
};

/* Row i has size_of(i) bytes, each of them a hash of the row and the place in it. The first row
 * begins at `origin`. */
static struct column make_column(uint64_t rows, uint64_t (*size_of)(uint64_t row),
                                 uint64_t origin) {
    struct column made = {.offsets = malloc((rows + 1) * sizeof(uint64_t))};
    if (!made.offsets) abort();
    made.offsets[0] = origin;
    for (uint64_t row = 0; row < rows; row++)
        made.offsets[row + 1] = made.offsets[row] + size_of(row);
    made.bytes = malloc(made.offsets[rows] + 1);
    if (!made.bytes) abort();
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t i = made.offsets[row]; i < made.offsets[row + 1]; i++) {
            uint64_t state = row << 32 | (i - made.offsets[row]);
            made.bytes[i] = (uint8_t)check_random(&state);
        }
    made.rows = view_rows(rows, made.bytes, made.offsets);
    return made;
}

static void free_column(struct column *column) {
    free(column->bytes);
    free(column->offsets);
}

static uint64_t hash_piece(const uint8_t *bytes, uint64_t size) {
    uint64_t state = size;
    for (uint64_t i = 0; i < size; i++) {
        state ^= bytes[i];
        state = check_random(&state);
    }
    return check_random(&state);
}

/* What holds for every sample. Returns a sum over its pieces that does not depend on their
 * order. */
static uint64_t check_sample(const fp_sample *sample, uint64_t cap) {
    uint64_t at = 0, sum = 0;
    CHECK(sample->size <= cap);
    for (uint64_t i = 0; i < sample->pieces; i++) {
        CHECK(sample->lengths[i] > 0 && sample->lengths[i] <= PIECE);
        sum += hash_piece(sample->bytes + at, sample->lengths[i]);
        at += sample->lengths[i];
    }
    CHECK_EQ(at, sample->size);
    for (uint32_t i = 0; i < FP_SLACK; i++) CHECK_EQ(sample->bytes[sample->size + i], 0);
    return sum;
}

static int is_null(const fastpair_rows *rows, uint64_t row) {
    uint64_t bit = rows->validity_bit_offset + row;
    return rows->validity && !(rows->validity[bit / 8] >> (bit % 8) & 1);
}

/* The same sum over all pieces of a column. */
static uint64_t sum_of_column(const fastpair_rows *rows, uint64_t *bytes) {
    uint64_t sum = 0;
    *bytes = 0;
    for (uint64_t row = 0; row < rows->rows; row++) {
        if (is_null(rows, row)) continue;
        for (uint64_t at = fp_row_start(rows, row); at < fp_row_start(rows, row + 1); at += PIECE) {
            uint64_t left = fp_row_start(rows, row + 1) - at;
            sum += hash_piece(rows->bytes + at, left < PIECE ? left : PIECE);
        }
        *bytes += fp_row_start(rows, row + 1) - fp_row_start(rows, row);
    }
    return sum;
}

static fp_sample draw(const fastpair_rows *rows, uint64_t cap, uint64_t seed) {
    fastpair_allocator allocator;
    fp_sample sample;
    fp_allocator_resolve(NULL, &allocator, NULL);
    CHECK_EQ(fp_sample_open(rows, cap, seed, &allocator, &sample, NULL), FASTPAIR_OK);
    return sample;
}

static void drop(fp_sample *sample) {
    fastpair_allocator allocator;
    fp_allocator_resolve(NULL, &allocator, NULL);
    fp_sample_close(sample, &allocator);
    CHECK(!sample->bytes && !sample->lengths && !sample->size);
}

static uint64_t size_zero(uint64_t row) { return row * 0; }
static uint64_t size_one(uint64_t row) { return row * 0 + 1; }
static uint64_t size_short(uint64_t row) { return row * 7919 % 60; }
static uint64_t size_mixed(uint64_t row) {
    return row % 97 == 5 ? row * 31 % 30000 : row * 7919 % 300;
}
static uint64_t size_edges(uint64_t row) {
    return row % 3 * PIECE + row / 3 % 3 - (row % 3 ? 1 : 0);
}
static uint64_t size_huge(uint64_t row) { return row == 500 ? 3000000 : 20; }
static uint64_t size_text(uint64_t row) { return 8 + row * 7919 % 37; }

/* A column no larger than the cap is taken whole, whatever its rows. */
static void test_everything(void) {
    static uint64_t (*const sizes[])(uint64_t) = {size_one, size_short, size_mixed, size_edges,
                                                  size_huge};
    for (size_t kind = 0; kind < sizeof sizes / sizeof sizes[0]; kind++)
        for (uint64_t rows = 1; rows < 3000; rows = rows * 3 + 1)
            for (int nulls = 0; nulls < 2; nulls++) {
                struct column column = make_column(rows, sizes[kind], kind * 11);
                uint8_t validity[500];
                uint64_t state = rows, bytes;
                for (size_t i = 0; i < sizeof validity; i++)
                    validity[i] = (uint8_t)check_random(&state);
                if (nulls) column.rows.validity = validity, column.rows.validity_bit_offset = 13;
                uint64_t sum = sum_of_column(&column.rows, &bytes);
                fp_sample sample = draw(&column.rows, bytes + kind, rows);
                CHECK_EQ(sample.size, bytes);
                CHECK_EQ(sample.column_bytes, bytes);
                CHECK_EQ(check_sample(&sample, bytes), sum);
                drop(&sample);
                free_column(&column);
            }
}

static void test_nothing(void) {
    fastpair_rows none = {0};
    fp_sample sample = draw(&none, 1000, 1);
    CHECK(sample.pieces == 0 && sample.column_bytes == 0);
    check_sample(&sample, 0);
    drop(&sample);

    struct column empty = make_column(1000, size_zero, 5);
    empty.rows.bytes = NULL;
    sample = draw(&empty.rows, 1000, 1);
    CHECK_EQ(sample.pieces, 0);
    check_sample(&sample, 0);
    drop(&sample);
    free_column(&empty);

    struct column nulls = make_column(1000, size_short, 0);
    uint8_t validity[125] = {0};
    nulls.rows.validity = validity;
    sample = draw(&nulls.rows, 1000, 1);
    CHECK(sample.pieces == 0 && sample.column_bytes == 0);
    drop(&sample);
    nulls.rows.validity = NULL;
    sample = draw(&nulls.rows, 0, 1);
    CHECK_EQ(sample.size, 0);
    check_sample(&sample, 0);
    drop(&sample);
    free_column(&nulls);
}

/* A larger column gives nearly as much as asked for, from all over it, and no piece twice. */
static void test_part(void) {
    static uint64_t (*const sizes[])(uint64_t) = {size_one, size_text, size_mixed, size_huge};
    static const uint64_t rows[] = {400000, 60000, 12000, 100000};
    for (size_t kind = 0; kind < sizeof sizes / sizeof sizes[0]; kind++) {
        struct column column = make_column(rows[kind], sizes[kind], 3);
        uint64_t bytes = column.offsets[rows[kind]] - column.offsets[0];
        for (uint64_t cap = 1; cap < bytes; cap = cap * 5 + 7) {
            fp_sample sample = draw(&column.rows, cap, cap);
            check_sample(&sample, cap);
            CHECK_EQ(sample.column_bytes, bytes);
            if (cap > 50000) CHECK(sample.size > cap - cap / 10);
            drop(&sample);
        }
        free_column(&column);
    }
}

/* Finds each piece in a column of distinct rows, by its first 8 bytes. Fills `row_of` with the
 * rows, in sample order. */
static void find_rows(const fp_sample *sample, uint64_t *row_of) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < sample->pieces; i++) {
        memcpy(&row_of[i], sample->bytes + at, 8);
        at += sample->lengths[i];
    }
}

static void test_fairness(void) {
    enum { ROWS = 200000, PARTS = 16 };
    struct column column = make_column(ROWS, size_text, 0);
    for (uint64_t row = 0; row < ROWS; row++) memcpy(column.bytes + column.offsets[row], &row, 8);
    uint64_t bytes = column.offsets[ROWS];
    uint64_t *row_of = malloc(ROWS * sizeof *row_of);
    uint8_t *seen = calloc(ROWS, 1);
    if (!row_of || !seen) abort();
    fp_sample sample = draw(&column.rows, bytes / 5, 42);
    find_rows(&sample, row_of);
    for (uint64_t i = 0; i + 1 < sample.pieces; i++) { /* the last may be cut */
        CHECK(row_of[i] < ROWS && !seen[row_of[i]]);
        CHECK_EQ(sample.lengths[i], size_text(row_of[i]));
        seen[row_of[i]] = 1;
    }
    /* Every sixteenth of the sample has about its share of every sixteenth of the column. */
    uint64_t share = sample.pieces / PARTS / PARTS;
    for (uint64_t part = 0; part < PARTS; part++) {
        uint64_t counts[PARTS] = {0};
        for (uint64_t i = 0; i < sample.pieces / PARTS; i++)
            counts[row_of[part * (sample.pieces / PARTS) + i] * PARTS / ROWS]++;
        for (int i = 0; i < PARTS; i++) CHECK(counts[i] > share / 4 && counts[i] < share * 4);
    }
    drop(&sample);
    free(row_of);
    free(seen);
    free_column(&column);

    /* One row of three million bytes among a hundred thousand of 20 gets its share and no more. */
    column = make_column(100000, size_huge, 0);
    sample = draw(&column.rows, 500000, 7);
    uint64_t from_small = 0;
    for (uint64_t i = 0; i < sample.pieces; i++) from_small += sample.lengths[i] == 20 ? 20 : 0;
    CHECK(from_small > 120000 &&
          from_small < 280000); /* of 500,000; they are two fifths of the column */
    drop(&sample);
    free_column(&column);
}

static void test_seed(void) {
    struct column column = make_column(50000, size_text, 0);
    fp_sample first = draw(&column.rows, 100000, 1), again = draw(&column.rows, 100000, 1),
              other = draw(&column.rows, 100000, 2);
    CHECK(first.size == again.size && first.pieces == again.pieces);
    CHECK(!memcmp(first.bytes, again.bytes, first.size));
    CHECK(!memcmp(first.lengths, again.lengths, first.pieces * sizeof *first.lengths));
    CHECK(memcmp(first.bytes, other.bytes, 50000) != 0);
    drop(&first), drop(&again), drop(&other);
    free_column(&column);
}

/* Many rows cost no memory if the cap is small; and any allocation may fail. */
static void test_memory(void) {
    struct column column = make_column(3000000, size_one, 0);
    counting count;
    counting_start(&count);
    fastpair_allocator hooks = counting_hooks(&count);
    fp_sample sample;
    CHECK_EQ(fp_sample_open(&column.rows, 10000, 1, &hooks, &sample, NULL), FASTPAIR_OK);
    CHECK(count.peak_bytes < 300000);
    uint64_t calls = count.calls;
    fp_sample_close(&sample, &hooks);
    CHECK_EQ(count.live, 0);
    for (uint64_t n = 0; n < calls; n++) {
        fastpair_error error;
        counting_start(&count);
        count.fail_at = n;
        CHECK_EQ(fp_sample_open(&column.rows, 10000, 1, &hooks, &sample, &error),
                 FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(error.status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK(!sample.bytes && !sample.lengths);
        CHECK_EQ(count.live, 0);
    }
    free_column(&column);
}

static void test_defaults(void) {
    CHECK_EQ(fp_sample_default(FASTPAIR_CODEC_FSST12, 12, 3), 1u << 20);
    for (uint32_t bits = 9; bits <= 12; bits++)
        CHECK_EQ(fp_sample_default(FASTPAIR_CODEC_ONPAIR, bits, 3), 4u << 20);
    for (uint32_t bits = 13; bits <= 16; bits++)
        CHECK(fp_sample_default(FASTPAIR_CODEC_ONPAIR, bits, 3) >
              fp_sample_default(FASTPAIR_CODEC_ONPAIR, bits - 1, 3));
    CHECK_EQ(fp_sample_default(FASTPAIR_CODEC_ONPAIR, 16, 3), 24u << 20);
}

int main(void) {
    test_everything();
    test_nothing();
    test_part();
    test_fairness();
    test_seed();
    test_memory();
    test_defaults();
    return check_done();
}
