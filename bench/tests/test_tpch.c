/*
 * Tests of the TPC-H column generators: the same seed gives the same rows, and the rows have the
 * lengths, characters and word frequencies of the specification.
 */
#include "tpch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct result {
    int checks;
    int failures;
} result;

/* Evaluates a condition, prints a line saying what was checked, and counts failures in *res. */
#define CHECK(res, cond, ...) check((res), (cond), __FILE__, __LINE__, #cond, __VA_ARGS__)

/* Checks that a measured value is within a relative tolerance of the expected one. */
#define CHECK_NEAR(res, value, expected, tolerance, what)                                          \
    check_near((res), (value), (expected), (tolerance), __FILE__, __LINE__, (what))

static void check(result *res, int ok, const char *file, int line, const char *cond,
                  const char *what) {
    res->checks++;
    res->failures += !ok;
    if (ok)
        printf("ok   %s\n", what);
    else
        printf("FAIL %s:%d: %s: %s\n", file, line, what, cond);
}

/* (Seven parameters: three of them are what the macro adds.) */
static void check_near(result *res, double value, double expected, double tolerance,
                       const char *file, int line, const char *what) {
    char text[160];
    snprintf(text, sizeof text, "%s: %.5g, expected %.5g +- %g%%", what, value, expected,
             100 * tolerance);
    check(res, fabs(value - expected) <= tolerance * expected, file, line, "near", text);
}

/* Starts a generator; a failure counts as a failed check. Returns whether it can be used. */
static int start(result *res, fp_tpch_gen *gen, uint64_t seed, fp_tpch_column column) {
    int ok = fp_tpch_open(gen, seed, column) == 0;
    if (!ok) CHECK(res, ok, "generator starts");
    return ok;
}

/* Hash of the first `rows` rows, boundaries included; *bytes is set to their total length. */
static uint64_t hash_rows(uint64_t seed, fp_tpch_column column, int rows, uint64_t *bytes) {
    fp_tpch_gen gen;
    char row[FP_TPCH_MAX_ROW];
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    *bytes = 0;
    if (fp_tpch_open(&gen, seed, column) != 0) return 0;
    for (int i = 0; i < rows; i++) {
        size_t size = fp_tpch_next(&gen, row);
        for (size_t j = 0; j < size; j++) h = (h ^ (unsigned char)row[j]) * UINT64_C(0x100000001B3);
        h = (h ^ '\n') * UINT64_C(0x100000001B3);
        *bytes += size;
    }
    fp_tpch_close(&gen);
    return h;
}

static void test_names(result *res) {
    static const char *const names[] = {"l_comment", "ps_comment", "o_clerk", "c_address",
                                        "l_shipinstruct"};
    fp_tpch_column column = FP_TPCH_L_COMMENT;
    fp_tpch_gen gen;
    int good = 0;
    for (int i = 0; i < FP_TPCH_COLUMN_COUNT; i++) {
        const char *name = fp_tpch_column_name((fp_tpch_column)i);
        good += name && strcmp(name, names[i]) == 0 && fp_tpch_column_parse(name, &column) == 0 &&
                (int)column == i;
    }
    CHECK(res, good == FP_TPCH_COLUMN_COUNT, "names and columns map to each other");
    column = FP_TPCH_O_CLERK;
    CHECK(res, fp_tpch_column_parse("L_COMMENT", &column) == -1, "names are case-sensitive");
    CHECK(res, fp_tpch_column_parse("", &column) == -1, "the empty name is no column");
    CHECK(res, column == FP_TPCH_O_CLERK, "a failed look-up leaves the result alone");
    CHECK(res, fp_tpch_column_name((fp_tpch_column)FP_TPCH_COLUMN_COUNT) == NULL,
          "no name past the last");
    CHECK(res, fp_tpch_open(&gen, 1, (fp_tpch_column)FP_TPCH_COLUMN_COUNT) == -1,
          "no generator past the last");
    fp_tpch_close(&gen);
    fp_tpch_close(&gen);
}

