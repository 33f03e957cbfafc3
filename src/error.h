/* error.h - filling the caller's fastpair_error. */
#ifndef FP_ERROR_H
#define FP_ERROR_H

#include "fastpair.h"

/* Fills *error, if not NULL. */
void fp_note_failure(fastpair_error *error, fastpair_status status, uint64_t position,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
void fp_note_memory(fastpair_error *error, uint64_t size);

/* fp_fail(error, status, position, format, ...) fills *error (if not NULL) and is `status`, so that
 * failures read `return fp_fail(...)`. The message says what is wrong and, where there is one, the
 * remedy. `position` may be FASTPAIR_NO_POSITION. It is a macro so that tools which analyse one
 * file at a time see that it is never FASTPAIR_OK. */
#define fp_fail(error, status, ...)                                                                \
    __extension__({                                                                                \
        fastpair_status fp_failure = (status);                                                     \
        fp_note_failure((error), fp_failure, __VA_ARGS__);                                         \
        fp_failure;                                                                                \
    })

/* The failure of an allocation of `size` bytes. */
static inline fastpair_status fp_fail_memory(fastpair_error *error, uint64_t size) {
    fp_note_memory(error, size);
    return FASTPAIR_ERROR_OUT_OF_MEMORY;
}

#endif
