/* decode.c - from packed codes to bytes. In: a dictionary, packed codes, a range of them. Out:
 * their tokens, in exactly the memory given.
 *
 * The trick: the loops (decode_loop.h) know nothing of bounds. A run of groups is given to them
 * only when its longest possible output fits; where little room is left, groups are decoded aside
 * and copied. Refuses codes that the dictionary does not have, and outputs that do not fit. */
#include "decode_private.h"
#include "format.h"
#include "pack.h"

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

/* Turns lengths by code (there is room for two per entry) into the table that is fastest: by
 * doubled code with 16-byte cells, as long as the doubled table fits the first-level cache. */
static fp_length_lookup arrange_lengths(uint8_t *lengths, uint32_t bits, uint32_t slots,
                                        uint32_t cell_bytes) {
    uint32_t patterns = 1u << bits;
    memset(lengths + slots, (int)FP_BAD_LENGTH(cell_bytes), patterns - slots);
    if (cell_bytes == 8 || bits <= 8 || bits >= 14) return FP_LENGTH_BY_CODE;
    for (uint32_t code = patterns; code-- > 0;) lengths[2 * code] = lengths[code];
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
 * the length of their class. */
static void choose_bulk_loop(fp_decoder *decoder, fastpair_cpu_level level, const fp_dict *dict,
                             uint8_t *cells, const uint8_t *lengths, fp_squeeze *squeeze) {
    decoder->bulk_loop = decoder->loop;
#if defined(__x86_64__)
    uint32_t bits = decoder->code_bits;
    if (level < FASTPAIR_CPU_AVX512 || bits <= FP_MOST_PAIRED_BITS) return;
    if (!constant_in_classes(lengths, 1u << bits, fp_squeeze_shift(bits))) return;
    fp_squeeze_fill(bits, decoder->cell_bytes, lengths, squeeze);
    squeeze->partial = fp_squeeze_flag(dict, decoder->cell_bytes, cells);
    decoder->squeeze = squeeze;
    decoder->bulk_loop = fp_decode_loop_avx512;
    decoder->marking_loop = fp_mark_loop_avx512;
#else
    (void)level, (void)dict, (void)cells, (void)lengths, (void)squeeze;
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
    choose_bulk_loop(made, level, dict, cells, lengths, squeeze);
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
    fill_places(dict, cell_bytes, places);
    memcpy(tokens, dict->bytes, (size_t)dict->bytes_size);
    memset(tokens + dict->bytes_size, 0, FP_MAX_TOKEN);
    *made = (fp_decoder){.cells = tokens,
                         .places = places,
                         .code_bits = bits,
                         .code_slots = dict->code_slots,
                         .cell_bytes = cell_bytes};
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

/* ---------------------------------------------------------------- decoding */

typedef struct cursor {
    const uint8_t *packed;
    uint64_t packed_size;
    uint64_t code; /* the next one */
    uint64_t end;  /* after the last one */
    uint8_t *out;
    uint8_t *out_end;
} cursor;

/* Decodes codes up to `to` one by one. 0 if a code is bad or does not fit. */
static int decode_singly(const fp_decoder *decoder, cursor *at, uint64_t to) {
    while (at->code < to) {
        uint16_t codes[FP_DECODE_GROUP];
        uint64_t count = to - at->code < FP_DECODE_GROUP ? to - at->code : FP_DECODE_GROUP;
        fp_unpack(at->packed, at->packed_size, decoder->code_bits, at->code, count, codes);
        for (uint64_t i = 0; i < count; i++) {
            if (codes[i] >= decoder->code_slots) return 0;
            uint32_t length;
            const uint8_t *token = fp_token_of(decoder, codes[i], &length);
            if ((uint64_t)(at->out_end - at->out) < length) return 0;
            memcpy(at->out, token, length);
            at->out += length;
        }
        at->code += count;
    }
    return 1;
}

/* Groups that loops may read: after the last ones of a section there may be too few bytes. */
static uint64_t readable_groups(const fp_decoder *decoder, const cursor *at) {
    uint64_t group_bytes = fp_group_bytes(decoder->code_bits),
             reach = fp_group_reach(decoder->code_bits);
    uint64_t groups = (at->end - at->code) / FP_DECODE_GROUP;
    uint64_t left = at->packed_size - at->code / FP_DECODE_GROUP * group_bytes;
    if (!groups || left < reach) return 0;
    uint64_t readable = (left - reach) / group_bytes + 1;
    return groups < readable ? groups : readable;
}

/* The longest output of one call of a loop: long enough that the call costs nothing. Tokens of more
 * than 16 bytes count as 16, since few are as long as a cell. */
#define RUN_BYTES   (32u << 10)
#define ASIDE_BYTES (8u << 10)
#define PAGE        4096u

/* How many bytes ahead of the stores lines are fetched. Nearer, and lines come too late; farther,
 * and they have left the cache again when they are written. */
#define AHEAD 3072u

/* The first fetch from a page waits until its address is translated, and so does what follows. From
 * this mean token length on, in half bytes, that is so often that it pays to look up all pages of
 * the next run at once. */
#define LONG_TOKEN      13u
#define LONG_TOKEN_BULK 8u

/* `size` is what the last `groups` groups decoded to, right before `out`. Always inlined: gcc 12
 * drops calls of functions that do nothing but fetch. */
static inline __attribute__((always_inline)) void look_up_pages(uint64_t long_token,
                                                                const uint8_t *out,
                                                                const uint8_t *out_end,
                                                                uint64_t size, uint64_t groups) {
    if (size * 2 < groups * FP_DECODE_GROUP * long_token) return;
    if ((uint64_t)(out_end - out) < AHEAD + size) return;
    const uint8_t *page = out + AHEAD, *end = page + size;
    for (page += -(uintptr_t)page % PAGE; page < end; page += PAGE) __builtin_prefetch(page, 0, 2);
}

static fp_decode_loop *loop_for(const fp_decoder *decoder, const fp_code_range *codes) {
    if (codes->bulk && decoder->marking_loop && codes->watch && codes->watch->rarely_high)
        return decoder->marking_loop;
    if (codes->bulk && decoder->bricks) return decoder->bulk_loop;
    if (decoder->rare_loop && codes->rarely_above && codes->rarely_above <= decoder->cell_bytes / 2)
        return decoder->rare_loop;
    return codes->bulk ? decoder->bulk_loop : decoder->loop;
}

/* Shows somebody `size` bytes up to `end`. `marks` NULL: they were not marked. */
static void show(const fp_decode_watch *watch, const uint8_t *end, uint64_t size,
                 const fp_marks *marks) {
    const fp_stretch all = {0, (uint32_t)size, 0};
    const fp_decode_seen seen = {end - size, end, marks ? marks->high : &all,
                                 marks ? marks->count : 1};
    watch->look(watch->context, &seen);
}

/* Decodes `groups` groups from a multiple of 16 codes on. 0 if a code is bad or does not fit. */
static int decode_groups(const fp_decoder *decoder, const fp_code_range *codes, cursor *at,
                         uint64_t groups) {
    fp_decode_loop *const loop = loop_for(decoder, codes);
    const uint64_t long_token = loop == decoder->loop ? LONG_TOKEN : LONG_TOKEN_BULK;
    const uint64_t cell_bytes = decoder->cell_bytes,
                   group_bytes = fp_group_bytes(decoder->code_bits);
    const uint64_t most_groups =
        RUN_BYTES / (FP_DECODE_GROUP * (cell_bytes < FP_SHORT_TOKEN ? cell_bytes : FP_SHORT_TOKEN));
    const uint64_t aside_groups =
        (ASIDE_BYTES - FP_DECODE_OVERRUN(cell_bytes)) / (FP_DECODE_GROUP * cell_bytes);
    fp_marks marks;
    fp_decode_run run = {.packed_end = at->packed + at->packed_size, .marks = &marks};
    while (groups) {
        int is_marked = 0;
        uint64_t room = (uint64_t)(at->out_end - at->out), size;
        run.packed = at->packed + at->code / FP_DECODE_GROUP * group_bytes;
        run.groups = room < FP_DECODE_OVERRUN(cell_bytes)
                         ? 0
                         : (room - FP_DECODE_OVERRUN(cell_bytes)) / (FP_DECODE_GROUP * cell_bytes);
        if (run.groups) { /* in place */
            if (run.groups > most_groups) run.groups = most_groups;
            if (run.groups > groups) run.groups = groups;
            run.ahead = room < AHEAD ? room : AHEAD;
            run.out = at->out;
            const uint8_t *end = loop(decoder, &run);
            if (!end) return 0;
            size = (uint64_t)(end - at->out);
            is_marked = loop == decoder->marking_loop;
            look_up_pages(long_token, end, at->out_end, size, run.groups);
        } else { /* aside */
            uint8_t bytes[ASIDE_BYTES];
            run.groups = groups < aside_groups ? groups : aside_groups;
            run.ahead = 0;
            run.out = bytes;
            const uint8_t *end = decoder->loop(decoder, &run);
            if (!end || (uint64_t)(end - run.out) > room) return 0;
            size = (uint64_t)(end - run.out);
            memcpy(at->out, bytes, (size_t)size);
        }
        at->out += size;
        at->code += run.groups * FP_DECODE_GROUP;
        groups -= run.groups;
        if (codes->watch) show(codes->watch, at->out, size, is_marked ? &marks : NULL);
    }
    return 1;
}

uint64_t fp_decode_codes(const fp_decoder *decoder, const fp_code_range *codes, uint8_t *out,
                         uint64_t capacity) {
    if (!codes->count) return 0;
    uint64_t first = codes->first;
    cursor at = {codes->packed, codes->packed_size, first, first + codes->count,
                 out,           out + capacity};
    uint64_t aligned = first + (-first & (FP_DECODE_GROUP - 1));
    if (!decode_singly(decoder, &at, aligned < at.end ? aligned : at.end)) return FP_DECODE_BAD;
    if (!decode_groups(decoder, codes, &at, readable_groups(decoder, &at))) return FP_DECODE_BAD;
    if (!decode_singly(decoder, &at, at.end)) return FP_DECODE_BAD;
    return (uint64_t)(at.out - out);
}
