/* adapt.c - which dictionary each chunk gets. In: chunks, in units of some MiB. Out: chunks marked coded or stored, dictionary
 * blocks where they are needed. Decisions are made one unit after the other and depend on the rows alone, never on how many
 * chunks were parsed at once, so the file is the same for any number of threads.
 *
 * When the data has drifted, that is when a unit's tokens are clearly shorter than where the model was trained, the unit goes
 * back to an earlier dictionary of the file if one serves it as well as a new one would, or gets a new one if that pays. */
#include "writer_private.h"

/* A unit this much below the model's bytes per code is worth a try at a new model... */
#define DRIFT_RATE 0.92
/* ...which must make the unit at least this much smaller, the dictionary's cost spread over the units to come. */
#define DRIFT_GAIN   0.95
#define DRIFT_SPREAD 8
/* A model that saves less than this part of a unit is of little use: then a new one is tried too. */
#define DRIFT_LITTLE_USE 4
/* Units to wait after a new model did not pay: twice as many each time, at most this many; and the least bytes worth
 * training on. */
#define DRIFT_MOST_WAIT   32
#define DRIFT_LEAST_BYTES (256u << 10)
/* The same for looking at earlier models although there is no drift: the model may do as well as ever where an earlier one
 * does much better. */
#define PROBE_MOST_WAIT 16
/* An earlier model must make a unit at least this much smaller, since less would be noise; after drift this much. A new model
 * must be better than an earlier one by its whole dictionary, not the spread cost alone, as data that comes back will go
 * again; but for the difference this part of the unit is enough. */
#define RETURN_GAIN       0.97
#define RETURN_GAIN_DRIFT 0.99
#define RETURN_MARGIN     0.03
/* An earlier model that reaches what it did where it was trained, give or take this part or half its dictionary, has met the
 * same data again: no need to train. */
#define AT_HOME_MARGIN 0.01

const fastpair_dictionary *fp_writer_model(const fastpair_writer *writer) {
    return writer->regimes.present.model ? writer->regimes.present.model
                                         : writer->settings.dictionary;
}

fastpair_status fp_adapt_train(fastpair_writer *writer, fastpair_error *error) {
    if (writer->trained) return FASTPAIR_OK;
    writer->trained = 1;
    if (writer->settings.choice.codec == FASTPAIR_CODEC_STORED || writer->settings.dictionary)
        return FASTPAIR_OK;
    fastpair_rows rows = {.rows = writer->pending.rows,
                          .bytes = writer->pending.bytes.data,
                          .offsets = fp_pending_offsets(&writer->pending)};
    return fp_model_from_rows(&rows, &writer->settings, writer->column_bytes,
                              &writer->regimes.present.model, error);
}

/* ---------------------------------------------------------------- units */

/* A group on its way: chunks before `done` are written, chunks before `parsed` are parsed with the present model. */
typedef struct fp_group {
    uint32_t count, done, parsed;
    uint32_t ahead; /* chunks to parse at once */
} fp_group;

/* Some chunks taken together. */
typedef struct fp_unit {
    fastpair_rows rows;
    uint64_t bytes, codes, saved;
} fp_unit;

static fp_unit unit_of(const fastpair_writer *writer, uint32_t from, uint32_t to) {
    const fp_regime *present = &writer->regimes.present;
    uint32_t bits =
        present->numbering ? present->numbering->dict.code_bits : present->model->choice.code_bits;
    fp_unit unit = {
        .rows = {.bytes = writer->jobs[from].bytes, .offsets = writer->jobs[from].offsets}};
    for (uint32_t j = from; j < to; j++) {
        const fp_job *job = &writer->jobs[j];
        unit.rows.rows += job->rows;
        unit.bytes += fp_job_bytes(job);
        unit.codes += job->codes;
        unit.saved += fp_chunk_saving(job, bits, writer->settings.batch_codes);
    }
    return unit;
}

static double bytes_per_code(const fp_unit *unit) {
    return unit->codes ? (double)unit->bytes / (double)unit->codes : 0;
}

/* Whether another model is worth a try: the tokens are clearly shorter than where the model was trained, or the model is of
 * little use for these rows anyway. */
static int has_drifted(const fastpair_writer *writer, const fp_unit *unit) {
    if (unit->bytes < DRIFT_LEAST_BYTES) return 0;
    return bytes_per_code(unit) < DRIFT_RATE * writer->regimes.present.bytes_per_code ||
           unit->saved < unit->bytes / DRIFT_LITTLE_USE;
}

static void wait_longer(uint32_t *wait, uint32_t *units_left, uint32_t most) {
    *wait = *wait ? 2 * *wait : 2;
    if (*wait > most) *wait = most;
    *units_left = *wait;
}

static fastpair_status parse_until(fastpair_writer *writer, fp_group *group, uint32_t end,
                                   fastpair_error *error) {
    if (end <= group->parsed) return FASTPAIR_OK;
    uint32_t from = group->parsed, to = end - from > group->ahead ? end : from + group->ahead;
    group->parsed = to < group->count ? to : group->count;
    group->ahead *= 2;
    return fp_writer_parse(writer, from, group->parsed, error);
}

