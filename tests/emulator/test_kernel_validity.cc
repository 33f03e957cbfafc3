/* test_kernel_validity.cc - bitmaps made by the validity kernel, in the emulator: chunks whose
 * first row is at any bit of a word, in any order, in one launch or in several; bitmaps that hold
 * garbage before. Every bit of the column's rows must be right, bits after the last row 0, and
 * nothing else touched. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "check.h"
#include "device_memory.h"
#include "emulated_table.h"
#include "forge.h"

enum { MOST_CHUNKS = 512, MOST_COLUMNS = 40 };

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

/* A column and what its bitmap must be. */
typedef struct bitmap {
    uint8_t *out;
    uint64_t rows, words;
    uint8_t *valid; /* one byte per row */
} bitmap;

typedef struct validity_case {
    device memory;
    fp_gpu_validity entry[MOST_CHUNKS];
    uint32_t count;
    bitmap columns[MOST_COLUMNS];
    uint32_t column_count;
} validity_case;

/* What rows of a chunk are: all valid without a section, valid or null all of them, or any. */
static fp_gpu_validity make_chunk(validity_case *c, uint8_t *valid, uint32_t rows) {
    uint32_t kind = draw(5), bound = 2 + draw(20);
    fp_gpu_validity entry = {};
    entry.rows = rows;
    memset(valid, 1, rows);
    if (kind == 0) return entry;
    for (uint32_t i = 0; i < rows; i++)
        valid[i] = kind == 1 ? 0 : kind == 2 ? 1 : kind == 3 ? draw(bound) != 0 : draw(bound) == 0;
    forge_rows described = {NULL, valid, rows};
    forge_bytes section = forge_validity(&described);
    /* Bits after the last row of a section are not to be looked at. */
    if (rows % 8) section.data[section.size - 1] |= (uint8_t)(draw(256) << rows % 8);
    /* Sections begin at a multiple of 64 and may end anywhere. */
    entry.section =
        device_address(device_copy(&c->memory, section.data, section.size, "a validity section"));
    free(section.data);
    return entry;
}

static uint32_t draw_rows(void) {
    switch (draw(6)) {
    case 0: return 1;
    case 1: return 1 + draw(8);
    case 2: return 32 * (1 + draw(3));
    case 3: return 31 + draw(3);
    case 4: return 1 + draw(20000); /* more than one block */
    default: return 1 + draw(100);
    }
}

/* Adds a column of `chunks` chunks. */
static void add_column(validity_case *c, uint32_t chunks, uint32_t (*rows_of)(void)) {
    bitmap *column = &c->columns[c->column_count++];
    uint32_t first = c->count, rows[MOST_CHUNKS];
    *column = bitmap{};
    for (uint32_t i = 0; i < chunks; i++) column->rows += rows[i] = rows_of();
    column->words = (column->rows + 31) / 32;
    column->valid = (uint8_t *)malloc(column->rows);
    if (!column->valid) abort();
    column->out =
        device_block(&c->memory, 4 * column->words, 4 * draw(9), EMULATOR_WRITE_ONCE, "bitmap");
    for (uint64_t i = 0; i < 4 * column->words; i++)
        column->out[i] = (uint8_t)check_random(&random_state);
    uint64_t row = 0;
    for (uint32_t i = 0; i < chunks; i++, row += rows[i - 1]) {
        fp_gpu_validity *entry = &c->entry[c->count++];
        *entry = make_chunk(c, column->valid + row, rows[i]);
        entry->out = device_address(column->out);
        entry->first_row = row;
        entry->closes_column = c->count == first + chunks;
    }
}

/* Entries in any order: chunks need none among each other. */
static void shuffle(validity_case *c) {
    for (uint32_t i = c->count; i > 1; i--) {
        uint32_t k = draw(i);
        fp_gpu_validity swapped = c->entry[i - 1];
        c->entry[i - 1] = c->entry[k];
        c->entry[k] = swapped;
    }
}

/* Runs entries first .. first + count in a launch that passes no others. */
static void run(const validity_case *c, uint32_t first, uint32_t count) {
    fp_gpu_validity *passed = (fp_gpu_validity *)malloc(count * sizeof *passed);
    if (!passed) abort();
    uint64_t words = 0;
    for (uint32_t i = 0; i < count; i++) {
        passed[i] = c->entry[first + i];
        uint64_t here = (passed[i].first_row % 32 + passed[i].rows + 31) / 32;
        if (here > words) words = here;
    }
    uint32_t blocks =
        (uint32_t)((words + FP_GPU_HELPER_THREADS - 1) / FP_GPU_HELPER_THREADS) + draw(2);
    const char *error =
        emulator_run(emulated_validity, passed, FP_GPU_HELPER_THREADS, blocks, count, 0);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s\n", error);
    free(passed);
}

