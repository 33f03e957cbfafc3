/* measure.h - the parts of fastpair-measure. Each prints one JSON object a line. */
#ifndef FP_BENCH_MEASURE_H
#define FP_BENCH_MEASURE_H

#include "harness.h"
#include "json.h"

#define MEASURE_MOST_KERNELS 256

typedef struct measure_options {
    uint64_t bytes; /* decoded bytes of output that a column is repeated to */
    int launches;   /* counted ones, for each figure */
    int passes;     /* counted ones from host memory */
    /* Words: kernels whose name begins with one, or is what follows a "="; none: all. */
    const char *kernels[MEASURE_MOST_KERNELS];
    int kernel_count;
    bool only_chosen;         /* the kernel the library chooses, and no other */
    bool stored, regenerated; /* which output positions */
    /* Decoded bytes alone; with row offsets and, if there are nulls, validity. */
    bool bytes_alone, offsets;
    bool only_pinned; /* host memory: no pageable memory, and nothing sent raw */
    int once;         /* decode this often and print nothing, for a profiler; 0: measure */
} measure_options;

/* Whether the options ask for this kernel. */
bool measure_wants(const measure_options *options, const char *kernel);

/* What a job of this column alone would be. False, with the reason on standard error, where no
 * kernel here decodes it: that is left out, and no failure. */
bool measure_takes(const bench_device *device, const bench_column *column,
                   fastpair_gpu_job_info *info);

/* Members that every line about a column has. */
void measure_print_column(cli_json *json, const bench_column *column);

/* Decode rates from device memory, of each kernel that can decode the column. */
void measure_rates(const bench_device *device, const measure_options *options,
                   const bench_column *column);

/* From compressed bytes in pageable and in pinned host memory to decoded bytes on the device, and
 * if asked the same bytes sent raw. A column that no kernel decodes is left out. */
void measure_host(const bench_device *device, const measure_options *options,
                  const bench_column *column, bool raw);

#endif
