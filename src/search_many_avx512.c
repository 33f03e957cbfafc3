/* search_many_avx512.c - places of codes, codes of places and bits of rows, for x86-64 CPUs of 2019 and
 * later. In and out: search_many.h. The trick: 32 codes are added up or compared at once, and nothing
 * depends on a guess. */
#if defined(__x86_64__)
#include "search_many_avx512.h"

FP_TARGET uint32_t fp_unpack_blocks_avx512(fp_code_window *window, uint32_t *highest) {
    const uint32_t bits = window->bits;
    const uint8_t *packed = window->packed + window->first / 8 * bits;
    const uint64_t left = window->packed_size - window->first / 8 * bits;
    /* 32 codes are read as 64 bytes. */
    uint64_t blocks = window->count / 32,
             readable = left < 64 ? 0 : (left - 64) / (4ull * bits) + 1;
    if (blocks > readable) blocks = readable;
    fp_spread tables;
    fp_spread_fill(bits, &tables);
    const spreader spread = load_spread(&tables, bits);
    __m512i most = _mm512_setzero_si512();
    for (uint64_t i = 0; i < blocks; i++, packed += 4ull * bits) {
        __m512i codes = unpack_32(&spread, packed);
        most = _mm512_max_epu16(most, codes);
        _mm512_storeu_si512(window->codes + i * 32, codes);
    }
    uint16_t each[32];
    _mm512_storeu_si512(each, most);
    *highest = 0;
    for (uint32_t i = 0; i < 32; i++)
        if (each[i] > *highest) *highest = each[i];
    return (uint32_t)blocks;
}

FP_TARGET uint32_t fp_place_codes_avx512(const fp_code_search *search, fp_code_window *window,
                                         uint32_t from, uint32_t to, uint32_t place) {
    const __m128i shift = _mm_cvtsi32_si128((int)window->bits - 8);
    __m512i by_class[4], base = _mm512_set1_epi32((int)place);
    for (uint32_t i = 0; i < 4; i++)
        by_class[i] = _mm512_loadu_si512(search->length_of_class + i * 64);
    for (uint32_t i = from; i < to; i += 32) {
        __m512i lengths = look_up_lengths(by_class, _mm512_loadu_si512(window->codes + i), shift);
        __m512i before = sum_before(lengths);
        __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(before)),
                high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(before, 1));
        _mm512_storeu_si512(window->places + i, _mm512_add_epi32(base, low));
        _mm512_storeu_si512(window->places + i + 16, _mm512_add_epi32(base, high));
        __m512i all =
            _mm512_permutexvar_epi16(_mm512_set1_epi32(31), _mm512_add_epi16(before, lengths));
        base = _mm512_add_epi32(base, _mm512_and_si512(all, _mm512_set1_epi32(0xffff)));
    }
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(base));
}

/* Places of a window as 16-bit numbers from the first on, so that one look sees 32 of them; and what
 * looks may see after the last. */
typedef struct near_places {
    uint16_t at[FP_WINDOW_CODES + 1 + FP_WINDOW_SLACK];
} near_places;

/* Fills in codes from .. to. */
FP_INLINE void fill_near(const uint32_t *places, uint32_t from, uint32_t to, near_places *near) {
    const __m512i base = _mm512_set1_epi32((int)places[from]);
    __m512i evens = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32,
                                     30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    for (uint32_t i = from; i <= to; i += 32) {
        __m512i low = _mm512_sub_epi32(_mm512_loadu_si512(places + i), base),
                high = _mm512_sub_epi32(_mm512_loadu_si512(places + i + 16), base);
        _mm512_storeu_si512(near->at + i, _mm512_permutex2var_epi16(low, evens, high));
    }
    _mm512_storeu_si512(near->at + to + 1, _mm512_set1_epi16(-1));
}

/* Codes of 32 that begin before a byte. */
FP_INLINE uint32_t count_before(const uint16_t *near, uint32_t byte) {
    __m512i limit = _mm512_set1_epi16((short)byte);
    return (uint32_t)count_bits(_mm512_cmplt_epu16_mask(_mm512_loadu_si512(near), limit));
}

/* Parts of a list that are searched by turns. */
#define CHAINS 8

/* The first codes from .. to that begin at `bytes` or after them, without a branch that is hard to
 * guess. The searches take their steps together, as each waits for its own. */
