/* search_spans.c - many matches of several codes at a time. In: the codes that may begin a match. Out: of
 * these, those that do, by how many codes the match has. The trick: the runs of all codes take each
 * step together, and what ends is taken off the list without a branch, so that no step is guessed
 * wrong. Whether a row ends within a match is for others to find. Refuses codes that the dictionary
 * does not have. */
#include "search_spans.h"

/* Runs that have neither accepted nor ended. */
typedef struct open_runs {
    uint32_t count;
    uint16_t first[FP_WINDOW_CODES + 64]; /* before the first step: the codes they begin with */
    uint32_t run[FP_WINDOW_CODES];   /* after it: the code it began with, and its state << 16 */
    uint8_t length[FP_WINDOW_CODES]; /* by code: codes of its match, or 0 */
} open_runs;

/* One more code, number `step` after the first, for all runs. A run ends where its state is the one
 * that the code alone leads to. (Macros: states have two widths.) */
#define NEXT_STEP(name, type)                                                                      \
    static void name(const fp_token_table *table, const uint16_t *restrict codes, uint32_t step,   \
                     open_runs *runs) {                                                            \
        const uint32_t bits = table->code_bits, absorbing = table->absorbing, count = runs->count; \
        const type *restrict next = table->next;                                                   \
        const type *restrict alone = next + ((uint64_t)table->start << bits);                      \
        uint32_t *run = runs->run, kept = 0;                                                       \
        uint8_t *restrict length = runs->length;                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            uint32_t k = run[i] & 0xffff, code = codes[k + step];                                  \
            uint32_t state = next[(uint64_t)(run[i] >> 16) << bits | code];                        \
            uint32_t accepts = state == absorbing;                                                 \
            length[k] = (uint8_t)(accepts * (step + 1));                                           \
            run[kept] = k | state << 16;                                                           \
            kept += (uint32_t)(state != alone[code]) & (accepts ^ 1);                              \
        }                                                                                          \
        runs->count = kept;                                                                        \
    }
NEXT_STEP(next_narrow, uint8_t)
NEXT_STEP(next_wide, uint16_t)

/* The first two codes at once. A code that leads from the start state to itself ends by itself. Returns
 * the highest of the first codes. */
#define FIRST_STEPS(name, type)                                                                    \
    static inline __attribute__((always_inline)) uint32_t name(                                    \
        const fp_token_table *table, const uint16_t *restrict codes, open_runs *runs,              \
        const uint32_t bits) {                                                                     \
        const uint32_t absorbing = table->absorbing, count = runs->count;                          \
        const type *restrict next = table->next;                                                   \
        const type *restrict alone = next + ((uint64_t)table->start << bits);                      \
        const uint16_t *restrict list = runs->first;                                               \
        uint32_t *restrict run = runs->run, kept = 0, most = 0;                                    \
        uint8_t *restrict length = runs->length;                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            uint32_t k = list[i], first = codes[k], code = codes[k + 1];                           \
            uint32_t one = alone[first], state = next[(uint64_t)one << bits | code];               \
            uint32_t accepts = state == absorbing;                                                 \
            most = first > most ? first : most;                                                    \
            length[k] = (uint8_t)(2 * accepts - (one == absorbing));                               \
            run[kept] = k | state << 16;                                                           \
            kept += (uint32_t)(state != alone[code]) & (accepts ^ 1);                              \
        }                                                                                          \
        runs->count = kept;                                                                        \
        return most;                                                                               \
    }
FIRST_STEPS(first_narrow, uint8_t)
FIRST_STEPS(first_wide, uint16_t)

static uint32_t first_steps(const fp_token_table *table, const uint16_t *codes, open_runs *runs) {
    if (table->state_bytes == 2) return first_wide(table, codes, runs, table->code_bits);
    /* A shift by a constant is faster. */
    return table->code_bits == 12 ? first_narrow(table, codes, runs, 12)
                                  : first_narrow(table, codes, runs, table->code_bits);
}

