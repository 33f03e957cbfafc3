/* classes.h - forged columns whose codes are in length classes of any width, with few tokens: what it takes thousands of
 * different words to train, and what no training makes, in a few kilobytes. For tests of assembled kernels. */
#ifndef FP_TESTS_CLASSES_H
#define FP_TESTS_CLASSES_H

#include "check.h"
#include "forge.h"

enum { CLASSES_MOST_TOKENS = 4096 };

typedef struct classes {
    uint32_t bits, longest, slots, hot;
    uint8_t length_of[1 << 16];          /* of codes that have a token */
    uint32_t codes[CLASSES_MOST_TOKENS]; /* those codes */
    uint32_t tokens;
} classes;

/* Codes of 1 to 16 bits, tokens of up to 8 or 16 bytes; a hot part from 9 bits on. Groups of codes are so large that a few lengths take more than half
 * of all codes, as they must for the width. */
static inline forge_dictionary classes_dictionary(classes *c, uint32_t bits, uint32_t longest,
                                                  int hot, uint64_t seed) {
    uint64_t state = seed;
    uint32_t shift = bits > 3 ? bits - 3 : 0, group = 1u << shift, next = 0, bytes = 0;
    forge_dictionary d = {.codec = 1, .bits = bits, .longest = longest, .order = 1, .shift = shift};
    uint8_t text[CLASSES_MOST_TOKENS * 16];
    memset(c, 0, sizeof *c);
    c->bits = bits, c->longest = longest;
    /* Of eight groups five to seven, or all if there are fewer: lengths ascend in each part, from 1 or 2 on. */
    uint32_t groups = 5 + (uint32_t)(check_random(&state) % 3), cold_from = hot ? 2 : 0;
    if (bits < 3) groups = 1u << bits;
    uint32_t shortest = 1 + (uint32_t)(check_random(&state) % 2);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t in_part = g < cold_from ? g : g - cold_from;
        uint32_t length = g + 1 == groups ? longest : shortest + in_part * longest / 8;
        uint32_t most = group < 64 ? group : 64,
                 count = 1 + (uint32_t)(check_random(&state) % most);
        if (hot && g == cold_from) d.hot = c->hot = g * group;
        next = g * group;
        uint8_t *run = forge_append(&d.section, NULL, 8);
        forge_put(run, next, 4), forge_put(run + 4, count - 1, 2), run[6] = (uint8_t)length;
        for (uint32_t i = 0; i < count; i++, next++) {
            for (uint32_t k = 0; k < length; k++) text[bytes++] = (uint8_t)check_random(&state);
            c->length_of[next] = (uint8_t)length;
            c->codes[c->tokens++] = next;
        }
        d.runs++;
    }
    forge_append(&d.section, text, bytes);
    d.slots = c->slots = next;
    d.tokens = c->tokens;
    return d;
}

/* So many random codes of the dictionary, in rows of up to 40 codes. */
static inline forge_chunk classes_chunk(const classes *c, uint32_t count, uint32_t batch,
                                        uint64_t seed) {
    uint64_t state = seed, rows = 0;
    uint32_t *codes = malloc(count * sizeof *codes), *lengths = calloc(count, sizeof *lengths);
    if (!codes || !lengths) abort();
    for (uint32_t i = 0; i < count; i++) {
        codes[i] = c->codes[check_random(&state) % c->tokens];
        lengths[rows] += c->length_of[codes[i]];
        rows += check_random(&state) % 40 == 0 || i + 1 == count;
    }
    forge_chunk chunk =
        forge_coded_chunk(codes, count, c->bits, c->length_of, batch, lengths, NULL, rows);
    free(codes), free(lengths);
    return chunk;
}

#endif
