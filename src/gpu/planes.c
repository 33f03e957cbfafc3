/* planes.c - a dictionary as kernels read it. In: a dictionary of an open column. Out: fixed-stride planes (first 8 bytes, last 8
 * bytes, whole 16-byte rows) and a table of length nibbles, so that a code is an address and no offset table is read first; of
 * these, only what a kernel reads. The trick: an open column has its tokens in rows already, to decode on the CPU, so that all
 * that is left is to copy them. */
#include "batch.h"

#include <string.h>

uint32_t fp_planes_of(const fp_kernel *kernel) {
    if (fp_kernel_is_assembled(kernel)) {
        if (kernel->home != FP_GPU_HOT && kernel->home != FP_GPU_FAR) return 0;
        return kernel->max_token == 16 ? FP_PLANE_ROWS16 : FP_PLANE_LOW8;
    }
    if (kernel->low_bytes == 16) return FP_PLANE_ROWS16 | FP_PLANE_NIBBLES;
    return FP_PLANE_LOW8 | FP_PLANE_NIBBLES | (kernel->max_token == 16 ? FP_PLANE_HIGH8 : 0);
}

/* ---------------------------------------------------------------- places */

/* Assembled kernels with a hot part read tokens of codes that they have not checked yet: those behind the last slot are
 * zeros. */
static uint64_t plane_bytes(const fp_dict *dict, uint32_t width) {
    uint64_t rows = dict->hot_slots ? 1ull << dict->code_bits : fp_align(dict->code_slots, 64);
    return fp_device_align(rows * width);
}
static uint64_t nibble_bytes(const fp_dict *dict) {
    return fp_device_align((dict->code_slots + 1ull) / 2);
}

/* `bytes` at *next if they are wanted, which moves on; else 0. */
static uint64_t take(int wanted, uint64_t bytes, uint64_t *next) {
    uint64_t here = *next;
    if (wanted) *next += bytes;
    return wanted ? here : 0;
}

/* Planes from *next on, which moves behind the last. */
static fp_gpu_dict place(const fp_dict *dict, uint32_t planes, uint64_t *next) {
    fp_gpu_dict entry = {.slots = dict->code_slots, .code_bits = dict->code_bits};
    entry.low8 = take(planes & FP_PLANE_LOW8, plane_bytes(dict, 8), next);
    entry.high8 = take(planes & FP_PLANE_HIGH8, plane_bytes(dict, 8), next);
    entry.rows16 = take(planes & FP_PLANE_ROWS16, plane_bytes(dict, 16), next);
    entry.nibbles = take(planes & FP_PLANE_NIBBLES, nibble_bytes(dict), next);
    return entry;
}

uint64_t fp_planes_size(const fp_dict *dict, uint32_t planes) {
    uint64_t size = 0;
    place(dict, planes, &size);
    return size;
}

fp_gpu_dict fp_planes_describe(const fp_dict *dict, uint32_t planes, uint64_t address) {
    fp_gpu_dict entry = place(dict, planes, &address);
    for (uint32_t r = 0; r < dict->run_count; r++)
        if (dict->runs[r].length > entry.max_length) entry.max_length = dict->runs[r].length;
    return entry;
}

/* ---------------------------------------------------------------- contents */

/* Bytes first .. first + width of each token, and zeros up to the plane's end. */
static void write_plane(const fp_column_dict *from, uint32_t first, uint32_t width,
                        uint8_t *plane) {
    uint32_t row_bytes, slots = from->dict.code_slots;
    const uint8_t *rows = fp_decoder_rows(from->decoder, &row_bytes);
    uint32_t there = row_bytes <= first ? 0 : row_bytes - first < width ? row_bytes - first : width;
    uint64_t end = (uint64_t)width * slots;
    if (there < width) memset(plane, 0, (size_t)end);
    if (there == row_bytes && there == width)
        memcpy(plane, rows, (size_t)end);
    else if (there)
        for (uint64_t i = 0; i < slots; i++)
            memcpy(plane + width * i, rows + row_bytes * i + first, 8);
    memset(plane + end, 0, (size_t)(plane_bytes(&from->dict, width) - end));
}

/* Lengths of all 2^b code patterns; NULL if there is no memory. */
static uint8_t *expand_lengths(const fp_dict *dict, const fastpair_allocator *allocator,
                               fastpair_error *error) {
    uint64_t patterns = 1ull << dict->code_bits;
    uint8_t *lengths = fp_allocate(allocator, patterns, 1);
    if (lengths)
        fp_dict_expand(dict, NULL, lengths);
    else
        fp_fail_memory(error, patterns);
    return lengths;
}

fastpair_status fp_planes_write(const fp_column_dict *from, uint32_t planes, uint8_t *memory,
                                const fastpair_allocator *allocator, fastpair_error *error) {
    const fp_dict *dict = &from->dict;
    uint64_t next = 0;
    fp_gpu_dict at = place(dict, planes, &next);
    if (planes & FP_PLANE_LOW8) write_plane(from, 0, 8, memory + at.low8);
    if (planes & FP_PLANE_HIGH8) write_plane(from, 8, 8, memory + at.high8);
    if (planes & FP_PLANE_ROWS16) write_plane(from, 0, 16, memory + at.rows16);
    if (!(planes & FP_PLANE_NIBBLES)) return FASTPAIR_OK;
    uint8_t *lengths = expand_lengths(dict, allocator, error), *nibbles = memory + at.nibbles;
    if (!lengths) return FASTPAIR_ERROR_OUT_OF_MEMORY;
    memset(nibbles, 0, (size_t)nibble_bytes(dict));
    for (uint32_t code = 0; code < dict->code_slots; code++)
        nibbles[code / 2] |= (uint8_t)((lengths[code] - 1) << (code % 2 * 4));
    fp_release(allocator, lengths);
    return FASTPAIR_OK;
}

fastpair_status fp_planes_image(const fp_column_dict *from, const fp_kernel *kernel,
                                fp_gpu_image *shape, uint8_t *image,
                                const fastpair_allocator *allocator, fastpair_error *error) {
    const fp_dict *dict = &from->dict;
    uint8_t *lengths = expand_lengths(dict, allocator, error);
    if (!lengths) return FASTPAIR_ERROR_OUT_OF_MEMORY;
    *shape = fp_gpu_image_shape(kernel->home, kernel->code_bits, kernel->max_token, lengths,
                                dict->code_slots, dict->hot_slots);
    if (image) {
        uint32_t row_bytes;
        const uint8_t *rows = fp_decoder_rows(from->decoder, &row_bytes);
        fp_gpu_image_write(shape, rows, row_bytes, lengths, dict->code_slots, image);
        memset(image + shape->bytes, 0, (size_t)(fp_device_align(shape->bytes) - shape->bytes));
    }
    fp_release(allocator, lengths);
    return FASTPAIR_OK;
}
