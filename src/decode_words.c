/* decode_words.c - decoding the words of cold chunks. In: a dictionary. Out: a decoder whose codes are
 * words of 16 bits. The trick: the end of a row is a token without bytes, so loops that know nothing of
 * rows decode words as they are. Tables have entries for the slots and the two ends only, since words
 * are looked at before they are decoded. Refuses nothing but a lack of memory. */
#include "decode_private.h"

#define CACHE_LINE 64u

/* No word has a slot without a token: whoever decodes has looked. Its length is 0 all the same, as
 * loops tell bad codes by four tokens of a byte or more, and ends of rows have none. */
static void empty_places(const fp_dict *dict, int32_t *places) {
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        const uint32_t end = r + 1 < dict->run_count ? run[1].first_code : dict->code_slots;
        for (uint32_t code = run->first_code + run->count; code < end; code++) places[code] = 0;
    }
    places[dict->code_slots] = places[dict->code_slots + 1] = 0;
}

/* Steps are wanted where tokens are not all UTF-8 by themselves. The end of a row may not be inside a
 * character, and so takes the step of a token that is. */
static void take_steps(fp_decoder *decoder, const fp_dict *dict, fp_steps *steps,
                       uint8_t *numbers) {
    if (fp_token_steps(dict, FP_BAD_LONG(decoder->cell_bytes), steps, numbers) != FP_TOKENS_ANY)
        return;
    numbers[dict->code_slots] = numbers[dict->code_slots + 1] = 0;
    decoder->steps = steps;
    decoder->numbers = numbers;
}

fastpair_status fp_decoder_open_words(const fp_dict *dict, fastpair_cpu_level level,
                                      const fastpair_allocator *allocator, fp_decoder **decoder,
                                      fastpair_error *error) {
    uint32_t cell_bytes = fp_dict_longest(dict) <= 32 ? 32 : 64;
    uint64_t entries = (1ull << dict->code_bits) + 2, places_size = sizeof(int32_t) * entries;
    uint64_t bricks_size = 0;
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX512) bricks_size = (uint64_t)fp_bricks_count(dict) * FP_BRICK;
#endif
    uint64_t size = sizeof(fp_decoder) + sizeof(fp_bricks) + sizeof(fp_steps) + CACHE_LINE +
                    bricks_size + places_size + entries + dict->bytes_size + FP_MAX_TOKEN;
    fp_decoder *made = *decoder = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    fp_bricks *bricks = (fp_bricks *)(made + 1);
    fp_steps *steps = (fp_steps *)(bricks + 1);
    uint8_t *cells = (uint8_t *)(steps + 1);
    cells += -(uintptr_t)cells % CACHE_LINE;
    int32_t *places = (int32_t *)(cells + bricks_size);
    uint8_t *numbers = (uint8_t *)places + places_size, *tokens = numbers + entries;
    *made =
        (fp_decoder){.code_bits = 16, .code_slots = dict->code_slots + 2, .cell_bytes = cell_bytes};
    take_steps(made, dict, steps, numbers);
    fp_decoder_fill_places(made, dict, places, tokens);
    empty_places(dict, places);
    fp_decoder_choose_long_loops(made, level);
#if defined(__x86_64__)
    if (bricks_size) fp_bricks_fill(dict, bricks, cells, made);
#endif
    return FASTPAIR_OK;
}
