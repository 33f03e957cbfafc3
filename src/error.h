/* error.h - filling the caller's fastpair_error. */
#ifndef FP_ERROR_H
#define FP_ERROR_H

#include "fastpair.h"

/* Fills *error (if not NULL) and returns `status`, so that failures read `return fp_fail(...)`. The message
 * should say what is wrong and, where there is one, the remedy. `position` may be FASTPAIR_NO_POSITION. */
fastpair_status fp_fail(fastpair_error *error, fastpair_status status, uint64_t position, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

/* The out-of-memory failure, which every module has. */
fastpair_status fp_fail_memory(fastpair_error *error, uint64_t size);

#endif
