/* capture.h - what a command says on stderr, and that a terminal can show it. */
#ifndef FP_FUZZ_CAPTURE_H
#define FP_FUZZ_CAPTURE_H

#include "cli.h"
#include "fuzz.h"

/* What a call prints on stderr. */
typedef struct capture {
    FILE *before;
    char *text;
    size_t size;
} capture;

static inline void capture_begin(capture *c) {
    *c = (capture){.before = stderr};
    stderr = open_memstream(&c->text, &c->size);
    if (!stderr) abort();
}

static inline void capture_end(capture *c) {
    fclose(stderr);
    stderr = c->before;
}

/* Lines that begin with the program's name and a colon, without control characters. */
static inline void demand_message(const capture *c, const char *program) {
    DEMAND(c->size > strlen(program) && c->text[c->size - 1] == '\n');
    for (size_t i = 0; i < c->size; i++) {
        if (i == 0 || c->text[i - 1] == '\n')
            DEMAND(!strncmp(c->text + i, program, strlen(program)));
        int length = cli_utf8_length(c->text + i);
        DEMAND(length > 0 && c->text[i] != 127 &&
               (length > 1 || c->text[i] >= 32 || c->text[i] == '\n'));
        DEMAND(length != 2 || (unsigned char)c->text[i] != 0xc2 ||
               (unsigned char)c->text[i + 1] >= 0xa0);
        i += (size_t)length - 1;
    }
}

#endif
