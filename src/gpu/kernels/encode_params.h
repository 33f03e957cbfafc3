/* encode_params.h - what the host tells the kernels of the encoder, and what these kernels leave in
 * device memory for each other: plain structs, and the constants that both sides compute with.
 *
 * Rows in device memory become chunk blocks of an image in device memory. The stages, each some
 * kernels, in order:
 *   rows     checks the input; where null rows have bytes, moves the text together
 *   cut      rows → chunks, by the rule of src/cut.c; marks where rows end
 *   measure  sizes of row-length sections
 *   parse    segments of text → codes, each segment by one lane, from a guess where its first token
 *            begins; then seams: where a guess was wrong the segment is parsed again
 *   layout   codes of each chunk; which chunks are coded; where blocks lie in the image
 *   pack     codes → packed codes, sidecar, counts of the header; or the text as it is
 *   frame    row lengths, validity, what the footer says of the rows
 * Every kernel returns at once if `status` of the state is not 0. */
#ifndef FP_GPU_ENCODE_PARAMS_H
#define FP_GPU_ENCODE_PARAMS_H

#include "params.h"

/* Bits of the status word. encode_launch.c asserts that they are those of fastpair_gpu_encode.h. */
#define FP_GPU_ENCODE_BAD_OFFSETS 1u /* they decrease, or end past the bytes, or a row has 4 GiB */
#define FP_GPU_ENCODE_TOO_SMALL   2u /* the output has no room */
#define FP_GPU_ENCODE_BAD_TABLES  4u /* chunks or segments are more than scratch was made for */

/* Text bytes that a lane parses. */
#define FP_GPU_ENCODE_SEGMENT 512u
/* Rows per block of kernels that go through rows; of the numbers in `sums`. */
#define FP_GPU_ENCODE_ROWS 1024u
/* Rows of a block of row lengths: FP_LENGTH_BLOCK of format.h. A warp takes one, or four where rows
 * are compared. */
#define FP_GPU_ENCODE_LENGTHS 256u
#define FP_GPU_ENCODE_BOUNDED 4u
/* Text bytes per block, of kernels that go through the text: where it is moved, and judged. */
#define FP_GPU_ENCODE_MOVED  4096u
#define FP_GPU_ENCODE_JUDGED 16384u
/* Threads of fp_encode_scan, which is one block. */
#define FP_GPU_ENCODE_THREADS 1024u
/* FP_CHUNK_ROWS and FP_WAITING_ROWS of cut.h, and UNIT_ROWS of cut.c. */
#define FP_GPU_ENCODE_CHUNK_ROWS   (1u << 20)
#define FP_GPU_ENCODE_UNIT_ROWS    (2u << 20)
#define FP_GPU_ENCODE_WAITING_ROWS (4u << 20)
/* Codes of a group of batches, at most: FP_MAX_GROUP of format.h. Pack *takes* whole groups, as many
 * as have no more codes than this together; a group has at least 4 batches. */
#define FP_GPU_ENCODE_GROUP 4096u
/* Text bytes of a stored chunk that pack takes. */
#define FP_GPU_ENCODE_STORED 16384u
/* Threads of a block that packs: more than elsewhere, as blocks share a table of token lengths. */
#define FP_GPU_ENCODE_PACK_THREADS 512u

/* Dynamic shared memory of fp_encode_pack: codes of two takes, each with some zeros; sums of 32 codes,
 * and positions; 16 counts; where the next take begins; by length of a token, what is added to
 * counts; token lengths by code. */
#define FP_GPU_PACK_ZEROS 32u
#define FP_GPU_PACK_SUMS  (FP_GPU_ENCODE_GROUP / 32)
enum {
    FP_GPU_PACK_CODES = 2 * (FP_GPU_ENCODE_GROUP + FP_GPU_PACK_ZEROS), /* bytes of a take's codes */
    FP_GPU_PACK_AT_SUMS = 2 * FP_GPU_PACK_CODES,
    FP_GPU_PACK_AT_POSITIONS = FP_GPU_PACK_AT_SUMS + 4 * FP_GPU_PACK_SUMS,
    FP_GPU_PACK_AT_COUNTS = FP_GPU_PACK_AT_POSITIONS + 4 * FP_GPU_PACK_SUMS + 16,
    FP_GPU_PACK_AT_NEXT = FP_GPU_PACK_AT_COUNTS + 16 * 4,
    FP_GPU_PACK_AT_ONES = FP_GPU_PACK_AT_NEXT + 16,
    FP_GPU_PACK_AT_LENGTHS = FP_GPU_PACK_AT_ONES + 8 * 66
};
static inline uint32_t fp_gpu_encode_pack_shared(uint32_t code_bits) {
    uint32_t lengths = 1u << code_bits;
    return (uint32_t)FP_GPU_PACK_AT_LENGTHS + (lengths < 16 ? 16 : lengths);
}

/* A chunk, from row numbers to the sections of its block. 8-byte aligned, in device memory; in the
 * end the host reads it back and makes the block's header of it. */
