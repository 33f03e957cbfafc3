/* ranged.h - an image in memory that is read in ranges, and counts them. Reads fail, are short or lie on
 * demand. */
#ifndef FP_TESTS_RANGED_H
#define FP_TESTS_RANGED_H

#include "column_source.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum ranged_fault {
    RANGED_FAILS,
    RANGED_SHORT,
    RANGED_LIES,
    RANGED_CLAIMS_MORE
} ranged_fault;

typedef struct ranged {
    const uint8_t *data;
    uint64_t size;
    uint64_t fault_at; /* the request from which on `fault` happens, from 0; UINT64_MAX: none */
    uint64_t faults;   /* to so many requests */
    ranged_fault fault;
    uint32_t delay; /* microseconds that a request takes */
    uint32_t meet;  /* requests wait until so many were under way at once, 20 s at most */

    pthread_mutex_t lock; /* guards what follows */
    uint64_t requests, bytes;
    uint32_t under_way, most_under_way;
    uint64_t twice;  /* bytes that were asked for more than once */
    uint8_t *asked;  /* 1 for each byte that was asked for */
    int was_outside; /* a request for bytes that the file does not have */
} ranged;

static inline void ranged_start(ranged *r, const uint8_t *data, uint64_t size) {
    memset(r, 0, sizeof *r);
    r->data = data;
    r->size = size;
    r->fault_at = UINT64_MAX;
    pthread_mutex_init(&r->lock, NULL);
    r->asked = (uint8_t *)calloc(size + 1, 1);
    if (!r->asked) abort();
}

static inline void ranged_end(ranged *r) {
    free(r->asked);
    pthread_mutex_destroy(&r->lock);
}

static inline int64_t ranged_read(void *context, uint64_t offset, void *data, size_t size) {
    ranged *r = (ranged *)context;
    pthread_mutex_lock(&r->lock);
    uint64_t request = r->requests++;
    int goes_wrong = request >= r->fault_at && request - r->fault_at < r->faults;
    r->bytes += size;
    if (++r->under_way > r->most_under_way) r->most_under_way = r->under_way;
    int is_inside = offset <= r->size && size <= r->size - offset;
    if (!is_inside || !size) r->was_outside = 1;
    for (uint64_t i = offset; is_inside && i < offset + size; i++) {
        r->twice += r->asked[i];
        r->asked[i] = 1;
    }
    pthread_mutex_unlock(&r->lock);
    if (r->delay) usleep(r->delay);
    for (uint32_t i = 0, met = 0; i < 20000 && !met; i++) {
        pthread_mutex_lock(&r->lock);
        met = r->most_under_way >= r->meet;
        pthread_mutex_unlock(&r->lock);
        if (!met) usleep(1000);
    }
    int64_t got = (int64_t)size;
    if (!is_inside || (goes_wrong && r->fault == RANGED_FAILS)) {
        got = -EIO;
    } else {
        if (goes_wrong && r->fault == RANGED_SHORT) got = (int64_t)(size - 1 - request % size);
        if (goes_wrong && r->fault == RANGED_CLAIMS_MORE) got = (int64_t)size + 1;
        memcpy(data, r->data + offset, got < (int64_t)size ? (size_t)got : size);
        if (goes_wrong && r->fault == RANGED_LIES)
            for (size_t i = request * 31 % 64; i < size; i += 997) ((uint8_t *)data)[i] ^= 0x40;
    }
    pthread_mutex_lock(&r->lock);
    r->under_way--;
    pthread_mutex_unlock(&r->lock);
    return got;
}

/* Small sizes, so that small images are read in many ranges. */
static inline fp_source_sizes ranged_sizes(const uint8_t *image, uint64_t size, uint64_t random) {
    int is_wide = size >= 16 && fp_load32(image + 12) == 4096;
    fp_source_sizes sizes = {0};
    sizes.tail = FP_TRAILER + random % 5 * 300;
    sizes.head = is_wide ? 4096 : FP_FILE_HEADER + random / 5 % 3 * 1000;
    sizes.joined = random / 15 % 4 * 2500;
    return sizes;
}

static inline fastpair_range_source ranged_source(ranged *r, uint32_t requests) {
    fastpair_range_source source = {0};
    source.struct_size = sizeof source;
    source.read_at = ranged_read;
    source.context = r;
    source.file_size = r->size;
    source.requests = requests;
    return source;
}

#endif
