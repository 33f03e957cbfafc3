/* search_marks_avx512.c - codes and rows by marks, for x86-64 CPUs of 2019 and later. In and out:
 * search_many.h. The trick: where 64 codes begin is a sum of their tokens' lengths, which eight at a time
 * fit bytes, and the marks of the bytes that they reach over fit registers. */
#if defined(__x86_64__)
#include "search_many_avx512.h"

/* Where 64 codes begin, among marks. */
typedef struct code_bits {
    __m512i byte; /* of the marks, from that of the first code on */
    __m512i bit;  /* 1 << number of the bit in it */
    uint32_t total;
} code_bits;

/* Lengths of tokens: of each code of a window, or by class. */
typedef struct length_source {
    __m512i by_class[4];
    __m128i shift;
    const uint8_t *of_code; /* NULL: by class */
} length_source;

FP_INLINE length_source open_lengths(const fp_code_search *search, const fp_code_window *window,
                                     const uint8_t *of_code) {
    length_source source = {.of_code = of_code, .shift = _mm_cvtsi32_si128((int)window->bits - 8)};
    for (uint32_t i = 0; i < 4; i++)
        source.by_class[i] = _mm512_loadu_si512(search->length_of_class + i * 64);
    return source;
}

/* Lengths of codes from .. from + 64 of the window; 0 for those it does not have. */
FP_INLINE __m512i lengths_of_64(const length_source *source, const fp_code_window *window,
                                uint32_t from, uint64_t valid) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const uint16_t *codes = window->codes + from;
    if (source->of_code) return _mm512_maskz_loadu_epi8(valid, source->of_code + from);
    __m512i low = _mm512_srl_epi16(_mm512_loadu_si512(codes), source->shift),
            high = _mm512_srl_epi16(_mm512_loadu_si512(codes + 32), source->shift),
            class = _mm512_permutexvar_epi64(order, _mm512_packus_epi16(low, high));
    low = _mm512_permutex2var_epi8(source->by_class[0], class, source->by_class[1]);
    high = _mm512_permutex2var_epi8(source->by_class[2], class, source->by_class[3]);
    low = _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(class), high);
    return _mm512_maskz_mov_epi8(valid, low);
}

/* `bit` is the first code's bit in its byte of marks. Tokens have at most 32 bytes each. */
FP_INLINE code_bits place_64(__m512i lengths, uint32_t bit) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i first_byte = _mm512_set_epi64(0x0808080808080808, 0, 0x0808080808080808, 0,
                                                0x0808080808080808, 0, 0x0808080808080808, 0);
    const __m512i powers = _mm512_set1_epi64((long long)0x8040201008040201u);
    /* All codes of an eight before each one: 7 * 32 bytes at most. */
    __m512i within = _mm512_add_epi8(lengths, _mm512_slli_epi64(lengths, 8));
    within = _mm512_add_epi8(within, _mm512_slli_epi64(within, 16));
    within = _mm512_add_epi8(within, _mm512_slli_epi64(within, 32));
    within = _mm512_sub_epi8(within, lengths);
    /* All eights before each one. */
    __m512i sums = _mm512_sad_epu8(lengths, zero);
    __m512i before = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 7));
    before = _mm512_add_epi64(before, _mm512_alignr_epi64(before, zero, 6));
    before = _mm512_add_epi64(before, _mm512_alignr_epi64(before, zero, 4));
    code_bits found;
    found.total = (uint32_t)_mm_extract_epi16(_mm512_extracti32x4_epi32(before, 3), 4);
    before = _mm512_add_epi64(_mm512_sub_epi64(before, sums), _mm512_set1_epi64(bit));
    /* Whole bytes of marks and bits of the next, for each eight; then for each code. */
    __m512i whole = _mm512_shuffle_epi8(_mm512_srli_epi64(before, 3), first_byte),
            rest = _mm512_and_si512(_mm512_shuffle_epi8(before, first_byte), _mm512_set1_epi8(7));
    within = _mm512_add_epi8(within, rest);
    found.byte = _mm512_add_epi8(
        whole, _mm512_and_si512(_mm512_srli_epi16(within, 3), _mm512_set1_epi8(31)));
    found.bit = _mm512_shuffle_epi8(powers, _mm512_and_si512(within, _mm512_set1_epi8(7)));
    return found;
}

/* Bytes of marks, of which `registers` times 64 reach to the last one. */
FP_INLINE __m512i look_up_marks(const uint8_t *marks, __m512i byte, const uint32_t registers) {
    __m512i low =
        _mm512_permutex2var_epi8(_mm512_loadu_si512(marks), byte, _mm512_loadu_si512(marks + 64));
    if (registers == 2) return low;
    __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(marks + 128), byte,
                                            _mm512_loadu_si512(marks + 192));
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(byte), high);
}

