/* search.c - fastpair-search: how fast rows of a column are searched on one thread, by method. In: a
 * column file and patterns. Out: for each pattern the rows that contain it and the rate of every
 * method, in decoded bytes per second, beside the rate at which the column is decoded. Every result is
 * compared with that of decoding and searching row by row with memmem. Refuses patterns for which any
 * method finds other rows. */
#define _GNU_SOURCE
#include "fastpair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: fastpair-search [-t THREADS] [-r ROUNDS] [-l LEVEL] [-k KIND] FILE.fpc PATTERN...\n"
    "KIND: contains (default), equals, starts, ends, like; an i before it ignores case\n";

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

static void measure(fastpair_column *column, const text *rows, fastpair_predicate predicate,
                    const char *pattern, int rounds) {
    static const char *const names[4] = {"best", "decode", "codes", "filter"};
    fastpair_pattern given = {pattern, strlen(pattern)};
    predicate.patterns = &given;
    predicate.pattern_count = 1;
    uint64_t bytes = (rows->rows + 7) / 8;
    uint8_t *bitmap = malloc(bytes + 1), *right = calloc(bytes + 1, 1);
    if (!bitmap || !right) abort();
    int compared = predicate.kind != FASTPAIR_LIKE && !predicate.ignore_case;
    for (uint64_t i = 0; i < rows->rows && compared; i++)
        if (passes(predicate.kind, rows->bytes + rows->offsets[i],
                   rows->offsets[i + 1] - rows->offsets[i], pattern))
            right[i / 8] |= (uint8_t)(1u << i % 8);
    printf("%-20s", pattern);
    for (int method = 0; method < 4; method++) {
        fastpair_matches found = {.struct_size = sizeof found, .bitmap = bitmap};
        double took = search_once(column, &predicate, method, method == 1 ? 2 : rounds, &found);
        if (!compared && !method) memcpy(right, bitmap, bytes);
        if (!method) printf(" %9" PRIu64 " rows", found.matches);
        printf("  %s %6.2f", names[method], (double)rows->size / took / 1e9);
        fflush(stdout);
        if (memcmp(bitmap, right, bytes)) {
            printf("\nfastpair-search: %s finds other rows\n", names[method]);
            exit(1);
        }
    }
    printf("\n");
    free(bitmap), free(right);
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
    int at = 1, rounds = 15;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        int number = atoi(argv[at + 1]);
        switch (argv[at][1]) {
        case 't': options.threads = (uint32_t)number; break;
        case 'r': rounds = number; break;
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
    for (at++; at < argc; at++) measure(column, &rows, predicate, argv[at], rounds);
    free(rows.bytes), free(rows.offsets);
    fastpair_column_close(column);
    return 0;
}
