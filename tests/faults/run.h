/* run.h - running the command with faults: files it works on, and what became of a run. */
#ifndef FP_TESTS_RUN_H
#define FP_TESTS_RUN_H

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The command, linked with wrap.c. */
static const char *command;

/* ---------------------------------------------------------------- files */

typedef struct bytes {
    char *data; /* NULL: there is no such file */
    size_t size;
} bytes;

static inline bytes load(const char *path) {
    bytes b = {0};
    FILE *file = fopen(path, "rb");
    if (!file) return b;
    b.data = malloc(1 << 20);
    if (!b.data) abort();
    b.size = fread(b.data, 1, (1 << 20) - 1, file);
    b.data[b.size] = 0;
    fclose(file);
    return b;
}

static inline void save(const char *path, const char *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) abort();
}

static inline int same(const bytes *a, const bytes *b) {
    if (!a->data || !b->data) return a->data == b->data;
    return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* Removes temporaries of the command; returns how many there were. */
static inline int remove_temporaries(void) {
    int found = 0;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' || length < 5 ||
            strcmp(entry->d_name + length - 4, ".tmp") != 0)
            continue;
        found++;
        unlink(entry->d_name);
    }
    if (folder) closedir(folder);
    return found;
}

/* ---------------------------------------------------------------- one run */

typedef struct run_result {
    int signal, code;
    int fired, leaked_descriptors, leaked_memory, leaked_on_gpu;
    bytes said; /* on stderr */
} run_result;

/* Runs the command with at most 12 words, standard input from a file, and these settings in its
 * environment; NULL ends both lists. */
static inline run_result run(const char *const *words, const char *input,
                             const char *const *settings) {
    run_result r = {0};
    int report[2];
    char *arguments[16] = {(char *)(uintptr_t)command};
    char *environment[12] = {
        (char *)(uintptr_t) "FASTPAIR_FAULT_REPORT=9",
        (char *)(uintptr_t) "ASAN_OPTIONS=exitcode=99:allocator_may_return_null=1",
        (char *)(uintptr_t) "UBSAN_OPTIONS=exitcode=99",
        (char *)(uintptr_t) "TSAN_OPTIONS=exitcode=99"};
    for (int i = 0; words[i]; i++) arguments[i + 1] = (char *)(uintptr_t)words[i];
    for (int i = 0; settings[i]; i++) environment[i + 4] = (char *)(uintptr_t)settings[i];
    if (pipe2(report, O_CLOEXEC)) abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, input ? input : "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, "stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, report[1], 9);
    pid_t child;
    if (posix_spawn(&child, command, &actions, NULL, arguments, environment)) abort();
    posix_spawn_file_actions_destroy(&actions);
    close(report[1]);
    int status;
    if (waitpid(child, &status, 0) != child) abort();
    for (char c; read(report[0], &c, 1) == 1;) {
        r.fired |= c == 'f';
        r.leaked_descriptors |= c == 'd';
        r.leaked_memory |= c == 'm';
        r.leaked_on_gpu |= c == 'g';
    }
    close(report[0]);
    r.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r.said = load("stderr");
    return r;
}

#endif
