/* input.c - inputs: a named file or standard input.
 *
 * In: a path. Out: a descriptor that is read front to back, with bytes counted and read errors kept
 * for a message that names the file. Directories are refused.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_input_open(cli_input *input, const char *path) {
    *input = (cli_input){.path = path, .name = path};
    if (strcmp(path, "-") == 0) {
        input->is_stdin = true;
        input->name = "standard input";
        input->fd = STDIN_FILENO;
    } else {
        input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (input->fd < 0) return cli_fail_errno(input->name, errno);
    }
    if (fstat(input->fd, &input->info) != 0) {
        int number = errno;
        cli_input_close(input);
        return cli_fail_errno(input->name, number);
    }
    if (S_ISDIR(input->info.st_mode)) {
        cli_input_close(input);
        return cli_fail(input->name, "is a directory; name the files in it");
    }
    input->is_regular = S_ISREG(input->info.st_mode);
#ifdef POSIX_FADV_SEQUENTIAL
    if (input->is_regular) (void)posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    return CLI_OK;
}

void cli_input_close(cli_input *input) {
    if (!input->is_stdin && input->fd >= 0) close(input->fd);
    input->fd = -1;
}

long cli_input_read(cli_input *input, void *data, size_t size) {
    ssize_t got;
    do got = read(input->fd, data, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        input->error = errno;
    else {
        if (input->done < CLI_HEAD_BYTES && got > 0) {
            size_t room = CLI_HEAD_BYTES - (size_t)input->done;
            memcpy(input->head + input->done, data, (size_t)got < room ? (size_t)got : room);
        }
        input->done += (uint64_t)got;
    }
    return got;
}

typedef struct head_source {
    const uint8_t *bytes;
    size_t left;
} head_source;

/* Gives the first bytes again, then the end. */
static int read_head(void *context, void *data, size_t size, size_t *got) {
    head_source *head = context;
    *got = size < head->left ? size : head->left;
    memcpy(data, head->bytes, *got);
    head->bytes += *got;
    head->left -= *got;
    return 0;
}

bool cli_input_is_column(const cli_input *input) {
    if (input->done < CLI_HEAD_BYTES) return false;
    head_source head = {input->head, CLI_HEAD_BYTES};
    fastpair_source source = {.read = read_head, .context = &head};
    fastpair_open_options settings = cli_open_options(1);
    fastpair_reader *reader;
    if (fastpair_reader_open(&source, &settings, &reader, NULL) != FASTPAIR_OK) return false;
    fastpair_reader_close(reader);
    return true;
}

static int source_read(void *context, void *data, size_t size, size_t *got) {
    cli_input *input = context;
    long count = cli_input_read(input, data, size);
    *got = count > 0 ? (size_t)count : 0;
    return count < 0 ? input->error : 0;
}

fastpair_source cli_input_source(cli_input *input) {
    return (fastpair_source){.read = source_read, .context = input};
}

int cli_input_load(cli_input *input, uint64_t limit, uint8_t **data, uint64_t *size) {
    uint8_t *bytes = NULL;
    uint64_t used = 0, room = 0;
    for (;;) {
        if (used == room) {
            room = room ? room * 2 : 1 << 16;
            uint8_t *larger = realloc(bytes, room);
            if (!larger) {
                free(bytes);
                return cli_fail_errno(input->name, ENOMEM);
            }
            bytes = larger;
        }
        long got = cli_input_read(input, bytes + used, room - used);
        if (got < 0) {
            free(bytes);
            return cli_fail_errno(input->name, input->error);
        }
        if (got == 0) break;
        used += (uint64_t)got;
        if (used > limit) {
            free(bytes);
            return cli_fail(input->name, "is larger than %" PRIu64 " bytes", limit);
        }
    }
    *data = bytes;
    *size = used;
    return CLI_OK;
}
