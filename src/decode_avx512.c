/* decode_avx512.c - the decoding loop for many codes, for x86-64 CPUs of 2019 and later. In and
 * out: as decode_loop.h has it; the dictionary has classes of lengths, at most 1024 of them.
 *
 * The trick: as many cells as fill one register, eight of 8 bytes or four of 16, lie side by side
 * in it. One instruction squeezes the bytes between the tokens out, and one store writes all
 * tokens. Which bytes to keep is looked up for 64 codes at once by the codes' classes. Codes and
 * masks are prepared one block before they are needed. */
#if defined(__x86_64__)
#include "decode_avx512.h"
#include "decode_pieces.h"
#include "decode_starts.h"

#include <string.h>

#define BLOCK        FP_PIECES_BLOCK /* codes */
#define BLOCK_GROUPS (BLOCK / FP_DECODE_GROUP)
#define STORED       4u /* codes per store, if cells have 16 bytes */
#define MOST_CLASSES sizeof(((fp_squeeze *)0)->by_class)

void fp_spread_fill(uint32_t code_bits, fp_spread *tables) {
    for (uint32_t i = 0; i < 64; i++) { /* four codes go to each eight bytes */
        uint32_t first_bit = i / 8 * 4 * code_bits;
        tables->places[i] = (uint8_t)(first_bit / 8 + i % 8);
        tables->shifts[i] = (uint8_t)(first_bit % 8 + i % 8 / 2 * code_bits + i % 2 * 8);
    }
}

void fp_squeeze_fill(const fp_decoder *decoder, const uint8_t *lengths, const uint8_t *numbers,
                     fp_squeeze *tables) {
    const uint32_t shift = fp_squeeze_shift(decoder->code_bits);
    /* Zeros to the end: the loop loads twice what 6 bits need. */
    memset(tables, 0, sizeof *tables);
    for (uint32_t class = 0; class < 1u << (decoder->code_bits - shift); class ++) {
        uint8_t length = lengths[class << shift];
        tables->by_class[class] = decoder->cell_bytes == 8 ? (uint8_t)((1u << length) - 1) : length;
        tables->text_by_class[class] = length;
    }
    for (uint32_t code = 0; numbers && code < decoder->code_slots; code++)
        if (numbers[code] >= FP_STEPS_WHOLE)
            tables->text_by_class[code >> shift] |= FP_CLASS_PARTIAL;
    fp_spread_fill(decoder->code_bits, &tables->spread);
}

/* What the loop is compiled for. */
typedef struct squeeze_kind {
    uint32_t bits, cell_bytes;
    int marks; /* only for cells of 16 bytes */
} squeeze_kind;

/* A prepared block, for cells of 8 bytes. */
typedef struct short_block {
    _Alignas(64) uint16_t codes[BLOCK];
    _Alignas(64) uint64_t keep[BLOCK / 8]; /* masks of eight tokens each, those of keep_of(eight) */
} short_block;

/* Packing two registers of codes leaves the eights in this order. */
FP_INLINE uint32_t keep_of(uint32_t eight) { return eight % 4 * 2 + eight / 4; }

/* The same for cells of 16 bytes. Codes are doubled: an address can hold a register times 8, not
 * times 16. */
typedef struct long_block {
    _Alignas(64) union {
        uint16_t narrow[BLOCK]; /* up to 15 bits */
        uint32_t wide[BLOCK];   /* 16 bits; fours are at wide_of(four) */
    } doubled;
    _Alignas(64) uint64_t keep[BLOCK / 4]; /* masks of four tokens each */
} long_block;

/* Widening a register of codes leaves the fours in this order. */
FP_INLINE uint32_t wide_of(uint32_t four) {
    return four / 8 * 32 + four % 2 * 16 + four % 8 / 2 * 4;
}

typedef struct unpacker {
    spreader spread;
    __m512i by_class[MOST_CLASSES / 64];
} unpacker;

/* Pairs of registers that hold the table by class. */
FP_INLINE uint32_t answers_of(uint32_t bits) {
    return bits <= 7 ? 1 : 1u << (bits - fp_squeeze_shift(bits) - 7);
}

/* What the table has for the classes of 64 codes, a byte each, in the order that packing leaves.
 * Each 128 entries of the table are indexed by the lower 7 bits of all classes; the upper bits
 * choose between the answers. */
