/* train_prune.c - the best of too many tokens. In: a sample, and several times the tokens that
 * there is room for. Out: tokens that fit.
 *
 * The sample is parsed, and a token's worth is how many codes it saves: its uses, times the pieces
 * that would stand in for it, less one. The trick: the worst part is dropped, not all that are too
 * many, and the sample is parsed again. What used a dropped token uses others then, so worth shifts
 * to those that are good together. In the last round the best are taken first, as long as their
 * length classes have room. If few more need to go for codes that are a bit narrower, that is tried,
 * too. Refuses nothing but a lack of memory. */
#include "train_prune.h"

#include "parse.h"
#include "parse_optimal.h"
#include "token_pieces.h"

#include <stdlib.h>

/* A narrower code is tried if not more than this part of the tokens must go for it, 1 / FEW. Whoever
 * asks for wide codes wants many tokens. */
#define FEW 3u
/* Single bytes alone take 8 bits. */
#define NARROWEST 9u
/* In all rounds but the last, tokens are dropped that save less than this part of what they take:
 * they may be worth more when others are gone. */
#define EARLY_PERCENT 25u
/* In the last round they must save all that they take, or half of it. What is better is found out: a
 * token that is dropped takes part of the worth of others with it. */
#define HALF_PAID 50u
#define PAID      100u
/* With codes of up to so many bits there is no time for that, and little to gain. */
#define FEW_TOKENS_BITS 12u
/* Bytes of the sample that are parsed per learned token: fewer do not show which rare ones are
 * good. */
#define BYTES_PER_TOKEN 400u

/* A token and the codes that it saves in the part of the sample that was parsed. */
typedef struct worth {
    uint64_t saved;
    uint32_t id;
    uint32_t uses;
} worth;

typedef struct pruner {
    const fp_pruning *how;
    fp_code_space space; /* of the width that tokens are pruned for */
    fp_tokens *tokens;
    uint64_t *offsets;           /* of the sample's pieces */
    uint64_t pieces;             /* of the sample that are parsed */
    double scale;                /* bytes of the column per byte parsed */
    uint16_t *ids;               /* what they are parsed into */
    fp_optimal_scratch *scratch; /* NULL: parsed greedily */
    uint64_t codes;
    worth *worths; /* of the learned tokens */
    uint8_t *keep; /* by id */
    uint32_t pay_percent;
} pruner;

uint32_t fp_learned_room(const fp_code_space *space) {
    const fp_room room = fp_room_for(space);
    return room.classes_free << room.shift;
}

/* ---------------------------------------------------------------- what tokens are worth */

