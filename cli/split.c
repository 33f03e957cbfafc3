/* split.c - cutting a file into rows with several threads.
 *
 * In: a regular file and the separator byte. Out: rows, with the separators taken out, in memory of the
 * caller's. The trick: where a byte goes is where it was, less the separators before it. So threads read
 * blocks of a window and count separators; after that all of them know where to copy, and no row needs to
 * begin or end with a block. What follows the last separator of a window is read again. Refuses rows of
 * 4 GiB or more, which the format cannot hold.
 */
#define _GNU_SOURCE

#include "split.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_BLOCK = 512, READ_BYTES = 1 << 18, MOST_THREADS = 16 };

/* A window without a separator that is as large as this has a row that is too long. */
#define LARGEST_WINDOW 0x100000000ull

void cli_split_open(cli_split *split, cli_input *input, uint8_t separator, uint32_t threads) {
    *split = (cli_split){.input = input, .separator = separator, .threads = threads};
    if (split->threads > MOST_THREADS) split->threads = MOST_THREADS;
}

void cli_split_close(cli_split *split) {
    free(split->window);
    split->window = NULL;
}

/* ---------------------------------------------------------------- all threads */

/* Work on the blocks of a window: whoever is free takes the next one. */
typedef struct crew {
    cli_split *split;
    void (*work)(struct crew *crew, uint32_t block);
    uint32_t count;
    atomic_uint next;
    atomic_int error; /* an errno value */
    /* copying */
    uint8_t *bytes;
    uint64_t *offsets, base;
    uint64_t rows_before[CLI_SPLIT_BLOCKS], bytes_before[CLI_SPLIT_BLOCKS];
} crew;

static void *take_blocks(void *context) {
    crew *of = context;
    for (;;) {
        uint32_t block = atomic_fetch_add(&of->next, 1);
        if (block >= of->count) return NULL;
        of->work(of, block);
    }
}