FP_INLINE __m512i look_up_classes(const unpacker *tables, __m512i low, __m512i high,
                                  uint32_t bits) {
    const uint32_t shift = fp_squeeze_shift(bits), answers = answers_of(bits);
    const uint32_t lower_bits = bits > 8 ? bits - 8 : 0;
    __m512i highest = _mm512_packus_epi16(_mm512_srli_epi16(low, lower_bits),
                                          _mm512_srli_epi16(high, lower_bits));
    __m512i lower = highest;
    if (shift != lower_bits) {
        __m512i seven_bits = _mm512_set1_epi16(127);
        lower = _mm512_packus_epi16(_mm512_and_si512(_mm512_srli_epi16(low, shift), seven_bits),
                                    _mm512_and_si512(_mm512_srli_epi16(high, shift), seven_bits));
    }
    __m512i found[MOST_CLASSES / 128] = {
        {0}}; /* for the analyzer, which loses count of the loops */
#pragma GCC unroll 8
    for (uint32_t i = 0; i < answers; i++)
        found[i] =
            _mm512_permutex2var_epi8(tables->by_class[2 * i], lower, tables->by_class[2 * i + 1]);
#pragma GCC unroll 3
    for (uint32_t left = answers / 2, bit = bits - shift - 8; left; left /= 2, bit--) {
        __mmask64 second = _mm512_movepi8_mask(_mm512_slli_epi16(highest, bit));
#pragma GCC unroll 4
        for (uint32_t i = 0; i < left; i++)
            found[i] = _mm512_mask_mov_epi8(found[2 * i], second, found[2 * i + 1]);
    }
    return found[0];
}

FP_INLINE void make_short(const unpacker *tables, __m512i low, __m512i high, uint32_t bits,
                          short_block *to) {
    _mm512_store_si512(to->codes, low);
    _mm512_store_si512(to->codes + 32, high);
    _mm512_store_si512(to->keep, look_up_classes(tables, low, high, bits));
}

FP_INLINE void store_doubled(__m512i codes, uint32_t *to) {
    __m512i zero = _mm512_setzero_si512();
    _mm512_store_si512(to, _mm512_slli_epi32(_mm512_unpacklo_epi16(codes, zero), 1));
    _mm512_store_si512(to + 16, _mm512_slli_epi32(_mm512_unpackhi_epi16(codes, zero), 1));
}

/* A bit for each byte of 32 tokens, whose lengths are 16-bit numbers. A length of 16 shifts the one
 * out, and 0 - 1 has all bits. */
FP_INLINE __m512i long_masks(__m512i lengths) {
    __m512i one = _mm512_set1_epi16(1);
    return _mm512_sub_epi16(_mm512_sllv_epi16(one, lengths), one);
}

/* *partial gets bits of codes whose classes are partial, if the loop marks. */
FP_INLINE void make_long(const unpacker *tables, __m512i low, __m512i high, squeeze_kind kind,
                         long_block *to, uint64_t *partial) {
    if (kind.bits < 16) {
        _mm512_store_si512(to->doubled.narrow, _mm512_slli_epi16(low, 1));
        _mm512_store_si512(to->doubled.narrow + 32, _mm512_slli_epi16(high, 1));
    } else {
        store_doubled(low, to->doubled.wide);
        store_doubled(high, to->doubled.wide + 32);
    }
    /* Widening undoes the order of packing. */
    __m512i lengths = look_up_classes(tables, low, high, kind.bits), zero = _mm512_setzero_si512();
    if (kind.marks) {
        *partial = _mm512_movepi8_mask(lengths);
        lengths = _mm512_and_si512(lengths, _mm512_set1_epi8(FP_CLASS_PARTIAL - 1));
    }
    _mm512_store_si512(to->keep, long_masks(_mm512_unpacklo_epi8(lengths, zero)));
    _mm512_store_si512(to->keep + BLOCK / 8, long_masks(_mm512_unpackhi_epi8(lengths, zero)));
}

typedef union block {
    short_block of_short;
    long_block of_long;
} block;

/* Prepares one block and returns the greater of `greatest` and its codes, element by element.
 * *partial as make_long has it. */
