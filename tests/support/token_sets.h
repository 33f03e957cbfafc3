/* token_sets.h - sets of tokens and rows that are hard to parse, and a naive parse to compare with. */
#ifndef TEST_TOKEN_SETS_H
#define TEST_TOKEN_SETS_H

#include "check.h"
#include "parse.h"

#include <string.h>

/* ------------------------------------------------ the oracle: every length is looked up, longest
 * first */

#define ORACLE_SLOTS (1u << 18)

typedef struct oracle_state {
    const fp_tokens *tokens;
    uint32_t slots[ORACLE_SLOTS]; /* id + 1 */
} oracle_state;

static inline uint32_t oracle_slot(const uint8_t *bytes, uint32_t length) {
    uint64_t hash = length;
    for (uint32_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 29) % ORACLE_SLOTS;
}

static inline uint32_t *oracle_find(oracle_state *oracle, const uint8_t *bytes, uint32_t length) {
    for (uint32_t slot = oracle_slot(bytes, length);; slot = (slot + 1) % ORACLE_SLOTS) {
        uint32_t id = oracle->slots[slot] - 1;
        if (!oracle->slots[slot] || (oracle->tokens->lengths[id] == length &&
                                     memcmp(fp_token(oracle->tokens, id), bytes, length) == 0))
            return &oracle->slots[slot];
    }
}

static inline oracle_state *oracle_create(const fp_tokens *tokens) {
    oracle_state *made = calloc(1, sizeof *made);
    made->tokens = tokens;
    for (uint32_t id = 0; id < tokens->count; id++) {
        uint32_t *slot = oracle_find(made, fp_token(tokens, id), tokens->lengths[id]);
        if (!*slot) *slot = id + 1;
    }
    return made;
}

static inline uint64_t oracle_parse(oracle_state *oracle, const uint8_t *bytes,
                                    const uint64_t *offsets, uint64_t rows, uint16_t *ids) {
    uint64_t count = 0;
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t position = offsets[row]; position < offsets[row + 1];) {
            uint64_t left = offsets[row + 1] - position;
            uint32_t length = left < FP_MAX_TOKEN ? (uint32_t)left : FP_MAX_TOKEN;
            while (!*oracle_find(oracle, bytes + position, length)) length--;
            ids[count++] = (uint16_t)(*oracle_find(oracle, bytes + position, length) - 1);
            position += length;
        }
    return count;
}

/* ------------------------------------------------ token sets */

/* Adds a token unless it is there or does not fit. */
static inline void add(fp_tokens *tokens, oracle_state *known, const uint8_t *bytes,
                       uint32_t length, uint32_t limit) {
    if (length < 2 || length > tokens->max_token || tokens->count >= limit) return;
    uint32_t *slot = oracle_find(known, bytes, length);
    if (!*slot) *slot = fp_tokens_add(tokens, bytes, length) + 1;
}

/* The bytes tokens and rows are made of, so that they meet. */
typedef struct letters {
    uint32_t size;
    uint8_t bytes[256];
} letters;

static inline letters random_alphabet(uint64_t *random) {
    static const uint8_t hard[] = {0x00, 0xff, 0x01, 0x80, 0x7f, 'a'};
    letters made = {.size = 0};
    uint32_t sizes[] = {1, 2, 2, 3, 6, 20, 256};
    made.size = sizes[check_random(random) % 7];
    for (uint32_t i = 0; i < made.size; i++)
        made.bytes[i] = made.size == 256 ? (uint8_t)i
                        : i < sizeof hard && check_random(random) % 2
                            ? hard[check_random(random) % sizeof hard]
                            : (uint8_t)check_random(random);
    return made;
}

static inline void random_bytes(uint64_t *random, const letters *alphabet, uint8_t *bytes,
                                uint32_t length) {
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = alphabet->bytes[check_random(random) % alphabet->size];
}

/* Fills a set with a mix of: random strings, all prefixes of one string, strings that share 4, 8, 12
 * or more bytes, two tokens put together, and a token followed by zeroes or 0xff. */
