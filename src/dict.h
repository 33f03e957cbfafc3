/* dict.h - a dictionary as files hold it: code numbers, their tokens, and the order they are in. */
#ifndef FP_DICT_H
#define FP_DICT_H

#include "tokens.h"

typedef struct fp_run {
    uint32_t first_code;
    uint32_t count;  /* 1..65536 */
    uint32_t length; /* of each token in the run: 1..16 */
} fp_run;

/* The fields of docs/format.md, section 2. `runs` and `bytes` are owned. */
typedef struct fp_dict {
    fastpair_codec codec;
    uint32_t code_bits; /* b */
    uint32_t max_token; /* 8 or 16, what the codec allows */
    uint32_t order;     /* 0 none, 1 length classes */
    uint32_t class_shift;
    uint32_t code_slots; /* N */
    uint32_t tokens;
    uint32_t hot_slots;
    uint64_t seed;
    uint32_t run_count;
    fp_run *runs;
    uint8_t *bytes; /* tokens back to back in code order */
    uint64_t bytes_size;
} fp_dict;

#define FP_NO_CODE UINT32_MAX

/* Whether training must leave room for a hot part: for dictionaries that may be too large for a GPU's shared
 * memory, or if one is asked for. */
static inline int fp_reserves_hot(uint32_t hot_codes, uint32_t code_bits, uint32_t max_token) {
    if (hot_codes) return hot_codes != FASTPAIR_NO_HOT_CODES;
    return code_bits >= 15 || (code_bits == 14 && max_token > 8);
}

/* Numbers tokens. `counts[id]` is how often each id occurs in the data at hand (frequency order inside a class, but
 * for neighbours).
 * With `only_used`, ids whose count is 0 get no code and the code width shrinks to what is left; otherwise every
 * token gets one. `hot_codes` is as in fastpair_compress_options. Class shift is fp_class_shift of the resulting
 * width. `code_of_id` (tokens->count entries) gets each id's code; FP_NO_CODE for those without one. At least one
 * token must be numbered. */
fastpair_status fp_dict_order(const fp_tokens *tokens, const uint64_t *counts, int only_used,
                              uint32_t hot_codes, fastpair_codec codec, uint64_t seed,
                              const fastpair_allocator *allocator, fp_dict *dict,
                              uint32_t *code_of_id, fastpair_error *error);
void fp_dict_free(fp_dict *dict, const fastpair_allocator *allocator);

/* The dictionary block of docs/format.md: its size for an alignment, and its bytes. */
uint64_t fp_dict_block_size(const fp_dict *dict, uint32_t alignment);
void fp_dict_write(const fp_dict *dict, uint32_t alignment, uint8_t *block);

/* Parses a block from untrusted bytes with every check of section 2; `position` is the block's file offset, for
 * messages. `size` is how many bytes are there; the block must fit. */
fastpair_status fp_dict_read(const uint8_t *block, uint64_t size, uint32_t alignment,
                             uint64_t position, const fastpair_allocator *allocator, fp_dict *dict,
                             fastpair_error *error);

/* Expands to 2^b fat rows: row c is code c's token zero-padded to 16 bytes, lengths[c] its length. Codes of uncovered
 * slots and codes at or above N get the length of the last run before them and zero bytes. Either may be NULL. */
void fp_dict_expand(const fp_dict *dict, uint8_t (*rows)[16], uint8_t *lengths);

#endif
