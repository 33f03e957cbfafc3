/* decode_bricks.c - tables for the loop of decode_bricks_avx512.c. In: a dictionary. Out: its tokens as bricks
 * of 16 bytes, the last of each padded, and what a loop needs to number the bricks of a code. Only for
 * dictionaries whose tokens ascend by length, as training numbers them, and have bytes 255 only where a
 * brick begins; UTF-8 never has such bytes. The trick: bricks lie in code order, so a few numbers by length
 * are enough to count those before a code. Refuses what is no such dictionary, or has too many bricks. */
#if defined(__x86_64__)
#include "decode_private.h"

#include <string.h>

/* Bricks of slots without a token, for so many slots one: files do not have their bytes, and what a small
 * file can make a reader allocate is limited. Classes of lengths leave fewer. */
#define MOST_EMPTY 8u

static uint32_t bricks_of(uint32_t length) { return (length + FP_BRICK - 1) / FP_BRICK; }

/* The slots from a run's first code up to the next run's. Those that the run does not cover have its
 * length and zero bytes. */
static uint32_t slots_of(const fp_dict *dict, uint32_t r) {
    uint32_t next = r + 1 < dict->run_count ? dict->runs[r + 1].first_code : dict->code_slots;
    return next - dict->runs[r].first_code;
}

/* The bricks of all slots, and those of slots without a token. */
static uint64_t sum_bricks(const fp_dict *dict, uint64_t *empty) {
    uint64_t bricks = 0;
    *empty = 0;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const uint64_t each = bricks_of(dict->runs[r].length), slots = slots_of(dict, r);
        bricks += slots * each;
        *empty += (slots - dict->runs[r].count) * each;
    }
    return bricks;
}

/* Whether a token has a byte of the padding where no brick begins. */
static int has_padding(const fp_dict *dict) {
    const uint8_t *token = dict->bytes;
    if (!memchr(token, FP_BRICK_PADDING, (size_t)dict->bytes_size)) return 0;
    for (uint32_t r = 0; r < dict->run_count; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++, token += dict->runs[r].length)
            for (uint32_t j = 0; j < dict->runs[r].length; j++)
                if (token[j] == FP_BRICK_PADDING && j % FP_BRICK) return 1;
    return 0;
}

/* Whether tokens ascend by length, as they must if some have several bricks. */
static int ascends(const fp_dict *dict) {
    for (uint32_t r = 1; r < dict->run_count; r++)
        if (dict->runs[r].length < dict->runs[r - 1].length) return 0;
    return 1;
}

uint32_t fp_bricks_count(const fp_dict *dict) {
    uint64_t empty, bricks = sum_bricks(dict, &empty);
    if (bricks > FP_MOST_LISTED || empty > dict->code_slots / MOST_EMPTY) return 0;
    if (fp_dict_longest(dict) > FP_BRICK && !ascends(dict)) return 0;
    return has_padding(dict) ? 0 : (uint32_t)bricks;
}

/* The bricks of a token. So many bytes from its first one on are readable. */
static void fill_bricks(const uint8_t *token, uint32_t length, uint64_t readable, uint8_t *cell) {
    static const uint64_t none[2], padding[2] = {UINT64_MAX, UINT64_MAX};
    uint8_t masks[2 * FP_BRICK];
    memcpy(masks, none, FP_BRICK);
    memcpy(masks + FP_BRICK, padding, FP_BRICK);
    for (uint32_t at = 0; at < length; at += FP_BRICK, cell += FP_BRICK) {
        const uint32_t size = length - at < FP_BRICK ? length - at : FP_BRICK;
        uint64_t bytes[2], mask[2];
        if (readable < at + FP_BRICK) { /* the last tokens of all */
            memcpy(cell, padding, FP_BRICK);
            memcpy(cell, token + at, size);
            continue;
        }
        memcpy(bytes, token + at, FP_BRICK);
        memcpy(mask, masks + FP_BRICK - size, FP_BRICK);
        bytes[0] |= mask[0];
        bytes[1] |= mask[1];
        memcpy(cell, bytes, FP_BRICK);
    }
}

static void fill_cells(const fp_dict *dict, uint8_t *cell) {
    static const uint8_t zeros[FP_MAX_TOKEN];
    const uint8_t *token = dict->bytes, *end = token + dict->bytes_size;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        const uint32_t length = run->length, size = bricks_of(length) * FP_BRICK;
        for (uint32_t i = 0; i < run->count; i++, cell += size, token += length)
            fill_bricks(token, length, (uint64_t)(end - token), cell);
        for (uint32_t i = run->count; i < slots_of(dict, r); i++, cell += size)
            fill_bricks(zeros, length, sizeof zeros, cell);
    }
}

/* Finds ranges that hold all partial codes: the first ones, the next ones, and the others from the first to
 * the last. In dictionaries of text they have one byte, two and three. */
static void find_partial(const uint8_t *numbers, uint32_t slots, fp_bricks *tables) {
    uint32_t ranges = 0;
    memset(tables->partial, 0, sizeof tables->partial);
    for (uint32_t code = 0; code < slots; code++) {
        if (numbers[code] < FP_STEPS_WHOLE) continue;
        if (ranges < FP_PARTIAL_RANGES && (!code || numbers[code - 1] < FP_STEPS_WHOLE))
            tables->partial[ranges++].from = (uint16_t)code;
        tables->partial[ranges - 1].count = (uint16_t)(code + 1 - tables->partial[ranges - 1].from);
    }
}

void fp_bricks_fill(const fp_dict *dict, fp_bricks *tables, uint8_t *cells, fp_decoder *decoder) {
    const uint32_t most = fp_dict_longest(dict) <= FP_BRICK ? 1 : decoder->cell_bytes / FP_BRICK;
    uint64_t empty;
    const uint32_t unit = sum_bricks(dict, &empty) <= FP_MOST_DOUBLED ? 2 : 1;
    uint32_t brick = 1, longest = 0; /* the next, and how many the longest token so far has */
    uint16_t least[FP_MOST_BRICKS];
    for (uint32_t i = 0; i < FP_MOST_BRICKS; i++) tables->codes[i] = least[i] = UINT16_MAX;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        for (; longest < bricks_of(run->length); longest++) {
            tables->codes[longest] = (uint16_t)run->first_code;
            least[longest] = (uint16_t)(unit * brick);
        }
        brick += slots_of(dict, r) * bricks_of(run->length);
    }
    for (uint32_t i = 0; i < 32; i++) {
        tables->ordinals[i] = (uint16_t)(unit * (i % most));
        tables->least[i] = least[i % most];
    }
    for (uint32_t n = 0; n < most; n++)
        for (uint32_t i = 0; i < 64; i++)
            tables->repeat[n][i] = (uint8_t)((n * 32 + i / 2) / most * 2 + i % 2);
    fp_spread_fill(decoder->code_bits, &tables->spread);
    fill_cells(dict, cells);
    tables->cells = cells - FP_BRICK; /* numbers begin with 1 */
    tables->slots = dict->code_slots;
    tables->unit = unit;
    tables->most = most;
    decoder->bricks = tables;
    decoder->bulk = (fp_loops){fp_decode_bricks_avx512, NULL};
    if (!decoder->steps) return;
    find_partial(decoder->numbers, dict->code_slots, tables);
    decoder->bulk.marking = fp_mark_bricks_avx512;
}
#else
typedef int fp_decode_bricks_is_for_x86_64; /* a source file must declare something */
#endif
