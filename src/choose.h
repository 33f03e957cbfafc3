/* choose.h - which dictionary codes a unit: the decision, and nothing but the decision.
 *
 * In: statistics. Out: KEEP the dictionary in force, RETURN to an earlier one of the file, or TRAIN
 * a new one. Nothing here parses, allocates or writes. The same statistics give the same decisions,
 * so a file is the same for any number of threads.
 *
 * Per unit the writer asks up to three questions. Each needs dearer statistics than the one before:
 *   1. fp_choose_probes       the unit's figures       → measure the earlier dictionaries or not
 *   2. fp_choose              and the measurements     → KEEP, RETURN, or TRAIN a model to try it
 *   3. fp_choose_after_trial  and the model's figures  → KEEP, RETURN, or TRAIN: put it in force */
#ifndef FP_CHOOSE_H
#define FP_CHOOSE_H

#include <stdint.h>

/* Earlier dictionaries that a writer keeps at most. Each takes up to 8 MiB with 16-bit codes, 2 MiB
 * with 12. */
#define FP_MAX_EARLIER 8u

/* A unit, coded with the dictionary in force. */
typedef struct fp_unit {
    uint64_t bytes; /* decoded */
    uint64_t codes;
    uint64_t saved; /* bytes that coding saves over storing, the dictionary not counted */
} fp_unit;

static inline double fp_bytes_per_code(uint64_t bytes, uint64_t codes) {
    return codes ? (double)bytes / (double)codes : 0;
}

/* How a dictionary has done so far. */
typedef struct fp_record {
    double trained_bytes_per_code; /* reached where it was trained */
    double
        expected_bytes_per_code; /* the same, or what it has reached since: less of it is drift */
    uint32_t code_bits;          /* 0: not in the file yet, so its chunks are stored */
    uint64_t token_bytes;        /* of its dictionary block */
} fp_record;

/* What is known of a unit before anything else is measured. */
typedef struct fp_situation {
    fp_unit unit;
    fp_record present;                 /* the dictionary in force */
    fp_record earlier[FP_MAX_EARLIER]; /* the one last in force first */
    uint32_t earlier_count;
} fp_situation;

/* A sample of the unit, coded with every dictionary of the file. */
typedef struct fp_probe {
    uint64_t bytes;                        /* of the sample */
    uint64_t present_bits;                 /* UINT64_MAX: not in the file yet */
    uint64_t earlier_bits[FP_MAX_EARLIER]; /* as in fp_situation */
} fp_probe;

/* The unit with a model that was trained on it. */
typedef struct fp_trial {
    uint64_t coded_bytes; /* of the unit, without the dictionary */
    uint64_t token_bytes; /* of the model */
    double bytes_per_code;
} fp_trial;

typedef enum fp_action { FP_KEEP, FP_RETURN, FP_TRAIN } fp_action;

typedef struct fp_decision {
    fp_action action;
    uint32_t which;  /* RETURN: to this earlier dictionary */
    int after_trial; /* a trained model was compared */
} fp_decision;

/* Units to wait before something dear is tried again. */
typedef struct fp_patience {
    uint32_t wait; /* doubles with every failure */
    uint32_t units_left;
} fp_patience;

/* What is remembered from unit to unit. All zero to begin with. */
typedef struct fp_chooser {
    fp_patience trial; /* after a new model did not pay */
    fp_patience probe; /* after no earlier dictionary was better */
} fp_chooser;

/* Question 1, once per unit: whether the earlier dictionaries are to be measured. */
int fp_choose_probes(fp_chooser *chooser, const fp_situation *situation);

/* Question 2, with the measurements, or NULL if there are none. */
fp_decision fp_choose(fp_chooser *chooser, const fp_situation *situation, const fp_probe *probe);

/* Question 3, if fp_choose said TRAIN. */
fp_decision fp_choose_after_trial(fp_chooser *chooser, const fp_situation *situation,
                                  const fp_probe *probe, const fp_trial *trial);

/* Notes in the record of the dictionary now in force what is expected of it, after a decision.
 * `unit` is coded with that dictionary. */
void fp_choose_expect(fp_decision decision, const fp_unit *unit, fp_record *record);

#endif
