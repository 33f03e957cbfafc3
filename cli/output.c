/* output.c - output files that appear whole or not at all.
 *
 * In: a path and bytes. Out: the file, complete, on disk, under its name; or nothing. The trick:
 * bytes go to a temporary file beside the target (.NAME.PID.tmp, made with O_EXCL), which takes the
 * name only after fsync. A signal that ends the program removes it; kill -9 leaves the temporary,
 * never the name. Devices and pipes are written directly. Refuses to replace a file without -f,
 * even one that appeared meanwhile, and to write over the input.
 */
#define _GNU_SOURCE /* renameat2 */

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The temporary file a signal handler must remove; guarded by blocking those signals. */
static char *volatile temporary_to_remove;

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void remove_and_end(int signal_number) {
    char *path = temporary_to_remove;
    if (path) unlink(path);
    signal(signal_number, SIG_DFL); /* the shell should see what ended the program */
    raise(signal_number);
}

static void all_ending_signals(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(ending_signals) / sizeof(*ending_signals); i++)
        sigaddset(set, ending_signals[i]);
}

void cli_output_prepare(void) {
    signal(
        SIGPIPE,
        SIG_IGN); /* a closed pipe is a write error with a message, and so is a file size limit */
    signal(SIGXFSZ, SIG_IGN);
    struct sigaction action = {.sa_handler = remove_and_end}, old;
    all_ending_signals(&action.sa_mask);
    for (size_t i = 0; i < sizeof(ending_signals) / sizeof(*ending_signals); i++)
        if (sigaction(ending_signals[i], NULL, &old) == 0 &&
            old.sa_handler != SIG_IGN) /* as under nohup */
            sigaction(ending_signals[i], &action, NULL);
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ".NAME.PID.tmp" in the directory of `path`, NAME cut so that any file system takes it. */
static char *temporary_name(const char *path, int attempt) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t size = strlen(path) + 64;
    char *name = malloc(size);
    if (!name) return NULL;
    int used =
        snprintf(name, size, "%.*s.%.200s.%ld", (int)(base - path), path, base, (long)getpid());
    if (attempt > 0) used += snprintf(name + used, size - (size_t)used, "-%d", attempt);
    snprintf(name + used, size - (size_t)used, ".tmp");
    return name;
}

/* Opens the temporary with the ending signals held back, so that none falls between creating and
 * noting it. */
static int open_temporary(cli_output *output) {
    sigset_t ending, before;
    all_ending_signals(&ending);
    sigprocmask(SIG_BLOCK, &ending, &before);
    int number = 0;
    for (int attempt = 0; attempt < 100; attempt++) {
        output->temporary = temporary_name(output->path, attempt);
        number = ENOMEM;
        if (!output->temporary) break;
        output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        number = output->fd < 0 ? errno : 0;
        if (number == 0) {
            temporary_to_remove = output->temporary;
            break;
        }
        free(output->temporary);
        output->temporary = NULL;
        if (number != EEXIST) break;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return number;
}

static void forget_temporary(cli_output *output) {
    temporary_to_remove = NULL;
    free(output->temporary);
    output->temporary = NULL;
}

static int open_stdout(cli_output *output, const cli_input *input) {
    struct stat info;
    output->fd = STDOUT_FILENO;
    output->name = "standard output";
    if (fstat(output->fd, &info) != 0) return cli_fail_errno(output->name, errno);
    if (input && input->is_regular && S_ISREG(info.st_mode) && same_file(&info, &input->info))
        return cli_fail(input->name, "is also the output; write to another file");
    return CLI_OK;
}

int cli_output_open(cli_output *output, const char *path, bool force, const cli_input *input) {
    *output = (cli_output){.fd = -1, .path = path, .name = path, .replace = force};
    if (!path || strcmp(path, "-") == 0) {
        output->path = NULL;
        return open_stdout(output, input);
    }
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return cli_fail(path, "is a directory; give a file name");
        if (input && same_file(&info, &input->info))
            return cli_fail(path, "is both input and output; choose another name with -o");
        if (!S_ISREG(info.st_mode)) { /* a device or a pipe cannot be renamed over */
            output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
            return output->fd < 0 ? cli_fail_errno(path, errno) : CLI_OK;
        }
    }
    if (!force && lstat(path, &info) == 0) return cli_fail_errno(path, EEXIST);
    int number = open_temporary(output);
    return number == 0 ? CLI_OK : cli_fail_errno(path, number);
}

