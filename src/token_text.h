/* token_text.h - what the tokens of a dictionary are as text. */
#ifndef FP_TOKEN_TEXT_H
#define FP_TOKEN_TEXT_H

#include "dict.h"

/* No byte is above 127; each token is UTF-8 by itself; or neither. */
enum { FP_TOKENS_UNKNOWN, FP_TOKENS_ASCII, FP_TOKENS_WHOLE, FP_TOKENS_ANY };

/* What is true of all tokens. */
uint32_t fp_token_text(const fp_dict *dict);

/* Where somebody who reads UTF-8 stands between two bytes. After E0, ED, F0 and F4 not every byte may
 * come that continues a character. States are multiples of 6. */
enum {
    FP_STATE_BETWEEN = 0, /* characters */
    FP_STATE_LACKS_1 = 6,
    FP_STATE_LACKS_2 = 12,
    FP_STATE_LACKS_3 = 18,
    FP_STATE_AFTER_E0 = 24,
    FP_STATE_AFTER_ED = 30,
    FP_STATE_AFTER_F0 = 36,
    FP_STATE_AFTER_F4 = 42,
    FP_STATE_WRONG = 48, /* and it stays so */
    FP_STATE_MASK = 63
};

/* A step says where reading a token leads from each state: it is a number whose bits from a state on are
 * the state after the token. So one shift takes it, of which only the lower 6 bits count. The highest 8
 * bits are the token's length. */
#define FP_STEP_LENGTH_SHIFT 56

static inline uint64_t fp_take_step(uint64_t state, uint64_t step) {
    return step >> (state & FP_STATE_MASK);
}

/* The state after a byte that begins a character, or should. All that loops use is inlined: gcc would not
 * end a loop that calls it with vzeroupper. */
static inline __attribute__((always_inline)) uint64_t fp_begin_character(uint8_t byte) {
    if (byte < 0x80) return FP_STATE_BETWEEN;
    if (byte < 0xc2 || byte > 0xf4) return FP_STATE_WRONG;
    if (byte < 0xe0) return FP_STATE_LACKS_1;
    if (byte < 0xf0)
        return byte == 0xe0   ? FP_STATE_AFTER_E0
               : byte == 0xed ? FP_STATE_AFTER_ED
                              : FP_STATE_LACKS_2;
    return byte == 0xf0 ? FP_STATE_AFTER_F0 : byte == 0xf4 ? FP_STATE_AFTER_F4 : FP_STATE_LACKS_3;
}

static inline __attribute__((always_inline)) uint64_t fp_read_byte(uint64_t state, uint8_t byte) {
    int continues = (byte & 0xc0) == 0x80;
    switch (state) {
    case FP_STATE_BETWEEN: return fp_begin_character(byte);
    case FP_STATE_LACKS_1: return continues ? FP_STATE_BETWEEN : FP_STATE_WRONG;
    case FP_STATE_LACKS_2: return continues ? FP_STATE_LACKS_1 : FP_STATE_WRONG;
    case FP_STATE_LACKS_3: return continues ? FP_STATE_LACKS_2 : FP_STATE_WRONG;
    case FP_STATE_AFTER_E0: return continues && byte >= 0xa0 ? FP_STATE_LACKS_1 : FP_STATE_WRONG;
    case FP_STATE_AFTER_ED: return continues && byte < 0xa0 ? FP_STATE_LACKS_1 : FP_STATE_WRONG;
    case FP_STATE_AFTER_F0: return continues && byte >= 0x90 ? FP_STATE_LACKS_2 : FP_STATE_WRONG;
    case FP_STATE_AFTER_F4: return continues && byte < 0x90 ? FP_STATE_LACKS_2 : FP_STATE_WRONG;
    default: return FP_STATE_WRONG;
    }
}

static inline __attribute__((always_inline)) uint64_t
fp_read_bytes(uint64_t state, const uint8_t *bytes, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) state = fp_read_byte(state, bytes[i]);
    return state;
}

/* Bytes that continue a character, from the first one on. */
static inline __attribute__((always_inline)) uint32_t fp_count_continuing(const uint8_t *bytes,
                                                                          uint32_t size) {
    uint32_t count = 0;
    while (count < size && (bytes[count] & 0xc0) == 0x80) count++;
    return count;
}

/* The state after three bytes, of which `before` is the end. */
static inline __attribute__((always_inline)) uint64_t fp_state_after(const uint8_t *before) {
    if (!((before[-1] | before[-2] | before[-3]) & 0x80)) return FP_STATE_BETWEEN;
    /* A character that begins even earlier lacks nothing any more. */
    uint32_t skipped = fp_count_continuing(before - 3, 3);
    return fp_read_bytes(FP_STATE_BETWEEN, before - 3 + skipped, 3 - skipped);
}

/* All steps of a dictionary. Numbers below FP_STEPS_WHOLE are steps of tokens that are UTF-8 by
 * themselves, by length - 1; so many more are of tokens of which nothing else is known. Codes without a
 * token decode to zeros, which are UTF-8. */
#define FP_STEPS_WHOLE   FP_MAX_TOKEN
#define FP_STEPS_UNKNOWN (2u * FP_MAX_TOKEN)
#define FP_STEPS         256u
typedef struct fp_steps {
    uint64_t of[FP_STEPS];
} fp_steps;

/* Fills in the steps, and the number of its step for each of the 2^b codes. Those from N on have the
 * length `bad_length`, and a step that leads from anywhere to WRONG. Returns what fp_token_text
 * does. */
uint32_t fp_token_steps(const fp_dict *dict, uint32_t bad_length, fp_steps *steps,
                        uint8_t *numbers);

#endif
