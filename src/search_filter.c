/* search_filter.c - what each code can do to a match, and masks of the codes that can begin one. In: an
 * automaton over codes; packed codes. Out: a bit per code. The trick: a match that spans tokens needs
 * a token that ends with the beginning of a pattern, and after it one that begins with what comes
 * next there. Single letters at the ends of tokens are common, such pairs are rare. Refuses nothing:
 * codes that no file may have are marked, and whoever looks at them refuses. */
#include "search_filter.h"

#include "utf8.h"

#include <string.h>

uint64_t fp_code_search_bytes(const fp_automaton *automaton, const fp_dict *dict) {
    return sizeof(fp_code_search) + fp_token_table_bytes(automaton->states, dict->code_bits) +
           sizeof(fp_token_table) + (1ull << dict->code_bits);
}

/* The state that a code leads to which has nothing to do with a match. */
static uint32_t nowhere(const fp_token_table *table, uint32_t code) {
    return table->anywhere ? fp_token_table_next(table, table->start, code) : table->dead;
}

static void fill_flags(const fp_token_table *table, uint8_t *flags) {
    const uint32_t codes = 1u << table->code_bits;
    const uint32_t home = table->anywhere ? table->start : table->dead;
    memset(flags, 0, codes);
    for (uint32_t code = 0; code < codes; code++) {
        uint32_t first = fp_token_table_next(table, table->start, code);
        if (first != home) flags[code] |= FP_CODE_BEGINS;
        if (first >= table->first_accepting) flags[code] |= FP_CODE_ACCEPTS;
        if (code >= table->code_slots) flags[code] = FP_CODE_BEGINS | FP_CODE_BAD;
    }
    for (uint32_t state = 0; state < table->states; state++) {
        if (state == table->start || state == table->absorbing || state == table->dead) continue;
        for (uint32_t code = 0; code < table->code_slots; code++)
            if (fp_token_table_next(table, state, code) != nowhere(table, code))
                flags[code] |= FP_CODE_GOES_ON;
    }
}

/* Whether codes can lead to a state that accepts. `reached` has room for all states, `waiting` for as
 * many numbers. */
static int can_pass(const fp_token_table *table, uint8_t *reached, uint16_t *waiting) {
    uint32_t count = 1;
    memset(reached, 0, table->states);
    reached[table->start] = 1;
    waiting[0] = (uint16_t)table->start;
    for (uint32_t i = 0; i < count; i++) {
        if (waiting[i] >= table->first_accepting) return 1;
        for (uint32_t code = 0; code < table->code_slots; code++) {
            uint32_t next = fp_token_table_next(table, waiting[i], code);
            if (reached[next]) continue;
            reached[next] = 1;
            waiting[count++] = (uint16_t)next;
        }
    }
    return 0;
}

/* Runs that go on from row to row want rows that end between characters, as rows of ASCII do. */
static int can_filter(const fp_automaton *automaton, const fp_dict *dict) {
    if (automaton->start >= automaton->first_accepting) return 0;
    return !automaton->anywhere || !automaton->by_characters ||
           fp_is_ascii(dict->bytes, dict->bytes_size);
}

static void set_bit(uint8_t *bits, uint32_t i) { bits[i / 8] |= (uint8_t)(1u << i % 8); }

static void fill_bits(fp_code_search *search) {
    const uint32_t bits = search->table->code_bits;
    search->shift = bits > FP_COARSE_BITS ? bits - FP_COARSE_BITS : 0;
    memset(search->begins, 0, sizeof search->begins);
    memset(search->goes_on, 0, sizeof search->goes_on);
    memset(search->accepts, 0, sizeof search->accepts);
    search->has_accepts = 0;
    for (uint32_t code = 0; code < 1u << bits; code++) {
        uint8_t flags = search->flags[code];
        if (flags & FP_CODE_BEGINS) set_bit(search->begins, code >> search->shift);
        if (flags & FP_CODE_GOES_ON) set_bit(search->goes_on, code >> search->shift);
        if (flags & FP_CODE_ACCEPTS) set_bit(search->accepts, code >> search->shift);
        search->has_accepts |= (flags & FP_CODE_ACCEPTS) != 0;
    }
}

/* Notes that codes from .. to have tokens of one length. */
static void note_lengths(fp_code_search *search, uint32_t from, uint32_t to, uint32_t length) {
    const uint32_t shift = search->table->code_bits - 8;
    for (uint32_t code = from; code < to; code++) {
        uint8_t *of_class = &search->length_of_class[code >> shift];
        if (*of_class == 0xff) *of_class = (uint8_t)length;
        search->has_classes &= *of_class == length;
    }
}

