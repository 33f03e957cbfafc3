/* search.c - searching one file and printing what is found.
 *
 * In: an open column and its search. Out: rows, a count or a name. A file is gone through in spans
 * of whole chunks: first one chunk, then twice as many each time, so that a search for one match
 * ends early and a long one keeps all threads busy. Only rows that match are decoded, in pieces of
 * bounded memory, so that any number of matches is printed as it is found. Counting takes the whole
 * file as one span and decodes nothing.
 */
#include "search.h"

#include "file.h"
#include "gpu.h"

#include <errno.h>
#include <stdlib.h>

/* Rows of a span whose matches are printed: a bitmap of 1 MiB. */
#define SPAN_ROWS (8ull << 20)
/* Rows and bytes that are decoded at once; a longer row is a piece of its own. */
#define PIECE_ROWS  65536ull
#define PIECE_BYTES (8ull << 20)

typedef struct grep_run {
    const grep_options *options;
    grep_printer *printer;
    grep_file file;
    uint8_t *bitmap;   /* of a span; NULL: rows are counted only */
    uint64_t *numbers; /* of the rows of a piece */
    uint64_t *offsets;
    uint8_t *bytes;
    uint64_t room;
    uint64_t left;         /* matches that are still wanted */
    uint8_t *found_on_gpu; /* of all rows; NULL: spans are searched as they come */
} grep_run;

/* ---------------------------------------------------------------- printing */

static int reserve(grep_run *run, uint64_t size) {
    if (run->bytes && size <= run->room) return CLI_OK;
    free(run->bytes);
    run->room = size > PIECE_BYTES ? size : PIECE_BYTES;
    run->bytes = malloc(run->room);
    return run->bytes ? CLI_OK : cli_fail_errno(run->file.input.name, ENOMEM);
}

/* Rows that follow each other, as where most of them match, are decoded as a range, which is
 * faster. */
static bool is_range(const uint64_t *numbers, uint64_t count) {
    return numbers[count - 1] - numbers[0] == count - 1;
}

static fastpair_status measure(const grep_run *run, const uint64_t *numbers, uint64_t count,
                               uint64_t *size, fastpair_error *error) {
    const fastpair_column *column = run->file.column;
    if (is_range(numbers, count))
        return fastpair_column_rows_size(column, numbers[0], count, size, error);
    return fastpair_column_listed_size(column, numbers, count, size, error);
}

static fastpair_status decode(const grep_run *run, const uint64_t *numbers, uint64_t count,
                              fastpair_error *error) {
    const fastpair_column *column = run->file.column;
    fastpair_destination destination = {.struct_size = sizeof(destination),
                                        .bytes = run->bytes,
                                        .bytes_capacity = run->room,
                                        .offsets = run->offsets,
                                        .offset_bits = 64};
    if (is_range(numbers, count))
        return fastpair_column_decode(column, numbers[0], count, &destination, error);
    return fastpair_column_decode_listed(column, numbers, count, &destination, error);
}

/* Decodes and prints as many of these rows as one piece may hold, and sets *done to how many. */
static int print_piece(grep_run *run, const uint64_t *numbers, uint64_t count, uint64_t *done) {
    fastpair_error error;
    uint64_t size = 0;
    fastpair_status status = measure(run, numbers, count, &size, &error);
    while (!status && size > PIECE_BYTES && count > 1)
        status = measure(run, numbers, count /= 2, &size, &error);
    if (status) return grep_file_fail(&run->file, &error);
    int result = reserve(run, size);
    if (result != CLI_OK) return result;
    if (decode(run, numbers, count, &error)) return grep_file_fail(&run->file, &error);
    *done = count;
    fastpair_rows rows = cli_rows_of(count, run->bytes, run->offsets);
    result = grep_file_check(&run->file);
    return result == CLI_OK ? grep_print_rows(run->printer, &rows, numbers) : result;
}

static int print_listed(grep_run *run, uint64_t count) {
    int result = CLI_OK;
    for (uint64_t at = 0, done = 0; at < count && result == CLI_OK; at += done)
        result = print_piece(run, run->numbers + at, count - at, &done);
    return result;
}

/* Prints the rows of a span whose bits are set, no more than are still wanted. */
static int print_span(grep_run *run, uint64_t first, uint64_t count) {
    uint64_t listed = 0, left = run->left;
    int result = CLI_OK;
    for (uint64_t byte = 0; byte < (count + 7) / 8 && left > 0 && result == CLI_OK; byte++)
        for (unsigned bits = run->bitmap[byte]; bits && left > 0 && result == CLI_OK;
             bits &= bits - 1) {
            run->numbers[listed++] = first + 8 * byte + (uint64_t)__builtin_ctz(bits);
            left--;
            if (listed < PIECE_ROWS) continue;
            result = print_listed(run, listed);
            listed = 0;
        }
    if (result == CLI_OK) result = print_listed(run, listed);
    return result == CLI_OK ? grep_print_pause(run->printer) : result;
}

/* ---------------------------------------------------------------- searching */

