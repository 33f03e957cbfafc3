/* prune_small.c - tokens that do not earn their place in a small column's file. In: a model, and all
 * chunks of the column parsed with it. Out: the model with fewer tokens, the chunks parsed again.
 *
 * A token takes some bits in the dictionary. Every token also makes codes wider at some point,
 * and all codes with it. The trick: what a token is worth is counted, not guessed. Without it, its
 * occurrences fall into *pieces*, the tokens that match in its place (token_pieces.c). So tokens are judged from the
 * longest to the shortest, and the occurrences of a dropped one are credited to its pieces, which
 * are judged later. A *price* per token, besides its bits, is raised until the tokens left fit a
 * narrower code. The width of the least predicted size is taken, rows are parsed again, and all
 * that is repeated as long as the true size shrinks. Refuses nothing but a lack of memory. */
#include "prune.h"

#include "pack.h"
#include "sidecar.h"
#include "token_pieces.h"

#include <string.h>

/* Parses at most. The first takes most of the gain. */
#define ROUNDS 4u
/* Halvings of the interval in which the price lies, from MAX_PRICE bits on. */
#define PRICE_STEPS 14u
#define MAX_PRICE   (1u << PRICE_STEPS)

/* By id; all have room for FP_MAX_TOKENS entries. */
typedef struct pruning {
    fastpair_dictionary *model;
    fp_draft *drafts;
    const fp_settings *settings;
    uint32_t count;         /* of drafts */
    uint32_t *order;        /* ids of learned tokens, the longest first */
    fp_token_pieces pieces; /* in a round */
    uint64_t *occurs;       /* how often each occurs in the drafts */
    uint64_t *credited;     /* the same and what dropped tokens have left */
    uint8_t *keep;
    uint8_t *best_keep;
    uint64_t codes; /* of all drafts */
} pruning;

static void close_pruning(const pruning *p, const fastpair_allocator *allocator) {
    fp_release(allocator, p->order);
    fp_release(allocator, p->occurs);
    fp_release(allocator, p->credited);
    fp_release(allocator, p->keep);
    fp_release(allocator, p->best_keep);
}

static fastpair_status open_pruning(pruning *p, const fastpair_allocator *allocator,
                                    fastpair_error *error) {
    p->order = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *p->order);
    p->occurs = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *p->occurs);
    p->credited = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *p->credited);
    p->keep = fp_allocate(allocator, FP_MAX_TOKENS, 1);
    p->best_keep = fp_allocate(allocator, FP_MAX_TOKENS, 1);
    if (p->order && p->occurs && p->credited && p->keep && p->best_keep) return FASTPAIR_OK;
    close_pruning(p, allocator);
    return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *p->occurs);
}

/* ---------------------------------------------------------------- what is there */

/* Counts the ids of all drafts, and puts learned tokens in order. */
static void count_tokens(pruning *p) {
    const fp_tokens *tokens = &p->model->tokens;
    memset(p->occurs, 0, tokens->count * sizeof *p->occurs);
    p->codes = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        fp_parsed_add_counts(&p->drafts[i].parsed, p->occurs);
        p->codes += p->drafts[i].parsed.codes;
    }
    uint32_t placed = 0;
    for (uint32_t length = FP_MAX_TOKEN; length > 1; length--)
        for (uint32_t id = 256; id < tokens->count; id++)
            if (tokens->lengths[id] == length) p->order[placed++] = id;
}

/* ---------------------------------------------------------------- judging */

static uint32_t bits_of(const pruning *p, uint32_t id) {
    return fp_token_bits(p->model->tokens.lengths[id], !p->settings->cold);
}

/* Whether the kept tokens fit a code width, in length classes. Single bytes that would be used
 * count as kept. */
