/* access_destination.c - where decoded rows go. In: a destination that the caller filled in. Out: one that is
 * well formed and large enough, and offsets in its width. Refuses widths of offsets that are not 0, 32 or 64,
 * buffers that are missing or too small, and rows of more bytes than their offsets can count. */
#include "access.h"

#include "options.h"

#include <inttypes.h>

fastpair_status fp_begin_destination(fastpair_destination *destination, fastpair_error *error) {
    fastpair_status status =
        fp_struct_check("destination", destination, sizeof *destination, error);
    if (!status) destination->nulls = 0;
    return status;
}

fastpair_status fp_check_destination(const fastpair_destination *destination, uint64_t bytes,
                                     fastpair_error *error) {
    if (destination->offset_bits != 0 && destination->offset_bits != 32 &&
        destination->offset_bits != 64)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "destination: offset_bits is %" PRIu32 "; it must be 0, 32 or 64",
                       destination->offset_bits);
    if (destination->offset_bits && !destination->offsets)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "destination: offsets is NULL although offset_bits is set");
    if (destination->offset_bits == 32 && bytes > INT32_MAX)
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "the rows have %" PRIu64
                       " bytes, too many for 32-bit offsets; use offset_bits 64",
                       bytes);
    if (bytes > destination->bytes_capacity)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "destination: the rows need %" PRIu64
                       " bytes and bytes_capacity is %" PRIu64,
                       bytes, destination->bytes_capacity);
    if (bytes && !destination->bytes)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "destination: bytes is NULL although bytes_capacity is set");
    return FASTPAIR_OK;
}

void fp_put_offset(const fastpair_destination *destination, uint64_t i, uint64_t offset) {
    if (destination->offset_bits == 64)
        fp_store64((uint8_t *)destination->offsets + i * 8, offset);
    else if (destination->offset_bits == 32)
        fp_store32((uint8_t *)destination->offsets + i * 4, (uint32_t)offset);
}

void fp_put_offsets(const fastpair_destination *destination, uint64_t first, const uint64_t *starts,
                    uint32_t count, uint64_t base) {
    if (destination->offset_bits == 64) {
        uint8_t *out = (uint8_t *)destination->offsets + first * 8;
        for (uint32_t i = 0; i < count; i++) fp_store64(out + i * 8, starts[i] - base);
    } else {
        uint8_t *out = (uint8_t *)destination->offsets + first * 4;
        for (uint32_t i = 0; i < count; i++) fp_store32(out + i * 4, (uint32_t)(starts[i] - base));
    }
}
