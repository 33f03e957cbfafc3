/* auto.c - choosing a codec. In: rows. Out: a codec with its parameters, and a sample to train it
 * on. The trick: each candidate is trained on the first part of a sample and judged on the last. So
 * no dictionary is credited for what it has learned by heart. What counts is the cost of
 * estimate.h, for the whole column. Refuses nothing. */
#include "auto.h"

#include "estimate.h"
#include "frame.h"
#include "pack.h"
#include "parse.h"
#include "sidecar.h"

/* Bytes that candidates are compared on, and the share of it, one in so many, that judges. The rest is
 * for training: wide codes need much of it, or they are thought little of. */
#define COMPARED_BYTES (16u << 20)
#define JUDGES         8u
/* A candidate must cost less than this share of the best one before it: estimates are not better than
 * that, and earlier ones are faster to decode. */
#define CLEARLY_LESS 0.99
/* Long tokens cannot gain much where tokens of up to 16 bytes have fewer bytes on average. */
#define LEAST_LONG_MEAN 4.0
/* The length of a stream is unknown; a dictionary is then spread over this much. */
#define UNKNOWN_COLUMN_BYTES (256u << 20)

/* Candidates are compared at no higher level: what is best at this one is best, or nearly, at the
 * others. A lower one would not do: it has no plan for words (train_levels.c), and misjudges. */
#define COMPARED_LEVEL 3u

#define BALANCED (1u << FASTPAIR_GOAL_BALANCED)
#define RATIO    (1u << FASTPAIR_GOAL_RATIO)
#define SPEED    (1u << FASTPAIR_GOAL_SPEED)

/* In the order in which they are tried: a codec with longer tokens right after the same with shorter
 * ones. Cold files have room for long tokens at any width, as zstd squeezes a dictionary to a third. */
