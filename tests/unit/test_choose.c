/* test_choose.c - keep, return or train: the decision by figures alone, without rows, models or a
 * file. */
#include "check.h"
#include "choose.h"

#define MIB (1ull << 20)

/* 8 MiB at 16-bit codes, with as many bytes per code as given, less a sidecar of 1 %. */
static fp_unit unit_at(double bytes_per_code) {
    fp_unit unit = {.bytes = 8 * MIB, .codes = (uint64_t)(8 * MIB / bytes_per_code)};
    uint64_t coded = unit.codes * 2 + unit.codes / 50;
    unit.saved = coded < unit.bytes ? unit.bytes - coded : 0;
    return unit;
}

static fp_record record_at(double bytes_per_code) {
    return (fp_record){.trained_bytes_per_code = bytes_per_code,
                       .expected_bytes_per_code = bytes_per_code,
                       .code_bits = 16,
                       .token_bytes = 500000};
}

/* The dictionary in force reaches `now` bytes per code where it was trained to `trained`. */
static fp_situation situation_of(double trained, double now, uint32_t earlier_count) {
    fp_situation situation = {.unit = unit_at(now), .present = record_at(trained)};
    situation.earlier_count = earlier_count;
    for (uint32_t i = 0; i < earlier_count; i++) situation.earlier[i] = record_at(10);
    return situation;
}

/* A sample that the present dictionary codes in 1,000,000 bits, and earlier ones in that share. */
static fp_probe probe_of(const double *shares, uint32_t count) {
    fp_probe probe = {.bytes = 256 << 10, .present_bits = 1000000};
    for (uint32_t i = 0; i < count; i++) probe.earlier_bits[i] = (uint64_t)(1000000 * shares[i]);
    return probe;
}

/* A new model that brings the unit to a share of its size, its own part of the dictionary
 * included. */
static fp_trial trial_of(const fp_situation *situation, double share) {
    uint64_t present = situation->unit.bytes - situation->unit.saved;
    fp_trial trial = {.token_bytes = 400000};
    trial.coded_bytes = (uint64_t)((double)present * share) - trial.token_bytes / 8;
    return trial;
}

static void steady_data_keeps(void) {
    fp_chooser chooser = {0};
    fp_situation situation = situation_of(6, 5.9, 0);
    for (int unit = 0; unit < 100; unit++) {
        CHECK(!fp_choose_probes(&chooser, &situation));
        fp_decision decision = fp_choose(&chooser, &situation, NULL);
        CHECK_EQ(decision.action, FP_KEEP);
        CHECK(!decision.after_trial);
        fp_choose_expect(decision, &situation.unit, &situation.present);
        CHECK(situation.present.expected_bytes_per_code == 6); /* small losses do not add up */
    }
    CHECK_EQ(chooser.trial.wait + chooser.probe.wait, 0);
}