/* The hashes are of the rows as first published: whoever changes them makes old results stale. */
static void test_determinism(result *res) {
    static const uint64_t expected[FP_TPCH_COLUMN_COUNT] = {
        UINT64_C(0x551EC6268D2591E4), UINT64_C(0x73B05A4D54365734), UINT64_C(0x284FE5E71F4A73BD),
        UINT64_C(0x4932B345050F2775), UINT64_C(0x9A5B34BF94F56310)};
    for (int i = 0; i < FP_TPCH_COLUMN_COUNT; i++) {
        fp_tpch_column column = (fp_tpch_column)i;
        uint64_t bytes, again, other;
        char what[80];
        uint64_t h = hash_rows(1, column, 20000, &bytes);
        snprintf(what, sizeof what, "%s: seed 1 gives the known rows", fp_tpch_column_name(column));
        CHECK(res, h == expected[i], what);
        if (h != expected[i]) printf("     hash is 0x%016llX\n", (unsigned long long)h);
        snprintf(what, sizeof what, "%s: a second run is equal", fp_tpch_column_name(column));
        CHECK(res, h == hash_rows(1, column, 20000, &again) && bytes == again, what);
        snprintf(what, sizeof what, "%s: seeds 0, 2 and 2^63 differ", fp_tpch_column_name(column));
        CHECK(res,
              h != hash_rows(0, column, 20000, &other) &&
                  h != hash_rows(2, column, 20000, &other) &&
                  h != hash_rows(UINT64_C(1) << 63, column, 20000, &other),
              what);
    }
}

/* Two seeds must not give the same rows at the same or another place. */
static void test_seeds(result *res) {
    enum { ROWS = 2000 };
    static char rows[2][ROWS][FP_TPCH_MAX_ROW];
    fp_tpch_gen gen;
    int same = 0;
    memset(rows, 0, sizeof rows);
    for (int s = 0; s < 2; s++) {
        if (!start(res, &gen, (uint64_t)s, FP_TPCH_PS_COMMENT)) return;
        for (int i = 0; i < ROWS; i++) fp_tpch_next(&gen, rows[s][i]);
        fp_tpch_close(&gen);
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) same += memcmp(rows[0][i], rows[1][j], 49) == 0;
    CHECK(res, same == 0, "ps_comment: no row of one seed is in another");
}

/* Row lengths are uniform from min to max, and both ends occur. */
static void test_lengths(result *res, fp_tpch_column column, size_t min, size_t max) {
    enum { ROWS = 300000 };
    int count[FP_TPCH_MAX_ROW + 1] = {0};
    char row[FP_TPCH_MAX_ROW], what[80];
    const char *name = fp_tpch_column_name(column);
    double each = (double)ROWS / (double)(max - min + 1), sum = 0;
    int inside = 0, even = 1;
    fp_tpch_gen gen;
    if (!start(res, &gen, 7, column)) return;
    for (int i = 0; i < ROWS; i++) {
        size_t size = fp_tpch_next(&gen, row);
        inside += size >= min && size <= max;
        if (size <= FP_TPCH_MAX_ROW) count[size]++;
        sum += (double)size;
    }
    fp_tpch_close(&gen);
    /* Six standard deviations: will not happen by chance. */
    for (size_t n = min; n <= max; n++) even &= fabs(count[n] - each) < 6 * sqrt(each);
    snprintf(what, sizeof what, "%s: lengths in range", name);
    CHECK(res, inside == ROWS, what);
    snprintf(what, sizeof what, "%s: every length about as often", name);
    CHECK(res, even, what);
    snprintf(what, sizeof what, "%s: mean length", name);
    CHECK_NEAR(res, sum / ROWS, (double)(min + max) / 2, 0.01, what);
}