int cli_output_write(cli_output *output, const void *data, size_t size) {
    const char *bytes = data;
    while (size > 0) {
        ssize_t put = write(output->fd, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return output->error = errno;
        bytes += put;
        size -= (size_t)put;
        output->written += (uint64_t)put;
    }
    return 0;
}

static int sink_write(void *context, const void *data, size_t size) {
    return cli_output_write(context, data, size);
}

fastpair_sink cli_output_sink(cli_output *output) {
    return (fastpair_sink){.write = sink_write, .context = output};
}

/* Gives the file the owner (where allowed), mode and times of the input; without one, what umask
 * leaves. None of this is worth failing for, but a group that could not be kept must not get the
 * old group's rights. */
static void take_attributes(int fd, const cli_input *like) {
    if (!like || !like->is_regular || like->is_stdin) {
        mode_t mask = umask(0);
        umask(mask);
        (void)!fchmod(fd, 0666 & ~mask);
        return;
    }
    mode_t mode = like->info.st_mode & 0777;
    (void)!fchown(fd, like->info.st_uid, (gid_t)-1);
    if (fchown(fd, (uid_t)-1, like->info.st_gid) != 0) mode &= ~(mode_t)070;
    (void)!fchmod(fd, mode);
    struct timespec times[2] = {like->info.st_atim, like->info.st_mtim};
    (void)!futimens(fd, times);
}

/* Renames without replacing anything, by the best means there is. */
static int rename_if_free(const char *from, const char *to) {
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
#endif
    if (link(from, to) == 0) return unlink(from) == 0 ? 0 : errno;
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS) return errno;
    struct stat info; /* neither is known to this file system: look, then rename */
    if (lstat(to, &info) == 0) return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

/* The name itself is on disk only once the directory is. Not every file system lets a directory be
 * synced. */
static void sync_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(directory);
}

int cli_output_commit(cli_output *output, const cli_input *like) {
    int number = output->error;
    if (output->path && number == 0) {
        if (output->temporary) take_attributes(output->fd, like);
        if (fsync(output->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
            number = errno;
        if (close(output->fd) != 0 && number == 0) number = errno;
        output->fd = -1;
        if (number == 0 && output->temporary) {
            if (output->replace)
                number = rename(output->temporary, output->path) == 0 ? 0 : errno;
            else
                number = rename_if_free(output->temporary, output->path);
        }
    }
    if (number != 0) {
        cli_fail_errno(output->name, number);
        cli_output_discard(output);
        return CLI_FAILED;
    }
    if (output->temporary && output->path) {
        sync_directory(output->path);
        forget_temporary(output);
    }
    return CLI_OK;
}

int cli_output_settle(cli_output *output, const cli_options *options, const cli_input *input) {
    bool is_file = output->temporary != NULL;
    int result = cli_output_commit(output, input);
    if (result != CLI_OK || !options->remove_input || input->is_stdin) return result;
    if (!is_file) {
        cli_note(options, "%s is kept: --rm needs an output file", input->name);
        return CLI_OK;
    }
    struct stat now; /* bytes that came after they were read would be lost */
    if (fstat(input->fd, &now) != 0) return cli_fail_errno(input->name, errno);
    if (now.st_size != input->info.st_size || now.st_mtim.tv_sec != input->info.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != input->info.st_mtim.tv_nsec)
        return cli_fail(input->name,
                        "changed while it was read, so it is kept; run the command again");
    return unlink(input->path) == 0 ? CLI_OK : cli_fail_errno(input->name, errno);
}

void cli_output_discard(cli_output *output) {
    if (output->path && output->fd >= 0) close(output->fd);
    output->fd = -1;
    if (output->temporary) {
        unlink(output->temporary);
        forget_temporary(output);
    }
}
