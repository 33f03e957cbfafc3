/* split.h - a file's text cut into rows by several threads, window by window. */
#ifndef CLI_SPLIT_H
#define CLI_SPLIT_H

#include "cli.h"

/* A part of a window that one thread reads and counts, and one copies. */
typedef struct cli_split_block {
    uint64_t bytes;      /* that were read */
    uint64_t separators; /* among them */
    uint64_t last;       /* bytes up to and with the last one */
} cli_split_block;

enum { CLI_SPLIT_BLOCKS = 64 };

typedef struct cli_split {
    cli_input *input;
    uint32_t threads;
    uint8_t separator;
    bool at_end;          /* the window reaches the file's end */
    bool final_separator; /* once all rows are given: the text ended with a separator */
    uint64_t at;          /* of the file: where the window begins */
    uint64_t rows_given;  /* before the window */
    uint8_t *window;
    uint64_t room, block_bytes;
    cli_split_block blocks[CLI_SPLIT_BLOCKS];
    uint32_t count;      /* of blocks that are rows of the window */
    uint64_t rows, size; /* whole rows of the window, and their bytes without separators */
} cli_split;

/* Prepares to cut a regular file from its beginning. Nothing is read yet. */
void cli_split_open(cli_split *split, cli_input *input, uint8_t separator, uint32_t threads);
void cli_split_close(cli_split *split);

/* Reads the next window of about so many bytes, or a larger one if no row ends there; and at most so
 * many rows, and those of a sixteenth of the window more. split->rows is 0 at the end. Prints what is
 * wrong and returns CLI_FAILED if reading fails, memory is short, or a row is beyond the format's
 * limit. */
int cli_split_read(cli_split *split, uint64_t bytes, uint64_t most_rows);

/* Copies the window's rows back to back to `bytes`, which stand for offset `base`; offsets get rows + 1
 * entries. The window is used up then. */
void cli_split_copy(cli_split *split, uint8_t *bytes, uint64_t *offsets, uint64_t base);

#endif
