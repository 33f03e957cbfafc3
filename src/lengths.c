/* lengths.c - row lengths in blocks of 256 rows. In: row offsets, or a section from an untrusted
 * file. Out: the section of docs/format.md, or the row starts of one block.
 *
 * The trick: a block stores its smallest length once, and of each row only the difference, as
 * narrow as the largest difference allows. A directory entry per block tells where it starts, so
 * any row costs one block. Refuses widths above 32 and blocks that lie outside the section. */
#include "lengths.h"

typedef struct block_shape {
    uint64_t minimum;
    uint32_t width;
} block_shape;

static uint32_t rows_in_block(uint64_t rows, uint64_t block) {
    uint64_t left = rows - block * FP_LENGTH_BLOCK;
    return left < FP_LENGTH_BLOCK ? (uint32_t)left : FP_LENGTH_BLOCK;
}

static uint64_t block_count(uint64_t rows) {
    return rows / FP_LENGTH_BLOCK + (rows % FP_LENGTH_BLOCK != 0);
}

/* Whole 32-bit words; at most 256 * 32 / 8 = 1024 bytes. */
static uint32_t packed_bytes(uint32_t rows, uint32_t width) { return (rows * width + 31) / 32 * 4; }

static block_shape measure(const uint64_t *offsets, uint32_t rows) {
    uint64_t minimum = UINT64_MAX, maximum = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t length = offsets[i + 1] - offsets[i];
        if (length < minimum) minimum = length;
        if (length > maximum) maximum = length;
    }
    uint64_t spread = maximum - minimum;
    return (block_shape){minimum, spread ? 64 - (uint32_t)__builtin_clzll(spread) : 0};
}

uint64_t fp_lengths_size(const uint64_t *offsets, uint64_t rows) {
    uint64_t blocks = block_count(rows), size = blocks * FP_LENGTH_ENTRY;
    for (uint64_t block = 0; block < blocks; block++) {
        uint32_t count = rows_in_block(rows, block);
        size += packed_bytes(count, measure(offsets + block * FP_LENGTH_BLOCK, count).width);
    }
    return size;
}

void fp_lengths_write(const uint64_t *offsets, uint64_t rows, uint8_t *section) {
    uint64_t blocks = block_count(rows);
    uint8_t *packed_begin = section + blocks * FP_LENGTH_ENTRY, *packed = packed_begin;
    for (uint64_t block = 0; block < blocks; block++) {
        const uint64_t *first = offsets + block * FP_LENGTH_BLOCK;
        uint32_t count = rows_in_block(rows, block);
        block_shape shape = measure(first, count);
        uint8_t *entry = section + block * FP_LENGTH_ENTRY;
        fp_store32(entry, (uint32_t)(first[0] - offsets[0]));
        fp_store32(entry + 4, (uint32_t)(packed - packed_begin));
        fp_store32(entry + 8, (uint32_t)shape.minimum);
        fp_store32(entry + 12, shape.width); /* one byte, then three zero ones */
        uint64_t pending = 0;                /* bits not written yet: fewer than 32 between rows */
        uint32_t pending_bits = 0;
        for (uint32_t i = 0; i < count && shape.width; i++) {
            pending |= (first[i + 1] - first[i] - shape.minimum) << pending_bits;
            pending_bits += shape.width;
            if (pending_bits >= 32) {
                fp_store32(packed, (uint32_t)pending);
                packed += 4;
                pending >>= 32;
                pending_bits -= 32;
            }
        }
        if (pending_bits) {
            fp_store32(packed, (uint32_t)pending);
            packed += 4;
        }
    }
}

/* ---------------------------------------------------------------- reading */

/* A block as its directory entry describes it, found to lie inside the section. */
typedef struct block_view {
    uint64_t start, minimum;
    uint64_t next; /* where the next block begins, if there is one */
    uint32_t rows, width, bytes;
    int has_next;
    const uint8_t *packed;
    uint64_t after; /* bytes of the section after the block's packed ones */
} block_view;

static int find_block(const uint8_t *section, uint64_t size, uint64_t rows, uint64_t block,
                      block_view *view) {
    uint64_t directory = block_count(rows) * FP_LENGTH_ENTRY;
    if (size < directory) return 0;
    const uint8_t *entry = section + block * FP_LENGTH_ENTRY;
    uint64_t where = fp_load32(entry + 4), left = size - directory;
    view->start = fp_load32(entry);
    view->minimum = fp_load32(entry + 8);
    view->rows = rows_in_block(rows, block);
    view->has_next = (block + 1) * FP_LENGTH_ENTRY < directory;
    view->next = view->has_next ? fp_load32(entry + FP_LENGTH_ENTRY) : 0;
    view->width = entry[12];
    if (view->width > 32) return 0;
    view->bytes = packed_bytes(view->rows, view->width);
    if (where > left || view->bytes > left - where) return 0;
    view->packed = section + directory + where;
    view->after = left - where - view->bytes;
    return 1;
}

