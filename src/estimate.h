/* estimate.h - what a codec will cost on a GPU, and which cost a goal counts. */
#ifndef FP_ESTIMATE_H
#define FP_ESTIMATE_H

#include "settings.h"

/* The link of the goal `balanced`, host memory to device, in GB/s. */
#define FP_LINK_RATE 50.0

/* A column with a codec. */
typedef struct fp_estimate {
    double size;       /* bytes of codes, sidecar and dictionary */
    double bytes;      /* decoded */
    double mean_token; /* bytes per code */
} fp_estimate;

/* The decode rate to expect on an H200, in GB/s. tests/unit/test_estimate.c compares it with what
 * was measured. */
double fp_estimate_rate(fp_codec_choice choice, const fp_estimate *of);

/* What the goal wants little of: bytes, or nanoseconds. A column that does not shrink is worth less
 * than any that does. */
double fp_estimate_cost(fastpair_goal goal, fp_codec_choice choice, const fp_estimate *of);

#endif