FP_INLINE __m512i unpack(const unpacker *tables, const uint8_t *packed, squeeze_kind kind,
                         __m512i greatest, block *to, uint64_t *partial) {
#pragma GCC unroll 2
    for (uint32_t line = 0; line < 8 * kind.bits; line += 64)
        __builtin_prefetch((const void *)((uintptr_t)packed + FP_PACKED_AHEAD + line), 0, 3);
    __m512i low = unpack_32(&tables->spread, packed),
            high = unpack_32(&tables->spread, packed + 4 * kind.bits);
    if (kind.cell_bytes == 8)
        make_short(tables, low, high, kind.bits, &to->of_short);
    else
        make_long(tables, low, high, kind, &to->of_long, partial);
    return _mm512_max_epu16(greatest, _mm512_max_epu16(low, high));
}

FP_INLINE __m128i cell(const uint8_t *cells, uint64_t code) {
    return _mm_loadl_epi64((const void *)(cells + code * 8));
}

FP_INLINE __m256i with_cell(__m256i joined, uint8_t place, const uint8_t *cells, uint64_t code) {
    return _mm256_mask_broadcastq_epi64(joined, place, cell(cells, code));
}

/* The cells of four codes. Masked loads put each cell in its place, in halves of a register: that
 * is as fast as any other way on an idle core and faster on a busy one. Each code is extracted
 * differently (truncate, pext, load, shift) to spread the work over ports. Figures are in
 * docs/lab/cpu-decoder.md. */
FP_INLINE __m256i four_cells(const uint8_t *cells, const uint16_t *codes) {
    uint64_t word = fp_load64(codes);
    __m256i joined = _mm256_castsi128_si256(cell(cells, (uint16_t)word));
    joined = with_cell(joined, 2, cells, _pext_u64(word, 0xffff0000));
    joined = with_cell(joined, 4, cells, codes[2]);
    return with_cell(joined, 8, cells, word >> 48);
}

/* Stores the bytes of `joined` that `keep` has bits for; the store itself has 64 bytes. */
FP_INLINE uint8_t *squeeze(__m512i joined, uint64_t keep, uint8_t *out) {
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(keep, joined));
    return out + count_bits(keep);
}

FP_INLINE uint8_t *eight_short(const uint8_t *cells, const short_block *from, uint32_t eight,
                               uint8_t *out) {
    const uint16_t *codes = from->codes + eight * 8;
    __m256i low = four_cells(cells, codes), high = four_cells(cells, codes + 4);
    __m512i joined = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return squeeze(joined, from->keep[keep_of(eight)], out);
}

FP_INLINE __m256i two_long_cells(const uint8_t *cells, uint64_t first_doubled,
                                 uint64_t second_doubled) {
    __m128i first = _mm_load_si128((const void *)(cells + first_doubled * 8));
    __m128i second = _mm_load_si128((const void *)(cells + second_doubled * 8));
    return _mm256_mask_broadcast_i32x4(_mm256_castsi128_si256(first), 0xf0, second);
}

/* Codes are extracted as in four_cells. */
FP_INLINE uint8_t *four_long(const uint8_t *cells, const long_block *from, uint32_t four,
                             squeeze_kind kind, uint8_t *out, __m512i *all) {
    __m256i low, high;
    if (kind.bits < 16) {
        const uint16_t *doubled = from->doubled.narrow + four * 4;
        uint64_t word = fp_load64(doubled);
        low = two_long_cells(cells, (uint16_t)word, _pext_u64(word, 0xffff0000));
        high = two_long_cells(cells, doubled[2], word >> 48);
    } else {
        const uint32_t *doubled = from->doubled.wide + wide_of(four);
        uint64_t first = fp_load64(doubled), second = fp_load64(doubled + 2);
        low = two_long_cells(cells, (uint32_t)first, first >> 32);
        high = two_long_cells(cells, (uint32_t)second, second >> 32);
    }
    const __m512i joined = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    if (kind.marks) *all = _mm512_or_si512(*all, joined);
    return squeeze(joined, from->keep[four], out);
}

/* Stores the tokens of the block's n-th store. *all gets bits of their cells, if the loop marks. */
FP_INLINE uint8_t *store_tokens(const uint8_t *cells, const block *from, uint32_t n,
                                squeeze_kind kind, uint8_t *out, __m512i *all) {
    return kind.cell_bytes == 8 ? eight_short(cells, &from->of_short, n, out)
                                : four_long(cells, &from->of_long, n, kind, out, all);
}