typedef struct fp_gpu_encode_chunk {
    /* cut */
    uint64_t first_row;  /* of the input */
    uint64_t first_byte; /* in the text */
    /* Codes of segment i of the chunk lie from codes + 2 * (code_place + i * FP_GPU_ENCODE_SEGMENT)
     * on. A multiple of 16; chunks are apart by more than their bytes. */
    uint64_t code_place;
    uint64_t first_segment; /* in the tables of segments; a multiple of 32 */
    uint32_t rows, nulls;
    uint32_t bytes;
    uint32_t segments;    /* ceil(bytes / FP_GPU_ENCODE_SEGMENT) */
    uint32_t first_block; /* of row lengths: sum of ceil(rows / 256) of the chunks before */
    uint8_t in_first;     /* 1: it is in the first list of src/cut.c */
    uint8_t ends_unit;    /* 1: the last chunk of its unit */
    uint8_t is_text;      /* frame: its rows are UTF-8; 1 where nobody asks */
    uint8_t coded;        /* layout: 0: stored */
    /* measure: of the row-length section */
    uint32_t lengths_bytes;
    /* layout */
    uint32_t codes;
    uint64_t block; /* where its block begins in the image */
    uint64_t block_bytes;
    uint64_t section[4]; /* offsets from the block's start, 0 where it has no bytes; sizes follow */
    uint64_t section_bytes[4];
    /* pack */
    uint32_t largest_batch, largest_pair, largest_four;
    uint32_t first_take;    /* layout: pieces of work of the chunks before */
    uint64_t by_length[16]; /* codes, by the bands of chunk.h */
    /* frame: bounds.h, fp_bound: size and big-endian words of the smallest and the largest valid row.
     * has_row 0: none. */
    uint64_t has_row;
    uint64_t smallest[9], largest[9];
    /* seams: not 0 if its seams take the long way */
    uint32_t is_hard, no_use;
} fp_gpu_encode_chunk;

/* What an encoder knows of the column so far. It stays in device memory from piece to piece of a
 * column, and is all zero before the first one. */
typedef struct fp_gpu_encode_state {
    uint32_t status;
    uint32_t moves_text;  /* rows: null rows had bytes, so the text was moved together */
    uint32_t has_dict;    /* layout: the dictionary's block is in the image */
    uint32_t chunks;      /* cut: of this piece */
    uint64_t dict_place;  /* layout: where the dictionary's block begins in the image */
    uint64_t image_end;   /* layout: image bytes of all pieces so far */
    uint64_t image_begin; /* layout: where this piece begins in the image */
    uint64_t rows, bytes; /* cut: of all pieces before this one */
    uint64_t segments;    /* cut: of this piece, with gaps */
    uint64_t text_bytes;  /* rows: bytes of the valid rows of this piece */
    uint32_t bad_seams;   /* parse: how many guesses were wrong */
    uint32_t hard_seams;  /* parse: how many of these went on into a third segment */
    uint64_t piece_rows;  /* cut: of this piece */
    uint64_t takes;       /* layout: pieces of work for pack, of this piece of the column */
} fp_gpu_encode_state;

/* Rows as the caller has them. */
typedef struct fp_gpu_encode_input {
    uint64_t bytes, bytes_size;
    uint64_t offsets; /* rows + 1, offset_bits wide */
    uint64_t rows;
    uint64_t validity;       /* 0, or an Arrow bitmap; may be at any address */
    uint64_t validity_first; /* the bit of row 0 */
    uint32_t offset_bits;    /* 32 or 64 */
    uint32_t is_last;        /* no piece follows */
} fp_gpu_encode_input;

/* The rules of src/cut.c and the packing of settings.h, as numbers. */
typedef struct fp_gpu_encode_rules {
    uint64_t chunk_bytes, unit_bytes, first_bytes;
    uint64_t dict_bytes;  /* of the dictionary's block */
    uint64_t first_block; /* image bytes before the first block: the file header */
    uint32_t alignment;
    uint32_t code_bits, batch_codes, group_batches, max_token;
    uint32_t detects_text, wants_bounds, reserved;
} fp_gpu_encode_rules;

/* Addresses in scratch. What has no use is 0. */
typedef struct fp_gpu_encode_scratch {
    uint64_t state;  /* fp_gpu_encode_state */
    uint64_t chunks; /* table of fp_gpu_encode_chunk */
    uint64_t most_chunks;
    uint64_t starts; /* with validity: rows + 1 numbers of 8 bytes, where rows begin in the text */
    uint64_t sums;   /* sums of blocks of 1024 rows, for the scan of starts, 8 bytes each */
    uint64_t text;   /* with validity: room for the text, moved together */
    /* A bit per byte of the text, and one more: whether a row ends before this byte. In whole 32-bit
     * words, and one more word of zeros; bit 0 and bits where nothing ends are 0. */
    uint64_t ends;
    /* Per block of row lengths 8 bytes. measure: the minimum, then width << 24 | nulls; place puts
     * where the packed numbers begin, in words from the first one on, in the place of the nulls. */
    uint64_t length_blocks;
    /* bounds: per block of row lengths two row numbers of the chunk, of the smallest and the largest
     * row; FP_GPU_ENCODE_NO_ROW: none. */
    uint64_t extremes;
    uint64_t codes; /* 2 bytes each */
    /* Tables of segments, 4 bytes each: bytes from the chunk's start to the first token; to the end
     * of the last; how many codes; and codes of the chunk before. */
    uint64_t seg_first, seg_end, seg_count, seg_rank;
    uint64_t most_segments;
    uint64_t hard; /* parse: for seams, fp_gpu_encode_hard_bytes; a multiple of 16 */
} fp_gpu_encode_scratch;

