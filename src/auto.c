/* auto.c - choosing a codec. In: a sample. Out: a codec with its parameters. Each candidate is trained on three quarters
 * of the sample and judged on the rest, so that a dictionary is not credited for what it has learned by heart. The rule is
 * the one fastpair.h states for each goal; sizes and rates are estimates for the whole column. */
#include "model.h"
#include "pack.h"
#include "sidecar.h"

/* What training an automatic choice may look at, in all. */
#define AUTO_SAMPLE (8u << 20)
/* For a stream nobody knows the length; a dictionary is then spread over this much. */
#define AUTO_UNKNOWN_COLUMN (256u << 20)
/* "balanced" gives up at most this much size for speed. */
#define AUTO_BALANCED_SIZE 1.25

static const fp_codec_choice candidates[] = {
    {FASTPAIR_CODEC_ONPAIR, 16, 16},
    {FASTPAIR_CODEC_ONPAIR, 12, 16},
    {FASTPAIR_CODEC_ONPAIR, 14, 8},
    {FASTPAIR_CODEC_FSST12, 12, 8},
};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

typedef struct estimate {
    double size; /* bytes for the whole column */
    double rate; /* decoded GB/s on a Hopper GPU */
} estimate;

/* The decode rate to expect, from measurements on an H200 (docs/format.md does not depend on it): codes per nanosecond
 * by what the dictionary costs to look up, under the ceiling of reading codes and writing bytes at 86 % of 4.2 TB/s. */
static double estimate_rate(fp_codec_choice choice, double mean_token, double ratio) {
    double codes = choice.code_bits > 14   ? 250 /* most of the dictionary in L2 */
                   : choice.max_token > 8  ? 500 /* 16-byte tokens in shared memory */
                   : choice.code_bits > 12 ? 560 /* 8-byte tokens, up to 128 KiB of them */
                                           : 640;
    double pipe = codes * mean_token, memory = 0.86 * 4200 / (1 + 1 / ratio);
    return pipe < memory ? pipe : memory;
}

static fastpair_status estimate_candidate(const fp_sample *sample, uint64_t train_pieces,
                                          uint64_t column_bytes, fp_codec_choice choice,
                                          const fp_settings *settings, uint64_t *offsets,
                                          uint16_t *ids, estimate *result, fastpair_error *error) {
    fp_sample part = *sample;
    part.pieces = train_pieces;
    part.size = offsets[train_pieces];
    fastpair_dictionary *model;
    fastpair_status status = fp_model_train(
        &part, choice, fp_reserves_hot(settings->hot_codes, choice.code_bits, choice.max_token),
        settings->seed, &settings->allocator, &model, error);
    if (status) return status;
    uint64_t held_out = sample->pieces - train_pieces;
    uint64_t bytes = offsets[sample->pieces] - offsets[train_pieces];
    uint64_t codes =
        fp_parse_rows(model->matcher, sample->bytes, offsets + train_pieces, held_out, ids);
    uint64_t dictionary = 0;
    for (uint32_t id = 0; id < model->tokens.count; id++) dictionary += model->tokens.lengths[id];
    fastpair_dictionary_free(model);
    double coded = (double)(fp_packed_size(codes, choice.code_bits) +
                            fp_sidecar_size(codes, settings->batch_codes));
    result->size = coded * (double)column_bytes / (double)bytes + (double)dictionary;
    result->rate =
        estimate_rate(choice, (double)bytes / (double)codes, (double)column_bytes / result->size);
    return FASTPAIR_OK;
}

static fp_codec_choice pick(const estimate *estimates, fastpair_goal goal, double raw) {
    unsigned smallest = 0, best = 0;
    for (unsigned i = 1; i < CANDIDATES; i++)
        if (estimates[i].size < estimates[smallest].size) smallest = i;
    if (goal == FASTPAIR_GOAL_RATIO) return candidates[smallest];
    double limit =
        goal == FASTPAIR_GOAL_SPEED ? raw : estimates[smallest].size * AUTO_BALANCED_SIZE;
    best = smallest;
    for (unsigned i = 0; i < CANDIDATES; i++)
        if (estimates[i].size <= limit && estimates[i].rate > estimates[best].rate) best = i;
    return candidates[best];
}

fastpair_status fp_auto_choose(const fp_sample *sample, const fp_settings *settings,
                               uint64_t column_bytes, fp_codec_choice *choice,
                               fastpair_error *error) {
    *choice = candidates[1];
    if (!column_bytes) column_bytes = AUTO_UNKNOWN_COLUMN;
    const fastpair_allocator *allocator = &settings->allocator;
    uint64_t *offsets = fp_allocate(allocator, sample->pieces + 1, sizeof *offsets);
    uint16_t *ids = fp_allocate(allocator, sample->size, sizeof *ids);
    fastpair_status status = FASTPAIR_OK;
    if (!offsets || !ids) {
        status = fp_fail_memory(error, sample->size * sizeof *ids);
    } else {
        uint64_t train_pieces = 0;
        offsets[0] = 0;
        for (uint64_t i = 0; i < sample->pieces; i++) {
            offsets[i + 1] = offsets[i] + sample->lengths[i];
            if (offsets[i + 1] <= sample->size / 4 * 3) train_pieces = i + 1;
        }
        estimate estimates[CANDIDATES];
        /* One piece, or none, leaves nothing to judge by: keep the 12-bit default. */
        int judge = train_pieces > 0 && train_pieces < sample->pieces;
        for (unsigned i = 0; i < CANDIDATES && judge && !status; i++)
            status = estimate_candidate(sample, train_pieces, column_bytes, candidates[i], settings,
                                        offsets, ids, &estimates[i], error);
        if (judge && !status) *choice = pick(estimates, settings->goal, (double)column_bytes);
    }
    fp_release(allocator, offsets);
    fp_release(allocator, ids);
    return status;
}

fastpair_status fp_sample_for(const fastpair_rows *rows, const fp_settings *settings,
                              uint64_t column_bytes, fp_sample *sample, fp_codec_choice *choice,
                              fastpair_error *error) {
    const fastpair_allocator *allocator = &settings->allocator;
    fastpair_status status;
    fp_codec_choice chosen = settings->choice;
    if (chosen.codec == FASTPAIR_CODEC_AUTO) {
        uint64_t cap = settings->sample_bytes && settings->sample_bytes < AUTO_SAMPLE
                           ? settings->sample_bytes
                           : AUTO_SAMPLE;
        if ((status = fp_sample_draw(rows, cap, settings->seed, allocator, sample, error)))
            return status;
        status = fp_auto_choose(sample, settings, column_bytes, &chosen, error);
        fp_sample_free(sample, allocator);
        if (status) return status;
    }
    *choice = chosen;
    uint64_t cap = settings->sample_bytes ? settings->sample_bytes
                                          : fp_sample_default(chosen.codec, chosen.code_bits);
    return fp_sample_draw(rows, cap, settings->seed, allocator, sample, error);
}
