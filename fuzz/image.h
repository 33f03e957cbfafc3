/* image.h - what all targets demand of a column in memory. */
#ifndef FP_FUZZ_IMAGE_H
#define FP_FUZZ_IMAGE_H

#include "fastpair.h"

#include <stddef.h>
#include <stdint.h>

/* Larger inputs find nothing new and take long. */
#define FUZZ_LARGEST_IMAGE (1u << 20)

/* Opens, validates, decodes and reads any bytes; stops the program when something is wrong with
 * that. */
void fuzz_run_image(const uint8_t *data, size_t size);

/* The same for exports to Arrow of an open column (image_arrow.c); `is_good`: it validates. */
void fuzz_probe_arrow(const fastpair_column *column, uint64_t rows,
                      const fastpair_allocator *allocator, int is_good);

#endif
