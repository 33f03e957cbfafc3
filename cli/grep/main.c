/* main.c - the command fpgrep: reads its arguments, searches each file, returns grep's exit codes.
 *
 * A file that fails is reported and the others are still searched.
 */
#include "search.h"
#include "signals.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The second time it would be an empty input. */
static bool names_stdin_twice(const cli_options *options) {
    int times = 0;
    for (int i = 0; i < options->file_count; i++) times += strcmp(options->files[i], "-") == 0;
    return times > 1;
}

/* Searches all files. Sets *found if a row matches; CLI_OK or another exit code of the command's
 * parts. */
static int each_file(const grep_options *options, bool *found) {
    grep_printer printer;
    int worst = grep_printer_open(&printer, options);
    bool silent = options->answer == GREP_SILENCE;
    for (int i = 0; worst != CLI_FAILED && i < options->common.file_count && !(silent && *found);
         i++) {
        int result = grep_search(options, options->common.files[i], &printer, found);
        if (result != CLI_OK) worst = CLI_CORRUPT;
        if (printer.failed) worst = CLI_FAILED;
    }
    if (worst != CLI_FAILED && grep_print_end(&printer) != CLI_OK) worst = CLI_FAILED;
    grep_printer_close(&printer);
    return worst;
}

/* The GPU is used where it is asked for: a file is read from the host's memory anyway, and a search
 * on the CPU reads it faster than it could be uploaded. */
static int open_gpu(grep_options *options) {
    fastpair_error why;
    if (options->common.backend != CLI_BACKEND_GPU) return CLI_OK;
    options->gpu = cli_backend_open_gpu(&options->common, &why);
    if (options->gpu) return CLI_OK;
    return cli_fail(NULL, "--backend=gpu: %s; use --backend=cpu or auto", why.message);
}

static int search(grep_options *options) {
    static char standard_input[] = "-";
    static char *only_standard_input[] = {standard_input, NULL};
    cli_options *common = &options->common;
    if (common->file_count == 0) {
        if (isatty(STDIN_FILENO)) {
            cli_mistake("name a file, or - to read from the terminal");
            return GREP_FAILED;
        }
        common->files = only_standard_input;
        common->file_count = 1;
    }
    if (names_stdin_twice(common)) {
        cli_fail(NULL, "standard input (-) is named twice, and can be read only once");
        return GREP_FAILED;
    }
    cli_files known;
    if (open_gpu(options) != CLI_OK) return GREP_FAILED;
    bool found = false;
    int result = cli_files_open(&known, common);
    if (result == CLI_OK) {
        common->known = &known;
        result = each_file(options, &found);
        cli_files_close(&known);
        common->known = NULL;
    }
    fastpair_gpu_close(options->gpu);
    if (result != CLI_OK && !(found && options->answer == GREP_SILENCE)) return GREP_FAILED;
    return found ? GREP_FOUND : GREP_NOTHING;
}

static int run(grep_options *options) {
    if (options->answer == GREP_HELP) {
        grep_print_help();
        return GREP_FOUND;
    }
    if (options->answer == GREP_VERSION) {
        printf("fpgrep (fastpair) %s\n", fastpair_version());
        return GREP_FOUND;
    }
    return search(options);
}

int main(int argc, char **argv) {
    grep_options options;
    cli_program("fpgrep", "; use fewer threads (-T1)");
    cli_fill_standard_streams();
    cli_signals_prepare();
    int result = grep_options_parse(argc, argv, &options) == CLI_OK ? run(&options) : GREP_FAILED;
    if (cli_finish_stdout() != CLI_OK) result = GREP_FAILED;
    grep_patterns_close(&options.patterns);
    return result;
}
