/* main.c - the command: reads its arguments, runs one command, returns the worst exit code.
 *
 * With several files a failing one is reported and the others are still done.
 */
#include "cli.h"
#include "signals.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int compress_or_convert(const cli_options *options, const char *path,
                               const fastpair_dictionary *dictionary) {
    bool converts = options->warm;
    int result = CLI_OK;
    if (options->cold && strcmp(path, "-") != 0) result = cli_begins_as_column(path, &converts);
    if (result != CLI_OK) return result;
    return converts ? cli_convert(options, path) : cli_compress(options, path, dictionary);
}

static int each_file(const cli_options *options) {
    int worst = CLI_OK;
    fastpair_dictionary *dictionary = NULL;
    if (options->mode == CLI_MODE_COMPRESS) worst = cli_dictionary_load(options, &dictionary);
    if (worst != CLI_OK) return worst;
    for (int i = 0; i < options->file_count; i++) {
        int result = options->mode == CLI_MODE_COMPRESS
                         ? compress_or_convert(options, options->files[i], dictionary)
                     : options->mode == CLI_MODE_DECOMPRESS
                         ? cli_decompress(options, options->files[i])
                         : cli_test(options, options->files[i]);
        if (result > worst) worst = result;
    }
    fastpair_dictionary_close(dictionary);
    return worst;
}

/* The second time it would be an empty input. */
static bool names_stdin_twice(const cli_options *options) {
    int times = options->mode == CLI_MODE_COMPRESS && options->dictionary &&
                strcmp(options->dictionary, "-") == 0;
    for (int i = 0; i < options->file_count; i++) times += strcmp(options->files[i], "-") == 0;
    return times > 1;
}

static int run(cli_options *options) {
    static char standard_input[] = "-";
    static char *only_standard_input[] = {standard_input, NULL};
    if (options->mode == CLI_MODE_HELP) {
        cli_print_help();
        return CLI_OK;
    }
    if (options->mode == CLI_MODE_VERSION) {
        printf("fastpair %s\n", fastpair_version());
        return CLI_OK;
    }
    if (cli_backend_check(options) != CLI_OK) return CLI_FAILED;
    if (options->mode == CLI_MODE_DEMO) return cli_demo(options);
    if (options->file_count == 0) {
        if (options->mode == CLI_MODE_LIST || options->mode == CLI_MODE_BENCH)
            return cli_fail(NULL, "name at least one file; try 'fastpair --help'");
        if (isatty(STDIN_FILENO))
            return cli_fail(NULL,
                            "name a file, or - to read from the terminal; try 'fastpair --help'");
        options->files = only_standard_input;
        options->file_count = 1;
    }
    if (names_stdin_twice(options))
        return cli_fail(NULL, "standard input (-) is named twice, and can be read only once");
    cli_files known;
    if (cli_files_open(&known, options) != CLI_OK) return CLI_FAILED;
    options->known = &known;
    int result = options->mode == CLI_MODE_LIST    ? cli_list(options)
                 : options->mode == CLI_MODE_TRAIN ? cli_train(options)
                 : options->mode == CLI_MODE_BENCH ? cli_bench(options)
                                                   : each_file(options);
    cli_files_close(&known);
    options->known = NULL;
    return result;
}

int main(int argc, char **argv) {
    cli_options options;
    cli_fill_standard_streams();
    cli_signals_prepare();
    if (cli_options_parse(argc, argv, &options) != CLI_OK) return CLI_FAILED;
    /* Large enough that a line or an object is sent on by cli_flush, not in its middle. */
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    int result = run(&options), last = cli_finish_stdout();
    return result > last ? result : last;
}