const fp_candidate fp_auto_candidates[FP_CANDIDATES] = {
    {{FASTPAIR_CODEC_ONPAIR, 12, 16}, BALANCED | RATIO | SPEED, 0},
    {{FASTPAIR_CODEC_ONPAIR, 12, 32}, BALANCED | RATIO, 0},
    {{FASTPAIR_CODEC_ONPAIR, 12, 64}, BALANCED | RATIO, 1},
    {{FASTPAIR_CODEC_ONPAIR, 14, 16}, BALANCED | RATIO, 0},
    {{FASTPAIR_CODEC_ONPAIR, 14, 64}, 0, 1},
    {{FASTPAIR_CODEC_ONPAIR, 16, 16}, BALANCED | RATIO, 0},
    {{FASTPAIR_CODEC_ONPAIR, 16, 64}, 0, 1},
    {{FASTPAIR_CODEC_ONPAIR, 14, 8}, RATIO | SPEED, 0},
    {{FASTPAIR_CODEC_FSST12, 12, 8}, RATIO | SPEED, 0},
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

/* What is left of a dictionary once it is cold, as seen on the columns of docs/lab/cold.md. */
#define COLD_TOKEN_SHARE 0.4

/* The size of a cold file: what a frame of the judges' ids has, for the whole column. Ends of rows are
 * left out, as they cost all candidates the same. */
static fastpair_status estimate_cold(const codec_contest *contest, uint64_t codes, uint64_t bytes,
                                     uint64_t token_bytes, double *size, fastpair_error *error) {
    const fastpair_allocator *allocator = &contest->settings->allocator;
    uint64_t written = 0;
    fp_frame_writer frames = {0};
    uint8_t *frame = fp_allocate(allocator, fp_frame_bound(2 * codes), 1);
    fastpair_status status =
        frame ? fp_frame_writer_open(&frames, allocator) : FASTPAIR_ERROR_OUT_OF_MEMORY;
    if (!status)
        status = fp_frame_write(&frames, fp_frame_style_of(contest->settings->level), contest->ids,
                                2 * codes, frame, &written);
    fp_frame_writer_close(&frames);
    fp_release(allocator, frame);
    if (status) return fp_fail_memory(error, 2 * codes);
    *size = (double)written * (double)contest->column_bytes / (double)bytes +
            (double)token_bytes * COLD_TOKEN_SHARE;
    return FASTPAIR_OK;
}

/* Size counts, and half as much the time to read, which goes with the number of words: a frame is
 * unpacked word by word. */
static double cold_cost(const fp_estimate *of) { return of->size * of->size / of->mean_token; }

static fastpair_status estimate_candidate(const codec_contest *contest, fp_codec_choice choice,
                                          fp_estimate *result, fastpair_error *error) {
    const fp_sample *sample = contest->sample;
    const uint64_t *offsets = contest->offsets, train_pieces = contest->train_pieces;
    const uint64_t cap =
        fp_sample_default(choice.codec, choice.code_bits, contest->settings->level);
    fp_sample part = *sample;
    part.pieces = 0;
    while (part.pieces < train_pieces && offsets[part.pieces] < cap) part.pieces++;
    part.size = offsets[part.pieces];
    fastpair_dictionary *model;
    fp_settings settings = *contest->settings;
    if (settings.level > COMPARED_LEVEL) settings.level = COMPARED_LEVEL;
    fastpair_status status = fp_model_train(&part, choice, &settings, &model, error);
    if (status) return status;
    /* What a frame saves grows with what it has seen, so for cold files all pieces judge. */
    const uint64_t judge = settings.cold ? 0 : train_pieces;
    uint64_t bytes = offsets[sample->pieces] - offsets[judge];
    uint64_t codes = fp_parse_rows(model->matcher, sample->bytes, offsets + judge,
                                   sample->pieces - judge, contest->ids);
    uint64_t token_bytes =
        settings.cold ? fp_model_token_bytes(model) : fp_model_folded_bytes(model);
    fp_model_close(model);
    if (settings.cold) {
        *result = (fp_estimate){.bytes = (double)contest->column_bytes,
                                .mean_token = (double)bytes / (double)codes};
        return estimate_cold(contest, codes, bytes, token_bytes, &result->size, error);
    }
    fp_packing packing = fp_packing_for(contest->settings, choice.code_bits, choice.max_token);
    double coded = (double)(fp_packed_size(codes, choice.code_bits) +
                            fp_sidecar_size(codes, packing.batch_codes, packing.group_batches));
    double column = (double)contest->column_bytes;
    *result = (fp_estimate){.size = coded * column / (double)bytes + (double)token_bytes,
                            .bytes = column,
                            .mean_token = (double)bytes / (double)codes};
    return FASTPAIR_OK;
}

/* Longer tokens are not worth a try where shorter ones are few or gained nothing: `before` are the
 * estimates of the candidates before it. */
static int is_hopeless(const fp_estimate *before, unsigned candidate) {
    const fp_codec_choice *choice = &fp_auto_candidates[candidate].choice;
    if (choice->max_token == 32) return before[candidate - 1].mean_token < LEAST_LONG_MEAN;
    return choice->max_token == 64 && (!before[candidate - 1].bytes ||
                                       before[candidate - 1].size > before[candidate - 2].size);
}

/* Random letters repeat nothing, and no token of several letters saves what it takes. Where all bytes
 * together fit codes of so few bits that packed letters are clearly smaller than whatever the candidates
 * make of the sample, nothing else is learned. Packed codes are read several times as fast as zstd reads
 * a frame of the text, which has about the same size. */
static int are_letters(const codec_contest *contest, double least_size) {
    const fp_sample *sample = contest->sample;
    uint8_t occurs[256] = {0};
    uint32_t letters = 0, bits = 0;
    for (uint64_t i = 0; i < sample->size; i++) occurs[sample->bytes[i]] = 1;
    for (uint32_t byte = 0; byte < 256; byte++) letters += occurs[byte];
    while (1u << bits < letters) bits++;
    return (double)contest->column_bytes * bits / 8 < least_size * CLEARLY_LESS;
}

/* The size of a chunk's codes that stays warm in a cold file. */
static double packed_size(fp_codec_choice choice, const fp_estimate *of) {
    return of->bytes / of->mean_token * choice.code_bits / 8;
}

/* The candidate of the least cost. */
static fastpair_status hold_contest(const codec_contest *contest, fp_codec_choice *choice,
                                    fastpair_error *error) {
    const fastpair_goal goal = contest->settings->goal;
    fp_estimate estimates[FP_CANDIDATES] = {{0}};
    double least = 0, least_size = (double)contest->column_bytes;
    for (unsigned i = 0; i < FP_CANDIDATES; i++) {
        const fp_candidate *candidate = &fp_auto_candidates[i];
        if (!fp_candidate_serves(candidate, contest->settings)) continue;
        if (!contest->settings->cold && is_hopeless(estimates, i)) continue;
        fastpair_status status =
            estimate_candidate(contest, candidate->choice, &estimates[i], error);
        if (status) return status;
        double cost = contest->settings->cold
                          ? cold_cost(&estimates[i])
                          : fp_estimate_cost(goal, candidate->choice, &estimates[i]);
        if (!least || cost < least * CLEARLY_LESS) {
            least = cost;
            *choice = candidate->choice;
        }
        double packed = packed_size(candidate->choice, &estimates[i]);
        if (packed > estimates[i].size) packed = estimates[i].size;
        if (packed < least_size) least_size = packed;
    }
    if (contest->settings->cold && are_letters(contest, least_size))
        *choice = (fp_codec_choice){FASTPAIR_CODEC_ONPAIR, FP_LETTER_BITS, 8};
    return FASTPAIR_OK;
}

fastpair_status fp_auto_choose(const fp_sample *sample, const fp_settings *settings,
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
    *choice = fp_auto_candidates[0].choice;
    if (!offsets || !ids) {
        status = fp_fail_memory(error, sample->size * sizeof *ids);
    } else {
        while (contest.train_pieces < sample->pieces &&
               offsets[contest.train_pieces + 1] <= sample->size / JUDGES * (JUDGES - 1))
            contest.train_pieces++;
        /* One piece, or none, leaves nothing to judge by: keep the 12-bit default. */
        if (contest.train_pieces > 0 && contest.train_pieces < sample->pieces)
            status = hold_contest(&contest, choice, error);
    }
    fp_release(allocator, offsets);
    fp_release(allocator, ids);
    return status;
}

uint64_t fp_auto_cap(const fp_settings *settings) {
    const fp_codec_choice *choice = &settings->choice;
    const uint64_t wanted = settings->sample_bytes;
    if (choice->codec == FASTPAIR_CODEC_AUTO)
        return wanted && wanted < COMPARED_BYTES ? wanted : COMPARED_BYTES;
    return wanted ? wanted : fp_sample_default(choice->codec, choice->code_bits, settings->level);
}

fastpair_status fp_auto_train(const fastpair_rows *rows, fp_settings *settings,
                              uint64_t column_bytes, fastpair_dictionary **model,
                              fastpair_error *error) {
    const fastpair_allocator *allocator = &settings->allocator;
    fp_sample sample;
    fastpair_status status = FASTPAIR_OK;
    *model = NULL;
    while (!status && !*model) {
        int chooses = settings->choice.codec == FASTPAIR_CODEC_AUTO;
        status =
            fp_sample_open(rows, fp_auto_cap(settings), settings->seed, allocator, &sample, error);
        if (status) break;
        status = chooses ? fp_auto_choose(&sample, settings, column_bytes, &settings->choice, error)
                         : fp_model_train(&sample, settings->choice, settings, model, error);
        fp_sample_close(&sample, allocator);
    }
    return status;
}
