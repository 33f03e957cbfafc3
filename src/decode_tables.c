/* decode_tables.c - tables that decoders read. In: a dictionary and a CPU level. Out: a decoder: cells,
 * lengths or places, and which loops use them. The trick: all tables are one block of memory, with an
 * entry for each of the 2^b code patterns, so that no code can lead outside. Refuses nothing but a lack
 * of memory. */
#include "decode_private.h"
#include "format.h"
#include "token_text.h"

#include <string.h>

/* The loops for short calls; level AVX-512 uses the AVX2 loop for them, too. */
static fp_decode_loop *loop_of(fastpair_cpu_level level, int is_long) {
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX2) return is_long ? fp_decode_long_avx2 : fp_decode_loop_avx2;
#endif
    (void)level;
    return is_long ? fp_decode_long_portable : fp_decode_loop_portable;
}

void fp_decoder_choose_long_loops(fp_decoder *decoder, fastpair_cpu_level level) {
    decoder->loop = decoder->bulk_loop = loop_of(level, 1);
    decoder->rare_loop = fp_decode_rare_portable;
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX2) decoder->rare_loop = fp_decode_rare_avx2;
    if (level >= FASTPAIR_CPU_AVX512 && decoder->cell_bytes == 64)
        decoder->bulk_loop = fp_decode_long_avx512;
#endif
}

/* ---------------------------------------------------------------- tables */

#define CACHE_LINE 64u

static void fill_cells(const fp_dict *dict, uint32_t cell_bytes, uint8_t *cells) {
    memset(cells, 0, (size_t)cell_bytes << dict->code_bits);
    const uint8_t *token = dict->bytes;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint8_t *cell = cells + (uint64_t)run->first_code * cell_bytes;
        for (uint32_t i = 0; i < run->count; i++, token += run->length, cell += cell_bytes)
            memcpy(cell, token, run->length);
    }
}

/* Whether all tokens of a class, the codes with the same bits above `shift`, have one length. */
static int constant_in_classes(const uint8_t *lengths, uint32_t patterns, uint32_t shift) {
    for (uint32_t code = 1; code < patterns; code++)
        if (code % (1u << shift) && lengths[code] != lengths[code - 1]) return 0;
    return 1;
}

/* Codes of more bits have tables of lengths that would not fit the first-level cache if doubled. */
#define MOST_DOUBLED_BITS 13u

/* Turns lengths by code, and then kinds, into the table that is fastest: by doubled code with 16-byte
 * cells, as long as the doubled table fits the first-level cache. */
