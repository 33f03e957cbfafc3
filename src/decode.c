/* decode.c - from packed codes to bytes. In: a dictionary, packed codes, a range of them. Out: their tokens, in exactly
 * the memory given.
 *
 * The trick: the loops (decode_loop.h) know nothing of bounds. A run of groups is given to them only when its longest
 * possible output fits; where little room is left, groups are decoded aside and copied. Refuses codes that the
 * dictionary does not have, and outputs that do not fit. */
#include "decode_private.h"
#include "format.h"
#include "pack.h"

#include <string.h>

fp_cpu_level fp_cpu_detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        return FP_CPU_X86_64;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
                   __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt")
               ? FP_CPU_AVX512
               : FP_CPU_AVX2;
#else
    return FP_CPU_PORTABLE;
#endif
}

/* Short calls use the AVX2 loop at level AVX-512, too. Tried on an Ice Lake server and refused, at 12 bits: squeezing four
 * rows in 256 bits (8 to 40 % slower in cache, as each squeeze takes three instructions of one port), gathers (40 %), plain
 * copies from a buffer (5 to 25 %). No gain: fields by pext, lengths of 4 or 8 bytes that add straight from memory, positions
 * of eight tokens by prefix sums before any store, two tokens merged by pshufb, fetching for writing (prefetchw), fetching
 * from afar to the second-level cache and then again from near, an early 512-bit instruction to have the CPU get ready while
 * the AVX2 loop runs.
 * At 12 to 16 bits: 16-byte rows stored one by one by codes that AVX-512 has unpacked (up to 15 % slower); stores past the
 * caches, 64 bytes at a time from a small buffer, of all pages or every second, fourth or eighth (10 % faster to 28 % slower;
 * such stores alone are twice as fast as others, but nothing else goes on meanwhile). 8-byte rows with lengths by class at 15
 * and 16 bits: 6 % faster to 19 % slower. Tables in pages of 2 MiB: no gain. Two loops that take turns by the clock: 0 to 4 %
 * slower than the better one. Tokens back to back instead of rows, found by class: at 16 bits 10 to 15 % faster than the AVX2
 * loop with tokens of 5 to 7 bytes, but 5 to 25 % slower than the AVX-512 loop while the core's other thread is busy. */
static fp_decode_loop *loop_of(fp_cpu_level level) {
#if defined(__x86_64__)
    if (level >= FP_CPU_AVX2) return fp_decode_loop_avx2;
#endif
    (void)level;
    return fp_decode_loop_portable;
}

/* ---------------------------------------------------------------- tables */

#define CACHE_LINE 64u

static uint32_t longest_token(const fp_dict *dict) {
    uint32_t longest = 0;
    for (uint32_t r = 0; r < dict->run_count; r++)
        if (dict->runs[r].length > longest) longest = dict->runs[r].length;
    return longest;
}

static void fill_rows(const fp_dict *dict, uint32_t row_bytes, uint8_t *rows) {
    memset(rows, 0, (size_t)row_bytes << dict->code_bits);
    const uint8_t *token = dict->bytes;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint8_t *row = rows + (uint64_t)run->first_code * row_bytes;
        for (uint32_t i = 0; i < run->count; i++, token += run->length, row += row_bytes)
            memcpy(row, token, run->length);
    }
}

/* Whether codes that differ in their lowest `shift` bits alone have tokens of one length. */
static int constant_in_classes(const uint8_t *lengths, uint32_t patterns, uint32_t shift) {
    for (uint32_t code = 1; code < patterns; code++)
        if (code % (1u << shift) && lengths[code] != lengths[code - 1]) return 0;
    return 1;
}

/* Turns lengths by code (there is room for two an entry) into the table that is fastest. Doubled ones gain 0 to 7 % at 12
 * bits and are too large from 14 on. (A length for each class of codes: within 5 % at 15 and 16 bits on a quiet core, up to
 * 20 % slower at 13 to 16 while the core's other thread is busy, also with rows fetched 64 codes early.) */