/* The most worth first; of equal ones, which are many, those that were made first. */
static int by_worth(const void *left, const void *right) {
    const worth *a = left, *b = right;
    if (a->saved != b->saved) return a->saved > b->saved ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Parses as much of the sample as the tokens need. */
static void parse_sample(pruner *p, const fp_matcher *matcher) {
    const fp_sample *sample = p->how->sample;
    const uint8_t *bytes = sample->bytes;
    uint64_t most = (uint64_t)BYTES_PER_TOKEN * (p->tokens->count - 256);
    if (most < p->how->parse_bytes) most = p->how->parse_bytes;
    for (p->pieces = 0; p->pieces < sample->pieces && p->offsets[p->pieces] < most;) p->pieces++;
    p->scale = p->pieces ? (double)sample->column_bytes / (double)p->offsets[p->pieces] : 0;
    p->codes = p->scratch ? fp_parse_rows_optimal(matcher, bytes, p->offsets, p->pieces, p->scratch,
                                                  p->ids)
                          : fp_parse_rows(matcher, bytes, p->offsets, p->pieces, p->ids);
}

/* Fills in what every learned token saves, and sorts tokens by it. */
static fastpair_status weigh(pruner *p, fastpair_error *error) {
    const fp_tokens *tokens = p->tokens;
    const fastpair_allocator *allocator = p->how->allocator;
    fp_matcher *matcher;
    fp_token_pieces pieces;
    fastpair_status status = fp_matcher_open(tokens, allocator, &matcher, error);
    if (status) return status;
    status = fp_token_pieces_open(tokens, matcher, allocator, &pieces, error);
    if (!status) {
        const uint32_t learned = tokens->count - 256;
        parse_sample(p, matcher);
        for (uint32_t i = 0; i < learned; i++) p->worths[i] = (worth){.id = i + 256};
        for (uint64_t i = 0; i < p->codes; i++)
            if (p->ids[i] >= 256) p->worths[p->ids[i] - 256].uses++;
        for (uint32_t i = 0; i < learned; i++)
            p->worths[i].saved =
                (uint64_t)p->worths[i].uses * (fp_token_piece_count(&pieces, i + 256) - 1);
        qsort(p->worths, learned, sizeof *p->worths, by_worth);
        fp_token_pieces_close(&pieces, allocator);
    }
    fp_matcher_close(matcher, allocator);
    return status;
}

static uint32_t bits_of(const pruner *p, uint32_t id) {
    return fp_token_bits(p->tokens->lengths[id], p->space.folds);
}

/* Whether a token saves more of the column than `percent` of what it takes in the dictionary. */
static int pays(const pruner *p, const worth *token, uint32_t percent) {
    double saved = (double)token->saved * p->space.code_bits * p->scale;
    return saved * 100 > (double)bits_of(p, token->id) * percent;
}

/* The bits that codes and tokens take in the column, once weighed. */
static double size_now(const pruner *p) {
    uint64_t token_bits = 0;
    for (uint32_t id = 256; id < p->tokens->count; id++) token_bits += bits_of(p, id);
    return (double)p->codes * p->space.code_bits * p->scale + (double)token_bits;
}

/* ---------------------------------------------------------------- rounds */

/* Closes the gaps that dropped tokens leave. */
static void drop_tokens(pruner *p) {
    fp_tokens *tokens = p->tokens;
    uint32_t count = 256;
    for (uint32_t id = 256; id < tokens->count; id++) {
        if (!p->keep[id]) continue;
        if (count != id) fp_token_move(tokens, id, count);
        count++;
    }
    fp_tokens_cut(tokens, count);
}

/* One round, once tokens are weighed. Returns whether no more are needed. */
static int prune_once(pruner *p, uint32_t percent) {
    const uint32_t learned = p->tokens->count - 256;
    const uint32_t wanted = (uint32_t)((uint64_t)fp_learned_room(&p->space) * percent / 100);
    const uint32_t dropped = learned * p->how->drop / 16;
    const uint32_t least = learned - (dropped || !learned ? dropped : 1);
    const int is_last = least <= wanted;
    fp_room room = fp_room_for(&p->space);
    uint32_t kept = 0;
    memset(p->keep, 0, p->tokens->count);
    for (uint32_t i = 0; i < learned && kept < (is_last ? wanted : least); i++) {
        const uint32_t id = p->worths[i].id, length = p->tokens->lengths[id];
        if (is_last && !fp_room_has(&room, length)) continue;
        if (!pays(p, &p->worths[i], is_last ? p->pay_percent : EARLY_PERCENT)) continue;
        if (is_last) fp_room_take(&room, length);
        p->keep[id] = 1;
        kept++;
    }
    drop_tokens(p);
    return is_last;
}

/* Rounds until the tokens fit. They are weighed at the end if asked for. */
static fastpair_status prune_to_fit(pruner *p, uint32_t percent, int weigh_at_end,
                                    fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    for (int is_last = 0; !is_last && !status;) {
        is_last = prune_once(p, percent);
        if (!is_last || weigh_at_end) status = weigh(p, error);
        if (!status && fp_poll_work(p->how->poll, p->offsets[p->pieces]))
            status = fp_fail_cancelled(error);
    }
    return status;
}

/* Tokens that were the best so far, and their size. */
typedef struct best_tokens {
    fp_tokens tokens;
    double bits;
} best_tokens;

/* Narrows the code space to what the tokens need. *next is the space of codes one bit narrower, or
 * the same if there is none. */
static void fit_space(pruner *p, fp_code_space *next) {
    *next = p->space;
    while (next->code_bits > NARROWEST) {
        next->code_bits--;
        if (fp_learned_room(next) < p->tokens->count - 256) return;
        p->space = *next;
    }
}

/* Prunes until the tokens fit, and takes note of them if they are the best so far. If few of them
 * are too many for narrower codes, these are tried as well. */
static fastpair_status try_to_fit(pruner *p, best_tokens *best, fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    for (int narrowed = 0; narrowed < 2; narrowed++) {
        if ((status = prune_to_fit(p, 100, 1, error))) return status;
        fp_code_space next;
        fit_space(p, &next);
        const double bits = size_now(p);
        if (!best->bits || bits < best->bits) {
            best->bits = bits;
            fp_tokens_copy(p->tokens, &best->tokens);
        }
        const uint32_t learned = p->tokens->count - 256;
        if (next.code_bits == p->space.code_bits ||
            fp_learned_room(&next) < learned - learned / FEW)
            break;
        p->space = next;
    }
    return status;
}

static int all_pay(const pruner *p) {
    for (uint32_t i = 0; i < p->tokens->count - 256; i++)
        if (!pays(p, &p->worths[i], PAID)) return 0;
    return 1;
}

/* The best that can be had from tokens that are weighed. */
static fastpair_status prune_for_size(pruner *p, double *bits, fastpair_error *error) {
    best_tokens best = {.bits = 0};
    const fastpair_allocator *allocator = p->how->allocator;
    fastpair_status status = fp_tokens_open(&best.tokens, p->tokens->max_token, allocator, error);
    if (status) return status;
    if (p->space.code_bits > FEW_TOKENS_BITS) {
        p->pay_percent = HALF_PAID;
        status = try_to_fit(p, &best, error);
    }
    p->pay_percent = PAID;
    if (!status && (!best.bits || !all_pay(p))) status = try_to_fit(p, &best, error);
    if (!status) fp_tokens_copy(&best.tokens, p->tokens);
    *bits = best.bits;
    fp_tokens_close(&best.tokens, allocator);
    return status;
}

/* ---------------------------------------------------------------- memory */

static void close_pruner(pruner *p) {
    const fastpair_allocator *allocator = p->how->allocator;
    fp_release(allocator, p->offsets);
    fp_release(allocator, p->ids);
    fp_release(allocator, p->scratch);
    fp_release(allocator, p->worths);
    fp_release(allocator, p->keep);
}

static fastpair_status open_pruner(pruner *p, const fp_pruning *how, fp_tokens *tokens,
                                   fastpair_error *error) {
    const fp_sample *sample = how->sample;
    const fastpair_allocator *allocator = how->allocator;
    *p = (pruner){.how = how, .space = *how->space, .tokens = tokens, .pay_percent = PAID};
    p->offsets = fp_sample_offsets(sample, allocator);
    p->worths = fp_allocate(allocator, tokens->count, sizeof *p->worths);
    p->keep = fp_allocate(allocator, tokens->count, 1);
    if (how->optimal) p->scratch = fp_allocate(allocator, 1, sizeof *p->scratch);
    p->ids = fp_allocate(allocator, sample->size, sizeof *p->ids);
    if (p->offsets && p->ids && p->worths && p->keep && (p->scratch || !how->optimal))
        return FASTPAIR_OK;
    close_pruner(p);
    return fp_fail_memory(error, sample->size * sizeof *p->ids);
}

fastpair_status fp_train_prune(const fp_pruning *how, uint32_t percent, fp_tokens *tokens,
                               double *bits, fastpair_error *error) {
    pruner p;
    fastpair_status status = open_pruner(&p, how, tokens, error);
    if (status) return status;
    status = weigh(&p, error);
    if (!status)
        status = bits ? prune_for_size(&p, bits, error) : prune_to_fit(&p, percent, 0, error);
    close_pruner(&p);
    return status;
}
