/* wrap.c - system calls of the command that fail when asked to.
 *
 * The linker sends the command's calls, and the library's, through these (--wrap), so that this
 * works with every compiler and sanitizer. FASTPAIR_FAULT is KIND:N:HOW: the N-th call of a kind,
 * counted from 0, fails with the errno HOW, or does half of its work ("half", for write and read),
 * or is interrupted ("interrupt"), or the process is killed in its place ("kill"). Or it is done,
 * but just before the process gets SIGTERM ("end"), a file called "taker" takes the name "rows"
 * ("swap"), or in.fpc is cut ("cut"). A byte on the descriptor FASTPAIR_FAULT_REPORT says that it
 * happened; others say at the end that descriptors ('d') or memory ('m') were not given back. */
#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls, live_blocks, live_descriptors;

typedef enum outcome { GO_ON, FAIL, HALF } outcome;

ssize_t __real_write(int fd, const void *data, size_t size);
int __real_rename(const char *from, const char *to);

static void report(char what) {
    const char *descriptor = getenv("FASTPAIR_FAULT_REPORT");
    if (descriptor) (void)!__real_write(atoi(descriptor), &what, 1);
}

/* What is to become of this call of a kind. */
static outcome decide(const char *kind) {
    const char *fault = getenv("FASTPAIR_FAULT");
    size_t length = strlen(kind);
    if (!fault || strncmp(fault, kind, length) != 0 || fault[length] != ':') return GO_ON;
    char *end;
    long chosen = strtol(fault + length + 1, &end, 10);
    if (atomic_fetch_add(&calls, 1) != chosen || *end != ':') return GO_ON;
    report('f');
    if (!strcmp(end + 1, "kill")) raise(SIGKILL);
    if (!strcmp(end + 1, "half")) return HALF;
    if (!strcmp(end + 1, "end") || !strcmp(end + 1, "swap") || !strcmp(end + 1, "cut")) {
        if (end[1] == 'e') kill(getpid(), SIGTERM);
        if (end[1] == 's') (void)!__real_rename("taker", "rows");
        if (end[1] == 'c') (void)!truncate("in.fpc", 100);
        return GO_ON;
    }
    errno = !strcmp(end + 1, "interrupt") ? EINTR : atoi(end + 1);
    return FAIL;
}

__attribute__((destructor)) static void at_the_end(void) {
    if (atomic_load(&live_descriptors) > 0) report('d');
    if (atomic_load(&live_blocks) != 0) report('m');
}

/* Takes the place of the library's own: a GPU can be asked for even if the kernels were not
 * compiled (fake_cuda.c). */
const void *fp_kernel_binary(void);
const void *fp_kernel_binary(void) { return "kernels"; }

/* ---------------------------------------------------------------- files */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = va_arg(arguments, unsigned); /* unused unless a file is created */
    va_end(arguments);
    if (decide("open")) return -1;
    int fd = __real_open(path, flags, mode);
    if (fd >= 0) atomic_fetch_add(&live_descriptors, 1);
    return fd;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    outcome now = decide("close"); /* closed in any case, as Linux does it */
    int number = errno, result = __real_close(fd);
    if (fd > 2 && result == 0) atomic_fetch_sub(&live_descriptors, 1);
    if (now == GO_ON) return result;
    errno = number;
    return -1;
}

ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size) {
    outcome now = decide("read");
    return now == FAIL ? -1 : __real_read(fd, data, now == HALF && size > 1 ? size / 2 : size);
}

ssize_t __real_pread(int fd, void *data, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t at) {
    outcome now = decide("pread");
    return now == FAIL ? -1 : __real_pread(fd, data, now == HALF && size > 1 ? size / 2 : size, at);
}

ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size) {
    outcome now = decide("write");
    return now == FAIL ? -1 : __real_write(fd, data, now == HALF && size > 1 ? size / 2 : size);
}

/* Calls that return 0, or -1 with errno. */
#define WRAP(kind, name, parameters, arguments)                                                    \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters { return decide(kind) ? -1 : __real_##name arguments; }
WRAP("fsync", fsync, (int fd), (fd))
WRAP("rename", rename, (const char *from, const char *to), (from, to))
WRAP("rename", renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
WRAP("rename", link, (const char *from, const char *to), (from, to))
WRAP("unlink", unlink, (const char *path), (path))
WRAP("stat", stat, (const char *path, struct stat *info), (path, info))
WRAP("stat", lstat, (const char *path, struct stat *info), (path, info))
WRAP("attributes", fchmod, (int fd, mode_t mode), (fd, mode))
WRAP("attributes", fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
WRAP("attributes", futimens, (int fd, const struct timespec times[2]), (fd, times))

/* FASTPAIR_FAULT_SIZE: files that are not empty say that they have so many bytes. */
int __real_fstat(int fd, struct stat *info);
int __wrap_fstat(int fd, struct stat *info);
int __wrap_fstat(int fd, struct stat *info) {
    const char *size = getenv("FASTPAIR_FAULT_SIZE");
    if (decide("stat") || __real_fstat(fd, info)) return -1;
    if (size && S_ISREG(info->st_mode) && info->st_size > 0) info->st_size = atoll(size);
    return 0;
}

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return decide("map") ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

/* ---------------------------------------------------------------- memory and threads */

static void *counted(void *memory) {
    if (memory) atomic_fetch_add(&live_blocks, 1);
    return memory;
}

#define WRAP_MEMORY(name, parameters, arguments)                                                   \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters {                                                               \
        return decide("memory") ? NULL : counted(__real_##name arguments);                         \
    }
WRAP_MEMORY(malloc, (size_t size), (size))
WRAP_MEMORY(calloc, (size_t count, size_t size), (count, size))
WRAP_MEMORY(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
WRAP_MEMORY(strdup, (const char *text), (text))
WRAP_MEMORY(strndup, (const char *text, size_t most), (text, most))

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
    if (decide("memory")) return NULL;
    void *moved = __real_realloc(memory, size);
    return memory ? moved : counted(moved);
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
    if (memory) atomic_fetch_sub(&live_blocks, 1);
    __real_free(memory);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context) {
    return decide("thread") ? errno : __real_pthread_create(thread, attributes, run, context);
}
