/* dict.c - expanding numbered dictionaries. In: a dictionary in the order of docs/format.md, 2.1.
 * Out: tables by code. Refuses nothing: fp_dict_read has checked what came from a file. */
#include "dict.h"

#include <string.h>

void fp_dict_close(fp_dict *dict, const fastpair_allocator *allocator) {
    fp_release(allocator, dict->runs);
    fp_release(allocator, dict->bytes);
    dict->runs = NULL;
    dict->bytes = NULL;
}

uint32_t fp_dict_longest(const fp_dict *dict) {
    uint32_t longest = 0;
    for (uint32_t r = 0; r < dict->run_count; r++)
        if (dict->runs[r].length > longest) longest = dict->runs[r].length;
    return longest;
}

void fp_dict_expand(const fp_dict *dict, uint8_t *cells, uint32_t stride, uint8_t *lengths) {
    uint32_t patterns = 1u << dict->code_bits;
    const uint8_t *from = dict->bytes;
    if (cells) memset(cells, 0, (size_t)patterns * stride);
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint32_t end = r + 1 < dict->run_count ? dict->runs[r + 1].first_code : patterns;
        if (lengths) memset(lengths + run->first_code, (int)run->length, end - run->first_code);
        uint32_t taken = run->length < stride ? run->length : stride;
        for (uint32_t i = 0; i < run->count; i++, from += run->length)
            if (cells) memcpy(cells + (size_t)(run->first_code + i) * stride, from, taken);
    }
}
