/* device_columns.h - compressed columns as kernels see them: the tables of params.h over an image in host
 * memory. */
#ifndef FP_TESTS_DEVICE_COLUMNS_H
#define FP_TESTS_DEVICE_COLUMNS_H

#include "fastpair.h"
#include "gpu/kernels/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that kernels read, to be made known to the emulator. */
typedef struct device_piece {
    const void *at;
    uint64_t bytes;
    const char *name;
} device_piece;

/* One column. Everything is owned. */
typedef struct device_column {
    fastpair_column *column;
    uint8_t *image;
    uint64_t image_bytes;
    fastpair_status decoded; /* what decoding on the CPU, without validating, came to */
    uint8_t *expected;       /* decoded by the CPU */
    uint64_t expected_bytes;
    uint64_t *expected_offsets; /* rows + 1 */
    uint64_t rows;
    fp_gpu_chunk *chunks; /* output offsets from 0, row slots from 0; positions 0 */
    uint32_t chunk_count, coded_chunks;
    fp_gpu_dict *dicts;
    uint32_t dict_count;
    void **planes;
    device_piece *pieces;
    uint32_t piece_count;
    uint32_t longest; /* token in any dictionary, as the codec allows: 8 or 16 */
} device_column;

/* Compresses rows and lays the result out. Ends the program if the library fails: it has tests of its own. */
void device_column_make(device_column *d, const fastpair_rows *rows,
                        const fastpair_compress_options *options);

/* Lays out any image that opens, with at most so many decoded bytes and rows; `decoded` says whether it also decodes. Returns
 * what opening said, or LIMIT; then there is nothing to free. */
fastpair_status device_column_open(device_column *d, const uint8_t *image, uint64_t image_bytes,
                                   uint64_t most, fastpair_error *error);
void device_column_free(device_column *d);

#ifdef __cplusplus
}
#endif
#endif
