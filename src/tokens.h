/* tokens.h - what training produces: a list of tokens, before they are given code numbers.
 *
 * A token is 1..16 bytes. Its place in the list is its *id*; the number it gets in a file is its *code*
 * (dict.h). Ids 0..255 are always the 256 single bytes, in order, so every byte string can be parsed. */
#ifndef FP_TOKENS_H
#define FP_TOKENS_H

#include "memory.h"

#define FP_MAX_TOKEN  16u
#define FP_MAX_TOKENS 65536u

typedef struct fp_tokens {
    uint32_t count;       /* 256..65536 */
    uint32_t max_token;   /* 8 or 16: no token is longer */
    uint8_t (*bytes)[16]; /* FP_MAX_TOKENS entries are allocated; zero-padded to 16 bytes */
    uint8_t *lengths;     /* FP_MAX_TOKENS entries are allocated */
} fp_tokens;

/* Allocates the arrays and puts in the 256 single bytes. */
fastpair_status fp_tokens_create(fp_tokens *tokens, uint32_t max_token,
                                 const fastpair_allocator *allocator, fastpair_error *error);
void fp_tokens_free(fp_tokens *tokens, const fastpair_allocator *allocator);

/* Appends a token and returns its id. The caller has checked that there is room. */
uint32_t fp_tokens_add(fp_tokens *tokens, const uint8_t *bytes, uint32_t length);

/* ------------------------------------------------ room for tokens in a class-ordered code space
 *
 * Codes are numbered by token length, every length class rounded up to whole groups of 2^shift codes
 * (docs/format.md, 2.1). So whether one more token fits depends on its length; trainers ask here. */
typedef struct fp_room {
    uint32_t shift;
    uint32_t groups_free;
    uint32_t in_class[FP_MAX_TOKEN + 1]; /* tokens of each length so far */
} fp_room;

/* The group size used for a code width: table[code >> shift] stays within 256 entries up to 14 bits and
 * 1024 above, where larger groups would waste codes. */
static inline uint32_t fp_class_shift(uint32_t code_bits) {
    return code_bits <= 8 ? 0 : code_bits <= 14 ? code_bits - 8 : 6;
}

/* Room for 2^code_bits codes less what the 256 single bytes take. `hot` reserves one group a length, which is
 * what splitting every class into a hot and a cold run can cost. */
static inline fp_room fp_room_for(uint32_t code_bits, uint32_t max_token, int hot) {
    fp_room room = {.shift = fp_class_shift(code_bits)};
    room.groups_free =
        (1u << (code_bits - room.shift)) - (256u >> room.shift) - (hot ? max_token : 0);
    room.in_class[1] = 256;
    return room;
}

static inline int fp_room_has(const fp_room *room, uint32_t length) {
    return room->groups_free > 0 || (room->in_class[length] & ((1u << room->shift) - 1)) != 0;
}

static inline void fp_room_take(fp_room *room, uint32_t length) {
    if ((room->in_class[length]++ & ((1u << room->shift) - 1)) == 0) room->groups_free--;
}

/* No token of any length 2..max_token fits any more. */
static inline int fp_room_full(const fp_room *room, uint32_t max_token) {
    if (room->groups_free) return 0;
    for (uint32_t length = 2; length <= max_token; length++)
        if (fp_room_has(room, length)) return 0;
    return 1;
}

#endif
