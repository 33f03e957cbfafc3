/* arrow_views.c - Arrow's views of decoded rows. In: bytes and offsets. Out: 16 bytes per row: a
 * length, and either the row itself, if it has at most 12 bytes, or its first four bytes, the number
 * of a buffer and a place in it.
 *
 * The trick: offsets lie at the end of the memory that the views take, so that they need no memory
 * of their own. A view is never written over an offset that is still wanted: offset i + 1 of width w
 * begins at (16 - w) * count + w * (i + 1), and view i ends at 16 * (i + 1), which is not past it.
 * Refuses rows that a 32-bit length cannot count. */
#include "arrow.h"
#include "format.h"

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
static inline __attribute__((always_inline)) void fill(fp_arrow_views *to, uint64_t ready,
                                                       uint32_t bits) {
    const uint8_t *offsets = to->views + fp_arrow_offsets_in_views(to->count, bits);
    const uint8_t *bytes = to->bytes;
    fp_arrow_cuts cuts = *to->cuts;
    uint64_t row = to->row, count = to->count, buffer_start = to->buffer_start;
    uint64_t start = load_offset(offsets, row, bits), end;
    uint8_t *view = to->views + row * 16;
    for (; row < count && (end = load_offset(offsets, row + 1, bits)) <= ready; row++) {
        uint64_t size = end - start;
        if (size <= LONGEST_INLINE) {
            put_inline(view, bytes + start, (uint32_t)size);
        } else {
            to->is_stuck = size > INT32_MAX;
            if (to->is_stuck) break;
            if (!cuts.count || end - buffer_start > cuts.most) {
                begin_buffer(&cuts, start);
                buffer_start = cuts.starts[cuts.count - 1];
            }
            fp_store32(view, (uint32_t)size);
            memcpy(view + 4, bytes + start, 4);
            fp_store32(view + 8, (uint32_t)(cuts.count - 1));
            fp_store32(view + 12, (uint32_t)(start - buffer_start));
            cuts.sizes[cuts.count - 1] = (int64_t)(end - buffer_start);
        }
        view += 16;
        start = end;
    }
    to->cuts->count = cuts.count;
    to->row = row;
    to->buffer_start = buffer_start;
}

void fp_arrow_make_views(fp_arrow_views *views, uint64_t ready) {
    if (views->is_stuck || views->row == views->count) return;
    if (views->offset_bits == 32)
        fill(views, ready, 32);
    else
        fill(views, ready, 64);
}
