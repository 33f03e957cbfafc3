/* patterns.h - the patterns of a command line, and where they are in a row. */
#ifndef CLI_GREP_PATTERNS_H
#define CLI_GREP_PATTERNS_H

#include "fastpair_search.h"

#include <stdbool.h>

typedef struct grep_patterns {
    fastpair_pattern *list;
    uint64_t count, room;
    /* What -f read; the patterns of it point here. */
    uint8_t **files;
    uint64_t file_count;
    bool given; /* -e or -f was there, so that no word of the command line is a pattern */
} grep_patterns;

/* Adds bytes that stay until the patterns are closed. Prints what is wrong; CLI_OK or
 * CLI_FAILED. */
int grep_patterns_add(grep_patterns *patterns, const void *bytes, uint64_t size);

/* Adds the lines of a file, "-" for standard input. A newline at its end begins no further line. */
int grep_patterns_load(grep_patterns *patterns, const char *path);

void grep_patterns_close(grep_patterns *patterns);

/* ------------------------------------------------- where a row matches, for colours (highlight.c) */

typedef struct grep_highlight {
    const grep_patterns *patterns;
    fastpair_predicate_kind kind;
    uint8_t fold[256]; /* letters that -i takes for the same are the same here */
    /* CONTAINS: patterns by their first byte. Those with byte b are
     * sorted[first[b]] .. sorted[first[b + 1]], the longest first. */
    const fastpair_pattern **sorted;
    uint64_t first[257];
} grep_highlight;

/* Prepares; `patterns` must stay. Prints what is wrong; CLI_OK or CLI_FAILED. */
int grep_highlight_open(grep_highlight *highlight, const grep_patterns *patterns,
                        fastpair_predicate_kind kind, bool ignore_case);

/* Safe when all zero. */
void grep_highlight_close(grep_highlight *highlight);

/* Finds the first match at *start or after it: the leftmost one, and of those there the longest.
 * Sets *start and *length; false if there is none that is longer than nothing. */
bool grep_highlight_next(const grep_highlight *highlight, const uint8_t *row, uint64_t size,
                         uint64_t *start, uint64_t *length);

#endif
