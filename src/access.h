/* access.h - what the files that decode rows share: parallel tasks that may fail, and destinations. */
#ifndef FP_ACCESS_H
#define FP_ACCESS_H

#include "column.h"

/* Runs task(context, i, NULL) for every i below `count` on `threads` threads (0: one) until one fails. The failure
 * returned is that of the smallest i that fails, whatever the threads did: that task is run once more, by the caller,
 * to fill `error`. So tasks must fail in the same way each time and may be run twice. */
fastpair_status fp_run_tasks(uint32_t threads, uint64_t count,
                             fastpair_status (*task)(void *context, uint64_t i,
                                                     fastpair_error *error),
                             void *context, fastpair_error *error);

/* Whether a destination is well formed and holds `bytes` bytes. */
fastpair_status fp_check_destination(const fastpair_destination *destination, uint64_t bytes,
                                     fastpair_error *error);

/* Writes one offset, if offsets are wanted. */
void fp_put_offset(const fastpair_destination *destination, uint64_t i, uint64_t offset);

#endif
