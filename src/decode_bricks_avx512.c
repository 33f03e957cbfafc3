/* decode_bricks_avx512.c - the decoding loop for many codes with tokens of more than 16 bytes, for
 * x86-64 CPUs of 2019 and later. In and out: as decode_long.h has it; the tables are those of
 * decode_bricks.c.
 *
 * The trick: one store per four bricks of 16 bytes, not one per token. First, codes become a list of
 * bricks: each code is written as often as the longest token has bricks, counting up, and bricks that
 * its own token does not have are squeezed out. Then four bricks fill one register. Padding is 255,
 * so one comparison says which bytes to keep. Where a store goes is known only once all bricks
 * before it are loaded, and CPUs hold loads back while they do not know where earlier stores go. So
 * a store comes some steps after its loads. Bad codes are refused at the end. */
#if defined(__x86_64__)
#include "decode_avx512.h"

#define BLOCK     256u /* codes: large, for each block ends with a branch that is guessed wrong */
#define AT_A_TIME 4u   /* bricks that fill a register */
#define DEPTH     8u   /* steps that a store is later than its loads */

_Static_assert(BLOCK == FP_SEEN_BLOCK && FP_BRICK == FP_SEEN_BRICK &&
                   FP_MOST_RUN <= FP_SEEN_BLOCK * FP_SEEN_BLOCKS,
               "blocks are those that are told of");

/* ---------------------------------------------------------------- a list of bricks */

/* What the loop is compiled for. */
typedef struct brick_kind {
    uint32_t most; /* bricks of a token: 1, 2 or 4 */
    uint32_t unit; /* of the numbers in a list */
    int marks;
} brick_kind;

/* fp_bricks in registers. */
typedef struct lister {
    spreader spread;
    __m512i slots, one;
    __m512i codes[FP_MOST_BRICKS];
    __m512i repeat[FP_MOST_BRICKS];
    __m512i ordinals, least;
    __m512i partial_from[FP_PARTIAL_RANGES], partial_count[FP_PARTIAL_RANGES];
} lister;

FP_INLINE lister load_lister(const fp_decoder *decoder, uint32_t most) {
    const fp_bricks *from = decoder->bricks;
    lister made = {.spread = load_spread(&from->spread, decoder->code_bits),
                   .slots = _mm512_set1_epi16((short)from->slots),
                   .one = _mm512_set1_epi16((short)from->unit),
                   .ordinals = _mm512_loadu_si512(from->ordinals),
                   .least = _mm512_loadu_si512(from->least)};
#pragma GCC unroll 4
    for (uint32_t n = 0; n < most; n++) {
        made.repeat[n] = _mm512_loadu_si512(from->repeat[n]);
        made.codes[n] = _mm512_set1_epi16((short)from->codes[n]);
    }
#pragma GCC unroll 3
    for (uint32_t n = 0; n < FP_PARTIAL_RANGES; n++) {
        made.partial_from[n] = _mm512_set1_epi16((short)from->partial[n].from);
        made.partial_count[n] = _mm512_set1_epi16((short)from->partial[n].count);
    }
    return made;
}

/* 32 codes. */
FP_INLINE __m512i load_codes(const lister *by, const uint8_t *packed, uint32_t bits) {
    return bits == 16 ? _mm512_loadu_si512(packed) : unpack_32(&by->spread, packed);
}

/* Bits for codes in a range of partial ones. A subtraction that stops at 0 leaves bits of numbers that are
 * below a count. */
FP_INLINE __m512i find_partial_codes(const lister *by, __m512i codes) {
    __m512i found[FP_PARTIAL_RANGES];
#pragma GCC unroll 3
    for (uint32_t n = 0; n < FP_PARTIAL_RANGES; n++)
        found[n] =
            _mm512_subs_epu16(by->partial_count[n], _mm512_sub_epi16(codes, by->partial_from[n]));
    _Static_assert(FP_PARTIAL_RANGES == 3, "all are joined");
    return _mm512_ternarylogic_epi64(found[0], found[1], found[2], 0xfe);
}

/* Appends the numbers of the bricks of 32 codes and returns the end of the list, after which 64 bytes
 * are overwritten, too. Codes without a token have none: no brick has number 0. */
FP_INLINE uint16_t *list_bricks(const lister *by, __m512i codes, brick_kind kind, uint16_t *end) {
    __mmask32 have = _mm512_cmplt_epu16_mask(codes, by->slots);
    /* How many bricks come before a code's: one for each code before it, one more for each of
     * these that has a second brick, and so on. */
    __m512i first = codes;
#pragma GCC unroll 4
    for (uint32_t n = 1; n < kind.most; n++)
        first = _mm512_add_epi16(first, _mm512_subs_epu16(codes, by->codes[n]));
    if (kind.unit == 2) first = _mm512_add_epi16(first, first);
    first = _mm512_maskz_add_epi16(have, first, by->one);
    if (kind.most == 1) {
        _mm512_storeu_si512(end, _mm512_maskz_compress_epi16(have, first));
        return end + count_bits(have);
    }
#pragma GCC unroll 4
    for (uint32_t n = 0; n < kind.most; n++) {
        __m512i repeated = _mm512_permutexvar_epi8(by->repeat[n], first);
        __mmask32 has = _mm512_cmpge_epu16_mask(repeated, by->least);
        __m512i all = _mm512_add_epi16(repeated, by->ordinals);
        _mm512_storeu_si512(end, _mm512_maskz_compress_epi16(has, all));
        end += count_bits(has);
    }
    return end;
}