/* A perfect hash of (node, next bytes) → node: a key is in its one slot or nowhere. The top bits of
 * the first hash, at shift, say the bucket, and a bucket's multiplier is such that all keys of all
 * buckets get different slots. */
typedef struct fp_gpu_encode_hash {
    uint32_t factors[3];
    uint32_t shift;
    uint32_t slots;
    uint32_t multipliers; /* place of the table: 2 bytes per bucket */
    uint32_t entries; /* place of the table: FP_GPU_ENCODE_NEAR_ENTRY or _FAR_ENTRY bytes each */
} fp_gpu_encode_hash;

/* What parsing reads; encode_tables.h says what the tables hold. Places are bytes from `memory`. */
typedef struct fp_gpu_encode_tables {
    uint64_t memory; /* device address, a multiple of 16 */
    uint64_t bytes;
    /* Device address, a multiple of 16: by code, a byte: the token's length. 2^code_bits bytes, and at
     * least 16. */
    uint64_t lengths;
    fp_gpu_encode_hash edges, forks;
    uint32_t stems, leaves, answers;
    uint32_t longest; /* token */
    uint32_t guess;   /* how many bytes before its segment a parse begins, at most */
    uint32_t shape;   /* FP_GPU_ENCODE_SHAPE_: which tables are in shared memory */
    /* So many bytes of `memory`, from its start, are copied to shared memory; the last
     * FP_GPU_ENCODE_VIEW are not, but the kernel needs them. */
    uint32_t shared_bytes;
} fp_gpu_encode_tables;

/* Which tables fp_encode_parse has in shared memory; there is a kernel for each. */
#define FP_GPU_ENCODE_SHAPE_NEAR   0u /* all; entries are short */
#define FP_GPU_ENCODE_SHAPE_LEAVES 1u /* all but entries */
#define FP_GPU_ENCODE_SHAPE_HASHES 2u /* all but entries and leaves */
#define FP_GPU_ENCODE_SHAPE_FAR    3u /* none */
/* With this added: there are tokens of more than 16 bytes. */
#define FP_GPU_ENCODE_SHAPE_LONG 4u
#define FP_GPU_ENCODE_SHAPES     8u
#define FP_GPU_ENCODE_VIEW       64u
#define FP_GPU_ENCODE_NEAR_ENTRY 8u
#define FP_GPU_ENCODE_FAR_ENTRY  16u
/* Threads of a block of fp_encode_parse; one block per multiprocessor. Shapes other than near have
 * answers to keep, so they need more registers. */
#define FP_GPU_ENCODE_NEAR_THREADS 1024u
#define FP_GPU_ENCODE_FAR_THREADS  896u

/* Scratch for seams (`hard`), after FP_GPU_ENCODE_HARD_HEADER bytes of counts: see
 * encode_seams.cuh. */
#define FP_GPU_ENCODE_HARD_HEADER 64u

/* Ways into a segment: as many as the longest token has bytes, in whole words. */
#define FP_GPU_ENCODE_HARD_STRIDE(longest) ((longest) < 8 ? 8 : ((uint64_t)(longest) + 7) / 8 * 8)

/* Bytes of `hard`: a byte per segment and way into it (at first a list of wrong seams, 8 bytes
 * each); then the same per 32 segments, a number per 32 segments twice, and a number per chunk. */
static inline uint64_t fp_gpu_encode_hard_bytes(uint64_t most_segments, uint64_t most_chunks,
                                                uint32_t longest) {
    const uint64_t stride = FP_GPU_ENCODE_HARD_STRIDE(longest), tiles = most_segments / 32 + 1;
    return FP_GPU_ENCODE_HARD_HEADER + most_segments * stride + tiles * (stride + 8) +
           most_chunks * 4;
}
#define FP_GPU_ENCODE_NO_ROW 0xffffffffu

typedef struct fp_gpu_encode_launch {
    fp_gpu_encode_input input;
    fp_gpu_encode_rules rules;
    fp_gpu_encode_scratch scratch;
    fp_gpu_encode_tables tables;
    /* Where this piece of the image goes: byte image_begin of the image is here. A multiple of 256. */
    uint64_t output, output_capacity;
    uint64_t used; /* 2^code_bits bits, in 32-bit words: codes that occur in coded chunks so far */
    /* Of fp_encode_parse and fp_encode_seams, which are launched several times: which time it is. */
    uint64_t round;
} fp_gpu_encode_launch;

#endif
