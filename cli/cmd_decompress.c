/* cmd_decompress.c - FILE.fpc back to FILE, or some of its rows.
 *
 * In: one compressed column. Out: the text it was made from; rows of a column that came from no
 * text are written as lines, nulls as empty ones, with a remark where rows are lost by that. Whole
 * columns are streamed, so memory does not grow with the file; a slice (--rows) of a file maps it
 * and decodes only the batches that hold those rows. Refuses names that do not end in .fpc unless
 * told where to write.
 */
#include "decompress_gpu.h"
#include "mapping.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows and bytes a slice decodes at once. */
#define SLICE_ROWS  65536ull
#define SLICE_BYTES (8ull << 20)

/* Copies what the reader gives; stops early once a slice is complete and its last separator is
 * known. */
static int copy_stream(const cli_options *options, fastpair_reader *reader, cli_input *input,
                       cli_emitter *emitter, cli_progress *progress) {
    fastpair_error error;
    fastpair_rows rows = {.struct_size = sizeof(rows)};
    uint64_t before = 0;
    uint8_t separator;
    int at_end = 0, has_framing = 0, final_separator = 1;
    while (before <= options->end_row) {
        if (fastpair_reader_next(reader, &rows, &at_end, &error) != FASTPAIR_OK)
            return input->error ? cli_fail_errno(input->name, input->error)
                                : cli_fail_status(input->name, &error);
        if (at_end) break;
        uint64_t first = options->first_row > before ? options->first_row - before : 0;
        uint64_t end = options->end_row - before;
        if (end > rows.rows) end = rows.rows;
        if (first < end && cli_emit_rows(emitter, &rows, first, end) != CLI_OK) return CLI_FAILED;
        before += rows.rows;
        cli_progress_step(progress, input->done);
    }
    if (at_end && before < options->first_row)
        return cli_fail(input->name,
                        "has only %" PRIu64 " rows, so --rows cannot begin at %" PRIu64, before,
                        options->first_row);
    if (at_end && before <= options->end_row) {
        if (fastpair_reader_get_framing(reader, &has_framing, &separator, &final_separator,
                                        &error) != FASTPAIR_OK)
            return cli_fail_status(input->name, &error);
        if (!has_framing) final_separator = 1;
    }
    return cli_emit_end(emitter, final_separator);
}

static int decompress_stream(const cli_options *options, cli_input *input, cli_output *output,
                             cli_progress *progress) {
    fastpair_source source = cli_input_source(input);
    uint32_t threads = cli_threads(options, 0);
    fastpair_open_options settings = cli_reader_options(options);
    fastpair_reader *reader;
    fastpair_error error;
    uint8_t separator = '\n';
    int has_framing = 0, final_separator = 1;
    fastpair_status status = fastpair_reader_open(&source, &settings, &reader, &error);
    if (status != FASTPAIR_OK)
        return input->error ? cli_fail_errno(input->name, input->error)
                            : cli_fail_status(input->name, &error);
    int result = CLI_OK;
    if (fastpair_reader_get_framing(reader, &has_framing, &separator, &final_separator, &error) !=
        FASTPAIR_OK)
        result = cli_fail_status(input->name, &error);
    cli_emitter emitter = {0};
    if (result == CLI_OK)
        result = cli_emitter_open(&emitter, output, has_framing ? separator : '\n',
                                  cli_memory(options) < CLI_BACKGROUND_MEMORY ? 1 : threads);
    if (result == CLI_OK) result = copy_stream(options, reader, input, &emitter, progress);
    cli_emitter_close(&emitter);
    fastpair_reader_close(reader);
    return result;
}

/* Buffers for one piece of a slice. */
typedef struct slice_memory {
    uint8_t *bytes;
    uint64_t room;
    uint64_t *offsets;
} slice_memory;

/* Decodes rows first .. first + count, whose bytes the memory has room for, and writes them. */
static int copy_piece(const fastpair_column *column, const cli_mapping *mapping, uint64_t first,
                      uint64_t count, slice_memory *memory, cli_emitter *emitter) {
    fastpair_error error;
    fastpair_destination destination = {.struct_size = sizeof(destination),
                                        .bytes = memory->bytes,
                                        .bytes_capacity = memory->room,
                                        .offsets = memory->offsets,
                                        .offset_bits = 64};
    if (fastpair_column_decode(column, first, count, &destination, &error) != FASTPAIR_OK)
        return cli_mapping_fail(mapping, &error);
    int result = cli_mapping_check(mapping);
    if (result != CLI_OK) return result;
    fastpair_rows rows = cli_rows_of(count, memory->bytes, memory->offsets);
    if (destination.nulls > 0 && cli_emit_nulls(emitter) != CLI_OK) return CLI_FAILED;
    return cli_emit_rows(emitter, &rows, 0, count);
}

/* Makes room for the bytes of one piece. Prints what is wrong. */
static int slice_reserve(const cli_options *options, const cli_input *input, slice_memory *memory,
                         uint64_t size) {
    if (memory->bytes && size <= memory->room) return CLI_OK;
    if (size > SLICE_BYTES && size > cli_memory(options))
        return cli_fail(input->name,
                        "a row of %" PRIu64 " bytes does not fit; allow more with --memory", size);
    free(memory->bytes);
    memory->room = size > SLICE_BYTES ? size : SLICE_BYTES;
    memory->bytes = malloc(memory->room);
    return memory->bytes ? CLI_OK : cli_fail_errno(input->name, ENOMEM);
}

