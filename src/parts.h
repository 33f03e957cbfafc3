/* parts.h - the parts of a footer, which say more about a column: its name, pairs of key and value,
 * bounds of chunks (docs/format.md, section 4). */
#ifndef FP_PARTS_H
#define FP_PARTS_H

#include "format.h"
#include "memory.h"

/* Parts begin at multiples of this, counted from the footer's start. */
#define FP_PART_ALIGNMENT 8u

/* Kinds that are known, in file order. */
enum { FP_PART_NAME = 1, FP_PART_PAIRS = 2, FP_PART_BOUNDS = 3 };
#define FP_PART_KINDS 3u

#define FP_MOST_NAME  1024u
#define FP_MOST_KEY   256u
#define FP_MOST_PAIRS (1u << 20) /* bytes of the part */

/* ---------------------------------------------------------------- entries */

/* A part to write. */
typedef struct fp_part_content {
    uint32_t kind;
    fp_buffer bytes;
} fp_part_content;

/* Writes the entries of parts, which end `end` bytes after the footer's start, and after them the
 * parts with their gaps. */
void fp_parts_write(const fp_part_content *parts, uint32_t count, uint64_t end, uint8_t *footer);

typedef struct fp_part_entry {
    uint32_t kind;
    uint32_t flags;  /* 1: a reader must know the kind */
    uint64_t offset; /* from the footer's start */
    uint64_t size;
    uint64_t checksum;
} fp_part_entry;

/* Entry i of entries in memory. */
fp_part_entry fp_part_read_entry(const uint8_t *entries, uint32_t i);

/* Where parts are in their footer. */
typedef struct fp_parts_place {
    const uint8_t *entries; /* of the parts */
    uint32_t count;
    uint64_t position;    /* file offset of the footer */
    uint64_t all_entries; /* bytes of the entries of blocks and parts */
    uint64_t block_bytes; /* of the footer */
} fp_parts_place;

/* Checks that parts lie as they should, from the entries to the footer's end, and that all those are
 * known which must be: UNSUPPORTED names one that is not. */
fastpair_status fp_parts_check_entries(const fp_parts_place *place, fastpair_error *error);

/* ---------------------------------------------------------------- contents */

/* What is wrong with the bytes of a name or of pairs, NULL if nothing. `minor` is that of the
 * file. */
const char *fp_name_fault(const uint8_t *bytes, uint64_t size);
const char *fp_pairs_fault(const uint8_t *bytes, uint64_t size, uint32_t minor);

/* One pair of a part that fp_pairs_fault accepts. */
typedef struct fp_pair_view {
    const uint8_t *key, *value;
    uint32_t key_size, value_size;
} fp_pair_view;

/* The pair at *offset of the part, 8 for the first; moves *offset to the next. */
fp_pair_view fp_pairs_next(const uint8_t *bytes, uint64_t *offset);

/* Checks what the caller says of a column. Two equal keys are not noticed here. *bytes, unless it is
 * NULL, gets what its parts take in a file at most, with their entries and gaps. */
fastpair_status fp_metadata_check(const fastpair_metadata *metadata, uint64_t *bytes,
                                  fastpair_error *error);

/* Makes the parts of a name and of pairs; empty where there is none. The metadata has passed
 * fp_metadata_check. INVALID_ARGUMENT if two keys are equal. */
fastpair_status fp_metadata_pack(const fastpair_metadata *metadata,
                                 const fastpair_allocator *allocator, fp_buffer *name,
                                 fp_buffer *pairs, fastpair_error *error);

#endif