/* Loads below have 8 bytes and end at most 15 bytes past the packed ones: the second half of eight numbers
 * of 14 bits begins 7 bytes after the first. Where the section ends earlier, they read a copy with room
 * after it. */
#define LOAD_ROOM  16u
#define COPY_BYTES (FP_LENGTH_BLOCK * 4 + LOAD_ROOM)
static const uint8_t *with_room(const block_view *view, uint8_t *copy) {
    if (view->after >= LOAD_ROOM) return view->packed;
    memcpy(copy, view->packed, view->bytes);
    memset(copy + view->bytes, 0, LOAD_ROOM);
    return copy;
}

/* A number has at most 32 bits and begins at any bit of its first byte, so one load holds it. */
static uint64_t one_number(const uint8_t *packed, uint32_t width, uint32_t i) {
    return fp_load64(packed + i * width / 8) >> (i * width % 8) & ((1ull << width) - 1);
}

/* out[i + 1] = out[i] + minimum + number i. Up to 14 bits per number one load holds four numbers,
 * even from the middle of a byte, and eight numbers are whole bytes. */
static void sum_up(const uint8_t *packed, const block_view *view, uint64_t *out) {
    const uint32_t width = view->width;
    const uint64_t mask = (1ull << width) - 1, minimum = view->minimum;
    uint64_t start = out[0];
    uint32_t i = 0;
    for (const uint8_t *from = packed; width <= 14 && i + 8 <= view->rows; i += 8, from += width) {
        uint64_t low = fp_load64(from), high = fp_load64(from + width / 2) >> (width & 1) * 4;
        out[i + 1] = start += minimum + (low & mask);
        out[i + 2] = start += minimum + ((low >>= width) & mask);
        out[i + 3] = start += minimum + ((low >>= width) & mask);
        out[i + 4] = start += minimum + ((low >> width) & mask);
        out[i + 5] = start += minimum + (high & mask);
        out[i + 6] = start += minimum + ((high >>= width) & mask);
        out[i + 7] = start += minimum + ((high >>= width) & mask);
        out[i + 8] = start += minimum + ((high >> width) & mask);
    }
    for (; i < view->rows; i++) out[i + 1] = start += minimum + one_number(packed, width, i);
}

/* The sum of the first 8 * `eights` numbers of 5 to 14 bits. Every other number of a load is added in a
 * field of twice the width, which holds 32 of them: a block has no more. */
static uint64_t sum_of_eights(const uint8_t *packed, uint32_t width, uint32_t eights) {
    const uint64_t field = (1ull << 2 * width) - 1, number = (1ull << width) - 1,
                   pair = number | number << 2 * width;
    uint64_t sums[4] = {0};
    for (uint32_t i = 0; i < eights; i++, packed += width) {
        uint64_t low = fp_load64(packed), high = fp_load64(packed + width / 2) >> (width & 1) * 4;
        sums[0] += low & pair;
        sums[1] += low >> width & pair;
        sums[2] += high & pair;
        sums[3] += high >> width & pair;
    }
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) sum += (sums[i] & field) + (sums[i] >> 2 * width);
    return sum;
}

/* The sum of the first `count` numbers of eight: of 0 to 7. */
static uint64_t sum_of_few(const uint8_t *packed, uint32_t width, uint32_t count) {
    const uint64_t number = (1ull << width) - 1, pair = number | number << 2 * width;
    const uint32_t in_low = count < 4 ? count : 4, in_high = count - in_low;
    uint64_t low = fp_load64(packed) & ((1ull << in_low * width) - 1),
             high =
                 fp_load64(packed + width / 2) >> (width & 1) * 4 & ((1ull << in_high * width) - 1);
    uint64_t sums = (low & pair) + (low >> width & pair) + (high & pair) + (high >> width & pair);
    return (sums & ((1ull << 2 * width) - 1)) + (sums >> 2 * width);
}

