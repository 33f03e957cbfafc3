/* matcher_build.c - finding places without collisions: the private part of matcher.c. In: hashes,
 * or the leaves of nodes. Out: a slot for each hash, a number for each node. Both are puzzles with
 * more places than pieces. The trick: what is hardest is placed first, large buckets of keys and
 * nodes with many leaves, and each is tried until it fits. Refuses equal hashes. */
#include "matcher_private.h"

#include <string.h>

/* ------------------------------------------------ slots */

/* Orders the items 0 .. count by size, largest first; items of one size stay as they were. Item i
 * has size starts[i+1] - starts[i]; sizes above `most` count as `most`. `places` has most + 2
 * entries. */
static void order_by_size(const uint32_t *starts, uint32_t count, uint32_t most, uint32_t *places,
                          uint32_t *order) {
    memset(places, 0, (most + 2) * sizeof *places);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = starts[i + 1] - starts[i];
        places[size < most ? most - size + 1 : 1]++;
    }
    for (uint32_t rank = 0; rank < most; rank++) places[rank + 1] += places[rank];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = starts[i + 1] - starts[i];
        order[places[size < most ? most - size : 0]++] = i;
    }
}

/* Looks for a multiplier that gives `count` members, the keys of one bucket, free slots; 0 if there
 * is none. A hash of 0 has slot 0 whatever the multiplier, and nothing else gets that slot. */
static uint32_t find_multiplier(const fp_keys *keys, const uint32_t *members, uint32_t count,
                                uint32_t shift, uint8_t *taken) {
    for (uint32_t attempt = 0; attempt < 0x8000; attempt++) {
        uint32_t multiplier = (attempt * 2 + 1) * 0x9e37u & 0xffff; /* each odd number once */
        uint32_t placed = 0;
        for (; placed < count; placed++) {
            uint64_t hash = keys->hashes[members[placed]];
            uint32_t slot = (uint32_t)(hash * multiplier >> shift);
            if (taken[slot] || (hash && !slot)) break;
            taken[slot] = 1;
            keys->slot_of[members[placed]] = slot;
        }
        if (placed == count) return multiplier;
        while (placed) taken[keys->slot_of[members[--placed]]] = 0;
    }
    return 0;
}

fastpair_status fp_slots_find(const fp_keys *keys, const fastpair_allocator *allocator,
                              fp_slots *slots, int *found, fastpair_error *error) {
    enum { LARGEST_BUCKET = 63 };
    const uint64_t *hashes = keys->hashes;
    const uint32_t count = keys->count;
    /* At most 95 % full: tables are small, and finding the last multipliers does not take long yet.
     * There are four slots per bucket: more multipliers would not be worth their bytes. */
    uint32_t bits = 3;
    while (20ull * (count + 1) > 19ull << bits) bits++;
    uint32_t buckets = 1u << (bits - 2), places[LARGEST_BUCKET + 2];
    slots->slot_shift = 64 - bits;
    slots->bucket_shift = 64 - bits + 2;
    uint64_t scratch_size = 4ull * (2 * buckets + 1 + count) + (1ull << bits);
    slots->multipliers = fp_allocate(allocator, buckets, sizeof *slots->multipliers);
    uint32_t *scratch = fp_allocate_zero(allocator, scratch_size, 1);
    if (!slots->multipliers || !scratch) {
        fp_release(allocator, slots->multipliers);
        slots->multipliers = NULL;
        fp_release(allocator, scratch);
        return fp_fail_memory(error, scratch_size + buckets * 2ull);
    }
    uint32_t *starts = scratch, *order = starts + buckets + 1, *members = order + buckets;
    uint8_t *taken = (uint8_t *)(members + count);

    /* Sorts the keys by bucket; `order` holds where each bucket is filled up to. */
    for (uint32_t i = 0; i < count; i++) starts[(hashes[i] >> slots->bucket_shift) + 1]++;
    for (uint32_t b = 0; b < buckets; b++) starts[b + 1] += starts[b];
    memcpy(order, starts, buckets * sizeof *order);
    for (uint32_t i = 0; i < count; i++) members[order[hashes[i] >> slots->bucket_shift]++] = i;

    order_by_size(starts, buckets, LARGEST_BUCKET, places, order);
    *found = 1;
    for (uint32_t i = 0; i < buckets && *found; i++) {
        uint32_t first = starts[order[i]], size = starts[order[i] + 1] - first;
        uint32_t multiplier =
            find_multiplier(keys, members + first, size, slots->slot_shift, taken);
        slots->multipliers[order[i]] = (uint16_t)multiplier;
        *found = multiplier != 0;
    }
    fp_release(allocator, scratch);
    return FASTPAIR_OK;
}

