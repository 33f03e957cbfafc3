/* decode_words.c - decoding the words of cold chunks. In: a dictionary. Out: a decoder whose codes are
 * words of 16 bits. The trick: the end of a row is a token without bytes, so loops that know nothing of
 * rows decode words as they are. Tables have entries for the slots and the two ends only, since words
 * are looked at before they are decoded. Refuses nothing but a lack of memory. */
#include "decode_private.h"

#define CACHE_LINE 64u

/* No word has a slot without a token: whoever decodes has looked. Its length is 0 all the same, as
 * loops tell bad codes by four tokens of a byte or more, and ends of rows have none. */
static void fill_places(const fp_dict *dict, int32_t *places) {
    uint32_t begin = 0, end = dict->code_slots;
    for (uint32_t code = 0; code < end; code++) places[code] = 0;
    for (uint32_t r = 0; r < dict->run_count; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++, begin += dict->runs[r].length)
            places[dict->runs[r].first_code + i] =
                (int32_t)(begin << FP_PLACE_SHIFT | dict->runs[r].length);
    places[end] = places[end + 1] = 0;
}

fastpair_status fp_decoder_open_words(const fp_dict *dict, fastpair_cpu_level level,
                                      const fastpair_allocator *allocator, fp_decoder **decoder,
                                      fastpair_error *error) {
    uint32_t cell_bytes = fp_dict_longest(dict) <= 32 ? 32 : 64;
    uint64_t places_size = sizeof(int32_t) * (dict->code_slots + 2ull);
    uint64_t bricks_size = 0;
#if defined(__x86_64__)
    if (level >= FASTPAIR_CPU_AVX512) bricks_size = (uint64_t)fp_bricks_count(dict) * FP_BRICK;
#endif
    uint64_t size = sizeof(fp_decoder) + sizeof(fp_bricks) + CACHE_LINE + bricks_size +
                    places_size + dict->bytes_size + FP_MAX_TOKEN;
    fp_decoder *made = *decoder = fp_allocate(allocator, size, 1);
    if (!made) return fp_fail_memory(error, size);
    fp_bricks *bricks = (fp_bricks *)(made + 1);
    uint8_t *cells = (uint8_t *)(bricks + 1);
    cells += -(uintptr_t)cells % CACHE_LINE;
    int32_t *places = (int32_t *)(cells + bricks_size);
    uint8_t *tokens = (uint8_t *)places + places_size;
    fill_places(dict, places);
    memcpy(tokens, dict->bytes, (size_t)dict->bytes_size);
    memset(tokens + dict->bytes_size, 0, FP_MAX_TOKEN);
    *made = (fp_decoder){.cells = tokens,
                         .places = places,
                         .code_bits = 16,
                         .code_slots = dict->code_slots + 2,
                         .cell_bytes = cell_bytes};
    fp_decoder_choose_long_loops(made, level);
#if defined(__x86_64__)
    if (bricks_size) fp_bricks_fill(dict, bricks, cells, made);
#endif
    return FASTPAIR_OK;
}
