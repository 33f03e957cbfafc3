/* bounds.c - the smallest and the largest row of each chunk. In: rows, or untrusted entries. Out:
 * entries, or what is wrong with them.
 *
 * The trick: cutting keeps order, so the smallest of rows that are cut is the smallest row, cut. 64
 * bytes of each row and whether it goes on are enough to make the entry for every K. Refuses entries
 * that break a rule of docs/format.md, section 4. */
#include "bounds.h"

/* A file pays one byte in this many for its bounds. */
#define SHARE 500u
/* What the part takes besides: its entry in the footer, and the gap before it. */
#define PART_REST (FP_PART_ENTRY + 7u)
/* A list is not cut down before it has this many bytes. */
#define LEAST_LIST (64u << 10)

/* ---------------------------------------------------------------- rows */

void fp_bound_set(fp_bound *bound, const uint8_t *row, uint64_t size) {
    bound->size = size > FP_MOST_BOUND ? FP_MOST_BOUND + 1 : size;
    for (uint64_t i = 0; i < FP_BOUND_WORDS; i++)
        bound->words[i] = 8 * i < size ? fp_bound_word(row, size, 8 * i) : 0;
}

static int compare(const fp_bound *a, const fp_bound *b) {
    for (uint32_t i = 0; i < FP_BOUND_WORDS; i++)
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

void fp_bounds_merge(fp_bounds *bounds, const fp_bounds *more) {
    if (!more->has_row) return;
    if (!bounds->has_row || compare(&more->smallest, &bounds->smallest) < 0)
        bounds->smallest = more->smallest;
    if (!bounds->has_row || compare(&more->largest, &bounds->largest) > 0)
        bounds->largest = more->largest;
    bounds->has_row = 1;
}

static void write_bytes(const fp_bound *bound, uint32_t width, uint8_t *out) {
    for (uint32_t i = 0; i < width / 8; i++)
        fp_store64(out + 8 * (uint64_t)i, __builtin_bswap64(bound->words[i]));
}

/* ---------------------------------------------------------------- bytes */

void fp_bounds_write_header(uint32_t width, uint8_t *out) { fp_store64(out, width); }

void fp_bounds_write(const fp_bounds *bounds, uint32_t width, uint8_t *out) {
    memset(out, 0, fp_bounds_entry_size(width));
    if (!bounds->has_row) return;
    const uint64_t low = bounds->smallest.size, high = bounds->largest.size;
    out[0] = (uint8_t)(FP_BOUNDS_HAS_ROW | (low > width ? FP_BOUNDS_SMALLEST_CUT : 0) |
                       (high > width ? FP_BOUNDS_LARGEST_CUT : 0));
    out[1] = (uint8_t)(low < width ? low : width);
    out[2] = (uint8_t)(high < width ? high : width);
    write_bytes(&bounds->smallest, width, out + FP_BOUNDS_ENTRY_HEAD);
    write_bytes(&bounds->largest, width, out + FP_BOUNDS_ENTRY_HEAD + width);
}

void fp_bounds_narrow(const uint8_t *entry, uint32_t width, uint32_t narrower, uint8_t *out) {
    const uint8_t flags = entry[0], low = entry[1], high = entry[2];
    out[0] = (uint8_t)(flags | (low > narrower ? FP_BOUNDS_SMALLEST_CUT : 0) |
                       (high > narrower ? FP_BOUNDS_LARGEST_CUT : 0));
    out[1] = (uint8_t)(low < narrower ? low : narrower);
    out[2] = (uint8_t)(high < narrower ? high : narrower);
    fp_bounds_clear_zero(out);
    /* The output may lie over the input, before it. */
    memmove(out + FP_BOUNDS_ENTRY_HEAD, entry + FP_BOUNDS_ENTRY_HEAD, narrower);
    memmove(out + FP_BOUNDS_ENTRY_HEAD + narrower, entry + FP_BOUNDS_ENTRY_HEAD + width, narrower);
}

const char *fp_bounds_header_fault(const uint8_t *header, uint64_t size, uint64_t chunks,
                                   uint32_t minor, uint32_t *width) {
    *width = fp_load32(header);
    if (*width != 8 && *width != 16 && *width != 32 && *width != 64)
        return "bounds have another width than 8, 16, 32 or 64 bytes";
    if (!minor && fp_load32(header + 4)) return "a field of bounds that must be zero is not";
    /* Chunks are below 2^57 and an entry has at most 136 bytes. */
    if (chunks > size || size != fp_bounds_part_size(chunks, *width))
        return "the bounds have another size than the chunks need";
    return NULL;
}

const char *fp_bounds_entry_fault(const uint8_t *entry, uint32_t width, uint32_t minor) {
    const uint8_t *smallest = entry + FP_BOUNDS_ENTRY_HEAD, *largest = smallest + width;
    const uint32_t flags = entry[0], low = entry[1], high = entry[2];
    if (flags > 7) return "bounds have a flag that is not known";
    if (!minor && !fp_all_zero(entry + 3, 5)) return "a field of bounds that must be zero is not";
    if (!(flags & FP_BOUNDS_HAS_ROW))
        return flags || low || high || !fp_all_zero(smallest, 2 * (uint64_t)width)
                   ? "a chunk without a valid row has bounds"
                   : NULL;
    if (low > width || high > width) return "a bound is longer than bounds can be";
    if ((flags & FP_BOUNDS_SMALLEST_CUT && low < width) ||
        (flags & FP_BOUNDS_LARGEST_CUT && high < width))
        return "a bound is cut, but shorter than it may be";
    if (!fp_all_zero(smallest + low, width - low) || !fp_all_zero(largest + high, width - high))
        return "the padding of a bound is not zero";
    int order = memcmp(smallest, largest, width);
    if (order > 0 || (!order && (low > high || (flags & FP_BOUNDS_SMALLEST_CUT &&
                                                !(flags & FP_BOUNDS_LARGEST_CUT)))))
        return "the smallest row is above the largest";
    return NULL;
}

/* ---------------------------------------------------------------- the bounds of a file, so far */

void fp_bounds_list_begin(fp_bounds_list *list, uint32_t width) {
    list->is_fixed = width != 0;
    list->width = width ? width : FP_MOST_BOUND;
    list->chunks = list->part.size = 0;
}

/* Makes all entries narrower, or gives them up. */
static void narrow_list(fp_bounds_list *list) {
    const uint32_t width = list->width, half = width / 2;
    list->width = half < FP_LEAST_BOUND ? 0 : half;
    list->part.size = list->width ? fp_bounds_part_size(list->chunks, half) : 0;
    uint8_t *entries = list->part.data + FP_BOUNDS_HEADER;
    for (uint64_t i = 0; list->width && i < list->chunks; i++)
        fp_bounds_narrow(entries + i * fp_bounds_entry_size(width), width, half,
                         entries + i * fp_bounds_entry_size(half));
}

fastpair_status fp_bounds_list_add(fp_bounds_list *list, const fp_bounds *bounds,
                                   uint64_t file_bytes, const fastpair_allocator *allocator,
                                   fastpair_error *error) {
    if (!list->width) return FASTPAIR_OK;
    uint64_t size = fp_bounds_entry_size(list->width);
    fastpair_status status =
        fp_buffer_reserve(&list->part, allocator, FP_BOUNDS_HEADER + size, error);
    if (status) return status;
    if (!list->chunks) list->part.size = FP_BOUNDS_HEADER;
    fp_bounds_write(bounds, list->width, list->part.data + list->part.size);
    list->part.size += size;
    list->chunks++;
    while (!list->is_fixed && list->width && list->part.size > LEAST_LIST &&
           list->part.size / 2 > file_bytes / SHARE)
        narrow_list(list);
    return FASTPAIR_OK;
}

void fp_bounds_list_finish(fp_bounds_list *list, uint64_t file_bytes) {
    while (!list->is_fixed && list->width && list->chunks &&
           list->part.size + PART_REST > file_bytes / SHARE)
        narrow_list(list);
    if (list->width && list->chunks) fp_bounds_write_header(list->width, list->part.data);
}

unsigned __int128 fp_bounds_most(unsigned __int128 chunks, unsigned __int128 file_bytes,
                                 uint32_t width) {
    unsigned __int128 whole =
        chunks * fp_bounds_entry_size(width ? width : FP_MOST_BOUND) + FP_BOUNDS_HEADER + PART_REST;
    return width || whole < file_bytes / SHARE ? whole : file_bytes / SHARE;
}
