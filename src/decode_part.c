/* decode_part.c - decoding a few tokens out of a batch. In: a batch's codes, and which of their bytes are
 * wanted. Out: these bytes.
 *
 * The trick: a row is a tenth of a batch, and most of the work of decoding is copying tokens. So
 * codes between the row and the nearer end of the batch are only looked up for their lengths, eight per step,
 * and others are not looked at. Whole steps are copied aside, for finding a row's first code among eight takes longer than
 * copying them. Refuses codes that the dictionary does not have, where it copies them, and batches that
 * end too early. */
#include "decode_private.h"
#include "format.h"
#include "pack.h"

#include <string.h>

/* Codes per step. They begin at a byte, at every width. */
#define STEP 8u

/* What the loops are compiled for; all are constants once everything is inlined, but for `bits` where the
 * width is a rare one. */
typedef struct part_kind {
    uint32_t bits, cell_bytes;
    int has_places;
    uint32_t shift; /* of codes that are indexes of lengths */
} part_kind;

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t length_of(const fp_decoder *decoder, uint64_t code, part_kind kind) {
    return kind.has_places ? (uint32_t)decoder->places[code] & ((1u << FP_PLACE_SHIFT) - 1)
                           : decoder->lengths[code << kind.shift];
}

/* Where a token begins. */
INLINE const uint8_t *token_of(const fp_decoder *decoder, uint64_t code, part_kind kind) {
    return decoder->cells + (kind.has_places ? (int64_t)(decoder->places[code] >> FP_PLACE_SHIFT)
                                             : (int64_t)(code * kind.cell_bytes));
}

/* Bytes that are read of a step. */
INLINE uint64_t step_reach(uint32_t bits) { return bits / 2 + 8; }

/* The codes of a step: four in each word. The second four begin in the middle of a byte if the width is
 * odd. */
typedef struct step {
    uint64_t words[2];
} step;

INLINE step load_step(const uint8_t *packed, uint32_t bits) {
    return (step){{fp_load64(packed), fp_load64(packed + bits / 2) >> bits % 2 * 4}};
}

INLINE uint32_t code_of(const step *codes, uint32_t bits, uint32_t i) {
    return (uint32_t)(codes->words[i / 4] >> i % 4 * bits) & ((1u << bits) - 1);
}

INLINE uint32_t step_length(const fp_decoder *decoder, const uint8_t *packed, part_kind kind) {
    const step codes = load_step(packed, kind.bits);
    uint32_t length = 0;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < STEP; i++)
        length += length_of(decoder, code_of(&codes, kind.bits, i), kind);
    return length;
}

/* Codes of a range before which steps can be read. */
INLINE uint64_t readable_end(const fp_code_range *range, uint32_t bits) {
    const uint64_t reach = step_reach(bits), end = range->first + range->count;
    const uint64_t steps = range->packed_size < reach ? 0 : (range->packed_size - reach) / bits + 1;
    return end / STEP < steps ? end / STEP * STEP : steps * STEP;
}

/* A code and the byte that it begins with. */
typedef struct part_place {
    uint64_t code, byte;
} part_place;

/* Passes over whole steps up to the one that has byte `to`, or that cannot be read as one. */
INLINE part_place pass_over(const fp_decoder *decoder, const fp_code_range *range, uint64_t to,
                            uint64_t readable, part_kind kind) {
    part_place at = {range->first, 0};
    const uint8_t *packed = range->packed + at.code / STEP * kind.bits;
    for (; at.code < readable; at.code += STEP, packed += kind.bits) {
        const uint32_t length = step_length(decoder, packed, kind);
        if (at.byte + length > to) break;
        at.byte += length;
    }
    return at;
}

/* The same from the end of a range, all of whose steps can be read. Where codes are not what they are said
 * to be, the place is after byte `to`. */
INLINE part_place pass_back(const fp_decoder *decoder, const fp_code_range *range,
                            const fp_code_part *part, part_kind kind) {
    part_place at = {range->first + range->count, part->all};
    const uint8_t *packed = range->packed + at.code / STEP * kind.bits;
    while (at.byte > part->from && at.code > range->first) {
        at.code -= STEP;
        packed -= kind.bits;
        at.byte -=
            step_length(decoder, packed, kind); /* below 0 it wraps, and stays after `from` */
    }
    return at;
}

