/* sidecar.c - the output position of each batch. In: codes and the length of each code's token.
 * Out: the sidecar section, the counts of tokens by length and the largest batch. The trick: a
 * group of batches shares a 4-byte position, and each batch adds a 2-byte delta to it. Refuses
 * nothing. */
#include "sidecar.h"

uint32_t fp_sidecar_write(const uint16_t *codes, uint64_t count, const uint8_t *lengths_of_code,
                          uint32_t batch_codes, uint8_t *section, uint64_t by_length[16]) {
    uint64_t batches = fp_sidecar_batches(count, batch_codes), position = 0, base = 0;
    uint32_t group = fp_group_batches(batch_codes), largest = 0;
    uint8_t *deltas = section + (batches + group - 1) / group * 4;
    memset(by_length, 0, 16 * sizeof *by_length);
    for (uint64_t batch = 0; batch < batches; batch++) {
        if (batch % group == 0) {
            base = position;
            fp_store32(section + batch / group * 4, (uint32_t)base);
        }
        fp_store16(deltas + batch * 2, (uint16_t)(position - base));
        uint64_t first = batch * batch_codes,
                 end = first + batch_codes < count ? first + batch_codes : count;
        uint32_t bytes = 0;
        for (uint64_t i = first; i < end; i++) {
            uint32_t length = lengths_of_code[codes[i]];
            by_length[length - 1]++;
            bytes += length;
        }
        if (bytes > largest) largest = bytes;
        position += bytes;
    }
    return largest;
}
