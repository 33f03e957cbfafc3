/* sidecar.c - the output position of each batch. In: codes and the length of each code's token.
 * Out: the sidecar section, the counts of tokens by length and the largest batch. The trick: a
 * group of batches shares a 4-byte position, and each batch adds a 2-byte delta to it. Refuses
 * nothing. */
#include "sidecar.h"

void fp_sidecar_write(const uint16_t *codes, const uint8_t *lengths_of_code, uint8_t *section,
                      fp_chunk *chunk) {
    const uint64_t count = chunk->codes, batches = fp_sidecar_batches(count, chunk->batch_codes);
    const uint32_t batch_codes = chunk->batch_codes, group = chunk->group_batches;
    uint8_t *deltas = section + (batches + group - 1) / group * 4;
    uint64_t by_length[FP_MAX_TOKEN + 1] = {0}, position = 0, base = 0;
    uint32_t largest = 0, pair = 0, four = 0, largest_pair = 0, largest_four = 0;
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
            by_length[length]++;
            bytes += length;
        }
        pair = batch % 2 ? pair + bytes : bytes;
        four = batch % 4 ? four + bytes : bytes;
        if (bytes > largest) largest = bytes;
        if (pair > largest_pair) largest_pair = pair;
        if (four > largest_four) largest_four = four;
        position += bytes;
    }
    chunk->largest_batch = largest;
    chunk->largest_pair = largest_pair;
    chunk->largest_four = largest_four;
    fp_count_bands(by_length, chunk->by_length);
}
