/* decode.h - from packed codes to bytes, the hot loop of the CPU side. */
#ifndef FP_DECODE_H
#define FP_DECODE_H

#include "dict.h"

/* Tables of a dictionary for decoding at one CPU level. Immutable; threads may share them. */
typedef struct fp_decoder fp_decoder;

/* `level` must be one that this CPU has, not FASTPAIR_CPU_BEST. Tables have an entry for each of
 * the 2^b code patterns, so that no code can lead outside them. *decoder is NULL on failure
 * (OUT_OF_MEMORY). */
fastpair_status fp_decoder_open(const fp_dict *dict, fastpair_cpu_level level,
                                const fastpair_allocator *allocator, fp_decoder **decoder,
                                fastpair_error *error);

/* The same for the words of cold chunks (docs/format.md, section 3.1), which have 16 bits each. The
 * ends of rows decode to nothing. Only for words that have a token, and for N and N + 1: whoever
 * decodes has looked. */
fastpair_status fp_decoder_open_words(const fp_dict *dict, fastpair_cpu_level level,
                                      const fastpair_allocator *allocator, fp_decoder **decoder,
                                      fastpair_error *error);
void fp_decoder_close(fp_decoder *decoder, const fastpair_allocator *allocator);

#define FP_DECODE_BAD UINT64_MAX

/* After a pause a core needs about 70 us to power up its 512-bit units, so AVX-512 pays from about
 * this many codes per thread on (docs/lab/cpu-decoder.md). */
#define FP_BULK_CODES (1u << 19)

/* Where blocks of FP_SEEN_BLOCK codes went, as far as a loop knows. */
#define FP_SEEN_BLOCK  256u
#define FP_SEEN_BLOCKS 16u
#define FP_SEEN_BRICK  16u
typedef struct fp_decode_blocks {
    uint32_t count;
    /* After each block: bytes that were written, and the pieces of FP_SEEN_BRICK bytes, or fewer at the end
     * of a token, that were not yet. They are the block's last ones. */
    struct {
        uint32_t bytes, left;
    } after[FP_SEEN_BLOCKS];
} fp_decode_blocks;

/* Bytes that were just decoded: whole tokens. */
typedef struct fp_decode_seen {
    const uint8_t *begin, *end;
    /* Bytes begin .. known are UTF-8, as far as they and the three bytes before them say: a character
     * may lack bytes at the end. Of others nothing is known. */
    const uint8_t *known;
    int is_ascii;   /* 1: and none of them is above 127 */
    uint64_t codes; /* how many these are */
    const fp_decode_blocks *blocks;
} fp_decode_seen;

/* Where rows begin: bytes that must not continue a character. */
typedef struct fp_decode_starts {
    const uint8_t *bytes;   /* offsets count from here */
    const uint8_t *offsets; /* 32 bits each; they do not decrease */
    uint64_t next;          /* the first row that nobody has looked at, at least FP_START_STEP */
    uint64_t end;           /* after the last row */
    int is_wrong;           /* 1: a row begins with such a byte */
} fp_decode_starts;

/* So many rows before the next one begin in bytes that are there. */
#define FP_START_STEP 8u

/* Somebody who looks at decoded bytes while they are in a near cache: called now and then,
 * with what was decoded since. What is not decoded in place is never shown. */
typedef struct fp_decode_watch {
    void (*look)(void *context, const fp_decode_seen *seen);
    void *context;
    /* 1: as much as possible should be known of bytes. There are at least three bytes before them.
     * Whoever looks may change it. */
    int wants_text;
    /* Rows that may be looked at meanwhile; NULL: none. Only where wants_text is 1. */
    fp_decode_starts *starts;
} fp_decode_watch;

/* Codes first .. first + count of a packed stream. Whoever fills it in has checked that
 * fp_packed_size(first + count) <= packed_size. Fastest when `first` is a multiple of 32. */
typedef struct fp_code_range {
    const uint8_t *packed;
    uint64_t packed_size;
    uint64_t first, count;
    int bulk; /* this thread decodes FP_BULK_CODES or more now, in this call or in several */
    /* Tokens of more bytes are rare: 16 or 32; 0 or more if nothing is known. What is true of it
     * decides how fast decoding is, and nothing else. */
    uint32_t rarely_above;
    const fp_decode_watch *watch; /* NULL: nobody */
} fp_code_range;

/* Decodes a range to out[0 .. capacity). Whatever the codes are, nothing outside the packed bytes
 * is read and nothing outside the output is written. Returns the decoded size, or FP_DECODE_BAD if
 * a code is not below the dictionary's N or the decoded size would exceed the capacity. Bytes
 * between the decoded size and the capacity are undefined. */
uint64_t fp_decode_codes(const fp_decoder *decoder, const fp_code_range *codes, uint8_t *out,
                         uint64_t capacity);

/* Bytes from .. to of what some codes decode to: at least one and at most FP_MOST_PART. */
typedef struct fp_code_part {
    uint64_t from, to;
    uint64_t all; /* what all of the codes decode to, as far as is known; 0: not known */
} fp_code_part;
#define FP_MOST_PART 8192u

/* Decodes a part of what a range decodes to, which begins with a multiple of 8. `out` has room for the
 * part alone. Returns the part's size, or FP_DECODE_BAD if a code of it is not below the dictionary's N or
 * the range does not decode to part->to bytes. Other codes are not judged: where one is bad, the part may be
 * FP_DECODE_BAD or other bytes. Takes about half the time of the whole range, or less. */
uint64_t fp_decode_part(const fp_decoder *decoder, const fp_code_range *codes,
                        const fp_code_part *part, uint8_t *out);

#endif
