/* test_search.c - every way to search gives what the oracle gives, for columns of every shape and
 * codec: bitmap, validity, counts, lists, ranges of rows, all methods at all CPU levels. */
#include "convert.h"
#include "frames.h"
#include "search_oracle.h"

/* A column and the answers. */
typedef struct subject {
    const shape *s;
    const uint8_t *image;
    uint64_t size;
    uint8_t *truth; /* oracle_truth of each row */
} subject;

static void find_truth(subject *on, const fastpair_predicate *p) {
    const shape *s = on->s;
    for (uint64_t i = 0; i < s->rows.rows; i++) {
        const uint8_t *row = s->out_bytes + s->out_offsets[i];
        static const uint8_t empty[1] = {0};
        uint64_t size = s->out_offsets[i + 1] - s->out_offsets[i];
        on->truth[i] = (uint8_t)oracle_evaluate(p,
                                                !verify_valid(s, i) ? NULL
                                                : size              ? row
                                                                    : empty,
                                                size);
    }
}

/* The rows first .. first + count of a search, in memory of exactly the size needed. */
static void check_range(const subject *on, const fastpair_search *search, uint64_t first,
                        uint64_t count) {
    uint64_t bytes = (count + 7) / 8, matches = 0, nulls = 0, wrong = 0;
    uint8_t *bitmap = malloc(bytes + !bytes), *validity = malloc(bytes + !bytes);
    memset(bitmap, 0x5a, bytes), memset(validity, 0x5a, bytes);
    fastpair_matches found = {.struct_size = sizeof found, .bitmap = bitmap, .validity = validity};
    fastpair_error error = {.message = ""};
    verify_ok(fastpair_search_run(search, first, count, &found, &error), &error, "run");
    for (uint64_t i = 0; i < bytes * 8; i++) {
        int truth = i < count ? on->truth[first + i] : ORACLE_NULL;
        wrong += (bitmap[i / 8] >> i % 8 & 1) != (truth == ORACLE_TRUE);
        wrong += (validity[i / 8] >> i % 8 & 1) != (truth != ORACLE_NULL);
        matches += truth == ORACLE_TRUE;
        nulls += i < count && truth == ORACLE_NULL;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(found.matches, matches);
    CHECK_EQ(found.nulls, nulls);
    fastpair_matches counts = {.struct_size = sizeof counts};
    CHECK_EQ(fastpair_search_run(search, first, count, &counts, NULL), FASTPAIR_OK);
    CHECK(counts.matches == matches && counts.nulls == nulls);
    free(bitmap), free(validity);
}

/* Lists all rows from `first` on, `capacity` at a time. */
static void check_list(const subject *on, const fastpair_search *search, uint64_t first,
                       uint64_t capacity) {
    uint64_t *rows = malloc(capacity * 8), row = first, next = first, end = on->s->rows.rows;
    for (int calls = 0; next < end && calls < 5; calls++) {
        uint64_t found = 99, from = next;
        CHECK_EQ(fastpair_search_list(search, from, rows, capacity, &found, &next, NULL),
                 FASTPAIR_OK);
        CHECK(next > from && next <= end && found <= capacity);
        for (uint64_t i = 0; i < found; i++) {
            while (row < end && on->truth[row] != ORACLE_TRUE) row++;
            CHECK_EQ(rows[i], row);
            row++;
        }
        for (; row < next; row++) CHECK(on->truth[row] != ORACLE_TRUE);
    }
    free(rows);
}

static void check_methods(subject *on, const trial *t, int all_levels, uint64_t *random) {
    unsigned long long before = check_failed;
    uint64_t rows = on->s->rows.rows;
    find_truth(on, &t->predicate);
    for (int level = all_levels ? 1 : 0; level <= (all_levels ? (int)fastpair_cpu_detect() : 0);
         level++) {
        fastpair_column *column = NULL;
        fastpair_error error = {.message = ""};
        fastpair_open_options open = {.struct_size = sizeof open,
                                      .cpu_level = (fastpair_cpu_level)level,
                                      .threads = 1 + (uint32_t)(check_random(random) % 3)};
        if (!verify_ok(fastpair_column_open(on->image, on->size, &open, &column, &error), &error,
                       "open"))
            return;
        for (int method = 0; method <= 3; method++) {
            fastpair_search_options o = {.struct_size = sizeof o};
            o.method = (fastpair_search_method)method;
            o.ignore_bounds = check_random(random) % 2 == 0;
            if (check_random(random) % 8 == 0) o.memory_limit = 1 + check_random(random) % 200000;
            fastpair_search *search = NULL;
            if (!verify_ok(fastpair_search_open(column, &t->predicate, &o, &search, &error), &error,
                           "search_open"))
                continue;
            check_range(on, search, 0, rows);
            uint64_t first = check_random(random) % (rows + 1);
            check_range(on, search, first, check_random(random) % (rows - first + 1));
            check_range(on, search, first, rows - first < 3 ? rows - first : 3);
            check_list(on, search, first, 1 + check_random(random) % 1000);
            fastpair_search_close(search);
            if (check_failed != before) fprintf(stderr, "  ^ level %d method %d\n", level, method);
        }
        fastpair_column_close(column);
    }
    verify_note(before, t->name, on->s->name);
}

/* Rows by a bitmap are the rows of a list. */
static void check_selection(const subject *on, uint64_t *random) {
    const shape *s = on->s;
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(on->image, on->size, NULL, &column, NULL), FASTPAIR_OK);
    set_threads(column, 1 + (uint32_t)(check_random(random) % 3));
    uint64_t first = check_random(random) % (s->rows.rows + 1), count = s->rows.rows - first;
    if (check_random(random) % 2) count = check_random(random) % (count + 1);
    uint8_t *bitmap = malloc((count + 7) / 8 + !count);
    uint32_t percent = (uint32_t)(check_random(random) % 101);
    uint64_t *listed = malloc((count + 1) * 8), chosen = 0, bytes = 0;
    memset(bitmap, 0, (count + 7) / 8);
    for (uint64_t i = 0; i < count; i++)
        if (check_random(random) % 100 < percent) {
            bitmap[i / 8] |= (uint8_t)(1u << i % 8);
            listed[chosen++] = first + i;
            bytes += s->out_offsets[first + i + 1] - s->out_offsets[first + i];
        }
    if (count % 8) bitmap[count / 8] |= (uint8_t)(0xff << count % 8); /* spare bits do not count */
    uint64_t rows = 9, size = 9;
    fastpair_error error = {.message = ""};
    verify_ok(fastpair_column_selected_size(column, first, count, bitmap, &rows, &size, &error),
              &error, "selected_size");
    CHECK(rows == chosen && size == bytes);
    CHECK_EQ(fastpair_column_selected_size(column, first, count, bitmap, &rows, NULL, NULL), 0);
    CHECK_EQ(rows, chosen);
    uint8_t *out = malloc(bytes + !bytes), *validity = malloc((chosen + 7) / 8 + 1);
    uint64_t *offsets = malloc((chosen + 1) * 8);
    fastpair_destination to = to_memory(out, bytes, offsets, 64, validity);
    verify_ok(fastpair_column_decode_selected(column, first, count, bitmap, &to, &error), &error,
              "decode_selected");
    verify_rows(s, listed, 0, chosen, out, offsets, 64, validity, to.nulls);
    if (bytes) {
        to.bytes_capacity = bytes - 1;
        CHECK_EQ(fastpair_column_decode_selected(column, first, count, bitmap, &to, NULL),
                 FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    }
    fastpair_column_close(column);
    free(bitmap), free(listed), free(out), free(validity), free(offsets);
}

static void check_shape(const shape *s, const fastpair_compress_options *options, uint32_t trials,
                        int all_levels, uint64_t *random) {
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error = {.message = ""};
    if (!verify_ok(fastpair_compress(&s->rows, options, &image, &size, &error), &error, "compress"))
        return;
    subject on = {s, image, size, malloc(s->rows.rows + 1)};
    trial_rows from = {s->out_bytes, s->out_offsets, s->rows.rows};
    for (uint32_t i = 0; i < trials; i++) {
        trial t;
        trial_make(&t, &from, i % 4 == 3 ? 4 : 1, random);
        check_methods(&on, &t, all_levels, random);
        trial_free(&t);
    }
    check_selection(&on, random);
    free(on.truth), fastpair_free(NULL, image);
}

static void all_shapes(uint64_t bytes, uint32_t trials, uint64_t *random) {
    for (int kind = 0; kind < SHAPE_KINDS; kind++)
        for (int codec = 0; codec < 3; codec++) {
            shape s;
            shape_make(&s, (shape_kind)kind, check_random(random),
                       &(shape_options){
                           .bytes = bytes, .null_percent = codec == 1 ? 10 : 0, .bit_offset = 3});
            fastpair_compress_options o = {.struct_size = sizeof o, .chunk_bytes = bytes / 4};
            uint32_t pick = (uint32_t)check_random(random);
            o.codec = codec == 2 ? FASTPAIR_CODEC_FSST12 : FASTPAIR_CODEC_ONPAIR;
            o.code_bits = codec == 2 ? 0 : 9 + pick % 8;
            if (codec == 1) o.max_token = 8u << pick / 8 % 4;
            o.cold = frames_available() && pick % 5 == 0;
            check_shape(&s, &o, trials, codec == 1, random);
            shape_free(&s);
        }
}

/* Rows and patterns that cross windows of codes, batches and pieces of rows. */
static void large_columns(uint32_t trials, uint64_t *random) {
    static const struct {
        shape_kind kind;
        uint64_t bytes;
        uint32_t batch;
    } columns[] = {{SHAPE_TINY_ROWS, 150000, 96},   {SHAPE_ONE_LONG_ROW, 60000, 32},
                   {SHAPE_PERIODIC, 150000, 256},   {SHAPE_LONG_AND_TINY, 60000, 1024},
                   {SHAPE_LOG_LINES, 200000, 32},   {SHAPE_EMPTY_ROWS, 90000, 0},
                   {SHAPE_FEW_BYTES, 100000, 160},  {SHAPE_PREFIXES, 100000, 64},
                   {SHAPE_FOUR_VALUES, 150000, 128}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        shape s;
        shape_make(&s, columns[i].kind, check_random(random),
                   &(shape_options){.bytes = columns[i].bytes, .null_percent = i % 3 == 1 ? 3 : 0});
        fastpair_expert_options expert = {.struct_size = sizeof expert,
                                          .batch_codes = columns[i].batch};
        fastpair_compress_options o = {.struct_size = sizeof o,
                                       .codec = FASTPAIR_CODEC_ONPAIR,
                                       .code_bits = i % 2 ? 12 : 14,
                                       .max_token = 8u << i % 4,
                                       .expert = &expert};
        check_shape(&s, &o, trials, i % 3 == 0, random);
        shape_free(&s);
    }
}

/* The same byte for ever, but for one place: the automaton comes back to its start state nowhere. */
static void one_letter(uint64_t *random) {
    enum { SIZE = 40000 };
    uint8_t *bytes = malloc(SIZE);
    uint64_t offsets[5] = {0, 9000, 9001, 30000, SIZE};
    memset(bytes, 'a', SIZE);
    bytes[20000] = bytes[SIZE - 1] = 'b';
    shape s;
    shape_from_rows(&s, "one letter", bytes, offsets, NULL, 4);
    fastpair_compress_options o = {
        .struct_size = sizeof o, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .max_token = 8};
    uint8_t *image = NULL, truth[4], pattern[400];
    uint64_t size = 0;
    CHECK_EQ(fastpair_compress(&s.rows, &o, &image, &size, NULL), FASTPAIR_OK);
    subject on = {&s, image, size, truth};
    static const uint32_t lengths[6] = {1, 8, 9, 200, 255, 400};
    for (int i = 0; i < 6; i++)
        for (int kind = 1; kind <= 4; kind++)
            for (int last = 'a'; last <= 'b'; last++) {
                memset(pattern, 'a', lengths[i]);
                pattern[lengths[i] - 1] = (uint8_t)last;
                fastpair_pattern given = {pattern, lengths[i]};
                trial t = {one_pattern((fastpair_predicate_kind)kind, &given), "one letter"};
                check_methods(&on, &t, 1, random);
            }
    shape_free(&s), fastpair_free(NULL, image), free(bytes);
}

int main(void) {
    uint64_t random = verify_seed();
    all_shapes(20000, check_scaled(12), &random);
    large_columns(check_scaled(12), &random);
    one_letter(&random);
    return check_done();
}
