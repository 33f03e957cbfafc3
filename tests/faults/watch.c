/* watch.c - what a command reads of its files.
 *
 * The linker sends the command's calls through these (--wrap), so that this works with every compiler
 * and sanitizer. At the end, the file that FASTPAIR_WATCH names gets a line for each file that was
 * opened, and how many bytes were read with read and pread, how many were mapped, and how many pages
 * of mapped files were touched. The trick: files are mapped without the right to read them, and the
 * handler of the fault gives it for one page. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_long read_bytes, mapped_bytes, pages;
static atomic_uintptr_t watched, watched_end;
static char opened[4096];
static atomic_uchar seen[1u << 16]; /* pages that were touched: threads may fault on one together */

static void give_page(int number, siginfo_t *info, void *context) {
    (void)context;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)info->si_addr / page * page;
    if (at < atomic_load(&watched) || at >= atomic_load(&watched_end)) {
        signal(number, SIG_DFL); /* the access is repeated, and ends the program */
        return;
    }
    uintptr_t i = (at - atomic_load(&watched)) / page;
    if (i < sizeof seen && !atomic_exchange(&seen[i], 1)) atomic_fetch_add(&pages, 1);
    mprotect((void *)at, page, PROT_READ);
}

__attribute__((destructor)) static void at_the_end(void) {
    const char *path = getenv("FASTPAIR_WATCH");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%sread %ld\nmapped %ld\npages %ld\n", opened, atomic_load(&read_bytes),
            atomic_load(&mapped_bytes), atomic_load(&pages));
    fclose(file);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = va_arg(arguments, unsigned); /* unused unless a file is created */
    va_end(arguments);
    size_t used = strlen(opened);
    snprintf(opened + used, sizeof opened - used, "opened %s\n", path);
    return __real_open(path, flags, mode);
}

ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size) {
    ssize_t got = __real_read(fd, data, size);
    if (got > 0) atomic_fetch_add(&read_bytes, got);
    return got;
}

ssize_t __real_pread(int fd, void *data, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t at) {
    ssize_t got = __real_pread(fd, data, size, at);
    if (got > 0) atomic_fetch_add(&read_bytes, got);
    return got;
}

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (fd < 0) return __real_mmap(at, size, protection, flags, fd, offset);
    void *data = __real_mmap(at, size, PROT_NONE, flags, fd, offset);
    struct sigaction action = {.sa_sigaction = give_page, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    atomic_store(&watched, (uintptr_t)data);
    atomic_store(&watched_end, (uintptr_t)data + size);
    atomic_fetch_add(&mapped_bytes, (long)size);
    return data;
}
