/* text.h - cutting a stream of bytes into rows at a separator. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "cli.h"

typedef struct cli_text {
    cli_input *input;
    uint8_t separator;
    uint8_t *
        bytes; /* rows not yet given begin at `start`; separators were looked for up to `scanned` */
    size_t capacity;
    size_t filled;
    size_t start;
    size_t scanned;
    uint64_t *offsets;
    uint64_t rows_given;
    bool at_end;          /* the input has no more bytes */
    bool final_separator; /* once all rows are given: the text ended with a separator */
} cli_text;

/* Prepares to cut `input`. CLI_OK, or CLI_FAILED when memory is short. */
int cli_text_open(cli_text *text, cli_input *input, uint8_t separator);

/* The next rows, at most some thousands: a view that stays until the next call. rows->rows is 0 at
 * the end. Prints what is wrong and returns CLI_FAILED if reading fails or a row is beyond the
 * format's limit. */
int cli_text_next(cli_text *text, fastpair_rows *rows);

void cli_text_close(cli_text *text);

/* All rows of an input in memory. */
typedef struct cli_rows {
    uint8_t *bytes;
    uint64_t size;
    uint64_t bytes_room;
    uint64_t *offsets; /* rows + 1 */
    uint64_t rows;
    uint64_t offsets_room;
} cli_rows;

/* Appends a view's rows; false when memory is short. */
bool cli_rows_append(cli_rows *all, const fastpair_rows *rows);
fastpair_rows cli_rows_view(const cli_rows *all);
void cli_rows_close(cli_rows *all);

#endif
