/* make_columns.c - columns that the command cannot make, since they come from no text.
 *
 *     make_columns    writes into the current folder
 *
 * nulls.fpc, newlines.fpc, separators.fpc and ends_empty.fpc hold what a text cannot; plain.fpc and
 * empty.fpc do not. */
#include "fastpair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3 };

typedef struct column {
    const char *path;
    const char *rows[ROWS]; /* NULL: a null row */
    int has_framing, final_separator;
} column;

static const column columns[] = {
    {"plain.fpc", {"one", "two", "three"}, 0, 0},
    {"empty.fpc", {"", "", ""}, 0, 0},
    {"nulls.fpc", {"one", NULL, "three"}, 1, 1},
    {"newlines.fpc", {"one", "two\nlines", "three"}, 0, 0},
    {"separators.fpc", {"one", "two;parts", "three"}, 1, 1},
    {"ends_empty.fpc", {"one", "two", ""}, 1, 0},
};

static int put(void *context, const void *data, size_t size) {
    return fwrite(data, 1, size, context) == size ? 0 : 5;
}

static void demand(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "make_columns: %s\n", what);
    exit(1);
}

int main(void) {
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const column *c = &columns[i];
        char bytes[100] = "";
        uint64_t offsets[ROWS + 1] = {0};
        uint8_t validity = 0;
        for (int row = 0; row < ROWS; row++) {
            if (c->rows[row]) strcat(bytes, c->rows[row]);
            if (c->rows[row]) validity |= (uint8_t)(1 << row);
            offsets[row + 1] = strlen(bytes);
        }
        fastpair_rows rows = {.struct_size = sizeof rows,
                              .rows = ROWS,
                              .bytes = (const uint8_t *)bytes,
                              .offsets = offsets,
                              .validity = &validity};
        FILE *file = fopen(c->path, "wb");
        demand(file != NULL, c->path);
        fastpair_sink sink = {.write = put, .context = file};
        fastpair_writer *writer = NULL;
        fastpair_error error;
        fastpair_status status = fastpair_writer_open(&sink, NULL, &writer, &error);
        if (!status && c->has_framing)
            status = fastpair_writer_set_framing(writer, ';', c->final_separator, &error);
        if (!status) status = fastpair_writer_append(writer, &rows, &error);
        if (!status) status = fastpair_writer_finish(writer, &error);
        demand(status == FASTPAIR_OK, error.message);
        fastpair_writer_close(writer);
        demand(fclose(file) == 0, c->path);
    }
    return 0;
}