FP_INLINE void find_firsts(const uint16_t *near, uint32_t from, uint32_t to,
                           const uint32_t bytes[CHAINS], uint32_t at[CHAINS]) {
    for (uint32_t c = 0; c < CHAINS; c++) at[c] = from;
    for (uint32_t count = to - from, half; count; count -= half) {
        half = count / 2 + count % 2;
#pragma GCC unroll 8
        for (uint32_t c = 0; c < CHAINS; c++) at[c] += near[at[c] + half - 1] < bytes[c] ? half : 0;
    }
}

/* Rows are short, so a look at 32 codes mostly finds the end of one. The next row begins there, so
 * looks wait for each other; therefore parts of the list are searched by turns. */
FP_TARGET void fp_find_codes_avx512(const fp_code_window *window, uint32_t from,
                                    const fp_place_list *list) {
    const uint32_t *places = window->places, base = places[from];
    uint32_t each = list->count / CHAINS, at[CHAINS], before[CHAINS], done = 0;
    /* Where tokens are long, a window may have more than 16 bits can say. */
    if (places[window->count] - base >= UINT16_MAX) each = 0;
    if (each) {
        near_places near;
        fill_near(places, from, window->count, &near);
        for (uint32_t c = 0; c < CHAINS; c++)
            before[c] = c ? (uint32_t)list->places[c * each - 1] - base : 0;
        find_firsts(near.at, from, window->count, before, at);
        for (; done < each; done++)
#pragma GCC unroll 8
            for (uint32_t c = 0; c < CHAINS; c++) {
                uint32_t byte = (uint32_t)list->places[c * each + done] - base,
                         more = count_before(near.at + at[c], byte);
                at[c] += more;
                while (__builtin_expect(more == 32, 0))
                    at[c] += more = count_before(near.at + at[c], byte);
                list->codes[c * each + done] = (uint16_t)at[c];
            }
    }
    for (uint32_t i = CHAINS * each, k = each ? at[CHAINS - 1] : from; i < list->count; i++) {
        k = fp_window_skip(window, k, list->places[i]);
        list->codes[i] = (uint16_t)k;
    }
}

FP_TARGET void fp_set_rows_avx512(const fp_row_ends *rows, const uint64_t *masks, uint32_t words,
                                  uint64_t *bits) {
    /* Bits that are set before each word. A row has one if more are set before its end than before the
     * end of the row before it. */
    uint32_t before[FP_WINDOW_WORDS + 1] = {0};
    for (uint32_t i = 0; i < words; i++) before[i + 1] = before[i] + (uint32_t)count_bits(masks[i]);
    uint64_t row = rows->row, found = 0;
    uint32_t seen = before[rows->from / 64] +
                    (uint32_t)count_bits(_bzhi_u64(masks[rows->from / 64], rows->from % 64));
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t end = rows->ends[i],
                 now =
                     before[end / 64] + (uint32_t)count_bits(_bzhi_u64(masks[end / 64], end % 64));
        found |= (uint64_t)(now != seen) << row % 64;
        seen = now;
        if (++row % 64 == 0) {
            bits[row / 64 - 1] |= found;
            found = 0;
        }
    }
    if (row % 64) bits[row / 64] |= found;
}

FP_TARGET uint32_t fp_list_bits_avx512(const uint64_t *masks, uint32_t words, uint16_t *list) {
    const __m512i step = _mm512_set1_epi16(32);
    __m512i numbers = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
                                       16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    uint64_t count = 0;
    /* To a register first: some CPUs are slow at compressing to memory. */
    for (uint32_t i = 0; i < 2 * words; i++) {
        uint32_t mask = (uint32_t)(masks[i / 2] >> i % 2 * 32);
        _mm512_storeu_si512(list + count, _mm512_maskz_compress_epi16(mask, numbers));
        count += count_bits(mask);
        numbers = _mm512_add_epi16(numbers, step);
    }
    return (uint32_t)count;
}

FP_TARGET void fp_sort_spans_avx512(const uint8_t *codes, uint32_t words, fp_spans *spans) {
    uint64_t found = 0;
    for (uint32_t i = 0; i < words; i++) {
        __m512i lengths = _mm512_loadu_si512(codes + i * 64);
        found += count_bits(_mm512_test_epi8_mask(lengths, lengths));
        for (uint32_t n = 0; n < spans->longest; n++)
            spans->begin[n][i] |= _mm512_cmpeq_epi8_mask(lengths, _mm512_set1_epi8((char)(n + 1)));
    }
    spans->found += (uint32_t)found;
}
#endif
