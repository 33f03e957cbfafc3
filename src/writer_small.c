/* writer_small.c - the smallest file of a small column. In: drafts of the whole column. Out: the
 * model in force, the drafts parsed with it. The trick: estimates are for columns that are too
 * large to try everything. Here each candidate is trained, pruned and measured on the column
 * itself. Refuses nothing but a lack of memory. */
#include "writer_private.h"

#include "auto.h"
#include "pack.h"
#include "prune.h"
#include "sidecar.h"

static uint64_t aligned_draft_size(const fp_draft *draft, int coded, uint32_t code_bits,
                                   const fp_settings *settings) {
    if (!coded) return fp_align(fp_chunk_rows_bytes(&draft->rows), settings->alignment);
    return fp_align(fp_packed_size(draft->parsed.codes, code_bits), settings->alignment) +
           fp_align(fp_sidecar_size(draft->parsed.codes, settings->batch_codes),
                    settings->alignment);
}

/* The bytes of dictionary, codes, sidecars and stored chunks that the writer will make of the
 * drafts. The rest of the file is the same whatever the model. */
static fastpair_status measure_file(const fp_flight *flight, const fastpair_dictionary *model,
                                    const fp_settings *settings, uint64_t *size,
                                    fastpair_error *error) {
    const fastpair_allocator *allocator = &settings->allocator;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    if (!counts) return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *counts);
    uint64_t saved = 0, coded = 0, stored = 0;
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
    const uint32_t code_bits = numbering->dict.code_bits;
    const uint64_t dictionary = fp_dict_block_size(&numbering->dict, settings->alignment);
    fp_numbering_close(numbering, allocator);
    for (uint32_t i = 0; i < flight->count; i++) {
        const fp_draft *draft = &flight->drafts[i];
        uint64_t saves = fp_draft_saving(draft, code_bits, settings->batch_codes);
        saved += saves;
        coded += aligned_draft_size(draft, saves > 0, code_bits, settings);
        stored += aligned_draft_size(draft, 0, code_bits, settings);
    }
    *size = saved > dictionary ? coded + dictionary : stored;
    return FASTPAIR_OK;
}

/* Parses all drafts with a model. */
static fastpair_status parse_all(fp_flight *flight, const fastpair_dictionary *model,
                                 const fp_settings *settings, fastpair_error *error) {
    fp_flight_forget(flight, 0, flight->count);
    return fp_flight_parse(flight, flight->count, model, settings, error);
}

/* Trains the codec of settings->choice on the drafts' rows, prunes, and measures the file. */
static fastpair_status try_codec(fp_flight *flight, fp_settings *settings,
                                 fastpair_dictionary **model, uint64_t *size,
                                 fastpair_error *error) {
    fastpair_rows rows = fp_flight_rows(flight, 0, flight->count);
    fastpair_status status = fp_auto_train(&rows, settings, 0, model, error);
    if (!status) status = parse_all(flight, *model, settings, error);
    if (!status) status = fp_prune_small(*model, flight->drafts, flight->count, 1, settings, error);
    return status ? status : measure_file(flight, *model, settings, size, error);
}

fastpair_status fp_writer_try_all(fastpair_writer *writer, fastpair_error *error) {
    fp_flight *flight = &writer->flight;
    fp_settings settings = writer->settings;
    fastpair_dictionary *best = NULL, *model = NULL;
    uint64_t least = UINT64_MAX;
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t i = 0; i < FP_CANDIDATES && !status; i++) {
        uint64_t size = 0;
        settings.choice = fp_auto_candidates[i];
        status = try_codec(flight, &settings, &model, &size, error);
        if (!status && size < least) {
            fastpair_dictionary *worse = best;
            least = size;
            best = model;
            model = worse;
        }
        fp_model_close(model);
        model = NULL;
    }
    if (!status) status = parse_all(flight, best, &settings, error);
    writer->regimes.present.model = best;
    if (best) writer->settings.choice = best->choice;
    return status;
}
