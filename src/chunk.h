/* chunk.h - one chunk block, parsed: plain numbers and pointers into the image. */
#ifndef FP_CHUNK_H
#define FP_CHUNK_H

#include "error.h"
#include "format.h"
#include "tokens.h"

typedef struct fp_section {
    uint64_t offset; /* from the block's start */
    uint64_t size;
    uint64_t checksum;
} fp_section;

/* A header counts codes by *bands* of token lengths: 1..8 bytes each for itself, then 9..12, 13..16,
 * and eights up to 64. */
#define FP_LENGTH_BANDS 16

/* The band, 0 .. FP_LENGTH_BANDS - 1, of a length of 1..64. */
static inline uint32_t fp_length_band(uint32_t length) {
    return length <= 8 ? length - 1 : length <= 16 ? (length - 1) / 4 + 6 : (length - 1) / 8 + 8;
}

/* The shortest and the longest length of a band. */
static inline uint32_t fp_band_least(uint32_t band) {
    return band < 8 ? band + 1 : band < 10 ? 4 * (band - 6) + 1 : 8 * (band - 8) + 1;
}
static inline uint32_t fp_band_most(uint32_t band) {
    return band < 8 ? band + 1 : band < 10 ? 4 * (band - 5) : 8 * (band - 7);
}

/* Counts by band, from counts by length 1..64. */
static inline void fp_count_bands(const uint64_t by_length[FP_MAX_TOKEN + 1],
                                  uint64_t by_band[FP_LENGTH_BANDS]) {
    memset(by_band, 0, FP_LENGTH_BANDS * sizeof *by_band);
    for (uint32_t length = 1; length <= FP_MAX_TOKEN; length++)
        by_band[fp_length_band(length)] += by_length[length];
}

enum { FP_SECTION_CODES, FP_SECTION_SIDECAR, FP_SECTION_LENGTHS, FP_SECTION_VALIDITY, FP_SECTIONS };

/* The fields of the header, one by one. A cold chunk's are those of the warm one, but for sections
 * and block_bytes. */
typedef struct fp_chunk {
    uint64_t position; /* file offset of the block */
    uint64_t block_bytes;
    int coded;    /* 0: stored */
    int cold;     /* the codes section is a frame */
    int was_cold; /* it is warm, and its sections lie in memory alone; no field of the header */
    int has_validity;
    uint32_t dictionary;
    uint64_t rows;
    uint64_t nulls;
    uint64_t codes;
    uint64_t decoded_bytes;
    uint32_t batch_codes;
    uint32_t group_batches;
    uint32_t largest_batch;
    uint32_t largest_pair;               /* of batches 2k and 2k + 1 */
    uint32_t largest_four;               /* of batches 4k .. 4k + 3 */
    uint64_t by_length[FP_LENGTH_BANDS]; /* codes, by the band of their token's length */
    fp_section sections[FP_SECTIONS];
} fp_chunk;

/* Lays the sections out for an alignment: fills their offsets (sizes are set) and block_bytes. */
void fp_chunk_layout(fp_chunk *chunk, uint32_t alignment);

/* Writes the 320-byte header with its checksum. */
void fp_chunk_write_header(const fp_chunk *chunk, uint8_t *header);

/* What comes before a chunk in its file. */
typedef struct fp_chunk_context {
    uint32_t alignment;
    const uint32_t *code_bits_of; /* of each dictionary */
    uint64_t dictionaries;
    uint32_t minor;    /* version of the file: above 0, zero fields are ignored */
    uint32_t features; /* of the file: FP_FEATURE_ bits */
} fp_chunk_context;

/* Parses a header from untrusted bytes at file offset `position`, with every check of
 * docs/format.md that needs the header alone: section layout, counts that add up, sizes that follow
 * from the counts. Sections themselves are not read, and need not be in memory. */
fastpair_status fp_chunk_read_header(const uint8_t *header, uint64_t position,
                                     const fp_chunk_context *before, fp_chunk *chunk,
                                     fastpair_error *error);

/* The number of the dictionary that a header names, which may still be damaged; UINT64_MAX if it is that
 * of a stored chunk. */
uint64_t fp_chunk_peek_dictionary(const uint8_t *header);

/* Pointer to a section, given the block's first byte. */
static inline const uint8_t *fp_chunk_section(const fp_chunk *chunk, const uint8_t *block,
                                              int which) {
    return block + chunk->sections[which].offset;
}

#endif
