/* regime.h - the dictionaries a writer has made: the one in force, and earlier ones in case their data comes back. */
#ifndef FP_REGIME_H
#define FP_REGIME_H

#include "encode.h"

/* A model and all that belongs to it. */
typedef struct fp_regime {
    fastpair_dictionary *model; /* owned; NULL: given, stored, or not yet trained */
    fp_numbering *numbering;    /* its last dictionary block; NULL: none yet */
    uint64_t *counts; /* FP_MAX_TOKENS entries: of each id, over the chunks coded with the model */
    uint8_t *used;    /* FP_MAX_TOKENS entries: ids that occur in chunks of the dictionary block */
    uint32_t renumberings;
    double at_home; /* bytes per code that the model reached where it was trained */
    double
        bytes_per_code; /* the same, or since then, if less had to do: drift is measured against it */
} fp_regime;

/* Earlier regimes a writer keeps at most. Each takes up to 8 MiB with 16-bit codes, 2 MiB with 12. */
#define FP_EARLIER 8u

typedef struct fp_regimes {
    fp_regime present;
    fp_regime earlier[FP_EARLIER]; /* each with a numbering, the one last in force first */
    uint32_t earlier_count;
} fp_regimes;

/* Makes an empty regime for `model`, which becomes its own, also on failure. */
fastpair_status fp_regime_create(fastpair_dictionary *model, const fastpair_allocator *allocator,
                                 fp_regime *regime, fastpair_error *error);
void fp_regime_free(fp_regime *regime, const fastpair_allocator *allocator);
void fp_numbering_free(fp_numbering *numbering, const fastpair_allocator *allocator);
void fp_regimes_free(fp_regimes *regimes, const fastpair_allocator *allocator);

/* Puts `next` in force. The present regime joins the earlier ones if it has a dictionary in the file, and the one
 * out of force for the longest goes if there are too many. */
void fp_regimes_enter(fp_regimes *regimes, fp_regime next, const fastpair_allocator *allocator);

/* Puts earlier[which] in force. */
void fp_regimes_return(fp_regimes *regimes, uint32_t which, const fastpair_allocator *allocator);

/* Parses a small sample of the rows with every regime. *which is the earlier one that codes it in the fewest bits, if any takes
 * fewer than the present one and than storing the rows; FP_EARLIER if none does. *share is what part of the lesser of the two
 * it takes. */
fastpair_status fp_regimes_probe(const fp_regimes *regimes, const fastpair_rows *rows,
                                 uint64_t seed, const fastpair_allocator *allocator,
                                 uint32_t *which, double *share, fastpair_error *error);

#endif