/* The sum of the first `count` numbers. */
static uint64_t sum_of(const uint8_t *packed, uint32_t width, uint32_t count) {
    const uint64_t mask = (1ull << width) - 1;
    uint64_t even = 0, odd = 0;
    uint32_t i = 0;
    for (const uint8_t *from = packed; width < 5 && i + 8 <= count; i += 8, from += width) {
        uint64_t low = fp_load64(from), high = fp_load64(from + width / 2) >> (width & 1) * 4;
        for (int step = 0; step < 4; step++, low >>= width, high >>= width) {
            even += low & mask;
            odd += high & mask;
        }
    }
    for (; i < count; i++) even += one_number(packed, width, i);
    return even + odd;
}

/* Where row i of a block begins. In the second half of a block that is not the last, lengths are added up
 * from where the next block begins; there the start wraps below 0 if the section is hostile. */
static uint64_t row_start(const block_view *view, const uint8_t *packed, uint32_t i) {
    const uint32_t width = view->width, eight = i / 8;
    const uint64_t from_start = view->start + i * view->minimum;
    if (width < 5 || width > 14) return from_start + sum_of(packed, width, i);
    const uint8_t *there = packed + eight * width;
    const uint64_t few = sum_of_few(there, width, i % 8);
    if (i < FP_LENGTH_BLOCK / 2 || !view->has_next)
        return from_start + sum_of_eights(packed, width, eight) + few;
    return view->next - (FP_LENGTH_BLOCK - i) * view->minimum -
           (sum_of_eights(there, width, FP_LENGTH_BLOCK / 8 - eight) - few);
}

uint32_t fp_lengths_block(const uint8_t *section, uint64_t size, uint64_t rows, uint64_t block,
                          uint64_t *out) {
    block_view view;
    uint8_t copy[COPY_BYTES];
    if (!find_block(section, size, rows, block, &view)) return UINT32_MAX;
    out[0] = view.start;
    if (view.width)
        sum_up(with_room(&view, copy), &view, out);
    else
        for (uint32_t i = 0; i < view.rows; i++) out[i + 1] = view.start + (i + 1) * view.minimum;
    return view.rows;
}

uint64_t fp_lengths_row(const uint8_t *section, uint64_t size, uint64_t rows, uint64_t row,
                        uint64_t *start) {
    block_view view;
    uint8_t copy[COPY_BYTES];
    uint32_t i = (uint32_t)(row % FP_LENGTH_BLOCK);
    if (!find_block(section, size, rows, row / FP_LENGTH_BLOCK, &view)) return UINT64_MAX;
    if (start && !view.width) *start = view.start + i * view.minimum;
    if (!view.width) return view.minimum;
    if (start) {
        const uint8_t *packed = with_room(&view, copy);
        *start = row_start(&view, packed, i);
        return view.minimum + one_number(packed, view.width, i);
    }
    /* One number: copy the bytes that hold it, at most 5, instead of the block. */
    uint32_t first = i * view.width / 8, last = (i * view.width + view.width + 7) / 8;
    memset(copy, 0, 8);
    memcpy(copy, view.packed + first, last - first);
    return view.minimum + (fp_load64(copy) >> (i * view.width % 8) & ((1ull << view.width) - 1));
}

const char *fp_lengths_check(const uint8_t *section, uint64_t size, uint64_t rows,
                             uint64_t decoded_bytes, uint64_t *where) {
    uint64_t blocks = block_count(rows), directory = blocks * FP_LENGTH_ENTRY,
             starts[FP_LENGTH_BLOCK + 1];
    uint64_t packed = 0, start = 0;
    *where = 0;
    if (size < directory) return "the row-length directory does not fit its section";
    for (uint64_t block = 0; block < blocks; block++) {
        const uint8_t *entry = section + block * FP_LENGTH_ENTRY;
        *where = block * FP_LENGTH_ENTRY;
        if (entry[13] | entry[14] | entry[15]) return "a row-length field that must be zero is not";
        if (fp_load32(entry) != start)
            return "a block of row lengths does not begin where the one before ends";
        if (fp_load32(entry + 4) != packed) return "packed row lengths are not back to back";
        uint32_t count = fp_lengths_block(section, size, rows, block, starts);
        if (count == UINT32_MAX)
            return "packed row lengths lie outside their section or are too wide";
        if (starts[count] > decoded_bytes) return "row lengths go past the chunk's decoded bytes";
        start = starts[count];
        uint32_t width = entry[12], used = count * width % 32, bytes = packed_bytes(count, width);
        packed += bytes;
        if (used && fp_load32(section + directory + packed - 4) >> used) {
            *where = directory + packed - 4;
            return "the padding of packed row lengths is not zero";
        }
    }
    *where = directory + packed;
    if (packed != size - directory) return "there are bytes after the packed row lengths";
    *where = 0;
    if (start != decoded_bytes) return "row lengths do not add up to the chunk's decoded bytes";
    return NULL;
}
