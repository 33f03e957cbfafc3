/* cmd_test.c - is a compressed column whole?
 *
 * In: one compressed column. Out: "NAME: OK" on stdout, or what is wrong with it and where. A file
 * is mapped and validated, every byte of it; a pipe is decoded as it comes and the rows are
 * dropped. A file that is cut meanwhile is found to be cut.
 */
#include "mapping.h"
#include "progress.h"

#include <stdio.h>

static int test_file(const cli_options *options, const cli_input *input) {
    fastpair_open_options settings = cli_open_options(cli_threads(options, 0));
    cli_mapping mapping;
    fastpair_column *column = NULL;
    fastpair_error error;
    int result = cli_mapping_open(&mapping, input);
    if (result == CLI_OK && (fastpair_column_open(mapping.data, mapping.size, &settings, &column,
                                                  &error) != FASTPAIR_OK ||
                             fastpair_column_validate(column, &error) != FASTPAIR_OK))
        result = cli_mapping_fail(&mapping, &error);
    fastpair_column_close(column);
    /* What was found good before the file was cut is not there any more. */
    if (result == CLI_OK) result = cli_mapping_check(&mapping);
    cli_mapping_close(&mapping);
    return result;
}

static int test_stream(const cli_options *options, cli_input *input) {
    fastpair_source source = cli_input_source(input);
    fastpair_open_options settings = cli_reader_options(options);
    fastpair_reader *reader;
    fastpair_error error;
    fastpair_rows rows = {.struct_size = sizeof(rows)};
    cli_progress progress;
    int at_end = 0;
    cli_progress_start(&progress, options, input);
    fastpair_status status = fastpair_reader_open(&source, &settings, &reader, &error);
    if (status == FASTPAIR_OK) {
        while (!at_end &&
               (status = fastpair_reader_next(reader, &rows, &at_end, &error)) == FASTPAIR_OK)
            cli_progress_step(&progress, input->done);
        fastpair_reader_close(reader);
    }
    cli_progress_end(&progress);
    if (status == FASTPAIR_OK) return CLI_OK;
    return input->error ? cli_fail_errno(input->name, input->error)
                        : cli_fail_status(input->name, &error);
}

int cli_test(const cli_options *options, const char *path) {
    cli_input input;
    char name[CLI_NAME_ROOM];
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    bool is_file = input.is_regular && !input.is_stdin;
    result = is_file ? test_file(options, &input) : test_stream(options, &input);
    if (result == CLI_OK && options->verbosity >= 0)
        printf("%s: OK\n", cli_clean_name(input.name, name));
    cli_flush();
    cli_input_close(&input);
    return result;
}
