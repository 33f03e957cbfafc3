/* decode_places.c - where tokens lie that loops copy by their lengths, as some have more than 16 bytes. In: a
 * dictionary and a decoder's steps. Out: tokens back to back, and by code where one begins and how long it
 * is. The trick: marked tokens lie before all others, so that their places are negative, and a loop that
 * looks for UTF-8 reads no table for that. Refuses nothing. */
#include "decode_private.h"
#include "utf8.h"

#include <string.h>

/* Marks tokens that are not ASCII, if they are fewer than one of so many. Else marks those that are not
 * UTF-8 by themselves. */
#define FEW_HIGH 8u

/* Whether a token is marked. Without steps none is. */
static int is_marked(const fp_decoder *decoder, uint32_t code, const uint8_t *token,
                     uint32_t length) {
    if (!decoder->steps) return 0;
    return decoder->marks_high ? !fp_is_ascii(token, length)
                               : decoder->numbers[code] >= FP_STEPS_WHOLE;
}

/* Tokens that are looked at together: mostly all are ASCII, and then none is marked. */
#define TOGETHER 64u

/* How many tokens of a run, from number i on, are looked at together. *marks says whether one may be
 * marked. */
static uint32_t look_together(const fp_decoder *decoder, const fp_run *run, uint32_t i,
                              const uint8_t *token, int *marks) {
    const uint32_t count = run->count - i < TOGETHER ? run->count - i : TOGETHER;
    *marks = decoder->steps && !fp_is_ascii(token, (uint64_t)count * run->length);
    return i + count;
}

/* The bytes of tokens that are marked. *tokens gets how many they are. */
static int32_t count_marked(const fp_decoder *decoder, const fp_dict *dict, uint32_t *tokens) {
    const uint8_t *token = dict->bytes;
    int32_t bytes = 0;
    int marks;
    *tokens = 0;
    for (uint32_t r = 0; r < dict->run_count && decoder->steps; r++) {
        const fp_run *run = &dict->runs[r];
        for (uint32_t i = 0, end; i < run->count; i = end) {
            end = look_together(decoder, run, i, token, &marks);
            if (!marks) token += (uint64_t)(end - i) * run->length;
            for (; i < end && marks; i++, token += run->length)
                if (is_marked(decoder, run->first_code + i, token, run->length)) {
                    bytes += (int32_t)run->length;
                    ++*tokens;
                }
        }
    }
    return bytes;
}

/* Puts the tokens of a run, from `token` on, in their places. `next` is where tokens begin in the table:
 * others, marked ones. */
static void place_run(const fp_decoder *decoder, const fp_run *run, const uint8_t *token,
                      int32_t *places, uint8_t *tokens, int32_t *next) {
    const int32_t unit = 1 << FP_PLACE_SHIFT, length = (int32_t)run->length;
    int marks;
    places += run->first_code;
    for (uint32_t i = 0, end; i < run->count; i = end) {
        end = look_together(decoder, run, i, token, &marks);
        if (!marks) {
            memcpy(tokens + next[0], token, (size_t)(end - i) * run->length);
            token += (uint64_t)(end - i) * run->length;
            for (; i < end; i++, next[0] += length) places[i] = next[0] * unit + length;
        }
        for (; i < end; i++, token += run->length) {
            int32_t *begin = &next[is_marked(decoder, run->first_code + i, token, run->length)];
            memcpy(tokens + *begin, token, run->length);
            places[i] = *begin * unit + length;
            *begin += length;
        }
    }
}

/* Marked tokens lie before the others, and zeros after all. */
void fp_decoder_fill_places(fp_decoder *decoder, const fp_dict *dict, int32_t *places,
                            uint8_t *tokens) {
    uint32_t marked_tokens;
    decoder->marks_high = decoder->steps != NULL;
    int32_t marked = count_marked(decoder, dict, &marked_tokens);
    if (marked_tokens > dict->tokens / FEW_HIGH) {
        decoder->marks_high = 0;
        marked = count_marked(decoder, dict, &marked_tokens);
    }
    const int32_t unit = 1 << FP_PLACE_SHIFT, end = (int32_t)dict->bytes_size - marked;
    int32_t next[2] = {0, -marked}; /* where tokens begin: others, marked ones */
    const uint8_t *token = dict->bytes;
    tokens += marked;
    decoder->cells = tokens;
    decoder->places = places;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        const uint32_t after = r + 1 < dict->run_count ? run[1].first_code : dict->code_slots;
        place_run(decoder, run, token, places, tokens, next);
        token += (uint64_t)run->count * run->length;
        for (uint32_t code = run->first_code + run->count; code < after; code++)
            places[code] = end * unit + (int32_t)run->length;
    }
    memset(tokens + end, 0, FP_MAX_TOKEN);
    for (uint32_t code = dict->code_slots; code < 1u << dict->code_bits; code++)
        places[code] = (int32_t)FP_BAD_LONG(decoder->cell_bytes);
}
