/* options.h - reading the caller's options structs, which begin with their own size.
 *
 * In: a struct of this or another library version. Out: a local copy in which everything the caller did not
 * know of is 0, the default. A caller from a later version may pass a longer struct as long as what this library
 * does not know is 0; anything else there would be silently ignored, so it is refused. */
#ifndef FP_OPTIONS_H
#define FP_OPTIONS_H

#include "error.h"

#include <string.h>

/* No struct of ours comes near this; a larger size is an uninitialised field. */
#define FP_OPTIONS_LARGEST 4096u

/* Copies min(struct_size, size) bytes of `options` (NULL: none) into `copy`, zeroes the rest, and sets the copy's
 * own size field to `size`. */
static inline fastpair_status fp_options_copy(const void *options, void *copy, size_t size,
                                              fastpair_error *error) {
    size_t given = 0;
    memset(copy, 0, size);
    if (options) {
        memcpy(&given, options, sizeof given);
        if (given < sizeof given || given > FP_OPTIONS_LARGEST)
            return fp_fail(
                error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                "options: struct_size is %zu; set it to sizeof of the struct and zero the rest",
                given);
        for (size_t i = size; i < given; i++)
            if (((const uint8_t *)options)[i])
                return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                               "options: byte %zu is set, but this version knows only %zu bytes", i,
                               size);
        memcpy(copy, options, given < size ? given : size);
    }
    memcpy(copy, &size, sizeof size);
    return FASTPAIR_OK;
}

#endif
