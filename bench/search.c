/* search.c - fastpair-search: how fast rows of a column are searched on one thread, by method. In: a
 * column file and patterns. Out: for each pattern the rows that contain it and the rate of every
 * method, in decoded bytes per second, beside the rate at which the column is decoded. Every result is
 * compared with that of decoding and searching row by row with memmem. With -n, patterns are drawn from
 * the column, and the slowest of them are named: a rate holds whatever the pattern only if it holds for
 * these. Refuses patterns for which any method finds other rows. */
#define _GNU_SOURCE
#include "fastpair.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: fastpair-search [-t THREADS] [-r ROUNDS] [-l LEVEL] [-k KIND] [-m METHOD] [-n COUNT]\n"
    "                       [-s SEED] FILE.fpc PATTERN...\n"
    "METHOD: best, decode, codes, filter; all are the default\n"
    "-n: also draws COUNT patterns from the rows, and names the ten slowest\n"
    "KIND: contains (default), equals, starts, ends, like; an i before it ignores case\n";

static const char *const names[4] = {"best", "decode", "codes", "filter"};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(fastpair_status status, const fastpair_error *error) {
    if (!status) return;
    fprintf(stderr, "fastpair-search: %s\n", error->message);
    exit(2);
}

/* The decoded rows, to compare with. */
typedef struct text {
    uint64_t rows, size;
    uint8_t *bytes;
    uint64_t *offsets;
} text;

static double decode(const fastpair_column *column, text *to, int rounds) {
    double least = 1e9;
    fastpair_error error;
    fastpair_destination destination = {.struct_size = sizeof destination,
                                        .bytes = to->bytes,
                                        .bytes_capacity = to->size,
                                        .offsets = to->offsets,
                                        .offset_bits = 64};
    for (int i = 0; i < rounds; i++) {
        double begin = now();
        need(fastpair_column_decode(column, 0, to->rows, &destination, &error), &error);
        double took = now() - begin;
        if (took < least) least = took;
    }
    return least;
}

static int ends_with(const uint8_t *row, uint64_t size, const char *pattern, uint64_t length) {
    return length <= size && !memcmp(row + (size - length), pattern, length);
}

/* What a row is for a predicate, by the C library; LIKE is not compared. */
static int passes(fastpair_predicate_kind kind, const uint8_t *row, uint64_t size,
                  const char *pattern) {
    uint64_t length = strlen(pattern);
    switch (kind) {
    case FASTPAIR_EQUALS: return size == length && !memcmp(row, pattern, size);
    case FASTPAIR_STARTS_WITH: return size >= length && !memcmp(row, pattern, length);
    case FASTPAIR_ENDS_WITH: return ends_with(row, size, pattern, length);
    default: return memmem(row, size, pattern, length) != NULL;
    }
}

/* Runs a search `rounds` times; returns the least time, and the rows found in `bitmap`. */
static double search_once(fastpair_column *column, const fastpair_predicate *predicate, int method,
                          int rounds, fastpair_matches *found) {
    fastpair_error error;
    fastpair_search *search = NULL;
    fastpair_search_options options = {.struct_size = sizeof options,
                                       .method = (fastpair_search_method)method};
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    need(fastpair_column_get_totals(column, &totals, &error), &error);
    need(fastpair_search_open(column, predicate, &options, &search, &error), &error);
    double least = 1e9;
    for (int i = 0; i < rounds; i++) {
        double begin = now();
        need(fastpair_search_run(search, 0, totals.rows, found, &error), &error);
        double took = now() - begin;
        if (took < least) least = took;
    }
    fastpair_search_close(search);
    return least;
}

/* A pattern, and which rows pass by the C library. */
typedef struct question {
    fastpair_predicate predicate;
    fastpair_pattern pattern;
    uint64_t bytes; /* of a bitmap */
    uint8_t *bitmap, *right;
    int compared; /* 0: the C library has no such test; the first method that is run is right */
    int answered;
} question;

static question ask(const text *rows, fastpair_predicate predicate, const char *pattern) {
    question q = {.predicate = predicate,
                  .pattern = {pattern, strlen(pattern)},
                  .bytes = (rows->rows + 7) / 8,
                  .compared = predicate.kind != FASTPAIR_LIKE && !predicate.ignore_case};
    q.bitmap = malloc(q.bytes + 1);
    q.right = calloc(q.bytes + 1, 1);
    if (!q.bitmap || !q.right) abort();
    for (uint64_t i = 0; i < rows->rows && q.compared; i++)
        if (passes(predicate.kind, rows->bytes + rows->offsets[i],
                   rows->offsets[i + 1] - rows->offsets[i], pattern))
            q.right[i / 8] |= (uint8_t)(1u << i % 8);
    return q;
}

