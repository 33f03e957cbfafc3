/* emit.h - from rows back to the text they were cut from. */
#ifndef CLI_EMIT_H
#define CLI_EMIT_H

#include "background.h"

typedef struct cli_emitter {
    cli_background background;
    uint8_t *block;
    size_t used;
    uint8_t separator;
    bool owes_separator; /* a row was written and what follows it is not known yet */
    bool ends_empty;     /* the last row written was empty */
    /* What a text cannot hold, each said once. */
    bool lost_nulls, lost_ends;
} cli_emitter;

/* With more than one thread, writing goes on in the background. Prints what is wrong. */
int cli_emitter_open(cli_emitter *emitter, cli_output *output, uint8_t separator, uint32_t threads);

/* Writes rows first .. end of a view, with separators between them and to the rows before. A text
 * that does not hold all that these rows hold is refused if --rm is going to remove the column;
 * otherwise it is remarked on. Prints what is wrong. */
int cli_emit_rows(cli_emitter *emitter, const fastpair_rows *rows, uint64_t first, uint64_t end);

/* The same for null rows among the next ones, for callers whose views have no validity. */
int cli_emit_nulls(cli_emitter *emitter);

/* Writes any bytes, after the separator that the row before them is owed: for a caller that writes
 * more than rows. Prints what is wrong. */
int cli_emit_bytes(cli_emitter *emitter, const void *bytes, uint64_t size);

/* Sends on what was written so far, for somebody who waits for it. Prints what is wrong. */
int cli_emit_flush(cli_emitter *emitter);

/* Ends the text, with a separator after the last row if `final_separator`, and waits until all is
 * written. */
int cli_emit_end(cli_emitter *emitter, bool final_separator);

/* Frees everything, ended or not. Safe when all zero. */
void cli_emitter_close(cli_emitter *emitter);

#endif
