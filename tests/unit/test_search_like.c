/* test_search_like.c - LIKE by a table of cases, tests/search/like_cases.txt, which other
 * implementations can be asked as well; bytes that are no UTF-8; and the oracle by the same table. */
#include "search_oracle.h"
#include "verify.h"

/* A column of one row, and a null one. */
static fastpair_column *open_row(const void *row, uint64_t size, uint8_t **image) {
    uint64_t offsets[3] = {0, size, size};
    uint8_t valid[1] = {1};
    fastpair_rows rows = view_rows(2, row, offsets);
    rows.validity = valid;
    uint64_t image_size = 0;
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_compress(&rows, NULL, image, &image_size, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_open(*image, image_size, NULL, &column, NULL), FASTPAIR_OK);
    return column;
}

static void check_case(const fastpair_pattern *pattern, int escape, const void *row, uint64_t size,
                       int expected) {
    static const uint8_t empty[1] = {0};
    unsigned long long before = check_failed;
    uint8_t *image = NULL, bitmap[1], validity[1];
    fastpair_column *column = open_row(row, size, &image);
    fastpair_predicate p = one_pattern(FASTPAIR_LIKE, pattern);
    p.escape = escape;
    CHECK_EQ(oracle_evaluate(&p, size ? row : empty, size), expected ? ORACLE_TRUE : ORACLE_FALSE);
    for (int negate = 0; negate < 2; negate++) {
        fastpair_search *search = NULL;
        fastpair_error error = {.message = ""};
        fastpair_matches found = {
            .struct_size = sizeof found, .bitmap = bitmap, .validity = validity};
        p.negate = negate;
        if (!verify_ok(fastpair_search_open(column, &p, NULL, &search, &error), &error, "open"))
            continue;
        CHECK_EQ(fastpair_search_run(search, 0, 2, &found, NULL), FASTPAIR_OK);
        CHECK_EQ(bitmap[0], expected != negate);
        CHECK_EQ(validity[0], 1);
        CHECK(found.matches == (uint64_t)(expected != negate) && found.nulls == 1);
        fastpair_search_close(search);
    }
    if (check_failed != before)
        fprintf(stderr, "  ^ '%.*s' LIKE '%.*s' escape %d\n", (int)size, (const char *)row,
                (int)pattern->size, (const char *)pattern->bytes, escape);
    fastpair_column_close(column), fastpair_free(NULL, image);
}

static void table(void) {
    FILE *file = fopen("search/like_cases.txt", "rb");
    CHECK(file != NULL);
    char line[1000];
    uint32_t cases = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (line[0] == '#') continue;
        char *field[4] = {line}, *end = strchr(line, '\n');
        for (int i = 1; i < 4; i++) {
            field[i] = strchr(field[i - 1], '\t');
            CHECK(field[i] != NULL);
            if (!field[i]) exit(1);
            *field[i]++ = 0;
        }
        if (end) *end = 0;
        fastpair_pattern pattern = {field[0], strlen(field[0])};
        check_case(&pattern, field[1][0] == '-' ? -1 : field[1][0], field[2], strlen(field[2]),
                   field[3][0] == '1');
        cases++;
    }
    CHECK(cases > 150);
    if (file) fclose(file);
}

/* Bytes that are part of no character count as one each. */
static void broken_utf8(void) {
    static const struct {
        const char *pattern, *row;
        int expected;
    } cases[] = {{"_", "\xff", 1},
                 {"__", "\xff\xfe", 1},
                 {"_", "\xc3", 1},
                 {"__", "\xc3(", 1},
                 {"_", "\xc3(", 0},
                 {"___", "\xe2\x82", 0},
                 {"__", "\xe2\x82", 1},
                 {"__",
                  "\xe2\x82"
                  "a",
                  0},
                 {"___",
                  "\xe2\x82"
                  "a",
                  1},
                 {"_", "\xe2\x82\xac", 1},
                 {"__", "\xc0\x80", 1},
                 {"_", "\xc0\x80", 0}, /* an overlong form */
                 {"___", "\xed\xa0\x80", 1},
                 {"_", "\xed\xa0\x80", 0}, /* a surrogate */
                 {"____", "\xf4\x90\x80\x80", 1},
                 {"_", "\xf4\x8f\xbf\xbf", 1},
                 {"___", "\xe0\x80\x80", 1},
                 {"_", "\xe0\xa0\x80", 1},
                 {"____", "\xf0\x80\x80\x80", 1},
                 {"_", "\xf0\x90\x80\x80", 1},
                 {"_\xa9", "\xc3\xa9", 0}, /* the middle of a character is no place for an _ */
                 {"%\xa9", "\xc3\xa9", 1},
                 {"\xc3_", "\xc3\xa9", 0},
                 {"\xc3%", "\xc3\xa9", 1},
                 {"%_\xa9", "\xc3\xa9", 0},
                 {"%_\xa9", "\xc3\xa9\xa9", 1},
                 {"_\x82", "\xe2\x82", 1},
                 {"\xe2_", "\xe2\x82", 1},
                 {"\xe2_\xac", "\xe2\x82\xac", 0},
                 {"_\xe2%", "\xe2\xe2\x82\xac", 1},
                 {"__", "\xe2\xe2\x82\xac", 1},
                 {"%_", "\xe2\x82", 1},
                 {"%___", "\xe2\x82", 0},
                 {"_%_", "\xf0\x9f\x98", 1},
                 {"____", "\xf0\x9f\x98", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fastpair_pattern pattern = {cases[i].pattern, strlen(cases[i].pattern)};
        check_case(&pattern, -1, cases[i].row, strlen(cases[i].row), cases[i].expected);
    }
    check_case(&(fastpair_pattern){"a\0%", 3}, 0, "a\0b", 3, 1); /* NULs are bytes as others */
    check_case(&(fastpair_pattern){"a_b", 3}, 0, "a\0b", 3, 1);
    check_case(&(fastpair_pattern){"a\0b", 3}, 0, "aab", 3, 0);
}

static void refusals(void) {
    uint8_t *image = NULL;
    fastpair_column *column = open_row("abc", 3, &image);
    static const char *const bad[] = {"a\\", "\\a", "%\\", "a\\b%", "\\"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fastpair_pattern pattern = {bad[i], strlen(bad[i])};
        fastpair_predicate p = one_pattern(FASTPAIR_LIKE, &pattern);
        fastpair_search *search = (fastpair_search *)1;
        fastpair_error error = {.message = ""};
        p.escape = '\\';
        CHECK_EQ(fastpair_search_open(column, &p, NULL, &search, &error),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(search == NULL && strstr(error.message, "escape") != NULL);
    }
    /* Every _ after the a doubles the states. */
    char many[40] = "%a";
    fastpair_search *search = NULL;
    fastpair_error error = {.message = ""};
    memset(many + 2, '_', 30);
    fastpair_pattern pattern = {many, 32};
    fastpair_predicate p = one_pattern(FASTPAIR_LIKE, &pattern);
    CHECK_EQ(fastpair_search_open(column, &p, NULL, &search, &error), FASTPAIR_ERROR_LIMIT);
    CHECK(strstr(error.message, "states") != NULL);
    pattern.size = 10;
    CHECK_EQ(fastpair_search_open(column, &p, NULL, &search, &error), FASTPAIR_OK);
    fastpair_search_close(search);
    fastpair_column_close(column), fastpair_free(NULL, image);
}

int main(void) {
    table();
    broken_utf8();
    refusals();
    return check_done();
}
