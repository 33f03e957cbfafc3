/* device_columns.h - compressed columns for kernels: an aligned image, expanded dictionaries, and
 * what the CPU decodes. */
#ifndef FP_TESTS_DEVICE_COLUMNS_H
#define FP_TESTS_DEVICE_COLUMNS_H

#include "fastpair.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct device_dict {
    uint32_t code_bits, slots, hot;
    uint32_t longest;     /* token, as the codec allows: 8, 16, 32 or 64 */
    uint32_t longest_is;  /* and as there is one */
    int in_classes;       /* assembled kernels for tokens of up to 16 bytes can use it */
    int ascends;          /* codes ascend by length, all of them */
    int in_long_classes;  /* and kernels for tokens of up to 32 bytes can use it */
    uint8_t (*cells)[64]; /* of all codes there may be, zero-padded */
    uint8_t *lengths;
} device_dict;

/* One chunk of a column. A coded chunk has codes. */
typedef struct device_section {
    const uint8_t *at; /* NULL: not there */
    uint64_t bytes;
} device_section;
typedef struct device_column_chunk {
    device_section codes, sidecar, lengths, validity;
    uint64_t first_row, first_byte;
    uint32_t rows, code_count, decoded_bytes; /* code_count is 0 for a stored chunk */
    uint32_t dict, batch_codes, group_batches;
} device_column_chunk;

/* One column. Everything is owned. */
typedef struct device_column {
    fastpair_column *column;
    uint8_t *image;
    uint64_t rows, bytes;
    fastpair_status decoded; /* what decoding on the CPU, without validating, came to */
    uint8_t *expected;       /* decoded by the CPU */
    uint64_t *expected_offsets;
    uint8_t *expected_validity; /* whole 32-bit words */
    device_column_chunk *chunks;
    uint32_t chunk_count, coded_chunks;
    device_dict *dicts;
    uint32_t dict_count;
    uint32_t longest; /* of all dictionaries */
} device_column;

/* Compresses rows and lays the result out. Ends the program if the library fails: it has tests of
 * its own. */
void device_column_make(device_column *d, const fastpair_rows *rows,
                        const fastpair_compress_options *options);

/* Lays out any image that opens, with at most so many decoded bytes and rows; `decoded` says
 * whether it also decodes. Returns what opening said, or LIMIT; then there is nothing to close. */
fastpair_status device_column_open(device_column *d, const uint8_t *image, uint64_t image_bytes,
                                   uint64_t most, fastpair_error *error);
void device_column_close(device_column *d);

#ifdef __cplusplus
}
#endif
#endif
