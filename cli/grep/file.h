/* file.h - one input of fpgrep: a column, opened for a search. */
#ifndef CLI_GREP_FILE_H
#define CLI_GREP_FILE_H

#include "grep.h"
#include "mapping.h"

typedef struct grep_file {
    cli_input input;
    cli_mapping mapping; /* of a file */
    uint8_t *loaded;     /* of a pipe: all that it gave */
    fastpair_column *column;
    fastpair_column_totals totals;
    fastpair_search *search;
    uint64_t first_row, end_row; /* the rows that are searched */
} grep_file;

/* Opens a column and compiles the patterns for it. A file is mapped: no more of it is read than the
 * search looks at. A pipe is read whole. Prints what is wrong; CLI_OK or another exit code. Close
 * the file either way. */
int grep_file_open(grep_file *file, const grep_options *options, const char *path);

/* CLI_OK if all that was found so far came from the file as it was opened; else says that the file
 * was cut. Call it before anything is printed that was found. */
int grep_file_check(const grep_file *file);

/* Says what the library found wrong; never CLI_OK. */
int grep_file_fail(const grep_file *file, const fastpair_error *error);

/* Safe when all zero. */
void grep_file_close(grep_file *file);

#endif
