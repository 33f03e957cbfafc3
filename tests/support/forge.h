/* forge.h - builds `.fpc` images field by field, honest or not, for tests of what the library makes
 * of them.
 *
 * In goes what each header and section is to say; out comes an image laid out as docs/format.md
 * asks, with every checksum right: whoever crafts a hostile file computes the checksums too. Fields
 * that the caller sets are written as they are, so any lie can be told. Images can also be taken
 * apart, changed and joined again. Nothing here shares code with the library. Out of memory aborts:
 * this is test code.
 *
 *   forge.c           bytes, blocks, footer, taking apart and joining
 *   forge_seal.c      checksums
 *   forge_contents.c  honest dictionaries and chunks, and whole columns made of them
 *
 * Three builders stay apart, as they build no file. emulator/kernel_case.cc lays out one chunk in
 * device memory, so that kernels can be run without a file. emulator/device_columns.c makes the
 * tables of kernels from a column, in place of the library's upload. test_kernel_rows.cc makes
 * row-length sections of all widths and bases, one block at a time.
 */
#ifndef FP_TESTS_FORGE_H
#define FP_TESTS_FORGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- bytes */

typedef struct forge_bytes {
    uint8_t *data;
    uint64_t size;
} forge_bytes;

static inline uint64_t forge_get(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static inline void forge_put(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

/* Appends `size` bytes (zeroes if `data` is NULL) and returns where they are. No room is kept after
 * them, so that sanitizers see reads beyond the end. Each call copies everything: a loop does
 * better to append once. */
uint8_t *forge_append(forge_bytes *bytes, const void *data, uint64_t size);

/* A fastpair_sink's write function; `context` is a forge_bytes. */
int forge_write(void *context, const void *data, size_t size);

/* Sets `width` bits from bit `bit` on to `value`; they must be 0 before. */
void forge_bits(uint8_t *section, uint64_t bit, uint32_t width, uint64_t value);

/* ---------------------------------------------------------------- altering images that exist */

/* The checksum of docs/format.md. */
uint64_t forge_checksum(const void *data, uint64_t size);

/* Recomputes every checksum of an altered image. Blocks are found by their kind at multiples of 64;
 * sections that do not lie inside the image are left alone. */
void forge_reseal(uint8_t *image, uint64_t size);

/* The same for the bytes of a dictionary block alone, as a dictionary is exported. */
void forge_reseal_dictionary(uint8_t *block, uint64_t size);

/* File offset of the n-th block of a kind ("FPDI", "FPCH", "FPFT"), or 0 if there is none: no block
 * is at 0. */
uint64_t forge_block(const uint8_t *image, uint64_t size, const char *kind, uint64_t n);

/* ---------------------------------------------------------------- building images */

enum {
    FORGE_HEAD = 64, /* bytes of the file header, of block headers and of the trailer */
    FORGE_DICTIONARY_HEADER = 96,
    FORGE_CHUNK_HEADER = 320,
    FORGE_FOOTER_HEADER = 112,
    FORGE_TRAILER = 32
};

/* The sections of a chunk, in their order. */
enum { FORGE_CODES, FORGE_SIDECAR, FORGE_LENGTHS, FORGE_VALIDITY, FORGE_SECTIONS };

typedef struct forge_dictionary {
    uint32_t codec, bits, longest, order, shift, slots, tokens, hot, runs;
    uint32_t cold;      /* the section is a frame */
    uint64_t warm_size; /* of the section, out of its frame */
    uint32_t in_use;    /* tokens that occur, for the footer; 0: all */
    uint64_t seed;
    forge_bytes section; /* run entries, then token bytes */
} forge_dictionary;

typedef struct forge_chunk {
    uint32_t encoding, has_validity, dictionary, batch, group;
    uint32_t largest, largest_pair, largest_four;
    uint64_t rows, nulls, codes, decoded;
    uint64_t by_length[16];
    forge_bytes sections[FORGE_SECTIONS];
} forge_chunk;

/* A part of the footer. */
typedef struct forge_footer_part {
    uint32_t kind, flags;
    forge_bytes bytes;
} forge_footer_part;

enum { FORGE_MOST_PARTS = 66 }; /* more than a file may have */

/* An image that grows, and what its footer will say. */
typedef struct forge {
    forge_bytes file;
    uint32_t alignment;
    uint64_t dictionaries, chunks, rows, nulls, codes, decoded;
    forge_bytes entries[2]; /* of the footer: dictionaries, chunks */
    int final_separator;
    uint32_t type;
    uint64_t extra; /* bytes of extra blocks */
    uint32_t parts;
    forge_footer_part part[FORGE_MOST_PARTS];
} forge;

/* Writes the file header. `framing` says whether the header names a separator. */
void forge_begin(forge *f, uint32_t alignment, int framing, uint8_t separator);

/* Both take the sections' memory. */
void forge_add_dictionary(forge *f, forge_dictionary *dictionary);
void forge_add_chunk(forge *f, forge_chunk *chunk);

/* Adds a part to the footer; the bytes are copied. */
void forge_add_part(forge *f, uint32_t kind, uint32_t flags, const void *bytes, uint64_t size);

/* Adds a block of a kind that nobody knows, with a header of 64 bytes, of which byte 20 is `mark`. */
void forge_add_extra(forge *f, const char *kind, uint64_t size, uint8_t mark);

/* Writes footer and trailer. The image is f->file; the caller frees f->file.data. */
void forge_finish(forge *f);

/* An image of one chunk and, unless it is NULL, one dictionary. Takes the sections' memory. */
forge_bytes forge_column(forge_dictionary *dictionary, forge_chunk *chunk);

/* ---------------------------------------------------------------- taking images apart */

enum { FORGE_MOST_BLOCKS = 64 };

/* One dictionary or chunk. Joining makes the offsets, sizes and checksums in its header anew. */
typedef struct forge_part {
    int is_chunk;
    uint8_t header[FORGE_CHUNK_HEADER];
    uint32_t header_size;
    uint64_t in_use; /* of a dictionary: tokens in use, from its entry in the footer, with the four
                      * bytes after them, which later versions may use */
    uint32_t section_count;
    forge_bytes sections[FORGE_SECTIONS];
} forge_part;

typedef struct forge_parts {
    uint8_t head[FORGE_HEAD];
    forge_part blocks[FORGE_MOST_BLOCKS];
    uint32_t count;
    uint8_t footer[FORGE_FOOTER_HEADER];
    uint32_t footer_count;
    forge_footer_part footer_parts[FORGE_MOST_PARTS];
    uint32_t extra; /* blocks of another kind to add before the footer */
} forge_parts;

/* Takes an image apart, going from block to block. Returns 0, with nothing to close, if that leads
 * to no footer. */
int forge_parts_open(forge_parts *parts, const uint8_t *image, uint64_t size);
void forge_parts_close(forge_parts *parts);

/* Joins the parts: sections where docs/format.md has them, the footer's totals from the headers of
 * the chunks. */
forge_bytes forge_join(const forge_parts *parts);

/* ---------------------------------------------------------------- honest contents (forge_contents.c) */

/* Codes, and how long the token of each code is. */
typedef struct forge_codes {
    const uint32_t *codes;
    uint64_t count;
    uint32_t bits;
    const uint8_t *length_of;
    uint32_t batch; /* codes per batch of the sidecar */
} forge_codes;

/* Rows: decoded bytes of each and, unless `valid` is NULL, a byte for each that is 0 for a null
 * row. */
typedef struct forge_rows {
    const uint32_t *lengths;
    const uint8_t *valid;
    uint64_t rows;
} forge_rows;

/* The sections of a chunk. */
forge_bytes forge_packed_codes(const forge_codes *codes);
/* Also says how many batches a group has, and how many bytes the largest batch, pair and four of
 * batches decode to. */
forge_bytes forge_sidecar(const forge_codes *codes, uint32_t *group, uint32_t largest[3]);
/* `width` bits per row, which must hold the longest row. */
forge_bytes forge_lengths(const forge_rows *rows, uint32_t width);
forge_bytes forge_validity(const forge_rows *rows);

forge_chunk forge_coded_chunk(const forge_codes *codes, const forge_rows *rows);
forge_chunk forge_stored_chunk(const void *bytes, uint64_t size, const forge_rows *rows);

/* Make a chunk or a dictionary cold. forge_says_cold puts the feature into the file header. The frame
 * is frame_raw's. */
void forge_make_stored_cold(forge_chunk *chunk);
/* `slots`: N. `longest`: the dictionary's L, on which G depends. Row lengths must fit the codes. */
void forge_make_coded_cold(forge_chunk *chunk, const forge_codes *codes, const forge_rows *rows,
                           uint32_t slots, uint32_t longest);
void forge_make_dictionary_cold(forge_dictionary *dictionary);
void forge_says_cold(forge *f);

/* Appends a run entry of `count` codes from `first` on, whose tokens have `length` bytes, and
 * counts it. */
void forge_add_run(forge_dictionary *dictionary, uint32_t first, uint32_t count, uint32_t length);

/* A dictionary of order 0 with a run for each token: token i is `text[i]`, and has code i. */
forge_dictionary forge_plain_dictionary(const char *const *text, uint32_t tokens);

/* Codes in length classes of any width, with few tokens: what takes training thousands of different
 * words, and what no training makes, in a few kilobytes. */
enum { FORGE_CLASS_TOKENS = 4096 };
typedef struct forge_classes {
    uint32_t bits, longest, slots, hot;
    uint8_t length_of[1 << 16];         /* of codes that have a token */
    uint32_t codes[FORGE_CLASS_TOKENS]; /* the codes that have a token */
    uint32_t tokens;
} forge_classes;

/* Codes of 1 to 16 bits, tokens of up to `longest` (8, 16, 32 or 64) bytes; `hot`: with a hot part, which
 * takes 9 bits or more. */
forge_dictionary forge_class_dictionary(forge_classes *classes, uint32_t bits, uint32_t longest,
                                        int hot, uint64_t seed);
/* `count` random codes of the dictionary, in rows of up to 40 codes. */
forge_chunk forge_class_chunk(const forge_classes *classes, uint32_t count, uint32_t batch,
                              uint64_t seed);

/* Columns of such chunks. */
typedef struct forge_class_shape {
    uint32_t bits, longest;
    int hot;
    int mixed;              /* stored chunks before the dictionary and between coded chunks */
    uint32_t chunks, codes; /* number of chunks; most codes of a chunk */
    uint32_t batch;
    uint64_t seed; /* of the dictionary */
} forge_class_shape;
forge_bytes forge_class_column(const forge_class_shape *shape, uint64_t *random);
/* One chunk of 500 codes of 2 bits, with a dictionary that has no classes. */
forge_bytes forge_plain_column(uint64_t *random);
forge_bytes forge_empty_column(void);

#ifdef __cplusplus
}
#endif
#endif