/* Copies the tokens of a step, or of what is left of a range. Returns where they end, or NULL if a code is
 * bad. */
INLINE uint8_t *copy_step(const fp_decoder *decoder, const fp_code_range *range, uint64_t at,
                          uint64_t readable, uint8_t *out, part_kind kind) {
    if (at < readable) {
        const step codes = load_step(range->packed + at / STEP * kind.bits, kind.bits);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < STEP; i++) {
            const uint32_t code = code_of(&codes, kind.bits, i);
            const uint32_t length = length_of(decoder, code, kind);
            if (code >= decoder->code_slots) return NULL;
            memcpy(out, token_of(decoder, code, kind), kind.cell_bytes);
            out += length;
        }
        return out;
    }
    uint16_t codes[STEP];
    const uint64_t end = range->first + range->count;
    const uint32_t count = end - at < STEP ? (uint32_t)(end - at) : STEP;
    fp_unpack(range->packed, range->packed_size, decoder->code_bits, at, count, codes);
    for (uint32_t i = 0; i < count; i++) {
        if (codes[i] >= decoder->code_slots) return NULL;
        memcpy(out, token_of(decoder, codes[i], kind), kind.cell_bytes);
        out += length_of(decoder, codes[i], kind);
    }
    return out;
}

INLINE uint64_t decode_part(const fp_decoder *decoder, const fp_code_range *range,
                            const fp_code_part *part, uint8_t *out, part_kind kind) {
    /* What steps at both ends have too much, and what a copy writes after a token. */
    uint8_t room[FP_MOST_PART + (2 * STEP + 1) * FP_MAX_TOKEN], *done = room;
    const uint64_t end = range->first + range->count, readable = readable_end(range, kind.bits);
    const int is_near_end = part->from > part->all / 2 && part->all && readable == end;
    part_place at = is_near_end ? pass_back(decoder, range, part, kind)
                                : pass_over(decoder, range, part->from, readable, kind);
    if (at.byte > part->from) return FP_DECODE_BAD;
    /* Near the end of a section steps cannot be passed over, so the room may hold less than all. */
    while ((uint64_t)(done - room) < part->to - at.byte && at.code < end) {
        if (!(done = copy_step(decoder, range, at.code, readable, done, kind)))
            return FP_DECODE_BAD;
        at.code += STEP;
        if (at.byte + (uint64_t)(done - room) <= part->from) {
            at.byte += (uint64_t)(done - room);
            done = room;
        }
    }
    if ((uint64_t)(done - room) < part->to - at.byte) return FP_DECODE_BAD;
    memcpy(out, room + (part->from - at.byte), (size_t)(part->to - part->from));
    return part->to - part->from;
}

/* With the two widths that nearly all dictionaries have as constants. */
INLINE uint64_t decode_wide(const fp_decoder *decoder, const fp_code_range *range,
                            const fp_code_part *part, uint8_t *out, part_kind kind) {
    switch (kind.bits = decoder->code_bits) {
    case 12: kind.bits = 12; return decode_part(decoder, range, part, out, kind);
    case 16: kind.bits = 16; return decode_part(decoder, range, part, out, kind);
    default: return decode_part(decoder, range, part, out, kind);
    }
}

uint64_t fp_decode_part(const fp_decoder *decoder, const fp_code_range *range,
                        const fp_code_part *part, uint8_t *out) {
    const int doubled = decoder->lookup == FP_LENGTH_BY_DOUBLE;
    switch (decoder->cell_bytes) {
    case 8: return decode_wide(decoder, range, part, out, (part_kind){0, 8, 0, 0});
    case 16:
        return doubled ? decode_wide(decoder, range, part, out, (part_kind){0, 16, 0, 1})
                       : decode_wide(decoder, range, part, out, (part_kind){0, 16, 0, 0});
    case 32: return decode_wide(decoder, range, part, out, (part_kind){0, 32, 1, 0});
    default: return decode_wide(decoder, range, part, out, (part_kind){0, 64, 1, 0});
    }
}
