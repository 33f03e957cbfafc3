/* decode_long.h - the hot loop for tokens of more than 16 bytes, written once and compiled for each
 * CPU level that gains by it.
 *
 * In: groups of sixteen packed codes. Out: their tokens back to back. Tokens lie back to back in the
 * table, too: in cells of 64 bytes they would take most of a cache that their own bytes fit in. One
 * number per code says where its token begins and how long it is. A token is one load and one store
 * of 32 or 64 bytes; the next token overwrites what was too much. No branch depends on the data but
 * one per four codes, which is taken when a code was bad. Where long tokens are rare, there is a branch
 * per token, and mostly half as much is copied.
 *
 * The including file defines what decode_loop.h asks for, and FP_LONG_VECTOR, the bytes of the widest
 * register: 16, 32 or 64. */
#include "decode_loop.h"

typedef uint8_t long_piece __attribute__((vector_size(FP_LONG_VECTOR)));

/* What the loop is compiled for. All are constants once everything is inlined. */
typedef struct long_kind {
    uint32_t bits;
    uint32_t cell_bytes; /* 32 or 64 */
    int rare;            /* the second half of a cell is copied only where a token has one */
    int marks;           /* looks for UTF-8 */
} long_kind;

/* Where decoding stands: where the next token goes and, if the loop marks, bits of the places of this
 * group, and of all before it. */
typedef struct long_place {
    uint8_t *out;
    int64_t signs, all;
} long_place;

/* Notes whether the group has a marked token, and begins the next one. */
FP_LOOP_INLINE void end_long_group(long_place *at, uint8_t *mark) {
    *mark = (uint8_t)(at->signs < 0 ? FP_MARK : 0);
    at->all |= at->signs;
    at->signs = 0;
}

/* Copies 16, 32 or 64 bytes, through registers: all of them before any is stored, because the output
 * could be the table for all that compilers know. */
FP_LOOP_INLINE void copy_token(uint8_t *out, const uint8_t *token, uint32_t cell_bytes) {
    long_piece pieces[FP_MAX_TOKEN / FP_LONG_VECTOR];
    if (cell_bytes < FP_LONG_VECTOR) {
        memcpy(out, token, cell_bytes);
        return;
    }
#pragma GCC unroll 4
    for (uint32_t i = 0; i < cell_bytes / FP_LONG_VECTOR; i++)
        memcpy(&pieces[i], token + i * FP_LONG_VECTOR, FP_LONG_VECTOR);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < cell_bytes / FP_LONG_VECTOR; i++)
        memcpy(out + i * FP_LONG_VECTOR, &pieces[i], FP_LONG_VECTOR);
}

FP_LOOP_INLINE long_place one_long(const fp_decoder *tables, uint64_t code, long_place at,
                                   const long_kind kind) {
    int64_t place = tables->places[code];
    __asm__("" : "+r"(place)); /* else gcc extends its sign after the load */
    uint64_t length = (uint64_t)place & ((1u << FP_PLACE_SHIFT) - 1);
    /* Else gcc shifts first, and needs a copy of the place for that. */
    if (!kind.rare) __asm__("" : "+r"(length));
    const uint8_t *token = tables->cells + (place >> FP_PLACE_SHIFT);
    const uint32_t half = kind.cell_bytes / 2;
    if (kind.marks) at.signs |= place;
    copy_token(at.out, token, kind.rare ? half : kind.cell_bytes);
    if (kind.rare && __builtin_expect(length > half, 0))
        copy_token(at.out + half, token + half, half);
    at.out += length;
    return at;
}

