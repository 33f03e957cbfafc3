/* sidecar.h - output positions per batch of codes (docs/format.md, section 3). */
#ifndef FP_SIDECAR_H
#define FP_SIDECAR_H

#include "format.h"

static inline uint64_t fp_sidecar_batches(uint64_t codes, uint32_t batch_codes) {
    return codes / batch_codes + (codes % batch_codes != 0);
}

static inline uint64_t fp_sidecar_size(uint64_t codes, uint32_t batch_codes) {
    uint64_t batches = fp_sidecar_batches(codes, batch_codes);
    uint32_t group = fp_group_batches(batch_codes);
    return (batches + group - 1) / group * 4 + batches * 2;
}

/* Where batch k begins in the chunk's decoded bytes; `batches` is the total, k < batches. Needs a section of
 * fp_sidecar_size bytes, at any alignment. */
static inline uint64_t fp_sidecar_position(const uint8_t *section, uint64_t batches, uint32_t group,
                                           uint64_t k) {
    uint64_t groups = (batches + group - 1) / group;
    return (uint64_t)fp_load32(section + k / group * 4) + fp_load16(section + groups * 4 + k * 2);
}

/* Writes the section for codes whose token lengths are lengths_of_code[codes[i]]; fills the 16 counts by length and
 * returns the largest batch in bytes. */
uint32_t fp_sidecar_write(const uint16_t *codes, uint64_t count, const uint8_t *lengths_of_code,
                          uint32_t batch_codes, uint8_t *section, uint64_t by_length[16]);

#endif