/* Where drift begins: 92 % of the bytes per code expected, a quarter saved, 256 KiB. */
static void drift_has_limits(void) {
    static const struct {
        double trained, now;
        uint64_t bytes;         /* 0: as it is */
        uint64_t saved_percent; /* 0: as it is */
        fp_action action;
    } cases[] = {
        {6, 5.53, 0, 0, FP_KEEP},
        {6, 5.51, 0, 0, FP_TRAIN},
        {6, 9, 0, 0, FP_KEEP},
        {6, 6, 0, 26, FP_KEEP},
        {6, 6, 0, 24, FP_TRAIN},
        {6, 3, 256 << 10, 0, FP_TRAIN},
        {6, 3, (256 << 10) - 1, 0, FP_KEEP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fp_chooser chooser = {0};
        fp_situation situation = situation_of(cases[i].trained, cases[i].now, 0);
        fp_unit *unit = &situation.unit;
        if (cases[i].bytes) {
            unit->codes = (uint64_t)((double)cases[i].bytes / cases[i].now);
            unit->bytes = cases[i].bytes;
        }
        if (cases[i].saved_percent) unit->saved = unit->bytes * cases[i].saved_percent / 100;
        fp_choose_probes(&chooser, &situation);
        CHECK_EQ(fp_choose(&chooser, &situation, NULL).action, cases[i].action);
    }
}

/* A new model is taken from a gain of 5 % on, an eighth of its dictionary included. */
static void new_models_must_pay(void) {
    for (int percent = 80; percent <= 110; percent++) {
        if (percent == 95) continue; /* rounding decides */
        fp_chooser chooser = {0};
        fp_situation situation = situation_of(6, 4, 0);
        fp_choose_probes(&chooser, &situation);
        CHECK_EQ(fp_choose(&chooser, &situation, NULL).action, FP_TRAIN);
        fp_trial trial = trial_of(&situation, percent / 100.0);
        fp_decision decision = fp_choose_after_trial(&chooser, &situation, NULL, &trial);
        CHECK_EQ(decision.action, percent < 95 ? FP_TRAIN : FP_KEEP);
        CHECK(decision.after_trial);
        CHECK_EQ(chooser.trial.units_left, percent < 95 ? 0 : 2);
        /* What was kept after a trial is the new measure; what was trained has one of its own. */
        fp_choose_expect(decision, &situation.unit, &situation.present);
        double expected = situation.present.expected_bytes_per_code;
        CHECK(percent < 95 ? expected == 6 : expected > 3.99 && expected < 4.01);
    }
}

/* Chunks are stored if no dictionary of the model has paid so far: their size is their bytes. */
static void nothing_in_the_file_yet(void) {
    fp_chooser chooser = {0};
    fp_situation situation = situation_of(6, 3, 0);
    situation.present.code_bits = 0;
    fp_choose_probes(&chooser, &situation);
    CHECK_EQ(fp_choose(&chooser, &situation, NULL).action, FP_TRAIN);
    fp_trial trial = {.coded_bytes = situation.unit.bytes / 100 * 90, .token_bytes = 1000};
    CHECK_EQ(fp_choose_after_trial(&chooser, &situation, NULL, &trial).action, FP_TRAIN);
    trial.coded_bytes = situation.unit.bytes / 100 * 96;
    CHECK_EQ(fp_choose_after_trial(&chooser, &situation, NULL, &trial).action, FP_KEEP);
}

/* After failed trials the next one waits 2, 4, 8, 16, 32, 32 units. */
static void failed_trials_wait_longer(void) {
    fp_chooser chooser = {0};
    fp_situation situation = situation_of(6, 4, 0);
    static const int waits[] = {2, 4, 8, 16, 32, 32};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        fp_choose_probes(&chooser, &situation);
        CHECK_EQ(fp_choose(&chooser, &situation, NULL).action, FP_TRAIN);
        fp_trial trial = trial_of(&situation, 1);
        CHECK_EQ(fp_choose_after_trial(&chooser, &situation, NULL, &trial).action, FP_KEEP);
        for (int unit = 1; unit < waits[i]; unit++) {
            fp_choose_probes(&chooser, &situation);
            CHECK_EQ(fp_choose(&chooser, &situation, NULL).action, FP_KEEP);
        }
    }
}

/* Without drift: the best earlier dictionary that brings the unit to 97 %, and probes that get
 * rarer. */
static void earlier_ones_are_looked_at(void) {
    fp_chooser chooser = {0};
    fp_situation situation = situation_of(6, 6, 3);
    fp_probe probe = probe_of((double[]){0.99, 0.9, 0.95}, 3);
    CHECK(fp_choose_probes(&chooser, &situation));
    fp_decision decision = fp_choose(&chooser, &situation, &probe);
    CHECK_EQ(decision.action, FP_RETURN);
    CHECK_EQ(decision.which, 1);
    CHECK_EQ(chooser.probe.units_left, 0);

    /* More is expected of a dictionary that does better than before, not less of one that does
     * worse. */
    fp_record back = record_at(10);
    fp_unit now = unit_at(12);
    fp_choose_expect(decision, &now, &back);
    CHECK(back.expected_bytes_per_code > 11.9 && back.trained_bytes_per_code == 10);
    now = unit_at(11);
    fp_choose_expect(decision, &now, &back);
    CHECK(back.expected_bytes_per_code > 11.9);

    probe = probe_of((double[]){0.99, 1.2, 0.975}, 3);
    static const int waits[] = {2, 4, 8, 16, 16};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        CHECK(fp_choose_probes(&chooser, &situation));
        CHECK_EQ(fp_choose(&chooser, &situation, &probe).action, FP_KEEP);
        for (int unit = 1; unit < waits[i]; unit++) {
            CHECK(!fp_choose_probes(&chooser, &situation));
            CHECK_EQ(fp_choose(&chooser, &situation, NULL).action, FP_KEEP);
        }
    }
    /* Drift has them measured at once. */
    CHECK(fp_choose_probes(&chooser, &situation));
    fp_choose(&chooser, &situation, &probe);
    situation.unit = unit_at(4);
    CHECK(fp_choose_probes(&chooser, &situation));
    /* An empty unit asks nothing. */
    situation.unit = (fp_unit){0};
    for (int unit = 0; unit < 40; unit++) CHECK(!fp_choose_probes(&chooser, &situation));
}

