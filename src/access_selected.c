/* access_selected.c - decoding the rows of a bitmap. In: an open column, a range of rows and a bit for
 * each. Out: the rows whose bit is 1, or their number and size. The trick: a selection is a list whose
 * row numbers are never all written down; it is enough to know where each piece of it begins. Refuses
 * what access_listed.c refuses. */
#include "access.h"

/* The byte `i` of a bitmap of `count` bits, without what comes after them. */
static uint32_t byte_of(const uint8_t *bitmap, uint64_t count, uint64_t i) {
    return count - i * 8 < 8 ? bitmap[i] & ((1u << count % 8) - 1) : bitmap[i];
}

static uint64_t count_bits(const uint8_t *bitmap, uint64_t count) {
    uint64_t bits = 0, i = 0;
    for (; i + 8 <= count / 8; i += 8)
        bits += (uint64_t)__builtin_popcountll(fp_load64(bitmap + i));
    for (; i * 8 < count; i++) bits += (uint64_t)__builtin_popcount(byte_of(bitmap, count, i));
    return bits;
}

/* Notes the bit of every FP_LIST_PIECE-th one. */
static void find_begins(const uint8_t *bitmap, uint64_t count, uint64_t *begins) {
    uint64_t seen = 0;
    for (uint64_t i = 0; i * 8 < count; i++) {
        uint32_t byte = byte_of(bitmap, count, i), bits = (uint32_t)__builtin_popcount(byte);
        uint64_t wait = -seen % FP_LIST_PIECE; /* ones before the next that is noted */
        if (wait < bits) {
            for (uint64_t skip = wait; skip; skip--) byte &= byte - 1;
            begins[(seen + wait) / FP_LIST_PIECE] = i * 8 + (uint32_t)__builtin_ctz(byte);
        }
        seen += bits;
    }
}

/* Decodes the rows of `bits` bits, or measures them if the destination is NULL. */
static fastpair_status decode_selection(const fastpair_column *column, fp_row_list *list,
                                        uint64_t bits, fastpair_destination *destination,
                                        uint64_t *bytes, fastpair_error *error) {
    const fastpair_allocator *allocator = &column->settings.allocator;
    fastpair_status status = fp_column_check_range(column, list->first, bits, error);
    if (status) return status;
    list->count = count_bits(list->bitmap, bits);
    uint64_t pieces = list->count / FP_LIST_PIECE + 1, *begins;
    begins = fp_allocate(allocator, pieces, sizeof *begins);
    if (!begins) return fp_fail_memory(error, pieces * sizeof *begins);
    find_begins(list->bitmap, bits, begins);
    list->begins = begins;
    fp_list_sizes sizes;
    status = fp_measure_list(column, list, &sizes, error);
    if (!status) {
        if (bytes) *bytes = sizes.bytes;
        if (destination) status = fp_decode_list(column, list, &sizes, destination, error);
        fp_list_sizes_close(column, &sizes);
    }
    fp_release(allocator, begins);
    return status;
}

fastpair_status fastpair_column_selected_size(const fastpair_column *column, uint64_t first,
                                              uint64_t count, const uint8_t *bitmap, uint64_t *rows,
                                              uint64_t *bytes, fastpair_error *error) {
    if (rows) *rows = 0;
    if (bytes) *bytes = 0;
    if (!column || (!bitmap && count))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_selected_size: column and bitmap must not be NULL");
    fp_row_list list = {.bitmap = bitmap, .first = first};
    fastpair_status status;
    if (bytes) {
        status = decode_selection(column, &list, count, NULL, bytes, error);
    } else if (!(status = fp_column_check_range(column, first, count, error))) {
        list.count = count_bits(bitmap, count);
    }
    if (!status && rows) *rows = list.count;
    return status;
}

fastpair_status fastpair_column_decode_selected(const fastpair_column *column, uint64_t first,
                                                uint64_t count, const uint8_t *bitmap,
                                                fastpair_destination *destination,
                                                fastpair_error *error) {
    if (!column || !destination || (!bitmap && count))
        return fp_fail(
            error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
            "fastpair_column_decode_selected: column, bitmap and destination must not be NULL");
    fp_row_list list = {.bitmap = bitmap, .first = first};
    fastpair_status status = fp_begin_destination(destination, error);
    return status ? status : decode_selection(column, &list, count, destination, NULL, error);
}