/* The byte of marks that 64 codes begin in. Lengths that contradict the sidecar may add up to more than
 * there are. */
FP_INLINE const uint8_t *marks_from(const uint8_t *marks, uint32_t place) {
    return marks + (place < FP_WINDOW_CODES * FP_MAX_TOKEN ? place / 8 : 0);
}

/* Tokens of any length, 32 codes at a time. */
FP_INLINE uint64_t marked_of_32(__m256i bytes, const uint8_t *marks, uint32_t *place) {
    __m512i lengths = _mm512_cvtepu8_epi16(bytes), before = sum_before(lengths),
            after = _mm512_add_epi16(before, lengths),
            at = _mm512_add_epi16(before, _mm512_set1_epi16((short)(*place % 8))),
            found = look_up_marks(marks_from(marks, *place), _mm512_srli_epi16(at, 3), 4),
            bit =
                _mm512_sllv_epi16(_mm512_set1_epi16(1), _mm512_and_si512(at, _mm512_set1_epi16(7)));
    *place += (uint32_t)_mm_extract_epi16(_mm512_extracti32x4_epi32(after, 3), 7);
    return _mm512_test_epi16_mask(found, bit);
}

/* `longest` is 16, 32 or 64. */
FP_INLINE void find_marked(const length_source *source, const fp_code_window *window,
                           const uint8_t *marks, const uint32_t longest, fp_marked *marked) {
    const uint32_t count = window->count, words = (count + 63) / 64;
    uint32_t place = 0;
    for (uint32_t i = 0; i < words; i++) {
        uint64_t valid = count - i * 64 < 64 ? (1ull << count % 64) - 1 : UINT64_MAX, starts;
        __m512i lengths = lengths_of_64(source, window, i * 64, valid);
        marked->places[i] = place;
        if (longest <= 32) {
            code_bits codes = place_64(lengths, place % 8);
            __m512i found = look_up_marks(marks_from(marks, place), codes.byte, longest / 8);
            starts = _mm512_test_epi8_mask(found, codes.bit);
            place += codes.total;
        } else {
            starts = marked_of_32(_mm512_castsi512_si256(lengths), marks, &place);
            starts |= marked_of_32(_mm512_extracti64x4_epi64(lengths, 1), marks, &place) << 32;
        }
        marked->starts[i] = starts & valid;
    }
    marked->places[words] = place;
}

FP_TARGET void fp_find_marked_avx512(const fp_code_search *search, fp_code_window *window,
                                     const uint8_t *of_code, const uint8_t *marks,
                                     fp_marked *marked) {
    for (uint32_t i = window->count; i % 64; i++) window->codes[i] = 0;
    const length_source source = open_lengths(search, window, of_code);
    if (search->longest <= 16)
        find_marked(&source, window, marks, 16, marked);
    else if (search->longest <= 32)
        find_marked(&source, window, marks, 32, marked);
    else
        find_marked(&source, window, marks, 64, marked);
}

FP_TARGET uint32_t fp_count_range_avx512(const uint64_t *masks, uint32_t from, uint32_t to) {
    uint64_t count = 0;
    for (uint32_t i = from / 64; i * 64 < to; i++) {
        uint64_t mask = masks[i];
        if (to - i * 64 < 64) mask = _bzhi_u64(mask, to - i * 64);
        if (i * 64 < from) mask = mask >> from % 64 << from % 64;
        count += count_bits(mask);
    }
    return (uint32_t)count;
}

FP_TARGET int fp_join_rows_avx512(const fp_spans *spans, const uint64_t *ends,
                                  const fp_row_range *rows, uint64_t *bits) {
    uint64_t *to = bits + rows->row / 64, pending = 0;
    uint32_t filled = rows->row % 64;
    unsigned char carry = 0;
    for (uint32_t i = rows->from / 64; i * 64 < rows->to; i++) {
        uint64_t here = fp_range_in_word(rows, i);
        uint64_t found = fp_whole_matches(spans, ends, i) & here, end = ends[i] & here;
        /* All codes but the last of a row are ones. A match added to them carries to the last one. */
        unsigned long long sum = 0; /* an analyzer does not know that it is written */
        carry = _addcarry_u64(carry, found & ~end, ~end, &sum);
        uint64_t passed = _pext_u64(sum | found, end);
        uint32_t count = (uint32_t)count_bits(end);
        pending |= passed << filled;
        filled += count;
        if (filled >= 64) {
            *to++ |= pending;
            filled -= 64;
            pending = filled ? passed >> (count - filled) : 0;
        }
    }
    if (filled) *to |= pending;
    return carry;
}
#endif
