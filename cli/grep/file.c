/* file.c - one input of fpgrep.
 *
 * In: a path, and the patterns. Out: an open column and a search compiled for it. Refuses
 * directories, pipes that give more than memory should hold, and --rows past the end.
 */
#include "file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* Most that a pipe may give. */
#define LARGEST_PIPE (1ull << 30)

static int open_image(grep_file *file, const uint8_t **data, uint64_t *size) {
    const cli_input *input = &file->input;
    /* Of a file that something else has begun to read, only the rest is meant. */
    if (input->is_regular && (!input->is_stdin || lseek(input->fd, 0, SEEK_CUR) == 0)) {
        int result = cli_mapping_open(&file->mapping, input);
        *data = file->mapping.data;
        *size = file->mapping.size;
        return result;
    }
    int result = cli_input_load(&file->input, LARGEST_PIPE, &file->loaded, size);
    *data = file->loaded;
    return result;
}

/* No pattern at all, as of an empty file of -f: matches no row. */
static const fastpair_pattern nothing = {0};
static const fastpair_predicate never[] = {
    {.struct_size = sizeof(fastpair_predicate), .kind = FASTPAIR_IS_NULL},
    {.struct_size = sizeof(fastpair_predicate),
     .kind = FASTPAIR_CONTAINS,
     .patterns = &nothing,
     .pattern_count = 1},
};

static fastpair_predicate predicate_of(const grep_options *options) {
    fastpair_predicate predicate = {.struct_size = sizeof(predicate),
                                    .kind = options->kind,
                                    .negate = options->negate,
                                    .ignore_case = options->ignore_case,
                                    .escape = options->escape,
                                    .patterns = options->patterns.list,
                                    .pattern_count = options->patterns.count};
    if (options->patterns.count == 0) {
        predicate.kind = FASTPAIR_ALL_OF;
        predicate.ignore_case = 0;
        predicate.escape = 0;
        predicate.patterns = NULL;
        predicate.children = never;
        predicate.child_count = 2;
    }
    return predicate;
}

static int choose_rows(grep_file *file, const cli_options *options) {
    uint64_t rows = file->totals.rows;
    if (options->first_row > rows)
        return cli_fail(file->input.name,
                        "has only %" PRIu64 " rows, so --rows cannot begin at %" PRIu64, rows,
                        options->first_row);
    file->first_row = options->first_row;
    file->end_row = options->end_row < rows ? options->end_row : rows;
    return CLI_OK;
}

int grep_file_open(grep_file *file, const grep_options *options, const char *path) {
    *file = (grep_file){.totals = {.struct_size = sizeof(file->totals)}};
    const uint8_t *data;
    uint64_t size;
    int result = cli_input_open(&file->input, path);
    if (result != CLI_OK) return result;
    result = open_image(file, &data, &size);
    if (result != CLI_OK) return result;
    fastpair_error error;
    fastpair_open_options settings = cli_open_options(cli_threads(&options->common, 0));
    fastpair_status status = fastpair_column_open(data, size, &settings, &file->column, &error);
    if (!status) status = fastpair_column_get_totals(file->column, &file->totals, &error);
    if (!status && (result = choose_rows(file, &options->common)) != CLI_OK) return result;
    if (!status && options->check)
        status = fastpair_column_validate_rows(file->column, file->first_row,
                                               file->end_row - file->first_row, &error);
    fastpair_predicate predicate = predicate_of(options);
    if (!status)
        status = fastpair_search_open(file->column, &predicate, NULL, &file->search, &error);
    return status ? grep_file_fail(file, &error) : CLI_OK;
}

int grep_file_check(const grep_file *file) {
    return file->mapping.size > 0 ? cli_mapping_check(&file->mapping) : CLI_OK;
}

int grep_file_fail(const grep_file *file, const fastpair_error *error) {
    if (file->mapping.size > 0) return cli_mapping_fail(&file->mapping, error);
    return cli_fail_status(file->input.name, error);
}

void grep_file_close(grep_file *file) {
    fastpair_search_close(file->search);
    fastpair_column_close(file->column);
    cli_mapping_close(&file->mapping);
    free(file->loaded);
    cli_input_close(&file->input);
    *file = (grep_file){.input = {.fd = -1}};
}