/* ---------------------------------------------------------------- from bricks to bytes */

FP_INLINE __m128i cell(const uint8_t *cells, uint64_t number, uint32_t unit) {
    return _mm_load_si128((const void *)(cells + number * (FP_BRICK / unit)));
}

/* The bytes of four bricks, ready to be stored. */
typedef struct squeezed {
    __m512i bytes;
    uint64_t length;
} squeezed;

/* `bounds` has the greatest byte that is no padding, for each byte of a register. Numbers are
 * extracted as in decode_avx512.c. */
FP_INLINE squeezed squeeze(const uint8_t *cells, const uint16_t *list, uint32_t unit,
                           __m512i bounds) {
    uint64_t word = fp_load64(list);
    __m512i joined = _mm512_castsi128_si512(cell(cells, (uint16_t)word, unit));
    joined =
        _mm512_mask_broadcast_i32x4(joined, 0x00f0, cell(cells, _pext_u64(word, 0xffff0000), unit));
    joined = _mm512_mask_broadcast_i32x4(joined, 0x0f00, cell(cells, list[2], unit));
    joined = _mm512_mask_broadcast_i32x4(joined, 0xf000, cell(cells, word >> 48, unit));
    __mmask64 keep = _mm512_cmple_epu8_mask(joined, bounds);
    squeezed made = {_mm512_maskz_compress_epi8(keep, joined), count_bits(keep)};
    /* Compilers would do it later, and run out of mask registers. */
    __asm__("" : "+v"(made.bytes), "+r"(made.length));
    return made;
}

FP_INLINE uint8_t *store(squeezed made, uint8_t *out, uint64_t ahead) {
    __builtin_prefetch((const void *)((uintptr_t)out + ahead), 0, 3);
    _mm512_storeu_si512(out, made.bytes);
    return out + made.length;
}

/* Where bricks come from and go to. */
typedef struct mason {
    __m512i bounds;
    __m512i all; /* bits of all bytes, if the loop marks */
    const uint8_t *cells;
    uint8_t *out;
    uint64_t ahead;
} mason;

/* For each step i of DEPTH. A macro, since gcc leaves short loops as they are at -O2, and what is ready
 * would then be in memory instead of registers. */
#define EACH_STEP(step)                                                                            \
    do {                                                                                           \
        step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)                            \
    } while (0)
#define LOAD_STEP(i) ready[i] = squeeze(at->cells, list + (i)*AT_A_TIME, kind.unit, at->bounds);
#define STORE_STEP(i)                                                                              \
    if (kind.marks) all = _mm512_or_si512(all, ready[i].bytes);                                    \
    out = store(ready[i], out, at->ahead);

/* Bricks list .. end, a multiple of DEPTH * AT_A_TIME. */
FP_INLINE void store_bricks(mason *at, const uint16_t *list, const uint16_t *end,
                            const brick_kind kind) {
    _Static_assert(DEPTH == 8, "EACH_STEP has so many");
    squeezed ready[DEPTH];
    uint8_t *out = at->out;
    __m512i all = at->all;
    if (list == end) return;
    EACH_STEP(LOAD_STEP);
    while ((list += DEPTH * AT_A_TIME) != end) {
#define STORE_AND_LOAD(i) STORE_STEP(i) LOAD_STEP(i)
        EACH_STEP(STORE_AND_LOAD);
#undef STORE_AND_LOAD
    }
    EACH_STEP(STORE_STEP);
    at->all = all;
    at->out = out;
}

/* The same for any number of bricks, slower. */
FP_INLINE void store_singly(mason *at, const uint16_t *list, const uint16_t *end, uint32_t unit) {
    for (; list != end; list++) {
        __m128i bytes = cell(at->cells, *list, unit);
        _mm_storeu_si128((void *)at->out, bytes);
        const __mmask16 keep = _mm_cmple_epu8_mask(bytes, _mm512_castsi512_si128(at->bounds));
        at->all = _mm512_or_si512(at->all, _mm512_zextsi128_si512(_mm_maskz_mov_epi8(keep, bytes)));
        at->out += count_bits(keep);
    }
}

/* Looks at the tokens of partial codes in `blocks` blocks. They decode to bytes up to marks.known. Where all
 * of these are ASCII there are none. */
