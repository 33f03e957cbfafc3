/* pair_table.h - counts of token pairs, private to OnPair training.
 *
 * In: pairs of ids. Out: how often each was seen, up to 255. The trick: a slot is four bytes, 24
 * bits of a one-to-one mix of the pair and its count. A pair lies in one of a few slots from its
 * home slot on, so two pairs with the same home never share the 24 bits. Refuses nothing: a pair
 * that finds no free slot takes the place of another, because among so many pairs none is worth
 * much. */
#ifndef FP_PAIR_TABLE_H
#define FP_PAIR_TABLE_H

#include "memory.h"

#define FP_PAIR_COUNT_MAX 255u
#define FP_PAIR_PROBES    4u /* slots in which a pair may lie */
/* Slots are a power of two, about as many as there are pairs in the sample, within limits. */
#define FP_PAIR_BITS_MIN 12u
#define FP_PAIR_BITS_MAX 21u

typedef struct fp_pair_table {
    uint32_t *slots; /* 24 bits of the mixed pair, then the count; a count of 0 marks a free slot */
    uint32_t mask;
} fp_pair_table;

/* The size for a sample. */
static inline fp_pair_table fp_pair_table_for(uint64_t sample_bytes) {
    uint32_t bits = FP_PAIR_BITS_MIN;
    while (bits < FP_PAIR_BITS_MAX && 1ull << bits < sample_bytes / 4) bits++;
    return (fp_pair_table){.mask = (1u << bits) - 1};
}

static inline uint64_t fp_pair_table_slots(const fp_pair_table *table) {
    return table->mask + 1ull + FP_PAIR_PROBES;
}

static inline uint32_t fp_pair_mix(uint32_t first, uint32_t second) {
    uint32_t x = (first << 16 | second) * 0x9e3779b1u;
    x = (x ^ (x >> 15)) * 0x85ebca77u;
    return x ^ (x >> 13);
}

static inline void fp_pair_prefetch(const fp_pair_table *table, uint32_t pair) {
    __builtin_prefetch(&table->slots[pair & table->mask]);
}

/* The slot of a mixed pair, with its count one higher. */
static inline uint32_t *fp_pair_count(fp_pair_table *table, uint32_t pair, int *is_new) {
    uint32_t *home = &table->slots[pair & table->mask], *slot = home;
    for (uint32_t i = 0; i < FP_PAIR_PROBES; i++) {
        if (!(home[i] & FP_PAIR_COUNT_MAX)) {
            slot = &home[i];
            break;
        }
        if (home[i] >> 8 == pair >> 8) {
            if ((home[i] & FP_PAIR_COUNT_MAX) < FP_PAIR_COUNT_MAX) home[i]++;
            *is_new = 0;
            return &home[i];
        }
    }
    *slot = (pair & ~FP_PAIR_COUNT_MAX) | 1;
    *is_new = 1;
    return slot;
}

#endif
