/* choose.c - keep, return or train. In: statistics of a unit and of the dictionaries. Out: a
 * decision.
 *
 * The trick: dear questions are asked only after cheap ones. Data has *drifted* when tokens are
 * clearly shorter than where the model was trained. Then the unit goes back to an earlier
 * dictionary of the file, if it serves as well as a new one would. Otherwise the unit gets a new
 * one, if that pays. Refuses nothing. */
#include "choose.h"

/* ---------------------------------------------------------------- constants */

/* Data has drifted if a unit has less than this share of the bytes per code expected, */
#define DRIFTED_SHARE 0.92
/* or if coding saves less than a unit's bytes / MIN_SAVING_DIVISOR: the model is of little use
 * here. */
#define MIN_SAVING_DIVISOR 4
/* Less data than this is not worth training on. */
#define MIN_TRAINING_BYTES (256u << 10)
/* A new model must bring the unit to this share of its size. It is charged for 1 / COST_UNITS of
 * its dictionary, because later units use it too. */
#define NEW_MODEL_SHARE 0.95
#define COST_UNITS      8
/* An earlier dictionary must bring the unit to this share: a smaller gain would be noise. After a
 * trial, when drift is known and a new model did not pay, a smaller gain is enough. */
#define RETURN_SHARE             0.97
#define RETURN_SHARE_AFTER_TRIAL 0.99
/* A new model must beat an earlier dictionary by its whole dictionary, because data that comes back
 * will go again; but not by more than this part of the unit. */
#define NEW_OVER_EARLIER 0.03
/* An earlier model that reaches what it did where it was trained has met its own data again, and no
 * trial is needed. It may miss by this part of the unit, or by half its dictionary if that is
 * less. */
#define SAME_DATA_MARGIN 0.01
/* Units to wait at most after a trial or a probe that changed nothing. Probes without drift are
 * worth it: the model may do as well as ever where an earlier one does much better. */
#define MAX_TRIAL_WAIT 32
#define MAX_PROBE_WAIT 16

static void wait_longer(fp_patience *patience, uint32_t most) {
    patience->wait = patience->wait ? 2 * patience->wait : 2;
    if (patience->wait > most) patience->wait = most;
    patience->units_left = patience->wait;
}

static double unit_bytes_per_code(const fp_unit *unit) {
    return fp_bytes_per_code(unit->bytes, unit->codes);
}

static int has_drifted(const fp_situation *situation) {
    const fp_unit *unit = &situation->unit;
    if (unit->bytes < MIN_TRAINING_BYTES) return 0;
    return unit_bytes_per_code(unit) < DRIFTED_SHARE * situation->present.expected_bytes_per_code ||
           unit->saved < unit->bytes / MIN_SAVING_DIVISOR;
}

/* ---------------------------------------------------------------- earlier dictionaries */

/* The earlier dictionary that codes the sample in the fewest bits, if it needs fewer than the
 * present one and than storing. */
typedef struct candidate {
    int exists;
    uint32_t which;
    double share; /* of the size that the unit has without it; 1 if there is none */
} candidate;

static candidate best_earlier(const fp_situation *situation, const fp_probe *probe) {
    candidate best = {0, 0, 1};
    if (!probe) return best;
    uint64_t present = probe->bytes * 8;
    if (probe->present_bits < present) present = probe->present_bits;
    uint64_t least = present;
    for (uint32_t i = 0; i < situation->earlier_count; i++)
        if (probe->earlier_bits[i] < least) {
            least = probe->earlier_bits[i];
            best.which = i;
            best.exists = 1;
        }
    if (present) best.share = (double)least / (double)present;
    return best;
}

/* Whether an earlier model reaches on this unit what it did where it was trained. */
static int meets_its_data(const fp_situation *situation, candidate earlier) {
    const fp_unit *unit = &situation->unit;
    if (earlier.share >= RETURN_SHARE || !situation->present.code_bits || !unit->saved) return 0;
    const fp_record *record = &situation->earlier[earlier.which];
    double reached = unit_bytes_per_code(unit) / earlier.share * record->code_bits /
                     situation->present.code_bits;
    double margin =
        (double)record->token_bytes / (2 * earlier.share * (double)(unit->bytes - unit->saved));
    if (margin > SAME_DATA_MARGIN) margin = SAME_DATA_MARGIN;
    return reached > (1 - margin) * record->trained_bytes_per_code &&
           reached < (1 + margin) * record->trained_bytes_per_code;
}

/* ---------------------------------------------------------------- the questions */

int fp_choose_probes(fp_chooser *chooser, const fp_situation *situation) {
    if (chooser->trial.units_left) chooser->trial.units_left--;
    if (chooser->probe.units_left) chooser->probe.units_left--;
    return situation->earlier_count && situation->unit.bytes &&
           (has_drifted(situation) || !chooser->probe.units_left);
}

fp_decision fp_choose(fp_chooser *chooser, const fp_situation *situation, const fp_probe *probe) {
    candidate earlier = best_earlier(situation, probe);
    if (probe && earlier.share >= RETURN_SHARE) wait_longer(&chooser->probe, MAX_PROBE_WAIT);
    if (has_drifted(situation) && !chooser->trial.units_left && !meets_its_data(situation, earlier))
        return (fp_decision){.action = FP_TRAIN};
    if (earlier.share >= RETURN_SHARE) return (fp_decision){.action = FP_KEEP};
    chooser->probe = (fp_patience){0};
    return (fp_decision){.action = FP_RETURN, .which = earlier.which};
}

fp_decision fp_choose_after_trial(fp_chooser *chooser, const fp_situation *situation,
                                  const fp_probe *probe, const fp_trial *trial) {
    const fp_unit *unit = &situation->unit;
    candidate earlier = best_earlier(situation, probe);
    double present_size = (double)(unit->bytes - (situation->present.code_bits ? unit->saved : 0));
    double earlier_size = earlier.share * present_size;
    double new_size = (double)trial->coded_bytes + (double)trial->token_bytes / COST_UNITS;
    double rest = (double)trial->token_bytes * (COST_UNITS - 1) / COST_UNITS;
    if (rest > NEW_OVER_EARLIER * earlier_size) rest = NEW_OVER_EARLIER * earlier_size;
    fp_decision decision = {.action = FP_KEEP, .which = earlier.which, .after_trial = 1};
    if (new_size < NEW_MODEL_SHARE * present_size &&
        (!earlier.exists || new_size + rest < earlier_size))
        decision.action = FP_TRAIN;
    else if (earlier.share < RETURN_SHARE_AFTER_TRIAL)
        decision.action = FP_RETURN;
    if (decision.action == FP_KEEP) {
        wait_longer(&chooser->trial, MAX_TRIAL_WAIT);
    } else {
        chooser->trial.wait = 0;
        chooser->probe = (fp_patience){0};
    }
    return decision;
}

void fp_choose_expect(fp_decision decision, const fp_unit *unit, fp_record *record) {
    double reached = unit_bytes_per_code(unit);
    /* A trial has shown that no more is to be had here. */
    int is_settled = decision.after_trial && decision.action != FP_TRAIN;
    int is_better = decision.action == FP_RETURN && reached > record->expected_bytes_per_code;
    if (is_settled || is_better) record->expected_bytes_per_code = reached;
}
