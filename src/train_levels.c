/* train_levels.c - OnPair training as a whole, and what a level spends on it. In: a sample. Out:
 * tokens that fit a code space.
 *
 * A *plan* is a number of passes over parts of the sample. Each makes more tokens than there is room
 * for, and pruning keeps the best: after the last pass as many as fit, before that half of them, so
 * that the next pass builds on what was good. The trick: no plan is best for all columns. Logs gain
 * much from several passes; where tokens must fall in step with words, as in generated text, few
 * tokens too many are better. So a level tries some plans and keeps the tokens of the one that
 * codes the sample best. Refuses nothing but a lack of memory. */
#include "train.h"

#include "train_characters.h"
#include "train_onpair.h"
#include "train_prune.h"

typedef struct plan {
    uint16_t over; /* tokens made, in % of those wanted */
    uint8_t passes;
    uint8_t drop; /* as in fp_pruning */
    int optimal;
} plan;

#define MAX_PLANS 3u
/* What a round drops of the tokens of a pass that is not the last, in 1/16. They need not be so well
 * chosen. */
#define EARLY_DROP 8u

typedef struct effort {
    uint64_t parse_bytes;  /* as in fp_pruning */
    plan plans[MAX_PLANS]; /* up to the first without passes */
} effort;

static const effort efforts[FASTPAIR_LEVEL_MOST + 1] = {
    [1] = {1u << 20, {{200, 1, 8, 0}}},
    [2] = {2u << 20, {{300, 2, 8, 0}}},
    [3] = {4u << 20, {{300, 3, 4, 0}, {125, 1, 8, 0}}},
    [4] = {4u << 20, {{300, 3, 4, 0}, {125, 1, 4, 0}, {300, 1, 4, 0}}},
    [5] = {8u << 20, {{300, 3, 4, 0}, {125, 1, 4, 0}, {300, 1, 4, 0}}},
    [6] = {8u << 20, {{300, 3, 2, 0}, {125, 1, 2, 0}, {300, 1, 2, 0}}},
    [7] = {4u << 20, {{300, 3, 8, 1}, {125, 1, 8, 1}}},
    [8] = {4u << 20, {{300, 3, 4, 1}, {125, 1, 4, 1}}},
    [9] = {8u << 20, {{300, 3, 4, 1}, {125, 1, 4, 1}, {300, 1, 4, 1}}},
};

/* Codes of so many bits have no ids for many tokens too many. */
#define WIDE_FROM_BITS 15u
/* Codes of more bits want so many tokens that a third of the sample is too small for a pass. */
#define NARROW_BITS 12u
/* Level 1 uses no wider codes than this. Its sample shows no more tokens, and rows are parsed faster
 * with tables that fit the caches. */
#define QUICK_BITS 14u

static effort effort_for(const fp_code_space *space) {
    effort spent = efforts[space->level ? space->level : FASTPAIR_LEVEL_DEFAULT];
    if (space->max_token > FP_SHORT_TOKEN && spent.plans[1].passes) spent.plans[1].over = 300;
    if (space->code_bits >= WIDE_FROM_BITS) {
        spent.plans[0] = (plan){125, 1, 8, spent.plans[0].optimal};
        spent.plans[1].passes = 0;
    } else if (space->code_bits > NARROW_BITS && spent.plans[0].passes > 1) {
        spent.plans[0].over = 200;
        spent.plans[0].passes = 2;
    }
    return spent;
}

/* Characters that a plan begins with may be this part of the tokens that fit. */
#define CHARACTERS_SHARE 2u

/* A part of a sample: the pieces from .. to. */
static fp_sample sample_part(const fp_sample *sample, uint64_t from, uint64_t to) {
    fp_sample part = *sample;
    for (uint64_t i = 0; i < from; i++) part.bytes += sample->lengths[i];
    part.lengths += from;
    part.pieces = to - from;
    part.size = 0;
    for (uint64_t i = 0; i < part.pieces; i++) part.size += part.lengths[i];
    return part;
}

/* Follows a plan; `tokens` has the single bytes and characters. */
static fastpair_status follow(const plan *which, const fp_pruning *how, fp_tokens *tokens,
                              double *bits, fastpair_error *error) {
    const fp_sample *sample = how->sample;
    uint64_t most = (uint64_t)fp_learned_room(how->space) * which->over / 100;
    if (most > FP_MAX_TOKENS - 256) most = FP_MAX_TOKENS - 256;
    const uint32_t characters = tokens->count - 256;
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t pass = 0; pass < which->passes && !status; pass++) {
        const fp_sample part = sample_part(sample, sample->pieces * pass / which->passes,
                                           sample->pieces * (pass + 1) / which->passes);
        const fp_onpair_quota wanted = {(uint32_t)most, characters};
        status = fp_onpair_pass(&part, wanted, how->poll, how->allocator, tokens, error);
        if (status) break;
        const int is_last = pass + 1 == which->passes;
        fp_pruning now = *how;
        if (!is_last) {
            now.drop = EARLY_DROP;
            now.parse_bytes /= 2;
        }
        status = fp_train_prune(&now, is_last ? 100 : 50, tokens, is_last ? bits : NULL, error);
    }
    return status;
}

fastpair_status fp_train_onpair(const fp_sample *sample, const fp_code_space *whole_space,
                                fp_poll *poll, const fastpair_allocator *allocator,
                                fp_tokens *tokens, fastpair_error *error) {
    fp_code_space space = *whole_space;
    if (space.level == 1 && space.code_bits > QUICK_BITS) space.code_bits = QUICK_BITS;
    const effort spent = effort_for(&space);
    const int needs_bits = spent.plans[1].passes || space.level > 1;
    double least = 0;
    *tokens = (fp_tokens){0};
    fp_tokens characters;
    fastpair_status status = fp_tokens_open(&characters, space.max_token, allocator, error);
    if (!status)
        status = fp_train_characters(sample, fp_learned_room(&space) / CHARACTERS_SHARE, allocator,
                                     &characters, error);
    for (const plan *next = spent.plans; !status && next < spent.plans + MAX_PLANS && next->passes;
         next++) {
        const fp_pruning how = {.sample = sample,
                                .parse_bytes = spent.parse_bytes,
                                .drop = next->drop,
                                .optimal = next->optimal,
                                .space = &space,
                                .poll = poll,
                                .allocator = allocator};
        fp_tokens made;
        double bits = 0;
        status = fp_tokens_open(&made, space.max_token, allocator, error);
        if (!status) fp_tokens_copy(&characters, &made);
        if (!status) status = follow(next, &how, &made, needs_bits ? &bits : NULL, error);
        if (!status && (next == spent.plans || bits < least)) {
            fp_tokens worse = *tokens;
            *tokens = made;
            made = worse;
            least = bits;
        }
        fp_tokens_close(&made, allocator);
    }
    fp_tokens_close(&characters, allocator);
    if (status) fp_tokens_close(tokens, allocator);
    return status;
}