FP_INLINE uint8_t *squeeze_blocks(const fp_decoder *decoder, const fp_decode_run *run,
                                  const squeeze_kind kind) {
    const uint32_t bits = kind.bits;
    const fp_squeeze *from = decoder->squeeze;
    const uint8_t *by_class = kind.marks ? from->text_by_class : from->by_class;
    unpacker tables = {.spread = load_spread(&from->spread, bits)};
    const uint32_t registers = 2 * answers_of(bits);
#pragma GCC unroll 16
    for (uint32_t i = 0; i < registers; i++)
        tables.by_class[i] = _mm512_loadu_si512(by_class + 64 * i);
    const uint8_t *cells = decoder->cells;
    const uint32_t stores = BLOCK * kind.cell_bytes / 64;
    const uint64_t ahead = run->ahead, blocks = readable_blocks(run, bits, BLOCK);
    fp_decode_run rest = *run; /* what is still to be decoded */
    __m512i greatest = _mm512_setzero_si512();
    __m512i all = _mm512_setzero_si512(); /* bits of all cells, if the loop marks */
    marker seen = {{0}};
    block ready[2];
    uint8_t *out = rest.out;
    fp_looker rows = {NULL, NULL};
    if (kind.marks) rows = fp_begin_looking(run);
    if (blocks) greatest = unpack(&tables, rest.packed, kind, greatest, &ready[0], seen.partial);
    for (uint64_t done = 1; done <= blocks; done++) {
        rest.packed += 8 * bits;
        rest.groups -= BLOCK_GROUPS;
        if (done < blocks)
            greatest = unpack(&tables, rest.packed, kind, greatest, &ready[done % 2],
                              kind.marks ? &seen.partial[done] : NULL);
#pragma GCC unroll 16
        for (uint32_t n = 0; n < stores; n++) {
            __builtin_prefetch((const void *)((uintptr_t)out + ahead), 0, 3);
            out = store_tokens(cells, &ready[(done - 1) % 2], n, kind, out, &all);
            if (kind.marks && n % 8 == 7 && rows.next)
                fp_look_at_starts(run, &rows, out, 8 * STORED / FP_DECODE_GROUP * FP_STARTS);
        }
    }
    /* Bad codes have the lengths of their classes, at most a cell, so it is early enough to refuse
     * them here. */
    __m512i last = _mm512_set1_epi16((short)(decoder->code_slots - 1));
    if (_mm512_cmpgt_epu16_mask(greatest, last)) return NULL;
    if (kind.marks) {
        fp_end_looking(run, &rows);
        look_at_partial(decoder, run, &tables.spread, &seen, blocks,
                        (fp_marks){out, !_mm512_movepi8_mask(all)});
    }
    rest.out = out;
    if (rest.groups) out = fp_decode_loop_avx2(decoder, &rest);
    return out;
}

#define SQUEEZE(width)                                                                             \
    (decoder->cell_bytes == 8 ? squeeze_blocks(decoder, run, (squeeze_kind){width, 8, 0})          \
                              : squeeze_blocks(decoder, run, (squeeze_kind){width, 16, marks}))

FP_INLINE uint8_t *squeeze_codes(const fp_decoder *decoder, const fp_decode_run *run,
                                 const int marks) {
    switch (decoder->code_bits) {
    case 6: return SQUEEZE(6);
    case 7: return SQUEEZE(7);
    case 8: return SQUEEZE(8);
    case 9: return SQUEEZE(9);
    case 10: return SQUEEZE(10);
    case 11: return SQUEEZE(11);
    case 12: return SQUEEZE(12);
    case 13: return SQUEEZE(13);
    case 14: return SQUEEZE(14);
    case 15: return SQUEEZE(15);
    default: return SQUEEZE(16);
    }
}

FP_TARGET uint8_t *fp_decode_loop_avx512(const fp_decoder *decoder, const fp_decode_run *run) {
    return squeeze_codes(decoder, run, 0);
}

FP_TARGET uint8_t *fp_mark_loop_avx512(const fp_decoder *decoder, const fp_decode_run *run) {
    return squeeze_codes(decoder, run, 1);
}
#else
typedef int fp_decode_avx512_is_for_x86_64; /* a source file must declare something */
#endif