/* ------------------------------------------------ node numbers */

/* The 64 bits of a bitmap that begin at `bit`. */
static uint64_t bits_from(const uint64_t *bitmap, uint32_t bit) {
    uint32_t word = bit / 64, shift = bit % 64;
    return bitmap[word] >> shift | bitmap[word + 1] << 1 << (63 - shift);
}

static void set_bit(uint64_t *bitmap, uint32_t bit) { bitmap[bit / 64] |= 1ull << bit % 64; }

/* The first number from word * 64 on that no node has and for which the places of all leaves are
 * free. FP_NODE_LIMIT if there is none below it. 64 numbers are tried at once. */
static uint32_t find_number(const uint64_t *used, const uint64_t *taken, const uint8_t *bytes,
                            uint32_t count, uint32_t word) {
    for (; word < FP_NODE_LIMIT / 64; word++) {
        uint64_t unfit = used[word];
        for (uint32_t i = 0; i < count && ~unfit; i++)
            unfit |= bits_from(taken, word * 64 + bytes[i]);
        if (~unfit) return word * 64 + (uint32_t)__builtin_ctzll(~unfit);
    }
    return FP_NODE_LIMIT;
}

/* Why the limit suffices for a node of m leaves. A number is unfit if another node has it or if one
 * of m places is taken. At most 65,536 nodes have leaves, so at most 65,536 numbers are unfit for
 * the first reason. For the second there are two bounds:
 *   - 65,536 leaves, each with m numbers that would hit it: at most 65,536 * m numbers;
 *   - nodes placed before have at least m leaves, so there are at most 65,536 / m of them, and each
 *     makes fewer than 512 numbers unfit.
 * The smaller of the two is below 1,500,000. Nodes without leaves, at most 131,328, come last and
 * take any number. */
fastpair_status fp_number_nodes(const uint32_t *starts, const uint8_t *bytes, uint32_t nodes,
                                const fastpair_allocator *allocator, uint32_t *numbers,
                                fastpair_error *error) {
    const uint32_t words = FP_NODE_LIMIT / 64 + 256 / 64 + 1;
    uint32_t places[256 + 2];
    uint64_t *used = fp_allocate_zero(allocator, 2ull * words, sizeof *used);
    uint32_t *order = fp_allocate(allocator, nodes, sizeof *order);
    if (!used || !order) {
        fp_release(allocator, used);
        fp_release(allocator, order);
        return fp_fail_memory(error, 16ull * words + 4ull * nodes);
    }
    uint64_t *taken = used + words;
    order_by_size(starts, nodes, 256, places, order);
    uint32_t word = 0, last_size = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t node = order[i], first = starts[node], size = starts[node + 1] - first;
        /* A place that was too small for the last node of this size will hardly do: go on from
         * there. */
        if (size != last_size) word = 0;
        uint32_t number = find_number(used, taken, bytes + first, size, word);
        if (number == FP_NODE_LIMIT) number = find_number(used, taken, bytes + first, size, 0);
        set_bit(used, number);
        for (uint32_t leaf = first; leaf < first + size; leaf++)
            set_bit(taken, number + bytes[leaf]);
        numbers[node] = number;
        word = number / 64;
        last_size = size;
    }
    fp_release(allocator, used);
    fp_release(allocator, order);
    return FASTPAIR_OK;
}
