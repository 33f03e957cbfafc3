/* column_launch.h - real columns through emulated kernels: positions, bytes, row offsets and
 * validity, all chunks of several columns in one launch of each kernel. */
#ifndef FP_TESTS_COLUMN_LAUNCH_H
#define FP_TESTS_COLUMN_LAUNCH_H

#include "device_chunk.h"
#include "device_columns.h"

/* Where a column goes: each in a block of its own. */
typedef struct column_output {
    uint8_t *bytes, *offsets, *validity;
    uint32_t *status;
} column_output;

typedef struct column_launch_options {
    uint64_t seed; /* of the order of lanes, and of everything that is not said here */
    int regenerate;
    int one_status; /* all columns have the first one's status word */
    uint32_t offset_bits;
    emulator_access access; /* of the outputs */
} column_launch_options;

/* Whether the kernel can decode the column. */
bool column_suits(const emulated_variant *variant, const device_column *column);

/* Lays out and decodes columns. The outputs are in `memory`, which the caller frees. NULL or an
 * error. */
const char *column_launch(const device_column *const *columns, uint32_t count,
                          const emulated_variant *variant, const column_launch_options *options,
                          column_output *outputs, device *memory);

/* An output against what the CPU decodes, but for stored chunks' bytes, which the host copies.
 * NULL, or what differs. */
const char *column_compare(const device_column *column, const column_output *output,
                           uint32_t offset_bits);

#endif
