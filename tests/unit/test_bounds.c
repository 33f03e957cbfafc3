/* test_bounds.c - the smallest and the largest row of chunks: what a writer records of rows of every
 * shape, what it costs, and which chunks a search may leave out. The oracle compares bounds with
 * rows; here they are compared once more, through the public calls. */
#include "bounds.h"
#include "verify.h"

static int compare_rows(const uint8_t *a, uint64_t a_size, const uint8_t *b, uint64_t b_size) {
    uint64_t common = a_size < b_size ? a_size : b_size;
    int order = common ? memcmp(a, b, common) : 0;
    return order ? order : a_size < b_size ? -1 : a_size > b_size;
}

static const uint8_t *row_of(const shape *s, uint64_t row, uint64_t *size) {
    *size = s->out_offsets[row + 1] - s->out_offsets[row];
    return s->out_bytes + s->out_offsets[row];
}

/* What is looked for: a row, a bit more, a bit less, or something else. Returns its size. */
static uint64_t draw_needle(const shape *s, uint64_t *random, uint8_t needle[200]) {
    uint64_t size = 0;
    const uint8_t *row =
        s->rows.rows ? row_of(s, check_random(random) % s->rows.rows, &size) : needle;
    if (size > 150) size = check_random(random) % 150;
    if (size) memcpy(needle, row, size);
    switch (check_random(random) % 6) {
    case 0: size = size ? check_random(random) % size : 0; break;
    case 1: needle[size++] = (uint8_t)check_random(random); break;
    case 2:
        if (size) needle[check_random(random) % size] += 1;
        break;
    case 3:
        if (size) needle[size - 1] -= 1;
        break;
    default: break;
    }
    return size;
}

/* A chunk that is left out has no such row; counts those that are. */
static void search(const fastpair_column *column, const shape *s, uint64_t *random,
                   uint64_t *left_out) {
    fastpair_error error;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    CHECK_EQ(fastpair_column_get_totals(column, &totals, &error), FASTPAIR_OK);
    uint64_t missed = 0;
    for (int i = 0; i < 60; i++) {
        uint8_t needle[200];
        uint64_t size = draw_needle(s, random, needle);
        for (uint64_t chunk = 0; chunk < totals.chunks; chunk++) {
            fastpair_chunk_info info = {.struct_size = sizeof info};
            CHECK_EQ(fastpair_column_get_chunk(column, chunk, &info, &error), FASTPAIR_OK);
            int may[2] = {-1, -1};
            for (int test = 0; test < 2; test++)
                CHECK_EQ(fastpair_column_may_hold(column, chunk, (fastpair_row_test)test, needle,
                                                  size, &may[test], &error),
                         FASTPAIR_OK);
            *left_out += !may[0];
            for (uint64_t row = info.first_row; row < info.first_row + info.rows; row++) {
                uint64_t row_size;
                const uint8_t *bytes = row_of(s, row, &row_size);
                if (!verify_valid(s, row) || row_size < size || memcmp(bytes, needle, size) != 0)
                    continue;
                missed += !may[1] || (row_size == size && !may[0]);
            }
        }
    }
    CHECK_EQ(missed, 0);
}

/* The bounds of each chunk are those of its rows. Returns how many are cut. */
static uint64_t compare_bounds(const fastpair_column *column, const shape *s, uint32_t width) {
    fastpair_error error;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    CHECK_EQ(fastpair_column_get_totals(column, &totals, &error), FASTPAIR_OK);
    uint64_t wrong = 0, cut = 0;
    for (uint64_t chunk = 0; chunk < totals.chunks; chunk++) {
        fastpair_chunk_info info = {.struct_size = sizeof info};
        fastpair_chunk_bounds bounds = {.struct_size = sizeof bounds};
        CHECK_EQ(fastpair_column_get_chunk(column, chunk, &info, &error), FASTPAIR_OK);
        CHECK_EQ(fastpair_column_get_chunk_bounds(column, chunk, &bounds, &error), FASTPAIR_OK);
        CHECK_EQ(bounds.has_bounds, 1);
        uint64_t low = UINT64_MAX, high = UINT64_MAX, size, other;
        for (uint64_t row = info.first_row; row < info.first_row + info.rows; row++) {
            if (!verify_valid(s, row)) continue;
            const uint8_t *bytes = row_of(s, row, &size), *than;
            if (low == UINT64_MAX ||
                (than = row_of(s, low, &other), compare_rows(bytes, size, than, other) < 0))
                low = row;
            if (high == UINT64_MAX ||
                (than = row_of(s, high, &other), compare_rows(bytes, size, than, other) > 0))
                high = row;
        }
        CHECK_EQ(bounds.has_row, low != UINT64_MAX);
        if (low == UINT64_MAX) continue;
        const uint8_t *smallest = row_of(s, low, &size), *largest = row_of(s, high, &other);
        wrong +=
            bounds.smallest_is_cut != (size > width) || bounds.largest_is_cut != (other > width);
        wrong += bounds.smallest_size != (size < width ? size : width);
        wrong += bounds.largest_size != (other < width ? other : width);
        wrong += memcmp(bounds.smallest, smallest, bounds.smallest_size) != 0;
        wrong += memcmp(bounds.largest, largest, bounds.largest_size) != 0;
        cut += (uint64_t)bounds.smallest_is_cut + (uint64_t)bounds.largest_is_cut;
    }
    CHECK_EQ(wrong, 0);
    return cut;
}

