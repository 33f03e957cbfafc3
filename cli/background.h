/* background.h - writing blocks of bytes while the next ones are made. */
#ifndef CLI_BACKGROUND_H
#define CLI_BACKGROUND_H

#include "output.h"

#include <pthread.h>

enum { CLI_BLOCK_BYTES = 1 << 20, CLI_MOST_BLOCKS = 64 };

typedef struct cli_background {
    cli_output *output;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint8_t *blocks[CLI_MOST_BLOCKS]; /* a ring, allocated as it is needed */
    size_t sizes[CLI_MOST_BLOCKS];
    unsigned fill;    /* the block being filled */
    unsigned waiting; /* blocks before it that are not written yet */
    bool ended;
    int error; /* errno of the first failure */
} cli_background;

/* Starts; with one thread blocks are written at once by the caller. CLI_OK, or CLI_FAILED with a
 * message. */
int cli_background_open(cli_background *background, cli_output *output, uint32_t threads);

/* The block to fill next, CLI_BLOCK_BYTES long; waits for one to be free. NULL after a failure. */
uint8_t *cli_background_block(cli_background *background);

/* Hands over the first `size` bytes of that block. 0, or the errno of a failure so far. */
int cli_background_submit(cli_background *background, size_t size);

/* Waits until all is written and frees everything. 0, or the errno of a failure. Safe when all
 * zero. */
int cli_background_close(cli_background *background);

#endif
