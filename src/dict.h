/* dict.h - a dictionary as files hold it: code numbers, their tokens, and the order they are in. */
#ifndef FP_DICT_H
#define FP_DICT_H

#include "tokens.h"

typedef struct fp_run {
    uint32_t first_code;
    uint32_t count;  /* 1..65536 */
    uint32_t length; /* of each token in the run: 1..64 */
} fp_run;

/* The fields of docs/format.md, section 2. `runs` and `bytes` are owned. */
typedef struct fp_dict {
    fastpair_codec codec;
    uint32_t code_bits; /* b */
    uint32_t max_token; /* 8, 16, 32 or 64, what the codec allows */
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

void fp_dict_close(fp_dict *dict, const fastpair_allocator *allocator);

/* The block of docs/format.md of a plain dictionary: its size for an alignment, and its bytes. */
uint64_t fp_dict_block_size(const fp_dict *dict, uint32_t alignment);
void fp_dict_write(const fp_dict *dict, uint32_t alignment, uint8_t *block);

/* The block as warm files have it, folded where that is smaller, in a new buffer. Statuses:
 * OUT_OF_MEMORY. */
fastpair_status fp_dict_build(const fp_dict *dict, uint32_t alignment,
                              const fastpair_allocator *allocator, fp_buffer *block,
                              fastpair_error *error);

/* Makes the block that fp_dict_build made cold, if that is smaller. Statuses: OUT_OF_MEMORY. */
fastpair_status fp_dict_make_cold(const fp_dict *dict, uint32_t alignment,
                                  const fastpair_allocator *allocator, fp_buffer *block,
                                  fastpair_error *error);

/* Untrusted bytes that should begin with a dictionary block. */
typedef struct fp_dict_block {
    const uint8_t *bytes;
    uint64_t size;     /* bytes that are there; the block must fit */
    uint64_t position; /* file offset, for messages */
    uint32_t alignment;
    uint32_t minor;    /* version of the file: above 0, zero fields of the header are ignored */
    uint32_t features; /* of the file: FP_FEATURE_ bits */
} fp_dict_block;

/* Parses a block with every check of section 2. */
fastpair_status fp_dict_read(const fp_dict_block *block, const fastpair_allocator *allocator,
                             fp_dict *dict, fastpair_error *error);

/* Bytes of the longest token that is there. */
uint32_t fp_dict_longest(const fp_dict *dict);

/* Expands to 2^b cells of `stride` bytes: a cell is its code's token, zero-padded, or as much of the
 * token as there is room for. lengths[c] is the length of code c's token. Codes without a token get
 * zero bytes and the length of the last run before them. Cells or lengths may be NULL. */
void fp_dict_expand(const fp_dict *dict, uint8_t *cells, uint32_t stride, uint8_t *lengths);

#endif
