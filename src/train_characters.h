/* train_characters.h - the characters of a text as its first tokens; private to OnPair training. */
#ifndef FP_TRAIN_CHARACTERS_H
#define FP_TRAIN_CHARACTERS_H

#include "sample.h"
#include "tokens.h"

/* Adds to the single bytes the characters of a sample that is text: those of two bytes or more that
 * occur several times in it, the most frequent first, and at most `most` of them. Adds nothing if the
 * sample is not text, or is ASCII. */
fastpair_status fp_train_characters(const fp_sample *sample, uint32_t most,
                                    const fastpair_allocator *allocator, fp_tokens *tokens,
                                    fastpair_error *error);

#endif
