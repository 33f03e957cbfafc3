/* test_search_many.c - windows in which most rows match: matches of one code and of several, cut by the
 * ends of rows, of windows and of ranges; with rows of one length and of many, empty ones or none;
 * tokens of all lengths; batches that windows share out in other ways. */
#include "search_oracle.h"
#include "verify.h"

enum { ROWS = 9000, RANGES = 12, WORDS = 8, PATTERNS = 12 };

typedef struct rows_made {
    uint8_t *bytes;
    uint64_t offsets[ROWS + 1];
} rows_made;

/* How a column is made. */
typedef struct recipe {
    uint32_t code_bits, max_token, batch;
    uint32_t most_words; /* of a row */
    uint32_t empty_in;   /* one row in so many is empty; 0: none is */
} recipe;

/* "https://host.example/" in rows that mostly have it, whole or cut short. */
static void make_rows(rows_made *made, const recipe *how, uint64_t *random) {
    static const char site[] = "https://host.example/";
    static const char *const words[WORDS] = {"a",    "be",     "sea", "dash",
                                             "east", "fresh ", "q7",  "zz"};
    uint64_t at = 0;
    made->bytes = malloc(ROWS * (how->most_words * 8ull + sizeof site));
    for (uint32_t i = 0; i < ROWS; i++) {
        made->offsets[i] = at;
        if (how->empty_in && check_random(random) % how->empty_in == 0) continue;
        uint64_t cut = check_random(random) % 4 ? 0 : check_random(random) % (sizeof site - 1),
                 end = check_random(random) % 8 ? sizeof site - 1
                                                : cut + check_random(random) % (sizeof site - cut);
        memcpy(made->bytes + at, site + cut, end - cut);
        at += end - cut;
        for (uint64_t k = 1 + check_random(random) % how->most_words; k; k--) {
            const char *word = words[check_random(random) % WORDS];
            memcpy(made->bytes + at, word, strlen(word));
            at += strlen(word);
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
    uint64_t wrong = 0, matches = 0;
    verify_ok(status, &error, "search");
    for (uint64_t i = 0; i < count && !status; i++) {
        wrong += (bitmap[i / 8] >> i % 8 & 1) != expected[first + i];
        matches += expected[first + i];
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(found.matches, matches);
}

static void try_pattern(fastpair_column *column, const rows_made *made, const char *text,
                        uint64_t *random) {
    static uint8_t expected[ROWS];
    fastpair_pattern pattern = {text, strlen(text)};
    fastpair_predicate p = one_pattern(FASTPAIR_CONTAINS, &pattern);
    for (uint32_t i = 0; i < ROWS; i++)
        expected[i] = oracle_evaluate(&p, made->bytes + made->offsets[i],
                                      made->offsets[i + 1] - made->offsets[i]) == ORACLE_TRUE;
    fastpair_search_options o = {.struct_size = sizeof o, .method = FASTPAIR_SEARCH_FILTER};
    fastpair_search *search = NULL;
    CHECK_EQ(fastpair_search_open(column, &p, &o, &search, NULL), FASTPAIR_OK);
    compare(search, expected, 0, ROWS);
    for (uint32_t i = 0; i < RANGES; i++) {
        uint64_t first = check_random(random) % ROWS;
        compare(search, expected, first, check_random(random) % (ROWS - first));
    }
    fastpair_search_close(search);
}

static void try_column(const recipe *how, uint64_t *random) {
    static const char *const patterns[PATTERNS] = {
        "h",  "e",         "st", "https://", "s://host.example", "https://host.example/",
        "/q", ".example/", "as", "q7q",      "example/a",        "zzz"};
    unsigned long long before = check_failed;
    rows_made *made = malloc(sizeof *made);
    uint8_t *image = NULL;
    uint64_t size = 0;
    make_rows(made, how, random);
    fastpair_rows rows = view_rows(ROWS, made->bytes, made->offsets);
    fastpair_expert_options expert = {.struct_size = sizeof expert, .batch_codes = how->batch};
    fastpair_compress_options o = {.struct_size = sizeof o,
                                   .codec = FASTPAIR_CODEC_ONPAIR,
                                   .code_bits = how->code_bits,
                                   .max_token = how->max_token,
                                   .expert = &expert};
    CHECK_EQ(fastpair_compress(&rows, &o, &image, &size, NULL), FASTPAIR_OK);
    for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++) {
        fastpair_open_options open = {.struct_size = sizeof open,
                                      .cpu_level = (fastpair_cpu_level)level};
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(image, size, &open, &column, NULL), FASTPAIR_OK);
        for (uint32_t i = 0; i < PATTERNS && column; i++)
            try_pattern(column, made, patterns[i], random);
        fastpair_column_close(column);
    }
    if (check_failed != before)
        fprintf(stderr, "  ^ %u bits, tokens of %u, batches of %u, up to %u words, empty in %u\n",
                how->code_bits, how->max_token, how->batch, how->most_words, how->empty_in);
    fastpair_free(NULL, image), free(made->bytes), free(made);
}

int main(void) {
    uint64_t random = verify_seed();
    static const recipe recipes[] = {
        {12, 16, 256, 6, 0},  {12, 8, 64, 3, 0},    {12, 64, 256, 20, 0},  {12, 32, 128, 6, 0},
        {9, 8, 256, 4, 0},    {16, 16, 1024, 8, 0}, {14, 64, 64, 2, 0},    {12, 16, 96, 5, 0},
        {12, 16, 256, 6, 40}, {12, 16, 256, 6, 3},  {12, 16, 512, 60, 900}};
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) try_column(&recipes[i], &random);
    return check_done();
}