static uint32_t list_bits(const fp_code_search *search, const uint64_t *masks, uint32_t words,
                          uint16_t *list) {
#if defined(__x86_64__)
    if (search->level >= FASTPAIR_CPU_AVX512) return fp_list_bits_avx512(masks, words, list);
#endif
    (void)search;
    uint32_t count = 0;
    for (uint32_t i = 0; i < words; i++)
        for (uint64_t left = masks[i]; left; left &= left - 1)
            list[count++] = (uint16_t)(i * 64 + (uint32_t)__builtin_ctzll(left));
    return count;
}

/* Where the filter looks at the upper bits of codes alone, or never at two of them: keeps the codes that
 * begin a match indeed, and that one follows which goes on. Codes that accept at once are done. */
static void refine(const fp_code_search *search, const uint16_t *restrict codes, open_runs *runs) {
    const uint8_t *restrict flags = search->flags;
    uint8_t *restrict length = runs->length;
    uint16_t *list = runs->first;
    uint32_t kept = 0, count = runs->count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = list[i], first = flags[codes[k]], next = flags[codes[k + 1]];
        uint32_t accepts = (first & FP_CODE_ACCEPTS) != 0,
                 is_more = (first & FP_CODE_BAD) | (next & FP_CODE_GOES_ON);
        length[k] = (uint8_t)accepts;
        list[kept] = (uint16_t)k;
        kept += (first & FP_CODE_BEGINS) & (uint32_t)(is_more != 0) & (accepts ^ 1);
    }
    runs->count = kept;
}

/* Bits of all matches, by their length. */
static void sort_spans(const fp_code_search *search, const uint8_t *length, uint32_t words,
                       fp_spans *spans) {
#if defined(__x86_64__)
    if (search->level >= FASTPAIR_CPU_AVX512) {
        fp_sort_spans_avx512(length, words, spans);
        return;
    }
#endif
    (void)search;
    for (uint32_t i = 0; i < words * 64; i += 8) {
        uint64_t eight;
        memcpy(&eight, length + i, 8);
        for (; eight; spans->found++) {
            uint32_t byte = (uint32_t)__builtin_ctzll(eight) / 8, k = i + byte;
            spans->begin[length[k] - 1][k / 64] |= 1ull << k % 64;
            eight &= ~(0xffull << 8 * byte);
        }
    }
}

static void set_bit(uint64_t *masks, uint32_t k) { masks[k / 64] |= 1ull << k % 64; }

int fp_find_spans(const fp_code_search *search, const fp_code_window *window, uint32_t known,
                  uint64_t *masks, fp_spans *spans) {
    const fp_token_table *table = search->table;
    const uint32_t words = (window->count + 63) / 64;
    open_runs runs;
    runs.count = list_bits(search, masks, words, runs.first);
    memset(runs.length, 0, words * 64);
    memset(masks, 0, words * sizeof *masks);
    spans->longest = 2;
    spans->found = 0;
    /* What needs codes that are not known is left to others. */
    while (runs.count && runs.first[runs.count - 1] + 1u >= known)
        set_bit(masks, runs.first[--runs.count]);
    if (!fp_filter_tells_accepting(search)) refine(search, window->codes, &runs);
    uint32_t highest = first_steps(table, window->codes, &runs);
    for (uint32_t step = 2; step < FP_MOST_SPAN && runs.count; step++) {
        while (runs.count && (runs.run[runs.count - 1] & 0xffff) + step >= known)
            set_bit(masks, runs.run[--runs.count] & 0xffff);
        (table->state_bytes == 1 ? next_narrow : next_wide)(table, window->codes, step, &runs);
        spans->longest = step + 1;
    }
    for (uint32_t i = 0; i < runs.count; i++) set_bit(masks, runs.run[i] & 0xffff);
    for (uint32_t n = 1; n < spans->longest; n++) memset(spans->begin[n], 0, words * sizeof *masks);
    sort_spans(search, runs.length, words, spans);
    return highest < table->code_slots;
}
