/* arrow_read.h - reading Arrow arrays in tests, by Arrow's specification alone: nothing here shares
 * code with the library. */
#ifndef FP_TESTS_ARROW_READ_H
#define FP_TESTS_ARROW_READ_H

#include "fastpair_arrow.h"
#include "verify.h"

typedef struct arrow_row {
    const uint8_t *bytes;
    uint64_t size;
    int is_null;
} arrow_row;

static inline int64_t arrow_number(const void *buffer, int64_t i, int width) {
    int64_t number = 0;
    if (width == 4) {
        int32_t narrow;
        memcpy(&narrow, (const uint8_t *)buffer + i * 4, 4);
        return narrow;
    }
    memcpy(&number, (const uint8_t *)buffer + i * 8, 8);
    return number;
}

/* Row i of an array of strings. */
static inline arrow_row arrow_get(const char *format, const struct ArrowArray *array, int64_t i) {
    int64_t at = array->offset + i;
    const uint8_t *validity = array->buffers[0];
    arrow_row row = {NULL, 0, validity && !(validity[at / 8] >> (at % 8) & 1)};
    if (format[0] == 'v') {
        const uint8_t *view = (const uint8_t *)array->buffers[1] + at * 16;
        int64_t size = arrow_number(view, 0, 4);
        row.size = (uint64_t)size;
        row.bytes = view + 4;
        if (size > 12) {
            int64_t buffer = arrow_number(view + 8, 0, 4), start = arrow_number(view + 12, 0, 4);
            const void *sizes = array->buffers[array->n_buffers - 1];
            CHECK(buffer >= 0 && buffer < array->n_buffers - 3);
            CHECK(start >= 0 && start + size <= arrow_number(sizes, buffer, 8));
            row.bytes = (const uint8_t *)array->buffers[2 + buffer] + start;
            CHECK(!memcmp(view + 4, row.bytes, 4));
        } else {
            for (int64_t k = 4 + size; k < 16; k++) CHECK(view[k] == 0);
        }
        return row;
    }
    int width = format[0] == 'u' || format[0] == 'z' ? 4 : 8;
    int64_t start = arrow_number(array->buffers[1], at, width),
            end = arrow_number(array->buffers[1], at + 1, width);
    row.bytes = (const uint8_t *)array->buffers[2] + start;
    row.size = (uint64_t)(end - start);
    return row;
}

/* Buffers of an exported array: aligned, padded with zeros, the spare bits of the bitmap 0. */
static inline void arrow_check_buffers(const char *format, const struct ArrowArray *array) {
    uint64_t sizes[3] = {((uint64_t)array->length + 7) / 8, 0, 0};
    int is_view = format[0] == 'v', width = format[0] == 'u' || format[0] == 'z' ? 4 : 8;
    sizes[1] =
        is_view ? (uint64_t)array->length * 16 : ((uint64_t)array->length + 1) * (uint64_t)width;
    if (!is_view) sizes[2] = (uint64_t)arrow_number(array->buffers[1], array->length, width);
    CHECK_EQ(array->offset, 0);
    CHECK(is_view ? array->n_buffers >= 3 : array->n_buffers == 3);
    for (int64_t i = 0; i < array->n_buffers; i++) CHECK_EQ((uintptr_t)array->buffers[i] % 64, 0);
    CHECK_EQ(array->buffers[0] != NULL, array->null_count != 0);
    uint64_t wrong = 0;
    for (int k = array->null_count ? 0 : 1; k < (is_view ? 2 : 3); k++)
        for (uint64_t i = sizes[k]; i % 64; i++)
            wrong += ((const uint8_t *)array->buffers[k])[i] != 0;
    const uint8_t *validity = array->buffers[0];
    for (int64_t i = array->length; validity && i % 8; i++) wrong += validity[i / 8] >> (i % 8) & 1;
    CHECK_EQ(wrong, 0);
}

/* An exported array of strings against rows of a shape. */
static inline void arrow_check_rows(const char *format, const struct ArrowArray *array,
                                    const shape *s, const uint64_t *listed, uint64_t first) {
    uint64_t wrong = 0, nulls = 0;
    arrow_check_buffers(format, array);
    for (int64_t i = 0; i < array->length; i++) {
        uint64_t row = listed ? listed[i] : first + (uint64_t)i;
        uint64_t start = s->out_offsets[row], size = s->out_offsets[row + 1] - start;
        arrow_row got = arrow_get(format, array, i);
        nulls += (uint64_t)got.is_null;
        wrong += got.is_null == verify_valid(s, row) || got.size != size ||
                 (size && memcmp(got.bytes, s->out_bytes + start, size) != 0);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(array->null_count, nulls);
}

#endif