/* What codes without a token have for a length does not matter: no valid chunk has them. */
static void fill_classes(const fp_dict *dict, fp_code_search *search) {
    search->has_classes = dict->code_bits >= 8;
    search->longest = 0;
    memset(search->length_of_class, 0xff, sizeof search->length_of_class);
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        if (run->length > search->longest) search->longest = run->length;
        if (search->has_classes)
            note_lengths(search, run->first_code, run->first_code + run->count, run->length);
    }
}

fastpair_status fp_code_search_open(const fp_automaton *automaton, const fp_dict *dict,
                                    fastpair_cpu_level level, const fastpair_allocator *allocator,
                                    fp_code_search **search, fastpair_error *error) {
    uint64_t codes = 1ull << dict->code_bits;
    fp_code_search *made = fp_allocate(allocator, sizeof *made + codes, 1);
    uint8_t *room = fp_allocate(allocator, automaton->states, 1 + sizeof(uint16_t));
    *search = NULL;
    fastpair_status status =
        made && room ? fp_token_table_open(automaton, dict, allocator, &made->table, error)
                     : fp_fail_memory(error, sizeof *made + codes);
    if (!status)
        made->can_pass = can_pass(made->table, room + automaton->states * sizeof(uint16_t),
                                  (uint16_t *)(void *)room);
    fp_release(allocator, room);
    if (status) {
        fp_release(allocator, made);
        return status;
    }
    made->flags = (uint8_t *)(made + 1);
    made->level = level;
    made->can_filter = can_filter(automaton, dict);
    fill_flags(made->table, made->flags);
    fill_classes(dict, made);
    fill_bits(made);
    *search = made;
    return FASTPAIR_OK;
}

void fp_code_search_close(fp_code_search *search, const fastpair_allocator *allocator) {
    if (!search) return;
    fp_token_table_close(search->table, allocator);
    fp_release(allocator, search);
}

/* ---------------------------------------------------------------- masks */

/* Bits of codes from .. count of the window, the first of which is a multiple of 64: whether their
 * flags have the flag 1 << bit. */
static uint32_t filter_codes(const fp_code_search *search, const fp_code_window *window,
                             uint32_t from, uint32_t bit, uint64_t *masks) {
    const uint8_t *flags = search->flags;
    uint32_t found = 0;
    for (uint32_t i = from; i < window->count; i += 64) {
        const uint16_t *codes = window->codes + i;
        uint32_t count = window->count - i < 64 ? window->count - i : 64, k = 0;
        uint64_t mask = 0;
        for (; k + 8 <= count; k += 8) {
            const uint16_t *c = codes + k;
            uint32_t any = flags[c[0]] | flags[c[1]] | flags[c[2]] | flags[c[3]] | flags[c[4]] |
                           flags[c[5]] | flags[c[6]] | flags[c[7]];
            if (!(any >> bit & 1)) continue;
            /* A byte for each code; products then add up the bytes' lowest bits, and put them side by
             * side. */
            uint64_t eight = 0;
            for (uint32_t m = 0; m < 8; m++) eight |= (uint64_t)flags[c[m]] << 8 * m;
            eight = eight >> bit & 0x0101010101010101u;
            found += (uint32_t)(eight * 0x0101010101010101u >> 56);
            mask |= eight * 0x0102040810204080u >> 56 << k;
        }
        for (; k < count; k++) {
            uint32_t is_set = flags[codes[k]] >> bit & 1;
            mask |= (uint64_t)is_set << k;
            found += is_set;
        }
        masks[i / 64] = mask;
    }
    return found;
}

uint32_t fp_filter_window(const fp_code_search *search, fp_code_window *window, int strict,
                          uint64_t *masks, uint64_t *accepting) {
    uint32_t done = 0, found = 0;
#if defined(__x86_64__)
    if (search->level >= FASTPAIR_CPU_AVX512)
        done = 64 * fp_filter_blocks_avx512(search, window, strict, masks, accepting, &found);
#endif
    if (done >= window->count) return found;
    fp_unpack(window->packed, window->packed_size, window->bits, window->first + done,
              window->count - done, window->codes + done);
    if (strict && fp_filter_tells_accepting(search))
        filter_codes(search, window, done, 2, accepting);
    return found + filter_codes(search, window, done, 0, masks);
}

uint32_t fp_filter_accepts(const fp_code_search *search, const fp_code_window *window,
                           uint64_t *masks) {
#if defined(__x86_64__)
    if (fp_filter_tells_accepting(search)) return fp_filter_accepts_avx512(search, window, masks);
#endif
    return filter_codes(search, window, 0, 2, masks);
}
