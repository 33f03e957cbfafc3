/* decode_tables.c - tables that decoders read. In: a dictionary and a CPU level. Out: a decoder: cells,
 * lengths or places, and which loops use them. The trick: all tables are one block of memory, with an
 * entry for each of the 2^b code patterns, so that no code can lead outside. Refuses nothing but a lack
 * of memory. */
#include "decode_marks.h"
#include "format.h"

#include <string.h>

/* The loops for short calls; level AVX-512 uses the AVX2 loops for them, too. */
static fp_loops short_loops(fastpair_cpu_level level) {
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX2) return (fp_loops){fp_decode_loop_avx2, fp_mark_loop_avx2};
#endif
    (void)level;
    return (fp_loops){fp_decode_loop_portable, fp_mark_loop_portable};
}

void fp_decoder_choose_long_loops(fp_decoder *decoder, fastpair_cpu_level level) {
    decoder->few = (fp_loops){fp_decode_long_portable, fp_mark_long_portable};
    decoder->rare = (fp_loops){fp_decode_rare_portable, fp_mark_rare_portable};
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX2) {
        decoder->few = (fp_loops){fp_decode_long_avx2, fp_mark_long_avx2};
        decoder->rare = (fp_loops){fp_decode_rare_avx2, fp_mark_rare_avx2};
    }
#endif
    decoder->bulk = decoder->few;
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX512 && decoder->cell_bytes == 64)
        decoder->bulk = (fp_loops){fp_decode_long_avx512, fp_mark_long_avx512};
#endif
    if (!decoder->steps)
        decoder->few.marking = decoder->rare.marking = decoder->bulk.marking = NULL;
}

/* ---------------------------------------------------------------- tables */

#define CACHE_LINE 64u

/* Fills in `count` cells with tokens that lie back to back. Calls have constant sizes of cells. Tokens are
 * read with what follows them, as long as that is before `end`, for copies of as many bytes as a token has
 * take longer. */
static inline __attribute__((always_inline)) void fill_run(const uint8_t *token, const uint8_t *end,
                                                           const fp_run *run, uint32_t cell_bytes,
                                                           uint8_t *cells) {
    uint8_t mask[FP_SHORT_TOKEN] = {0}, bytes[FP_SHORT_TOKEN];
    memset(mask, 0xff, run->length);
    for (uint32_t i = 0; i < run->count; i++, token += run->length, cells += cell_bytes) {
        if ((uint64_t)(end - token) < cell_bytes) {
            memset(cells, 0, cell_bytes);
            memcpy(cells, token, run->length);
            continue;
        }
        memcpy(bytes, token, cell_bytes);
        for (uint32_t k = 0; k < cell_bytes; k++) bytes[k] &= mask[k];
        memcpy(cells, bytes, cell_bytes);
    }
}

static void fill_cells(const fp_dict *dict, uint32_t cell_bytes, uint8_t *cells) {
    const uint8_t *token = dict->bytes, *end = dict->bytes + dict->bytes_size;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        const uint64_t first = run->first_code, filled = first + run->count;
        const uint64_t after =
            r + 1 < dict->run_count ? run[1].first_code : 1ull << dict->code_bits;
        if (cell_bytes == 8)
            fill_run(token, end, run, 8, cells + first * 8);
        else
            fill_run(token, end, run, FP_SHORT_TOKEN, cells + first * FP_SHORT_TOKEN);
        memset(cells + filled * cell_bytes, 0, (size_t)((after - filled) * cell_bytes));
        token += (uint64_t)run->count * run->length;
    }
}

/* Whether all tokens of a class, the codes with the same bits above `shift`, have one length. */
static int constant_in_classes(const uint8_t *lengths, uint32_t patterns, uint32_t shift) {
    const uint32_t codes = patterns < 1u << shift ? patterns : 1u << shift;
    for (uint32_t first = 0; first < patterns; first += codes)
        if (memcmp(lengths + first, lengths + first + 1, codes - 1) != 0) return 0;
    return 1;
}

/* Codes of more bits have tables of lengths that would not fit the first-level cache if doubled. */
#define MOST_DOUBLED_BITS 13u

/* Turns lengths by code, and then numbers of steps, into the table that is fastest: by doubled code with
 * 16-byte cells, as long as the doubled table fits the first-level cache. Numbers then are between
 * lengths. */
