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

/* The state after three bytes, of which `before` is the end. */
uint64_t fp_state_after(const uint8_t *before);

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