/* An earlier dictionary that would need more than storing takes is none. */
static void storing_is_a_rival(void) {
    fp_chooser chooser = {0};
    fp_situation situation = situation_of(6, 6, 1);
    fp_probe probe = {.bytes = 1000, .present_bits = UINT64_MAX, .earlier_bits = {8000}};
    CHECK(fp_choose_probes(&chooser, &situation));
    CHECK_EQ(fp_choose(&chooser, &situation, &probe).action, FP_KEEP);
    probe.earlier_bits[0] = 7000;
    CHECK_EQ(fp_choose(&chooser, &situation, &probe).action, FP_RETURN);
    probe = (fp_probe){0}; /* a sample without bytes */
    CHECK_EQ(fp_choose(&chooser, &situation, &probe).action, FP_KEEP);
}

/* Data that comes back: a model that reaches what it did where it was trained needs no rival. */
static void own_data_needs_no_trial(void) {
    for (int percent = 96; percent <= 104; percent++) {
        fp_chooser chooser = {0};
        fp_situation situation = situation_of(10, 5, 1);
        /* The present one reaches 5 bytes per code; half the bits are 10 bytes per code. */
        situation.earlier[0] = record_at(10 / (percent / 100.0));
        fp_probe probe = probe_of((double[]){0.5}, 1);
        CHECK(fp_choose_probes(&chooser, &situation));
        fp_decision decision = fp_choose(&chooser, &situation, &probe);
        if (percent == 99 || percent == 101) continue; /* rounding decides */
        CHECK_EQ(decision.action, percent == 100 ? FP_RETURN : FP_TRAIN);
        /* With a small dictionary the margin is narrower still: half its part of the unit. */
        situation.earlier[0] = record_at(9.95);
        situation.earlier[0].token_bytes = 1000;
        CHECK_EQ(fp_choose(&chooser, &situation, &probe).action, FP_TRAIN);
    }
}

/* New model or earlier dictionary: the new one must win by 3 % of the unit, or its whole
 * dictionary. */
static void new_against_earlier(void) {
    fp_situation situation = situation_of(10, 5, 2);
    fp_probe probe = probe_of((double[]){0.9, 0.7}, 2);
    static const struct {
        double share;
        fp_action action;
    } cases[] = {{0.6, FP_TRAIN}, {0.67, FP_TRAIN}, {0.685, FP_RETURN}, {0.9, FP_RETURN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fp_chooser chooser = {.trial = {.wait = 8}};
        fp_trial trial = trial_of(&situation, cases[i].share);
        fp_decision decision = fp_choose_after_trial(&chooser, &situation, &probe, &trial);
        CHECK_EQ(decision.action, cases[i].action);
        if (decision.action == FP_RETURN) CHECK_EQ(decision.which, 1);
        CHECK_EQ(chooser.trial.wait, 0);
    }
    /* After a trial 1 % is enough to return; what is reached then is expected from now on. */
    fp_chooser chooser = {0};
    fp_trial trial = trial_of(&situation, 1);
    probe = probe_of((double[]){0.995, 0.985}, 2);
    fp_decision decision = fp_choose_after_trial(&chooser, &situation, &probe, &trial);
    CHECK_EQ(decision.action, FP_RETURN);
    fp_record back = record_at(10);
    fp_unit now = unit_at(5.1);
    fp_choose_expect(decision, &now, &back);
    CHECK(back.expected_bytes_per_code < 5.2);
    probe = probe_of((double[]){0.995, 0.993}, 2);
    CHECK_EQ(fp_choose_after_trial(&chooser, &situation, &probe, &trial).action, FP_KEEP);
}

int main(void) {
    steady_data_keeps();
    drift_has_limits();
    new_models_must_pay();
    nothing_in_the_file_yet();
    failed_trials_wait_longer();
    earlier_ones_are_looked_at();
    storing_is_a_rival();
    own_data_needs_no_trial();
    new_against_earlier();
    return check_done();
}
