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
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return FP_CPU_X86_64;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl")
               ? FP_CPU_AVX512
               : FP_CPU_AVX2;
#else
    return FP_CPU_PORTABLE;
#endif
}

/* The level AVX-512 uses the AVX2 loop. Tried on an Ice Lake server, 12 bits, and refused: lengths by vpermi2b, eight
 * rows of 8 bytes squeezed together by vpcompressb, was up to 10 % faster in long runs but took up to twice the time in
 * calls of a megabyte between other work, as 512-bit instructions change the clock. The same with 256 bits was 5 to
 * 10 % slower, with gathers 40 %, with four 16-byte rows 10 %; streaming stores through a buffer were 10 to 20 % slower
 * than fetching the output's lines, plain copies from a buffer 5 to 10 %. Rows of 8 bytes copied to fixed slots first and
 * squeezed 64 codes later, masks by vpermi2b, was 15 to 20 % faster on the calm machine, 5 to 15 % slower on the loaded one,
 * and needs 512 bits too. No gain: fields by pext, lengths of 4 or 8 bytes that add straight from memory, positions of eight
 * tokens by prefix sums before any store, two tokens merged by pshufb, fetching for writing (prefetchw). */
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

static int constant_in_classes(const uint8_t *lengths, uint32_t patterns) {
    for (uint32_t code = 1; code < patterns; code++)
        if (code % (1u << FP_CLASS_SHIFT) && lengths[code] != lengths[code - 1]) return 0;
    return 1;
}

/* Turns lengths by code (there is room for two an entry) into the table that is fastest. Doubled ones gain 0 to 7 % at 12
 * bits and are too large from 14 on. By class, 16-byte rows gain 5 to 10 % at 16 bits, and lose up to 15 % at 14. */
static fp_length_lookup arrange_lengths(uint8_t *lengths, uint32_t bits, uint32_t slots, uint32_t row_bytes) {
    uint32_t patterns = 1u << bits;
    if (bits == 16 && row_bytes == 16 && constant_in_classes(lengths, patterns)) {
        for (uint32_t code = 0; code < patterns; code += 1u << FP_CLASS_SHIFT)
            lengths[code >> FP_CLASS_SHIFT] = lengths[code];
        return FP_LENGTH_BY_CLASS;
    }
    memset(lengths + slots, (int)FP_BAD_LENGTH(row_bytes), patterns - slots);
    if (row_bytes == 8 || bits <= 8 || bits >= 14) return FP_LENGTH_BY_CODE;
    for (uint32_t code = patterns; code-- > 0;) lengths[2 * code] = lengths[code];
    return FP_LENGTH_BY_DOUBLE;
}

fastpair_status fp_decoder_create(const fp_dict *dict, fp_cpu_level level,
                                  const fastpair_allocator *allocator, fp_decoder **decoder,
                                  fastpair_error *error) {
    fp_cpu_level best = fp_cpu_detect();
    if (level > best)
        return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                       "cpu level %d was asked for, but this CPU has only level %d; use 0 for the best",
                       (int)level, (int)best);
    /* One block: the struct, the rows from a cache line's start on, the lengths. */
    uint32_t row_bytes = longest_token(dict) <= 8 ? 8 : 16;
    uint64_t rows_size = (uint64_t)row_bytes << dict->code_bits, lengths_size = 2ull << dict->code_bits;
    uint64_t size = sizeof(fp_decoder) + CACHE_LINE + rows_size + lengths_size;
    fp_decoder *made = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    uint8_t *rows = (uint8_t *)(made + 1);
    rows += -(uintptr_t)rows % CACHE_LINE;
    uint8_t *lengths = rows + rows_size;
    fill_rows(dict, row_bytes, rows);
    fp_dict_expand(dict, NULL, lengths);
    *made = (fp_decoder){.loop = loop_of(level == FP_CPU_BEST ? best : level),
                         .rows = rows,
                         .lengths = lengths,
                         .code_bits = dict->code_bits,
                         .code_slots = dict->code_slots,
                         .row_bytes = row_bytes};
    made->lookup = arrange_lengths(lengths, dict->code_bits, dict->code_slots, row_bytes);
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
    uint64_t group_bytes = fp_group_bytes(decoder->code_bits), reach = fp_group_reach(decoder->code_bits);
    uint64_t groups = (at->end - at->code) / FP_DECODE_GROUP;
    uint64_t left = at->packed_size - at->code / FP_DECODE_GROUP * group_bytes;
    if (!groups || left < reach) return 0;
    uint64_t readable = (left - reach) / group_bytes + 1;
    return groups < readable ? groups : readable;
}

/* How far ahead of the stores output is fetched: nearer and lines come too late, farther and they are gone again when they
 * are written. (1, 2, 4 and 8 KiB are 0 to 8 % slower, by column, width and whether the output is in cache already.) */
#define FETCH_AHEAD 3072u

/* Groups a call: enough to forget the call. */
#define RUN_GROUPS 128u

#define ASIDE_GROUPS 16u
#define ASIDE_BYTES  (ASIDE_GROUPS * FP_DECODE_GROUP * FP_MAX_TOKEN + FP_DECODE_OVERRUN(FP_MAX_TOKEN))

/* `groups` groups, from a multiple of 16 codes on. 0 if a code is bad or does not fit. */
static int decode_groups(const fp_decoder *decoder, cursor *at, uint64_t groups) {
    const uint64_t row_bytes = decoder->row_bytes, group_bytes = fp_group_bytes(decoder->code_bits);
    fp_decode_run run = {.packed_end = at->packed + at->packed_size};
    while (groups) {
        uint64_t room = (uint64_t)(at->out_end - at->out), size;
        run.packed = at->packed + at->code / FP_DECODE_GROUP * group_bytes;
        run.groups = room < FP_DECODE_OVERRUN(row_bytes)
                         ? 0
                         : (room - FP_DECODE_OVERRUN(row_bytes)) / (FP_DECODE_GROUP * row_bytes);
        if (run.groups) { /* in place */
            if (run.groups > RUN_GROUPS) run.groups = RUN_GROUPS;
            if (run.groups > groups) run.groups = groups;
            run.ahead = room < FETCH_AHEAD ? room : FETCH_AHEAD;
            run.out = at->out;
            const uint8_t *end = decoder->loop(decoder, &run);
            if (!end) return 0;
            size = (uint64_t)(end - at->out);
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

uint64_t fp_decode_codes(const fp_decoder *decoder, const uint8_t *packed, uint64_t packed_size,
                         uint64_t first, uint64_t count, uint8_t *out, uint64_t capacity) {
    if (!count) return 0;
    cursor at = {packed, packed_size, first, first + count, out, out + capacity};
    uint64_t aligned = first + (-first & (FP_DECODE_GROUP - 1));
    if (!decode_singly(decoder, &at, aligned < at.end ? aligned : at.end)) return FP_DECODE_BAD;
    if (!decode_groups(decoder, &at, readable_groups(decoder, &at))) return FP_DECODE_BAD;
    if (!decode_singly(decoder, &at, at.end)) return FP_DECODE_BAD;
    return (uint64_t)(at.out - out);
}
