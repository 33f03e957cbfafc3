/* pack_oracle.h - what the CPU's writer makes of chunks that are parsed, for tests of the encoder's
 * kernels in C++. */
#ifndef FP_TESTS_PACK_ORACLE_H
#define FP_TESTS_PACK_ORACLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pack_rules {
    uint32_t code_bits, max_token, alignment;
    uint32_t wanted_batch; /* batch_codes of the options */
    uint32_t batch_codes, group_batches;
    uint64_t dict_bytes;
    const uint8_t *lengths_of_code;
} pack_rules;

/* A chunk, parsed. `codes` are codes, not ids. */
typedef struct pack_chunk_rows {
    const uint8_t *bytes, *null_rows;
    const uint64_t *offsets;
    uint64_t rows, nulls;
    uint16_t *codes;
    uint64_t code_count;
    int in_first, ends_unit;
} pack_chunk_rows;

/* What is made of it. */
typedef struct pack_result {
    int coded;
    uint8_t *block; /* block_bytes, complete; of malloc */
    uint64_t block_bytes, section[4], section_bytes[4], by_length[16];
    uint32_t largest_batch, largest_pair, largest_four;
} pack_result;

/* Fills in batch_codes and group_batches. */
void pack_oracle_rules(pack_rules *rules);

/* Bytes of the row-length section. */
uint64_t pack_oracle_lengths(const pack_chunk_rows *rows);

/* Decides on chunks of one piece, list after list, as writer_units.c does. `had_dict`: the dictionary is
 * in the file. Sets `coded`; returns the chunk that the dictionary comes before, or `count`. */
uint32_t pack_oracle_decide(const pack_rules *rules, const pack_chunk_rows *rows, uint32_t count,
                            int had_dict, pack_result *results);

/* Sections of a chunk whose `coded` is set, whatever its codes are. */
void pack_oracle_layout(const pack_rules *rules, const pack_chunk_rows *rows, pack_result *result);

/* Builds the block of a chunk whose `coded` is set. */
void pack_oracle_build(const pack_rules *rules, const pack_chunk_rows *rows, pack_result *result);

#ifdef __cplusplus
}
#endif
#endif
