/* search.c - fastpair-search: how fast rows of a column are searched on one thread, by method. In: a
 * column file and patterns. Out: for each pattern the rows that contain it and the rate of every
 * method, in decoded bytes per second, beside the rate at which the column is decoded. Every result is
 * compared with that of decoding and searching row by row with memmem. With -n, patterns are drawn from
 * the column, and the slowest of them are named: a rate holds whatever the pattern only if it holds for
 * these. With -x, the check of exported text is measured (search_export.c). Refuses patterns for which any
 * method finds other rows. */
#define _GNU_SOURCE
#include "search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: fastpair-search [-t THREADS] [-r ROUNDS] [-l LEVEL] [-k KIND] [-m METHOD] [-n COUNT]\n"
    "                       [-s SEED] [-j LIKE] FILE.fpc PATTERN...\n"
    "METHOD: best, decode, codes, filter; all are the default\n"
    "-n: also draws COUNT patterns from the rows, and names the ten slowest\n"
    "-j: JSON lines instead, of a rare and a common word of the column, and of the LIKE given\n"
    "    unless it is empty, beside decoding all rows and scanning them\n"
    "KIND: contains (default), equals, starts, ends, like; an i before it ignores case\n"
    "       fastpair-search [-t THREADS] [-l LEVEL] -x ROUNDS FILE.fpc...\n";

static const char *const names[4] = {"best", "decode", "codes", "filter"};

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void need(fastpair_status status, const fastpair_error *error) {
    if (!status) return;
    fprintf(stderr, "fastpair-search: %s\n", error->message);
    exit(2);
}

double decode_rows(const fastpair_column *column, text *to, int rounds) {
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

/* The word of a LIKE that is %word%, and how long it is; 0 if it is another. */
static uint64_t word_of(const char *like, const char **word) {
    uint64_t length = strlen(like), special = strcspn(like + !!*like, "%_\\");
    *word = like + 1;
    return length > 2 && like[0] == '%' && special == length - 2 && like[length - 1] == '%'
               ? length - 2
               : 0;
}

/* What a row is for a predicate, by the C library; of LIKE only %word% is compared. */
static int passes(fastpair_predicate_kind kind, const uint8_t *row, uint64_t size,
                  const char *pattern) {
    uint64_t length = strlen(pattern);
    const char *word = pattern;
    if (kind == FASTPAIR_LIKE) length = word_of(pattern, &word);
    switch (kind) {
    case FASTPAIR_EQUALS: return size == length && !memcmp(row, pattern, size);
    case FASTPAIR_STARTS_WITH: return size >= length && !memcmp(row, pattern, length);
    case FASTPAIR_ENDS_WITH: return ends_with(row, size, pattern, length);
    default: return memmem(row, size, word, length) != NULL;
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

double scan_rows(const text *rows, question *q, int rounds) {
    double least = 1e9;
    for (int round = 0; round < rounds; round++) {
        double begin = now();
        memset(q->right, 0, q->bytes);
        for (uint64_t i = 0; i < rows->rows; i++)
            if (passes(q->predicate.kind, rows->bytes + rows->offsets[i],
                       rows->offsets[i + 1] - rows->offsets[i], q->pattern.bytes))
                q->right[i / 8] |= (uint8_t)(1u << i % 8);
        double took = now() - begin;
        if (took < least) least = took;
    }
    return least;
}

question ask(const text *rows, fastpair_predicate predicate, const char *pattern) {
    const char *word;
    question q = {.predicate = predicate,
                  .pattern = {pattern, strlen(pattern)},
                  .bytes = (rows->rows + 7) / 8,
                  .compared = !predicate.ignore_case &&
                              (predicate.kind != FASTPAIR_LIKE || word_of(pattern, &word))};
    q.bitmap = malloc(q.bytes + 1);
    q.right = calloc(q.bytes + 1, 1);
    if (!q.bitmap || !q.right) abort();
    if (q.compared) scan_rows(rows, &q, 1);
    return q;
}

void forget(question *q) { free(q->bitmap), free(q->right); }

double answer(fastpair_column *column, const text *rows, question *q, int method, int rounds,
              uint64_t *matches) {
    fastpair_matches found = {.struct_size = sizeof found, .bitmap = q->bitmap};
    q->predicate.patterns = &q->pattern;
    q->predicate.pattern_count = 1;
    double took = search_once(column, &q->predicate, method, rounds, &found);
    if (!q->compared && !q->answered++) memcpy(q->right, q->bitmap, q->bytes);
    if (memcmp(q->bitmap, q->right, q->bytes)) {
        fprintf(stderr, "fastpair-search: %s finds other rows for %s\n", names[method],
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
    forget(&q);
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
    int at = 1, rounds = 15, count = 0, seed = 1, exports = 0;
    const char *only = NULL, *like = NULL;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        int number = atoi(argv[at + 1]);
        switch (argv[at][1]) {
        case 't': options.threads = (uint32_t)number; break;
        case 'r': rounds = number; break;
        case 'm': only = argv[at + 1]; break;
        case 'j': like = argv[at + 1]; break;
        case 'n': count = number; break;
        case 's': seed = number; break;
        case 'x': exports = number; break;
        case 'l': options.cpu_level = (fastpair_cpu_level)number; break;
        case 'k': predicate = read_kind(argv[at + 1]); break;
        default: fprintf(stderr, "%s", usage); return 2;
        }
    }
    if (at >= argc) return fprintf(stderr, "%s", usage), 2;
    for (; exports && at < argc; at++) compare_exports(argv[at], &options, exports);
    if (exports) return 0;
    fastpair_error error;
    fastpair_column *column = NULL;
    need(fastpair_column_open_file(argv[at], &options, &column, &error), &error);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    need(fastpair_column_get_totals(column, &totals, &error), &error);
    text rows = {totals.rows, totals.decoded_bytes, malloc(totals.decoded_bytes + 1),
                 malloc((totals.rows + 1) * sizeof(uint64_t))};
    if (!rows.bytes || !rows.offsets) abort();
    double took = decode_rows(column, &rows, rounds);
    if (like) {
        measure_words(column, &rows, *like ? like : NULL, argv[at], rounds);
    } else {
        printf("%s: %" PRIu64 " rows, %.1f MB, %" PRIu64 " codes; decoded at %.2f GB/s\n", argv[at],
               rows.rows, (double)rows.size / 1e6, totals.codes, (double)rows.size / took / 1e9);
        for (at++; at < argc; at++) measure(column, &rows, predicate, argv[at], only, rounds);
        if (count > 0) measure_drawn(column, &rows, (uint64_t)count, (uint64_t)seed, rounds);
    }
    free(rows.bytes), free(rows.offsets);
    fastpair_column_close(column);
    return 0;
}