/* Writes the chunks before j, which have another dictionary than those from j on. */
static fastpair_status finish_before(fastpair_writer *writer, fp_group *group, uint32_t j,
                                     fastpair_error *error) {
    fastpair_status status = fp_writer_emit(writer, group->done, j, error);
    group->done = j;
    return status;
}

/* A regime has just been entered: chunks from j on are parsed again, few at a time as long as the data goes on changing. */
static fastpair_status start_regime(fastpair_writer *writer, fp_group *group, uint32_t j,
                                    uint32_t end, fastpair_error *error) {
    writer->probe_wait = writer->units_before_probe = 0;
    group->parsed = j;
    group->ahead = end - j;
    return parse_until(writer, group, end, error);
}

/* An earlier regime that may suit a unit: FP_EARLIER is none. */
typedef struct fp_candidate {
    uint32_t which;
    double share; /* of the size the unit has with the present one */
} fp_candidate;

static fastpair_status go_back(fastpair_writer *writer, fp_group *group, uint32_t j, uint32_t end,
                               fp_candidate candidate, fastpair_error *error) {
    fastpair_status status = finish_before(writer, group, j, error);
    if (status) return status;
    fp_regimes_return(&writer->regimes, candidate.which, &writer->settings.allocator);
    if ((status = start_regime(writer, group, j, end, error))) return status;
    fp_unit unit = unit_of(writer, j, end);
    if (writer->regimes.present.bytes_per_code < bytes_per_code(&unit))
        writer->regimes.present.bytes_per_code = bytes_per_code(&unit);
    return FASTPAIR_OK;
}

/* Trains a model on a unit. *size is what the unit takes with it, and *dictionary the bytes of its tokens. */
static fastpair_status train_on(fastpair_writer *writer, const fp_unit *unit, fp_regime *regime,
                                uint64_t *size, uint64_t *dictionary, fastpair_error *error) {
    const fastpair_allocator *allocator = &writer->settings.allocator;
    fastpair_dictionary *model;
    fastpair_status status =
        fp_model_from_rows(&unit->rows, &writer->settings, writer->column_bytes, &model, error);
    if (status || (status = fp_regime_create(model, allocator, regime, error))) return status;
    fp_job trial = {
        .bytes = unit->rows.bytes, .offsets = unit->rows.offsets, .rows = unit->rows.rows};
    fp_job_parse(&trial, model, allocator);
    *size = fp_job_coded_size(&trial, model->choice.code_bits, writer->settings.batch_codes);
    *dictionary = 0;
    for (uint32_t id = 0; id < model->tokens.count; id++) *dictionary += model->tokens.lengths[id];
    regime->at_home = trial.codes ? (double)unit->bytes / (double)trial.codes : 0;
    regime->bytes_per_code = regime->at_home;
    status = trial.status;
    if (status && error) *error = trial.error;
    fp_job_free(&trial, allocator);
    if (status) fp_regime_free(regime, allocator);
    return status;
}

/* The data has drifted: jobs[j .. end) get a new model if that pays, else an earlier one if that is better, else the
 * present one, which is then measured by what it reaches here. */
static fastpair_status replace_model(fastpair_writer *writer, fp_group *group, uint32_t j,
                                     uint32_t end, const fp_unit *unit, fp_candidate candidate,
                                     fastpair_error *error) {
    fp_regime next;
    uint64_t new_size, dictionary;
    double old_size = (double)(unit->bytes - (writer->regimes.present.numbering ? unit->saved : 0));
    fastpair_status status = train_on(writer, unit, &next, &new_size, &dictionary, error);
    if (status) return status;
    double size = (double)new_size + (double)dictionary / DRIFT_SPREAD;
    double rest = (double)dictionary * (DRIFT_SPREAD - 1) / DRIFT_SPREAD;
    double earlier_size = candidate.share * old_size;
    if (rest > RETURN_MARGIN * earlier_size) rest = RETURN_MARGIN * earlier_size;
    if (size < DRIFT_GAIN * old_size &&
        (candidate.which == FP_EARLIER || size + rest < earlier_size)) {
        writer->retry_wait = 0;
        status = finish_before(writer, group, j, error);
        fp_regimes_enter(&writer->regimes, next, &writer->settings.allocator);
        return status ? status : start_regime(writer, group, j, end, error);
    }
    fp_regime_free(&next, &writer->settings.allocator);
    if (candidate.share < RETURN_GAIN_DRIFT) {
        writer->retry_wait = 0;
        status = go_back(writer, group, j, end, candidate, error);
    } else {
        wait_longer(&writer->retry_wait, &writer->units_before_retry, DRIFT_MOST_WAIT);
    }
    if (status) return status;
    fp_unit now = unit_of(writer, j, end);
    writer->regimes.present.bytes_per_code = bytes_per_code(&now);
    return FASTPAIR_OK;
}

