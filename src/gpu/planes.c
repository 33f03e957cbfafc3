/* planes.c - a dictionary as kernels read it. In: a dictionary. Out: fixed-stride planes (first 8 bytes, last 8 bytes, whole
 * 16-byte rows) and a table of length nibbles, so that a code is an address and no offset table is read first. */
#include "batch.h"

#include <string.h>

/* Assembled kernels take all codes of the last class, of 64 at most, for tokens: those behind the last slot are zeros. */
static uint64_t rows_of(const fp_dict *dict) { return fp_align(dict->code_slots, 64); }
static uint64_t plane8(const fp_dict *dict) { return fp_device_align(rows_of(dict) * 8); }
static uint64_t plane16(const fp_dict *dict) { return fp_device_align(rows_of(dict) * 16); }
static uint64_t nibbles(const fp_dict *dict) { return fp_device_align((dict->code_slots + 1ull) / 2); }

uint64_t fp_planes_size(const fp_dict *dict) { return 2 * plane8(dict) + plane16(dict) + nibbles(dict); }

fp_gpu_dict fp_planes_describe(const fp_dict *dict, uint64_t planes) {
    fp_gpu_dict entry = {.low8 = planes,
                         .high8 = planes + plane8(dict),
                         .rows16 = planes + 2 * plane8(dict),
                         .nibbles = planes + 2 * plane8(dict) + plane16(dict),
                         .slots = dict->code_slots,
                         .code_bits = dict->code_bits};
    for (uint32_t r = 0; r < dict->run_count; r++)
        if (dict->runs[r].length > entry.max_length) entry.max_length = dict->runs[r].length;
    return entry;
}

/* A dictionary's tokens and lengths by code, while they are rewritten. */
typedef struct expanded {
    uint8_t (*rows)[16];
    uint8_t *lengths;
} expanded;

static fastpair_status expand(const fp_dict *dict, expanded *tokens, const fastpair_allocator *allocator,
                              fastpair_error *error) {
    uint64_t patterns = 1ull << dict->code_bits;
    tokens->rows = fp_allocate(allocator, patterns, sizeof *tokens->rows);
    tokens->lengths = fp_allocate(allocator, patterns, 1);
    if (!tokens->rows || !tokens->lengths) return fp_fail_memory(error, patterns * sizeof *tokens->rows);
    fp_dict_expand(dict, tokens->rows, tokens->lengths);
    return FASTPAIR_OK;
}

static void expanded_free(expanded *tokens, const fastpair_allocator *allocator) {
    fp_release(allocator, tokens->rows);
    fp_release(allocator, tokens->lengths);
}

fastpair_status fp_planes_write(const fp_dict *dict, uint8_t *planes, const fastpair_allocator *allocator,
                                fastpair_error *error) {
    expanded tokens = {0};
    fastpair_status status = expand(dict, &tokens, allocator, error);
    if (!status) {
        uint8_t *low = planes, *high = low + plane8(dict), *whole = high + plane8(dict);
        uint8_t *lens = whole + plane16(dict);
        memset(planes, 0, (size_t)fp_planes_size(dict));
        for (uint32_t code = 0; code < dict->code_slots; code++) {
            memcpy(low + code * 8ull, tokens.rows[code], 8);
            memcpy(high + code * 8ull, tokens.rows[code] + 8, 8);
            memcpy(whole + code * 16ull, tokens.rows[code], 16);
            lens[code / 2] |= (uint8_t)((tokens.lengths[code] - 1) << (code % 2 * 4));
        }
    }
    expanded_free(&tokens, allocator);
    return status;
}

fastpair_status fp_planes_image(const fp_dict *dict, const fp_kernel *kernel, fp_gpu_image *shape,
                                uint8_t *image, const fastpair_allocator *allocator, fastpair_error *error) {
    expanded tokens = {0};
    fastpair_status status = expand(dict, &tokens, allocator, error);
    if (!status) {
        *shape = fp_gpu_image_shape(kernel->home, kernel->code_bits, kernel->max_token, tokens.lengths,
                                    dict->code_slots, dict->hot_slots);
        if (image)
            fp_gpu_image_write(shape, (const uint8_t(*)[16])tokens.rows, tokens.lengths, dict->code_slots,
                               image);
    }
    expanded_free(&tokens, allocator);
    return status;
}
