/* prune.c - dropping unused tokens. In: a model and chunks that are parsed with it. Out: the model
 * with fewer tokens, the chunks with new ids. The trick: kept tokens close ranks, so no new id is
 * above its old one, and everything is renamed in place. Refuses nothing but a lack of memory. */
#include "prune.h"

#include <string.h>

/* Drops tokens whose count is 0 and gives the others new ids. */
static fastpair_status drop_tokens(fastpair_dictionary *model, const uint64_t *counts,
                                   uint16_t *new_id_of, fastpair_error *error) {
    fp_tokens *tokens = &model->tokens;
    uint32_t kept = 0, before = tokens->count;
    for (uint32_t id = 0; id < before; id++) {
        new_id_of[id] = (uint16_t)kept;
        if (id >= 256 && !counts[id]) continue;
        if (kept != id) fp_token_move(tokens, id, kept);
        kept++;
    }
    fp_tokens_cut(tokens, kept);
    if (kept == before) return FASTPAIR_OK;
    fp_matcher *matcher;
    fastpair_status status = fp_matcher_open(tokens, &model->allocator, &matcher, error);
    if (status) return status;
    fp_matcher_close(model->matcher, &model->allocator);
    model->matcher = matcher;
    return FASTPAIR_OK;
}

static void rename_ids(fp_draft *draft, const uint16_t *new_id_of) {
    fp_parsed *parsed = &draft->parsed;
    for (uint64_t i = 0; i < parsed->codes; i++) parsed->ids[i] = new_id_of[parsed->ids[i]];
    for (uint32_t id = 0; id < parsed->counted; id++) {
        uint32_t count = parsed->counts[id];
        parsed->counts[id] = 0;
        if (count) parsed->counts[new_id_of[id]] = count;
    }
}

fastpair_status fp_prune_unused(fastpair_dictionary *model, fp_draft *drafts, uint32_t count,
                                fastpair_error *error) {
    const fastpair_allocator *allocator = &model->allocator;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    uint16_t *new_id_of = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *new_id_of);
    uint32_t before = model->tokens.count;
    fastpair_status status;
    if (!counts || !new_id_of) {
        status = fp_fail_memory(error, FP_MAX_TOKENS * sizeof *counts);
    } else {
        for (uint32_t i = 0; i < count; i++) fp_parsed_add_counts(&drafts[i].parsed, counts);
        status = drop_tokens(model, counts, new_id_of, error);
        if (!status && model->tokens.count < before)
            for (uint32_t i = 0; i < count; i++) rename_ids(&drafts[i], new_id_of);
    }
    fp_release(allocator, counts);
    fp_release(allocator, new_id_of);
    return status;
}