FP_INLINE void look_at_partial(const fp_decoder *decoder, const fp_decode_run *run,
                               const lister *by, uint64_t blocks, fp_marks marks) {
    const uint32_t bits = decoder->code_bits;
    uint64_t next = 0, state = fp_state_after(run->out);
    *run->marks = (fp_marks){run->out, 0};
    for (uint64_t n = 0; !marks.is_ascii && n < blocks * (BLOCK / 32); n++) {
        __m512i codes = load_codes(by, run->packed + n * 4 * bits, bits),
                found = find_partial_codes(by, codes);
        uint32_t mask = _mm512_test_epi16_mask(found, found);
        if (!mask) continue;
        uint16_t list[32];
        _mm512_storeu_si512(list, codes);
        for (; mask; mask &= mask - 1) {
            const uint32_t i = (uint32_t)__builtin_ctz(mask);
            if (n * 32 + i != next && state & FP_STATE_MASK) return;
            state = fp_take_step(state, fp_step_of(decoder, list[i]));
            next = n * 32 + i + 1;
        }
    }
    state &= FP_STATE_MASK;
    if (state == FP_STATE_BETWEEN || (next == blocks * BLOCK && state != FP_STATE_WRONG))
        *run->marks = marks;
}

FP_INLINE uint8_t *brick_blocks(const fp_decoder *decoder, const fp_decode_run *run,
                                const brick_kind kind) {
    const lister by = load_lister(decoder, kind.most);
    mason at = {.cells = decoder->bricks->cells,
                .bounds = _mm512_mask_set1_epi8(_mm512_set1_epi8((char)(FP_BRICK_PADDING - 1)),
                                                0x0001000100010001, (char)FP_BRICK_PADDING),
                .all = _mm512_setzero_si512(),
                .out = run->out,
                .ahead = run->ahead};
    const uint32_t bits = decoder->code_bits;
    fp_decode_run rest = *run; /* what is still to be decoded */
    __m512i greatest = _mm512_setzero_si512();
    _Static_assert(DEPTH * AT_A_TIME <= 32, "one register holds what is left of a block");
    _Alignas(64) uint16_t list[32 + BLOCK * FP_MOST_BRICKS + 32], *end = list;
    const uint64_t blocks = readable_blocks(run, bits, BLOCK);
    for (uint64_t n = 0; n < blocks; n++) {
        for (uint32_t i = 0; i < BLOCK / 32; i++, rest.packed += 4 * bits) {
            __m512i codes = load_codes(&by, rest.packed, bits);
            __builtin_prefetch((const void *)((uintptr_t)rest.packed + FP_PACKED_AHEAD), 0, 3);
            greatest = _mm512_max_epu16(greatest, codes);
            end = list_bricks(&by, codes, kind, end);
        }
        rest.groups -= BLOCK / FP_DECODE_GROUP;
        uint16_t *whole = end - (end - list) % (DEPTH * AT_A_TIME);
        store_bricks(&at, list, whole, kind);
        _mm512_storeu_si512(list, _mm512_loadu_si512(whole));
        end = list + (end - whole);
        run->blocks->after[n].bytes = (uint32_t)(at.out - run->out);
        run->blocks->after[n].left = (uint32_t)(end - list);
    }
    run->blocks->count = (uint32_t)blocks;
    const __m512i last = _mm512_set1_epi16((short)(decoder->code_slots - 1));
    if (_mm512_cmpgt_epu16_mask(greatest, last)) return NULL;
    store_singly(&at, list, end, kind.unit);
    if (kind.marks)
        look_at_partial(decoder, run, &by, blocks,
                        (fp_marks){at.out, !_mm512_movepi8_mask(at.all)});
    rest.out = at.out;
    if (rest.groups) at.out = fp_decode_long_avx2(decoder, &rest);
    return at.out;
}

FP_INLINE uint8_t *lay_bricks(const fp_decoder *decoder, const fp_decode_run *run,
                              const uint32_t unit, const int marks) {
    switch (decoder->bricks->most) {
    case 1: return brick_blocks(decoder, run, (brick_kind){1, unit, marks});
    case 2: return brick_blocks(decoder, run, (brick_kind){2, unit, marks});
    default: return brick_blocks(decoder, run, (brick_kind){4, unit, marks});
    }
}

FP_TARGET uint8_t *fp_decode_bricks_avx512(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->bricks->unit == 2 ? lay_bricks(decoder, run, 2, 0)
                                      : lay_bricks(decoder, run, 1, 0);
}

FP_TARGET uint8_t *fp_mark_bricks_avx512(const fp_decoder *decoder, const fp_decode_run *run) {
    return decoder->bricks->unit == 2 ? lay_bricks(decoder, run, 2, 1)
                                      : lay_bricks(decoder, run, 1, 1);
}
#else
typedef int fp_decode_bricks_avx512_is_for_x86_64; /* a source file must declare something */
#endif
