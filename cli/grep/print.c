/* print.c - what fpgrep writes to standard output.
 *
 * In: rows that match, or what is told of a file instead. Out: their bytes through the background
 * writer, in order, each with the name of its file, its number and colours as asked for. Rows that
 * get none of these are copied by the emitter's own fast loop. Colours are those of GNU grep.
 */
#define _GNU_SOURCE /* fopencookie */

#include "print.h"

#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLOR_NAME      "\033[35m\033[K"
#define COLOR_NUMBER    "\033[32m\033[K"
#define COLOR_SEPARATOR "\033[36m\033[K"
#define COLOR_MATCH     "\033[01;31m\033[K"
#define COLOR_END       "\033[m\033[K"

/* Remembers a failed write. */
static int note(grep_printer *printer, int result) {
    if (result != CLI_OK) printer->failed = true;
    return result;
}

static int put(grep_printer *printer, const void *bytes, uint64_t size) {
    return note(printer, cli_emit_bytes(&printer->emitter, bytes, size));
}

static int put_text(grep_printer *printer, const char *text) {
    return put(printer, text, strlen(text));
}

/* Bytes in a colour, if there are colours. */
static int put_colored(grep_printer *printer, const char *color, const void *bytes, uint64_t size) {
    if (!printer->colored) return put(printer, bytes, size);
    int result = put_text(printer, color);
    if (result == CLI_OK) result = put(printer, bytes, size);
    return result == CLI_OK ? put_text(printer, COLOR_END) : result;
}

/* What ends a name or a count, which is a line of its own. */
static int put_end(grep_printer *printer) {
    return put(printer, printer->options->null_ends ? "" : "\n", 1);
}

/* A word and a colon. */
static int put_field(grep_printer *printer, const char *color, const char *word, uint64_t size) {
    int result = put_colored(printer, color, word, size);
    return result == CLI_OK ? put_colored(printer, COLOR_SEPARATOR, ":", 1) : result;
}

static int put_name(grep_printer *printer) {
    return put_field(printer, COLOR_NAME, printer->name, strlen(printer->name));
}

/* The digits of a number, at the end of `room`. printf would take longer than the rest of a row. */
enum { MOST_DIGITS = 20 };
static const char *digits_of(uint64_t number, char room[MOST_DIGITS + 1]) {
    char *at = room + MOST_DIGITS;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    return at;
}

/* ---------------------------------------------------------------- JSON */

static ssize_t json_write(void *context, const char *bytes, size_t size) {
    grep_printer *printer = context;
    return !printer->failed && put(printer, bytes, size) == CLI_OK ? (ssize_t)size : 0;
}

static cli_json json_begin(grep_printer *printer) {
    cli_json json;
    cli_json_begin(&json, printer->json);
    cli_json_bytes(&json, "file", printer->name, strlen(printer->name));
    return json;
}

static int json_end(grep_printer *printer, cli_json *json) {
    cli_json_end(json);
    return fflush(printer->json) == 0 && !printer->failed ? CLI_OK : CLI_FAILED;
}

/* ---------------------------------------------------------------- files */

int grep_printer_open(grep_printer *printer, const grep_options *options) {
    *printer = (grep_printer){.options = options};
    bool terminal = isatty(STDOUT_FILENO);
    const char *kind = getenv("TERM");
    printer->with_names = options->names == GREP_ALWAYS ||
                          (options->names == GREP_AUTO && options->common.file_count > 1);
    printer->colored = !options->json &&
                       (options->color == GREP_ALWAYS || (options->color == GREP_AUTO && terminal &&
                                                          kind && strcmp(kind, "dumb") != 0));
    printer->flushes = terminal;
    int result = cli_output_open(&printer->output, NULL, &options->common, NULL);
    /* What is told of a file in one line needs no thread to write it. */
    if (result == CLI_OK)
        result =
            cli_emitter_open(&printer->emitter, &printer->output, '\n',
                             options->answer == GREP_ROWS ? cli_threads(&options->common, 0) : 1);
    /* Rows are selected here: nobody expects to get the column back from them. */
    printer->emitter.lost_nulls = printer->emitter.lost_ends = true;
    if (result == CLI_OK && printer->colored && !options->negate)
        result = grep_highlight_open(&printer->highlight, &options->patterns, options->kind,
                                     options->ignore_case);
    if (result == CLI_OK && options->json) {
        cookie_io_functions_t functions = {.write = json_write};
        printer->json = fopencookie(printer, "w", functions);
        if (!printer->json) result = cli_fail_errno(NULL, ENOMEM);
    }
    return result;
}

