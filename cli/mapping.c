/* mapping.c - an input in memory without reading it, safe against a file that is cut meanwhile.
 *
 * In: a regular file. Out: its bytes, mapped. Bytes past the end of a file that another process has
 * cut, and bytes that a disk fails to give, make a read fault (SIGBUS). The trick: the handler puts
 * zero bytes in the place of all that follows and notes it, on whatever thread it is, so that every
 * reader goes on and its caller finds out. Faults anywhere else stay faults.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "mapping.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the handler knows of the one mapping. */
static atomic_uintptr_t mapped_start, mapped_end;
static atomic_bool was_cut;
static atomic_uintptr_t page_bytes;

static void fill_with_zeros(int number, siginfo_t *info, void *context) {
    (void)context;
    int before = errno;
    uintptr_t at = (uintptr_t)info->si_addr, end = atomic_load(&mapped_end);
    atomic_store(&was_cut, true);
    if (at >= atomic_load(&mapped_start) && at < end) {
        at -= at % atomic_load(&page_bytes);
        if (mmap((void *)at, end - at, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
            MAP_FAILED) {
            errno = before;
            return;
        }
    }
    signal(number, SIG_DFL); /* the access is repeated, and ends the program */
}

int cli_mapping_open(cli_mapping *mapping, const cli_input *input) {
    static const uint8_t nothing[1];
    *mapping = (cli_mapping){.input = input, .data = nothing};
    if (input->info.st_size == 0) return CLI_OK;
    size_t size = (size_t)input->info.st_size;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, input->fd, 0);
    if (data == MAP_FAILED) return cli_fail_errno(input->name, errno);
    mapping->data = data;
    mapping->size = size;
    atomic_store(&page_bytes, (uintptr_t)sysconf(_SC_PAGESIZE));
    atomic_store(&mapped_start, (uintptr_t)data);
    atomic_store(&mapped_end, (uintptr_t)data + size);
    atomic_store(&was_cut, false);
    struct sigaction action = {.sa_sigaction = fill_with_zeros, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    return CLI_OK;
}

int cli_mapping_check(const cli_mapping *mapping) {
    struct stat now;
    const cli_input *input = mapping->input;
    if (fstat(input->fd, &now) != 0) return cli_fail_errno(input->name, errno);
    /* The rest of the last page reads as zeros without a fault. */
    if (!atomic_load(&was_cut) && (uint64_t)now.st_size >= mapping->size) return CLI_OK;
    cli_fail(input->name, "was cut short, or could not be read, while it was open");
    return CLI_CORRUPT;
}

int cli_mapping_fail(const cli_mapping *mapping, const fastpair_error *error) {
    int result = cli_mapping_check(mapping);
    return result == CLI_OK ? cli_fail_status(mapping->input->name, error) : result;
}

void cli_mapping_close(cli_mapping *mapping) {
    if (mapping->size == 0) return;
    signal(SIGBUS, SIG_DFL);
    munmap((void *)(uintptr_t)mapping->data, mapping->size);
    mapping->size = 0;
}
