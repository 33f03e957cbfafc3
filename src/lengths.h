/* lengths.h - row lengths, bit-packed in blocks of 256 rows (docs/format.md, section 3). */
#ifndef FP_LENGTHS_H
#define FP_LENGTHS_H

#include "format.h"

/* Bytes the section takes for rows with these offsets (rows + 1 entries, any base). */
uint64_t fp_lengths_size(const uint64_t *offsets, uint64_t rows);

/* Writes the section; `section` has fp_lengths_size bytes. */
void fp_lengths_write(const uint64_t *offsets, uint64_t rows, uint8_t *section);

/* Decodes block `block` of a section that holds `rows` rows: out[0 .. m] get the m + 1 row starts
 * of the block, in chunk bytes (out has FP_LENGTH_BLOCK + 1 entries). Returns m, or UINT32_MAX if
 * the directory entry points outside the section or the width is above 32. In a hostile file starts
 * may be nonsense; they never decrease and a block spans less than 2^41 bytes. The caller compares
 * them with its bounds. */
uint32_t fp_lengths_block(const uint8_t *section, uint64_t size, uint64_t rows, uint64_t block,
                          uint64_t *out);

/* The length of one row (below `rows`), or UINT64_MAX where fp_lengths_block fails. *start gets
 * where the row begins; NULL: not wanted. Cheaper than decoding the block: without `start` only the
 * row is read. Where blocks of a hostile file do not begin where those before them end, the start may be
 * counted from either, and below 0 wraps. */
uint64_t fp_lengths_row(const uint8_t *section, uint64_t size, uint64_t rows, uint64_t row,
                        uint64_t *start);

/* Checks every rule of the section: zero fields, contiguous blocks, starts that add up, the sum.
 * Returns NULL if all is well, else what is wrong; *where is then the offset in the section. */
const char *fp_lengths_check(const uint8_t *section, uint64_t size, uint64_t rows,
                             uint64_t decoded_bytes, uint64_t *where);

#endif
