/* oracle_parts.h - the oracle's look at the parts of a footer (docs/format.md, section 4). */
#ifndef FP_TESTS_ORACLE_PARTS_H
#define FP_TESTS_ORACLE_PARTS_H

#include "oracle.h"

/* A footer whose header and entries of blocks have been checked. */
typedef struct oracle_footer {
    const uint8_t *data; /* the file */
    uint64_t at, size;   /* of the footer block in the file */
    uint64_t entries;    /* where the entries of parts begin in it */
    uint64_t parts;
    const uint64_t *chunk_rows;
} oracle_footer;

/* Checks entries and parts, and bounds and type against the rows that were decoded. Returns NULL, or
 * the rule that is broken, with *where the file offset it is about. Fills in what the parts say. */
const char *oracle_check_parts(const oracle_footer *footer, oracle_column *out, uint64_t *where);

/* 1 if the bytes are UTF-8. */
int oracle_is_utf8(const uint8_t *bytes, uint64_t size);

#endif