static fp_length_lookup arrange_lengths(uint8_t *lengths, uint32_t bits, uint32_t slots,
                                        uint32_t cell_bytes) {
    uint32_t patterns = 1u << bits;
    uint8_t kinds[1u << MOST_DOUBLED_BITS];
    memset(lengths + slots, (int)FP_BAD_LENGTH(cell_bytes), patterns - slots);
    if (cell_bytes == 8 || bits <= 8 || bits > MOST_DOUBLED_BITS) return FP_LENGTH_BY_CODE;
    memcpy(kinds, lengths + patterns, patterns);
    for (uint32_t code = patterns; code-- > 0;) {
        lengths[2 * code] = lengths[code];
        lengths[2 * code + 1] = kinds[code];
    }
    return FP_LENGTH_BY_DOUBLE;
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

/* Takes the AVX-512 loop for bulk if it suits the dictionary. `lengths` are by code; bad codes have
 * the length of their class. After them there is room for as many bytes. */
static void choose_bulk_loop(fp_decoder *decoder, fastpair_cpu_level level, const fp_dict *dict,
                             uint8_t *lengths, fp_squeeze *squeeze) {
    decoder->bulk_loop = decoder->loop;
#if defined(__x86_64__)
    uint32_t bits = decoder->code_bits;
    if (level < FASTPAIR_CPU_AVX512 || bits <= FP_MOST_PAIRED_BITS) return;
    if (!constant_in_classes(lengths, 1u << bits, fp_squeeze_shift(bits))) return;
    fp_token_text(dict, lengths + (1u << bits));
    fp_squeeze_fill(decoder, lengths, lengths + (1u << bits), squeeze);
    decoder->squeeze = squeeze;
    decoder->bulk_loop = fp_decode_loop_avx512;
    if (decoder->cell_bytes == 16) decoder->marking_loop = fp_mark_loop_avx512;
#else
    (void)level, (void)dict, (void)lengths, (void)squeeze;
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
    uint64_t size = sizeof(fp_decoder) + sizeof(fp_squeeze) + CACHE_LINE + cells_size +
                    lengths_size + pairs_size;
    fp_decoder *made = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    fp_squeeze *squeeze = (fp_squeeze *)(made + 1);
    uint8_t *cells = (uint8_t *)(squeeze + 1);
    cells += -(uintptr_t)cells % CACHE_LINE;
    uint8_t *lengths = cells + cells_size;
    fill_cells(dict, cell_bytes, cells);
    fp_dict_expand(dict, NULL, 0, lengths);
    *made = (fp_decoder){.loop = loop_of(level, 0),
                         .cells = cells,
                         .lengths = lengths,
                         .code_bits = bits,
                         .code_slots = dict->code_slots,
                         .cell_bytes = cell_bytes};
    choose_bulk_loop(made, level, dict, lengths, squeeze);
    if (pairs_of(bits)) fill_pairs(made, lengths, lengths + lengths_size);
    made->lookup = arrange_lengths(lengths, bits, dict->code_slots, cell_bytes);
    *decoder = made;
    return FASTPAIR_OK;
}

/* Slots without a token are in the zeros after the tokens. */
static void fill_places(const fp_dict *dict, uint32_t cell_bytes, uint32_t *places) {
    uint32_t patterns = 1u << dict->code_bits, begin = 0;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint32_t code = run->first_code, end = code + run->count;
        uint32_t next = r + 1 < dict->run_count ? run[1].first_code : dict->code_slots;
        for (; code < end; code++, begin += run->length)
            places[code] = begin << FP_PLACE_SHIFT | run->length;
        for (; code < next; code++)
            places[code] = (uint32_t)dict->bytes_size << FP_PLACE_SHIFT | run->length;
    }
    for (uint32_t code = dict->code_slots; code < patterns; code++)
        places[code] = FP_BAD_LONG(cell_bytes);
}

/* The same for longer tokens. */
static fastpair_status open_long(const fp_dict *dict, fastpair_cpu_level level,
                                 const fastpair_allocator *allocator, fp_decoder **decoder,
                                 fastpair_error *error) {
    uint32_t cell_bytes = fp_dict_longest(dict) <= 32 ? 32 : 64, bits = dict->code_bits;
    uint64_t places_size = sizeof(uint32_t) << bits, bricks_size = 0;
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX512) bricks_size = (uint64_t)fp_bricks_count(dict) * FP_BRICK;
#endif
    /* Wherever a token begins, so many bytes are read. */
    uint64_t size = sizeof(fp_decoder) + sizeof(fp_bricks) + CACHE_LINE + bricks_size +
                    places_size + dict->bytes_size + FP_MAX_TOKEN;
    fp_decoder *made = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    fp_bricks *bricks = (fp_bricks *)(made + 1);
    uint8_t *cells = (uint8_t *)(bricks + 1);
    cells += -(uintptr_t)cells % CACHE_LINE;
    uint32_t *places = (uint32_t *)(cells + bricks_size);
    uint8_t *tokens = (uint8_t *)places + places_size;
    memcpy(tokens, dict->bytes, (size_t)dict->bytes_size);
    memset(tokens + dict->bytes_size, 0, FP_MAX_TOKEN);
    *made = (fp_decoder){.cells = tokens,
                         .places = places,
                         .code_bits = bits,
                         .code_slots = dict->code_slots,
                         .cell_bytes = cell_bytes};
    fp_decoder_choose_long_loops(made, level);
#if defined(__x86_64__)
    fp_token_text(dict, (uint8_t *)places); /* places come later */
    if (bricks_size) fp_bricks_fill(dict, (uint8_t *)places, bricks, cells, made);
#endif
    fill_places(dict, cell_bytes, places);
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
