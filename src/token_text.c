/* token_text.c - which tokens of a dictionary are UTF-8 by themselves. In: a dictionary. Out: a byte
 * for each code, and what is true of all. The trick: neighbours are judged together, as one text in
 * which no token begins inside a character, and one by one only where that fails. Refuses nothing: it
 * answers. */
#include "token_text.h"

#include "utf8.h"

/* Tokens that are judged together. */
#define TOGETHER 64u

/* Whether each of `count` tokens of `length` bytes, back to back, is UTF-8 by itself. */
static int are_whole(const uint8_t *bytes, uint32_t length, uint32_t count) {
    if (fp_is_ascii(bytes, (uint64_t)length * count)) return 1;
    for (uint32_t i = 0; i < count; i++)
        if ((bytes[(uint64_t)i * length] & 0xc0) == 0x80) return 0;
    return fp_utf8_fault(bytes, (uint64_t)length * count) == UINT64_MAX;
}

/* What fp_token_text says of a token that is not UTF-8 by itself. */
static uint8_t kind_of(const uint8_t *token, uint32_t length) {
    uint32_t first = 0; /* bytes that continue a character */
    while (first < length && (token[first] & 0xc0) == 0x80) first++;
    if (first > 3) return FP_NO_PIECE;
    if (first == length) return (uint8_t)(FP_PIECE | FP_PIECE_ONLY | first);
    fp_utf8 text = {{0}};
    if (fp_utf8_take(&text, token + first, length - first) != length - first) return FP_NO_PIECE;
    uint8_t one = text.before[2], two = text.before[1], three = text.before[0];
    /* After these not every byte may come that continues a character. */
    if (one == 0xe0 || one == 0xed || one == 0xf0 || one == 0xf4) return FP_NO_PIECE;
    uint32_t lacks = one >= 0xf0                                   ? 3
                     : one >= 0xe0 || two >= 0xf0                  ? 2
                     : one >= 0xc2 || two >= 0xe0 || three >= 0xf0 ? 1
                                                                   : 0;
    return (uint8_t)(FP_PIECE | lacks << FP_PIECE_LACKS_SHIFT | first);
}

uint32_t fp_token_text(const fp_dict *dict, uint8_t *kinds) {
    const uint8_t *token = dict->bytes;
    if (kinds) memset(kinds, 0, dict->code_slots);
    if (fp_is_ascii(dict->bytes, dict->bytes_size)) return FP_TOKENS_ASCII;
    uint32_t text = FP_TOKENS_WHOLE;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        for (uint32_t i = 0; i < run->count;) {
            uint32_t count = run->count - i < TOGETHER ? run->count - i : TOGETHER;
            const int together = are_whole(token, run->length, count);
            if (!together) text = FP_TOKENS_ANY;
            if (!together && !kinds) return text;
            for (; count; count--, i++, token += run->length)
                if (!together && !are_whole(token, run->length, 1))
                    kinds[run->first_code + i] = kind_of(token, run->length);
        }
    }
    return text;
}