static int copy_slice(const cli_options *options, const cli_mapping *mapping,
                      const fastpair_column *column, const fastpair_column_totals *totals,
                      cli_emitter *emitter) {
    const cli_input *input = mapping->input;
    fastpair_error error;
    fastpair_status status = FASTPAIR_OK;
    slice_memory memory = {.offsets = malloc((SLICE_ROWS + 1) * sizeof(uint64_t))};
    int result = memory.offsets ? CLI_OK : cli_fail_errno(input->name, ENOMEM);
    uint64_t row = options->first_row,
             end = options->end_row < totals->rows ? options->end_row : totals->rows;
    /* Decoding finds what would do harm, not every change; rows that were damaged must not be
     * written as if they were good. */
    if (result == CLI_OK && row < end &&
        fastpair_column_validate_rows(column, row, end - row, &error) != FASTPAIR_OK)
        result = cli_mapping_fail(mapping, &error);
    while (result == CLI_OK && row < end) {
        uint64_t count = end - row < SLICE_ROWS ? end - row : SLICE_ROWS, size = 0;
        status = fastpair_column_rows_size(column, row, count, &size, &error);
        while (status == FASTPAIR_OK && size > SLICE_BYTES && count > 1)
            status = fastpair_column_rows_size(column, row, count /= 2, &size, &error);
        if (status != FASTPAIR_OK)
            result = cli_mapping_fail(mapping, &error);
        else
            result = slice_reserve(options, input, &memory, size);
        if (result == CLI_OK) result = copy_piece(column, mapping, row, count, &memory, emitter);
        row += count;
    }
    bool final_separator = !totals->has_framing || totals->final_separator || end < totals->rows;
    if (result == CLI_OK) result = cli_emit_end(emitter, final_separator);
    free(memory.bytes);
    free(memory.offsets);
    return result;
}

static int decompress_slice(const cli_options *options, const cli_input *input,
                            cli_output *output) {
    fastpair_open_options settings = cli_open_options(cli_threads(options, 0));
    fastpair_column_totals totals = {.struct_size = sizeof(totals)};
    fastpair_column *column = NULL;
    fastpair_error error;
    cli_mapping mapping;
    int result = cli_mapping_open(&mapping, input);
    if (result != CLI_OK) return result;
    if (fastpair_column_open(mapping.data, mapping.size, &settings, &column, &error) !=
            FASTPAIR_OK ||
        fastpair_column_get_totals(column, &totals, &error) != FASTPAIR_OK)
        result = cli_mapping_fail(&mapping, &error);
    else if (options->first_row > totals.rows)
        result =
            cli_fail(input->name, "has only %" PRIu64 " rows, so --rows cannot begin at %" PRIu64,
                     totals.rows, options->first_row);
    cli_emitter emitter = {0};
    if (result == CLI_OK)
        result = cli_emitter_open(&emitter, output,
                                  totals.has_framing ? totals.separator : (uint8_t)'\n',
                                  cli_threads(options, 0));
    if (result == CLI_OK) result = copy_slice(options, &mapping, column, &totals, &emitter);
    cli_emitter_close(&emitter);
    fastpair_column_close(column);
    cli_mapping_close(&mapping);
    return result;
}

static int decompress_on_gpu(const cli_options *options, cli_input *input, cli_output *output,
                             cli_progress *progress) {
    fastpair_error error;
    fastpair_gpu *gpu = cli_backend_open_gpu(options, &error);
    if (!gpu) return cli_fail_status(input->name, &error);
    int result = cli_decompress_gpu(options, gpu, input, output, progress);
    fastpair_gpu_close(gpu);
    return result;
}

/* The name -o gives, NULL for standard output, or the input's name without .fpc, in *made for the
 * caller to free. */
static int choose_output(const cli_options *options, const cli_input *input, const char **path,
                         char **made) {
    *made = NULL;
    *path = options->to_stdout ? NULL : options->output;
    if (options->to_stdout || options->output || input->is_stdin) return CLI_OK;
    size_t length = strlen(input->path);
    const char *slash = strrchr(input->path, '/');
    size_t base = slash ? (size_t)(slash + 1 - input->path) : 0;
    if (length < base + 5 || strcmp(input->path + length - 4, ".fpc") != 0)
        return cli_fail(input->name,
                        "its name does not end in .fpc; say where to write with -o or -c");
    *made = strndup(input->path, length - 4);
    *path = *made;
    return *made ? CLI_OK : cli_fail_errno(input->name, ENOMEM);
}

static int decompress_input(const cli_options *options, cli_input *input, const char *path) {
    cli_output output;
    cli_progress progress;
    int result = cli_output_open(&output, path, options, input);
    if (result != CLI_OK) return result;
    cli_progress_start(&progress, options, input);
    if (options->backend == CLI_BACKEND_GPU)
        result = decompress_on_gpu(options, input, &output, &progress);
    else if (options->slice && input->is_regular && !input->is_stdin)
        result = decompress_slice(options, input, &output);
    else
        result = decompress_stream(options, input, &output, &progress);
    cli_progress_end(&progress);
    if (result != CLI_OK) {
        cli_output_discard(&output);
        return result;
    }
    result = cli_output_settle(&output);
    if (result == CLI_OK && !options->slice)
        cli_progress_summary(&progress, options, input, &output);
    return result;
}

int cli_decompress(const cli_options *options, const char *path) {
    cli_input input;
    const char *output_path;
    char *made;
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    result = choose_output(options, &input, &output_path, &made);
    if (result == CLI_OK) result = decompress_input(options, &input, output_path);
    cli_input_close(&input);
    free(made);
    return result;
}