/* The rate of one method, in GB/s; *matches gets the rows found. */
static double answer(fastpair_column *column, const text *rows, question *q, int method, int rounds,
                     uint64_t *matches) {
    fastpair_matches found = {.struct_size = sizeof found, .bitmap = q->bitmap};
    q->predicate.patterns = &q->pattern;
    q->predicate.pattern_count = 1;
    double took = search_once(column, &q->predicate, method, rounds, &found);
    if (!q->compared && !q->answered++) memcpy(q->right, q->bitmap, q->bytes);
    if (memcmp(q->bitmap, q->right, q->bytes)) {
        printf("\nfastpair-search: %s finds other rows for %s\n", names[method],
               (const char *)q->pattern.bytes);
        exit(1);
    }
    *matches = found.matches;
    return (double)rows->size / took / 1e9;
}

static void measure(fastpair_column *column, const text *rows, fastpair_predicate predicate,
                    const char *pattern, const char *only, int rounds) {
    question q = ask(rows, predicate, pattern);
    printf("%-20s", pattern);
    for (int method = 0; method < 4; method++) {
        uint64_t matches;
        if (only && strcmp(only, names[method])) continue;
        double rate = answer(column, rows, &q, method, method == 1 ? 2 : rounds, &matches);
        if (!method || only) printf(" %9" PRIu64 " rows", matches);
        printf("  %s %6.2f", names[method], rate);
        fflush(stdout);
    }
    printf("\n");
    free(q.bitmap), free(q.right);
}

/* ---------------------------------------------------------------- drawn patterns */

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

static void measure_drawn(fastpair_column *column, const text *rows, uint64_t count, uint64_t seed,
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
        free(q.bitmap), free(q.right);
    }
    qsort(all, count, sizeof *all, by_rate);
    /* Once more: one round that something disturbed is not what a pattern costs. */
    uint64_t slow = count < 4 * SLOWEST ? count : 4 * SLOWEST;
    for (uint64_t i = 0; i < slow; i++) {
        question q = ask(rows, predicate, all[i].pattern);
        double rate = answer(column, rows, &q, 0, 4 * rounds, &all[i].matches);
        if (rate > all[i].rate) all[i].rate = rate;
        free(q.bitmap), free(q.right);
    }
    qsort(all, count, sizeof *all, by_rate);
    printf("%" PRIu64 " drawn patterns: least %.2f GB/s, one in 100 below %.2f, median %.2f\n",
           count, all[0].rate, all[count / 100].rate, all[count / 2].rate);
    for (uint64_t i = 0; i < SLOWEST && i < count; i++)
        printf("  %6.2f  %9" PRIu64 " rows  \"%s\"\n", all[i].rate, all[i].matches, all[i].pattern);
    free(all);
}

static fastpair_predicate read_kind(const char *name) {
    static const char *const kinds[] = {"equals", "starts", "ends", "contains", "like"};
    fastpair_predicate predicate = {.struct_size = sizeof predicate};
    predicate.ignore_case = name[0] == 'i';
    for (int i = 0; i < 5; i++)
        if (!strcmp(name + predicate.ignore_case, kinds[i]))
            predicate.kind = (fastpair_predicate_kind)(i + 1);
    if (!predicate.kind) fprintf(stderr, "%s", usage), exit(2);
    return predicate;
}

int main(int argc, char **argv) {
    fastpair_open_options options = {.struct_size = sizeof options};
    fastpair_predicate predicate = read_kind("contains");
    int at = 1, rounds = 15, count = 0, seed = 1;
    const char *only = NULL;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        int number = atoi(argv[at + 1]);
        switch (argv[at][1]) {
        case 't': options.threads = (uint32_t)number; break;
        case 'r': rounds = number; break;
        case 'm': only = argv[at + 1]; break;
        case 'n': count = number; break;
        case 's': seed = number; break;
        case 'l': options.cpu_level = (fastpair_cpu_level)number; break;
        case 'k': predicate = read_kind(argv[at + 1]); break;
        default: fprintf(stderr, "%s", usage); return 2;
        }
    }
    if (at >= argc) return fprintf(stderr, "%s", usage), 2;
    fastpair_error error;
    fastpair_column *column = NULL;
    need(fastpair_column_open_file(argv[at], &options, &column, &error), &error);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    need(fastpair_column_get_totals(column, &totals, &error), &error);
    text rows = {totals.rows, totals.decoded_bytes, malloc(totals.decoded_bytes + 1),
                 malloc((totals.rows + 1) * sizeof(uint64_t))};
    if (!rows.bytes || !rows.offsets) abort();
    double took = decode(column, &rows, rounds);
    printf("%s: %" PRIu64 " rows, %.1f MB, %" PRIu64 " codes; decoded at %.2f GB/s\n", argv[at],
           rows.rows, (double)rows.size / 1e6, totals.codes, (double)rows.size / took / 1e9);
    for (at++; at < argc; at++) measure(column, &rows, predicate, argv[at], only, rounds);
    if (count > 0) measure_drawn(column, &rows, (uint64_t)count, (uint64_t)seed, rounds);
    free(rows.bytes), free(rows.offsets);
    fastpair_column_close(column);
    return 0;
}
