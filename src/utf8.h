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

/* Judges `size` bytes of a text, of which the three bytes before them are readable. A byte is judged
 * by itself and the three before it; whether the text may end after the last is not asked. The result
 * has one bit if a byte is wrong, and one if a byte, or one of the three before, is above 127: it may
 * be there in vain. `level` is one that this CPU has, not
 * FASTPAIR_CPU_BEST. */
enum { FP_UTF8_WRONG = 1, FP_UTF8_HIGH = 2 };
uint32_t fp_utf8_judge(fastpair_cpu_level level, const uint8_t *bytes, uint64_t size);

/* The same for one level each (utf8_loop.h). */
uint32_t fp_utf8_judge_avx2(const uint8_t *bytes, uint64_t size);
uint32_t fp_utf8_judge_avx512(const uint8_t *bytes, uint64_t size);

/* Whether bytes at offsets[*row], offsets[*row + 1] and so on continue a character: not 0 if one does.
 * Looks at 16 offsets at a time, as long as they are before offset number `rows` and below `to`. *row
 * becomes the first that is left. Offsets ascend from 3 on and are below 2^31. */
uint32_t fp_utf8_starts_avx512(const uint8_t *bytes, const uint32_t *offsets, uint64_t rows,
                               uint32_t to, uint64_t *row);

/* 1 if a byte is wrong after the three before it, of which `one` is the nearest. */
static inline int fp_utf8_is_fault(uint8_t now, uint8_t one, uint8_t two, uint8_t three) {
    int wanted = one >= 0xc2 || two >= 0xe0 || three >= 0xf0;
    if (wanted != ((now & 0xc0) == 0x80) || now >= 0xf5 || (now & 0xfe) == 0xc0) return 1;
    return (one == 0xe0 && now < 0xa0) || (one == 0xed && now > 0x9f) ||
           (one == 0xf0 && now < 0x90) || (one == 0xf4 && now > 0x8f);
}

/* The first valid row that is not UTF-8, or rows->rows; *byte gets what fp_utf8_fault says of it.
 * The rows have passed fp_rows_check. */
uint64_t fp_rows_not_text(const fastpair_rows *rows, uint64_t *byte);

#endif
