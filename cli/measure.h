/* measure.h - one codec on one column in memory: sizes, rates, and whether every byte came back. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include "cli.h"
#include "measure_gpu.h"

typedef struct cli_measurement {
    fastpair_column_info info;
    cli_figures figures;
    uint32_t threads;        /* of encoding and of `decode` */
    double train_mb_s;       /* bytes of the training sample; NaN for `stored` and `auto` */
    double encode_mb_s;      /* the whole fastpair_compress call */
    double decode_mb_s;      /* with `threads` threads */
    double decode_1_mb_s;    /* with one thread */
    double reference_mb_s;   /* the reference loop, one thread */
    bool verified;           /* every decoder gave every byte and every offset back */
    cli_gpu_measurement gpu; /* gpu.gpu is empty when no GPU took part */
} cli_measurement;

/* Measures for about `seconds` per figure; rates are medians in 10^6 bytes per second. Prints what
 * is wrong. */
int cli_measure(const cli_options *options, const char *name, const fastpair_rows *rows,
                const fastpair_compress_options *settings, double seconds, cli_measurement *result);

/* The codecs -b and --demo go through; `index` from 0, false past the last. */
bool cli_preset(int index, fastpair_compress_options *settings);

/* ------------------------------------------------------- the reference loop (reference_run.c) */

/* The codes of a column, unpacked to 16 bits, and its dictionaries as the reference loop takes
 * them. */
typedef struct cli_reference cli_reference;

/* Takes apart an image that was validated and outlives the result. NULL when memory is short. */
cli_reference *cli_reference_open(const uint8_t *image, uint64_t size);

/* Decodes all rows to `out` and returns their size. `out` must have CLI_REFERENCE_SLACK bytes
 * more. */
uint64_t cli_reference_decode(const cli_reference *reference, uint8_t *out);
void cli_reference_close(cli_reference *reference);

#define CLI_REFERENCE_SLACK 64

/* The best instructions that decoding has a loop for on this CPU, for people (figures.c). */
const char *cli_cpu_name(void);

#endif
