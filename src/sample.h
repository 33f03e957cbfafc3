/* sample.h - which bytes of a column training looks at. */
#ifndef FP_SAMPLE_H
#define FP_SAMPLE_H

#include "memory.h"

/* How a sample is drawn, for whoever draws the same one elsewhere (gpu/kernels/sample.cuh): pieces have
 * at most 2^FP_SAMPLE_PIECE_SHIFT bytes, and are dealt to 2^FP_SAMPLE_DECK_BITS decks. */
#define FP_SAMPLE_PIECE_SHIFT 12u
#define FP_SAMPLE_DECK_BITS   6u

/* Pieces of rows in the order training reads them, copied into one buffer that is readable for
 * FP_SLACK bytes past its end. */
typedef struct fp_sample {
    uint8_t *bytes;
    uint64_t size;
    uint32_t *lengths; /* of each piece; pieces lie back to back; none is empty */
    uint64_t pieces;
    uint64_t column_bytes; /* decoded bytes of the column it was drawn from */
    int is_text;           /* UTF-8, but for characters that the ends of pieces cut */
} fp_sample;

/* Draws at most `cap` bytes from `rows`, in an order that depends on the seed alone. Rows are cut
 * into pieces of at most 4 KiB, so that one long row does not crowd out the rest. Pieces are
 * shuffled and taken until the cap is reached. Null and empty rows are left out. */
fastpair_status fp_sample_open(const fastpair_rows *rows, uint64_t cap, uint64_t seed,
                               const fastpair_allocator *allocator, fp_sample *sample,
                               fastpair_error *error);
void fp_sample_close(fp_sample *sample, const fastpair_allocator *allocator);

/* The same sample, drawn elsewhere and not trusted. */
typedef struct fp_sample_drawn {
    const uint8_t *bytes;
    uint64_t size;
    const uint8_t *lengths; /* 2 bytes each, at any address */
    uint64_t pieces, column_bytes;
} fp_sample_drawn;

/* Copies it. CORRUPT if lengths are not those of pieces that make up its bytes. */
fastpair_status fp_sample_copy(const fp_sample_drawn *drawn, const fastpair_allocator *allocator,
                               fp_sample *sample, fastpair_error *error);

/* Where each piece begins, and the size at the end: pieces + 1 offsets, as fp_parse_rows takes
 * them. The caller releases them. NULL without memory. */
uint64_t *fp_sample_offsets(const fp_sample *sample, const fastpair_allocator *allocator);

/* The default cap for a codec, width and level. */
uint64_t fp_sample_default(fastpair_codec codec, uint32_t code_bits, uint32_t level);

#endif
