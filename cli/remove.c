/* remove.c - removing an input whose output is complete.
 *
 * In: an input that is still open. Out: its name is gone; or it is kept, with the reason. The
 * trick: the name is moved aside first, which nobody can interrupt, and looked at there. Only what
 * is then the file that was read is removed, so a file that took the name meanwhile never is: it
 * gets its name back. Refuses inputs that changed after they were read.
 */
#define _GNU_SOURCE /* renameat2 */

#include "output.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool same_time(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Moves a name to one that is free. File systems that cannot do both at once are asked first. */
static int move_name(const char *from, const char *to) {
    struct stat info;
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
#endif
    if (lstat(to, &info) == 0) return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

/* Why the file of that name must be kept, or NULL; *number gets an errno value or 0. */
static const char *reason_to_keep(const cli_input *input, const char *path, int *number) {
    struct stat named, open_one;
    *number = 0;
    if (stat(path, &named) != 0 || fstat(input->fd, &open_one) != 0) {
        *number = errno;
        return "the input could not be looked at again, and is kept";
    }
    if (!cli_same_file(&named, &open_one))
        return "another file took the input's name meanwhile, and is kept";
    /* Bytes that came after the others were read would be lost. */
    if (open_one.st_size != input->info.st_size ||
        !same_time(&open_one.st_mtim, &input->info.st_mtim))
        return "the input changed while it was read, and is kept; run the command again";
    return NULL;
}

/* The output is complete whatever happens here, so every message says so. */
static int fail(const cli_input *input, const char *output, const char *reason, int number) {
    char name[CLI_NAME_ROOM];
    return cli_fail(input->name, "%s is complete, but %s%s%s", cli_clean_name(output, name), reason,
                    number ? ": " : "", number ? strerror(number) : "");
}

static int remove_held(const cli_input *input, const char *output) {
    char aside[PATH_MAX], said[CLI_NAME_ROOM + 80];
    int number, found;
    const char *reason = reason_to_keep(input, input->path, &number);
    if (reason) return fail(input, output, reason, number);
    number = EEXIST;
    for (int attempt = 0; attempt < 100 && number == EEXIST; attempt++)
        number = cli_private_name(input->path, attempt, aside) ? move_name(input->path, aside)
                                                               : ENAMETOOLONG;
    if (number) return fail(input, output, "the input could not be removed", number);
    reason = reason_to_keep(input, aside, &found);
    if (!reason) {
        if (unlink(aside) == 0) return CLI_OK;
        found = errno;
        reason = "the input could not be removed";
    }
    number = move_name(aside, input->path);
    if (number == 0) return fail(input, output, reason, found);
    char name[CLI_NAME_ROOM];
    snprintf(said, sizeof(said), "the input could not be removed, and is now called %s",
             cli_clean_name(aside, name));
    return fail(input, output, said, number);
}

int cli_remove_input(const cli_input *input, const char *output) {
    sigset_t before; /* the input must not stay under the other name */
    cli_signals_hold(&before);
    int result = remove_held(input, output);
    cli_signals_resume(&before);
    return result;
}
