/* arrow_source.h - the rows of an Arrow array, whatever its layout. */
#ifndef FP_ARROW_SOURCE_H
#define FP_ARROW_SOURCE_H

#include "fastpair_arrow.h"
#include "rows.h"

typedef enum fp_arrow_kind {
    FP_ARROW_IS_OFFSETS32,
    FP_ARROW_IS_OFFSETS64,
    FP_ARROW_IS_VIEWS,
    FP_ARROW_IS_NULLS
} fp_arrow_kind;

/* An array of strings, as its producer gave it. */
typedef struct fp_arrow_strings {
    fp_arrow_kind kind;
    uint64_t first, count;   /* in each of the buffers */
    const uint8_t *validity; /* NULL: all are valid */
    const uint8_t *rows;     /* offsets or views */
    const uint8_t *bytes;    /* of offsets */
    const void *const *view_buffers;
    const uint8_t *view_sizes; /* of these buffers, 8 bytes each */
    uint64_t view_buffer_count;
} fp_arrow_strings;

/* What a dictionary-encoded array has besides its values. */
typedef struct fp_arrow_indices {
    const uint8_t *indices; /* NULL: the array has no dictionary */
    uint32_t width;         /* 1, 2, 4 or 8 bytes */
    int is_signed;
    uint64_t first;
    const uint8_t *validity; /* NULL: all are valid */
} fp_arrow_indices;

/* Everything is borrowed from the array. */
typedef struct fp_arrow_source {
    uint64_t count;
    const uint8_t *outer_validity; /* of the struct that the rows are a field of; NULL: none */
    uint64_t outer_first;
    fp_arrow_indices indices;
    fp_arrow_strings strings; /* the rows, or the dictionary's values */
} fp_arrow_source;

typedef struct fp_arrow_row {
    const uint8_t *bytes;
    uint64_t size;
    int is_null;
} fp_arrow_row;

/* Finds the schema of the column in what a producer gave: the schema itself, or a field of a struct
 * (`field` NULL: its only one). *child gets the field's number, or -1. */
fastpair_status fp_arrow_find_field(const struct ArrowSchema *schema, const char *field,
                                    const struct ArrowSchema **found, int64_t *child,
                                    fastpair_error *error);

/* Whether the rows of a field are text, by its type. */
int fp_arrow_is_text(const struct ArrowSchema *schema);

/* Opens an array. INVALID_ARGUMENT for types that are no strings, and for numbers and buffers that
 * contradict the type. Rows are not looked at. */
fastpair_status fp_arrow_source_open(const struct ArrowSchema *schema,
                                     const struct ArrowArray *array, const char *field,
                                     fp_arrow_source *source, fastpair_error *error);

/* Finds row i (below count). Returns NULL, or what is wrong with it. A null row has no bytes. */
const char *fp_arrow_source_row(const fp_arrow_source *source, uint64_t i, fp_arrow_row *row);

static inline int fp_arrow_bit(const uint8_t *bitmap, uint64_t i) {
    return bitmap[i / 8] >> (i % 8) & 1;
}

#endif