static void arrange_lengths(fp_decoder *decoder, uint8_t *lengths) {
    const uint32_t bits = decoder->code_bits, patterns = 1u << bits, slots = decoder->code_slots;
    uint8_t numbers[1u << MOST_DOUBLED_BITS];
    decoder->lengths = lengths;
    decoder->lookup = FP_LENGTH_BY_CODE;
    if (decoder->steps) decoder->numbers = lengths + patterns;
    memset(lengths + slots, (int)FP_BAD_LENGTH(decoder->cell_bytes), patterns - slots);
    if (decoder->cell_bytes == 8 || bits <= 8 || bits > MOST_DOUBLED_BITS) return;
    memcpy(numbers, lengths + patterns, patterns);
    for (uint32_t code = patterns; code-- > 0;) {
        lengths[2 * code] = lengths[code];
        lengths[2 * code + 1] = numbers[code];
    }
    decoder->lookup = FP_LENGTH_BY_DOUBLE;
    if (decoder->steps) decoder->numbers = lengths + 1;
}

/* Entries of the tables of pairs; 0 if codes are too wide for them. */
static uint64_t pairs_of(uint32_t bits) {
    return bits <= FP_MOST_PAIRED_BITS ? 1ull << 2 * bits : 0;
}

/* Fills the tables of pairs, from the first cache line of `space` on. `lengths` are by code. */
static void fill_pairs(fp_decoder *decoder, const uint8_t *lengths, uint8_t *space) {
    const uint32_t bits = decoder->code_bits, cell_bytes = decoder->cell_bytes,
                   slots = decoder->code_slots;
    uint8_t *cell = space + -(uintptr_t)space % CACHE_LINE,
            *pair_lengths = cell + pairs_of(bits) * 2 * cell_bytes;
    decoder->pairs = cell;
    decoder->pair_lengths = pair_lengths;
    memset(cell, 0, (size_t)(pair_lengths - cell));
    for (uint32_t pair = 0; pair < pairs_of(bits); pair++, cell += 2 * cell_bytes) {
        uint32_t first = pair & ((1u << bits) - 1), second = pair >> bits;
        int bad = first >= slots || second >= slots;
        pair_lengths[pair] =
            (uint8_t)(bad ? FP_BAD_PAIR_LENGTH(cell_bytes) : lengths[first] + lengths[second]);
        if (bad) continue;
        memcpy(cell, decoder->cells + first * cell_bytes, lengths[first]);
        memcpy(cell + lengths[first], decoder->cells + second * cell_bytes, lengths[second]);
    }
}

/* Finds out which step each code has. Where every token is UTF-8 by itself nobody wants to know. */
static void take_steps(fp_decoder *decoder, const fp_dict *dict, uint32_t bad_length,
                       fp_steps *steps, uint8_t *numbers) {
    if (fp_token_steps(dict, bad_length, steps, numbers) == FP_TOKENS_ANY) decoder->steps = steps;
}

/* Marks the cells of tokens that are not UTF-8 by themselves, for loops that look for marks. 0 if there are
 * no such loops: such a token fills its cell, or loops take pairs. After the lengths are the numbers of
 * steps, if there are any. */
static int mark_cells(const fp_decoder *decoder, const fp_dict *dict, const uint8_t *lengths,
                      uint8_t *cells) {
    const uint32_t bits = decoder->code_bits, cell_bytes = decoder->cell_bytes;
    const uint8_t *numbers = lengths + (1u << bits);
    if (!decoder->steps || cell_bytes < 16 || bits <= FP_MOST_PAIRED_BITS) return 0;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        for (uint32_t i = 0; i < run->count && run->length == cell_bytes; i++)
            if (numbers[run->first_code + i] >= FP_STEPS_WHOLE) return 0;
    }
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint8_t *last = cells + (run->first_code + 1ull) * cell_bytes - 1;
        /* Others have zeros there, and no branch has to be guessed. */
        for (uint32_t i = 0; i < run->count && run->length < cell_bytes; i++, last += cell_bytes)
            *last = numbers[run->first_code + i] >= FP_STEPS_WHOLE ? FP_MARK : 0;
    }
    return 1;
}

/* Takes the AVX-512 loop for bulk if it suits the dictionary. `lengths` are by code; bad codes have
 * the length of their class. After them are the numbers of steps, if there are any. */
static void choose_short_loops(fp_decoder *decoder, fastpair_cpu_level level,
                               const uint8_t *lengths, fp_squeeze *squeeze, int marks) {
    decoder->few = short_loops(level);
    if (!marks) decoder->few.marking = NULL;
    decoder->bulk = decoder->few;
#if defined(__x86_64__)
    uint32_t bits = decoder->code_bits;
    if (level < FASTPAIR_CPU_AVX512 || bits <= FP_MOST_PAIRED_BITS) return;
    if (!constant_in_classes(lengths, 1u << bits, fp_squeeze_shift(bits))) return;
    fp_squeeze_fill(decoder, lengths, decoder->steps ? lengths + (1u << bits) : NULL, squeeze);
    decoder->squeeze = squeeze;
    decoder->bulk.plain = fp_decode_loop_avx512;
    if (decoder->steps && decoder->cell_bytes == 16) decoder->bulk.marking = fp_mark_loop_avx512;
#else
    (void)lengths, (void)squeeze;
#endif
}

