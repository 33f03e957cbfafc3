/* cmd_convert.c - FILE.fpc to FILE.cold.fpc or FILE.warm.fpc.
 *
 * In: a compressed column. Out: the same column, cold or warm. Nothing is trained, and every chunk is
 * checked on the way. Refuses inputs that cannot be mapped.
 */
#include "mapping.h"
#include "output.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_begins_as_column(const char *path, bool *is_column) {
    static const char magic[8] = "\x89"
                                 "FPC\r\n\x1a\n";
    char head[sizeof magic];
    struct stat info;
    *is_column = false;
    if (stat(path, &info) != 0) return cli_fail_errno(path, errno);
    if (!S_ISREG(info.st_mode)) return CLI_OK; /* what is read of a pipe here would be lost */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return cli_fail_errno(path, errno);
    ssize_t got;
    do got = pread(fd, head, sizeof head, 0);
    while (got < 0 && errno == EINTR);
    int number = errno;
    close(fd);
    if (got < 0) return cli_fail_errno(path, number);
    *is_column = got == sizeof head && memcmp(head, magic, sizeof head) == 0;
    return CLI_OK;
}

/* The name -o gives, NULL for standard output, or the input's with .cold.fpc or .warm.fpc, in *made
 * for the caller to free. */
static int choose_output(const cli_options *options, const cli_input *input, const char **path,
                         char **made) {
    *made = NULL;
    *path = options->to_stdout ? NULL : options->output;
    if (*path || options->to_stdout) return CLI_OK;
    static const char *const endings[] = {".cold.fpc", ".warm.fpc", ".fpc"};
    size_t length = strlen(input->path);
    for (int i = 0; i < 3; i++) {
        size_t ending = strlen(endings[i]);
        if (length <= ending || strcmp(input->path + length - ending, endings[i]) != 0) continue;
        length -= ending;
        break;
    }
    size_t size = length + sizeof ".cold.fpc";
    if (!(*made = malloc(size))) return cli_fail_errno(input->name, ENOMEM);
    snprintf(*made, size, "%.*s%s", (int)length, input->path, endings[options->cold ? 0 : 1]);
    *path = *made;
    return CLI_OK;
}

static int report(void *context, uint64_t done, uint64_t total) {
    (void)total;
    cli_progress_step(context, done);
    return 0;
}

static int convert_column(const cli_options *options, const cli_mapping *mapping,
                          cli_output *output, cli_progress *progress) {
    fastpair_open_options open = cli_open_options(cli_threads(options, 0));
    fastpair_convert_options settings = {.struct_size = sizeof settings,
                                         .cold = options->cold,
                                         .level = options->level,
                                         .progress = report,
                                         .progress_context = progress};
    fastpair_sink sink = cli_output_sink(output);
    fastpair_column *column = NULL;
    fastpair_error error;
    fastpair_status status =
        fastpair_column_open(mapping->data, mapping->size, &open, &column, &error);
    if (status == FASTPAIR_OK) status = fastpair_column_convert(column, &settings, &sink, &error);
    fastpair_column_close(column);
    if (status == FASTPAIR_OK) return cli_mapping_check(mapping);
    return output->error ? cli_output_fail(output, output->error)
                         : cli_mapping_fail(mapping, &error);
}

static int convert_input(const cli_options *options, const cli_input *input, const char *path) {
    cli_mapping mapping = {0};
    cli_output output;
    cli_progress progress;
    int result = cli_mapping_open(&mapping, input);
    if (result == CLI_OK) result = cli_output_open(&output, path, options, input);
    if (result != CLI_OK) {
        cli_mapping_close(&mapping);
        return result;
    }
    cli_progress_start(&progress, options, input);
    result = convert_column(options, &mapping, &output, &progress);
    cli_progress_end(&progress);
    cli_mapping_close(&mapping);
    if (result != CLI_OK) {
        cli_output_discard(&output);
        return result;
    }
    result = cli_output_settle(&output);
    if (result == CLI_OK) cli_progress_summary(&progress, options, input, &output);
    return result;
}

int cli_convert(const cli_options *options, const char *path) {
    cli_input input;
    const char *output_path;
    char *made = NULL;
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    if (!input.is_regular)
        result =
            cli_fail(input.name, "--cold and --warm of a compressed column need a regular file");
    if (result == CLI_OK) result = choose_output(options, &input, &output_path, &made);
    if (result == CLI_OK) result = convert_input(options, &input, output_path);
    cli_input_close(&input);
    free(made);
    return result;
}