/* The steps of a group, four codes each, from the word at `packed` + the step's bytes on. */
FP_LOOP_INLINE uint8_t *long_groups(const fp_decoder *decoder, const fp_decode_run *run,
                                    const long_kind kind) {
    const fp_decoder tables = *decoder; /* a copy, which no store can change */
    const uint32_t bits = kind.bits;
    const uint64_t ahead = run->ahead, mask = (1ull << bits) - 1;
    const uint8_t *packed = run->packed, *end = packed + run->groups * 2 * bits;
    long_place at = {.out = run->out};
    fp_marked marked;
    uint8_t *mark = fp_mark_of(&marked, 0);
    for (; packed != end; packed += 2 * bits) {
#pragma GCC unroll 4
        for (uint32_t step = 0; step < FP_DECODE_GROUP / FP_LONG_STEP; step++) {
            /* With an odd width every other step begins in the middle of a byte. */
            uint64_t word = fp_load64(packed + step * bits / 2);
            const uint32_t shift = step % 2 * (bits % 2) * 4;
            const uint8_t *longest_end = at.out + FP_LONG_STEP * kind.cell_bytes;
#pragma GCC unroll 4
            for (uint32_t i = 0; i < FP_LONG_STEP; i++) {
                if ((kind.cell_bytes > 32 && !kind.rare) || i % 2 == 0) fetch(at.out, ahead);
                at = one_long(&tables, FP_LOOP_FIELD(word, shift + i * bits) & mask, at, kind);
            }
            if (at.out > longest_end) return NULL;
        }
        if (kind.marks) end_long_group(&at, mark--);
    }
    if (kind.marks)
        fp_look_at_marked(decoder, run, &marked, at.out, tables.marks_high && at.all >= 0);
    return at.out;
}

/* Widths up to 8, which only small dictionaries have: eight codes are one word. The width is no
 * constant. */
FP_LOOP_INLINE uint8_t *narrow_long_groups(const fp_decoder *decoder, const fp_decode_run *run,
                                           const long_kind kind) {
    const fp_decoder tables = *decoder;
    const uint32_t bits = tables.code_bits;
    const uint64_t ahead = run->ahead, mask = (1ull << bits) - 1;
    const uint8_t *packed = run->packed, *end = packed + run->groups * 2 * bits;
    long_place at = {.out = run->out};
    fp_marked marked;
    uint8_t *mark = fp_mark_of(&marked, 0);
    for (uint64_t word = 0; packed != end; packed += 2 * bits) {
        for (uint32_t step = 0; step < FP_DECODE_GROUP / FP_LONG_STEP; step++) {
            if (step % 2 == 0) word = fp_load64(packed + step / 2 * bits);
            const uint8_t *longest_end = at.out + FP_LONG_STEP * kind.cell_bytes;
#pragma GCC unroll 4
            for (uint32_t i = 0; i < FP_LONG_STEP; i++, word >>= bits) {
                if ((kind.cell_bytes > 32 && !kind.rare) || i % 2 == 0) fetch(at.out, ahead);
                at = one_long(&tables, word & mask, at, kind);
            }
            if (at.out > longest_end) return NULL;
        }
        if (kind.marks) end_long_group(&at, mark--);
    }
    if (kind.marks)
        fp_look_at_marked(decoder, run, &marked, at.out, tables.marks_high && at.all >= 0);
    return at.out;
}

FP_LOOP_INLINE uint8_t *long_tokens(const fp_decoder *decoder, const fp_decode_run *run,
                                    uint32_t cell_bytes, int rare, int marks) {
#define FP_LONG_CASE(width)                                                                        \
    case width: return long_groups(decoder, run, (long_kind){width, cell_bytes, rare, marks})
    switch (decoder->code_bits) {
        FP_LONG_CASE(9);
        FP_LONG_CASE(10);
        FP_LONG_CASE(11);
        FP_LONG_CASE(12);
        FP_LONG_CASE(13);
        FP_LONG_CASE(14);
        FP_LONG_CASE(15);
        FP_LONG_CASE(16);
    default: return narrow_long_groups(decoder, run, (long_kind){0, cell_bytes, rare, marks});
    }
#undef FP_LONG_CASE
}

FP_LOOP_INLINE uint8_t *any_tokens(const fp_decoder *decoder, const fp_decode_run *run, int rare,
                                   int marks) {
    return decoder->cell_bytes == 32 ? long_tokens(decoder, run, 32, rare, marks)
                                     : long_tokens(decoder, run, 64, rare, marks);
}
