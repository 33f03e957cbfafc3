/* text.c - cutting a stream of bytes into rows at a separator.
 *
 * In: a descriptor and the separator byte. Out: views of rows, with the separators taken out, and
 * at the end whether the text ended with one. The trick: rows must lie back to back for the
 * library, so each is moved left over the separators before it, in the buffer it was read into.
 * Memory is one block, or twice the longest row. Refuses rows of 4 GiB or more, which the format
 * cannot hold.
 */
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20, ROWS_AT_ONCE = 1 << 16, SHORT_ROW = 64 };

#define ROW_LIMIT 0xffffffffull

int cli_text_open(cli_text *text, cli_input *input, uint8_t separator) {
    *text = (cli_text){.input = input, .separator = separator, .capacity = BLOCK_BYTES};
    text->bytes = malloc(text->capacity);
    text->offsets = malloc((ROWS_AT_ONCE + 1) * sizeof(uint64_t));
    if (text->bytes && text->offsets) return CLI_OK;
    cli_text_close(text);
    return cli_fail_errno(input->name, ENOMEM);
}

void cli_text_close(cli_text *text) {
    free(text->bytes);
    free(text->offsets);
    text->bytes = NULL;
    text->offsets = NULL;
}

/* Moves the row at `start` left to `to`. Most rows are short: once the gap is wide enough that
 * nothing unread is overwritten, a fixed copy beats a call for an unknown length. */
static inline void move_row(cli_text *text, size_t to, size_t length) {
    uint8_t *from = text->bytes + text->start;
    if (length <= SHORT_ROW && text->start - to >= SHORT_ROW &&
        text->filled - text->start >= SHORT_ROW)
        memcpy(text->bytes + to, from, SHORT_ROW);
    else if (to != text->start)
        memmove(text->bytes + to, from, length);
}

/* Cuts complete rows out of what is in the buffer; returns how many. They end up at the buffer's
 * start. */
static uint64_t cut_rows(cli_text *text) {
    uint64_t count = 0;
    size_t used = 0;
    while (count < ROWS_AT_ONCE) {
        uint8_t *from = text->bytes + text->scanned;
        uint8_t *found = memchr(from, text->separator, text->filled - text->scanned);
        if (!found) {
            text->scanned = text->filled;
            break;
        }
        size_t end = (size_t)(found - text->bytes), length = end - text->start;
        move_row(text, used, length);
        text->offsets[count++] = used;
        used += length;
        text->start = text->scanned = end + 1;
    }
    text->offsets[count] = used;
    return count;
}

/* Brings the unfinished row to the front and reads more after it. */
static int refill(cli_text *text) {
    size_t rest = text->filled - text->start;
    if (rest > ROW_LIMIT)
        return cli_fail(
            text->input->name,
            "row %" PRIu64
            " has 4 GiB or more, the limit of the format; is the separator right (lines, "
            "or NUL with -0)?",
            text->rows_given);
    if (text->start > 0) memmove(text->bytes, text->bytes + text->start, rest);
    text->start = 0;
    text->filled = text->scanned = rest;
    if (text->capacity - rest < BLOCK_BYTES / 4) {
        uint8_t *larger = realloc(text->bytes, text->capacity * 2);
        if (!larger) return cli_fail_errno(text->input->name, ENOMEM);
        text->bytes = larger;
        text->capacity *= 2;
    }
    long got = cli_input_read(text->input, text->bytes + rest, text->capacity - rest);
    if (got < 0) return cli_fail_errno(text->input->name, text->input->error);
    text->at_end = got == 0;
    text->filled += (size_t)got;
    return CLI_OK;
}

int cli_text_next(cli_text *text, fastpair_rows *rows) {
    uint64_t count = cut_rows(text);
    const uint8_t *bytes = text->bytes;
    while (count == 0 && !text->at_end) {
        if (refill(text) != CLI_OK) return CLI_FAILED;
        count = cut_rows(text);
        bytes = text->bytes;
    }
    if (count > 0)
        text->final_separator = true;
    else if (text->start < text->filled) { /* the end of a text without a final separator */
        bytes = text->bytes + text->start;
        text->offsets[0] = 0;
        text->offsets[1] = text->filled - text->start;
        text->start = text->scanned = text->filled;
        text->final_separator = false;
        count = 1;
    }
    text->rows_given += count;
    *rows = cli_rows_of(count, bytes, text->offsets);
    return CLI_OK;
}

bool cli_rows_append(cli_rows *all, const fastpair_rows *rows) {
    uint64_t size = cli_rows_size(rows);
    if (all->size + size > all->bytes_room || !all->bytes) {
        uint64_t room = (all->size + size) + (all->size + size) / 2 + BLOCK_BYTES;
        uint8_t *larger = realloc(all->bytes, room);
        if (!larger) return false;
        all->bytes = larger;
        all->bytes_room = room;
    }
    if (all->rows + rows->rows + 1 > all->offsets_room) {
        uint64_t room = (all->rows + rows->rows) * 3 / 2 + ROWS_AT_ONCE;
        uint64_t *larger = realloc(all->offsets, room * sizeof(uint64_t));
        if (!larger) return false;
        all->offsets = larger;
        all->offsets_room = room;
    }
    if (size > 0) memcpy(all->bytes + all->size, rows->bytes + cli_row_start(rows, 0), size);
    for (uint64_t i = 0; i <= rows->rows; i++)
        all->offsets[all->rows + i] = all->size + (cli_row_start(rows, i) - cli_row_start(rows, 0));
    all->rows += rows->rows;
    all->size += size;
    return true;
}

fastpair_rows cli_rows_view(const cli_rows *all) {
    return cli_rows_of(all->rows, all->bytes, all->offsets);
}

void cli_rows_close(cli_rows *all) {
    free(all->bytes);
    free(all->offsets);
    *all = (cli_rows){0};
}
