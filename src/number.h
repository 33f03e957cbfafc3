/* number.h - which code each token gets.
 *
 * In: tokens and how often each occurs. Out: a dictionary in the code order of docs/format.md, 2.1:
 * the hot part first if there is one, then length classes, then frequency. The constants that shape
 * it are in code_space.h. */
#ifndef FP_NUMBER_H
#define FP_NUMBER_H

#include "code_space.h"
#include "dict.h"
#include "parse.h"

/* Which tokens get a code. */
typedef enum fp_coverage {
    FP_COVER_ALL,  /* every token: any row can be coded */
    FP_COVER_USED, /* tokens whose count is above 0: all data is counted */
    /* All tokens; but only the used ones if codes are narrower that way. A chunk with another token
     * then needs a new numbering. */
    FP_COVER_NARROWEST,
} fp_coverage;

/* What a numbering is made of. */
typedef struct fp_number_input {
    const fp_tokens *tokens;
    const uint64_t *counts; /* by id: how often it occurs in the data at hand */
    fp_coverage coverage;   /* at least one token must get a code */
    uint32_t hot_codes;     /* as in the caller's options */
    fastpair_codec codec;   /* noted in the dictionary block, as is the seed */
    uint64_t seed;
} fp_number_input;

/* Numbers tokens. The code width is the least that holds them. `code_of_id` (tokens->count entries)
 * gets each id's code, FP_NO_CODE for ids without one. */
fastpair_status fp_number_tokens(const fp_number_input *input, const fastpair_allocator *allocator,
                                 fp_dict *dict, uint32_t *code_of_id, fastpair_error *error);

/* A dictionary block of the file, in the form the encoder needs. */
typedef struct fp_numbering {
    fp_dict dict;
    int owns_dict;                      /* 0: borrowed from a given dictionary */
    uint32_t number;                    /* of the dictionary block in the file */
    uint32_t code_of_id[FP_MAX_TOKENS]; /* FP_NO_CODE: the dictionary lacks this token */
    uint8_t lengths_of_code[FP_MAX_TOKENS];
} fp_numbering;

/* Opens the numbering that fp_number_tokens makes. */
fastpair_status fp_numbering_open(const fp_number_input *input, const fastpair_allocator *allocator,
                                  fp_numbering **numbering, fastpair_error *error);

/* Opens a numbering that is there already, of `ids` tokens. It is used as it is, so that columns
 * which share a dictionary have the same dictionary block. `dict` must stay open longer than the
 * numbering. */
fastpair_status fp_numbering_borrow(const fp_dict *dict, const uint32_t *code_of_id, uint32_t ids,
                                    const fastpair_allocator *allocator, fp_numbering **numbering,
                                    fastpair_error *error);
void fp_numbering_close(fp_numbering *numbering, const fastpair_allocator *allocator);

/* Whether every id that occurs has a code. */
int fp_numbering_covers(const fp_numbering *numbering, const fp_parsed *parsed);

#endif