/* Every shape, with each K. */
static void shapes(uint64_t seed) {
    uint64_t random = seed, cut = 0, left_out = 0;
    for (uint32_t i = 0; i < SHAPE_KINDS * 2; i++) {
        static const uint32_t widths[] = {8, 16, 32, 64};
        uint32_t width = widths[check_random(&random) % 4];
        shape s;
        shape_make(&s, (shape_kind)(i % SHAPE_KINDS), seed + i,
                   &(shape_options){.bytes = 9000, .null_percent = i % 3 * 30});
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .chunk_bytes = 1500,
                                             .threads = 1 + i % 3,
                                             .codec = i % 4 ? FASTPAIR_CODEC_FSST12
                                                            : FASTPAIR_CODEC_STORED};
        options.expert = EXPERT(.bound_bytes = width);
        uint8_t *image = NULL;
        uint64_t size = 0;
        fastpair_error error;
        fastpair_column *column = NULL;
        if (!verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, s.name))
            continue;
        verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, s.name);
        verify_ok(validate_with(1 + i % 2, column, &error), &error, s.name);
        cut += compare_bounds(column, &s, width);
        search(column, &s, &random, &left_out);
        verify_effort effort = {1, 2, 1, 0, random}; /* the oracle and the reader among others */
        verify_image(image, size, &s, &effort);
        fastpair_column_close(column);
        fastpair_free(NULL, image);
        shape_free(&s);
    }
    CHECK(cut > 100 && left_out > 1000);
}

/* Rows that differ only where a bound is cut, or by bytes of 0. */
static void edges(void) {
    static const char *const texts[] = {"",    "\0",       "\0\0",       "a",
                                        "a\0", "aaaaaaaa", "aaaaaaaa\0", "aaaaaaaab"};
    static const uint64_t sizes[] = {0, 1, 2, 1, 2, 8, 9, 9};
    for (uint32_t low = 0; low < 8; low++)
        for (uint32_t high = low; high < 8; high++) {
            fp_bounds bounds = {0};
            fp_bounds_add(&bounds, (const uint8_t *)texts[high], sizes[high]);
            fp_bounds_add(&bounds, (const uint8_t *)texts[low], sizes[low]);
            fp_bounds_add(&bounds, (const uint8_t *)texts[high], sizes[high]);
            CHECK_EQ(bounds.smallest.size, sizes[low]);
            CHECK_EQ(bounds.largest.size, sizes[high]);
            uint8_t wide[8 + 32], narrow[8 + 16], direct[8 + 16];
            fp_bounds_write(&bounds, 16, wide);
            CHECK(!memcmp(wide + 8, texts[low], sizes[low]));
            CHECK(!memcmp(wide + 24, texts[high], sizes[high]));
            fp_bounds_write(&bounds, 8, direct);
            fp_bounds_narrow(wide, 16, 8, narrow);
            CHECK(!memcmp(narrow, direct, sizeof direct));
            CHECK(fp_bounds_entry_fault(direct, 8, 0) == NULL);
        }
}

/* Parts take at most 0.2 % of a file, of which most is used where chunks are large; small files have
 * none, nor has a file whose caller wants none; the file is the same for any number of threads. */
