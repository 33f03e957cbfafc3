/* fold.h - tokens in the compact form of docs/format.md, section 2.3: what token is made of which
 * earlier ones. */
#ifndef FP_FOLD_H
#define FP_FOLD_H

#include "dict.h"

/* The most bytes that folding gives. */
uint64_t fp_fold_bound(const fp_dict *dict);

/* Folds the tokens of a dictionary to `folded`, which has room for fp_fold_bound bytes; *size is what
 * they take. Statuses: OUT_OF_MEMORY. */
fastpair_status fp_fold_write(const fp_dict *dict, const fastpair_allocator *allocator,
                              uint8_t *folded, uint64_t *size);

/* Unfolds untrusted bytes to dict->bytes. All else of the dictionary is there, and bytes_size is what
 * its runs add up to. CORRUPT comes with *fault, OUT_OF_MEMORY without. */
fastpair_status fp_fold_read(const uint8_t *folded, uint64_t size,
                             const fastpair_allocator *allocator, const fp_dict *dict,
                             const char **fault);

#endif
