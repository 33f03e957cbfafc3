/* output.c - output files that appear whole or not at all.
 *
 * In: a path and bytes. Out: the file, complete, on disk, under its name; or nothing. The trick:
 * bytes go to a temporary file beside the target (.NAME.PID.tmp, made with O_EXCL), which takes the
 * name only after fsync. A signal that ends the program removes it; kill -9 leaves the temporary,
 * never the name. Devices and pipes are written directly. Refuses to replace a file without -f,
 * even one that appeared meanwhile; to write over anything that the command reads; and to write two
 * columns to one place.
 */
#define _GNU_SOURCE /* renameat2 */

#include "output.h"

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_private_name(const char *path, int attempt, char name[PATH_MAX]) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char number[16] = "";
    if (attempt > 0) snprintf(number, sizeof(number), "-%d", attempt);
    int size = snprintf(name, PATH_MAX, "%.*s.%.200s.%ld%s.tmp", (int)(base - path), path, base,
                        (long)getpid(), number);
    return size > 0 && size < PATH_MAX;
}

static int open_temporary(cli_output *output) {
    int number = EEXIST;
    for (int attempt = 0; attempt < 100 && number == EEXIST; attempt++) {
        number = ENAMETOOLONG;
        if (!cli_private_name(output->path, attempt, output->temporary)) break;
        output->fd = cli_temporary_create(output->temporary);
        number = output->fd < 0 ? errno : 0;
    }
    if (number != 0) output->temporary[0] = 0;
    return number;
}

static void forget_temporary(cli_output *output) {
    cli_temporary_release();
    output->temporary[0] = 0;
}

/* ---------------------------------------------------------------- messages */

/* What to do about a failed write: mostly, to write elsewhere. */
int cli_output_fail(const cli_output *output, int number) {
    const char *elsewhere = output->options->mode == CLI_MODE_TRAIN    ? "name another file"
                            : output->options->mode == CLI_MODE_SEARCH ? "write elsewhere"
                                                                       : "write elsewhere with -o";
    const char *remedy = NULL;
    switch (number) {
    case ENOSPC: remedy = "free some space, or "; break;
    case EDQUOT: remedy = "your quota is used up: free some space, or "; break;
    case EFBIG: remedy = "a limit on the size of files was met: raise it (ulimit -f), or "; break;
    case EEXIST: remedy = "use -f to overwrite it, or "; break;
    case EACCES:
    case EPERM:
    case EROFS: remedy = "check the permissions, or "; break;
    default: return cli_fail_errno(output->name, number);
    }
    return cli_fail(output->name, "%s; %s%s", strerror(number), remedy, elsewhere);
}

/* Whether the command reads what is there now, or writes it as standard output; says so. */
static bool is_in_use(const cli_output *output, const struct stat *info) {
    const cli_files *known = output->options->known;
    bool is_read =
        (output->input && !S_ISCHR(info->st_mode) && cli_same_file(info, &output->input->info)) ||
        cli_files_read(known, info);
    if (is_read)
        cli_fail(output->name, "is both input and output; %s",
                 output->options->mode == CLI_MODE_TRAIN ? "name another file"
                                                         : "choose another name with -o");
    else if (output->path && cli_files_stdout(known, info)) {
        is_read = true;
        cli_fail(output->name, "is also standard output, to which another column goes");
    }
    return is_read;
}

/* ---------------------------------------------------------------- opening */

/* Two columns one after the other cannot be read again. */
static int refuse_second_column(const cli_output *output, const struct stat *info) {
    if (output->options->mode != CLI_MODE_COMPRESS ||
        cli_files_write_once(output->options->known, info))
        return CLI_OK;
    return cli_fail(output->name, "got a column already; a compressed file holds one column");
}

/* The same for a file that got one from another command, as far as can be told. */
static int refuse_appending(const cli_output *output, const struct stat *info) {
    if (output->options->mode != CLI_MODE_COMPRESS || output->options->force) return CLI_OK;
    int flags = fcntl(output->fd, F_GETFL);
    off_t at = flags >= 0 && flags & O_APPEND ? info->st_size : lseek(output->fd, 0, SEEK_CUR);
    if (!S_ISREG(info->st_mode) || at <= 0) return CLI_OK;
    return cli_fail(output->name,
                    "%lld bytes are there already, and a compressed file holds one column; use -f "
                    "to write after them",
                    (long long)at);
}

static int open_stdout(cli_output *output) {
    struct stat info;
    output->path = NULL;
    output->fd = STDOUT_FILENO;
    output->name = "standard output";
    if (fstat(output->fd, &info) != 0) return cli_fail_errno(output->name, errno);
    if (S_ISREG(info.st_mode) && is_in_use(output, &info)) return CLI_FAILED;
    return refuse_second_column(output, &info) == CLI_OK ? refuse_appending(output, &info)
                                                         : CLI_FAILED;
}