static void test_address(result *res) {
    static const char charset[] =
        "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    int count[256] = {0}, total = 0, allowed = 0, even = 1;
    char row[FP_TPCH_MAX_ROW];
    fp_tpch_gen gen;
    if (!start(res, &gen, 3, FP_TPCH_C_ADDRESS)) return;
    for (int i = 0; i < 100000; i++) {
        size_t size = fp_tpch_next(&gen, row);
        for (size_t j = 0; j < size; j++) count[(unsigned char)row[j]]++;
        total += (int)size;
    }
    fp_tpch_close(&gen);
    for (int i = 0; i < 64; i++) {
        int n = count[(unsigned char)charset[i]];
        allowed += n;
        even &= fabs(n - total / 64.0) < 6 * sqrt(total / 64.0);
    }
    CHECK(res, allowed == total, "c_address: only the 64 characters");
    CHECK(res, even, "c_address: every character about as often");
}

static void test_clerk(result *res) {
    enum { ROWS = 450000 };
    static unsigned char seen[FP_TPCH_CLERKS + 1];
    char row[FP_TPCH_MAX_ROW];
    int good = 0, distinct = 0;
    double sum = 0;
    fp_tpch_gen gen;
    if (!start(res, &gen, 4, FP_TPCH_O_CLERK)) return;
    for (int i = 0; i < ROWS; i++) {
        size_t size = fp_tpch_next(&gen, row);
        if (size != 15 || memcmp(row, "Clerk#", 6) != 0) continue;
        row[15] = '\0';
        if (strspn(row + 6, "0123456789") != 9) continue;
        long clerk = strtol(row + 6, NULL, 10);
        if (clerk < 1 || clerk > FP_TPCH_CLERKS) continue;
        good++;
        sum += (double)clerk;
        distinct += !seen[clerk];
        seen[clerk] = 1;
    }
    fp_tpch_close(&gen);
    CHECK(res, good == ROWS, "o_clerk: form Clerk#nnnnnnnnn, number in range");
    CHECK_NEAR(res, sum / ROWS, (FP_TPCH_CLERKS + 1) / 2.0, 0.005, "o_clerk: mean number");
    CHECK(res, distinct > FP_TPCH_CLERKS - 20, "o_clerk: ten draws a clerk miss hardly any");
}

static void test_shipinstruct(result *res) {
    static const char *const all[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE",
                                      "TAKE BACK RETURN"};
    enum { ROWS = 100000 };
    char row[FP_TPCH_MAX_ROW];
    int count[4] = {0};
    fp_tpch_gen gen;
    if (!start(res, &gen, 5, FP_TPCH_L_SHIPINSTRUCT)) return;
    for (int i = 0; i < ROWS; i++) {
        size_t size = fp_tpch_next(&gen, row);
        for (int k = 0; k < 4; k++)
            count[k] += size == strlen(all[k]) && memcmp(row, all[k], size) == 0;
    }
    fp_tpch_close(&gen);
    CHECK(res, count[0] + count[1] + count[2] + count[3] == ROWS,
          "l_shipinstruct: only the four strings");
    for (int k = 0; k < 4; k++) CHECK_NEAR(res, count[k], ROWS / 4.0, 0.03, all[k]);
}

/* Words found in comments, without the punctuation at their ends. */
typedef struct words {
    struct {
        char text[16];
        double count;
    } slot[1024]; /* open addressing */
    double sentences, periods;
    int distinct, bad_chars, stray_spaces;
} words;

static double *find_word(words *w, const char *text, size_t size) {
    char key[16] = {0};
    unsigned h = 0;
    if (size > 15) size = 15;
    for (size_t i = 0; i < size; i++) h = h * 31 + (unsigned char)(key[i] = text[i]);
    for (h &= 1023; w->slot[h].text[0] != '\0'; h = (h + 1) & 1023)
        if (strcmp(w->slot[h].text, key) == 0) return &w->slot[h].count;
    if (w->distinct < 1000) {
        memcpy(w->slot[h].text, key, sizeof key);
        w->distinct++;
    }
    return &w->slot[h].count;
}

/*
 * Counts the words of a row; the first and the last may be cut, so they are left out. A long word is
 * cut more often than a short one: the weights make up for that.
 */