int grep_print_begin(grep_printer *printer, const char *name, uint8_t separator) {
    int result = put(printer, NULL, 0); /* the separator of the file before */
    printer->name = name;
    printer->separator = printer->options->null_ends ? 0 : separator;
    printer->emitter.separator = printer->separator;
    return result;
}

bool grep_printer_wants_numbers(const grep_printer *printer) {
    return printer->options->numbers || printer->options->json;
}

/* ---------------------------------------------------------------- rows */

/* A row with its matches in colour. */
static int put_highlighted(grep_printer *printer, const uint8_t *row, uint64_t size) {
    uint64_t done = 0, start = 0, length;
    int result = CLI_OK;
    while (result == CLI_OK &&
           grep_highlight_next(&printer->highlight, row, size, &start, &length)) {
        result = put(printer, row + done, start - done);
        if (result == CLI_OK) result = put_colored(printer, COLOR_MATCH, row + start, length);
        done = start += length;
    }
    return result == CLI_OK ? put(printer, row + done, size - done) : result;
}

static int put_row(grep_printer *printer, const uint8_t *row, uint64_t size, uint64_t number) {
    char room[MOST_DIGITS + 1];
    int result = CLI_OK;
    if (printer->options->json) {
        cli_json json = json_begin(printer);
        cli_json_number(&json, "row", number);
        cli_json_bytes(&json, "text", row, size);
        return json_end(printer, &json);
    }
    if (printer->with_names) result = put_name(printer);
    if (result == CLI_OK && printer->options->numbers) {
        const char *digits = digits_of(number + 1, room);
        result = put_field(printer, COLOR_NUMBER, digits, (uint64_t)(room + MOST_DIGITS - digits));
    }
    if (result == CLI_OK)
        result = printer->highlight.sorted ? put_highlighted(printer, row, size)
                                           : put(printer, row, size);
    return result == CLI_OK ? put(printer, &printer->separator, 1) : result;
}

int grep_print_rows(grep_printer *printer, const fastpair_rows *rows, const uint64_t *numbers) {
    if (!printer->with_names && !grep_printer_wants_numbers(printer) && !printer->highlight.sorted)
        return note(printer, cli_emit_rows(&printer->emitter, rows, 0, rows->rows));
    int result = CLI_OK;
    for (uint64_t i = 0; i < rows->rows && result == CLI_OK; i++) {
        uint64_t start = cli_row_start(rows, i), size = cli_row_start(rows, i + 1) - start;
        result = put_row(printer, rows->bytes + start, size, numbers ? numbers[i] : 0);
    }
    return result;
}

/* ---------------------------------------------------------------- lines about a file */

int grep_print_count(grep_printer *printer, uint64_t count) {
    char room[MOST_DIGITS + 1];
    int result = CLI_OK;
    if (printer->options->json) {
        cli_json json = json_begin(printer);
        cli_json_number(&json, "count", count);
        return json_end(printer, &json);
    }
    if (printer->with_names) result = put_name(printer);
    const char *digits = digits_of(count, room);
    if (result == CLI_OK) result = put(printer, digits, (uint64_t)(room + MOST_DIGITS - digits));
    return result == CLI_OK ? put_end(printer) : result;
}

int grep_print_name(grep_printer *printer) {
    int result = put_colored(printer, COLOR_NAME, printer->name, strlen(printer->name));
    return result == CLI_OK ? put_end(printer) : result;
}

int grep_print_pause(grep_printer *printer) {
    if (!printer->flushes) return CLI_OK;
    int result = put(printer, NULL, 0);
    return result == CLI_OK ? note(printer, cli_emit_flush(&printer->emitter)) : result;
}

int grep_print_end(grep_printer *printer) {
    return note(printer, cli_emit_end(&printer->emitter, true));
}

void grep_printer_close(grep_printer *printer) {
    printer->failed = true; /* what JSON is left over goes nowhere */
    if (printer->json) fclose(printer->json);
    cli_emitter_close(&printer->emitter);
    grep_highlight_close(&printer->highlight);
    *printer = (grep_printer){0};
}
