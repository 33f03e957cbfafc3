/* shapes.h - seeded generators of columns: the shapes of rows that break string codecs. */
#ifndef FP_TESTS_SHAPES_H
#define FP_TESTS_SHAPES_H

#include "fastpair.h"

/* A column in exactly-sized memory, so that a sanitizer sees any read outside it, with the answer a
 * decoder must give. */
typedef struct shape {
    char name[96];      /* what it is, for failure messages */
    fastpair_rows rows; /* the input; points into the members below */
    uint8_t *bytes;
    uint64_t *offsets;
    uint8_t *validity;

    /* the same rows as they must come back: nulls empty, offsets from 0, bitmap from bit 0 with
     * spare bits 0 */
    uint64_t nulls;
    uint64_t out_size;
    uint8_t *out_bytes;
    uint64_t *out_offsets;
    uint8_t *out_validity;
} shape;

typedef enum shape_kind {
    SHAPE_NO_ROWS,
    SHAPE_EMPTY_ROWS,
    SHAPE_ONE_BYTE,     /* one row of one byte */
    SHAPE_NUL_RUNS,     /* rows of 0x00 only, many lengths */
    SHAPE_FF_RUNS,      /* rows of 0xff only */
    SHAPE_NUL_AND_FF,   /* both, mixed, and tokens that differ only in trailing NULs */
    SHAPE_RANDOM_BYTES, /* incompressible */
    SHAPE_FEW_BYTES,    /* random over a small alphabet */
    SHAPE_WORDS,        /* text like comments */
    SHAPE_URLS,
    SHAPE_LOG_LINES,
    SHAPE_UTF8,
    SHAPE_FOUR_VALUES,   /* few distinct rows */
    SHAPE_PERIODIC,      /* a short pattern repeated, cut anywhere */
    SHAPE_ALL_LENGTHS,   /* rows of 0, 1, 2, ... bytes */
    SHAPE_PREFIXES,      /* every row a prefix of one text */
    SHAPE_INTEGERS,      /* 8-byte little-endian numbers */
    SHAPE_TINY_ROWS,     /* 0..3 bytes, very many */
    SHAPE_EVEN_LENGTHS,  /* 16, 32, 48 ... bytes, no repeats inside */
    SHAPE_CLERKS,        /* a constant and nine digits */
    SHAPE_ONE_LONG_ROW,  /* everything in one row of text */
    SHAPE_LONG_AND_TINY, /* a long row among tiny ones */
    SHAPE_DRIFT,         /* first half words, second half urls */
    SHAPE_KINDS
} shape_kind;

typedef struct shape_options {
    uint64_t bytes; /* about how many bytes of rows; some shapes have fewer */
    uint32_t
        null_percent; /* of rows, drawn at random; their bytes are kept as garbage to be ignored */
    uint32_t bit_offset;   /* validity_bit_offset */
    uint64_t first_offset; /* offsets[0] */
    int validity_always;   /* a bitmap even with no nulls */
} shape_options;

void shape_make(shape *s, shape_kind kind, uint64_t seed, const shape_options *options);

/* Takes one row after another from memory the caller made; for tests with rows of their own. */
void shape_from_rows(shape *s, const char *name, const uint8_t *bytes, const uint64_t *offsets,
                     const uint8_t *valid, uint64_t rows);
void shape_free(shape *s);

/* A view of rows first .. first + count of the input. */
fastpair_rows shape_slice(const shape *s, uint64_t first, uint64_t count);

const char *shape_kind_name(shape_kind kind);

#endif