static fp_length_lookup arrange_lengths(uint8_t *lengths, uint32_t bits, uint32_t slots,
                                        uint32_t row_bytes) {
    uint32_t patterns = 1u << bits;
    memset(lengths + slots, (int)FP_BAD_LENGTH(row_bytes), patterns - slots);
    if (row_bytes == 8 || bits <= 8 || bits >= 14) return FP_LENGTH_BY_CODE;
    for (uint32_t code = patterns; code-- > 0;) lengths[2 * code] = lengths[code];
    return FP_LENGTH_BY_DOUBLE;
}

/* Entries of the tables of pairs; 0 if there are none. */
static uint64_t pairs_of(uint32_t bits) {
    return bits <= FP_MOST_PAIRED_BITS ? 1ull << 2 * bits : 0;
}

/* Makes the tables of pairs, from the first cache line of `space` on. `lengths` are by code. */
static void fill_pairs(fp_decoder *decoder, const uint8_t *lengths, uint8_t *space) {
    const uint32_t bits = decoder->code_bits, row_bytes = decoder->row_bytes,
                   slots = decoder->code_slots;
    uint8_t *row = space + -(uintptr_t)space % CACHE_LINE,
            *pair_lengths = row + pairs_of(bits) * 2 * row_bytes;
    decoder->pairs = row;
    decoder->pair_lengths = pair_lengths;
    memset(row, 0, (size_t)(pair_lengths - row));
    for (uint32_t pair = 0; pair < pairs_of(bits); pair++, row += 2 * row_bytes) {
        uint32_t first = pair & ((1u << bits) - 1), second = pair >> bits;
        int bad = first >= slots || second >= slots;
        pair_lengths[pair] =
            (uint8_t)(bad ? FP_BAD_PAIR_LENGTH(row_bytes) : lengths[first] + lengths[second]);
        if (bad) continue;
        memcpy(row, decoder->rows + first * row_bytes, lengths[first]);
        memcpy(row + lengths[first], decoder->rows + second * row_bytes, lengths[second]);
    }
}

/* Takes the AVX-512 loop for bulk if it suits the dictionary. `lengths` are by code, and of bad ones those of the class. */
static void choose_bulk_loop(fp_decoder *decoder, fp_cpu_level level, const uint8_t *lengths,
                             fp_squeeze *squeeze) {
    decoder->bulk_loop = decoder->loop;
#if defined(__x86_64__)
    uint32_t bits = decoder->code_bits;
    if (level < FP_CPU_AVX512 || bits <= FP_MOST_PAIRED_BITS) return;
    if (!constant_in_classes(lengths, 1u << bits, fp_squeeze_shift(bits))) return;
    fp_squeeze_fill(bits, decoder->row_bytes, lengths, squeeze);
    decoder->squeeze = squeeze;
    decoder->bulk_loop = fp_decode_loop_avx512;
#else
    (void)level, (void)lengths, (void)squeeze;
#endif
}

