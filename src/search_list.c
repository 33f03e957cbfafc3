/* search_list.c - the numbers of rows that a search finds. In: a search, and where to begin. Out: row
 * numbers in order, as many as there is room for. The trick: rows are searched in windows that grow,
 * so that whoever wants one row pays for few, and whoever wants all has threads. Refuses rows outside
 * the column. */
#include "search.h"

#define FIRST_WINDOW (8u << 10)
#define LAST_WINDOW  (8u << 20)

/* Takes row numbers from a bitmap whose bit 0 belongs to row `first`; returns where to go on. */
static uint64_t take_rows(const uint8_t *bitmap, uint64_t first, uint64_t count, uint64_t *rows,
                          uint64_t capacity, uint64_t *found) {
    for (uint64_t byte = 0; byte * 8 < count; byte++)
        for (uint32_t left = bitmap[byte]; left; left &= left - 1) {
            uint64_t row = first + byte * 8 + (uint32_t)__builtin_ctz(left);
            rows[(*found)++] = row;
            if (*found == capacity) return row + 1;
        }
    return first + count;
}

fastpair_status fastpair_search_list(const fastpair_search *search, uint64_t first, uint64_t *rows,
                                     uint64_t capacity, uint64_t *found, uint64_t *next,
                                     fastpair_error *error) {
    if (found) *found = 0;
    if (next) *next = first;
    if (!search || !found || !next || (!rows && capacity))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_search_list: search, rows, found and next must not be NULL");
    const uint64_t end = search->column->totals.rows;
    const fastpair_allocator *allocator = &search->settings.allocator;
    fastpair_status status = fp_column_check_range(search->column, first, 0, error);
    if (status || !capacity || first == end) return status;
    uint64_t largest = end - first < LAST_WINDOW ? end - first : LAST_WINDOW, listed = 0;
    uint8_t *bitmap = fp_allocate(allocator, largest / 8 + 1, 1);
    if (!bitmap) return fp_fail_memory(error, largest / 8 + 1);
    uint64_t window = FIRST_WINDOW, row = first;
    while (row < end && listed < capacity && !status) {
        uint64_t count = window < largest ? window : largest;
        if (count > end - row) count = end - row;
        memset(bitmap, 0, (size_t)(count / 8 + 1));
        fp_search_job job = {search, row, count, bitmap, NULL, 0, 0};
        status = fp_search_run(&job, error);
        if (!status) row = take_rows(bitmap, row, count, rows, capacity, &listed);
        if (window < largest) window *= 2;
    }
    fp_release(allocator, bitmap);
    if (status) return status;
    *found = listed;
    *next = row;
    return FASTPAIR_OK;
}
