/* decode_starts.h - the bytes that rows begin with, looked at while they are decoded.
 *
 * In: where rows begin. Out: whether one begins inside a character. The trick: a loop looks at a few rows
 * per step, whose bytes were just stored, and waits for memory anyway. If not all of them are there yet,
 * it looks at the last ones once more, so that no branch depends on the data. What it does not get done
 * is left for later. */
#ifndef FP_DECODE_STARTS_H
#define FP_DECODE_STARTS_H

#include "decode_private.h"
#include "format.h"

/* How many rows are looked at per group. Rows of few bytes have five codes or more. */
#define FP_STARTS 3u

/* Where looking stands. */
typedef struct fp_looker {
    const uint8_t *bytes;
    const uint8_t *next; /* the next row's offset; NULL: nobody wants to know */
} fp_looker;

static inline __attribute__((always_inline)) fp_looker fp_begin_looking(const fp_decode_run *run) {
    const fp_decode_starts *starts = run->starts;
    const uint64_t most = run->groups * FP_STARTS + FP_START_STEP;
    if (!starts || starts->end - starts->next < most) return (fp_looker){NULL, NULL};
    return (fp_looker){starts->bytes, starts->offsets + 4 * starts->next};
}

/* Looks at the next `count` rows, at most FP_START_STEP, if all of them begin before `out`. */
static inline __attribute__((always_inline)) void fp_look_at_starts(const fp_decode_run *run,
                                                                    fp_looker *at,
                                                                    const uint8_t *out,
                                                                    const uint32_t count) {
    const int8_t *bytes = (const int8_t *)at->bytes;
    at->next += 4 * count * (uint64_t)(at->bytes + fp_load32(at->next + 4 * (count - 1)) < out);
    /* As signed numbers, bytes that continue a character are below all others. */
    int is_wrong = count % 2 && bytes[fp_load32(at->next - 4)] < -64;
#pragma GCC unroll 4
    for (uint32_t i = 0; i + 2 <= count; i += 2) {
        const uint64_t two = fp_load64(at->next + 4 * i - 4 * count);
        is_wrong = is_wrong || bytes[(uint32_t)two] < -64 || bytes[two >> 32] < -64;
    }
    if (__builtin_expect(is_wrong, 0)) run->starts->is_wrong = 1;
}

static inline __attribute__((always_inline)) void fp_end_looking(const fp_decode_run *run,
                                                                 const fp_looker *at) {
    if (at->next) run->starts->next = (uint64_t)(at->next - run->starts->offsets) / 4;
}

#endif
