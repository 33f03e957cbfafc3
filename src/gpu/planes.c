/* planes.c - a dictionary as kernels read it. In: a dictionary. Out: fixed-stride planes (first 8 bytes, last 8 bytes, whole
 * 16-byte rows) and a table of length nibbles, so that a code is an address and no offset table is read first. */
#include "batch.h"

#include <string.h>

static uint64_t plane8(const fp_dict *dict) { return fp_device_align(dict->code_slots * 8ull); }
static uint64_t plane16(const fp_dict *dict) { return fp_device_align(dict->code_slots * 16ull); }
static uint64_t nibbles(const fp_dict *dict) { return fp_device_align((dict->code_slots + 1ull) / 2); }

uint64_t fp_planes_size(const fp_dict *dict) { return 2 * plane8(dict) + plane16(dict) + nibbles(dict); }

fp_gpu_dict fp_planes_describe(const fp_dict *dict, uint64_t planes) {
    fp_gpu_dict entry = {.low8 = planes,
                         .high8 = planes + plane8(dict),
                         .rows16 = planes + 2 * plane8(dict),
                         .nibbles = planes + 2 * plane8(dict) + plane16(dict),
                         .slots = dict->code_slots,
                         .code_bits = dict->code_bits,
                         .class_shift = dict->class_shift,
                         .hot_slots = dict->hot_slots};
    for (uint32_t r = 0; r < dict->run_count; r++)
        if (dict->runs[r].length > entry.max_length) entry.max_length = dict->runs[r].length;
    return entry;
}

fastpair_status fp_planes_write(const fp_dict *dict, uint8_t *planes, const fastpair_allocator *allocator,
                                fastpair_error *error) {
    uint64_t patterns = 1ull << dict->code_bits;
    uint8_t(*rows)[16] = fp_allocate(allocator, patterns, sizeof *rows);
    uint8_t *lengths = fp_allocate(allocator, patterns, 1);
    fastpair_status status = FASTPAIR_OK;
    if (!rows || !lengths) {
        status = fp_fail_memory(error, patterns * sizeof *rows);
    } else {
        fp_dict_expand(dict, rows, lengths);
        uint8_t *low = planes, *high = low + plane8(dict), *whole = high + plane8(dict);
        uint8_t *lens = whole + plane16(dict);
        memset(planes, 0, (size_t)fp_planes_size(dict));
        for (uint32_t code = 0; code < dict->code_slots; code++) {
            memcpy(low + code * 8ull, rows[code], 8);
            memcpy(high + code * 8ull, rows[code] + 8, 8);
            memcpy(whole + code * 16ull, rows[code], 16);
            lens[code / 2] |= (uint8_t)((lengths[code] - 1) << (code % 2 * 4));
        }
    }
    fp_release(allocator, rows);
    fp_release(allocator, lengths);
    return status;
}
