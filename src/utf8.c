/* utf8.c - whether bytes are UTF-8. In: a text, whole or in pieces, or rows. Out: where it is not.
 *
 * The trick: rows that lie back to back are UTF-8 if all their bytes are, and no row begins with a
 * byte that continues a character. So bytes are judged without regard to rows, 32 at a time while
 * they are ASCII, and 16 at a time where they are not. Refuses nothing: it answers. */
#include "utf8.h"

/* Bytes that are looked at together. */
#define PIECE 4096u

int fp_is_ascii(const uint8_t *bytes, uint64_t size) {
    uint64_t seen = 0, i = 0;
    for (; i + 32 <= size; i += 32) {
        seen |= fp_load64(bytes + i) | fp_load64(bytes + i + 8) | fp_load64(bytes + i + 16) |
                fp_load64(bytes + i + 24);
        if (i % 4096 == 0 && seen & 0x8080808080808080u) return 0;
    }
    for (; i < size; i++) seen |= bytes[i];
    return !(seen & 0x8080808080808080u);
}

/* A byte is judged by itself and the three before it: it must continue a character if and only if
 * one of these has begun a character that is long enough. Then the few beginnings that have rules of
 * their own: E0 and F0, after which small numbers would be overlong, ED with surrogates, F4 with what
 * is above U+10FFFF. All of it are comparisons, so 16 bytes are judged at once. */
typedef uint8_t sixteen __attribute__((vector_size(16)));

#define SIXTEEN(value)                                                                             \
    ((sixteen){(value), (value), (value), (value), (value), (value), (value), (value), (value),    \
               (value), (value), (value), (value), (value), (value), (value)})

static inline sixteen load(const uint8_t *bytes) {
    sixteen value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Not 0 where one of 16 bytes is wrong; the three bytes before them are there. */
static inline sixteen faults(const uint8_t *bytes) {
    sixteen now = load(bytes), one = load(bytes - 1), two = load(bytes - 2),
            three = load(bytes - 3);
    sixteen wanted = (sixteen)(one >= SIXTEEN(0xc2)) | (sixteen)(two >= SIXTEEN(0xe0)) |
                     (sixteen)(three >= SIXTEEN(0xf0));
    sixteen continues = (sixteen)((now & SIXTEEN(0xc0)) == SIXTEEN(0x80));
    sixteen bad =
        (sixteen)(now >= SIXTEEN(0xf5)) | (sixteen)((now & SIXTEEN(0xfe)) == SIXTEEN(0xc0));
    bad |= (sixteen)(one == SIXTEEN(0xe0)) & (sixteen)(now < SIXTEEN(0xa0));
    bad |= (sixteen)(one == SIXTEEN(0xed)) & (sixteen)(now > SIXTEEN(0x9f));
    bad |= (sixteen)(one == SIXTEEN(0xf0)) & (sixteen)(now < SIXTEEN(0x90));
    bad |= (sixteen)(one == SIXTEEN(0xf4)) & (sixteen)(now > SIXTEEN(0x8f));
    return bad | (wanted ^ continues);
}

/* The first fault in bytes from .. to, or `to`. */
static uint64_t find_fault(const fp_utf8 *text, const uint8_t *bytes, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        uint8_t one = i > 0 ? bytes[i - 1] : text->before[2];
        uint8_t two = i > 1 ? bytes[i - 2] : text->before[1 + i];
        uint8_t three = i > 2 ? bytes[i - 3] : text->before[i];
        if (fp_utf8_is_fault(bytes[i], one, two, three)) return i;
    }
    return to;
}

uint64_t fp_utf8_take(fp_utf8 *text, const uint8_t *bytes, uint64_t size) {
    uint64_t i = size < 3 ? size : 3, good = find_fault(text, bytes, 0, i);
    if (good < i) return good;
    sixteen seen = SIXTEEN(0);
    for (; i + sizeof seen <= size; i += sizeof seen) seen |= faults(bytes + i);
    uint64_t halves[2];
    memcpy(halves, &seen, sizeof seen);
    good = find_fault(text, bytes, halves[0] | halves[1] ? 0 : i, size);
    if (good < size) return good;
    for (uint64_t k = size < 3 ? 0 : size - 3; k < size; k++) {
        text->before[0] = text->before[1];
        text->before[1] = text->before[2];
        text->before[2] = bytes[k];
    }
    return size;
}

/* fp_utf8_judge for any CPU. */
static uint32_t judge_portably(const uint8_t *bytes, uint64_t size) {
    uint64_t i = 0, halves[2];
    if (fp_is_ascii(bytes - (size ? 3 : 0), size + (size ? 3 : 0))) return 0;
    sixteen seen = SIXTEEN(0);
    for (; i + sizeof seen <= size; i += sizeof seen) seen |= faults(bytes + i);
    memcpy(halves, &seen, sizeof seen);
    int wrong = (halves[0] | halves[1]) != 0;
    for (const uint8_t *at = bytes + i; at < bytes + size; at++)
        wrong |= fp_utf8_is_fault(at[0], at[-1], at[-2], at[-3]);
    return (wrong ? FP_UTF8_WRONG : 0) | FP_UTF8_HIGH;
}

uint32_t fp_utf8_judge(fastpair_cpu_level level, const uint8_t *bytes, uint64_t size) {
#if defined(__x86_64__)
    if (level == FASTPAIR_CPU_AVX512) return fp_utf8_judge_avx512(bytes, size);
    if (level == FASTPAIR_CPU_AVX2) return fp_utf8_judge_avx2(bytes, size);
#endif
    (void)level;
    return judge_portably(bytes, size);
}

uint64_t fp_utf8_fault(const uint8_t *bytes, uint64_t size) {
    fp_utf8 text = {{0}};
    uint64_t good = fp_utf8_take(&text, bytes, size);
    return good < size || !fp_utf8_is_whole(&text) ? good : UINT64_MAX;
}

/* Whether all bytes of rows are one text, in which no row begins inside a character. */
static int is_text(const fastpair_rows *rows) {
    uint64_t start = fp_row_start(rows, 0), end = fp_row_start(rows, rows->rows);
    int is_ascii = 1;
    fp_utf8 text = {{0}};
    for (uint64_t at = start; at < end;) {
        uint64_t piece = end - at < PIECE ? end - at : PIECE;
        if (!fp_utf8_is_whole(&text) || !fp_is_ascii(rows->bytes + at, piece)) {
            is_ascii = 0;
            if (fp_utf8_take(&text, rows->bytes + at, piece) != piece) return 0;
        } else {
            text = (fp_utf8){{0}};
        }
        at += piece;
    }
    if (!fp_utf8_is_whole(&text)) return 0;
    for (uint64_t row = 0; !is_ascii && row < rows->rows; row++) {
        uint64_t at = fp_row_start(rows, row);
        if (at < end && (rows->bytes[at] & 0xc0) == 0x80) return 0;
    }
    return 1;
}

uint64_t fp_rows_not_text(const fastpair_rows *rows, uint64_t *byte) {
    if (!rows->rows || is_text(rows)) return rows->rows;
    /* A row is wrong, or there are null rows with bytes, which are nobody's. */
    for (uint64_t row = 0; row < rows->rows; row++) {
        uint64_t start = fp_row_start(rows, row), end = fp_row_start(rows, row + 1);
        if (start == end || fp_row_is_null(rows, row)) continue;
        *byte = fp_utf8_fault(rows->bytes + start, end - start);
        if (*byte != UINT64_MAX) return row;
    }
    return rows->rows;
}