static int fits(const pruning *p, uint32_t code_bits) {
    const fp_tokens *tokens = &p->model->tokens;
    const uint32_t class_codes = 1u << fp_class_shift(code_bits, tokens->max_token);
    uint32_t of_length[FP_MAX_TOKEN + 1] = {0}, slots = 0;
    for (uint32_t id = 0; id < tokens->count; id++)
        if (id < 256 ? p->credited[id] != 0 : p->keep[id]) of_length[tokens->lengths[id]]++;
    for (uint32_t length = 1; length <= FP_MAX_TOKEN; length++)
        slots += (of_length[length] + class_codes - 1) & ~(class_codes - 1);
    return slots <= 1u << code_bits;
}

/* Marks the tokens to keep if each costs its bits and `price` more, and codes have `code_bits`.
 * Returns the bits that codes and tokens will then take. */
static uint64_t judge(pruning *p, uint32_t code_bits, uint64_t price) {
    const fp_tokens *tokens = &p->model->tokens;
    uint64_t codes = p->codes, token_bits = 0;
    memcpy(p->credited, p->occurs, tokens->count * sizeof *p->credited);
    for (uint32_t i = 0; i < tokens->count - 256; i++) {
        uint32_t id = p->order[i], pieces = fp_token_piece_count(&p->pieces, id);
        uint64_t occurs = p->credited[id], own = bits_of(p, id);
        p->keep[id] = occurs * (pieces - 1) * code_bits > own + price;
        if (p->keep[id]) {
            token_bits += own;
        } else if (occurs) {
            const uint16_t *piece = p->pieces.ids + p->pieces.first[id];
            for (uint32_t k = 0; k < pieces; k++) p->credited[piece[k]] += occurs;
            codes += occurs * (pieces - 1);
        }
    }
    for (uint32_t id = 0; id < 256; id++) token_bits += p->credited[id] ? 8 : 0;
    return codes * code_bits + token_bits;
}

/* Judges with the least price at which the tokens fit. UINT64_MAX if they never do. */
static uint64_t judge_for_width(pruning *p, uint32_t code_bits) {
    uint64_t bits = judge(p, code_bits, 0), low = 0, high = MAX_PRICE;
    if (fits(p, code_bits)) return bits;
    for (uint32_t step = 0; step < PRICE_STEPS; step++) { /* too low is too many tokens */
        uint64_t middle = (low + high) / 2;
        judge(p, code_bits, middle);
        if (fits(p, code_bits))
            high = middle;
        else
            low = middle;
    }
    bits = judge(p, code_bits, high);
    return fits(p, code_bits) ? bits : UINT64_MAX;
}

/* Marks the tokens to keep at the width that promises the smallest file. Returns its bytes. */
static uint64_t judge_widths(pruning *p) {
    uint64_t least = UINT64_MAX;
    for (uint32_t code_bits = 16; code_bits >= 1; code_bits--) {
        uint64_t bits = judge_for_width(p, code_bits);
        if (bits >= least) continue;
        least = bits;
        memcpy(p->best_keep, p->keep, p->model->tokens.count);
    }
    return least / 8;
}

/* ---------------------------------------------------------------- the rounds */

/* Counts, and returns the bytes that the dictionary, codes and sidecars take in the file. */
static uint64_t true_size(pruning *p) {
    const fp_tokens *tokens = &p->model->tokens;
    const uint32_t alignment = p->settings->alignment;
    uint8_t has_length[FP_MAX_TOKEN + 1] = {0};
    uint64_t dictionary = fp_align(FP_DICT_HEADER, alignment), token_bits = 0, size = 0;
    count_tokens(p);
    memcpy(p->credited, p->occurs, tokens->count * sizeof *p->credited);
    for (uint32_t id = 0; id < tokens->count; id++) {
        p->keep[id] = p->occurs[id] != 0;
        if (!p->keep[id]) continue;
        token_bits += bits_of(p, id);
        dictionary += has_length[tokens->lengths[id]] ? 0 : FP_RUN_ENTRY;
        has_length[tokens->lengths[id]] = 1;
    }
    uint32_t code_bits = 1;
    while (code_bits < 16 && !fits(p, code_bits)) code_bits++;
    const fp_packing packing = fp_packing_for(p->settings, code_bits, tokens->max_token);
    for (uint32_t i = 0; i < p->count; i++) {
        const uint64_t codes = p->drafts[i].parsed.codes;
        size +=
            fp_align(fp_packed_size(codes, code_bits), alignment) +
            fp_align(fp_sidecar_size(codes, packing.batch_codes, packing.group_batches), alignment);
    }
    return size + fp_align(dictionary + token_bits / 8, alignment);
}