static void count_words(words *w, const char *row, size_t size) {
    size_t start = 0;
    for (size_t i = 0; i < size; i++) {
        char c = row[i];
        w->bad_chars += !((c >= 'a' && c <= 'z') || (c != '\0' && strchr(" T.;:?!-,", c) != NULL));
        if (c != ' ') continue;
        w->stray_spaces += i > 0 && row[i - 1] == ' ';
        if (start > 0) {
            size_t end = i;
            while (end > start && strchr(".;:?!-", row[end - 1]) != NULL) end--;
            double weight = 100.0 / (double)(size - 1 - (i - start));
            if (end < i) w->sentences += weight;
            if (row[i - 1] == '.') w->periods += weight;
            if (row[end - 1] == ',') end--;
            *find_word(w, row + start, end - start) += weight;
        }
        start = i + 1;
    }
}

/*
 * The grammar tells what to expect. Of 11 sentences there are 21 noun phrases, 11 verb phrases and 6
 * prepositional phrases; a noun phrase has 50/90 adverbs and 90/90 adjectives (20 + 2 * 10 + 50), a
 * verb phrase has 41/72 adverbs. Weights add up to 340 for nouns, 174 for verbs, 289 for adjectives,
 * 262 for adverbs and 456 for prepositions. Everything is measured against the noun phrases, that is,
 * 340/160 times "packages" and the three other nouns of that weight. There are 207 different words,
 * those within entries of several words counted one by one.
 */
static void test_words(result *res) {
    static words w;
    char row[FP_TPCH_MAX_ROW];
    fp_tpch_gen gen;
    if (!start(res, &gen, 6, FP_TPCH_PS_COMMENT)) return;
    for (int i = 0; i < 100000; i++) {
        size_t size = fp_tpch_next(&gen, row);
        count_words(&w, row, size);
    }
    fp_tpch_close(&gen);

#define N(s) (*find_word(&w, s, strlen(s)))
    double np = (N("packages") + N("requests") + N("accounts") + N("deposits")) * 340 / 160;
    double adverbs = np * (50.0 / 90 + 11.0 / 21 * 41 / 72);
    CHECK(res, w.bad_chars == 0, "ps_comment: only the characters of the grammar");
    CHECK(res, w.stray_spaces == 0, "ps_comment: words are one space apart");
    CHECK(res, w.distinct == 207, "ps_comment: exactly the words of the grammar");
    CHECK_NEAR(res, w.sentences, np * 11 / 21, 0.02, "sentences");
    CHECK_NEAR(res, w.periods, np * 11 / 21 * 50 / 55, 0.02, "sentences with a period");
    CHECK_NEAR(res, N("the"), np * 6 / 21, 0.02, "the");
    CHECK_NEAR(res, N("beans"), np * 20 / 340, 0.03, "(pinto) beans");
    CHECK_NEAR(res, N("courts"), np * 5 / 340, 0.08, "courts");
    CHECK_NEAR(res, N("regular"), np * 50 / 289, 0.02, "regular");
    CHECK_NEAR(res, N("final"), np * 40 / 289, 0.03, "final");
    CHECK_NEAR(res, N("silent"), np * 10 / 289, 0.05, "silent");
    CHECK_NEAR(res, N("furiously"), adverbs * 50 / 262, 0.02, "furiously");
    CHECK_NEAR(res, N("fluffily"), adverbs * 20 / 262, 0.03, "fluffily");
    CHECK_NEAR(res, N("sleep"), np * 11 / 21 * 20 / 174, 0.04, "sleep");
    CHECK_NEAR(res, N("above"), np * 6 / 21 * 50 / 456, 0.04, "above");
    CHECK_NEAR(res, N("have"), np * 11 / 21 * 2 / 72 * 5 / 18, 0.1, "have (to)");
#undef N
}

int main(void) {
    result res = {0, 0};
    test_names(&res);
    test_determinism(&res);
    test_seeds(&res);
    test_lengths(&res, FP_TPCH_L_COMMENT, 10, 43);
    test_lengths(&res, FP_TPCH_PS_COMMENT, 49, 198);
    test_lengths(&res, FP_TPCH_C_ADDRESS, 10, 40);
    test_address(&res);
    test_clerk(&res);
    test_shipinstruct(&res);
    test_words(&res);
    printf("%d checks, %d failed\n", res.checks, res.failures);
    return res.failures == 0 ? 0 : 1;
}