static inline void fill_tokens(fp_tokens *tokens, uint64_t *random, const letters *alphabet,
                               uint32_t limit) {
    oracle_state *known = oracle_create(tokens);
    const uint32_t most = tokens->max_token < 16 ? 16 : tokens->max_token;
    uint8_t bytes[3 * FP_MAX_TOKEN], shared[FP_MAX_TOKEN];
    random_bytes(random, alphabet, shared, most);
    for (uint32_t attempt = 0; attempt < limit * 2 && tokens->count < limit; attempt++) {
        uint32_t kind = (uint32_t)(check_random(random) % 6),
                 length = (uint32_t)(check_random(random) % most) + 1;
        random_bytes(random, alphabet, bytes, most);
        if (kind == 1) {
            for (uint32_t prefix = 2; prefix <= length; prefix++)
                if (check_random(random) % 4) add(tokens, known, bytes, prefix, limit);
        } else if (kind == 2) {
            memcpy(bytes, shared, (check_random(random) % (most / 4 - 1) + 1) * 4);
        } else if (kind == 3) {
            uint32_t one = (uint32_t)(check_random(random) % tokens->count);
            uint32_t other = (uint32_t)(check_random(random) % tokens->count);
            memcpy(bytes, fp_token(tokens, one), tokens->lengths[one]);
            memcpy(bytes + tokens->lengths[one], fp_token(tokens, other), tokens->lengths[other]);
            length = (uint32_t)tokens->lengths[one] + tokens->lengths[other];
        } else if (kind == 4) {
            uint32_t one = (uint32_t)(check_random(random) % tokens->count);
            memcpy(bytes, fp_token(tokens, one), tokens->lengths[one]);
            memset(bytes + tokens->lengths[one], check_random(random) % 2 ? 0x00 : 0xff, 16);
            length = tokens->lengths[one] + (uint32_t)(check_random(random) % 4) + 1;
        }
        add(tokens, known, bytes, length, limit);
    }
    free(known);
}

/* ------------------------------------------------ rows */

typedef struct test_rows {
    uint8_t *bytes; /* with nothing but FP_SLACK bytes past the last row */
    uint64_t *offsets;
    uint64_t rows;
} test_rows;

/* Rows made of tokens and random bytes, cut anywhere, with runs of empty ones; `base` bytes lie
 * before the first. What follows the last row continues it, so that a match that crosses its end
 * would show. */
static inline test_rows make_rows(uint64_t *random, const fp_tokens *tokens,
                                  const letters *alphabet, uint64_t size, uint64_t mean_row,
                                  uint64_t base) {
    test_rows made = {malloc(base + size + FP_SLACK), malloc((size + 64) * 2 * sizeof(uint64_t)),
                      0};
    for (uint64_t filled = 0; filled < base + size + FP_SLACK;) {
        uint8_t piece[FP_MAX_TOKEN];
        uint32_t length = (uint32_t)(check_random(random) % 3) + 1;
        random_bytes(random, alphabet, piece, length);
        if (check_random(random) % 4) {
            uint32_t id = (uint32_t)(check_random(random) % tokens->count);
            if (check_random(random) % 2 && tokens->count > 256)
                id = 256 + (uint32_t)(check_random(random) % (tokens->count - 256));
            length = tokens->lengths[id];
            memcpy(piece, fp_token(tokens, id), length);
        }
        for (uint32_t i = 0; i < length && filled < base + size + FP_SLACK; i++)
            made.bytes[filled++] = piece[i];
    }
    made.offsets[0] = base;
    while (made.offsets[made.rows] < base + size && made.rows < size + 32) {
        uint64_t length = check_random(random) % 8 ? check_random(random) % (mean_row * 2 + 1) : 0;
        uint64_t left = base + size - made.offsets[made.rows];
        made.offsets[made.rows + 1] = made.offsets[made.rows] + (length < left ? length : left);
        made.rows++;
    }
    return made;
}

static inline void free_rows(test_rows *rows) {
    free(rows->bytes);
    free(rows->offsets);
}

#endif