/* A copy of the model's tokens: those marked in best_keep, or all. */
static fastpair_status copy_tokens(const pruning *p, int all, fp_tokens *copy,
                                   fastpair_error *error) {
    const fp_tokens *tokens = &p->model->tokens;
    fastpair_status status = fp_tokens_open(copy, tokens->max_token, &p->model->allocator, error);
    for (uint32_t id = 256; id < tokens->count && !status; id++)
        if (all || p->best_keep[id]) fp_tokens_add(copy, fp_token(tokens, id), tokens->lengths[id]);
    return status;
}

/* Exchanges the model's tokens for others, and parses all drafts with these. */
static fastpair_status exchange_tokens(pruning *p, fp_tokens *tokens, fastpair_error *error) {
    fastpair_dictionary *model = p->model;
    fp_matcher *matcher;
    fastpair_status status = fp_matcher_open(tokens, &model->allocator, &matcher, error);
    if (status) return status;
    fp_matcher_close(model->matcher, &model->allocator);
    model->matcher = matcher;
    fp_tokens before = model->tokens;
    model->tokens = *tokens;
    *tokens = before;
    for (uint32_t i = 0; i < p->count; i++) {
        fp_draft_parse(&p->drafts[i], model, p->settings);
        if (p->drafts[i].status) return fp_draft_failure(&p->drafts[i], error);
    }
    return FASTPAIR_OK;
}

/* Drops tokens, in rounds, for as long as the size shrinks. *size is the size before and after. */
static fastpair_status drop_in_rounds(pruning *p, uint64_t wanted, uint64_t *size,
                                      fastpair_error *error) {
    const fastpair_allocator *allocator = &p->model->allocator;
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t round = 0; round < ROUNDS && p->model->tokens.count > 256 && !status; round++) {
        fp_tokens others = {0};
        status = fp_token_pieces_open(&p->model->tokens, p->model->matcher, allocator, &p->pieces,
                                      error);
        if (status) break;
        uint64_t promised = judge_widths(p);
        fp_token_pieces_close(&p->pieces, allocator);
        if (promised >= *size || promised > wanted) break;
        status = copy_tokens(p, 0, &others, error);
        if (!status) status = exchange_tokens(p, &others, error);
        uint64_t now = status ? 0 : true_size(p);
        int is_worse = !status && now >= *size;
        if (is_worse) status = exchange_tokens(p, &others, error); /* back again */
        fp_tokens_close(&others, allocator);
        if (is_worse) break;
        *size = now;
    }
    return status;
}

fastpair_status fp_prune_small(fastpair_dictionary *model, fp_draft *drafts, uint32_t count,
                               double worth, const fp_settings *settings, fastpair_error *error) {
    pruning p = {.model = model, .drafts = drafts, .count = count, .settings = settings};
    fp_tokens all = {0};
    fastpair_status status = open_pruning(&p, &model->allocator, error);
    if (status) return status;
    uint64_t size = true_size(&p), wanted = (uint64_t)((double)size / worth);
    if (!(status = copy_tokens(&p, 1, &all, error)) &&
        !(status = drop_in_rounds(&p, wanted, &size, error)) && size > wanted)
        status = exchange_tokens(&p, &all, error);
    fp_tokens_close(&all, &model->allocator);
    close_pruning(&p, &model->allocator);
    return status;
}
