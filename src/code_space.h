/* code_space.h - how codes are shared out among tokens, and every constant that a GPU has a say in.
 *
 * In: a code width and a token limit. Out: how many tokens of which length fit. Codes are numbered
 * by token length: a *length class* is 2^shift consecutive codes whose tokens all have one length
 * (docs/format.md, 2.1). So whether one more token fits depends on its length; trainers ask
 * here. */
#ifndef FP_CODE_SPACE_H
#define FP_CODE_SPACE_H

#include "tokens.h"

/* ---------------------------------------------------------------- constants
 *
 * What follows shapes files for GPU decoding. CPU decoding is indifferent to all of it.
 * Measurements are in docs/lab/training.md.
 *
 * | constant            | decides                           | why this value                      |
 * |---------------------|-----------------------------------|-------------------------------------|
 * | CLASS_TABLE_BITS    | length classes of codes of up to  | table[code >> shift] has at most    |
 * | CLASS_TABLE_UP_TO   | CLASS_TABLE_UP_TO bits            | 256 entries                         |
 * | WIDE_CLASS_SHIFT    | length classes of wider codes     | the table has up to 1,024 entries;  |
 * |                     |                                   | larger classes would waste codes    |
 * | LONG_TABLE_BITS     | length classes of codes of        | 128 bytes are a word in each of the |
 * | LONG_TABLE_FROM     | LONG_TABLE_FROM to _UP_TO bits    | 32 banks: 32 reads of the table     |
 * | LONG_TABLE_UP_TO    | with tokens of up to 32 bytes     | never conflict                      |
 * | HOT_FROM_BITS       | from which width on training      | such dictionaries may be too large  |
 * | HOT_FROM_BITS_LONG  | leaves room for a hot part (_LONG | for shared memory                   |
 * |                     | with tokens of more than 8 bytes) |                                     |
 * | WHOLE_BYTES         | up to which size a dictionary is  | shared memory has some 220 KiB, and |
 * |                     | resident as a whole               | decoded output needs the rest       |
 * | HOT_BYTES           | the resident bytes of a hot part  | the best of four sizes on an H200   |
 * | HOT_BYTES_MANY_COLD | the same if MANY_COLD_PERCENT     | cold codes keep enough loads under  |
 * | MANY_COLD_PERCENT   | codes or more are cold            | way; output does with less room     |
 * | BANKS               | over how many neighbouring codes  | shared memory has 32 banks; code c  |
 * |                     | frequent tokens are spread        | is in bank c % 32, or one of 16 / 8 |
 */
#define FP_CLASS_TABLE_BITS    8u
#define FP_CLASS_TABLE_UP_TO   14u
#define FP_WIDE_CLASS_SHIFT    6u
#define FP_LONG_TABLE_BITS     7u
#define FP_LONG_TABLE_FROM     9u
#define FP_LONG_TABLE_UP_TO    12u
#define FP_HOT_FROM_BITS       15u
#define FP_HOT_FROM_BITS_LONG  14u
#define FP_WHOLE_BYTES         (160u << 10)
#define FP_HOT_BYTES           (136u << 10)
#define FP_HOT_BYTES_MANY_COLD (160u << 10)
#define FP_MANY_COLD_PERCENT   22u
#define FP_BANKS               32u

/* What CPUs have a say in: their fastest loop takes tokens of more than 16 bytes as bricks of 16
 * (docs/lab/cpu-decoder.md), and numbers these with 16 bits. So many are left for all tokens but single
 * bytes. */
#define FP_BRICKS_FREE (65534u - 256u)

/* ---------------------------------------------------------------- room for tokens */

/* What a trainer fills. */
typedef struct fp_code_space {
    uint32_t code_bits; /* there are 2^code_bits codes */
    uint32_t max_token; /* 8, 16, 32 or 64: no token is longer */
    int hot;            /* leave room for a hot part */
    uint32_t level;     /* 1..FASTPAIR_LEVEL_MOST: how much work training may take */
    int folds;          /* the dictionary will be folded: fp_token_bits */
} fp_code_space;

/* Whether training must leave room for a hot part, which dictionaries with long tokens never have:
 * `hot_codes` is the caller's option. */
static inline int fp_reserves_hot(uint32_t hot_codes, uint32_t code_bits, uint32_t max_token) {
    if (max_token > FP_SHORT_TOKEN) return 0;
    if (hot_codes) return hot_codes != FASTPAIR_NO_HOT_CODES;
    return code_bits >= (max_token > 8 ? FP_HOT_FROM_BITS_LONG : FP_HOT_FROM_BITS);
}

/* log2 of the codes per length class, for a code width. Classes of 64 lengths would waste too many
 * codes, so they have one code each. */
static inline uint32_t fp_class_shift(uint32_t code_bits, uint32_t max_token) {
    if (max_token == 32 && code_bits >= FP_LONG_TABLE_FROM && code_bits <= FP_LONG_TABLE_UP_TO)
        return code_bits - FP_LONG_TABLE_BITS;
    return max_token > FP_SHORT_TOKEN          ? 0
           : code_bits <= FP_CLASS_TABLE_BITS  ? 0
           : code_bits <= FP_CLASS_TABLE_UP_TO ? code_bits - FP_CLASS_TABLE_BITS
                                               : FP_WIDE_CLASS_SHIFT;
}

typedef struct fp_room {
    uint32_t shift;
    uint32_t classes_free;
    uint32_t bricks_free;
    uint32_t of_length[FP_MAX_TOKEN + 1]; /* tokens of each length so far */
} fp_room;

/* Room for a whole code space less what the 256 single bytes take. A hot part costs up to one class
 * per length, because each length then has a hot and a cold run. */
static inline fp_room fp_room_for(const fp_code_space *space) {
    fp_room room = {.shift = fp_class_shift(space->code_bits, space->max_token)};
    room.classes_free = (1u << (space->code_bits - room.shift)) - (256u >> room.shift) -
                        (space->hot ? space->max_token : 0);
    room.of_length[1] = 256;
    room.bricks_free = space->max_token > FP_SHORT_TOKEN ? FP_BRICKS_FREE : UINT32_MAX;
    return room;
}

static inline uint32_t fp_bricks_of(uint32_t length) {
    return (length + FP_SHORT_TOKEN - 1) / FP_SHORT_TOKEN;
}

static inline int fp_room_has(const fp_room *room, uint32_t length) {
    if (room->bricks_free < fp_bricks_of(length)) return 0;
    return room->classes_free > 0 || (room->of_length[length] & ((1u << room->shift) - 1)) != 0;
}

static inline void fp_room_take(fp_room *room, uint32_t length) {
    if ((room->of_length[length]++ & ((1u << room->shift) - 1)) == 0) room->classes_free--;
    room->bricks_free -= fp_bricks_of(length);
}

/* No token of any length 2..max_token fits any more. */
static inline int fp_room_full(const fp_room *room, uint32_t max_token) {
    if (room->classes_free) return 0;
    for (uint32_t length = 2; length <= max_token; length++)
        if (fp_room_has(room, length)) return 0;
    return 1;
}

#endif
