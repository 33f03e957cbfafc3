/* test_pool.c - threads are started where there is work for them, once, and live as long as what
 * owns them. Every thread that the library starts is counted: the linker sends its calls of
 * pthread_create here. */
#include "threads.h"
#include "truth.h"

static _Atomic uint64_t started;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context) {
    started++;
    return __real_pthread_create(thread, attributes, run, context);
}

static void count_task(void *context, uint64_t i) { ((uint8_t *)context)[i]++; }

/* Every task once, on threads that are kept. */
static void pool_runs(void) {
    static uint8_t done[5000];
    fp_pool pool;
    fp_pool_open(&pool, 4);
    started = 0;
    fp_pool_run(&pool, 1, 100, count_task, done);
    fp_pool_run(&pool, 4, 1, count_task, done);
    CHECK_EQ(started, 0);
    for (uint32_t run = 0; run < 500; run++) {
        uint64_t wrong = 0, count = run * 10;
        memset(done, 0, sizeof done);
        fp_pool_run(&pool, 1 + run % 6, count, count_task, done);
        for (uint64_t i = 0; i < sizeof done; i++) wrong += done[i] != (i < count);
        CHECK_EQ(wrong, 0);
    }
    CHECK_EQ(started, 3);
    fp_pool_close(&pool);
    CHECK(fp_threads_for(8, 0) == 1 && fp_threads_for(8, UINT64_MAX) == 8);
    CHECK(fp_threads_for(8, 2 * FP_THREAD_WORK) == 2);
}

/* Calls with little to do start no thread; calls with much start as many as they may. */
static void column_calls(const truth *small, const truth *large) {
    fastpair_open_options options = {.struct_size = sizeof options, .threads = 4};
    fastpair_column *column = NULL;
    uint8_t *bytes = malloc(large->size + 1);
    uint64_t list[100], size;
    fastpair_destination to = to_memory(bytes, large->size, NULL, 0, NULL);
    for (uint64_t i = 0; i < 100; i++) list[i] = i * 7 % small->rows;
    started = 0;
    CHECK_EQ(fastpair_column_open(small->image.file.data, small->image.file.size, &options, &column,
                                  NULL),
             FASTPAIR_OK);
    CHECK_EQ(fastpair_column_validate(column, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_decode(column, 3, 1, &to, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_decode(column, 0, small->rows, &to, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_listed_size(column, list, 100, &size, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_decode_listed(column, list, 100, &to, NULL), FASTPAIR_OK);
    CHECK_EQ(started, 0);
    fastpair_column_close(column);
    CHECK_EQ(fastpair_column_open(large->image.file.data, large->image.file.size, &options, &column,
                                  NULL),
             FASTPAIR_OK);
    CHECK_EQ(fastpair_column_decode(column, 5, 1, &to, NULL), FASTPAIR_OK);
    CHECK_EQ(started, 0);
    CHECK_EQ(fastpair_column_decode(column, 0, large->rows, &to, NULL), FASTPAIR_OK);
    CHECK_EQ(started, 3);
    fastpair_column_close(column);
    free(bytes);
}

static void reader_calls(const truth *small, const truth *large) {
    uint64_t rows;
    fastpair_error error;
    for (int i = 0; i < 2; i++) {
        const truth *t = i ? large : small;
        drip from = {t->image.file.data, t->image.file.size, 0, 0, UINT64_MAX};
        started = 0;
        CHECK_EQ(stream(&from, t, 4, NULL, &rows, &error), FASTPAIR_OK);
        CHECK_EQ(rows, t->rows);
        CHECK_EQ(started, i ? 3 : 0);
    }
}

int main(void) {
    uint64_t random = 71;
    truth small, large;
    truth_begin(&small, 64, 0);
    truth_add_dictionary(&small, 60, &random);
    for (int i = 0; i < 500; i++)
        truth_add_coded(&small, &(truth_chunk){.rows = 3, .batch = 32, .longest_row = 9}, &random);
    forge_finish(&small.image);
    truth_begin(&large, 64, 0);
    truth_add_dictionary(&large, 60, &random);
    for (int i = 0; i < 20; i++)
        truth_add_coded(&large, &(truth_chunk){.rows = 9000, .batch = 256, .longest_row = 9},
                        &random);
    forge_finish(&large.image);
    pool_runs();
    column_calls(&small, &large);
    reader_calls(&small, &large);
    truth_free(&small), truth_free(&large);
    return check_done();
}
