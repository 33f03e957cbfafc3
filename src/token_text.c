/* token_text.c - what the tokens of a dictionary are as text. In: a dictionary. Out: what is true of all
 * tokens, and how each leads from one state of reading UTF-8 to another.
 *
 * The trick: neighbours are judged together, as one text in which no token begins inside a character, and
 * one by one only where that fails. The bytes of a token that continue a character are read from each
 * state, the others once. There are far fewer steps than tokens, so a byte numbers them. Refuses
 * nothing: where there are too many steps, it says of some tokens that nothing is known. */
#include "token_text.h"

#include "utf8.h"

/* Tokens that are judged together. */
#define TOGETHER 64u

/* ---------------------------------------------------------------- tokens by themselves */

/* Whether each of `count` tokens of `length` bytes, back to back, is UTF-8 by itself. */
static int are_whole(const uint8_t *bytes, uint32_t length, uint32_t count) {
    if (fp_is_ascii(bytes, (uint64_t)length * count)) return 1;
    for (uint32_t i = 0; i < count; i++)
        if ((bytes[(uint64_t)i * length] & 0xc0) == 0x80) return 0;
    return fp_utf8_fault(bytes, (uint64_t)length * count) == UINT64_MAX;
}

uint32_t fp_token_text(const fp_dict *dict) {
    const uint8_t *token = dict->bytes;
    if (fp_is_ascii(dict->bytes, dict->bytes_size)) return FP_TOKENS_ASCII;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        if (!are_whole(token, run->length, run->count)) return FP_TOKENS_ANY;
        token += (uint64_t)run->length * run->count;
    }
    return FP_TOKENS_WHOLE;
}

/* ---------------------------------------------------------------- steps */

/* A step that leads from BETWEEN to `state`, and from all other states to WRONG. */
static uint64_t step_to(uint64_t state, uint32_t length) {
    uint64_t step = state | (uint64_t)length << FP_STEP_LENGTH_SHIFT;
    for (uint32_t from = 6; from <= FP_STATE_WRONG; from += 6)
        step |= (uint64_t)FP_STATE_WRONG << from;
    return step;
}

static uint64_t step_of(const uint8_t *token, uint32_t length) {
    const uint32_t continuing = fp_count_continuing(token, length);
    const uint64_t rest = fp_read_bytes(FP_STATE_BETWEEN, token + continuing, length - continuing);
    uint64_t step = (uint64_t)length << FP_STEP_LENGTH_SHIFT;
    for (uint32_t from = 0; from <= FP_STATE_WRONG; from += 6) {
        uint64_t to = continuing > 3 ? FP_STATE_WRONG : fp_read_bytes(from, token, continuing);
        if (continuing < length) to = to == FP_STATE_BETWEEN ? rest : FP_STATE_WRONG;
        step |= to << from;
    }
    return step;
}

/* Steps by a hash of them. */
typedef struct step_index {
    fp_steps *steps;
    uint32_t count;
    uint8_t at[2 * FP_STEPS]; /* numbers of steps; 0: none */
} step_index;

/* The number of a step; if there are too many, that of one of which nothing is known. */
static uint8_t number_of(step_index *index, uint64_t step, uint32_t length) {
    uint32_t place = (uint32_t)(step * 0x9e3779b97f4a7c15u >> 55);
    _Static_assert(sizeof index->at == 1u << (64 - 55), "a hash has as many values");
    for (; index->at[place]; place = (place + 1) % sizeof index->at)
        if (index->steps->of[index->at[place]] == step) return index->at[place];
    if (index->count == FP_STEPS) return (uint8_t)(FP_STEPS_WHOLE + length - 1);
    index->at[place] = (uint8_t)index->count;
    index->steps->of[index->count++] = step;
    return index->at[place];
}

uint32_t fp_token_steps(const fp_dict *dict, uint32_t bad_length, fp_steps *steps,
                        uint8_t *numbers) {
    step_index index = {.steps = steps, .count = FP_STEPS_UNKNOWN + 1};
    uint32_t text = fp_token_text(dict);
    const uint8_t *token = dict->bytes;
    for (uint32_t i = 0; i < FP_MAX_TOKEN; i++) {
        steps->of[i] = step_to(FP_STATE_BETWEEN, i + 1);
        steps->of[FP_STEPS_WHOLE + i] = step_to(FP_STATE_WRONG, i + 1);
    }
    steps->of[FP_STEPS_UNKNOWN] = step_to(FP_STATE_WRONG, bad_length);
    for (uint32_t i = index.count; i < FP_STEPS; i++) steps->of[i] = 0;
    fp_dict_expand(dict, NULL, 0, numbers);
    for (uint32_t code = 0; code < dict->code_slots; code++) numbers[code]--;
    memset(numbers + dict->code_slots, (int)FP_STEPS_UNKNOWN,
           (1u << dict->code_bits) - dict->code_slots);
    for (uint32_t r = 0; r < dict->run_count && text == FP_TOKENS_ANY; r++) {
        const fp_run *run = &dict->runs[r];
        for (uint32_t i = 0; i < run->count;) {
            uint32_t count = run->count - i < TOGETHER ? run->count - i : TOGETHER;
            const int together = are_whole(token, run->length, count);
            for (; count; count--, i++, token += run->length)
                if (!together && !are_whole(token, run->length, 1))
                    numbers[run->first_code + i] =
                        number_of(&index, step_of(token, run->length), run->length);
        }
    }
    return text;
}
