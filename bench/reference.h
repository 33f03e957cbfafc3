/* reference.h - the decoding loop that fastpair's is measured against: the one of the paper's
 * Listing 1. */
#ifndef FP_BENCH_REFERENCE_H
#define FP_BENCH_REFERENCE_H

#include <stdint.h>

/* How many bytes past the decoded ones the loop may write. */
#define FP_REFERENCE_SLACK 64u

typedef struct fp_reference fp_reference;

/* Tables for codes 0 .. count - 1, whose tokens are lengths[code] (1..64) bytes of cells[code].
 * NULL if there is no memory. */
fp_reference *fp_reference_open(const uint8_t (*cells)[64], const uint8_t *lengths, uint32_t count);
void fp_reference_close(fp_reference *reference);

/* Decodes codes that are below the count of the tables, to `out`, which has room for their tokens
 * and the slack. Returns the decoded size. */
uint64_t fp_reference_decode(const fp_reference *reference, const uint16_t *codes, uint64_t count,
                             uint8_t *out);

#endif
