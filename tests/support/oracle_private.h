/* oracle_private.h - what the files of the oracle share: how far reading has come, and words for reading
 * numbers and for refusing. Each oracle_*.c reads one section of docs/format.md. */
#ifndef FP_TESTS_ORACLE_PRIVATE_H
#define FP_TESTS_ORACLE_PRIVATE_H

#define XXH_INLINE_ALL
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct dictionary {
    uint32_t bits, slots, tokens, longest;
    uint64_t offset, block_size;
    uint8_t (*token)[64];
    uint8_t *length; /* of every slot, uncovered ones included */
    uint8_t *covered;
    uint8_t *used;
} dictionary;

typedef struct block {
    uint64_t offset, block_size, rows, decoded_bytes, dictionary;
} block;

typedef struct reading {
    const uint8_t *data;
    uint64_t size;
    uint64_t alignment;
    int may_be_cold; /* by the features of the file header */
    dictionary *dictionaries;
    block *chunks;
    oracle_column *out;
} reading;

static inline uint64_t little(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static inline uint64_t bits_at(const uint8_t *section, uint64_t bit, uint32_t width) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++)
        value |= (uint64_t)(section[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
    return value;
}

static inline uint64_t hash(const uint8_t *data, uint64_t size) { return XXH3_64bits(data, size); }

static inline int all_zero(const uint8_t *data, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        if (data[i]) return 0;
    return 1;
}

static inline uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}
static inline uint64_t divide_up(uint64_t value, uint64_t unit) {
    return value / unit + (value % unit != 0);
}

static inline void *room(void *old, uint64_t count, size_t size) {
    void *memory = realloc(old, count ? count * size : 1);
    if (!memory) abort();
    return memory;
}

static inline uint64_t power_above(uint64_t count) {
    uint64_t power = 1;
    while (power < count) power *= 2;
    return power;
}

/* Room for `count` entries where there were `had`, all made by this function. There is room for a
 * power of two of them, so that files of many chunks are not copied for each. */
static inline void *more_room(void *old, uint64_t had, uint64_t count, size_t size) {
    if (old && power_above(count) == power_above(had)) return old;
    return room(old, power_above(count), size);
}

static inline int refuse(reading *r, uint64_t where, const char *why) {
    snprintf(r->out->why, sizeof r->out->why, "%s", why);
    r->out->where = where;
    return 0;
}

/* One rule of the page: `where` is the file offset it is about. */
#define RULE(condition, where, why)                                                                \
    do {                                                                                           \
        if (!(condition)) return refuse(r, where, why);                                            \
    } while (0)

/* Section 1. "Every block": kind has been seen; checks H, the size and the header's hash. */
int oracle_block_header(reading *r, uint64_t at, uint32_t header_size);

/* A section entry: where it must lie, given the end of what is before it; moves *end past it. */
int oracle_section(reading *r, uint64_t at, uint64_t entry, uint64_t *end, const uint8_t **bytes,
                   uint64_t *size);

/* The block ends at the first multiple of A at or past the end of its last section. */
int oracle_block_end(reading *r, uint64_t at, uint64_t end);

/* The blocks: sections 2, 3 and 4. */
int oracle_dictionary_block(reading *r, uint64_t at);
int oracle_chunk_block(reading *r, uint64_t at);
int oracle_footer_block(reading *r, uint64_t at);

#endif
