/* column_bounds.c - the smallest and the largest row of chunks, for whoever wants to leave chunks
 * out. In: an open column, the number of a chunk, what is looked for. Out: the bounds, or whether
 * the chunk may have such a row. Refuses bounds that break a rule, when they are first asked for. */
#include "column.h"

#include "bounds.h"
#include "options.h"

#include <inttypes.h>

static fastpair_status find_chunk_bounds(const fastpair_column *column, uint64_t number,
                                         fastpair_chunk_bounds *bounds, fastpair_error *error) {
    if (number >= column->totals.chunks)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "chunk %" PRIu64 " is not in the column, which has %" PRIu64 " chunks",
                       number, column->totals.chunks);
    fp_column_bounds all;
    fastpair_status status = fp_column_find_bounds(column, &all, error);
    if (status || !all.entries) return status;
    const uint8_t *entry = all.entries + number * fp_bounds_entry_size(all.width);
    bounds->has_bounds = 1;
    bounds->has_row = entry[0] & FP_BOUNDS_HAS_ROW;
    if (!bounds->has_row) return FASTPAIR_OK;
    /* Sizes were found to be at most K; should others change the image, they are still. */
    bounds->smallest = entry + FP_BOUNDS_ENTRY_HEAD;
    bounds->smallest_size = entry[1] < all.width ? entry[1] : all.width;
    bounds->smallest_is_cut = (entry[0] & FP_BOUNDS_SMALLEST_CUT) != 0;
    bounds->largest = bounds->smallest + all.width;
    bounds->largest_size = entry[2] < all.width ? entry[2] : all.width;
    bounds->largest_is_cut = (entry[0] & FP_BOUNDS_LARGEST_CUT) != 0;
    return FASTPAIR_OK;
}

fastpair_status fastpair_column_get_chunk_bounds(const fastpair_column *column, uint64_t chunk,
                                                 fastpair_chunk_bounds *bounds,
                                                 fastpair_error *error) {
    fastpair_chunk_bounds found = {0};
    fastpair_status status =
        bounds ? fp_info_copy("bounds", &found, sizeof found, bounds, error) : FASTPAIR_OK;
    if (status) return status;
    if (!column || !bounds)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_get_chunk_bounds: column and bounds must not be NULL");
    status = find_chunk_bounds(column, chunk, &found, error);
    return status ? status : fp_info_copy("bounds", &found, sizeof found, bounds, error);
}

/* Compares the bytes that both have; 0 if one begins with the other. */
static int compare_common(const uint8_t *a, uint64_t a_size, const uint8_t *b, uint64_t b_size) {
    uint64_t common = a_size < b_size ? a_size : b_size;
    return common ? memcmp(a, b, (size_t)common) : 0;
}

/* Whether a row of the chunk can begin with the bytes. */
static int may_begin(const fastpair_chunk_bounds *bounds, const uint8_t *bytes, uint64_t size) {
    if (compare_common(bounds->smallest, bounds->smallest_size, bytes, size) > 0) return 0;
    int order = compare_common(bounds->largest, bounds->largest_size, bytes, size);
    return order > 0 || (order == 0 && (bounds->largest_size >= size || bounds->largest_is_cut));
}

/* Whether a row of the chunk can equal the bytes. */
static int may_equal(const fastpair_chunk_bounds *bounds, const uint8_t *bytes, uint64_t size) {
    uint64_t low = bounds->smallest_size, high = bounds->largest_size;
    int order = compare_common(bounds->smallest, low, bytes, size);
    /* A smallest row that is cut has bytes after these, so what equals these is below it. */
    if (order > 0 || (order == 0 && size < low + (uint64_t)bounds->smallest_is_cut)) return 0;
    order = compare_common(bounds->largest, high, bytes, size);
    return order > 0 || (order == 0 && (size <= high || bounds->largest_is_cut));
}

fastpair_status fastpair_column_may_hold(const fastpair_column *column, uint64_t chunk,
                                         fastpair_row_test test, const void *bytes, uint64_t size,
                                         int *may, fastpair_error *error) {
    if (may) *may = 1;
    if (!column || !may || (!bytes && size))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_may_hold: column, bytes and may must not be NULL");
    if ((uint32_t)test > FASTPAIR_ROW_PREFIX)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_may_hold: unknown test %d", (int)test);
    fastpair_chunk_bounds bounds = {0};
    fastpair_status status = find_chunk_bounds(column, chunk, &bounds, error);
    if (status || !bounds.has_bounds) return status;
    *may = bounds.has_row && (test == FASTPAIR_ROW_EQUAL ? may_equal(&bounds, bytes, size)
                                                         : may_begin(&bounds, bytes, size));
    return FASTPAIR_OK;
}
