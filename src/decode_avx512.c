/* decode_avx512.c - the decoding loop for many codes of short tokens, for x86-64 CPUs of 2019 and later. In and out: as
 * decode_loop.h has it; the dictionary has rows of 8 bytes and classes of lengths, at most 1024 of them.
 *
 * The trick: eight rows lie side by side in one register, and one instruction squeezes the bytes between the tokens out, so
 * that eight tokens are one store. Which bytes to keep, a byte of mask a token, is looked up for 64 codes at once by the
 * codes' classes. All of that and the codes as 16-bit numbers are made one block before they are needed. */
#if defined(__x86_64__)
#include "decode_private.h"
#include "format.h"

#include <immintrin.h>

#define FP_TARGET                                                                                            \
    __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")))
#define FP_INLINE static inline __attribute__((always_inline)) FP_TARGET

#define BLOCK        64u /* codes */
#define BLOCK_GROUPS (BLOCK / FP_DECODE_GROUP)
#define MOST_CLASSES sizeof(((fp_squeeze *)0)->keep)

void fp_squeeze_fill(uint32_t code_bits, const uint8_t *lengths, fp_squeeze *tables) {
    uint32_t shift = fp_squeeze_shift(code_bits);
    for (uint32_t class = 0; class < 1u << (code_bits - shift); class ++)
        tables->keep[class] = (uint8_t)((1u << lengths[class << shift]) - 1);
    for (uint32_t i = 0; i < 64; i++) { /* four codes go to each eight bytes */
        uint32_t first_bit = i / 8 * 4 * code_bits;
        tables->places[i] = (uint8_t)(first_bit / 8 + i % 8);
        tables->shifts[i] = (uint8_t)(first_bit % 8 + i % 8 / 2 * code_bits + i % 2 * 8);
    }
}

/* A block made ready. */
typedef struct block {
    _Alignas(64) uint16_t codes[BLOCK];
    _Alignas(64) uint64_t keep[BLOCK / 8]; /* masks of eight tokens each, those of keep_of(eight) */
} block;

/* Packing two registers of codes leaves the eights in this order. */
FP_INLINE uint32_t keep_of(uint32_t eight) { return eight % 4 * 2 + eight / 4; }

typedef struct unpacker {
    __m512i places, shifts, code_mask;
    __m512i keep[MOST_CLASSES / 64];
} unpacker;

FP_INLINE __m512i unpack_half(const unpacker *tables, const uint8_t *packed) {
    __m512i fours = _mm512_permutexvar_epi8(tables->places, _mm512_loadu_si512(packed));
    return _mm512_and_si512(_mm512_multishift_epi64_epi8(tables->shifts, fours), tables->code_mask);
}

/* Which bytes of each of 64 tokens to keep, in the order that packing leaves. Each 128 entries of the table are asked by the
 * lower 7 bits of all classes; the bits above choose between the answers. */
FP_INLINE __m512i masks_of(const unpacker *tables, __m512i low, __m512i high, uint32_t bits) {
    const uint32_t shift = fp_squeeze_shift(bits), answers = 1u << (bits - shift - 7);
    __m512i highest =
        _mm512_packus_epi16(_mm512_srli_epi16(low, bits - 8), _mm512_srli_epi16(high, bits - 8));
    __m512i lower = highest;
    if (shift != bits - 8) {
        __m512i seven_bits = _mm512_set1_epi16(127);
        lower = _mm512_packus_epi16(_mm512_and_si512(_mm512_srli_epi16(low, shift), seven_bits),
                                    _mm512_and_si512(_mm512_srli_epi16(high, shift), seven_bits));
    }
    __m512i found[MOST_CLASSES / 128];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < answers; i++)
        found[i] = _mm512_permutex2var_epi8(tables->keep[2 * i], lower, tables->keep[2 * i + 1]);
#pragma GCC unroll 3
    for (uint32_t left = answers / 2, bit = bits - shift - 8; left; left /= 2, bit--) {
        __mmask64 second = _mm512_movepi8_mask(_mm512_slli_epi16(highest, bit));
#pragma GCC unroll 4
        for (uint32_t i = 0; i < left; i++)
            found[i] = _mm512_mask_mov_epi8(found[2 * i], second, found[2 * i + 1]);
    }
    return found[0];
}

/* Makes one block ready and returns the greater of `greatest` and its codes, lane by lane. */
FP_INLINE __m512i unpack(const unpacker *tables, const uint8_t *packed, uint32_t bits, __m512i greatest,
                         block *to) {
    __m512i low = unpack_half(tables, packed), high = unpack_half(tables, packed + 4 * bits);
    _mm512_store_si512(to->codes, low);
    _mm512_store_si512(to->codes + 32, high);
    _mm512_store_si512(to->keep, masks_of(tables, low, high, bits));
    return _mm512_max_epu16(greatest, _mm512_max_epu16(low, high));
}