static void cost(void) {
    static const uint64_t chunk_bytes[] = {8u << 20, 256u << 10, 128u << 10, 4u << 10};
    static const uint32_t expected[] = {64, 32, 16, 0};
    shape s;
    shape_make(&s, SHAPE_URLS, 3, &(shape_options){.bytes = 12u << 20});
    for (uint32_t i = 0; i < 4; i++) {
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = FASTPAIR_CODEC_ONPAIR,
                                             .code_bits = 12,
                                             .level = 1,
                                             .chunk_bytes = chunk_bytes[i]};
        uint8_t *image = NULL, *without = NULL, *threads = NULL;
        uint64_t size = 0, size_without = 0, size_threads = 0;
        fastpair_error error;
        verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, "compress");
        options.threads = 3;
        verify_ok(fastpair_compress(&s.rows, &options, &threads, &size_threads, &error), &error,
                  "threads");
        CHECK(size == size_threads && !memcmp(image, threads, size));
        options.expert = EXPERT(.bound_bytes = FASTPAIR_NO_BOUNDS);
        verify_ok(fastpair_compress(&s.rows, &options, &without, &size_without, &error), &error,
                  "without");
        CHECK(size >= size_without && (size - size_without) * 500 <= size);
        oracle_column oracle;
        CHECK(oracle_decode(image, size, &oracle));
        CHECK_EQ(oracle.bound_width, expected[i]);
        printf("%llu chunks: %llu bytes, %llu for bounds of %u\n",
               (unsigned long long)oracle.chunks, (unsigned long long)size,
               (unsigned long long)(size - size_without), oracle.bound_width);
        oracle_free(&oracle);
        fastpair_free(NULL, image), fastpair_free(NULL, without), fastpair_free(NULL, threads);
    }
    shape_free(&s);
}

/* Without bounds no chunk is left out; wrong arguments are refused. */
static void calls(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 1, &(shape_options){.bytes = 2000});
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_column *column = NULL;
    fastpair_error error;
    fastpair_chunk_bounds bounds = {.struct_size = sizeof bounds, .has_bounds = 7};
    int may = 7;
    verify_ok(fastpair_compress(&s.rows, NULL, &image, &size, &error), &error, "compress");
    verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, "open");
    CHECK_EQ(fastpair_column_get_chunk_bounds(column, 0, &bounds, &error), FASTPAIR_OK);
    CHECK_EQ(bounds.has_bounds, 0);
    CHECK_EQ(fastpair_column_may_hold(column, 0, FASTPAIR_ROW_EQUAL, "\xff", 1, &may, &error),
             FASTPAIR_OK);
    CHECK_EQ(may, 1);
    const fastpair_status wrong = FASTPAIR_ERROR_INVALID_ARGUMENT;
    CHECK_EQ(fastpair_column_may_hold(column, 1, FASTPAIR_ROW_EQUAL, "", 0, &may, &error), wrong);
    CHECK_EQ(fastpair_column_may_hold(column, 0, (fastpair_row_test)2, "", 0, &may, &error), wrong);
    CHECK_EQ(fastpair_column_may_hold(column, 0, FASTPAIR_ROW_PREFIX, NULL, 1, &may, &error),
             wrong);
    CHECK_EQ(fastpair_column_may_hold(NULL, 0, FASTPAIR_ROW_PREFIX, "", 0, &may, &error), wrong);
    CHECK_EQ(fastpair_column_may_hold(column, 0, FASTPAIR_ROW_PREFIX, "", 0, NULL, &error), wrong);
    CHECK_EQ(fastpair_column_get_chunk_bounds(column, 1, &bounds, &error), wrong);
    CHECK_EQ(fastpair_column_get_chunk_bounds(NULL, 0, &bounds, &error), wrong);
    CHECK_EQ(fastpair_column_get_chunk_bounds(column, 0, NULL, &error), wrong);
    fastpair_column_close(column);
    fastpair_free(NULL, image);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .expert = EXPERT(.bound_bytes = 12)};
    CHECK_EQ(fastpair_compress(&s.rows, &options, &image, &size, &error), wrong);
    CHECK(strstr(error.message, "bound_bytes") != NULL);
    shape_free(&s);
}

int main(void) {
    uint64_t seed = verify_seed();
    shapes(seed);
    edges();
    cost();
    calls();
    return check_done();
}
