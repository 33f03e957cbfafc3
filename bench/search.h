/* search.h - what the parts of fastpair-search share: a column's decoded rows, and one search of them. */
#ifndef FP_BENCH_SEARCH_H
#define FP_BENCH_SEARCH_H

#include "fastpair.h"

/* Seconds on a clock. */
double now(void);

/* Ends the program if a call failed. */
void need(fastpair_status status, const fastpair_error *error);

/* The decoded rows, to compare with. */
typedef struct text {
    uint64_t rows, size;
    uint8_t *bytes;
    uint64_t *offsets;
} text;

/* A pattern, and which rows pass by the C library. */
typedef struct question {
    fastpair_predicate predicate;
    fastpair_pattern pattern;
    uint64_t bytes; /* of a bitmap */
    uint8_t *bitmap, *right;
    int compared; /* 0: the C library has no such test; the first method that is run is right */
    int answered;
} question;

question ask(const text *rows, fastpair_predicate predicate, const char *pattern);
void forget(question *q);

/* The rate of one method, in GB/s; *matches gets the rows found. Ends the program if they are others
 * than the C library's. */
double answer(fastpair_column *column, const text *rows, question *q, int method, int rounds,
              uint64_t *matches);

/* Seconds that it takes to decode all rows, and to look at each with the C library; the least of
 * `rounds`. */
double decode_rows(const fastpair_column *column, text *to, int rounds);
double scan_rows(const text *rows, question *q, int rounds);

/* Draws `count` patterns, and prints the slowest. */
void measure_drawn(fastpair_column *column, const text *rows, uint64_t count, uint64_t seed,
                   int rounds);

/* A rare and a common word of the column, and a LIKE that is given unless it is NULL: a JSON line each. */
void measure_words(fastpair_column *column, text *rows, const char *like, const char *file,
                   int rounds);

/* Exports all rows of a file as bytes and as text, and prints both rates. */
void compare_exports(const char *path, const fastpair_open_options *options, int rounds);

#endif