FP_INLINE __m128i row(const uint8_t *rows, uint64_t code) {
    return _mm_loadl_epi64((const void *)(rows + code * 8));
}

FP_INLINE __m256i with_row(__m256i joined, uint8_t place, const uint8_t *rows, uint64_t code) {
    return _mm256_mask_broadcastq_epi64(joined, place, row(rows, code));
}

/* The rows of four codes. A load with a mask puts a row in its place by itself; loads and then blends are as fast while the
 * core's other thread is idle, and 5 to 15 % slower else. The fields of a word are had in the four ways that are cheapest
 * together: shifts for all are more instructions, loads for all too many loads. */
FP_INLINE __m256i four_rows(const uint8_t *rows, const uint16_t *codes) {
    uint64_t word = fp_load64(codes);
    __m256i joined = _mm256_castsi128_si256(row(rows, (uint16_t)word));
    joined = with_row(joined, 2, rows, _pext_u64(word, 0xffff0000));
    joined = with_row(joined, 4, rows, codes[2]);
    return with_row(joined, 8, rows, word >> 48);
}

FP_INLINE uint8_t *eight_tokens(const uint8_t *rows, const block *from, uint32_t eight, uint8_t *out) {
    __m256i low = four_rows(rows, from->codes + eight * 8),
            high = four_rows(rows, from->codes + eight * 8 + 4);
    __m512i joined = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    uint64_t keep = from->keep[keep_of(eight)], length;
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(keep, joined));
    /* Compilers would load the mask twice, and clear `length` first, which older CPUs need. */
    __asm__("popcntq %1, %0" : "=r"(length) : "r"(keep) : "cc");
    return out + length;
}

/* Blocks that may be read: the second half of one is read as 64 bytes, too. */
FP_INLINE uint64_t readable_blocks(const fp_decode_run *run, uint32_t bits) {
    uint64_t left = (uint64_t)(run->packed_end - run->packed), reach = 4 * bits + 64;
    uint64_t blocks = run->groups / BLOCK_GROUPS,
             readable = left < reach ? 0 : (left - reach) / (8 * bits) + 1;
    return blocks < readable ? blocks : readable;
}

FP_INLINE uint8_t *squeeze_blocks(const fp_decoder *decoder, const fp_decode_run *run, uint32_t bits) {
    const fp_squeeze *squeeze = decoder->squeeze;
    unpacker tables = {.places = _mm512_loadu_si512(squeeze->places),
                       .shifts = _mm512_loadu_si512(squeeze->shifts),
                       .code_mask = _mm512_set1_epi16((short)((1u << bits) - 1))};
    const uint32_t registers = 1u << (bits - fp_squeeze_shift(bits) - 6);
#pragma GCC unroll 16
    for (uint32_t i = 0; i < registers; i++) tables.keep[i] = _mm512_loadu_si512(squeeze->keep + 64 * i);
    const uint8_t *rows = decoder->rows;
    const uint64_t ahead = run->ahead;
    fp_decode_run rest = *run; /* what is not decoded yet */
    uint64_t left = readable_blocks(run, bits);
    __m512i greatest = _mm512_setzero_si512();
    block ready[2];
    uint8_t *out = rest.out;
    if (left) greatest = unpack(&tables, rest.packed, bits, greatest, &ready[0]);
    for (uint32_t now = 0; left; left--, now ^= 1) {
        rest.packed += 8 * bits;
        rest.groups -= BLOCK_GROUPS;
        if (left > 1) greatest = unpack(&tables, rest.packed, bits, greatest, &ready[now ^ 1]);
#pragma GCC unroll 8
        for (uint32_t eight = 0; eight < 8; eight++) {
            __builtin_prefetch((const void *)((uintptr_t)out + ahead), 0, 3);
            out = eight_tokens(rows, &ready[now], eight, out);
        }
    }
    /* Lengths of bad codes are those of their classes, at most 8, so that it is early enough to notice them here. */
    __m512i last = _mm512_set1_epi16((short)(decoder->code_slots - 1));
    if (_mm512_cmpgt_epu16_mask(greatest, last)) return NULL;
    rest.out = out;
    return rest.groups ? fp_decode_loop_avx2(decoder, &rest) : out;
}

FP_TARGET uint8_t *fp_decode_loop_avx512(const fp_decoder *decoder, const fp_decode_run *run) {
    switch (decoder->code_bits) {
    case 9: return squeeze_blocks(decoder, run, 9);
    case 10: return squeeze_blocks(decoder, run, 10);
    case 11: return squeeze_blocks(decoder, run, 11);
    case 12: return squeeze_blocks(decoder, run, 12);
    case 13: return squeeze_blocks(decoder, run, 13);
    case 14: return squeeze_blocks(decoder, run, 14);
    case 15: return squeeze_blocks(decoder, run, 15);
    default: return squeeze_blocks(decoder, run, 16);
    }
}
#else
typedef int fp_decode_avx512_is_for_x86_64; /* a source file must declare something */
#endif
