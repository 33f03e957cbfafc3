/* counting.h - an allocator for tests: counts live blocks and bytes, remembers the peak, and fails
 * on demand.
 *
 * Threads may share an allocator. Each block is preceded by its size, so that releases are counted
 * exactly. */
#ifndef FP_TESTS_COUNTING_H
#define FP_TESTS_COUNTING_H

#include "fastpair.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct counting {
    pthread_mutex_t lock;
    uint64_t calls;      /* allocations asked for so far */
    uint64_t fail_at;    /* the call that fails, from 0; UINT64_MAX: none */
    int fail_after_too;  /* and every later call */
    uint64_t live;       /* blocks not released */
    uint64_t live_bytes; /* bytes of these blocks */
    uint64_t peak_bytes;
    uint64_t limit_bytes; /* a single request above this fails; 0: none */
} counting;

#define COUNTING_HEAD 16u

static inline void *counting_allocate(void *context, size_t size) {
    counting *c = context;
    pthread_mutex_lock(&c->lock);
    uint64_t call = c->calls++;
    int refuse = call == c->fail_at || (c->fail_after_too && call > c->fail_at) ||
                 (c->limit_bytes && size > c->limit_bytes);
    uint8_t *block =
        refuse || size > SIZE_MAX - COUNTING_HEAD ? NULL : malloc(size + COUNTING_HEAD);
    if (block) {
        c->live++;
        c->live_bytes += size;
        if (c->live_bytes > c->peak_bytes) c->peak_bytes = c->live_bytes;
        uint64_t recorded = size;
        memcpy(block, &recorded, sizeof recorded);
        memset(block + COUNTING_HEAD, 0xdb,
               size < 4096 ? size : 4096); /* the library must not count on zeroes */
        block += COUNTING_HEAD;
    }
    pthread_mutex_unlock(&c->lock);
    return block;
}

static inline void counting_release(void *context, void *memory) {
    counting *c = context;
    uint8_t *block = (uint8_t *)memory - COUNTING_HEAD;
    uint64_t size;
    memcpy(&size, block, sizeof size);
    pthread_mutex_lock(&c->lock);
    c->live--;
    c->live_bytes -= size;
    pthread_mutex_unlock(&c->lock);
    free(block);
}

static inline void counting_start(counting *c) {
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->fail_at = UINT64_MAX;
}

static inline fastpair_allocator counting_hooks(counting *c) {
    return (fastpair_allocator){counting_allocate, counting_release, c};
}

#endif
