/* guard.h - test buffers that notice any access outside them.
 *
 * Under AddressSanitizer a malloc of exactly the size is enough. Otherwise the buffer ends where an
 * unreadable page begins, so that reads and writes past it fault. The bytes before it hold a
 * pattern, which guard_free compares. */
#ifndef FP_TESTS_GUARD_H
#define FP_TESTS_GUARD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define GUARD_BY_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARD_BY_SANITIZER 1
#endif
#endif

#ifndef GUARD_BY_SANITIZER
#include <sys/mman.h>
#include <unistd.h>
#endif

typedef struct guard {
    uint8_t *data; /* `size` bytes */
    uint64_t size;
    uint8_t *pages;
    uint64_t page_bytes;
} guard;

#define GUARD_PATTERN 0xc7
#define GUARD_BEFORE  64u

#ifndef GUARD_BY_SANITIZER
/* Pages of the last buffers that were freed. Tests make millions of small buffers one after the
 * other, and mapping pages takes longer than what is done with them. All but large buffers have
 * equally many pages, of which a small one touches the last. */
enum { GUARD_KEPT = 4, GUARD_KEPT_BYTES = 4 << 20 };
static _Thread_local uint8_t *guard_kept[GUARD_KEPT];

static inline uint8_t *guard_map(uint64_t page_bytes, uint64_t page) {
    for (int i = 0; page_bytes == GUARD_KEPT_BYTES && i < GUARD_KEPT; i++) {
        uint8_t *pages = guard_kept[i];
        guard_kept[i] = NULL;
        if (pages) return pages;
    }
    uint8_t *pages =
        mmap(NULL, page_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page_bytes, page, PROT_NONE)) abort();
    return pages;
}

static inline void guard_unmap(uint8_t *pages, uint64_t page_bytes, uint64_t page) {
    for (int i = 0; page_bytes == GUARD_KEPT_BYTES && i < GUARD_KEPT; i++)
        if (!guard_kept[i]) {
            guard_kept[i] = pages;
            return;
        }
    munmap(pages, page_bytes + page);
}
#endif

/* `size` bytes of known garbage. Without a sanitizer, buffers whose size is no multiple of 16 begin
 * unaligned, as buffers of users may. Arrays of 4- and 8-byte entries keep their entries
 * aligned. */
static inline guard guard_make(uint64_t size) {
    guard g = {.size = size};
#ifdef GUARD_BY_SANITIZER
    g.data = malloc(size);
    if (!g.data) abort();
#else
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    g.page_bytes = (size + GUARD_BEFORE + page - 1) / page * page;
    if (g.page_bytes < GUARD_KEPT_BYTES) g.page_bytes = GUARD_KEPT_BYTES;
    g.pages = guard_map(g.page_bytes, page);
    g.data = g.pages + g.page_bytes - size;
    memset(g.data - GUARD_BEFORE, GUARD_PATTERN, GUARD_BEFORE);
#endif
    memset(g.data, 0x3c, size);
    return g;
}

/* Frees; returns 1 if nothing was written just before the buffer. */
static inline int guard_free(guard *g) {
    int intact = 1;
#ifdef GUARD_BY_SANITIZER
    free(g->data);
#else
    for (uint32_t i = 1; i <= GUARD_BEFORE; i++) intact &= g->data[-(int)i] == GUARD_PATTERN;
    guard_unmap(g->pages, g->page_bytes, (uint64_t)sysconf(_SC_PAGESIZE));
#endif
    memset(g, 0, sizeof *g);
    return intact;
}

#endif
