/* estimate.c - rates and costs of codecs on a GPU. In: a codec and what it makes of a column. Out:
 * an estimate. The trick: a kernel takes some time per code, and some more per byte of its token; or
 * else it takes as long as memory takes to read codes and write bytes. Refuses nothing. */
#include "estimate.h"

/* Picoseconds per code, and per byte of its token, of the kernels that the library chooses on an
 * H200; the first line that a codec fits counts. Lines were fitted to docs/results, but the last to one
 * file (docs/lab/training.md). */
typedef struct kernel_time {
    uint32_t max_token, code_bits; /* at most */
    double per_code, per_byte;
} kernel_time;

static const kernel_time times[] = {
    {8, 12, 1.15, 0.12},  /* halves of 4 bytes in shared memory */
    {8, 14, 1.60, 0.04},  /* the same, most of shared memory */
    {8, 16, 2.10, 0.15},  /* the hot part in shared memory */
    {16, 12, 1.20, 0.20}, /* halves of 8 bytes */
    {16, 14, 2.40, 0.15}, /* the hot part */
    {16, 16, 2.50, 0.17}, /* a smaller part of it */
    {32, 12, 1.92, 0.18}, /* quarters of 8 bytes */
    {64, 12, 3.60, 0.24}, /* pieces of 16 bytes */
    {64, 16, 8.00, 0.40}, /* the same from L2 */
};

/* Of what the device's memory moves at best, what decoding reaches. */
#define MEMORY_RATE (0.86 * 4200)

double fp_estimate_rate(fp_codec_choice choice, const fp_estimate *of) {
    const kernel_time *time = times, *last = times + sizeof times / sizeof *times - 1;
    while (time < last &&
           (choice.max_token > time->max_token || choice.code_bits > time->code_bits))
        time++;
    double kernel = of->mean_token / (time->per_code + time->per_byte * of->mean_token) * 1000;
    double memory = MEMORY_RATE / (1 + of->size / of->bytes);
    return kernel < memory ? kernel : memory;
}

double fp_estimate_cost(fastpair_goal goal, fp_codec_choice choice, const fp_estimate *of) {
    double decoding = of->bytes / fp_estimate_rate(choice, of);
    double penalty = of->size < of->bytes ? 0 : of->size;
    switch (goal) {
    case FASTPAIR_GOAL_RATIO: return of->size;
    case FASTPAIR_GOAL_SPEED: return decoding + penalty;
    default: return decoding + of->size / FP_LINK_RATE;
    }
}
