/* output.h - output files that appear whole or not at all. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"

typedef struct cli_output {
    int fd;
    const char *path; /* the final name; NULL for standard output */
    const char *name; /* for messages */
    char *temporary;  /* where the bytes go until commit; NULL when they go straight to `fd` */
    bool replace;     /* an existing file may be replaced */
    int error;        /* errno of a failed write, else 0 */
    uint64_t written;
} cli_output;

/* Installs the handlers that remove the temporary file when a signal ends the program. Once,
 * early. */
void cli_output_prepare(void);

/* Starts an output; `path` NULL or "-" is standard output. Refuses an existing file without
 * `force`, and refuses to be the same file as `input` (which may be NULL). Prints what is wrong;
 * CLI_OK or CLI_FAILED. */
int cli_output_open(cli_output *output, const char *path, bool force, const cli_input *input);

/* Writes all of it; 0, or the errno value that output->error keeps. */
int cli_output_write(cli_output *output, const void *data, size_t size);

/* The output as a fastpair_sink. */
fastpair_sink cli_output_sink(cli_output *output);

/* Makes the output final: flushed to disk, with the mode and times of `like` (may be NULL),
 * under its own name. Prints what is wrong; the temporary is then gone. The output is closed
 * either way. */
int cli_output_commit(cli_output *output, const cli_input *like);

/* Commits, then removes the input if --rm asks for it and the output is a file that has all of
 * it. */
int cli_output_settle(cli_output *output, const cli_options *options, const cli_input *input);

/* Drops an output that failed. Nothing is left of it, except what standard output already has. */
void cli_output_discard(cli_output *output);

#endif