static void check_bitmaps(validity_case *c) {
    for (uint32_t k = 0; k < c->column_count; k++) {
        const bitmap *column = &c->columns[k];
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < 32 * column->words; i++)
            wrong += (column->out[i / 8] >> i % 8 & 1) != (i < column->rows ? column->valid[i] : 0);
        CHECK_EQ(wrong, 0);
        free(column->valid);
    }
    device_free(&c->memory);
}

static validity_case made;

static validity_case *start(void) {
    memset(&made, 0, sizeof made);
    emulator_reset(check_random(&random_state));
    return &made;
}

/* One or several columns in one launch, which writes every word, and each word that is a chunk's
 * own by one store. */
static void check_launches(void) {
    for (uint32_t i = 0; i < 60; i++) {
        validity_case *c = start();
        uint64_t words = 0;
        for (uint32_t k = 0; k < 1 + i % 4; k++) add_column(c, 1 + draw(6), draw_rows);
        for (uint32_t k = 0; k < c->column_count; k++) words += c->columns[k].words;
        shuffle(c);
        run(c, 0, c->count);
        CHECK_EQ(emulator_bytes_written(), 4 * words);
        check_bitmaps(c);
    }
}

/* Every bit for a chunk to begin at, and every length up to two words. */
static uint32_t rows_before, rows_here;
static uint32_t next_rows(void) {
    uint32_t rows = rows_before ? rows_before : rows_here ? rows_here : 1 + draw(40);
    if (rows_before)
        rows_before = 0;
    else
        rows_here = 0;
    return rows;
}

static void check_every_place(void) {
    for (uint32_t place = 1; place < 32; place++)
        for (uint32_t rows = 1; rows <= 65; rows += 1 + draw(3)) {
            validity_case *c = start();
            rows_before = place, rows_here = rows;
            add_column(c, 2 + draw(2), next_rows);
            shuffle(c);
            run(c, 0, c->count);
            check_bitmaps(c);
        }
}

/* Chunks of a row or two, many of which share a word, as many as a launch holds; and in several
 * launches. */
static uint32_t few_rows(void) { return 1 + draw(3); }

static void check_full_launch(void) {
    for (uint32_t i = 0; i < 4; i++) {
        validity_case *c = start();
        for (uint32_t k = 0; k < 8; k++) add_column(c, FP_GPU_ENTRIES / 8, few_rows);
        CHECK_EQ(c->count, FP_GPU_ENTRIES);
        if (i % 2) shuffle(c);
        if (i < 2) run(c, 0, c->count);
        for (uint32_t first = 0, count; i >= 2 && first < c->count; first += count) {
            count = 1 + draw(c->count - first);
            run(c, first, count);
        }
        check_bitmaps(c);
    }
}

/* A chunk alone changes only its own bits; the last chunk of a column also the bits after it. */
static void check_alone(void) {
    for (uint32_t i = 0; i < 200; i++) {
        validity_case *c = start();
        add_column(c, 1 + draw(5), draw_rows);
        const bitmap *column = &c->columns[0];
        const fp_gpu_validity *chunk = &c->entry[draw(c->count)];
        uint8_t *before = (uint8_t *)malloc(4 * column->words);
        if (!before) abort();
        memcpy(before, column->out, 4 * column->words);
        run(c, (uint32_t)(chunk - c->entry), 1);
        uint64_t wrong = 0, end = chunk->first_row + chunk->rows;
        for (uint64_t k = 0; k < 32 * column->words; k++) {
            uint32_t expected = before[k / 8] >> k % 8 & 1;
            if (k >= chunk->first_row && k < end) expected = column->valid[k];
            if (k >= end && chunk->closes_column) expected = 0;
            wrong += (column->out[k / 8] >> k % 8 & 1) != expected;
        }
        CHECK_EQ(wrong, 0);
        free(before);
        free(column->valid);
        device_free(&c->memory);
    }
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 1809;
    printf("seed %llu\n", (unsigned long long)random_state);
    check_launches();
    check_every_place();
    check_full_launch();
    check_alone();
    return check_done();
}
