/* search_drawn.c - patterns that a column is searched for, drawn from its rows. In: decoded rows, a seed.
 * Out: the slowest of many patterns; or a rare word and a common one as JSON lines, beside decoding all
 * rows and scanning them. Refuses columns without words, of which it prints no line. */
#include "search.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DRAWN 25 /* bytes, and a zero */
#define SLOWEST    10

typedef struct drawn {
    char pattern[MOST_DRAWN];
    uint64_t matches;
    double rate;
} drawn;

/* xorshift64*; the same numbers on every machine. */
static uint64_t random_below(uint64_t *seed, uint64_t bound) {
    *seed ^= *seed >> 12, *seed ^= *seed << 25, *seed ^= *seed >> 27;
    return (*seed * 0x2545f4914f6cdd1du >> 11) % bound;
}

static int is_word(uint8_t byte) { return isalnum(byte) || byte >= 0x80; }

/* A pattern from a random row: every fourth a word, every fourth one or two bytes, and all others up to
 * 24 bytes. Rows without bytes give none. */
static int draw(const text *rows, uint64_t *seed, drawn *to) {
    uint64_t row = random_below(seed, rows->rows);
    const uint8_t *bytes = rows->bytes + rows->offsets[row];
    uint64_t size = rows->offsets[row + 1] - rows->offsets[row], kind = random_below(seed, 4);
    if (!size) return 0;
    uint64_t from = random_below(seed, size), to_end = size - from, length = 0;
    if (kind == 0) {
        while (from && is_word(bytes[from - 1])) from--;
        while (from + length < size && is_word(bytes[from + length])) length++;
    } else {
        length = 1 + random_below(seed, kind == 1 ? 2 : MOST_DRAWN - 1);
        if (length > to_end) length = to_end;
    }
    if (length > MOST_DRAWN - 1) length = MOST_DRAWN - 1;
    memcpy(to->pattern, bytes + from, length);
    to->pattern[length] = 0;
    return length && strlen(to->pattern) == length;
}

static int by_rate(const void *left, const void *right) {
    double a = ((const drawn *)left)->rate, b = ((const drawn *)right)->rate;
    return (a > b) - (a < b);
}

void measure_drawn(fastpair_column *column, const text *rows, uint64_t count, uint64_t seed,
                   int rounds) {
    drawn *all = calloc(count, sizeof *all);
    if (!all) abort();
    fastpair_predicate predicate = {.struct_size = sizeof predicate, .kind = FASTPAIR_CONTAINS};
    seed = seed * 0x9e3779b97f4a7c15u | 1;
    for (uint64_t i = 0, tries = 0; i < count; i += draw(rows, &seed, &all[i]))
        if (tries++ > 100 * count) fprintf(stderr, "fastpair-search: nothing to draw\n"), exit(2);
    for (uint64_t i = 0; i < count; i++) {
        question q = ask(rows, predicate, all[i].pattern);
        all[i].rate = answer(column, rows, &q, 0, rounds, &all[i].matches);
        forget(&q);
    }
    qsort(all, count, sizeof *all, by_rate);
    /* Once more: one round that something disturbed is not what a pattern costs. */
    uint64_t slow = count < 4 * SLOWEST ? count : 4 * SLOWEST;
    for (uint64_t i = 0; i < slow; i++) {
        question q = ask(rows, predicate, all[i].pattern);
        double rate = answer(column, rows, &q, 0, 4 * rounds, &all[i].matches);
        if (rate > all[i].rate) all[i].rate = rate;
        forget(&q);
    }
    qsort(all, count, sizeof *all, by_rate);
    printf("%" PRIu64 " drawn patterns: least %.2f GB/s, one in 100 below %.2f, median %.2f\n",
           count, all[0].rate, all[count / 100].rate, all[count / 2].rate);
    for (uint64_t i = 0; i < SLOWEST && i < count; i++)
        printf("  %6.2f  %9" PRIu64 " rows  \"%s\"\n", all[i].rate, all[i].matches, all[i].pattern);
    free(all);
}

/* ---------------------------------------------------------------- words */

#define MOST_WORDS 200

/* A word of 4 letters and digits or more. */
static int draw_word(const text *rows, uint64_t *seed, drawn *to) {
    size_t length = draw(rows, seed, to) ? strlen(to->pattern) : 0, ascii = 0;
    while (ascii < length && isalnum((uint8_t)to->pattern[ascii])) ascii++;
    return length >= 4 && length < MOST_DRAWN - 1 && ascii == length;
}

/* One JSON line. Letters, digits and % need no escapes. */
static void print_line(fastpair_column *column, text *rows, question *q, const char *role,
                       const char *file, int rounds) {
    uint64_t matches = 0;
    double rate = answer(column, rows, q, 0, rounds, &matches);
    int slow = rounds / 4 + 1;
    double scan = decode_rows(column, rows, slow) + scan_rows(rows, q, slow);
    printf("{\"kind\": \"search\", \"role\": \"%s\", \"pattern\": \"%s\", \"rows\": %" PRIu64
           ", \"matches\": %" PRIu64 ", \"gb_s\": %.5g, \"scan_gb_s\": %.5g, \"verified\": true, "
           "\"file\": \"%s\"}\n",
           role, (const char *)q->pattern.bytes, rows->rows, matches, rate,
           (double)rows->size / scan / 1e9, file);
}

void measure_words(fastpair_column *column, text *rows, const char *like, const char *file,
                   int rounds) {
    fastpair_predicate contains = {.struct_size = sizeof contains, .kind = FASTPAIR_CONTAINS};
    drawn rare = {.matches = UINT64_MAX}, common = {.matches = 0};
    uint64_t seed = 1;
    for (uint32_t found = 0, tries = 0; found < MOST_WORDS && tries < 100 * MOST_WORDS; tries++) {
        drawn word = {.matches = 0};
        if (!rows->rows || !draw_word(rows, &seed, &word)) continue;
        question q = ask(rows, contains, word.pattern);
        answer(column, rows, &q, 0, 1, &word.matches);
        if (word.matches < rare.matches) rare = word;
        if (word.matches > common.matches) common = word;
        forget(&q);
        found++;
    }
    const struct {
        const char *role, *pattern;
        fastpair_predicate_kind kind;
    } all[3] = {{"rare", rare.pattern, FASTPAIR_CONTAINS},
                {"common", common.pattern, FASTPAIR_CONTAINS},
                {"like", like, FASTPAIR_LIKE}};
    for (int i = 0; i < 3; i++) {
        if (!all[i].pattern || !all[i].pattern[0]) continue;
        contains.kind = all[i].kind;
        question q = ask(rows, contains, all[i].pattern);
        print_line(column, rows, &q, all[i].role, file, rounds);
        forget(&q);
    }
}
