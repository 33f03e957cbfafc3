/* memory.c - memory of exported arrays. Fresh memory costs more than decoding into it: the kernel clears
 * page after page when they are first touched. So large blocks are in huge pages, and blocks that
 * consumers release are kept for the next array, up to some limit. The kernel may take their pages back
 * at any time (MADV_FREE); a block that it left alone is used again without a page fault.
 *
 * Arrays are released in any thread, without the interpreter's lock. */
#include "binding.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Before the memory of every block, which so is aligned to 64 bytes in large ones. */
typedef struct Header {
    /* Of the whole mapping; 0: from malloc. */
    size_t mapped;
    char padding[56];
} Header;

#define LARGE      ((size_t)1 << 20)
#define HUGE_PAGE  ((size_t)2 << 20)
#define MOST_KEPT  ((size_t)2 << 30)
#define MOST_SLOTS 512

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer must see every block's bounds and end. */
#define SMALLEST_KEPT SIZE_MAX
#else
#define SMALLEST_KEPT LARGE
#endif

/* Released blocks, the oldest first. The lock is held for some looks at this list and never for a call
 * of the kernel: whoever finds it taken waits, since fresh pages would cost far more. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Header *kept[MOST_SLOTS];
static size_t kept_count, kept_bytes;

/* Takes block i out. */
static Header *take_out(size_t i) {
    Header *block = kept[i];
    kept_bytes -= block->mapped;
    kept_count--;
    for (; i < kept_count; i++) kept[i] = kept[i + 1];
    return block;
}

/* The kept block that fits best, or NULL. */
static Header *reuse(size_t need) {
    pthread_mutex_lock(&lock);
    size_t best = MOST_SLOTS;
    for (size_t i = 0; i < kept_count; i++) {
        size_t size = kept[i]->mapped;
        if (size < need || size > need + need / 2 + 2 * HUGE_PAGE) continue;
        if (best == MOST_SLOTS || size < kept[best]->mapped) best = i;
    }
    Header *block = best < MOST_SLOTS ? take_out(best) : NULL;
    pthread_mutex_unlock(&lock);
    return block;
}

static Header *map(size_t need) {
    /* A little more, to begin at a huge page; what is too much goes back. */
    char *memory = mmap(NULL, need + HUGE_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(memory, before);
    if (HUGE_PAGE - before) munmap(memory + before + need, HUGE_PAGE - before);
    Header *block = (Header *)(memory + before);
    madvise(block, need, MADV_HUGEPAGE);
    block->mapped = need;
    return block;
}

static void *allocate(void *context, size_t size) {
    (void)context;
    if (size > SIZE_MAX / 2) return NULL;
    Header *block;
    if (size < SMALLEST_KEPT) {
        block = malloc(sizeof *block + size);
        if (!block) return NULL;
        block->mapped = 0;
        return block + 1;
    }
    size_t need = (sizeof *block + size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    block = reuse(need);
    if (!block) block = map(need);
    return block ? block + 1 : NULL;
}

static void release(void *context, void *memory) {
    (void)context;
    Header *block = (Header *)memory - 1;
    size_t size = block->mapped;
    if (!size) {
        free(block);
        return;
    }
    Header *gone[MOST_SLOTS + 1];
    size_t gone_count = 0;
    if (size > MOST_KEPT) {
        munmap(block, size);
        return;
    }
    /* But for the first huge page, which has the header: a part of it would split it into small
     * pages, and each of them is marked as written anew by the next decode: a quarter of its time. */
    if (size > HUGE_PAGE) madvise((char *)block + HUGE_PAGE, size - HUGE_PAGE, MADV_FREE);
    pthread_mutex_lock(&lock);
    while (kept_count == MOST_SLOTS || kept_bytes + size > MOST_KEPT)
        gone[gone_count++] = take_out(0);
    kept[kept_count++] = block;
    kept_bytes += size;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < gone_count; i++) munmap(gone[i], gone[i]->mapped);
}

/* A child that was forked while another thread held the lock would wait for ever. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

int fpy_memory_open(void) { return pthread_atfork(before_fork, after_fork, after_fork); }

fastpair_allocator fpy_allocator(void) { return (fastpair_allocator){allocate, release, NULL}; }
