/* decode_part.c - decoding a few tokens out of a batch. In: a batch's codes, and which of their bytes are
 * wanted. Out: these bytes.
 *
 * The trick: a row is a tenth of a batch, and most of the work of decoding is copying tokens. So
 * codes before the row are only looked up for their lengths, eight per step, and those after it are not
 * looked at. Whole steps are copied aside, for finding a row's first code among eight takes longer than
 * copying them. Refuses codes that the dictionary does not have, where it copies them, and batches that
 * end too early. */
#include "decode_private.h"
#include "format.h"
#include "pack.h"

#include <string.h>

/* Codes per step. They begin at a byte, at every width. */
#define STEP 8u

/* What the loops are compiled for; all are constants once everything is inlined. */
typedef struct part_kind {
    uint32_t cell_bytes;
    int has_places;
    uint32_t shift; /* of codes that are indexes of lengths */
} part_kind;

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t length_of(const fp_decoder *decoder, uint64_t code, part_kind kind) {
    return kind.has_places ? (uint32_t)decoder->places[code] & ((1u << FP_PLACE_SHIFT) - 1)
                           : decoder->lengths[code << kind.shift];
}

/* Bytes that are read of a step. */
INLINE uint64_t step_reach(uint32_t bits) { return bits / 2 + 8; }

/* The codes of a step: four in each word. The second four begin in the middle of a byte if the width is
 * odd. */
INLINE void load_step(const uint8_t *packed, uint32_t bits, uint64_t words[2]) {
    words[0] = fp_load64(packed);
    words[1] = fp_load64(packed + bits / 2) >> bits % 2 * 4;
}

INLINE uint32_t code_of(const uint64_t words[2], uint32_t bits, uint32_t i) {
    return (uint32_t)(words[i / 4] >> i % 4 * bits) & ((1u << bits) - 1);
}

/* Passes over whole steps before byte `to`. *at, the first code, goes on to the step that has that byte or
 * cannot be read as one; returns where it begins. */
INLINE uint64_t pass_over(const fp_decoder *decoder, const fp_code_range *range, uint64_t to,
                          uint64_t *at, part_kind kind) {
    const uint32_t bits = decoder->code_bits;
    const uint64_t end = range->first + range->count;
    const uint8_t *packed = range->packed + *at / STEP * bits,
                  *last = range->packed + range->packed_size - step_reach(bits);
    uint64_t place = 0;
    for (; end - *at >= STEP && packed <= last; *at += STEP, packed += bits) {
        uint64_t words[2];
        uint32_t length = 0;
        load_step(packed, bits, words);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < STEP; i++)
            length += length_of(decoder, code_of(words, bits, i), kind);
        if (place + length > to) break;
        place += length;
    }
    return place;
}

INLINE uint64_t decode_part(const fp_decoder *decoder, const fp_code_range *range,
                            const fp_code_part *part, uint8_t *out, part_kind kind) {
    /* What steps at both ends have too much, and what a copy writes after a token. */
    uint8_t room[FP_MOST_PART + (2 * STEP + 1) * FP_MAX_TOKEN];
    const uint64_t end = range->first + range->count;
    uint64_t at = range->first, done = 0;
    uint64_t place = pass_over(decoder, range, part->from, &at, kind);
    /* Near the end of a section steps cannot be passed over, so the room may hold less than all. */
    while (done < part->to - place && at < end) {
        uint16_t codes[STEP];
        uint32_t count = end - at < STEP ? (uint32_t)(end - at) : STEP;
        fp_unpack(range->packed, range->packed_size, decoder->code_bits, at, count, codes);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t length;
            if (codes[i] >= decoder->code_slots) return FP_DECODE_BAD;
            memcpy(room + done, fp_token_of(decoder, codes[i], &length), kind.cell_bytes);
            done += length;
        }
        at += count;
        if (place + done <= part->from) {
            place += done;
            done = 0;
        }
    }
    if (done < part->to - place) return FP_DECODE_BAD;
    memcpy(out, room + (part->from - place), (size_t)(part->to - part->from));
    return part->to - part->from;
}

uint64_t fp_decode_part(const fp_decoder *decoder, const fp_code_range *range,
                        const fp_code_part *part, uint8_t *out) {
    const uint32_t shift = decoder->lookup == FP_LENGTH_BY_DOUBLE;
    switch (decoder->cell_bytes) {
    case 8: return decode_part(decoder, range, part, out, (part_kind){8, 0, shift});
    case 16: return decode_part(decoder, range, part, out, (part_kind){16, 0, shift});
    case 32: return decode_part(decoder, range, part, out, (part_kind){32, 1, 0});
    default: return decode_part(decoder, range, part, out, (part_kind){64, 1, 0});
    }
}
