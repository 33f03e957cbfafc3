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
 * The including file defines FP_LOOP_TARGET (function attributes), FP_LOOP_FIELD(word, shift), a word
 * whose low bits are those of `word` from `shift` on. */
#include "decode_marks.h"
#include "decode_starts.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define FP_LOOP_INLINE static inline __attribute__((always_inline)) FP_LOOP_TARGET

FP_LOOP_INLINE void fetch(const uint8_t *from, uint64_t ahead) {
    __builtin_prefetch((const void *)((uintptr_t)from + ahead), 0, 3);
}

/* Codes of more bits are slower if this loop looks at rows, too (docs/lab/text-check.md). */
#define STARTS_MOST_BITS 15u

/* What the loop is compiled for. All are constants once everything is inlined. */
typedef struct loop_kind {
    uint32_t bits, cell_bytes;
    fp_length_lookup lookup;
    int marks; /* looks for UTF-8; only with cells of 16 bytes */
} loop_kind;

typedef uint8_t loop_cell __attribute__((vector_size(16)));

/* The greater of two bytes, for each of 16. */
FP_LOOP_INLINE loop_cell greater_bytes(loop_cell a, loop_cell b) {
#if defined(__SSE2__)
    return (loop_cell)_mm_max_epu8((__m128i)a, (__m128i)b);
#else
    const loop_cell is_a = (loop_cell)(a > b);
    return (a & is_a) | (b & ~is_a);
#endif
}

/* Where decoding stands: where the next token goes and, if the loop marks, the greatest bytes of the cells
 * of this group, and bits of all groups before it. */
typedef struct loop_place {
    uint8_t *out;
    loop_cell greatest, all;
} loop_place;

/* The code is the field of `word` at `shift`. */
FP_LOOP_INLINE loop_place one_token(const fp_decoder *tables, uint64_t word, uint32_t shift,
                                    loop_place at, const loop_kind kind) {
    uint64_t mask = (1ull << kind.bits) - 1;
    uint64_t length; /* loaded before the store, which compilers think could change the table */
    const uint8_t *cell;
    if (kind.lookup == FP_LENGTH_BY_DOUBLE) {
        uint64_t doubled = (shift ? FP_LOOP_FIELD(word, shift - 1) : word << 1) & mask << 1;
        length = tables->lengths[doubled];
        cell = tables->cells + doubled * 8;
    } else {
        uint64_t code = FP_LOOP_FIELD(word, shift) & mask;
        length = tables->lengths[code];
        cell = tables->cells + code * kind.cell_bytes;
    }
    if (kind.marks) {
        loop_cell token;
        memcpy(&token, cell, sizeof token);
#if defined(__SSE2__)
        __asm__("" : "+x"(token)); /* else gcc 12 loads it again, from the output */
#endif
        at.greatest = greater_bytes(at.greatest, token);
        memcpy(at.out, &token, sizeof token);
    } else {
        memcpy(at.out, cell, kind.cell_bytes);
    }
    at.out += length;
    return at;
}

/* Notes whether the group has a mark, in 16 bytes that end with `mark`, and begins the next one. */
FP_LOOP_INLINE void end_group(loop_place *at, uint8_t *mark) {
    const loop_cell none = {0};
    memcpy(mark + 1 - sizeof at->greatest, &at->greatest, sizeof at->greatest);
    at->all |= at->greatest;
    at->greatest = none;
}

FP_LOOP_INLINE int is_ascii(loop_cell all) {
    uint64_t halves[2];
    memcpy(halves, &all, sizeof all);
    return !((halves[0] | halves[1]) & 0x8080808080808080u);
}

/* Four codes of one word, the first at bit `shift`. */
FP_LOOP_INLINE loop_place four_tokens(const fp_decoder *tables, uint64_t word, uint32_t shift,
                                      loop_place at, const loop_kind kind) {
    at = one_token(tables, word, shift, at, kind);
    at = one_token(tables, word, shift + kind.bits, at, kind);
    at = one_token(tables, word, shift + 2 * kind.bits, at, kind);
    return one_token(tables, word, shift + 3 * kind.bits, at, kind);
}

/* With an odd width the fifth code begins in the middle of a byte; 4 + 4 * 15 bits still fit a
 * word. */
FP_LOOP_INLINE loop_place eight_tokens(const fp_decoder *tables, const uint8_t *packed,
                                       loop_place at, uint64_t ahead, const loop_kind kind) {
    uint64_t low = fp_load64(packed), high = fp_load64(packed + kind.bits / 2);
    fetch(at.out, ahead);
    at = four_tokens(tables, low, 0, at, kind);
    if (kind.cell_bytes > 8) fetch(at.out, ahead); /* eight tokens can fill two lines */
    return four_tokens(tables, high, kind.bits % 2 * 4, at, kind);
}

