/* test_tables.c - the CPU's decoding tables: opening builds none, the first decode builds each
 * once, also when eight threads ask at the same time, and one that failed for want of memory is
 * tried again. */
#include "counting.h"
#include "verify.h"

enum { THREADS = 8 };

typedef struct sample {
    shape s;
    uint8_t *image;
    uint64_t size;
    uint64_t dictionaries;
} sample;

/* A column with more than one dictionary. Without bounds: to compare them with rows, validation
 * decodes. */
static sample make_sample(uint64_t seed) {
    sample made = {.image = NULL};
    shape_make(&made.s, SHAPE_DRIFT, seed, &(shape_options){.bytes = 4000000, .null_percent = 3});
    fastpair_compress_options options = {
        .struct_size = sizeof options,
        .codec = FASTPAIR_CODEC_ONPAIR,
        .code_bits = 16,
        .chunk_bytes = 300000,
        .expert = EXPERT(.sample_bytes = 600000, .bound_bytes = FASTPAIR_NO_BOUNDS)};
    fastpair_error error;
    verify_ok(fastpair_compress(&made.s.rows, &options, &made.image, &made.size, &error), &error,
              "compress");
    return made;
}

/* The least that tables of all dictionaries take: an 8-byte cell and two lengths per code. */
static uint64_t least_tables(const fastpair_column *column) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < column->totals.dictionaries; i++)
        bytes += 10ull << column->dictionaries[i].dict.code_bits;
    return bytes;
}

/* What the parsed column takes without tables. */
static uint64_t parsed_bytes(const fastpair_column *column) {
    uint64_t bytes = sizeof *column + sizeof *column->parts + 2 * sizeof(uint64_t);
    bytes += column->totals.chunks * 2 * sizeof(uint64_t);
    bytes += (column->totals.chunks / FP_PAGE_CHUNKS + 1) * sizeof *column->pages;
    for (uint64_t i = 0; i < column->totals.dictionaries; i++) {
        const fp_dict *dict = &column->dictionaries[i].dict;
        bytes += sizeof(fp_column_dict) + sizeof(uint32_t) + dict->run_count * sizeof(fp_run) +
                 dict->bytes_size;
    }
    return bytes;
}

static int any_tables(const fastpair_column *column) {
    int any = 0;
    for (uint64_t i = 0; i < column->totals.dictionaries; i++)
        any |= column->dictionaries[i].decoder || column->dictionaries[i].length_of_code;
    return any;
}

static fastpair_column *open_counted(const sample *from, counting *counter, uint32_t threads) {
    counting_start(counter);
    fastpair_open_options options = {
        .struct_size = sizeof options, .allocator = counting_hooks(counter), .threads = threads};
    fastpair_column *column = NULL;
    fastpair_error error;
    verify_ok(fastpair_column_open(from->image, from->size, &options, &column, &error), &error,
              "open");
    return column;
}