fastpair_status fp_decoder_create(const fp_dict *dict, fp_cpu_level level,
                                  const fastpair_allocator *allocator, fp_decoder **decoder,
                                  fastpair_error *error) {
    fp_cpu_level best = fp_cpu_detect();
    if (level > best)
        return fp_fail(
            error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
            "cpu level %d was asked for, but this CPU has only level %d; use 0 for the best",
            (int)level, (int)best);
    if (level == FP_CPU_BEST) level = best;
    /* One block: the struct, the small tables, the rows from a cache line's start on, the lengths; then so for pairs. */
    uint32_t row_bytes = longest_token(dict) <= 8 ? 8 : 16, bits = dict->code_bits;
    uint64_t rows_size = (uint64_t)row_bytes << bits, lengths_size = 2ull << bits;
    uint64_t pairs_size = CACHE_LINE + pairs_of(bits) * (2 * row_bytes + 1);
    uint64_t size = sizeof(fp_decoder) + sizeof(fp_squeeze) + CACHE_LINE + rows_size +
                    lengths_size + pairs_size;
    fp_decoder *made = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    fp_squeeze *squeeze = (fp_squeeze *)(made + 1);
    uint8_t *rows = (uint8_t *)(squeeze + 1);
    rows += -(uintptr_t)rows % CACHE_LINE;
    uint8_t *lengths = rows + rows_size;
    fill_rows(dict, row_bytes, rows);
    fp_dict_expand(dict, NULL, lengths);
    *made = (fp_decoder){.loop = loop_of(level),
                         .rows = rows,
                         .lengths = lengths,
                         .code_bits = bits,
                         .code_slots = dict->code_slots,
                         .row_bytes = row_bytes};
    choose_bulk_loop(made, level, lengths, squeeze);
    if (pairs_of(bits)) fill_pairs(made, lengths, lengths + lengths_size);
    made->lookup = arrange_lengths(lengths, bits, dict->code_slots, row_bytes);
    *decoder = made;
    return FASTPAIR_OK;
}

void fp_decoder_free(fp_decoder *decoder, const fastpair_allocator *allocator) {
    fp_release(allocator, decoder);
}

const uint8_t *fp_decoder_rows(const fp_decoder *decoder, uint32_t *row_bytes) {
    *row_bytes = decoder->row_bytes;
    return decoder->rows;
}

/* ---------------------------------------------------------------- decoding */

typedef struct cursor {
    const uint8_t *packed;
    uint64_t packed_size;
    uint64_t code; /* the next one */
    uint64_t end;  /* behind the last one */
    uint8_t *out;
    uint8_t *out_end;
} cursor;

/* Codes up to `to`, one by one. 0 if one is bad or does not fit. */
static int decode_singly(const fp_decoder *decoder, cursor *at, uint64_t to) {
    while (at->code < to) {
        uint16_t codes[FP_DECODE_GROUP];
        uint64_t count = to - at->code < FP_DECODE_GROUP ? to - at->code : FP_DECODE_GROUP;
        fp_unpack(at->packed, at->packed_size, decoder->code_bits, at->code, count, codes);
        for (uint64_t i = 0; i < count; i++) {
            if (codes[i] >= decoder->code_slots) return 0;
            uint32_t length = fp_length_of(decoder, codes[i]);
            if ((uint64_t)(at->out_end - at->out) < length) return 0;
            memcpy(at->out, decoder->rows + (uint64_t)codes[i] * decoder->row_bytes, length);
            at->out += length;
        }
        at->code += count;
    }
    return 1;
}

/* Groups that loops may read: the last ones of a section may have too few bytes behind them. */
static uint64_t readable_groups(const fp_decoder *decoder, const cursor *at) {
    uint64_t group_bytes = fp_group_bytes(decoder->code_bits),
             reach = fp_group_reach(decoder->code_bits);
    uint64_t groups = (at->end - at->code) / FP_DECODE_GROUP;
    uint64_t left = at->packed_size - at->code / FP_DECODE_GROUP * group_bytes;
    if (!groups || left < reach) return 0;
    uint64_t readable = (left - reach) / group_bytes + 1;
    return groups < readable ? groups : readable;
}

/* The longest output of one call: enough to forget the call, and a few pages. */
#define RUN_BYTES (32u << 10)

#define PAGE 4096u

/* How far ahead of the stores lines are fetched: nearer and they come too late, farther and they are gone again when they are
 * written. (1, 2, 4 and 8 KiB instead of 3 are 0 to 8 % slower, by column, width and whether the output is in cache already;
 * with the AVX-512 loop 4.5 to 9 KiB are 5 % slower to 3 % faster, the second-level cache is 0 to 5 % slower.) */
#define AHEAD 3072u

