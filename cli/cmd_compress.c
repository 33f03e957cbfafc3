/* cmd_compress.c - FILE to FILE.fpc.
 *
 * In: one text. Out: one compressed column that says how the text was cut, so that -d gives it back
 * byte for byte. Streams: memory does not grow with the input. Refuses to write compressed bytes to
 * a terminal, and to compress a compressed column, unless -f insists.
 */
#include "compress_gpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cuts the input, feeds the writer, records how the text ended. `rows` are the first. */
static int feed_writer(fastpair_writer *writer, cli_text *text, fastpair_rows rows,
                       cli_progress *progress, cli_output *output) {
    fastpair_error error;
    fastpair_status status = fastpair_writer_set_framing(writer, text->separator, 1, &error);
    uint64_t before = 0;
    while (status == FASTPAIR_OK && rows.rows > 0) {
        status = fastpair_writer_append(writer, &rows, &error);
        if (status == FASTPAIR_ERROR_INVALID_ARGUMENT && error.position < rows.rows)
            return cli_fail(text->input->name,
                            "row %" PRIu64 " is not UTF-8 (rows count from 0); leave --type=text "
                            "out, or use --type=bytes",
                            before + error.position);
        before += rows.rows;
        cli_progress_step(progress, text->input->done);
        if (status == FASTPAIR_OK && cli_text_next(text, &rows) != CLI_OK) return CLI_FAILED;
    }
    if (status == FASTPAIR_OK)
        status =
            fastpair_writer_set_framing(writer, text->separator, text->final_separator, &error);
    if (status == FASTPAIR_OK) status = fastpair_writer_finish(writer, &error);
    if (status == FASTPAIR_OK) return CLI_OK;
    if (output->error) return cli_output_fail(output, output->error);
    return cli_fail_status(text->input->name, &error);
}

/* Where a text goes. */
typedef struct compression {
    cli_output *output;
    cli_progress *progress;
    bool on_cpu;     /* a GPU was tried before */
    bool falls_back; /* set: the GPU failed, and the CPU is to be tried */
} compression;

/* The first rows of a text. Most likely nobody wants a column of a compressed column. */
static int first_rows(const cli_options *options, cli_text *text, fastpair_rows *rows) {
    if (cli_text_next(text, rows) != CLI_OK) return CLI_FAILED;
    if (options->force || !cli_input_is_column(text->input)) return CLI_OK;
    return cli_fail(text->input->name,
                    "is a compressed column already; use -d to decompress it, or -f to compress it "
                    "again");
}

/* Compresses on a GPU, if --backend asks for that or one is there. *done: it did, or failed. */
static int try_gpu(const cli_options *options, cli_text *text, fastpair_rows rows,
                   const fastpair_dictionary *dictionary, compression *to, bool *done) {
    fastpair_error error;
    bool wants = false;
    *done = false;
    if (to->on_cpu) return CLI_OK;
    if (cli_compress_wants_gpu(options, text->input, &wants) != CLI_OK) return CLI_FAILED;
    fastpair_gpu *gpu = wants ? cli_backend_open_gpu(options, &error) : NULL;
    *done = wants && (gpu || options->backend == CLI_BACKEND_GPU);
    if (!*done) return CLI_OK;
    if (!gpu) return cli_fail_status(text->input->name, &error);
    cli_gpu_job job = {options, gpu, text, dictionary, to->output, to->progress};
    int result = cli_compress_gpu(&job, rows, &to->falls_back);
    fastpair_gpu_close(gpu);
    return result;
}

static int compress_stream(const cli_options *options, cli_input *input,
                           const fastpair_dictionary *dictionary, compression *to) {
    cli_output *output = to->output;
    fastpair_compress_options settings = cli_compress_options(options);
    settings.dictionary = dictionary;
    fastpair_sink sink = cli_output_sink(output);
    fastpair_writer *writer = NULL;
    fastpair_error error;
    fastpair_rows rows;
    cli_text text;
    if (cli_text_open(&text, input, options->separator) != CLI_OK) return CLI_FAILED;
    int result = first_rows(options, &text, &rows);
    bool done = false;
    if (result == CLI_OK) result = try_gpu(options, &text, rows, dictionary, to, &done);
    if (done || result != CLI_OK) {
        cli_text_close(&text);
        return result;
    }
    if (fastpair_writer_open(&sink, &settings, &writer, &error) != FASTPAIR_OK)
        result = output->error ? cli_output_fail(output, output->error)
                               : cli_fail_status(input->name, &error);
    if (result == CLI_OK) result = feed_writer(writer, &text, rows, to->progress, output);
    cli_text_close(&text);
    fastpair_writer_close(writer);
    return result;
}

/* The name -o gives, NULL for standard output, or the input's name with .fpc, in *made for the
 * caller to free. */
static int choose_output(const cli_options *options, const cli_input *input, const char **path,
                         char **made) {
    *made = NULL;
    *path = options->to_stdout ? NULL : options->output;
    if (options->to_stdout || options->output || input->is_stdin) return CLI_OK;
    if (!input->is_regular)
        return cli_fail(input->name, "is not a regular file; say where to write with -c or -o");
    size_t size = strlen(input->path) + 5;
    if (size > 9 && strcmp(input->path + size - 9, ".fpc") == 0 && !options->force)
        return cli_fail(input->name,
                        "its name ends in .fpc already; use -d to decompress it, or -f "
                        "to compress it again");
    *made = malloc(size);
    if (!*made) return cli_fail_errno(input->name, ENOMEM);
    snprintf(*made, size, "%s.fpc", input->path);
    *path = *made;
    return CLI_OK;
}

/* Once more, on the CPU, from the beginning of the input. */
static int compress_again(const cli_options *options, cli_input *input,
                          const fastpair_dictionary *dictionary, compression *to) {
    const char *path = input->path;
    to->on_cpu = true;
    cli_input_close(input);
    int result = cli_input_open(input, path), number;
    if (result != CLI_OK) return result;
    if ((number = cli_output_restart(to->output))) return cli_output_fail(to->output, number);
    return compress_stream(options, input, dictionary, to);
}

static int compress_input(const cli_options *options, cli_input *input, const char *path,
                          const fastpair_dictionary *dictionary) {
    cli_output output;
    cli_progress progress;
    compression to = {&output, &progress, false, false};
    int result = cli_output_open(&output, path, options, input);
    if (result != CLI_OK) return result;
    if (!options->force && isatty(output.fd)) {
        cli_output_discard(&output);
        return cli_fail(
            input->name,
            "compressed data is not for a terminal; redirect it, use -o, or -f to insist");
    }
    cli_progress_start(&progress, options, input);
    result = compress_stream(options, input, dictionary, &to);
    if (to.falls_back) result = compress_again(options, input, dictionary, &to);
    cli_progress_end(&progress);
    if (result != CLI_OK) {
        cli_output_discard(&output);
        return result;
    }
    result = cli_output_settle(&output);
    if (result == CLI_OK) cli_progress_summary(&progress, options, input, &output);
    return result;
}

int cli_compress(const cli_options *options, const char *path,
                 const fastpair_dictionary *dictionary) {
    cli_input input;
    const char *output_path;
    char *made;
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    result = choose_output(options, &input, &output_path, &made);
    if (result == CLI_OK) result = compress_input(options, &input, output_path, dictionary);
    cli_input_close(&input);
    free(made);
    return result;
}
