/* progress.c - a line on the terminal that says how far the work is.
 *
 * In: bytes of the input done, now and then. Out: one line on stderr, redrawn in place about five
 * times a second, with the percentage (or the bytes, when the total is unknown) and the rate. Shows
 * nothing unless stderr is a terminal.
 */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

void cli_progress_start(cli_progress *progress, const cli_options *options,
                        const cli_input *input) {
    *progress = (cli_progress){.shown = options->verbosity >= 0 && isatty(STDERR_FILENO),
                               .name = input->name};
    if (input->is_regular && input->info.st_size > 0)
        progress->total = (uint64_t)input->info.st_size;
    progress->started = progress->last = cli_now();
}

void cli_progress_step(cli_progress *progress, uint64_t done) {
    if (!progress->shown) return;
    double now = cli_now(), seconds = now - progress->started;
    if (now - progress->last < 0.2) return;
    progress->last = now;
    char clean[CLI_NAME_ROOM], size[32];
    cli_clean_name(progress->name, clean);
    fprintf(stderr, "\r%.40s: %s", clean, cli_size_text(done, size));
    if (progress->total)
        fprintf(stderr, " of %s, %.0f %%", cli_size_text(progress->total, size),
                done < progress->total ? 100.0 * (double)done / (double)progress->total : 100.0);
    fprintf(stderr, ", %.0f MB/s \033[K", (double)done / seconds * 1e-6);
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress) {
    progress->seconds = cli_now() - progress->started;
    if (!progress->shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

void cli_progress_summary(const cli_progress *progress, const cli_options *options,
                          const cli_input *input, const cli_output *output) {
    if (options->verbosity < 0 || (options->verbosity == 0 && !progress->shown)) return;
    char from[32], to[32], name[CLI_NAME_ROOM], target[CLI_NAME_ROOM];
    uint64_t text = options->mode == CLI_MODE_COMPRESS ? input->done : output->written;
    uint64_t packed = options->mode == CLI_MODE_COMPRESS ? output->written : input->done;
    fprintf(stderr, "%s: %s => %s", cli_clean_name(input->name, name),
            cli_size_text(input->done, from), cli_size_text(output->written, to));
    if (text > 0 && packed > 0) fprintf(stderr, " (ratio %.3f)", (double)text / (double)packed);
    if (progress->seconds > 0)
        fprintf(stderr, ", %.0f MB/s", (double)text / progress->seconds * 1e-6);
    fprintf(stderr, ", %s\n", cli_clean_name(output->name, target));
}
