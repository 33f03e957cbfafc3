/* auto.c - choosing a codec. In: rows. Out: a codec with its parameters, and a sample to train it
 * on. The trick: each candidate is trained on three quarters of a sample and judged on the rest. So
 * no dictionary is credited for what it has learned by heart. The rule is the one fastpair.h states
 * for each goal; sizes and rates are estimates for the whole column. Refuses nothing. */
#include "auto.h"

#include "pack.h"
#include "parse.h"
#include "sidecar.h"

/* Bytes that candidates are compared on. */
#define COMPARED_BYTES (8u << 20)
/* The length of a stream is unknown; a dictionary is then spread over this much. */
#define UNKNOWN_COLUMN_BYTES (256u << 20)

const fp_codec_choice fp_auto_candidates[FP_CANDIDATES] = {
    {FASTPAIR_CODEC_ONPAIR, 16, 16},
    {FASTPAIR_CODEC_ONPAIR, 12, 16},
    {FASTPAIR_CODEC_ONPAIR, 14, 8},
    {FASTPAIR_CODEC_FSST12, 12, 8},
};

/* A sample in two parts: pieces before `train_pieces` to train on, the others to judge by. */
typedef struct codec_contest {
    const fp_sample *sample;
    const uint64_t *offsets; /* of all pieces */
    uint64_t train_pieces;
    uint64_t column_bytes;
    const fp_settings *settings;
    uint16_t *ids; /* room for the sample's */
} codec_contest;

typedef struct estimate {
    double size; /* bytes of the whole column */
    double rate; /* decoded GB/s on a Hopper GPU */
} estimate;

/* The decode rate to expect: codes per nanosecond by what the dictionary costs to look up, but no
 * more than reading codes and writing bytes takes at 86 % of 4.2 TB/s. Measured on an H200;
 * docs/lab/training.md has the table. */
static double estimate_rate(fp_codec_choice choice, double mean_token, double ratio) {
    double codes = choice.code_bits > 14   ? 250 /* most of the dictionary in L2 */
                   : choice.max_token > 8  ? 500 /* 16-byte tokens in shared memory */
                   : choice.code_bits > 12 ? 560 /* 8-byte tokens, up to 128 KiB of them */
                                           : 640;
    double lookups = codes * mean_token, memory = 0.86 * 4200 / (1 + 1 / ratio);
    return lookups < memory ? lookups : memory;
}

static fastpair_status estimate_candidate(const codec_contest *contest, fp_codec_choice choice,
                                          estimate *result, fastpair_error *error) {
    const fp_sample *sample = contest->sample;
    const uint64_t *offsets = contest->offsets, train_pieces = contest->train_pieces;
    fp_sample part = *sample;
    part.pieces = train_pieces;
    part.size = offsets[train_pieces];
    fastpair_dictionary *model;
    fastpair_status status = fp_model_train(&part, choice, contest->settings, &model, error);
    if (status) return status;
    uint64_t bytes = offsets[sample->pieces] - offsets[train_pieces];
    uint64_t codes = fp_parse_rows(model->matcher, sample->bytes, offsets + train_pieces,
                                   sample->pieces - train_pieces, contest->ids);
    uint64_t token_bytes = fp_model_token_bytes(model);
    fp_model_close(model);
    double coded = (double)(fp_packed_size(codes, choice.code_bits) +
                            fp_sidecar_size(codes, contest->settings->batch_codes));
    double column = (double)contest->column_bytes;
    result->size = coded * column / (double)bytes + (double)token_bytes;
    result->rate = estimate_rate(choice, (double)bytes / (double)codes, column / result->size);
    return FASTPAIR_OK;
}

static fp_codec_choice pick(const estimate *estimates, fastpair_goal goal, double column_bytes) {
    unsigned smallest = 0, best = 0;
    for (unsigned i = 1; i < FP_CANDIDATES; i++)
        if (estimates[i].size < estimates[smallest].size) smallest = i;
    if (goal == FASTPAIR_GOAL_RATIO) return fp_auto_candidates[smallest];
    double limit =
        goal == FASTPAIR_GOAL_SPEED ? column_bytes : estimates[smallest].size * FP_BALANCED_SIZE;
    best = smallest;
    for (unsigned i = 0; i < FP_CANDIDATES; i++)
        if (estimates[i].size <= limit && estimates[i].rate > estimates[best].rate) best = i;
    return fp_auto_candidates[best];
}

/* Chooses a codec for the sample by settings->goal. */
static fastpair_status choose_codec(const fp_sample *sample, const fp_settings *settings,
                                    uint64_t column_bytes, fp_codec_choice *choice,
                                    fastpair_error *error) {
    const fastpair_allocator *allocator = &settings->allocator;
    uint64_t *offsets = fp_sample_offsets(sample, allocator);
    uint16_t *ids = fp_allocate(allocator, sample->size, sizeof *ids);
    codec_contest contest = {.sample = sample,
                             .offsets = offsets,
                             .column_bytes = column_bytes ? column_bytes : UNKNOWN_COLUMN_BYTES,
                             .settings = settings,
                             .ids = ids};
    fastpair_status status = FASTPAIR_OK;
    *choice = fp_auto_candidates[1];
    if (!offsets || !ids) {
        status = fp_fail_memory(error, sample->size * sizeof *ids);
    } else {
        while (contest.train_pieces < sample->pieces &&
               offsets[contest.train_pieces + 1] <= sample->size / 4 * 3)
            contest.train_pieces++;
        estimate estimates[FP_CANDIDATES];
        /* One piece, or none, leaves nothing to judge by: keep the 12-bit default. */
        int can_judge = contest.train_pieces > 0 && contest.train_pieces < sample->pieces;
        for (unsigned i = 0; i < FP_CANDIDATES && can_judge && !status; i++)
            status = estimate_candidate(&contest, fp_auto_candidates[i], &estimates[i], error);
        if (can_judge && !status)
            *choice = pick(estimates, settings->goal, (double)contest.column_bytes);
    }
    fp_release(allocator, offsets);
    fp_release(allocator, ids);
    return status;
}

fastpair_status fp_auto_sample(const fastpair_rows *rows, const fp_settings *settings,
                               uint64_t column_bytes, fp_sample *sample, fp_codec_choice *choice,
                               fastpair_error *error) {
    const fastpair_allocator *allocator = &settings->allocator;
    const uint64_t seed = settings->seed, wanted = settings->sample_bytes;
    fastpair_status status;
    fp_codec_choice chosen = settings->choice;
    if (chosen.codec == FASTPAIR_CODEC_AUTO) {
        uint64_t cap = wanted && wanted < COMPARED_BYTES ? wanted : COMPARED_BYTES;
        if ((status = fp_sample_open(rows, cap, seed, allocator, sample, error))) return status;
        status = choose_codec(sample, settings, column_bytes, &chosen, error);
        fp_sample_close(sample, allocator);
        if (status) return status;
    }
    *choice = chosen;
    uint64_t cap = wanted ? wanted : fp_sample_default(chosen.codec, chosen.code_bits);
    return fp_sample_open(rows, cap, seed, allocator, sample, error);
}

fastpair_status fp_auto_train(const fastpair_rows *rows, fp_settings *settings,
                              uint64_t column_bytes, fastpair_dictionary **model,
                              fastpair_error *error) {
    fp_sample sample;
    *model = NULL;
    fastpair_status status =
        fp_auto_sample(rows, settings, column_bytes, &sample, &settings->choice, error);
    if (status) return status;
    status = fp_model_train(&sample, settings->choice, settings, model, error);
    fp_sample_close(&sample, &settings->allocator);
    return status;
}
