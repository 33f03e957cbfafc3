/* parse.c - the greedy parse, the encoder's hot loop. In: rows. Out: token ids.
 *
 * The trick: eight cursors, each on rows of its own, go in step (match_loop.h). A cursor that runs
 * out takes half the rows of the one that has most. Refuses nothing. */
#include "parse.h"

#include "match_loop.h"

#include <string.h>

#define MAX_SEGMENTS    256 /* stretches of output that are joined at the end */
#define MIN_SPLIT_BYTES 512 /* a cursor with fewer bytes left keeps them all */

/* The two forms of the loop, compiled for each token length: all cursors in step, and one to its
 * end. */
typedef struct loops {
    uint64_t longest;
    void (*together)(const fp_matcher *matcher, const uint8_t *bytes, uint64_t steps,
                     fp_cursor *cursors);
    void (*finish)(const fp_matcher *matcher, const uint8_t *bytes, fp_cursor *one);
} loops;

#define LOOPS(longest)                                                                             \
    static void together_##longest(const fp_matcher *matcher, const uint8_t *bytes,                \
                                   uint64_t steps, fp_cursor *cursors) {                           \
        fp_advance(matcher, bytes, steps, cursors, FP_CURSORS, longest, 0);                        \
    }                                                                                              \
    static void finish_##longest(const fp_matcher *matcher, const uint8_t *bytes,                  \
                                 fp_cursor *one) {                                                 \
        while (one->position < one->end) {                                                         \
            uint64_t steps = (one->end - one->position) / longest;                                 \
            fp_advance(matcher, bytes, steps ? steps : 1, one, 1, longest, 0);                     \
        }                                                                                          \
    }
LOOPS(2)
LOOPS(4)
LOOPS(8)
LOOPS(16)
LOOPS(64)

static loops loops_for(uint32_t longest) {
    if (longest <= 2) return (loops){2, together_2, finish_2};
    if (longest <= 4) return (loops){4, together_4, finish_4};
    if (longest <= 8) return (loops){8, together_8, finish_8};
    if (longest <= 16) return (loops){16, together_16, finish_16};
    return (loops){64, together_64, finish_64};
}

/* Output is written in segments. A segment that begins with byte n is put at ids[n]. No segment
 * runs into the next, because a byte makes at most one id. Segments are chained in row order. */
typedef struct segment {
    uint16_t *ids;
    uint64_t count;
    uint32_t next;
} segment;

typedef struct parse_state {
    const uint64_t *offsets;
    uint16_t *ids;
    fp_cursor cursors[FP_CURSORS];
    int active; /* cursors that have rows, or had */
    segment segments[MAX_SEGMENTS];
    uint32_t segment_count;
} parse_state;

/* Gives cursor `k` the rows from `row` up to the byte `end`, as a segment that follows segment
 * `after`. */
static void begin_segment(parse_state *parse, int k, const uint64_t *row, uint64_t end,
                          uint32_t after) {
    uint32_t number = parse->segment_count++;
    segment *made = &parse->segments[number];
    made->ids = parse->ids + (*row - *parse->offsets);
    made->next = number ? parse->segments[after].next : UINT32_MAX;
    if (number) parse->segments[after].next = number;
    parse->cursors[k] = (fp_cursor){*row, row + 1, made->ids, end, number};
}

static void end_segment(parse_state *parse, int k) {
    segment *done = &parse->segments[parse->cursors[k].segment];
    done->count = (uint64_t)(parse->cursors[k].out - done->ids);
}

/* The first row in first .. last that begins at or past a byte; `last` if no row before it does. */
static const uint64_t *row_at(const uint64_t *first, const uint64_t *last, uint64_t byte) {
    while (first < last) {
        const uint64_t *middle = first + (last - first) / 2;
        if (*middle < byte)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

/* Where a cursor's rows would be cut in two; its end if they cannot be. */
static const uint64_t *middle_row(const fp_cursor *of, const uint64_t *last_row) {
    const uint64_t *row =
        row_at(of->row_end, last_row, of->position + (of->end - of->position) / 2);
    return *row >= of->end && row > of->row_end ? row - 1 : row;
}

/* Gives cursor `k`, which has nothing left, the second half of the rows of the cursor that has most
 * and can spare some. 0 if none can. */
static int take_half(parse_state *parse, int k, const uint64_t *last_row) {
    fp_cursor *richest = NULL;
    uint64_t most = MIN_SPLIT_BYTES;
    for (int i = 0; i < parse->active; i++) {
        fp_cursor *other = &parse->cursors[i];
        uint64_t left = other->end - other->position;
        if (left < most || *middle_row(other, last_row) >= other->end) continue;
        richest = other;
        most = left;
    }
    if (!richest || parse->segment_count == MAX_SEGMENTS) return 0;
    const uint64_t *row = middle_row(richest, last_row);
    uint64_t end = richest->end;
    richest->end = *row;
    begin_segment(parse, k, row, end, richest->segment);
    return 1;
}

uint64_t fp_parse_rows(const fp_matcher *matcher, const uint8_t *bytes, const uint64_t *offsets,
                       uint64_t rows, uint16_t *ids) {
    if (!rows || offsets[rows] == offsets[0]) return 0;
    const loops loop = loops_for(matcher->longest);
    const uint64_t *last_row = offsets + rows;
    parse_state parse;
    parse.offsets = offsets;
    parse.ids = ids;
    parse.segment_count = 0;
    parse.active = 0;
    begin_segment(&parse, 0, offsets, *last_row, 0);
    for (parse.active = 1; parse.active < FP_CURSORS; parse.active++)
        if (!take_half(&parse, parse.active, last_row)) break;
    int in_step = parse.active == FP_CURSORS; /* as long as all cursors have rows */
    while (in_step) {
        uint64_t steps = UINT64_MAX;
        int poorest = 0;
        for (int k = 0; k < FP_CURSORS; k++) {
            uint64_t enough_for = (parse.cursors[k].end - parse.cursors[k].position) / loop.longest;
            if (enough_for < steps) {
                steps = enough_for;
                poorest = k;
            }
        }
        if (steps >= 4) {
            loop.together(matcher, bytes, steps, parse.cursors);
        } else {
            loop.finish(matcher, bytes, &parse.cursors[poorest]);
            end_segment(&parse, poorest);
            in_step = take_half(&parse, poorest, last_row);
        }
    }
    for (int k = 0; k < parse.active; k++) {
        loop.finish(matcher, bytes, &parse.cursors[k]);
        end_segment(&parse, k);
    }

    uint64_t count = 0;
    for (uint32_t i = 0; i != UINT32_MAX; i = parse.segments[i].next) {
        const segment *next = &parse.segments[i];
        memmove(ids + count, next->ids, next->count * sizeof *ids);
        count += next->count;
    }
    return count;
}
