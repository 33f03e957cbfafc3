/* oracle_parts.c - the parts of a footer, one rule of docs/format.md per line. */
#define XXH_INLINE_ALL
#include "oracle_parts.h"

#include <string.h>
#include <xxhash.h>

static uint64_t little(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static int all_zero(const uint8_t *data, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        if (data[i]) return 0;
    return 1;
}

/* One character at a time, as its definition has it: decode, then look at the number. */
int oracle_is_utf8(const uint8_t *bytes, uint64_t size) {
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    for (uint64_t i = 0; i < size;) {
        uint32_t more = bytes[i] < 0x80             ? 0
                        : (bytes[i] & 0xe0) == 0xc0 ? 1
                        : (bytes[i] & 0xf0) == 0xe0 ? 2
                        : (bytes[i] & 0xf8) == 0xf0 ? 3
                                                    : 4;
        if (more == 4 || size - i <= more) return 0;
        uint32_t character = more ? bytes[i] & (0x3fu >> more) : bytes[i];
        for (uint32_t k = 1; k <= more; k++) {
            if ((bytes[i + k] & 0xc0) != 0x80) return 0;
            character = character << 6 | (bytes[i + k] & 0x3f);
        }
        if (character < least[more] || character > 0x10ffff ||
            (character >= 0xd800 && character <= 0xdfff))
            return 0;
        i += more + 1;
    }
    return 1;
}

static int is_word(const uint8_t *bytes, uint64_t size, uint64_t most) {
    return size >= 1 && size <= most && !memchr(bytes, 0, size) && oracle_is_utf8(bytes, size);
}

/* Below 0 if string a comes before string b. */
static int compare(const uint8_t *a, uint64_t a_size, const uint8_t *b, uint64_t b_size) {
    for (uint64_t i = 0; i < a_size && i < b_size; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return a_size < b_size ? -1 : a_size > b_size;
}

static const char *check_pairs(const uint8_t *part, uint64_t size, uint32_t minor) {
    if (size < 8 || size > 1u << 20) return "size of the pairs";
    if (!minor && !all_zero(part + 4, 4)) return "zero field of the pairs";
    const uint8_t *at = part + 8, *end = part + size, *last = NULL;
    uint64_t last_size = 0;
    for (uint64_t i = 0; i < little(part, 4); i++) {
        if (end - at < 8) return "pairs beyond their part";
        uint64_t key = little(at, 4), value = little(at + 4, 4);
        if (key + value > (uint64_t)(end - at) - 8) return "a pair beyond its part";
        if (!is_word(at + 8, key, 256)) return "key";
        if (last && compare(last, last_size, at + 8, key) >= 0) return "keys do not ascend";
        last = at + 8, last_size = key;
        at += 8 + key + value;
    }
    return at == end ? NULL : "bytes after the pairs";
}

/* One bound of an entry against the smallest or the largest row. */
static const char *check_bound(const uint8_t *bound, uint64_t size, int is_cut, uint32_t width,
                               const uint8_t *row, uint64_t row_size) {
    if (size > width) return "a bound longer than K";
    if (!all_zero(bound + size, width - size)) return "padding of a bound";
    if (is_cut != (row_size > width)) return "a bound is cut, or not";
    if (size != (is_cut ? width : row_size)) return "size of a bound";
    return memcmp(bound, row, size) ? "bytes of a bound" : NULL;
}

static const char *check_entry(const uint8_t *entry, uint32_t width, const oracle_column *out,
                               uint64_t first, uint64_t rows) {
    uint64_t smallest = UINT64_MAX, largest = UINT64_MAX;
    const uint64_t *offsets = out->offsets;
    for (uint64_t row = first; row < first + rows; row++) {
        if (!out->valid[row]) continue;
        const uint8_t *bytes = out->bytes + offsets[row];
        uint64_t size = offsets[row + 1] - offsets[row];
        if (smallest == UINT64_MAX || compare(bytes, size, out->bytes + offsets[smallest],
                                              offsets[smallest + 1] - offsets[smallest]) < 0)
            smallest = row;
        if (largest == UINT64_MAX || compare(bytes, size, out->bytes + offsets[largest],
                                             offsets[largest + 1] - offsets[largest]) > 0)
            largest = row;
    }
    if (!out->minor && !all_zero(entry + 3, 5)) return "zero field of bounds";
    if (smallest == UINT64_MAX)
        return all_zero(entry, 3) && all_zero(entry + 8, 2 * width) ? NULL
                                                                    : "bounds without a valid row";
    if ((entry[0] & 1) == 0 || entry[0] > 7) return "flags of bounds";
    const char *why =
        check_bound(entry + 8, entry[1], entry[0] >> 1 & 1, width, out->bytes + offsets[smallest],
                    offsets[smallest + 1] - offsets[smallest]);
    return why ? why
               : check_bound(entry + 8 + width, entry[2], entry[0] >> 2 & 1, width,
                             out->bytes + offsets[largest],
                             offsets[largest + 1] - offsets[largest]);
}

static const char *check_bounds(const uint8_t *part, uint64_t size, const oracle_footer *footer,
                                oracle_column *out) {
    if (size < 8) return "size of the bounds";
    uint64_t width = little(part, 4), row = 0;
    if (width != 8 && width != 16 && width != 32 && width != 64) return "K";
    if (!out->minor && !all_zero(part + 4, 4)) return "zero field of the bounds";
    if (size != 8 + out->chunks * (8 + 2 * width)) return "size of the bounds";
    for (uint64_t i = 0; i < out->chunks; i++) {
        const char *why = check_entry(part + 8 + i * (8 + 2 * width), (uint32_t)width, out, row,
                                      footer->chunk_rows[i]);
        if (why) return why;
        row += footer->chunk_rows[i];
    }
    out->bound_width = (uint32_t)width;
    out->bounds = part + 8;
    return NULL;
}

const char *oracle_check_parts(const oracle_footer *footer, oracle_column *out, uint64_t *where) {
    const uint8_t *block = footer->data + footer->at;
    uint64_t end = footer->entries + 32 * footer->parts, last = 0;
    for (uint64_t i = 0; i < footer->parts; i++) {
        const uint8_t *entry = block + footer->entries + 32 * i;
        uint64_t kind = little(entry, 4), flags = little(entry + 4, 4), at = little(entry + 8, 8),
                 size = little(entry + 16, 8);
        *where = footer->at + footer->entries + 32 * i;
        if (kind <= last) return "kinds of parts";
        if (flags > 1) return "flags of a part";
        if (at != (end + 7) / 8 * 8) return "place of a part";
        if (at > footer->size || !size || size > footer->size - at) return "size of a part";
        if (!all_zero(block + end, at - end)) return "gap before a part";
        if (XXH3_64bits(block + at, size) != little(entry + 24, 8)) return "checksum of a part";
        last = kind, end = at + size;
        const uint8_t *part = block + at;
        const char *why = NULL;
        if (kind == 1) {
            why = is_word(part, size, 1024) ? NULL : "name";
            out->name = part, out->name_size = size;
        } else if (kind == 2) {
            why = check_pairs(part, size, out->minor);
            out->pairs = part, out->pairs_size = size;
        } else if (kind == 3) {
            why = check_bounds(part, size, footer, out);
        } else if (flags) {
            out->not_supported = 1;
            why = "a part that must be known";
        }
        if (why) return why;
    }
    *where = footer->at + 8;
    if (end != footer->size) return "the footer does not end with its last part";
    *where = footer->at + 65;
    for (uint64_t row = 0; out->is_text && row < out->rows; row++)
        if (!oracle_is_utf8(out->bytes + out->offsets[row],
                            out->offsets[row + 1] - out->offsets[row]))
            return "a row of a text is not UTF-8";
    return NULL;
}
