/* prune.h - dropping tokens that do not pay, between training and numbering. */
#ifndef FP_PRUNE_H
#define FP_PRUNE_H

#include "encode.h"

/* Drops learned tokens (two bytes or more) that none of the `count` drafts uses. The drafts are all
 * parsed with the model; their ids and counts follow. What they parse to stays the same, because
 * the greedy match never chose those tokens. */
fastpair_status fp_prune_unused(fastpair_dictionary *model, fp_draft *drafts, uint32_t count,
                                fastpair_error *error);

#endif
