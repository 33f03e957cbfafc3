/* encode_hash.h - perfect hashes for the tables that kernels parse with. */
#ifndef FP_GPU_ENCODE_HASH_H
#define FP_GPU_ENCODE_HASH_H

#include "../memory.h"

#include "kernels/encode_params.h"

/* A key of a table, and what is found by it. */
typedef struct fp_encode_key {
    uint32_t from;  /* number of the node */
    uint32_t bytes; /* that come next */
    uint32_t to;    /* number of the node they lead to */
    uint32_t answer;
} fp_encode_key;

/* A hash that was found. The multipliers and slot_of are the caller's to release. */
typedef struct fp_encode_hash {
    fp_gpu_encode_hash at; /* without places */
    uint32_t buckets;
    uint16_t *multipliers; /* by bucket */
    uint32_t *slot_of;     /* by key */
} fp_encode_hash;

/* Finds a slot for each of `count` different keys. The same keys always get the same slots.
 * Statuses: OUT_OF_MEMORY; LIMIT if no factors do, which is as good as impossible. */
fastpair_status fp_encode_hash_open(const fp_encode_key *keys, uint32_t count,
                                    const fastpair_allocator *allocator, fp_encode_hash *hash,
                                    fastpair_error *error);
void fp_encode_hash_close(fp_encode_hash *hash, const fastpair_allocator *allocator);

/* The two hashes of a key: the first says its bucket, the second, times the bucket's multiplier, its
 * slot. Keys with the same first hash have different second ones. */
static inline void fp_encode_hashes(const fp_gpu_encode_hash *hash, uint32_t from, uint32_t bytes,
                                    uint32_t hashes[2]) {
    hashes[0] = bytes * hash->factors[0] + from * hash->factors[1];
    hashes[1] = hashes[0] + from * hash->factors[2];
}

static inline uint32_t fp_encode_slot(const fp_gpu_encode_hash *hash, uint32_t second,
                                      uint32_t multiplier) {
    return (uint32_t)((uint64_t)(second * multiplier) * hash->slots >> 32);
}

#endif
