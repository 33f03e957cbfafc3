/* parts.h - a column file taken apart into headers and sections, and put together again with every offset, size and
 * checksum right, so that any part can be changed in between. */
#ifndef FP_TESTS_PARTS_H
#define FP_TESTS_PARTS_H

#include "forge.h"

enum {
    PARTS_MOST_BLOCKS = 64,
    PARTS_SECTIONS = 4,
    PARTS_CHUNK_HEADER = 320,
    PARTS_FOOTER_HEADER = 112
};

/* One dictionary or chunk. Offsets, sizes and checksums in the header are made anew when parts are joined. */
typedef struct part {
    int is_chunk;
    uint8_t header[PARTS_CHUNK_HEADER];
    uint32_t header_size;
    uint32_t in_use; /* of a dictionary: its number in the footer */
    uint32_t section_count;
    forge_bytes sections[PARTS_SECTIONS];
} part;

typedef struct parts {
    uint8_t head[64];
    part blocks[PARTS_MOST_BLOCKS];
    uint32_t count;
    uint8_t footer[PARTS_FOOTER_HEADER];
} parts;

/* Takes an image apart, going from block to block. Returns 0, with nothing to free, if that does not lead to a footer. */
int parts_take(const uint8_t *image, uint64_t size, parts *p);

/* Puts parts together: sections where docs/format.md has them, the footer's totals from the chunks' headers. */
forge_bytes parts_join(const parts *p);

void parts_free(parts *p);

#endif