/* Opens a decoder for tokens of up to 16 bytes. */
static fastpair_status open_short(const fp_dict *dict, fastpair_cpu_level level,
                                  const fastpair_allocator *allocator, fp_decoder **decoder,
                                  fastpair_error *error) {
    /* One block: the struct, the small tables, the cells from the start of a cache line on, their
     * lengths; then the same for pairs. */
    uint32_t cell_bytes = fp_dict_longest(dict) <= 8 ? 8 : 16, bits = dict->code_bits;
    uint64_t cells_size = (uint64_t)cell_bytes << bits, lengths_size = 2ull << bits;
    uint64_t pairs_size = CACHE_LINE + pairs_of(bits) * (2 * cell_bytes + 1);
    uint64_t size = sizeof(fp_decoder) + sizeof(fp_squeeze) + sizeof(fp_steps) + CACHE_LINE +
                    cells_size + lengths_size + pairs_size;
    fp_decoder *made = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    fp_squeeze *squeeze = (fp_squeeze *)(made + 1);
    fp_steps *steps = (fp_steps *)(squeeze + 1);
    uint8_t *cells = (uint8_t *)(steps + 1);
    cells += -(uintptr_t)cells % CACHE_LINE;
    uint8_t *lengths = cells + cells_size;
    fill_cells(dict, cell_bytes, cells);
    fp_dict_expand(dict, NULL, 0, lengths);
    *made = (fp_decoder){.cells = cells,
                         .code_bits = bits,
                         .code_slots = dict->code_slots,
                         .cell_bytes = cell_bytes};
    take_steps(made, dict, FP_BAD_LENGTH(cell_bytes), steps, lengths + (1u << bits));
    choose_short_loops(made, level, lengths, squeeze, mark_cells(made, dict, lengths, cells));
    if (pairs_of(bits)) fill_pairs(made, lengths, lengths + lengths_size);
    arrange_lengths(made, lengths);
    *decoder = made;
    return FASTPAIR_OK;
}

/* The same for longer tokens. */
static fastpair_status open_long(const fp_dict *dict, fastpair_cpu_level level,
                                 const fastpair_allocator *allocator, fp_decoder **decoder,
                                 fastpair_error *error) {
    uint32_t cell_bytes = fp_dict_longest(dict) <= 32 ? 32 : 64, bits = dict->code_bits;
    uint64_t places_size = sizeof(int32_t) << bits, bricks_size = 0;
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX512) bricks_size = (uint64_t)fp_bricks_count(dict) * FP_BRICK;
#endif
    /* Wherever a token begins, so many bytes are read. */
    uint64_t size = sizeof(fp_decoder) + sizeof(fp_bricks) + sizeof(fp_steps) + CACHE_LINE +
                    bricks_size + places_size + (1ull << bits) + dict->bytes_size + FP_MAX_TOKEN;
    fp_decoder *made = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    fp_bricks *bricks = (fp_bricks *)(made + 1);
    fp_steps *steps = (fp_steps *)(bricks + 1);
    uint8_t *cells = (uint8_t *)(steps + 1);
    cells += -(uintptr_t)cells % CACHE_LINE;
    int32_t *places = (int32_t *)(cells + bricks_size);
    uint8_t *numbers = (uint8_t *)places + places_size, *tokens = numbers + (1u << bits);
    *made = (fp_decoder){.numbers = numbers,
                         .code_bits = bits,
                         .code_slots = dict->code_slots,
                         .cell_bytes = cell_bytes};
    take_steps(made, dict, FP_BAD_LONG(cell_bytes), steps, numbers);
    fp_decoder_fill_places(made, dict, places, tokens);
    fp_decoder_choose_long_loops(made, level);
#if defined(__x86_64__)
    if (bricks_size) fp_bricks_fill(dict, bricks, cells, made);
#endif
    *decoder = made;
    return FASTPAIR_OK;
}

fastpair_status fp_decoder_open(const fp_dict *dict, fastpair_cpu_level level,
                                const fastpair_allocator *allocator, fp_decoder **decoder,
                                fastpair_error *error) {
    *decoder = NULL;
    return (fp_dict_longest(dict) <= FP_SHORT_TOKEN ? open_short : open_long)(
        dict, level, allocator, decoder, error);
}

void fp_decoder_close(fp_decoder *decoder, const fastpair_allocator *allocator) {
    fp_release(allocator, decoder);
}
