/* decode_loop.h - the hot loop, written once and compiled for each CPU level that gains by it.
 *
 * In: groups of sixteen packed codes. Out: their tokens back to back. Each token is one load and
 * one store of a whole cell, 8 or 16 bytes; the next token overwrites what was too much. With codes
 * of few bits two tokens are one cell. No branch depends on the data but one per group, which is
 * taken when a code was bad.
 *
 * What makes it fast is less the instructions than that the cache lines of the output are fetched
 * well ahead of the stores (docs/lab/cpu-decoder.md).
 *
 * The including file defines FP_LOOP_TARGET (function attributes) and FP_LOOP_FIELD(word, shift), a
 * word whose low bits are those of `word` from `shift` on. */
#include "decode_private.h"
#include "format.h"

#define FP_LOOP_INLINE static inline __attribute__((always_inline)) FP_LOOP_TARGET

FP_LOOP_INLINE void fetch(const uint8_t *from, uint64_t ahead) {
    __builtin_prefetch((const void *)((uintptr_t)from + ahead), 0, 3);
}

/* In all functions below, `bits`, `cell_bytes` and `lookup` are constants once everything is
 * inlined; that is why they are parameters of their own, although some functions then have
 * seven. */

/* The code is the field of `word` at `shift`. */
FP_LOOP_INLINE uint8_t *one_token(const fp_decoder *tables, uint64_t word, uint32_t shift,
                                  uint8_t *out, uint32_t bits, uint32_t cell_bytes,
                                  fp_length_lookup lookup) {
    uint64_t mask = (1ull << bits) - 1;
    uint64_t length; /* loaded before the store, which compilers think could change the table */
    if (lookup == FP_LENGTH_BY_DOUBLE) {
        uint64_t doubled = (shift ? FP_LOOP_FIELD(word, shift - 1) : word << 1) & mask << 1;
        length = tables->lengths[doubled];
        memcpy(out, tables->cells + doubled * 8, 16);
    } else {
        uint64_t code = FP_LOOP_FIELD(word, shift) & mask;
        length = tables->lengths[code];
        memcpy(out, tables->cells + code * cell_bytes, cell_bytes);
    }
    return out + length;
}

/* Four codes of one word, the first at bit `shift`. */
FP_LOOP_INLINE uint8_t *four_tokens(const fp_decoder *tables, uint64_t word, uint32_t shift,
                                    uint8_t *out, uint32_t bits, uint32_t cell_bytes,
                                    fp_length_lookup lookup) {
    out = one_token(tables, word, shift, out, bits, cell_bytes, lookup);
    out = one_token(tables, word, shift + bits, out, bits, cell_bytes, lookup);
    out = one_token(tables, word, shift + 2 * bits, out, bits, cell_bytes, lookup);
    return one_token(tables, word, shift + 3 * bits, out, bits, cell_bytes, lookup);
}

/* With an odd width the fifth code begins in the middle of a byte; 4 + 4 * 15 bits still fit a
 * word. */
FP_LOOP_INLINE uint8_t *eight_tokens(const fp_decoder *tables, const uint8_t *packed, uint8_t *out,
                                     uint64_t ahead, uint32_t bits, uint32_t cell_bytes,
                                     fp_length_lookup lookup) {
    uint64_t low = fp_load64(packed), high = fp_load64(packed + bits / 2);
    fetch(out, ahead);
    out = four_tokens(tables, low, 0, out, bits, cell_bytes, lookup);
    if (cell_bytes > 8) fetch(out, ahead); /* eight tokens can fill two lines */
    return four_tokens(tables, high, bits % 2 * 4, out, bits, cell_bytes, lookup);
}

FP_LOOP_INLINE uint8_t *wide_groups(const fp_decoder *decoder, const fp_decode_run *run,
                                    uint32_t bits, uint32_t cell_bytes, fp_length_lookup lookup) {
    const fp_decoder tables = *decoder; /* a copy, which no store can change */
    const uint8_t *packed = run->packed, *end = packed + run->groups * 2 * bits;
    const uint64_t ahead = run->ahead;
    uint8_t *out = run->out;
    for (; packed != end; packed += 2 * bits) {
        const uint8_t *longest_end = out + FP_DECODE_GROUP * cell_bytes;
        out = eight_tokens(&tables, packed, out, ahead, bits, cell_bytes, lookup);
        out = eight_tokens(&tables, packed + bits, out, ahead, bits, cell_bytes, lookup);
        if (out > longest_end) return NULL;
    }
    return out;
}

