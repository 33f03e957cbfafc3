/* arrow.h - what the files that export to Arrow share: a plan of what is exported and as what. */
#ifndef FP_ARROW_H
#define FP_ARROW_H

#include "fastpair_arrow.h"
#include "memory.h"

/* Buffers begin at multiples of this and are padded to it. */
#define FP_ARROW_ALIGNMENT 64u

/* A buffer of views holds at most so many bytes, unless one row has more. */
#define FP_ARROW_VIEW_BUFFER (1ull << 30)

/* The caller's options for one column, checked and with every default filled in. */
typedef struct fp_arrow_plan {
    const fastpair_column *column;
    fastpair_arrow_layout layout; /* FASTPAIR_ARROW_OFFSETS until a size has decided */
    int is_text;
    int as_struct;
    uint64_t batch_rows;
    const char *name;           /* the caller's, the column's or "": never NULL */
    fastpair_metadata metadata; /* the column's, with the pairs */
    fastpair_allocator allocator;
} fp_arrow_plan;

/* Reads the options. Names and pairs are borrowed; `column` NULL: there are none. Statuses:
 * CORRUPT. */
fastpair_status fp_arrow_plan_open(const fastpair_column *column,
                                   const fastpair_arrow_options *options, fp_arrow_plan *plan,
                                   fastpair_error *error);

/* Decides between 32-bit and 64-bit offsets for a stream of rows first .. first + count, if the
 * caller left it open. Statuses: CORRUPT. */
fastpair_status fp_arrow_plan_stream(fp_arrow_plan *plan, uint64_t first, uint64_t count,
                                     fastpair_error *error);

/* The row after the array of a stream that begins with row `first`; `end` is where the stream
 * ends. */
uint64_t fp_arrow_batch_end(const fp_arrow_plan *plan, uint64_t first, uint64_t end);

/* Fills in a schema for a plan whose layout is decided. */
fastpair_status fp_arrow_make_schema(const fp_arrow_plan *plan, struct ArrowSchema *schema,
                                     fastpair_error *error);

/* Rows to export: first .. first + count, or `count` listed ones if `listed` is not NULL. */
typedef struct fp_arrow_rows {
    const uint64_t *listed;
    uint64_t first, count;
    const struct fp_list_sizes *sizes; /* of listed rows (access.h), once they are measured */
} fp_arrow_rows;

/* Decodes rows into an array. An open layout is decided by the rows' bytes. */
fastpair_status fp_arrow_make_array(fp_arrow_plan *plan, const fp_arrow_rows *rows,
                                    struct ArrowArray *array, fastpair_error *error);

/* Where the buffers of views begin in the decoded bytes, and how many bytes they have. */
typedef struct fp_arrow_cuts {
    uint64_t *starts; /* room for fp_arrow_most_cuts of each */
    int64_t *sizes;
    uint64_t count; /* of buffers, set by fp_arrow_make_views */
    uint64_t most;  /* bytes of a buffer */
} fp_arrow_cuts;

/* The most buffers that so many bytes take: two neighbours have more than `most` bytes together, up
 * to an alignment. */
static inline uint64_t fp_arrow_most_cuts(uint64_t bytes, uint64_t most) {
    return bytes / (most - FP_ARROW_ALIGNMENT) * 2 + 2;
}

/* Where fp_arrow_make_views finds the offsets of `count` rows in the memory of their views, which
 * has (count + 1) * 16 bytes. */
static inline uint64_t fp_arrow_offsets_in_views(uint64_t count, uint32_t offset_bits) {
    return count * 16 - count * (offset_bits / 8);
}

/* Views that are being made of rows, in place of their offsets (arrow_views.c). Whoever begins sets
 * all fields but the last three to what they say, and these to 0. */
typedef struct fp_arrow_views {
    uint8_t *views; /* with the offsets, as fp_arrow_offsets_in_views says */
    uint64_t count; /* of rows */
    uint32_t offset_bits;
    const uint8_t *bytes; /* of the rows; 16 bytes after the last row are readable */
    fp_arrow_cuts *cuts;  /* with a count of 0 */
    uint64_t row; /* the first row without a view; its offset and all later ones are there */
    uint64_t buffer_start;
    int is_stuck; /* this row has more than INT32_MAX bytes, and nothing is done any more */
} fp_arrow_views;

/* Makes views of all rows that end at `ready` or before. */
void fp_arrow_make_views(fp_arrow_views *views, uint64_t ready);

static inline uint64_t fp_arrow_padded(uint64_t size) {
    return (size + FP_ARROW_ALIGNMENT - 1) / FP_ARROW_ALIGNMENT * FP_ARROW_ALIGNMENT;
}

#endif
