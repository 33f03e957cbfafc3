/* emit.c - from rows back to the text they were cut from.
 *
 * In: views of rows. Out: the rows with a separator between them, in large blocks for the
 * background writer. The trick: most rows are short, so where both sides have room a fixed 64-byte
 * copy replaces a memcpy call of unknown length. A null row is written as an empty one.
 */
#include "emit.h"

#include <errno.h>
#include <string.h>

enum { SHORT_ROW = 64 };

int cli_emitter_open(cli_emitter *emitter, cli_output *output, uint8_t separator,
                     uint32_t threads) {
    *emitter = (cli_emitter){.separator = separator};
    if (cli_background_open(&emitter->background, output, threads) != CLI_OK) return CLI_FAILED;
    emitter->block = cli_background_block(&emitter->background);
    return emitter->block ? CLI_OK : cli_fail_errno(output->name, ENOMEM);
}

void cli_emitter_close(cli_emitter *emitter) { cli_background_close(&emitter->background); }

/* Hands the block over and gets another. */
static int next_block(cli_emitter *emitter) {
    int number = cli_background_submit(&emitter->background, emitter->used);
    emitter->used = 0;
    if (number == 0 && !(emitter->block = cli_background_block(&emitter->background)))
        number = ENOMEM;
    return number == 0 ? CLI_OK : cli_fail_errno(emitter->background.output->name, number);
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

int cli_emit_rows(cli_emitter *emitter, const fastpair_rows *rows, uint64_t first, uint64_t end) {
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
    if (emitter->owes_separator && final_separator &&
        put_bytes(emitter, &emitter->separator, 1) != CLI_OK)
        return CLI_FAILED;
    emitter->owes_separator = false;
    cli_background_submit(&emitter->background, emitter->used);
    emitter->used = 0;
    int number = cli_background_close(&emitter->background);
    return number == 0 ? CLI_OK : cli_fail_errno(emitter->background.output->name, number);
}