/* All blocks, by this thread and others, if these can be had. */
static void run_crew(crew *of) {
    pthread_t threads[MOST_THREADS];
    uint32_t started = 0, wanted = of->split->threads < of->count ? of->split->threads : of->count;
    sigset_t all, before; /* signals are for the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started + 1 < wanted && !pthread_create(&threads[started], NULL, take_blocks, of))
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    take_blocks(of);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

/* ---------------------------------------------------------------- reading */

/* Bytes that are there, up to `size`; fewer at the file's end. */
static uint64_t read_at(crew *of, uint8_t *to, uint64_t size, uint64_t at) {
    uint64_t done = 0;
    while (done < size) {
        ssize_t got =
            pread(of->split->input->fd, to + done, (size_t)(size - done), (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) atomic_store(&of->error, errno);
        if (got <= 0) break;
        done += (uint64_t)got;
    }
    return done;
}

/* How many bytes are the separator. In lanes of a byte each, so that compilers make vectors of them. */
static uint64_t count_separators(const uint8_t *at, uint64_t size, uint8_t separator) {
    enum { LANES = 64, ROUNDS = 255 };
    uint64_t count = 0;
    while (size >= LANES) {
        uint64_t rounds = size / LANES < ROUNDS ? size / LANES : ROUNDS;
        uint8_t lanes[LANES] = {0};
        for (uint64_t i = 0; i < rounds; i++, at += LANES)
            for (int lane = 0; lane < LANES; lane++)
                lanes[lane] = (uint8_t)(lanes[lane] + (at[lane] == separator));
        for (int lane = 0; lane < LANES; lane++) count += lanes[lane];
        size -= rounds * LANES;
    }
    for (uint64_t i = 0; i < size; i++) count += at[i] == separator;
    return count;
}

/* Reads a block in parts that stay in a cache, and counts its separators. */
static void read_block(crew *of, uint32_t number) {
    cli_split *split = of->split;
    cli_split_block block = {0};
    const uint64_t first = number * split->block_bytes;
    uint8_t *from = split->window + first;
    while (block.bytes < split->block_bytes && !atomic_load(&of->error)) {
        uint64_t wanted = split->block_bytes - block.bytes;
        if (wanted > READ_BYTES) wanted = READ_BYTES;
        uint8_t *at = from + block.bytes;
        uint64_t got = read_at(of, at, wanted, split->at + first + block.bytes);
        const uint8_t *found = got ? memrchr(at, split->separator, (size_t)got) : NULL;
        if (found) block.last = (uint64_t)(found - from) + 1;
        if (found) block.separators += count_separators(at, got, split->separator);
        block.bytes += got;
        if (got < wanted) break;
    }
    split->blocks[number] = block;
}

/* Reads blocks of a window. Returns an errno value. */
static int read_window(cli_split *split, uint64_t bytes) {
    crew of = {.split = split, .work = read_block, .count = CLI_SPLIT_BLOCKS};
    uint8_t more;
    split->block_bytes = bytes / CLI_SPLIT_BLOCKS;
    if (split->block_bytes < LEAST_BLOCK) split->block_bytes = LEAST_BLOCK;
    bytes = split->block_bytes * CLI_SPLIT_BLOCKS;
    if (bytes > split->room) {
        free(split->window);
        split->room = 0;
        split->window = malloc((size_t)bytes);
        if (!split->window) return ENOMEM;
        split->room = bytes;
    }
    run_crew(&of);
    /* A block that is not full is the last, whatever a file that grows says later on. */
    split->count = 0;
    while (split->count < CLI_SPLIT_BLOCKS &&
           split->blocks[split->count++].bytes == split->block_bytes)
        continue;
    split->at_end = split->blocks[split->count - 1].bytes < split->block_bytes ||
                    (!read_at(&of, &more, 1, split->at + bytes) && !atomic_load(&of.error));
    return atomic_load(&of.error);
}

/* Which of the window's rows are whole, and at most so many, if blocks allow. */
static void choose_rows(cli_split *split, uint64_t most_rows) {
    uint64_t bytes = 0, last = 0;
    split->rows = 0;
    uint32_t kept = 0;
    while (kept < split->count && (!kept || split->rows < most_rows)) {
        const cli_split_block *block = &split->blocks[kept++];
        split->rows += block->separators;
        if (block->separators) last = bytes + block->last;
        bytes += block->bytes;
    }
    if (kept < split->count) split->at_end = false;
    split->count = kept;
    split->size = last - split->rows;
    if (!split->at_end) return;
    split->final_separator = last == bytes && (last || split->rows_given);
    if (last == bytes) return;
    split->size += bytes - last; /* the end of a text without a final separator */
    split->rows++;
}

int cli_split_read(cli_split *split, uint64_t bytes, uint64_t most_rows) {
    for (;; bytes *= 2) {
        if (bytes > LARGEST_WINDOW) bytes = LARGEST_WINDOW;
        int number = read_window(split, bytes);
        if (number) return cli_fail_errno(split->input->name, number);
        choose_rows(split, most_rows);
        if (split->rows || split->at_end) return CLI_OK;
        if (bytes == LARGEST_WINDOW)
            return cli_fail(split->input->name,
                            "row %" PRIu64 " has 4 GiB or more, the limit of the format; is the "
                            "separator right (lines, or NUL with -0)?",
                            split->rows_given);
    }
}

/* ---------------------------------------------------------------- copying */

/* The rows of a block, without separators, and where they end. Most rows are short: a fixed copy beats a
 * call for an unknown length, where it reads and writes nothing of other blocks. */
static void copy_block(crew *of, uint32_t number) {
    enum { SHORT_ROW = 64 };
    const cli_split *split = of->split;
    const uint8_t *at = split->window + number * split->block_bytes;
    const uint8_t *end = at + split->blocks[number].bytes;
    const uint64_t rows = split->blocks[number].separators;
    uint8_t *to = of->bytes + of->bytes_before[number];
    /* Bytes of the block that go: what follows the last row that is whole does not. */
    uint64_t left = split->size - of->bytes_before[number];
    if (left > split->blocks[number].bytes - rows) left = split->blocks[number].bytes - rows;
    uint8_t *to_end = to + left;
    uint64_t *ends = of->offsets + of->rows_before[number] + 1;
    for (uint64_t row = 0; row < rows; row++) {
        const uint8_t *found = memchr(at, split->separator, (size_t)(end - at));
        uint64_t length = (uint64_t)(found - at);
        if (length <= SHORT_ROW && to_end - to >= SHORT_ROW && end - at >= SHORT_ROW)
            memcpy(to, at, SHORT_ROW);
        else
            memcpy(to, at, (size_t)length);
        to += length;
        at = found + 1;
        ends[row] = of->base + (uint64_t)(to - of->bytes);
    }
    memcpy(to, at, (size_t)(to_end - to));
}

void cli_split_copy(cli_split *split, uint8_t *bytes, uint64_t *offsets, uint64_t base) {
    crew of = {.split = split,
               .work = copy_block,
               .count = split->count,
               .bytes = bytes,
               .offsets = offsets,
               .base = base};
    uint64_t rows = 0, before = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < split->count && before <= split->size; i++, count++) {
        of.rows_before[i] = rows;
        of.bytes_before[i] = before;
        rows += split->blocks[i].separators;
        before += split->blocks[i].bytes - split->blocks[i].separators;
    }
    of.count = count;
    offsets[0] = base;
    run_crew(&of);
    if (split->rows > rows) offsets[split->rows] = base + split->size;
    /* The next window begins after the last separator. */
    split->at += split->size + rows;
    split->input->done = split->at;
    split->rows_given += split->rows;
}
