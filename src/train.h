/* train.h - from a sample of rows to tokens. */
#ifndef FP_TRAIN_H
#define FP_TRAIN_H

#include "tokens.h"

/* A training sample: pieces of rows in the order training reads them, copied into one buffer that is
 * readable for FP_SLACK bytes behind its end. Made by sample.c. */
typedef struct fp_sample {
    uint8_t *bytes;
    uint64_t size;
    uint32_t *lengths; /* of each piece; pieces lie back to back; none is empty */
    uint64_t pieces;
    uint64_t column_bytes; /* decoded bytes of the column it was drawn from */
} fp_sample;

/* How far parsers may read behind the last byte they are given. */
#define FP_SLACK 32u

/* Draws at most `cap` bytes from `rows`, in an order that depends on the seed alone: rows are cut into
 * pieces of at most 4 KiB, so that one long row does not crowd out the rest, pieces are shuffled, and taken
 * until the cap is reached. Null and empty rows are left out. */
fastpair_status fp_sample_draw(const fastpair_rows *rows, uint64_t cap, uint64_t seed,
                               const fastpair_allocator *allocator, fp_sample *sample,
                               fastpair_error *error);
void fp_sample_free(fp_sample *sample, const fastpair_allocator *allocator);

/* The default sample cap for a codec and width. */
uint64_t fp_sample_default(fastpair_codec codec, uint32_t code_bits);

/* OnPair (train_onpair.c): one greedy pass that merges adjacent tokens seen often enough. Fills `tokens`
 * (created here, freed by the caller with fp_tokens_free) with at most what fp_room_for(code_bits,
 * max_token, hot) holds. Deterministic. Cost is bounded by the sample. */
fastpair_status fp_train_onpair(const fp_sample *sample, uint32_t code_bits, uint32_t max_token,
                                int hot, const fastpair_allocator *allocator, fp_tokens *tokens,
                                fastpair_error *error);

/* FSST-12 (train_fsst.c): several rounds of parse, count, keep the best. Same contract, 12 bits, 8 bytes. */
fastpair_status fp_train_fsst(const fp_sample *sample, int hot, const fastpair_allocator *allocator,
                              fp_tokens *tokens, fastpair_error *error);

#endif
