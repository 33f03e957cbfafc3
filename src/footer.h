/* footer.h - what surrounds the blocks of a file: file header, footer, trailer (docs/format.md, 1
 * and 4). */
#ifndef FP_FOOTER_H
#define FP_FOOTER_H

#include "parts.h"

/* ---------------------------------------------------------------- file header */

typedef struct fp_file_header {
    uint32_t alignment; /* 64 or 4096 */
    int has_framing;
    uint8_t separator; /* 0 without framing */
    uint16_t minor;    /* set by reading: above 0, fields that are zero in 1.0 are ignored */
    uint32_t features; /* FP_FEATURE_ bits */
} fp_file_header;

/* Writes 64 bytes. With an alignment of 4096 the caller fills the gap to the first block with
 * zeros. */
void fp_file_header_write(const fp_file_header *file, uint8_t *out);

/* Parses 64 untrusted bytes. UNSUPPORTED for another major version or a feature that is not known,
 * CORRUPT for everything else. */
fastpair_status fp_file_header_read(const uint8_t *in, fp_file_header *file, fastpair_error *error);

/* File offset of the first block. */
static inline uint64_t fp_first_block(uint32_t alignment) {
    return fp_align(FP_FILE_HEADER, alignment);
}

/* ---------------------------------------------------------------- footer and trailer */

typedef struct fp_dict_entry {
    uint64_t position; /* file offset of the block */
    uint64_t block_bytes;
    uint32_t tokens_in_use; /* that occur in the dictionary's chunks */
} fp_dict_entry;

typedef struct fp_chunk_entry {
    uint64_t position;
    uint64_t block_bytes;
    uint32_t rows;
    /* 1 + the number of the chunk's dictionary where that is not the last one before the chunk; 0:
     * nothing is said, and it mostly is. So a reader of ranges asks for both at once. */
    uint32_t dictionary;
    uint64_t decoded_bytes;
} fp_chunk_entry;

typedef struct fp_footer {
    uint64_t dictionaries;
    uint64_t chunks;
    uint64_t rows;
    uint64_t nulls;
    uint64_t codes;
    uint64_t decoded_bytes;
    int final_separator;
    int is_text;    /* every valid row is UTF-8, or so the footer says */
    uint32_t parts; /* at most FP_MAX_PARTS */
    /* Set by reading. Writing computes the first two and writes no extra blocks. */
    uint64_t block_bytes; /* header, entries and parts */
    uint64_t entries_checksum;
    uint64_t extra_bytes; /* of blocks between the last chunk and the footer */
} fp_footer;

/* Bytes of the entries of dictionaries, chunks and parts, which follow the header. The counts are
 * below 2^57, so nothing overflows. */
static inline uint64_t fp_footer_entries(const fp_footer *footer) {
    return footer->dictionaries * FP_FOOTER_DICT_ENTRY + footer->chunks * FP_FOOTER_CHUNK_ENTRY +
           footer->parts * (uint64_t)FP_PART_ENTRY;
}

/* Where the entries of parts begin, counted from the first entry. */
static inline uint64_t fp_footer_part_entries(const fp_footer *footer) {
    return footer->dictionaries * FP_FOOTER_DICT_ENTRY + footer->chunks * FP_FOOTER_CHUNK_ENTRY;
}

/* What is written: the arrays have footer->dictionaries, footer->chunks and footer->parts entries,
 * in file order. */
typedef struct fp_footer_contents {
    const fp_dict_entry *dictionaries;
    const fp_chunk_entry *chunks;
    const fp_part_content *parts;
} fp_footer_contents;

/* Bytes of the footer block without the trailer. */
uint64_t fp_footer_size(const fp_footer *footer, const fp_part_content *parts);

/* Writes footer and trailer, fp_footer_size + FP_TRAILER bytes, for a footer at file offset
 * `position`. */
void fp_footer_write(const fp_footer *footer, const fp_footer_contents *contents, uint64_t position,
                     uint8_t *out);

/* Parses the 112 bytes of the footer's header, found at file offset `position`. The file has room
 * for as many blocks before `position` as the counts say, so arrays made for them are bounded by
 * the file. */
fastpair_status fp_footer_read(const uint8_t *header, uint64_t position, const fp_file_header *file,
                               fp_footer *footer, fastpair_error *error);

/* Rows and decoded bytes before each chunk, and the totals after the last. */
typedef struct fp_chunk_starts {
    uint64_t *row;
    uint64_t *byte;
} fp_chunk_starts;

/* Checks the entries (fp_footer_entries bytes) of a footer that fp_footer_read accepted: checksum,
 * zero fields, blocks back to back from the first to the extra blocks or the footer, sums, that no
 * chunk claims more rows or bytes than a block of its size can hold, and that parts lie as they
 * should. No block and no part is read. Fills *starts,
 * which has room for all chunks and the totals, unless it is NULL. */
fastpair_status fp_footer_check_entries(const uint8_t *entries, uint64_t position,
                                        const fp_file_header *file, const fp_footer *footer,
                                        const fp_chunk_starts *starts, fastpair_error *error);

/* Entry i of entries in memory. */
fp_dict_entry fp_footer_dict(const uint8_t *entries, uint64_t i);
fp_chunk_entry fp_footer_chunk(const uint8_t *entries, const fp_footer *footer, uint64_t i);

/* What is wrong with the start (FP_BLOCK_START bytes) of an extra block, whose kind is none of
 * version 1.0; NULL if nothing. `room`: bytes up to the footer, as far as they are known. *size gets
 * the block's, at most `room`; its header, of at least 24 bytes, lies inside. */
const char *fp_extra_block_fault(const uint8_t *start, uint64_t room, uint32_t alignment,
                                 uint64_t *size);

/* CORRUPT for an extra block at a file offset. */
fastpair_status fp_extra_block_fail(uint64_t position, const char *fault, fastpair_error *error);

/* Parses the 32 bytes at the end of a file of `size` bytes. *position gets the footer's offset: a
 * multiple of the alignment, with room for a footer header and the trailer after it. */
fastpair_status fp_trailer_read(const uint8_t *in, uint64_t size, const fp_file_header *file,
                                uint64_t *position, fastpair_error *error);

#endif
