/* regime.h - the dictionaries that a writer has made: the one in force, and earlier ones in case
 * their data comes back. */
#ifndef FP_REGIME_H
#define FP_REGIME_H

#include "choose.h"
#include "model.h"
#include "number.h"

/* A model and all that belongs to it. */
typedef struct fp_regime {
    fastpair_dictionary *model; /* owned; NULL: given, stored, or not yet trained */
    fp_numbering *numbering;    /* its last dictionary block; NULL: none yet */
    uint64_t *counts; /* by id, FP_MAX_TOKENS entries: over all chunks coded with the model */
    uint8_t *used; /* by id, FP_MAX_TOKENS entries: occurs in chunks of the last dictionary block */
    uint32_t renumberings;
    fp_record record;
} fp_regime;

typedef struct fp_regimes {
    fp_regime present;
    fp_regime earlier[FP_MAX_EARLIER]; /* each with a numbering, the one last in force first */
    uint32_t earlier_count;
} fp_regimes;

/* Opens a regime for `model`, which becomes its own, also on failure. */
fastpair_status fp_regime_open(fastpair_dictionary *model, const fastpair_allocator *allocator,
                               fp_regime *regime, fastpair_error *error);
void fp_regime_close(fp_regime *regime, const fastpair_allocator *allocator);
void fp_regimes_close(fp_regimes *regimes, const fastpair_allocator *allocator);

/* Puts a numbering, which is or will be in the file, in the place of the regime's last one. */
void fp_regime_renumber(fp_regime *regime, fp_numbering *numbering,
                        const fastpair_allocator *allocator);

/* Adds a chunk's counts. Returns how many ids the dictionary block's chunks had not used before. */
uint32_t fp_regime_count(fp_regime *regime, const fp_parsed *parsed);

/* Puts `next` in force. The present regime joins the earlier ones if it has a dictionary in the
 * file. If they become too many, the one out of force for the longest is closed. */
void fp_regimes_enter(fp_regimes *regimes, fp_regime next, const fastpair_allocator *allocator);

/* Puts earlier[which] in force. */
void fp_regimes_return(fp_regimes *regimes, uint32_t which, const fastpair_allocator *allocator);

/* What fp_choose needs to know of the dictionaries, for a unit. */
fp_situation fp_regimes_situation(const fp_regimes *regimes, const fp_unit *unit);

/* Parses a sample of the rows with every regime that is in the file. */
fastpair_status fp_regimes_probe(const fp_regimes *regimes, const fastpair_rows *rows,
                                 uint64_t seed, const fastpair_allocator *allocator,
                                 fp_probe *probe, fastpair_error *error);

#endif
