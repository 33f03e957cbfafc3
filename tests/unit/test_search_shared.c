/* test_search_shared.c - threads that share a search over a column of several dictionaries. All begin
 * at once, each with another chunk, so that some build tables side by side and others wait for the
 * same one: the counts are those of one thread, with memory for all tables, for some and for none,
 * and wherever an allocation fails. */
#include "counting.h"
#include "forge.h"
#include "search_oracle.h"
#include "verify.h"

#include <pthread.h>

enum { THREADS = 6, KINDS = 5, PART_BYTES = 1 << 20 };

static const shape_kind kinds[KINDS] = {SHAPE_WORDS, SHAPE_URLS, SHAPE_LOG_LINES, SHAPE_CLERKS,
                                        SHAPE_UTF8};

/* Rows of several kinds, one after the other, each of which needs a dictionary of its own. */
static forge_bytes write_column(uint64_t seed) {
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    fastpair_writer *writer = NULL;
    fastpair_error error = {.message = ""};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 256u << 10,
                                         .expert = EXPERT(.sample_bytes = 512u << 10)};
    verify_ok(fastpair_writer_open(&sink, &options, &writer, &error), &error, "open");
    for (uint32_t i = 0; i < KINDS; i++) {
        shape part;
        shape_make(&part, kinds[i], seed, &(shape_options){.bytes = PART_BYTES});
        verify_ok(fastpair_writer_append(writer, &part.rows, &error), &error, "append");
        shape_free(&part);
    }
    verify_ok(fastpair_writer_finish(writer, &error), &error, "finish");
    fastpair_writer_close(writer);
    return image;
}

typedef struct runner {
    const fastpair_search *search;
    pthread_barrier_t *begin;
    uint64_t rows, first; /* where the thread begins: it goes on from row 0 after the last */
    fastpair_status status;
    uint64_t matches;
} runner;

static void *count_rows(void *argument) {
    runner *r = argument;
    fastpair_matches found = {.struct_size = sizeof found};
    pthread_barrier_wait(r->begin);
    r->status = fastpair_search_run(r->search, r->first, r->rows - r->first, &found, NULL);
    r->matches = found.matches;
    if (!r->status) r->status = fastpair_search_run(r->search, 0, r->first, &found, NULL);
    r->matches += found.matches;
    return NULL;
}

/* All threads count; 1 if every one did and was right. Whoever fails says so. */
static int run_threads(fastpair_search *search, uint64_t rows, uint64_t expected) {
    pthread_t thread[THREADS];
    runner r[THREADS];
    pthread_barrier_t begin;
    int done = 1;
    pthread_barrier_init(&begin, NULL, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        /* Pairs of threads begin in the same chunk. */
        r[i] = (runner){search, &begin, rows, rows * (i / 2) / (THREADS / 2), FASTPAIR_OK, 0};
        if (pthread_create(&thread[i], NULL, count_rows, &r[i])) abort();
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (r[i].status) {
            CHECK_EQ(r[i].status, FASTPAIR_ERROR_OUT_OF_MEMORY);
            done = 0;
        } else {
            CHECK_EQ(r[i].matches, expected);
        }
    }
    pthread_barrier_destroy(&begin);
    return done;
}

static uint64_t count_alone(fastpair_column *column, const fastpair_predicate *p, uint64_t rows) {
    fastpair_search_options decode = {.struct_size = sizeof decode,
                                      .method = FASTPAIR_SEARCH_DECODE};
    fastpair_search *search = NULL;
    fastpair_matches found = {.struct_size = sizeof found};
    CHECK_EQ(fastpair_search_open(column, p, &decode, &search, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_search_run(search, 0, rows, &found, NULL), FASTPAIR_OK);
    fastpair_search_close(search);
    return found.matches;
}

static void share(fastpair_column *column, const fastpair_predicate *p) {
    fastpair_column_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    CHECK(info.dictionaries >= 3);
    const uint64_t rows = info.rows, expected = count_alone(column, p, rows);
    static const uint64_t limits[] = {0, 200000, 100};
    for (uint32_t i = 0; i < 3 * check_scaled(5); i++) {
        fastpair_search_options o = {.struct_size = sizeof o, .memory_limit = limits[i % 3]};
        fastpair_search *search = NULL;
        CHECK_EQ(fastpair_search_open(column, p, &o, &search, NULL), FASTPAIR_OK);
        CHECK(run_threads(search, rows, expected));
        fastpair_search_close(search);
    }
    /* An allocation fails, for whichever thread makes it, until there is none so late. */
    int done = 0;
    uint64_t failures = 0;
    for (uint64_t fail_at = 0; !done && fail_at < 5000; fail_at += 1 + fail_at / 4) {
        counting memory;
        counting_start(&memory);
        memory.fail_at = fail_at;
        fastpair_search_options o = {.struct_size = sizeof o, .allocator = counting_hooks(&memory)};
        fastpair_search *search = NULL;
        if (!fastpair_search_open(column, p, &o, &search, NULL)) {
            done = run_threads(search, rows, expected);
            failures += !done;
            if (!done) CHECK(run_threads(search, rows, expected));
        }
        fastpair_search_close(search);
        CHECK_EQ(memory.live, 0);
    }
    CHECK(done && failures > 0);
}

int main(void) {
    uint64_t seed = verify_seed();
    forge_bytes image = write_column(seed);
    fastpair_column *column = NULL;
    fastpair_error error = {.message = ""};
    if (verify_ok(fastpair_column_open(image.data, image.size, NULL, &column, &error), &error,
                  "open")) {
        fastpair_pattern pattern = {"the", 3};
        fastpair_predicate p = {.struct_size = sizeof p, .kind = FASTPAIR_CONTAINS};
        p.patterns = &pattern, p.pattern_count = 1;
        share(column, &p);
        pattern = (fastpair_pattern){"e", 1};
        share(column, &p);
    }
    fastpair_column_close(column);
    free(image.data);
    return check_done();
}
