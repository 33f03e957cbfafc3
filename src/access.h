/* access.h - what the files that decode rows share: destinations. */
#ifndef FP_ACCESS_H
#define FP_ACCESS_H

#include "column.h"

/* Whether a destination is well formed and has room for `bytes` bytes. */
fastpair_status fp_check_destination(const fastpair_destination *destination, uint64_t bytes,
                                     fastpair_error *error);

/* Writes one offset, if offsets are wanted. */
void fp_put_offset(const fastpair_destination *destination, uint64_t i, uint64_t offset);

#endif
