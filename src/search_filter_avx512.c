/* search_filter_avx512.c - masks of 64 codes at a time, for x86-64 CPUs of 2019 and later. In: packed
 * codes, and a bit per code of up to 12 bits. Out: codes as 16-bit numbers, and their bits. The trick:
 * 4096 bits fill eight registers, so that bits are looked up in registers: each 128 bytes are indexed
 * by the same 7 bits of all codes, and two more bits choose between the four answers. */
#if defined(__x86_64__)
#include "decode_avx512.h"
#include "search_filter.h"

/* 4096 bits. */
typedef struct bit_table {
    __m512i bytes[8];
} bit_table;

FP_INLINE bit_table load_bits(const uint8_t *bits) {
    bit_table table;
    for (uint32_t i = 0; i < 8; i++) table.bytes[i] = _mm512_loadu_si512(bits + i * 64);
    return table;
}

/* Which byte and which bit of a table 64 codes have, in the order that packing leaves. */
typedef struct bit_places {
    __m512i byte; /* bits 3..9 of the code, and one more that is ignored */
    __m512i bit;  /* 1 << (code & 7) */
    __mmask64 bit_10, bit_11;
} bit_places;

FP_INLINE bit_places find_places(__m512i low, __m512i high) {
    const __m512i byte_mask = _mm512_set1_epi16(0xff);
    const __m512i powers = _mm512_broadcast_i32x4(
        _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 1, 2, 4, 8, 16, 32, 64, (char)128));
    bit_places places;
    /* Bits 4..11, and bits 0..7 without bit 7, which a shuffle would take for "none". */
    __m512i upper = _mm512_packus_epi16(_mm512_srli_epi16(low, 4), _mm512_srli_epi16(high, 4));
    __m512i lower =
        _mm512_packus_epi16(_mm512_and_si512(low, byte_mask), _mm512_and_si512(high, byte_mask));
    places.bit = _mm512_shuffle_epi8(powers, _mm512_and_si512(lower, _mm512_set1_epi8(7)));
    /* Upper, shifted left by one, with bit 3 of the code: 7 bits of it are looked at. */
    __m512i bit_3 = _mm512_and_si512(_mm512_srli_epi16(lower, 3), _mm512_set1_epi8(1));
    places.byte = _mm512_or_si512(_mm512_add_epi8(upper, upper), bit_3);
    places.bit_11 = _mm512_movepi8_mask(upper);
    places.bit_10 = _mm512_movepi8_mask(_mm512_add_epi8(upper, upper));
    return places;
}

FP_INLINE uint64_t look_up(const bit_table *table, const bit_places *places) {
    __m512i found[4];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++)
        found[i] =
            _mm512_permutex2var_epi8(table->bytes[2 * i], places->byte, table->bytes[2 * i + 1]);
    found[0] = _mm512_mask_mov_epi8(found[0], places->bit_10, found[1]);
    found[2] = _mm512_mask_mov_epi8(found[2], places->bit_10, found[3]);
    found[0] = _mm512_mask_mov_epi8(found[0], places->bit_11, found[2]);
    uint64_t mask = _mm512_test_epi8_mask(found[0], places->bit);
    /* Packing has put eights of the first and of the second register by turns. */
    return _pext_u64(mask, 0x00ff00ff00ff00ffu) | _pext_u64(mask, 0xff00ff00ff00ff00u) << 32;
}

/* Which codes a mask is made of: all that begin a match; or of these those that one follows which goes
 * on, and those that accept. */
typedef enum strictness { BEGINS, GOES_ON, GOES_ON_OR_ACCEPTS } strictness;

FP_INLINE uint32_t filter(const fp_code_search *search, fp_code_window *window, strictness strict,
                          uint64_t *masks, uint64_t *accepting, uint32_t *found) {
    const uint32_t shift = search->shift;
    const uint32_t bits = window->bits;
    const uint8_t *packed = window->packed + window->first / 8 * bits;
    const uint64_t left = window->packed_size - window->first / 8 * bits, each = 8ull * bits;
    /* The last 32 codes of a block are read as 64 bytes. */
    uint64_t reach = each / 2 + 64, blocks = window->count / 64,
             readable = left < reach ? 0 : (left - reach) / each + 1;
    if (blocks > readable) blocks = readable;
    fp_spread tables;
    fp_spread_fill(bits, &tables);
    const spreader spread = load_spread(&tables, bits);
    const bit_table begins = load_bits(search->begins), goes_on = load_bits(search->goes_on),
                    accepts = load_bits(search->accepts);
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    uint64_t begun = 0, accepted = 0, after = 0; /* of the block before */
    uint64_t set = 0;
    for (uint64_t i = 0; i < blocks; i++, packed += each) {
        __m512i low = unpack_32(&spread, packed), high = unpack_32(&spread, packed + each / 2);
        _mm512_storeu_si512(window->codes + i * 64, low);
        _mm512_storeu_si512(window->codes + i * 64 + 32, high);
        if (shift) {
            low = _mm512_srl_epi16(low, count);
            high = _mm512_srl_epi16(high, count);
        }
        bit_places places = find_places(low, high);
        uint64_t mask = look_up(&begins, &places);
        if (strict == BEGINS) {
            masks[i] = mask;
            set += count_bits(mask);
            continue;
        }
        uint64_t next = look_up(&goes_on, &places);
        if (i) set += count_bits(masks[i - 1] = (begun & (after | next << 63)) | accepted);
        begun = mask;
        after = next >> 1;
        if (strict == GOES_ON_OR_ACCEPTS) accepted = look_up(&accepts, &places);
        accepting[i] = accepted;
    }
    /* What follows the last block is not known here. */
    if (strict != BEGINS && blocks) {
        masks[blocks - 1] = (begun & (after | 1ull << 63)) | accepted;
        set += count_bits(masks[blocks - 1]);
    }
    *found = (uint32_t)set;
    return (uint32_t)blocks;
}

FP_TARGET uint32_t fp_filter_blocks_avx512(const fp_code_search *search, fp_code_window *window,
                                           int strict, uint64_t *masks, uint64_t *accepting,
                                           uint32_t *found) {
    if (!strict) return filter(search, window, BEGINS, masks, accepting, found);
    return search->has_accepts ? filter(search, window, GOES_ON_OR_ACCEPTS, masks, accepting, found)
                               : filter(search, window, GOES_ON, masks, accepting, found);
}

FP_TARGET uint32_t fp_filter_accepts_avx512(const fp_code_search *search,
                                            const fp_code_window *window, uint64_t *masks) {
    const bit_table accepts = load_bits(search->accepts);
    uint64_t found = 0;
    for (uint32_t i = 0; i < window->count; i += 64) {
        bit_places places = find_places(_mm512_loadu_si512(window->codes + i),
                                        _mm512_loadu_si512(window->codes + i + 32));
        uint64_t mask = look_up(&accepts, &places);
        if (window->count - i < 64) mask &= (1ull << (window->count - i)) - 1;
        masks[i / 64] = mask;
        found += count_bits(mask);
    }
    return (uint32_t)found;
}
#endif
