/* sidecar.h - output positions per batch of codes (docs/format.md, section 3). */
#ifndef FP_SIDECAR_H
#define FP_SIDECAR_H

#include "chunk.h"

static inline uint64_t fp_sidecar_batches(uint64_t codes, uint32_t batch_codes) {
    return codes / batch_codes + (codes % batch_codes != 0);
}

/* `group` is the batches per group. */
static inline uint64_t fp_sidecar_size(uint64_t codes, uint32_t batch_codes, uint32_t group) {
    uint64_t batches = fp_sidecar_batches(codes, batch_codes);
    return (batches + group - 1) / group * 4 + batches * 2;
}

/* A section of fp_sidecar_size bytes, at any alignment. It holds no memory of its own. */
typedef struct fp_sidecar_reader {
    const uint8_t *positions; /* of each group */
    const uint8_t *deltas;    /* of each batch, added to its group's position */
    uint32_t shift;           /* a group has 2^shift batches */
} fp_sidecar_reader;

static inline fp_sidecar_reader fp_sidecar_open(const uint8_t *section, uint64_t batches,
                                                uint32_t group) {
    uint32_t shift = (uint32_t)__builtin_ctz(group);
    return (fp_sidecar_reader){section, section + ((batches + group - 1) >> shift) * 4, shift};
}

/* Where batch k, which must be there, begins in the chunk's decoded bytes. */
static inline uint64_t fp_sidecar_read(const fp_sidecar_reader *reader, uint64_t k) {
    return (uint64_t)fp_load32(reader->positions + (k >> reader->shift) * 4) +
           fp_load16(reader->deltas + k * 2);
}

/* The same for a single batch. */
static inline uint64_t fp_sidecar_position(const uint8_t *section, uint64_t batches, uint32_t group,
                                           uint64_t k) {
    fp_sidecar_reader reader = fp_sidecar_open(section, batches, group);
    return fp_sidecar_read(&reader, k);
}

/* Writes the section of a chunk whose codes, batch_codes and group_batches are set; the length of
 * code c's token is lengths_of_code[c]. Sets the chunk's counts by length and its largest batches. */
void fp_sidecar_write(const uint16_t *codes, const uint8_t *lengths_of_code, uint8_t *section,
                      fp_chunk *chunk);

#endif
