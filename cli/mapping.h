/* mapping.h - an input in memory without reading it, safe against a file that is cut meanwhile. */
#ifndef CLI_MAPPING_H
#define CLI_MAPPING_H

#include "cli.h"

typedef struct cli_mapping {
    const cli_input *input;
    const uint8_t *data;
    size_t size;
} cli_mapping;

/* Maps a regular file; one mapping at a time. Prints what is wrong; CLI_OK or CLI_FAILED. */
int cli_mapping_open(cli_mapping *mapping, const cli_input *input);

/* CLI_OK if every byte seen so far was the file's. Otherwise says that the file was cut, or could
 * not be read; CLI_CORRUPT or CLI_FAILED. */
int cli_mapping_check(const cli_mapping *mapping);

/* Says that the file was cut, if it was, else what the library found; returns the exit code. */
int cli_mapping_fail(const cli_mapping *mapping, const fastpair_error *error);

/* Safe when all zero. */
void cli_mapping_close(cli_mapping *mapping);

#endif