FP_LOOP_INLINE uint8_t *wide_groups(const fp_decoder *decoder, const fp_decode_run *run,
                                    const loop_kind kind) {
    const fp_decoder tables = *decoder; /* a copy, which no store can change */
    const uint8_t *packed = run->packed, *end = packed + run->groups * 2 * kind.bits;
    const uint64_t ahead = run->ahead;
    loop_place at = {.out = run->out};
    fp_marked marked;
    uint8_t *mark = fp_mark_of(&marked, 0);
    const int looks = kind.marks && kind.bits <= STARTS_MOST_BITS;
    fp_looker rows = {NULL, NULL};
    if (looks) rows = fp_begin_looking(run);
    for (; packed != end; packed += 2 * kind.bits) {
        const uint8_t *longest_end = at.out + FP_DECODE_GROUP * kind.cell_bytes;
        fetch(packed, FP_PACKED_AHEAD);
        at = eight_tokens(&tables, packed, at, ahead, kind);
        at = eight_tokens(&tables, packed + kind.bits, at, ahead, kind);
        if (kind.marks) end_group(&at, mark--);
        if (at.out > longest_end) return NULL;
        if (looks && rows.next) fp_look_at_starts(run, &rows, at.out, FP_STARTS);
    }
    if (looks) fp_end_looking(run, &rows);
    if (kind.marks) fp_look_at_marked(decoder, run, &marked, at.out, is_ascii(at.all));
    return at.out;
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
                                      const loop_kind kind) {
    const int paired = kind.bits <= FP_MOST_PAIRED_BITS;
    const fp_decoder tables = *decoder;
    const uint8_t *packed = run->packed, *end = packed + run->groups * 2 * kind.bits;
    const uint64_t ahead = run->ahead;
    loop_place at = {.out = run->out};
    fp_marked marked;
    uint8_t *mark = fp_mark_of(&marked, 0);
    while (packed != end) {
        const uint8_t *longest_end = at.out + FP_DECODE_GROUP * kind.cell_bytes;
        for (int half = 0; half < 2; half++, packed += kind.bits) {
            uint64_t word = fp_load64(packed);
            fetch(at.out, ahead);
            if (kind.cell_bytes > 8) fetch(at.out, ahead + 64);
#pragma GCC unroll 8
            for (uint32_t i = 0; i < 8; i += paired ? 2 : 1)
                if (paired)
                    at.out = two_tokens(&tables, word, i * kind.bits, at.out, kind.bits,
                                        kind.cell_bytes);
                else
                    at = one_token(&tables, word, i * kind.bits, at, kind);
        }
        if (kind.marks) end_group(&at, mark--);
        if (at.out > longest_end) return NULL;
    }
    if (kind.marks) fp_look_at_marked(decoder, run, &marked, at.out, is_ascii(at.all));
    return at.out;
}

/* One copy of the loop for each width and each kind of tables that fp_decoder_open makes. */
#define FP_LOOP_CASE(width, cell_bytes, lookup)                                                    \
    case width:                                                                                    \
        return wide_groups(decoder, run, (loop_kind){width, cell_bytes, lookup, marks})
#define FP_LOOP_NARROW(width)                                                                      \
    case width:                                                                                    \
        return narrow_groups(decoder, run, (loop_kind){width, cell_bytes, FP_LENGTH_BY_CODE, marks})

/* Loops of pairs do not mark. */
FP_LOOP_INLINE uint8_t *smallest_dictionary(const fp_decoder *decoder, const fp_decode_run *run,
                                            uint32_t cell_bytes) {
    const int marks = 0;
    switch (decoder->code_bits) {
        FP_LOOP_NARROW(1);
        FP_LOOP_NARROW(2);
        FP_LOOP_NARROW(3);
        FP_LOOP_NARROW(4);
    default: FP_LOOP_NARROW(5);
    }
}

FP_LOOP_INLINE uint8_t *small_dictionary(const fp_decoder *decoder, const fp_decode_run *run,
                                         uint32_t cell_bytes, int marks) {
    switch (decoder->code_bits) {
        FP_LOOP_NARROW(6);
        FP_LOOP_NARROW(7);
        FP_LOOP_NARROW(8);
    default: return marks ? NULL : smallest_dictionary(decoder, run, cell_bytes);
    }
}

FP_LOOP_INLINE uint8_t *short_cells(const fp_decoder *decoder, const fp_decode_run *run) {
    const int marks = 0;
    switch (decoder->code_bits) {
        FP_LOOP_CASE(9, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(10, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(11, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(12, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(13, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(14, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(15, 8, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(16, 8, FP_LENGTH_BY_CODE);
    default: return small_dictionary(decoder, run, 8, marks);
    }
}

FP_LOOP_INLINE uint8_t *long_cells(const fp_decoder *decoder, const fp_decode_run *run, int marks) {
    switch (decoder->code_bits) {
        FP_LOOP_CASE(9, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(10, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(11, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(12, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(13, 16, FP_LENGTH_BY_DOUBLE);
        FP_LOOP_CASE(14, 16, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(15, 16, FP_LENGTH_BY_CODE);
        FP_LOOP_CASE(16, 16, FP_LENGTH_BY_CODE);
    default: return small_dictionary(decoder, run, 16, marks);
    }
}
