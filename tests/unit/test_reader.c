/* test_reader.c - streaming: the rows come in order whatever the threads and however the bytes drip
 * in; input that ends, fails, goes on or claims too much is refused, after the rows before it, in
 * little memory. */
#include "counting.h"
#include "truth.h"

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

/* Any allocation may fail. */
static void failing_allocations(const truth *t) {
    uint64_t rows;
    for (uint64_t n = 0, done = 0; !done; n++) {
        counting memory;
        counting_start(&memory);
        memory.fail_at = n;
        fastpair_allocator hooks = counting_hooks(&memory);
        drip from = {t->image.file.data, t->image.file.size, 0, 0, UINT64_MAX};
        fastpair_error error;
        fastpair_status status = stream(&from, t, 3, &hooks, &rows, &error);
        /* A buffer that cannot be doubled is asked for at its plain size, so one failure may do no
         * harm. */
        if (status) CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        done = memory.calls <= n;
        if (done) CHECK_EQ(status, FASTPAIR_OK);
        CHECK_EQ(memory.live, 0);
    }
}

/* Dictionaries that claim 16-bit codes and hold one token: 1.1 MiB of tables for 192 bytes of
 * file. */
static void wide_dictionaries(void) {
    truth t;
    truth_begin(&t, 64, 0);
    for (int i = 0; i < 100; i++) {
        forge_dictionary d = {
            .codec = 1, .longest = 16, .slots = 65536, .tokens = 1, .runs = 1, .bits = 16};
        uint8_t *run = forge_append(&d.section, NULL, 9);
        run[6] = 1, run[8] = 'x';
        forge_add_dictionary(&t.image, &d);
    }
    forge_finish(&t.image);
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = counting_hooks(&memory)};
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

/* A header that claims a large chunk, of which a few bytes arrive. Beyond the reader's memory the
 * claim alone is refused. */
static void claims(uint32_t length, fastpair_status expected, const char *says, uint64_t *random) {
    truth t;
    truth_begin(&t, 64, 0);
    truth_add_dictionary(&t, 300, random);
    truth_add_coded(&t, &(truth_chunk){.rows = 10, .batch = 32, .longest_row = 9}, random);
    uint64_t before = t.image.file.size;
    forge_chunk c = forge_stored_chunk("few", 3, &(forge_rows){&length, NULL, 1});
    forge_add_chunk(&t.image, &c);
    uint8_t *h = t.image.file.data + before;
    uint64_t block_bytes = 320 + (uint64_t)length + 64;
    forge_put(h + 8, block_bytes, 8), forge_put(h + 48, length, 8);
    forge_put(h + 208, 320, 8), forge_put(h + 216, length, 8), forge_put(h + 256, 320 + length, 8);
    forge_put(h + 312, forge_checksum(h, 312), 8);
    counting memory;
    counting_start(&memory);
    fastpair_allocator hooks = counting_hooks(&memory);
    drip from = {t.image.file.data, t.image.file.size, 0, 0, UINT64_MAX};
    fastpair_error error;
    uint64_t rows;
    CHECK_EQ(stream(&from, &t, 2, &hooks, &rows, &error), expected);
    CHECK(rows == 10 && strstr(error.message, says) != NULL);
    CHECK(memory.peak_bytes < 8u << 20);
    truth_free(&t);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 47, random = seed;
    printf("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < 3; i++) {
        truth t =
            truth_mixed(i == 1 ? 1500000 : 20000, i == 1 ? 350 : 60, i == 2 ? 4096 : 64, &random);
        try_stream(&t);
        if (i == 0) failing_allocations(&t);
        truth_free(&t);
    }
    wide_dictionaries();
    claims(0x08000000, FASTPAIR_ERROR_CORRUPT, "inside a chunk", &random);
    claims(0x70000000, FASTPAIR_ERROR_LIMIT, "memory_limit", &random);
    return check_done();
}