static void opening_builds_none(sample *from) {
    counting counter;
    fastpair_column *column = open_counted(from, &counter, 1);
    from->dictionaries = column->totals.dictionaries;
    CHECK(from->dictionaries >= 2);
    CHECK(!any_tables(column));
    uint64_t opened = counter.live_bytes, tables = least_tables(column);
    CHECK_EQ(opened, parsed_bytes(column));
    /* What needs no codes needs no tables. */
    const shape *s = &from->s;
    fastpair_column_info info = {.struct_size = sizeof info};
    fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
    uint64_t bytes, number, listed[2] = {5, 1};
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_chunk(column, 1, &chunk, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_find_chunk(column, 9, &number, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_rows_size(column, 0, s->rows.rows, &bytes, NULL), FASTPAIR_OK);
    CHECK_EQ(counter.live_bytes, opened);
    CHECK_EQ(fastpair_column_listed_size(column, listed, 2, &bytes, NULL), FASTPAIR_OK);
    CHECK_EQ(counter.live_bytes, opened + sizeof(fp_chunk_page));
    /* One row needs the tables of one dictionary, and validation its own. */
    uint8_t *row = malloc(s->out_size);
    CHECK_EQ(fastpair_column_decode_row(column, 0, row, s->out_size, &bytes, NULL, NULL),
             FASTPAIR_OK);
    CHECK(column->dictionaries[0].decoder && !column->dictionaries[1].decoder);
    CHECK(!column->dictionaries[0].length_of_code);
    CHECK_EQ(fastpair_column_validate(column, NULL), FASTPAIR_OK);
    CHECK(column->dictionaries[1].length_of_code && !column->dictionaries[1].decoder);
    /* Once all are there, decoding allocates nothing. */
    fastpair_destination to = to_memory(row, s->out_size, NULL, 0, NULL);
    CHECK_EQ(fastpair_column_decode(column, 0, s->rows.rows, &to, NULL), FASTPAIR_OK);
    CHECK(counter.live_bytes >= opened + tables);
    uint64_t calls = counter.calls;
    CHECK_EQ(fastpair_column_decode(column, 0, s->rows.rows, &to, NULL), FASTPAIR_OK);
    CHECK_EQ(counter.calls, calls);
    CHECK(!memcmp(row, s->out_bytes, s->out_size));
    free(row);
    fastpair_column_close(column);
    CHECK_EQ(counter.live, 0);
}

/* Each allocation of the first decode fails in turn; the call after that succeeds. */
static void failure_is_not_final(const sample *from) {
    const shape *s = &from->s;
    uint8_t *bytes = malloc(s->out_size);
    for (uint32_t threads = 1; threads <= 3; threads += 2)
        for (uint64_t fails = 0; fails < from->dictionaries; fails++) {
            counting counter;
            fastpair_column *column = open_counted(from, &counter, threads);
            fastpair_destination to = to_memory(bytes, s->out_size, NULL, 0, NULL);
            fastpair_error error;
            counter.fail_at = counter.calls + fails;
            CHECK_EQ(fastpair_column_decode(column, 0, s->rows.rows, &to, &error),
                     FASTPAIR_ERROR_OUT_OF_MEMORY);
            CHECK_EQ(error.status, FASTPAIR_ERROR_OUT_OF_MEMORY);
            memset(bytes, 0, s->out_size);
            verify_ok(fastpair_column_decode(column, 0, s->rows.rows, &to, &error), &error,
                      "decode again");
            CHECK(!memcmp(bytes, s->out_bytes, s->out_size));
            counter.fail_at = counter.calls;
            CHECK_EQ(fastpair_column_validate(column, &error), FASTPAIR_ERROR_OUT_OF_MEMORY);
            CHECK_EQ(fastpair_column_validate(column, &error), FASTPAIR_OK);
            fastpair_column_close(column);
            CHECK_EQ(counter.live, 0);
        }
    free(bytes);
}

/* ---------------------------------------------------------------- threads that come at once */

typedef struct first_user {
    pthread_barrier_t *start;
    const fastpair_column *column;
    const shape *s;
    int number, wrong;
} first_user;

static void *use_first(void *context) {
    first_user *u = context;
    const shape *s = u->s;
    uint8_t *bytes = malloc(s->out_size);
    fastpair_destination to = to_memory(bytes, s->out_size, NULL, 0, NULL);
    pthread_barrier_wait(u->start);
    if (u->number % 4 == 3) u->wrong += fastpair_column_validate(u->column, NULL) != FASTPAIR_OK;
    u->wrong += fastpair_column_decode(u->column, 0, s->rows.rows, &to, NULL) != FASTPAIR_OK;
    u->wrong += memcmp(bytes, s->out_bytes, s->out_size) != 0;
    free(bytes);
    return NULL;
}

static void many_come_at_once(const sample *from, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
        counting counter;
        fastpair_column *column = open_counted(from, &counter, 1 + round % 2);
        uint64_t opened = counter.calls;
        pthread_barrier_t start;
        pthread_t threads[THREADS];
        first_user users[THREADS];
        pthread_barrier_init(&start, NULL, THREADS);
        for (int i = 0; i < THREADS; i++) {
            users[i] = (first_user){&start, column, &from->s, i, 0};
            if (pthread_create(&threads[i], NULL, use_first, &users[i])) abort();
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            CHECK_EQ(users[i].wrong, 0);
        }
        /* A decoder and a table of lengths per dictionary, each once. */
        CHECK_EQ(counter.calls - opened, 2 * from->dictionaries);
        pthread_barrier_destroy(&start);
        fastpair_column_close(column);
        CHECK_EQ(counter.live, 0);
    }
}

int main(void) {
    sample from = make_sample(verify_seed());
    opening_builds_none(&from);
    failure_is_not_final(&from);
    many_come_at_once(&from, check_scaled(20));
    fastpair_free(NULL, from.image);
    shape_free(&from.s);
    return check_done();
}
