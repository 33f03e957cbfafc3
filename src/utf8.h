/* utf8.h - whether bytes are UTF-8: no overlong form, no surrogate, nothing above U+10FFFF. */
#ifndef FP_UTF8_H
#define FP_UTF8_H

#include "rows.h"

/* Between two pieces of a text: its last three bytes. All zero is its beginning. */
typedef struct fp_utf8 {
    uint8_t before[3];
} fp_utf8;

/* Takes the next bytes of a text. Returns how many are good: `size`, or the offset of the first bad
 * byte, after which the state means nothing. */
uint64_t fp_utf8_take(fp_utf8 *text, const uint8_t *bytes, uint64_t size);

/* 1 if the text may end here: no character lacks a byte. */
static inline int fp_utf8_is_whole(const fp_utf8 *text) {
    return text->before[2] < 0xc2 && text->before[1] < 0xe0 && text->before[0] < 0xf0;
}

/* The offset of the first byte that is not UTF-8, `size` if the text ends inside a character, or
 * UINT64_MAX if all is good. */
uint64_t fp_utf8_fault(const uint8_t *bytes, uint64_t size);

/* 1 if no byte is above 127. */
int fp_is_ascii(const uint8_t *bytes, uint64_t size);

/* The first valid row that is not UTF-8, or rows->rows; *byte gets what fp_utf8_fault says of it.
 * The rows have passed fp_rows_check. */
uint64_t fp_rows_not_text(const fastpair_rows *rows, uint64_t *byte);

#endif
