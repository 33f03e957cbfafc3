/* writer_small.c - the best codec of a small column. In: drafts of the whole column. Out: the model
 * in force, the drafts parsed with it. The trick: estimates are for columns that are too large to
 * try everything. Here each candidate is trained, pruned and measured on the column itself. Refuses
 * nothing but a lack of memory. */
#include "writer_private.h"

#include "auto.h"
#include "estimate.h"
#include "pack.h"
#include "prune.h"
#include "sidecar.h"

static uint64_t aligned_draft_size(const fp_draft *draft, int coded, fp_packing packing,
                                   uint32_t alignment) {
    const uint64_t codes = draft->parsed.codes;
    if (!coded) return fp_align(fp_chunk_rows_bytes(&draft->rows), alignment);
    return fp_align(fp_packed_size(codes, packing.code_bits), alignment) +
           fp_align(fp_sidecar_size(codes, packing.batch_codes, packing.group_batches), alignment);
}

/* The bytes of dictionary, codes, sidecars and stored chunks that the writer will make of the
 * drafts. The rest of the file is the same whatever the model. */
static fastpair_status measure_file(const fp_flight *flight, const fastpair_dictionary *model,
                                    const fp_settings *settings, fp_estimate *measured,
                                    fastpair_error *error) {
    const fastpair_allocator *allocator = &settings->allocator;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    if (!counts) return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *counts);
    uint64_t saved = 0, coded = 0, stored = 0, bytes = 0, codes = 0;
    for (uint32_t i = 0; i < flight->count; i++)
        fp_parsed_add_counts(&flight->drafts[i].parsed, counts);
    fp_number_input input = {.tokens = &model->tokens,
                             .counts = counts,
                             .coverage = FP_COVER_USED,
                             .hot_codes = settings->hot_codes};
    fp_numbering *numbering;
    fastpair_status status = fp_numbering_open(&input, allocator, &numbering, error);
    fp_release(allocator, counts);
    if (status) return status;
    const fp_packing packing =
        fp_packing_for(settings, numbering->dict.code_bits, numbering->dict.max_token);
    fp_buffer block = {0};
    status = fp_dict_build(&numbering->dict, settings->alignment, allocator, &block, error);
    const uint64_t dictionary = block.size;
    fp_buffer_close(&block, allocator);
    fp_numbering_close(numbering, allocator);
    if (status) return status;
    for (uint32_t i = 0; i < flight->count; i++) {
        const fp_draft *draft = &flight->drafts[i];
        uint64_t saves = fp_draft_saving(draft, packing);
        saved += saves;
        coded += aligned_draft_size(draft, saves > 0, packing, settings->alignment);
        bytes += fp_chunk_rows_bytes(&draft->rows);
        codes += draft->parsed.codes;
        stored += aligned_draft_size(draft, 0, packing, settings->alignment);
    }
    measured->size = (double)(saved > dictionary ? coded + dictionary : stored);
    measured->bytes = (double)bytes;
    measured->mean_token = codes ? (double)bytes / (double)codes : 1;
    return FASTPAIR_OK;
}

/* Parses all drafts with a model. */
static fastpair_status parse_all(fp_flight *flight, const fastpair_dictionary *model,
                                 const fp_settings *settings, fastpair_error *error) {
    fp_flight_forget(flight, 0, flight->count);
    return fp_flight_parse(flight, flight->count, model, settings, error);
}

/* With fewer tokens than this in 12-bit codes there is nothing for wider ones to hold, and no time is
 * wasted on them, unless every byte counts. */
#define MANY_TOKENS 3072u

/* What came of a codec. */
typedef struct trial {
    fastpair_dictionary *model; /* NULL: it failed */
    uint32_t tokens;            /* before pruning */
    double cost;                /* what the goal counts */
} trial;

/* Trains the codec of settings->choice on the drafts' rows, prunes, and measures. */
static fastpair_status try_codec(fp_flight *flight, fp_settings *settings, trial *result,
                                 fastpair_error *error) {
    const double worth = settings->goal == FASTPAIR_GOAL_RATIO ? 1 : FP_BALANCED_SIZE;
    fastpair_rows rows = fp_flight_rows(flight, 0, flight->count);
    fp_estimate measured = {0};
    fastpair_dictionary *model;
    *result = (trial){.model = NULL};
    fastpair_status status = fp_auto_train(&rows, settings, 0, &model, error);
    if (status) return status;
    result->tokens = model->tokens.count;
    status = parse_all(flight, model, settings, error);
    if (!status)
        status = fp_prune_small(model, flight->drafts, flight->count, worth, settings, error);
    if (!status) status = measure_file(flight, model, settings, &measured, error);
    if (status) {
        fp_model_close(model);
        return status;
    }
    result->model = model;
    result->cost = fp_estimate_cost(settings->goal, settings->choice, &measured);
    return FASTPAIR_OK;
}

fastpair_status fp_writer_try_all(fastpair_writer *writer, fastpair_error *error) {
    fp_flight *flight = &writer->flight;
    fp_settings settings = writer->settings;
    trial best = {.model = NULL};
    uint32_t narrow_tokens = 0;
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t i = 0; i < FP_CANDIDATES && !status; i++) {
        const fp_candidate *candidate = &fp_auto_candidates[i];
        if (!fp_candidate_serves(candidate, &settings)) continue;
        if (settings.goal != FASTPAIR_GOAL_RATIO && candidate->choice.code_bits > 12 &&
            narrow_tokens < MANY_TOKENS)
            continue;
        trial now;
        settings.choice = candidate->choice;
        status = try_codec(flight, &settings, &now, error);
        if (candidate->choice.code_bits == 12 && now.tokens > narrow_tokens)
            narrow_tokens = now.tokens;
        if (!status && (!best.model || now.cost < best.cost)) {
            fp_model_close(best.model);
            best = now;
        } else {
            fp_model_close(now.model);
        }
    }
    if (!status) status = parse_all(flight, best.model, &settings, error);
    writer->regimes.present.model = best.model;
    if (best.model) writer->settings.choice = best.model->choice;
    return status;
}
