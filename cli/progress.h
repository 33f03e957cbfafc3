/* progress.h - a line on the terminal that says how far the work is. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "output.h"

typedef struct cli_progress {
    bool shown; /* stderr is a terminal and -q was not given */
    const char *name;
    uint64_t total; /* 0 when unknown */
    double started;
    double last;
    double seconds; /* from start to end */
} cli_progress;

/* Starts a line for one input. Nothing is ever shown unless stderr is a terminal, nor with -q. */
void cli_progress_start(cli_progress *progress, const cli_options *options, const cli_input *input);

/* Says that `done` bytes of the input are done; redraws a few times a second. */
void cli_progress_step(cli_progress *progress, uint64_t done);

/* Clears the line and stops the clock. */
void cli_progress_end(cli_progress *progress);

/* One line on what was done: on a terminal, or with -v. */
void cli_progress_summary(const cli_progress *progress, const cli_options *options,
                          const cli_input *input, const cli_output *output);

#endif
