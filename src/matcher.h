/* matcher.h - longest match over a fixed set of tokens. matcher.c and matcher_build.c make it,
 * parse.c reads it. */
#ifndef FP_MATCHER_H
#define FP_MATCHER_H

#include "tokens.h"

/* Immutable once made; threads may share it. */
typedef struct fp_matcher fp_matcher;

/* Builds the search structure for all tokens; nothing of `tokens` is kept. */
fastpair_status fp_matcher_open(const fp_tokens *tokens, const fastpair_allocator *allocator,
                                fp_matcher **matcher, fastpair_error *error);
void fp_matcher_close(fp_matcher *matcher, const fastpair_allocator *allocator);

#endif