/* Rows from `first` to the end of the chunk that is `chunks` chunks further on. */
static fastpair_status span_rows(const grep_run *run, uint64_t first, uint64_t chunks,
                                 uint64_t *count, fastpair_error *error) {
    const grep_file *file = &run->file;
    fastpair_chunk_info info = {.struct_size = sizeof(info)};
    uint64_t chunk;
    fastpair_status status = fastpair_column_find_chunk(file->column, first, &chunk, error);
    if (status) return status;
    uint64_t last = file->totals.chunks - 1;
    if (chunks - 1 < last - chunk) last = chunk + chunks - 1;
    status = fastpair_column_get_chunk(file->column, last, &info, error);
    uint64_t end = info.first_row + info.rows;
    *count = (end < file->end_row ? end : file->end_row) - first;
    if (run->bitmap && *count > SPAN_ROWS) *count = SPAN_ROWS;
    return status;
}

/* The part of what the GPU found that is about a span. */
static void take_found(const grep_run *run, uint64_t first, uint64_t count,
                       fastpair_matches *matches) {
    const uint8_t *from = run->found_on_gpu + first / 8;
    unsigned shift = first % 8;
    for (uint64_t i = 0; i < (count + 7) / 8; i++) {
        unsigned bits = (unsigned)(from[i] >> shift | from[i + 1] << (8 - shift)) & 255;
        if (count - 8 * i < 8) bits &= (1u << (count - 8 * i)) - 1;
        if (matches->bitmap) matches->bitmap[i] = (uint8_t)bits;
        matches->matches += (uint64_t)__builtin_popcount(bits);
    }
}

static fastpair_status search_span(const grep_run *run, uint64_t first, uint64_t count,
                                   fastpair_matches *matches, fastpair_error *error) {
    if (!run->found_on_gpu)
        return fastpair_search_run(run->file.search, first, count, matches, error);
    take_found(run, first, count, matches);
    return FASTPAIR_OK;
}

/* Goes through the file until it ends or no more matches are wanted. *matches gets how many there
 * were. */
static int search_all(grep_run *run, uint64_t *matches) {
    const grep_file *file = &run->file;
    uint64_t chunks = run->left == UINT64_MAX && !run->bitmap ? file->totals.chunks : 1;
    int result = CLI_OK;
    for (uint64_t row = file->first_row, count; row < file->end_row && run->left > 0;
         row += count) {
        fastpair_error error;
        fastpair_matches found = {.struct_size = sizeof(found), .bitmap = run->bitmap};
        fastpair_status status = span_rows(run, row, chunks, &count, &error);
        if (!status) status = search_span(run, row, count, &found, &error);
        if (status) return grep_file_fail(file, &error);
        result = grep_file_check(file);
        if (result == CLI_OK && run->bitmap && found.matches > 0)
            result = print_span(run, row, count);
        if (result != CLI_OK) return result;
        uint64_t taken = found.matches < run->left ? found.matches : run->left;
        *matches += taken;
        run->left -= taken;
        if (chunks <= file->totals.chunks) chunks *= 2;
    }
    return result;
}

static int reserve_lists(grep_run *run) {
    uint64_t rows = run->file.end_row - run->file.first_row;
    uint64_t span = rows < SPAN_ROWS ? rows : SPAN_ROWS;
    uint64_t piece = rows < PIECE_ROWS ? rows : PIECE_ROWS;
    run->bitmap = malloc(span / 8 + 1);
    run->numbers = malloc((piece + 1) * sizeof(*run->numbers));
    run->offsets = malloc((piece + 1) * sizeof(*run->offsets));
    bool good = run->bitmap && run->numbers && run->offsets;
    return good ? CLI_OK : cli_fail_errno(run->file.input.name, ENOMEM);
}

/* Prints what is told of the file as a whole. */
static int print_summary(grep_run *run, uint64_t matches) {
    grep_answer answer = run->options->answer;
    int result = CLI_OK;
    if (answer == GREP_COUNT) result = grep_print_count(run->printer, matches);
    if (answer == (matches > 0 ? GREP_WITH : GREP_WITHOUT)) result = grep_print_name(run->printer);
    return result == CLI_OK ? grep_print_pause(run->printer) : result;
}

int grep_search(const grep_options *options, const char *path, grep_printer *printer, bool *found) {
    grep_answer answer = options->answer;
    grep_run run = {.options = options, .printer = printer, .left = options->most};
    uint64_t matches = 0;
    if (answer != GREP_ROWS && answer != GREP_COUNT && run.left > 1) run.left = 1;
    int result = grep_file_open(&run.file, options, path);
    const fastpair_column_totals *totals = &run.file.totals;
    if (result == CLI_OK)
        result = grep_print_begin(printer, run.file.input.is_stdin ? "(standard input)" : path,
                                  totals->has_framing ? totals->separator : (uint8_t)'\n');
    if (result == CLI_OK && answer == GREP_ROWS) result = reserve_lists(&run);
    if (result == CLI_OK && options->gpu)
        result = grep_gpu_search(options->gpu, &run.file, &run.found_on_gpu);
    if (result == CLI_OK) result = search_all(&run, &matches);
    if (matches > 0) *found = true;
    if (result == CLI_OK) result = print_summary(&run, matches);
    free(run.bitmap);
    free(run.numbers);
    free(run.offsets);
    free(run.bytes);
    free(run.found_on_gpu);
    grep_file_close(&run.file);
    return result;
}
