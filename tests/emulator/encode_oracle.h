/* encode_oracle.h - what the library's CPU side makes of rows, as far as the encoder's kernels around
 * the parse do the same: chunks, row lengths, validity, bounds, whether rows are text. */
#ifndef FP_TESTS_ENCODE_ORACLE_H
#define FP_TESTS_ENCODE_ORACLE_H

#include "fastpair.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct encode_oracle_rules {
    uint64_t chunk_bytes, unit_bytes, first_bytes;
    uint32_t units;  /* listed at once, later on */
    int has_before;  /* rows before these have been cut */
    uint64_t append; /* rows per append; 0: all at once */
} encode_oracle_rules;

typedef struct encode_oracle_chunk {
    uint64_t first_row, rows, nulls, first_byte, bytes;
    uint64_t lengths_bytes, validity_bytes;
    uint8_t *lengths, *validity; /* sections */
    int in_first, ends_unit, is_text;
    uint64_t has_row, smallest[9], largest[9]; /* size, words */
} encode_oracle_chunk;

typedef struct encode_oracle {
    encode_oracle_chunk *chunks;
    uint64_t count, capacity;
    uint8_t *text; /* of valid rows, back to back */
    uint64_t bytes;
    uint64_t *starts; /* rows + 1 */
    uint64_t rows;
} encode_oracle;

/* Aborts where the library fails. */
encode_oracle encode_oracle_open(const fastpair_rows *rows, const encode_oracle_rules *rules);
/* Chunks alone, without what is in them. */
encode_oracle encode_oracle_cut(const fastpair_rows *rows, const encode_oracle_rules *rules);
void encode_oracle_close(encode_oracle *oracle);

#ifdef __cplusplus
}
#endif

#endif