/* The first fetch from a page waits until the CPU has found out where the page is, and what comes behind it waits, too. With
 * tokens of this mean length and more, in half bytes, that is so often that all pages of the next run are looked up in a row,
 * several at a time: 3 to 10 % faster. With shorter ones it is up to 3 % slower. */
#define LONG_TOKEN      13u
#define LONG_TOKEN_BULK 8u

/* `size` is what the last `groups` groups decoded to, right before `out`. Always inlined, as gcc 12 leaves calls of
 * functions out that do nothing but fetch. */
static inline __attribute__((always_inline)) void look_up_pages(uint64_t long_token,
                                                                const uint8_t *out,
                                                                const uint8_t *out_end,
                                                                uint64_t size, uint64_t groups) {
    if (size * 2 < groups * FP_DECODE_GROUP * long_token) return;
    if ((uint64_t)(out_end - out) < AHEAD + size) return;
    const uint8_t *page = out + AHEAD, *end = page + size;
    for (page += -(uintptr_t)page % PAGE; page < end; page += PAGE) __builtin_prefetch(page, 0, 2);
}

#define ASIDE_GROUPS 16u
#define ASIDE_BYTES                                                                                \
    (ASIDE_GROUPS * FP_DECODE_GROUP * FP_MAX_TOKEN + FP_DECODE_OVERRUN(FP_MAX_TOKEN))

/* `groups` groups, from a multiple of 16 codes on. 0 if a code is bad or does not fit. */
static int decode_groups(const fp_decoder *decoder, int bulk, cursor *at, uint64_t groups) {
    fp_decode_loop *const loop = bulk ? decoder->bulk_loop : decoder->loop;
    const uint64_t long_token = loop == decoder->loop ? LONG_TOKEN : LONG_TOKEN_BULK;
    const uint64_t row_bytes = decoder->row_bytes, group_bytes = fp_group_bytes(decoder->code_bits);
    const uint64_t most_groups = RUN_BYTES / (FP_DECODE_GROUP * row_bytes);
    fp_decode_run run = {.packed_end = at->packed + at->packed_size};
    while (groups) {
        uint64_t room = (uint64_t)(at->out_end - at->out), size;
        run.packed = at->packed + at->code / FP_DECODE_GROUP * group_bytes;
        run.groups = room < FP_DECODE_OVERRUN(row_bytes)
                         ? 0
                         : (room - FP_DECODE_OVERRUN(row_bytes)) / (FP_DECODE_GROUP * row_bytes);
        if (run.groups) { /* in place */
            if (run.groups > most_groups) run.groups = most_groups;
            if (run.groups > groups) run.groups = groups;
            run.ahead = room < AHEAD ? room : AHEAD;
            run.out = at->out;
            const uint8_t *end = loop(decoder, &run);
            if (!end) return 0;
            size = (uint64_t)(end - at->out);
            look_up_pages(long_token, end, at->out_end, size, run.groups);
        } else { /* aside */
            uint8_t bytes[ASIDE_BYTES];
            run.groups = groups < ASIDE_GROUPS ? groups : ASIDE_GROUPS;
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
    }
    return 1;
}

uint64_t fp_decode_codes(const fp_decoder *decoder, int bulk, const uint8_t *packed,
                         uint64_t packed_size, uint64_t first, uint64_t count, uint8_t *out,
                         uint64_t capacity) {
    if (!count) return 0;
    cursor at = {packed, packed_size, first, first + count, out, out + capacity};
    uint64_t aligned = first + (-first & (FP_DECODE_GROUP - 1));
    if (!decode_singly(decoder, &at, aligned < at.end ? aligned : at.end)) return FP_DECODE_BAD;
    if (!decode_groups(decoder, bulk, &at, readable_groups(decoder, &at))) return FP_DECODE_BAD;
    if (!decode_singly(decoder, &at, at.end)) return FP_DECODE_BAD;
    return (uint64_t)(at.out - out);
}
