/* prune.h - dropping tokens that do not pay, between training and numbering. */
#ifndef FP_PRUNE_H
#define FP_PRUNE_H

#include "encode.h"

/* Drops learned tokens (two bytes or more) that none of the `count` drafts uses. The drafts are all
 * parsed with the model; their ids and counts follow. What they parse to stays the same, because
 * neither the greedy match nor the fewest codes needed those tokens. */
fastpair_status fp_prune_unused(fastpair_dictionary *model, fp_draft *drafts, uint32_t count,
                                fastpair_error *error);

/* Drops learned tokens that take more of the file than they save, their own bytes and the width of
 * codes counted (prune_small.c). The `count` drafts are all of a column, parsed with the model; they
 * are parsed again. Nothing is dropped unless that divides the size of tokens and codes by more
 * than `worth`, 1 or more: fewer tokens are more codes, and slower to decode. */
fastpair_status fp_prune_small(fastpair_dictionary *model, fp_draft *drafts, uint32_t count,
                               double worth, const fp_settings *settings, fastpair_error *error);

#endif