/* Two codes at once, the first at bit `shift`, by the tables of pairs. */
FP_LOOP_INLINE uint8_t *two_tokens(const fp_decoder *tables, uint64_t word, uint32_t shift,
                                   uint8_t *out, uint32_t bits, uint32_t cell_bytes) {
    uint64_t pair = FP_LOOP_FIELD(word, shift) & ((1ull << 2 * bits) - 1);
    const uint8_t *cell = tables->pairs + pair * 2 * cell_bytes;
    uint64_t length = tables->pair_lengths[pair];
    if (cell_bytes == 8) {
        memcpy(out, cell, 16);
    } else {
        /* Through a variable: gcc 12 copies 32 bytes in halves even where it has wide registers. */
        uint8_t both __attribute__((vector_size(32)));
        memcpy(&both, cell, sizeof both);
        memcpy(out, &both, sizeof both);
    }
    return out + length;
}

/* Widths up to 8, which only small dictionaries have: eight codes are one word. */
FP_LOOP_INLINE uint8_t *narrow_groups(const fp_decoder *decoder, const fp_decode_run *run,
                                      uint32_t bits, uint32_t cell_bytes) {
    const int paired = bits <= FP_MOST_PAIRED_BITS;
    const fp_decoder tables = *decoder;
    const uint8_t *packed = run->packed, *end = packed + run->groups * 2 * bits;
    const uint64_t ahead = run->ahead;
    uint8_t *out = run->out;
    while (packed != end) {
        const uint8_t *longest_end = out + FP_DECODE_GROUP * cell_bytes;
        for (int half = 0; half < 2; half++, packed += bits) {
            uint64_t word = fp_load64(packed);
            fetch(out, ahead);
            if (cell_bytes > 8) fetch(out, ahead + 64);
#pragma GCC unroll 8
            for (uint32_t i = 0; i < 8; i += paired ? 2 : 1)
                out = paired ? two_tokens(&tables, word, i * bits, out, bits, cell_bytes)
                             : one_token(&tables, word, i * bits, out, bits, cell_bytes,
                                         FP_LENGTH_BY_CODE);
        }
        if (out > longest_end) return NULL;
    }
    return out;
}

/* One copy of the loop for each width and each kind of tables that fp_decoder_open makes. */
#define FP_LOOP_CASE(width, cell_bytes, lookup)                                                    \
    case width: return wide_groups(decoder, run, width, cell_bytes, lookup)

FP_LOOP_INLINE uint8_t *small_dictionary(const fp_decoder *decoder, const fp_decode_run *run,
                                         uint32_t cell_bytes) {
    switch (decoder->code_bits) {
    case 1: return narrow_groups(decoder, run, 1, cell_bytes);
    case 2: return narrow_groups(decoder, run, 2, cell_bytes);
    case 3: return narrow_groups(decoder, run, 3, cell_bytes);
    case 4: return narrow_groups(decoder, run, 4, cell_bytes);
    case 5: return narrow_groups(decoder, run, 5, cell_bytes);
    case 6: return narrow_groups(decoder, run, 6, cell_bytes);
    case 7: return narrow_groups(decoder, run, 7, cell_bytes);
    default: return narrow_groups(decoder, run, 8, cell_bytes);
    }
}

FP_LOOP_INLINE uint8_t *short_cells(const fp_decoder *decoder, const fp_decode_run *run) {
    switch (decoder->code_bits) {
        FP_LOOP_CASE(9, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(10, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(11, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(12, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(13, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(14, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(15, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(16, 8, FP_LENGTH_BY_CODE);
    default: return small_dictionary(decoder, run, 8);
    }
}

FP_LOOP_INLINE uint8_t *long_cells(const fp_decoder *decoder, const fp_decode_run *run) {
    switch (decoder->code_bits) {
        FP_LOOP_CASE(9, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(10, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(11, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(12, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(13, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(14, 16, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(15, 16, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(16, 16, FP_LENGTH_BY_CODE);
    default: return small_dictionary(decoder, run, 16);
    }
}
