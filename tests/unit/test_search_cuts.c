/* test_search_cuts.c - searches of rows that begin and end anywhere in a chunk: rows that go on from one
 * window of codes to the next, with few codes left there, and ranges that have empty rows alone. And
 * rows that end in the middle of a character, of which the next row has the rest. */
#include "search_oracle.h"
#include "verify.h"

enum { ROWS = 3000, RANGES = 200, TEXTS = 7, TRIES = 8 };

/* Words, among them runs of empty rows and, now and then, rows of some thousand codes. */
typedef struct rows_made {
    uint8_t *bytes;
    uint64_t offsets[ROWS + 1];
} rows_made;

static void make_rows(rows_made *made, const char *const *texts, uint64_t *random) {
    made->bytes = malloc(ROWS * 4096ull);
    uint64_t at = 0, empty = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        made->offsets[i] = at;
        uint64_t words = check_random(random) % 12;
        if (i % 100 == 7) words = check_random(random) % 800;
        if (!empty && check_random(random) % 40 == 0) empty = 1 + check_random(random) % 30;
        if (i + 20 >= ROWS) empty = 1; /* the last rows, too */
        if (empty) {
            empty--;
            continue;
        }
        for (uint64_t k = 0; k < words; k++) {
            const char *text = texts[check_random(random) % TEXTS];
            memcpy(made->bytes + at, text, strlen(text));
            at += strlen(text);
        }
    }
    made->offsets[ROWS] = at;
}

static void compare(const fastpair_search *search, const uint8_t *expected, uint64_t first,
                    uint64_t count) {
    uint8_t bitmap[ROWS / 8 + 1];
    fastpair_matches found = {.struct_size = sizeof found, .bitmap = bitmap};
    fastpair_error error = {.message = ""};
    fastpair_status status = fastpair_search_run(search, first, count, &found, &error);
    verify_ok(status, &error, "search");
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count && !status; i++)
        wrong += (bitmap[i / 8] >> i % 8 & 1) != expected[first + i];
    CHECK_EQ(wrong, 0);
}

static void try_predicate(fastpair_column *column, const fastpair_predicate *p,
                          const rows_made *made, uint64_t *random) {
    uint8_t expected[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        expected[i] = oracle_evaluate(p, made->bytes + made->offsets[i],
                                      made->offsets[i + 1] - made->offsets[i]) == ORACLE_TRUE;
    for (int method = 0; method <= FASTPAIR_SEARCH_FILTER; method++) {
        fastpair_search_options o = {.struct_size = sizeof o,
                                     .method = (fastpair_search_method)method};
        fastpair_search *search = NULL;
        CHECK_EQ(fastpair_search_open(column, p, &o, &search, NULL), FASTPAIR_OK);
        for (uint32_t i = 0; i < RANGES; i++) {
            uint64_t first = check_random(random) % ROWS;
            uint64_t count = check_random(random) % (i % 2 ? 16 : ROWS) % (ROWS - first);
            compare(search, expected, first, count);
        }
        compare(search, expected, ROWS - 20, 20); /* empty rows at the end of the bytes */
        fastpair_search_close(search);
    }
}

typedef struct like_that {
    fastpair_predicate_kind kind;
    const char *pattern;
} like_that;

static void try_column(const char *const *texts, const like_that *tries, uint64_t *random) {
    uint64_t size = 0;
    rows_made made;
    uint8_t *image = NULL;
    make_rows(&made, texts, random);
    fastpair_rows rows = view_rows(ROWS, made.bytes, made.offsets);
    CHECK_EQ(fastpair_compress(&rows, NULL, &image, &size, NULL), FASTPAIR_OK);
    for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++) {
        fastpair_open_options o = {.struct_size = sizeof o, .cpu_level = (fastpair_cpu_level)level};
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(image, size, &o, &column, NULL), FASTPAIR_OK);
        for (uint32_t i = 0; i < TRIES; i++) {
            fastpair_pattern pattern = {tries[i].pattern, strlen(tries[i].pattern)};
            fastpair_predicate p = one_pattern(tries[i].kind, &pattern);
            try_predicate(column, &p, &made, random);
        }
        fastpair_column_close(column);
    }
    fastpair_free(NULL, image), free(made.bytes);
}

int main(void) {
    uint64_t random = verify_seed();
    static const char *const words[TEXTS] = {"ship", "a", "quick ", "zq", "needle", "  ", "be"};
    static const like_that of_words[TRIES] = {
        {FASTPAIR_CONTAINS, "needle"},   {FASTPAIR_CONTAINS, "dleqz"}, {FASTPAIR_LIKE, "%zq%be"},
        {FASTPAIR_LIKE, "ship%a%"},      {FASTPAIR_LIKE, "%"},         {FASTPAIR_EQUALS, ""},
        {FASTPAIR_STARTS_WITH, "quick"}, {FASTPAIR_ENDS_WITH, "be"}};
    /* Parts of a character of three bytes; words before and after it. */
    static const char *const parts[TEXTS] = {"tail ", "\xe2",         "\x82\xac", "\xac",
                                             "x",     "\xe2\x82\xac", "q"};
    static const like_that of_parts[TRIES] = {
        {FASTPAIR_LIKE, "%_\xac%"},        {FASTPAIR_LIKE, "%_\xac_"}, {FASTPAIR_LIKE, "%\x82__"},
        {FASTPAIR_LIKE, "%q__x%"},         {FASTPAIR_LIKE, "%x_q"},    {FASTPAIR_LIKE, "_x%"},
        {FASTPAIR_LIKE, "%l__\xac%tail%"}, {FASTPAIR_LIKE, "%___"}};
    try_column(words, of_words, &random);
    try_column(parts, of_parts, &random);
    return check_done();
}
