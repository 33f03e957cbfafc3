/* files.c - which files a command reads and writes, so that it writes over none that it reads.
 *
 * In: the command line. Out: the identities of all inputs, of the dictionary and of standard
 * output, taken before anything is written; answers whether a file is one of them. Names do not
 * matter: hard links, symbolic links and other spellings have the same identity. Devices without
 * contents, such as terminals and /dev/null, may be read and written at once.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_fill_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* A block device is what it stands for, not the node that names it. */
static cli_identity identity_of(const struct stat *info) {
    if (S_ISBLK(info->st_mode)) return (cli_identity){.device = info->st_rdev};
    return (cli_identity){.device = info->st_dev, .file = info->st_ino};
}

static int compare(const void *a, const void *b) {
    const cli_identity *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return x->file < y->file ? -1 : x->file > y->file;
}

bool cli_same_file(const struct stat *a, const struct stat *b) {
    cli_identity x = identity_of(a), y = identity_of(b);
    return S_ISBLK(a->st_mode) == S_ISBLK(b->st_mode) && compare(&x, &y) == 0;
}

/* A path that cannot be looked at cannot be opened either, which is then said. */
static void add_input(cli_files *files, const char *path) {
    struct stat info;
    int failed = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &info) : stat(path, &info);
    if (failed || S_ISCHR(info.st_mode)) return;
    files->list[files->read++] = identity_of(&info);
}

bool cli_names_stdout(const char *path) {
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; path && i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(path, names[i]) == 0) return true;
    return path == NULL;
}

/* Whether anything of this command goes to standard output. */
static bool writes_stdout(const cli_options *options) {
    if (options->mode == CLI_MODE_TRAIN) return cli_names_stdout(options->train_output);
    if (options->mode != CLI_MODE_COMPRESS && options->mode != CLI_MODE_DECOMPRESS) return true;
    if (options->output) return cli_names_stdout(options->output);
    for (int i = 0; i < options->file_count; i++)
        if (strcmp(options->files[i], "-") == 0) return true;
    return options->to_stdout;
}

int cli_files_open(cli_files *files, const cli_options *options) {
    *files = (cli_files){0};
    /* Every input and the dictionary are read; at most one output per input is written. */
    files->list = malloc((2 * (size_t)options->file_count + 1) * sizeof(*files->list));
    if (!files->list) return cli_fail_errno(NULL, ENOMEM);
    for (int i = 0; i < options->file_count; i++) add_input(files, options->files[i]);
    if (options->dictionary && options->mode == CLI_MODE_COMPRESS)
        add_input(files, options->dictionary);
    qsort(files->list, files->read, sizeof(*files->list), compare);
    struct stat info;
    if (!writes_stdout(options) || fstat(STDOUT_FILENO, &info) != 0) return CLI_OK;
    if (!S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode)) return CLI_OK;
    if (cli_files_read(files, &info)) {
        cli_files_close(files);
        return cli_fail("standard output", "is both input and output; write to another file");
    }
    files->has_stdout = true;
    files->standard_output = identity_of(&info);
    return CLI_OK;
}

bool cli_files_read(const cli_files *files, const struct stat *info) {
    cli_identity wanted = identity_of(info);
    return !S_ISCHR(info->st_mode) &&
           bsearch(&wanted, files->list, files->read, sizeof(wanted), compare) != NULL;
}

bool cli_files_stdout(const cli_files *files, const struct stat *info) {
    cli_identity wanted = identity_of(info);
    return files->has_stdout && compare(&wanted, &files->standard_output) == 0;
}

bool cli_files_write_once(cli_files *files, const struct stat *info) {
    cli_identity wanted = identity_of(info);
    for (size_t i = 0; i < files->written; i++)
        if (compare(&wanted, &files->list[files->read + i]) == 0) return false;
    files->list[files->read + files->written++] = wanted;
    return true;
}

void cli_files_close(cli_files *files) {
    free(files->list);
    *files = (cli_files){0};
}