/* A device or a pipe, which cannot be renamed over. Nothing else may have taken its place. */
static int open_device(cli_output *output, const struct stat *seen) {
    struct stat info;
    if (S_ISBLK(seen->st_mode) && !output->options->force)
        return cli_fail(output->name, "is a block device; use -f to overwrite what is on it");
    if (refuse_second_column(output, seen) != CLI_OK) return CLI_FAILED;
    output->fd = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (output->fd < 0) return cli_output_fail(output, errno);
    int result = fstat(output->fd, &info) == 0 ? CLI_OK : cli_fail_errno(output->name, errno);
    if (result == CLI_OK && !cli_same_file(&info, seen))
        result = cli_fail(output->name, "was replaced by another file just now; try again");
    if (result != CLI_OK) cli_output_discard(output);
    return result;
}

int cli_output_open(cli_output *output, const char *path, const cli_options *options,
                    const cli_input *input) {
    *output =
        (cli_output){.fd = -1, .path = path, .name = path, .options = options, .input = input};
    if (cli_names_stdout(path)) return open_stdout(output);
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return cli_fail(path, "is a directory; give a file name");
        if (is_in_use(output, &info)) return CLI_FAILED;
        if (!S_ISREG(info.st_mode)) return open_device(output, &info);
    }
    if (!options->force && lstat(path, &info) == 0) return cli_output_fail(output, EEXIST);
    int number = open_temporary(output);
    if (number != 0) return cli_output_fail(output, number);
    output->is_file = true;
    return CLI_OK;
}

bool cli_output_removes_input(const cli_output *output) {
    const cli_input *input = output->input;
    if (!output->options->remove_input || !output->is_file || !input) return false;
    /* Names in /dev and /proc, such as /dev/stdin, are not the files' own. */
    return input->is_regular && !input->is_stdin && strncmp(input->path, "/dev/", 5) != 0 &&
           strncmp(input->path, "/proc/", 6) != 0;
}

/* ---------------------------------------------------------------- writing */

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

/* ---------------------------------------------------------------- becoming final */

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

/* The name itself is on disk only once the directory is. Returns an errno value; directories that
 * cannot be read, and file systems that sync no directories, are no failure. */
static int sync_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!directory) return ENOMEM;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), number = fd < 0 ? errno : 0;
    if (fd >= 0) {
        if (fsync(fd) != 0) number = errno;
        close(fd);
    }
    free(directory);
    return number == EACCES || number == EINVAL || number == EROFS || number == ENOTSUP ? 0
                                                                                        : number;
}

/* Gives a complete temporary its name, unless that is now a file which the command reads. CLI_OK,
 * or CLI_FAILED after saying why. */
static int take_name(cli_output *output) {
    struct stat info;
    if (output->options->force && stat(output->path, &info) == 0 && is_in_use(output, &info))
        return CLI_FAILED;
    int number = !output->options->force ? rename_if_free(output->temporary, output->path)
                 : rename(output->temporary, output->path) == 0 ? 0
                                                                : errno;
    if (number != 0) return cli_output_fail(output, number);
    forget_temporary(output);
    output->unsynced = sync_directory(output->path);
    return CLI_OK;
}

static int commit(cli_output *output) {
    int number = output->error;
    if (output->path && number == 0) {
        if (output->is_file) take_attributes(output->fd, output->input);
        if (fsync(output->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
            number = errno;
        if (close(output->fd) != 0 && number == 0) number = errno;
        output->fd = -1;
    }
    int result = number == 0 ? CLI_OK : cli_output_fail(output, number);
    if (result == CLI_OK && output->path && output->is_file) result = take_name(output);
    if (result != CLI_OK) cli_output_discard(output);
    return result;
}

int cli_output_settle(cli_output *output) {
    const cli_input *input = output->input;
    int result = commit(output);
    if (result != CLI_OK || !output->options->remove_input || !input || input->is_stdin)
        return result;
    if (!cli_output_removes_input(output)) {
        cli_note(output->options, "%s is kept: --rm needs %s", input->name,
                 output->is_file ? "an input that is a file" : "an output file");
        return CLI_OK;
    }
    if (output->unsynced)
        return cli_fail(input->name, "is kept, as the name of its output may not be on disk: %s",
                        strerror(output->unsynced));
    return cli_remove_input(input, output->name);
}

int cli_output_restart(cli_output *output) {
    if (!output->written) return 0;
    if (!output->is_file) return ESPIPE;
    if (ftruncate(output->fd, 0) || lseek(output->fd, 0, SEEK_SET) < 0) return errno;
    output->written = 0;
    return 0;
}

void cli_output_discard(cli_output *output) {
    if (output->path && output->fd >= 0) close(output->fd);
    output->fd = -1;
    if (output->temporary[0]) {
        unlink(output->temporary);
        forget_temporary(output);
    }
}
