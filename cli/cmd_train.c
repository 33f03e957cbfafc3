/* cmd_train.c - a dictionary from the rows of all inputs.
 *
 * In: texts of any size. Out: an exported dictionary for -D. Memory is bounded: rows are kept in
 * stretches, and whenever too many bytes are held every other stretch is dropped, so that what is
 * left is spread evenly over all inputs and depends on them alone. Training then draws its sample
 * from that.
 */
#include "output.h"
#include "progress.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Eight times the largest default sample, and room to spare for its copy. */
#define KEPT_BYTES (256ull << 20)
#define KEPT_ROWS  (16ull << 20)

typedef struct kept_rows {
    cli_rows rows;
    uint64_t *stretches; /* first row of each stretch kept */
    uint64_t stretch_count;
    uint64_t stretch_room;
    uint64_t seen;   /* stretches that went by */
    uint64_t stride; /* every stride-th stretch is kept */
} kept_rows;

/* Drops every other stretch, moving the rest together. */
static void thin_out(kept_rows *kept) {
    cli_rows *rows = &kept->rows;
    uint64_t row = 0, byte = 0, count = kept->stretch_count;
    for (uint64_t g = 0; g < count; g += 2) {
        uint64_t first = kept->stretches[g],
                 end = g + 1 < count ? kept->stretches[g + 1] : rows->rows;
        uint64_t from = rows->offsets[first], size = rows->offsets[end] - from;
        memmove(rows->bytes + byte, rows->bytes + from, size);
        kept->stretches[g / 2] = row;
        for (uint64_t i = first; i < end; i++)
            rows->offsets[row++] = byte + (rows->offsets[i] - from);
        byte += size;
    }
    rows->offsets[row] = byte;
    rows->rows = row;
    rows->size = byte;
    kept->stretch_count = (count + 1) / 2;
    kept->stride *= 2;
}

/* Considers one stretch of rows; false when memory is short. */
static bool keep_stretch(kept_rows *kept, const fastpair_rows *rows) {
    if (kept->seen++ % kept->stride != 0) return true;
    if (kept->stretch_count == kept->stretch_room) {
        uint64_t room = kept->stretch_room * 2 + 1024;
        uint64_t *larger = realloc(kept->stretches, room * sizeof(uint64_t));
        if (!larger) return false;
        kept->stretches = larger;
        kept->stretch_room = room;
    }
    kept->stretches[kept->stretch_count++] = kept->rows.rows;
    if (!cli_rows_append(&kept->rows, rows)) return false;
    while ((kept->rows.size > KEPT_BYTES || kept->rows.rows > KEPT_ROWS) && kept->stretch_count > 1)
        thin_out(kept);
    return true;
}

static int gather(const cli_options *options, const char *path, kept_rows *kept) {
    cli_input input;
    cli_text text;
    cli_progress progress;
    fastpair_rows rows;
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    result = cli_text_open(&text, &input, options->separator);
    cli_progress_start(&progress, options, &input);
    while (result == CLI_OK && (result = cli_text_next(&text, &rows)) == CLI_OK && rows.rows > 0) {
        if (!keep_stretch(kept, &rows)) result = cli_fail_errno(input.name, ENOMEM);
        cli_progress_step(&progress, input.done);
    }
    cli_progress_end(&progress);
    cli_text_close(&text);
    cli_input_close(&input);
    return result;
}

static int write_bytes(const cli_options *options, const uint8_t *data, uint64_t size) {
    cli_output output;
    int result = cli_output_open(&output, options->train_output, options, NULL);
    if (result != CLI_OK) return result;
    int number = cli_output_write(&output, data, size);
    if (number == 0) return cli_output_settle(&output);
    cli_output_discard(&output);
    return cli_output_fail(&output, number);
}

static int write_dictionary(const cli_options *options, const fastpair_dictionary *dictionary) {
    fastpair_error error;
    uint64_t size = fastpair_dictionary_export_size(dictionary);
    uint8_t *data = malloc(size);
    if (!data) return cli_fail_errno(options->train_output, ENOMEM);
    int result =
        fastpair_dictionary_export_into(dictionary, data, size, &size, &error) == FASTPAIR_OK
            ? write_bytes(options, data, size)
            : cli_fail_status(options->train_output, &error);
    free(data);
    return result;
}

int cli_train(const cli_options *options) {
    kept_rows kept = {.stride = 1};
    int result = CLI_OK;
    for (int i = 0; i < options->file_count && result == CLI_OK; i++)
        result = gather(options, options->files[i], &kept);
    if (result == CLI_OK && kept.rows.rows == 0)
        result = cli_fail(NULL, "there are no rows to train on");
    fastpair_dictionary *dictionary = NULL;
    fastpair_error error;
    if (result == CLI_OK) {
        fastpair_compress_options settings = cli_compress_options(options);
        fastpair_rows rows = cli_rows_view(&kept.rows);
        fastpair_status status = fastpair_dictionary_train(&rows, &settings, &dictionary, &error);
        result = status == FASTPAIR_OK ? write_dictionary(options, dictionary)
                                       : cli_fail_status(options->train_output, &error);
    }
    fastpair_dictionary_close(dictionary);
    cli_rows_close(&kept.rows);
    free(kept.stretches);
    return result;
}
