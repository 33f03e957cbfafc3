/* print.h - what fpgrep writes to standard output: rows, counts, names. */
#ifndef CLI_GREP_PRINT_H
#define CLI_GREP_PRINT_H

#include "emit.h"
#include "grep.h"

#include <stdio.h>

typedef struct grep_printer {
    const grep_options *options;
    cli_output output;
    cli_emitter emitter;
    grep_highlight highlight;
    bool with_names;
    bool colored;
    bool flushes;     /* somebody is looking: what is found is shown at once */
    bool failed;      /* standard output takes no more: there is no use in going on */
    const char *name; /* of the file being printed */
    uint8_t separator;
    FILE *json; /* what is written there goes to the emitter */
} grep_printer;

/* Prepares standard output. Prints what is wrong; CLI_OK or CLI_FAILED, as all calls here do. */
int grep_printer_open(grep_printer *printer, const grep_options *options);

/* What follows is about this file, whose rows end with `separator` unless -0 was given. The name
 * stays until the next call. */
int grep_print_begin(grep_printer *printer, const char *name, uint8_t separator);

/* Whether grep_print_rows needs the numbers of the rows. */
bool grep_printer_wants_numbers(const grep_printer *printer);

/* Rows that match. numbers[i] is the number of row i in the file, from 0. */
int grep_print_rows(grep_printer *printer, const fastpair_rows *rows, const uint64_t *numbers);

/* -c: how many match. */
int grep_print_count(grep_printer *printer, uint64_t count);

/* -l and -L: the file's name. */
int grep_print_name(grep_printer *printer);

/* Sends on what is there, if somebody is looking. */
int grep_print_pause(grep_printer *printer);

/* Writes what is left. */
int grep_print_end(grep_printer *printer);

/* Frees everything, ended or not. Safe when all zero. */
void grep_printer_close(grep_printer *printer);

#endif
