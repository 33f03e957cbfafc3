/* encode_hash.c - finds the perfect hashes of encode_hash.h. In: keys. Out: a multiplier per bucket,
 * and each key's slot. The trick: buckets with most keys look for free slots first, while there are
 * many; the last ones have a single key, for which any free slot will do. So nine slots of ten can be
 * in use. Refuses nothing but a lack of memory, and keys that a thousand pairs of factors do not
 * separate. */
#include "encode_hash.h"

#include <string.h>

/* Keys per bucket, at most on average. */
#define BUCKET_KEYS 3u
/* Factors that are tried before it gives up. */
#define ATTEMPTS 1000u

/* What is known while slots are being found. */
typedef struct search {
    const fp_encode_key *keys;
    uint32_t count;
    uint32_t largest;   /* bucket: its keys */
    uint32_t *starts;   /* by bucket, and one more: where its keys begin in `members` */
    uint32_t *members;  /* keys, by bucket */
    uint32_t *seconds;  /* by key: its second hash */
    uint32_t *order;    /* buckets, the largest first */
    uint64_t *is_taken; /* a bit per slot */
    fp_encode_hash *hash;
} search;

static uint64_t next_random(uint64_t *state) {
    *state = (*state ^ *state >> 29) * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u;
    return *state ^ *state >> 32;
}

/* Sorts keys by bucket. */
static void fill_buckets(search *s) {
    const fp_gpu_encode_hash *at = &s->hash->at;
    uint32_t hashes[2];
    memset(s->starts, 0, (s->hash->buckets + 2ull) * sizeof *s->starts);
    for (uint32_t i = 0; i < s->count; i++) {
        fp_encode_hashes(at, s->keys[i].from, s->keys[i].bytes, hashes);
        s->seconds[i] = hashes[1];
        s->starts[(hashes[0] >> at->shift) + 2]++;
    }
    s->largest = 0;
    for (uint32_t b = 0; b < s->hash->buckets; b++) {
        if (s->starts[b + 2] > s->largest) s->largest = s->starts[b + 2];
        s->starts[b + 2] += s->starts[b + 1];
    }
    for (uint32_t i = 0; i < s->count; i++) {
        fp_encode_hashes(at, s->keys[i].from, s->keys[i].bytes, hashes);
        s->members[s->starts[(hashes[0] >> at->shift) + 1]++] = i;
    }
}

static uint32_t bucket_size(const search *s, uint32_t bucket) {
    return s->starts[bucket + 1] - s->starts[bucket];
}

/* Lists the buckets by size. */
static void order_buckets(search *s) {
    uint32_t listed = 0;
    for (uint32_t size = s->largest + 1; size-- > 0;)
        for (uint32_t b = 0; b < s->hash->buckets; b++)
            if (bucket_size(s, b) == size) s->order[listed++] = b;
}

/* Takes the slots of a bucket's keys with a multiplier; 0, and none taken, if one is not free. */
static int take_slots(search *s, uint32_t bucket, uint32_t multiplier) {
    for (uint32_t i = s->starts[bucket]; i < s->starts[bucket + 1]; i++) {
        const uint32_t key = s->members[i];
        const uint32_t slot = fp_encode_slot(&s->hash->at, s->seconds[key], multiplier);
        if (s->is_taken[slot / 64] >> slot % 64 & 1) {
            while (i-- > s->starts[bucket]) {
                const uint32_t taken = s->hash->slot_of[s->members[i]];
                s->is_taken[taken / 64] &= ~(1ull << taken % 64);
            }
            return 0;
        }
        s->is_taken[slot / 64] |= 1ull << slot % 64;
        s->hash->slot_of[key] = slot;
    }
    return 1;
}

/* Finds all multipliers, with the factors that are set. */
static int find_multipliers(search *s) {
    memset(s->is_taken, 0, (s->hash->at.slots / 64 + 1ull) * sizeof *s->is_taken);
    for (uint32_t i = 0; i < s->hash->buckets; i++) {
        const uint32_t bucket = s->order[i];
        uint32_t multiplier = 1;
        while (multiplier < 65536 && !take_slots(s, bucket, multiplier)) multiplier += 2;
        if (multiplier > 65535) return 0;
        s->hash->multipliers[bucket] = (uint16_t)multiplier;
    }
    return 1;
}

/* Tries factors until all keys have slots. Factors come from the keys, so nobody can make up a
 * dictionary for which they are always bad. */
static int find_hash(search *s) {
    fp_gpu_encode_hash *at = &s->hash->at;
    uint64_t random = s->count;
    for (uint32_t i = 0; i < s->count; i++) {
        random ^= (uint64_t)s->keys[i].from << 32 | s->keys[i].bytes;
        next_random(&random);
    }
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        for (uint32_t i = 0; i < 3; i++) at->factors[i] = (uint32_t)next_random(&random) | 1;
        fill_buckets(s);
        /* Buckets far above the average mean bad factors, and would take long. */
        if (s->largest > 24 * BUCKET_KEYS) continue;
        order_buckets(s);
        if (find_multipliers(s)) return 1;
    }
    return 0;
}

fastpair_status fp_encode_hash_open(const fp_encode_key *keys, uint32_t count,
                                    const fastpair_allocator *allocator, fp_encode_hash *hash,
                                    fastpair_error *error) {
    uint32_t bits = 1;
    while (BUCKET_KEYS << bits < count) bits++;
    *hash = (fp_encode_hash){.buckets = 1u << bits};
    hash->at.shift = 32 - bits;
    hash->at.slots = count + count / 8 + 1;
    const uint64_t words = 2ull * hash->buckets + 2 + 2ull * count;
    search s = {.keys = keys, .count = count, .hash = hash};
    hash->multipliers = fp_allocate(allocator, hash->buckets, sizeof *hash->multipliers);
    hash->slot_of = fp_allocate(allocator, count, sizeof *hash->slot_of);
    s.is_taken = fp_allocate(allocator, hash->at.slots / 64 + 1ull, sizeof *s.is_taken);
    s.starts = fp_allocate(allocator, words, sizeof *s.starts);
    fastpair_status status = FASTPAIR_OK;
    if (!hash->multipliers || !hash->slot_of || !s.is_taken || !s.starts) {
        status = fp_fail_memory(error, words * sizeof *s.starts);
    } else {
        s.order = s.starts + hash->buckets + 2;
        s.members = s.order + hash->buckets;
        s.seconds = s.members + count;
        if (!find_hash(&s))
            status = fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                             "no hash separates these tokens; train with another seed");
    }
    fp_release(allocator, s.is_taken);
    fp_release(allocator, s.starts);
    if (status) fp_encode_hash_close(hash, allocator);
    return status;
}

void fp_encode_hash_close(fp_encode_hash *hash, const fastpair_allocator *allocator) {
    fp_release(allocator, hash->multipliers);
    fp_release(allocator, hash->slot_of);
    *hash = (fp_encode_hash){0};
}
