/* background.c - writing blocks of bytes while the next ones are made.
 *
 * In: filled blocks. Out: their bytes, in order, in an output. The trick: a ring deep enough to
 * hold what the decoding threads make in one go, so that they and the disk work at the same time.
 * After a failed write the rest is dropped and the failure reported to whoever fills. Where no
 * thread can be had the caller writes.
 */
#include "background.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void *write_blocks(void *context) {
    cli_background *background = context;
    pthread_mutex_lock(&background->lock);
    for (;;) {
        while (background->waiting == 0 && !background->ended)
            pthread_cond_wait(&background->changed, &background->lock);
        if (background->waiting == 0) break;
        unsigned next =
            (background->fill + CLI_MOST_BLOCKS - background->waiting) % CLI_MOST_BLOCKS;
        bool failed = background->error != 0;
        pthread_mutex_unlock(&background->lock);
        int number = failed ? 0
                            : cli_output_write(background->output, background->blocks[next],
                                               background->sizes[next]);
        pthread_mutex_lock(&background->lock);
        if (number != 0) background->error = number;
        background->waiting--;
        pthread_cond_signal(&background->changed);
    }
    pthread_mutex_unlock(&background->lock);
    return NULL;
}

int cli_background_open(cli_background *background, cli_output *output, uint32_t threads) {
    *background = (cli_background){.output = output};
    if (threads <= 1) return CLI_OK;
    pthread_mutex_init(&background->lock, NULL);
    pthread_cond_init(&background->changed, NULL);
    sigset_t all, before; /* signals are for the main thread, except the one for whoever writes */
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    background->threaded = pthread_create(&background->thread, NULL, write_blocks, background) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!background->threaded) {
        pthread_mutex_destroy(&background->lock);
        pthread_cond_destroy(&background->changed);
    }
    return CLI_OK;
}

uint8_t *cli_background_block(cli_background *background) {
    if (background->threaded) {
        pthread_mutex_lock(&background->lock);
        while (background->waiting == CLI_MOST_BLOCKS - 1)
            pthread_cond_wait(&background->changed, &background->lock);
        pthread_mutex_unlock(&background->lock);
    }
    uint8_t **block = &background->blocks[background->fill];
    if (!*block) *block = malloc(CLI_BLOCK_BYTES);
    return *block;
}

int cli_background_submit(cli_background *background, size_t size) {
    if (!background->threaded) {
        int number =
            cli_output_write(background->output, background->blocks[background->fill], size);
        if (number != 0) background->error = number;
        return background->error;
    }
    pthread_mutex_lock(&background->lock);
    background->sizes[background->fill] = size;
    background->fill = (background->fill + 1) % CLI_MOST_BLOCKS;
    background->waiting++;
    int number = background->error;
    pthread_cond_signal(&background->changed);
    pthread_mutex_unlock(&background->lock);
    return number;
}

int cli_background_close(cli_background *background) {
    if (background->threaded) {
        pthread_mutex_lock(&background->lock);
        background->ended = true;
        pthread_cond_signal(&background->changed);
        pthread_mutex_unlock(&background->lock);
        pthread_join(background->thread, NULL);
        pthread_mutex_destroy(&background->lock);
        pthread_cond_destroy(&background->changed);
        background->threaded = false;
    }
    for (int i = 0; i < CLI_MOST_BLOCKS; i++) {
        free(background->blocks[i]);
        background->blocks[i] = NULL;
    }
    return background->error;
}
