/* options.h - reading the caller's structs that begin with their own size.
 *
 * In: a struct of this or another library version. Out: a local copy in which every field that the
 * caller did not know of is 0, the default. Refuses a struct shorter than its first version had,
 * which is an uninitialised size, and a longer one with a field set that this library does not
 * know, since ignoring that field would not do what the caller asked for. */
#ifndef FP_OPTIONS_H
#define FP_OPTIONS_H

#include "error.h"

#include <string.h>

/* No struct of ours comes near this; a larger size is an uninitialised field. */
#define FP_OPTIONS_LARGEST 4096u

/* Whether `given` can be the struct_size of a struct that has `size` bytes in this version. All
 * structs are at their first version; one that grows needs the size it had first instead of
 * `size`. */
static inline fastpair_status fp_struct_size_check(const char *name, size_t given, size_t size,
                                                   fastpair_error *error) {
    if (given >= size && given <= FP_OPTIONS_LARGEST) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                   "%s: struct_size is %zu; set it to sizeof of the struct, which has %zu bytes",
                   name, given, size);
}

/* The same for a struct that the caller filled in: what this version does not know must be 0. */
static inline fastpair_status fp_struct_check(const char *name, const void *given, size_t size,
                                              fastpair_error *error) {
    size_t given_size;
    memcpy(&given_size, given, sizeof given_size);
    fastpair_status status = fp_struct_size_check(name, given_size, size, error);
    if (status) return status;
    for (size_t i = size; i < given_size; i++)
        if (((const uint8_t *)given)[i])
            return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                           "%s: byte %zu is set, but this version knows only %zu bytes", name, i,
                           size);
    return FASTPAIR_OK;
}

/* Copies `options` (NULL: all defaults) to `copy`, which has `size` bytes, and sets the copy's
 * struct_size to `size`. */
static inline fastpair_status fp_options_copy(const void *options, void *copy, size_t size,
                                              fastpair_error *error) {
    memset(copy, 0, size);
    if (options) {
        fastpair_status status = fp_struct_check("options", options, size, error);
        if (status) return status;
        memcpy(copy, options, size);
    }
    memcpy(copy, &size, sizeof size);
    return FASTPAIR_OK;
}

/* Copies a filled-in info struct of `size` bytes to the caller's, which begins with its own size.
 * What a later version of the struct has besides becomes 0. */
static inline fastpair_status fp_info_copy(const char *name, const void *filled, size_t size,
                                           void *info, fastpair_error *error) {
    size_t given;
    memcpy(&given, info, sizeof given);
    fastpair_status status = fp_struct_size_check(name, given, size, error);
    if (status) return status;
    memset(info, 0, given);
    memcpy(info, filled, size);
    memcpy(info, &given, sizeof given);
    return FASTPAIR_OK;
}

#endif
