/* output.h - output files that appear whole or not at all. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"

#include <limits.h>

typedef struct cli_output {
    int fd;
    const char *path; /* the final name; NULL for standard output */
    const char *name; /* for messages */
    const cli_options *options;
    const cli_input *input;   /* what the output is made of; may be NULL */
    bool is_file;             /* the bytes go to `temporary` until commit, else straight to `fd` */
    char temporary[PATH_MAX]; /* empty when there is none (any more) */
    int error;                /* errno of a failed write, else 0 */
    int unsynced;             /* errno if the name may not be on disk yet, else 0 */
    uint64_t written;
} cli_output;

/* Starts an output; see cli_names_stdout for standard output. Refuses an existing file without -f,
 * and any file that the command reads (options->known), or that `input` is. Prints what is wrong;
 * CLI_OK or CLI_FAILED. */
int cli_output_open(cli_output *output, const char *path, const cli_options *options,
                    const cli_input *input);

/* Whether --rm is going to remove the input once this output is complete. */
bool cli_output_removes_input(const cli_output *output);

/* Writes all of it; 0, or the errno value that output->error keeps. */
int cli_output_write(cli_output *output, const void *data, size_t size);

/* The output as a fastpair_sink. */
fastpair_sink cli_output_sink(cli_output *output);

/* Says that writing failed, with what to do about it. Always CLI_FAILED. */
int cli_output_fail(const cli_output *output, int number);

/* Makes the output final: flushed to disk, with the mode and times of its input, under its own
 * name. Then removes the input if --rm asks for it and the output is a file. Prints what is wrong;
 * the temporary is then gone. The output is closed either way. */
int cli_output_settle(cli_output *output);

/* Forgets what was written, so that it can be written again. Of an output that is no file nothing may
 * have been written. 0, or an errno value. */
int cli_output_restart(cli_output *output);

/* Drops an output that failed. Nothing is left of it, except what standard output already has. */
void cli_output_discard(cli_output *output);

/* ".NAME.PID.tmp" in the directory of `path`, NAME cut so that any file system takes it; another
 * name for each attempt. False if it is too long. */
bool cli_private_name(const char *path, int attempt, char name[PATH_MAX]);

/* Removes an input whose output, of that name, is complete; or says why not (remove.c). */
int cli_remove_input(const cli_input *input, const char *output);

#endif
