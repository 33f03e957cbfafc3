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

void fp_dict_expand(const fp_dict *dict, uint8_t (*cells)[16], uint8_t *lengths) {
    uint32_t patterns = 1u << dict->code_bits;
    const uint8_t *from = dict->bytes;
    if (cells) memset(cells, 0, (size_t)patterns * 16);
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint32_t end = r + 1 < dict->run_count ? dict->runs[r + 1].first_code : patterns;
        if (lengths) memset(lengths + run->first_code, (int)run->length, end - run->first_code);
        for (uint32_t i = 0; i < run->count; i++, from += run->length)
            if (cells) memcpy(cells[run->first_code + i], from, run->length);
    }
}
