/* arrow_views.c - Arrow's views of decoded rows. In: bytes and offsets. Out: 16 bytes per row: a
 * length, and either the row itself, if it has at most 12 bytes, or its first four bytes, the number
 * of a buffer and a place in it.
 *
 * The trick: offsets lie at the end of the memory that the views take, so that they need no memory
 * of their own. A view is never written over an offset that is still wanted: offset i + 1 of width w
 * ends at (16 - w) * count + w * (i + 2) or later, and view i ends at 16 * (i + 1), which is not
 * past the start of offset i + 2. Refuses rows that a 32-bit length cannot count. */
#include "arrow.h"
#include "format.h"

#include <inttypes.h>
#include <string.h>

#define LONGEST_INLINE 12u

static inline uint64_t load_offset(const uint8_t *offsets, uint64_t i, uint32_t bits) {
    return bits == 32 ? fp_load32(offsets + i * 4) : fp_load64(offsets + i * 8);
}

/* The first `size` of 12 bytes, the rest 0. Bytes after them are readable. */
static inline void put_inline(uint8_t *view, const uint8_t *row, uint32_t size) {
    uint64_t low = fp_load64(row);
    uint32_t high = fp_load32(row + 8);
    low = size >= 8 ? low : low & ((1ull << size % 8 * 8) - 1);
    high = size >= 12 ? high : size > 8 ? high & ((1u << size % 4 * 8) - 1) : 0;
    fp_store32(view, size);
    fp_store64(view + 4, low);
    fp_store32(view + 12, high);
}

/* Begins another buffer, at a multiple of the alignment so that it may overlap the one before it. */
static void begin_buffer(fp_arrow_cuts *cuts, uint64_t start) {
    cuts->starts[cuts->count] = start / FP_ARROW_ALIGNMENT * FP_ARROW_ALIGNMENT;
    cuts->sizes[cuts->count] = 0;
    cuts->count++;
}

/* Inlined for each width, so that the loop does not ask for it. */
static inline __attribute__((always_inline)) uint64_t
fill(uint8_t *views, uint64_t count, uint32_t bits, const uint8_t *bytes, fp_arrow_cuts *cuts) {
    const uint8_t *offsets = views + fp_arrow_offsets_in_views(count, bits);
    uint64_t start = count ? load_offset(offsets, 0, bits) : 0, buffer_start = 0;
    for (uint64_t row = 0; row < count; row++) {
        uint64_t end = load_offset(offsets, row + 1, bits), size = end - start;
        uint8_t *view = views + row * 16;
        if (size <= LONGEST_INLINE) {
            put_inline(view, bytes + start, (uint32_t)size);
        } else {
            if (size > INT32_MAX) return row;
            if (!cuts->count || end - buffer_start > cuts->most) {
                begin_buffer(cuts, start);
                buffer_start = cuts->starts[cuts->count - 1];
            }
            fp_store32(view, (uint32_t)size);
            memcpy(view + 4, bytes + start, 4);
            fp_store32(view + 8, (uint32_t)(cuts->count - 1));
            fp_store32(view + 12, (uint32_t)(start - buffer_start));
            cuts->sizes[cuts->count - 1] = (int64_t)(end - buffer_start);
        }
        start = end;
    }
    return count;
}

fastpair_status fp_arrow_fill_views(uint8_t *views, uint64_t count, uint32_t offset_bits,
                                    const uint8_t *bytes, fp_arrow_cuts *cuts,
                                    fastpair_error *error) {
    cuts->count = 0;
    uint64_t row = offset_bits == 32 ? fill(views, count, 32, bytes, cuts)
                                     : fill(views, count, 64, bytes, cuts);
    if (row == count) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_LIMIT, row,
                   "row %" PRIu64 " of the array has 2 GiB or more, too many for a view; export "
                   "it with 64-bit offsets",
                   row);
}