/* Whether an earlier model reaches on this unit what it did where it was trained. */
static int is_at_home(const fastpair_writer *writer, const fp_unit *unit, fp_candidate candidate) {
    const fp_regimes *regimes = &writer->regimes;
    if (candidate.share >= RETURN_GAIN || !regimes->present.numbering || !unit->saved) return 0;
    const fp_regime *earlier = &regimes->earlier[candidate.which];
    double reached = bytes_per_code(unit) / candidate.share * earlier->numbering->dict.code_bits /
                     regimes->present.numbering->dict.code_bits;
    double margin = (double)earlier->numbering->dict.bytes_size /
                    (2 * candidate.share * (double)(unit->bytes - unit->saved));
    if (margin > AT_HOME_MARGIN) margin = AT_HOME_MARGIN;
    return reached > (1 - margin) * earlier->at_home && reached < (1 + margin) * earlier->at_home;
}

/* Sees to it that the regime in force is the best to be had for jobs[j .. end), which are parsed. */
static fastpair_status settle_regime(fastpair_writer *writer, fp_group *group, uint32_t j,
                                     uint32_t end, fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    if (!writer->regimes.present.model) return FASTPAIR_OK;
    if (writer->units_before_retry) writer->units_before_retry--;
    if (writer->units_before_probe) writer->units_before_probe--;
    fp_unit unit = unit_of(writer, j, end);
    fp_candidate candidate = {FP_EARLIER, 1};
    int drifted = has_drifted(writer, &unit), trains = drifted && !writer->units_before_retry;
    if (writer->regimes.earlier_count && unit.bytes && (drifted || !writer->units_before_probe)) {
        status = fp_regimes_probe(&writer->regimes, &unit.rows, writer->settings.seed,
                                  &writer->settings.allocator, &candidate.which, &candidate.share,
                                  error);
        if (candidate.share >= RETURN_GAIN)
            wait_longer(&writer->probe_wait, &writer->units_before_probe, PROBE_MOST_WAIT);
    }
    if (status) return status;
    if (trains && !is_at_home(writer, &unit, candidate))
        return replace_model(writer, group, j, end, &unit, candidate, error);
    return candidate.share < RETURN_GAIN ? go_back(writer, group, j, end, candidate, error)
                                         : FASTPAIR_OK;
}

/* Marks jobs[j .. end) coded or stored, numbering tokens anew where the numbering lacks one. */
static fastpair_status code_unit(fastpair_writer *writer, fp_group *group, uint32_t j, uint32_t end,
                                 fastpair_error *error) {
    fp_regime *present = &writer->regimes.present;
    for (; j < end && present->numbering && fp_numbering_covers(writer, &writer->jobs[j]); j++)
        fp_mark_coded(writer, &writer->jobs[j]);
    if (j == end) return FASTPAIR_OK;
    /* No dictionary yet, or one that lacks a byte: chunks before this one go out with what there was. */
    int adopted;
    fastpair_status status = finish_before(writer, group, j, error);
    if (!status && present->numbering) present->renumberings++;
    if (!status) status = fp_adopt_numbering(writer, j, end, 0, &adopted, error);
    if (status || adopted || !present->numbering) return status;
    for (; j < end; j++)
        if (fp_numbering_covers(writer, &writer->jobs[j])) fp_mark_coded(writer, &writer->jobs[j]);
    return FASTPAIR_OK;
}

/* The first chunks: the model was trained on them, and one numbering serves them all. */
static fastpair_status begin_column(fastpair_writer *writer, uint32_t count, int whole,
                                    fastpair_error *error) {
    fastpair_status status = fp_writer_parse(writer, 0, count, error);
    if (status) return status;
    if (writer->regimes.present.model) {
        fp_unit unit = unit_of(writer, 0, count);
        writer->regimes.present.at_home = bytes_per_code(&unit);
        writer->regimes.present.bytes_per_code = writer->regimes.present.at_home;
        status = fp_prune_model(writer, count, error);
    }
    int adopted;
    return status ? status : fp_adopt_numbering(writer, 0, count, whole, &adopted, error);
}

fastpair_status fp_adapt_group(fastpair_writer *writer, uint32_t count, int first_group, int whole,
                               fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    fp_group group = {.count = count, .ahead = count};
    for (uint32_t j = 0; j < count; j++) writer->jobs[j].coded = 0;
    if (fp_writer_model(writer) && first_group) {
        status = begin_column(writer, count, whole, error);
    } else if (fp_writer_model(writer)) {
        for (uint32_t j = 0, end; j < count && !status; j = end) {
            for (end = j + 1; end < count && !writer->jobs[end - 1].ends_unit;) end++;
            status = parse_until(writer, &group, end, error);
            if (!status) status = settle_regime(writer, &group, j, end, error);
            if (!status) status = code_unit(writer, &group, j, end, error);
        }
    }
    return status ? status : finish_before(writer, &group, count, error);
}
