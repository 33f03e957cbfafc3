/* emit.c - from rows back to the text they were cut from.
 *
 * In: views of rows. Out: the rows with a separator between them, in large blocks for the
 * background writer. The trick: most rows are short, so where both sides have room a fixed 64-byte
 * copy replaces a memcpy call of unknown length. A null row is written as an empty one.
 *
 * What text cannot hold is looked for on the way: null rows, rows that contain the separator, and
 * an empty row at the end of a text without a final separator. Such a text would not give the
 * column back, so with --rm it is refused.
 */
#include "emit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_ROW = 64 };

int cli_emitter_open(cli_emitter *emitter, cli_output *output, uint8_t separator,
                     uint32_t threads) {
    *emitter = (cli_emitter){.separator = separator};
    if (cli_background_open(&emitter->background, output, threads) != CLI_OK) return CLI_FAILED;
    emitter->block = cli_background_block(&emitter->background);
    return emitter->block ? CLI_OK : cli_output_fail(output, ENOMEM);
}

void cli_emitter_close(cli_emitter *emitter) { cli_background_close(&emitter->background); }

/* Hands the block over and gets another. */
static int next_block(cli_emitter *emitter) {
    int number = cli_background_submit(&emitter->background, emitter->used);
    emitter->used = 0;
    if (number == 0 && !(emitter->block = cli_background_block(&emitter->background)))
        number = ENOMEM;
    return number == 0 ? CLI_OK : cli_output_fail(emitter->background.output, number);
}

/* Bytes of any number, over as many blocks as they need. */
static int put_bytes(cli_emitter *emitter, const uint8_t *bytes, uint64_t size) {
    while (size > 0) {
        size_t room = CLI_BLOCK_BYTES - emitter->used, part = size < room ? (size_t)size : room;
        memcpy(emitter->block + emitter->used, bytes, part);
        emitter->used += part;
        bytes += part;
        size -= part;
        if (part == room && next_block(emitter) != CLI_OK) return CLI_FAILED;
    }
    return CLI_OK;
}

int cli_emit_bytes(cli_emitter *emitter, const void *bytes, uint64_t size) {
    if (emitter->owes_separator && put_bytes(emitter, &emitter->separator, 1) != CLI_OK)
        return CLI_FAILED;
    emitter->owes_separator = false;
    return put_bytes(emitter, bytes, size);
}

int cli_emit_flush(cli_emitter *emitter) {
    return emitter->used > 0 ? next_block(emitter) : CLI_OK;
}

/* The text does not hold what the column holds. CLI_FAILED if --rm would remove the column. */
static int lose(const cli_output *output, const char *what) {
    const char *name = output->input->name;
    if (cli_output_removes_input(output))
        return cli_fail(name, "%s; so --rm is refused: leave it out to get the text", what);
    char clean[CLI_NAME_ROOM];
    cli_note(output->options, "%s: %s", cli_clean_name(name, clean), what);
    return CLI_OK;
}

int cli_emit_nulls(cli_emitter *emitter) {
    if (emitter->lost_nulls) return CLI_OK;
    emitter->lost_nulls = true;
    return lose(emitter->background.output, "null rows become empty rows in the text");
}

static int lose_ends(cli_emitter *emitter) {
    char what[80];
    emitter->lost_ends = true;
    snprintf(what, sizeof(what), "rows that contain the separator (0x%02x) fall apart in the text",
             emitter->separator);
    return lose(emitter->background.output, what);
}

static bool has_null(const fastpair_rows *rows, uint64_t first, uint64_t end) {
    for (uint64_t i = first + rows->validity_bit_offset; i < end + rows->validity_bit_offset; i++)
        if (!(rows->validity[i / 8] >> i % 8 & 1)) return true;
    return false;
}

/* Looks for what the text of these rows cannot hold. */
static int check_rows(cli_emitter *emitter, const fastpair_rows *rows, uint64_t first,
                      uint64_t end) {
    uint64_t start = cli_row_start(rows, first), size = cli_row_start(rows, end) - start;
    if (rows->validity && !emitter->lost_nulls && has_null(rows, first, end) &&
        cli_emit_nulls(emitter) != CLI_OK)
        return CLI_FAILED;
    if (size > 0 && !emitter->lost_ends &&
        memchr(rows->bytes + start, emitter->separator, (size_t)size) &&
        lose_ends(emitter) != CLI_OK)
        return CLI_FAILED;
    if (first < end) emitter->ends_empty = cli_row_start(rows, end - 1) == start + size;
    return CLI_OK;
}

int cli_emit_rows(cli_emitter *emitter, const fastpair_rows *rows, uint64_t first, uint64_t end) {
    if (check_rows(emitter, rows, first, end) != CLI_OK) return CLI_FAILED;
    const uint64_t *offsets = rows->offsets; /* cli_rows_of made them */
    uint64_t short_limit =
        cli_row_start(rows, rows->rows); /* up to here 64 bytes can be read from a row's start */
    short_limit = short_limit >= SHORT_ROW ? short_limit - SHORT_ROW + 1 : 0;
    uint8_t *to = emitter->block + emitter->used,
            *to_limit = emitter->block + CLI_BLOCK_BYTES - SHORT_ROW - 1;
    for (uint64_t i = first; i < end; i++) {
        uint64_t start = offsets[i], length = offsets[i + 1] - start;
        if (length <= SHORT_ROW && start < short_limit && to < to_limit &&
            emitter->owes_separator) {
            *to++ = emitter->separator;
            memcpy(to, rows->bytes + start, SHORT_ROW);
            to += length;
            continue;
        }
        emitter->used = (size_t)(to - emitter->block);
        if (emitter->owes_separator && put_bytes(emitter, &emitter->separator, 1) != CLI_OK)
            return CLI_FAILED;
        if (put_bytes(emitter, rows->bytes + start, length) != CLI_OK) return CLI_FAILED;
        emitter->owes_separator = true;
        to = emitter->block + emitter->used;
        to_limit = emitter->block + CLI_BLOCK_BYTES - SHORT_ROW - 1;
    }
    emitter->used = (size_t)(to - emitter->block);
    return CLI_OK;
}

int cli_emit_end(cli_emitter *emitter, bool final_separator) {
    if (emitter->ends_empty && !final_separator &&
        lose(emitter->background.output,
             "the last row is empty and no separator follows, so the text has one row fewer") !=
            CLI_OK)
        return CLI_FAILED;
    if (emitter->owes_separator && final_separator &&
        put_bytes(emitter, &emitter->separator, 1) != CLI_OK)
        return CLI_FAILED;
    emitter->owes_separator = false;
    cli_background_submit(&emitter->background, emitter->used);
    emitter->used = 0;
    int number = cli_background_close(&emitter->background);
    return number == 0 ? CLI_OK : cli_output_fail(emitter->background.output, number);
}
