/* parse.c - the greedy parse, the encoder's hot loop. In: rows. Out: token ids.
 *
 * The trick: a row alone waits for one load after the other, so eight cursors, each on rows of its
 * own, go in step. All cursors do step 1 of their look-up (matcher_private.h) before any does step
 * 2, so that there is something to do while loads arrive. A cursor that runs out takes half the
 * rows of the one that has most.
 *
 * A row's end is no branch either: bytes past it are zeroed in the window. Only a token with a zero
 * there can then be too long, and the tokens that fit are among its prefixes, which are chained.
 * Refuses nothing. */
#include "parse.h"

#include "matcher_private.h"

#include <string.h>

#define CURSORS         8
#define MAX_SEGMENTS    256 /* stretches of output that are joined at the end */
#define MIN_SPLIT_BYTES 512 /* a cursor with fewer bytes left keeps them all */

/* kept = value < limit ? candidate : kept, but never by a branch. Which way it goes is as good as
 * random, and a branch, which compilers make if left alone, halves the speed. */
static inline __attribute__((always_inline)) void
take_if_below(uint64_t value, uint64_t limit, uint64_t *kept, uint64_t candidate) {
#if defined(__x86_64__) && !defined(FP_NO_ASSEMBLY)
    __asm__("cmpq %[limit], %[value]\n\tcmovbq %[candidate], %[kept]"
            : [kept] "+r"(*kept)
            : [value] "r"(value), [limit] "r"(limit), [candidate] "r"(candidate)
            : "cc");
#else
    uint64_t mask = -(uint64_t)(value < limit);
    __asm__("" : "+r"(mask)); /* the compiler must not see where it comes from */
    *kept ^= (*kept ^ candidate) & mask;
#endif
}

typedef struct cursor {
    uint64_t position;       /* in the rows' bytes */
    const uint64_t *row_end; /* of the row it is in */
    uint16_t *out;
    uint64_t end;     /* where its rows end */
    uint32_t segment; /* of the output */
} cursor;

/* By the bytes left of the row, up to 16: what is kept of a window. */
static const uint64_t window_masks[17][2] = {
    {0, 0},
    {0xff, 0},
    {0xffff, 0},
    {0xffffff, 0},
    {0xffffffff, 0},
    {0xffffffffff, 0},
    {0xffffffffffff, 0},
    {0xffffffffffffff, 0},
    {~0ull, 0},
    {~0ull, 0xff},
    {~0ull, 0xffff},
    {~0ull, 0xffffff},
    {~0ull, 0xffffffff},
    {~0ull, 0xffffffffff},
    {~0ull, 0xffffffffffff},
    {~0ull, 0xffffffffffffff},
    {~0ull, ~0ull},
};

#define EACH_CURSOR for (int k = 0; k < count; k++)

/* Takes `steps` tokens with each of `count` cursors. Every cursor has at least steps * longest
 * bytes left, or, for one step, at least one byte. `longest` (token length, rounded up to 2, 4, 8
 * or 16) and `count` are constants where this is inlined. */
static inline __attribute__((always_inline)) void advance(const fp_matcher *matcher,
                                                          const uint8_t *bytes, uint64_t steps,
                                                          cursor *cursors, const int count,
                                                          const uint64_t longest) {
    const uint64_t window_size = longest > 8 ? 16 : 8, five_bytes = 0xffffffffff;
    const uint64_t factor = matcher->factors[0], further = matcher->factors[1];
    uint64_t position[CURSORS], left[CURSORS], first[CURSORS], second[CURSORS];
    uint64_t slot_5[CURSORS], slot_9[CURSORS], slot_13[CURSORS];
    uint64_t node[CURSORS], length[CURSORS], fork[CURSORS],
        fork_slot[CURSORS]; /* length: of the node */
    const uint64_t *row_end[CURSORS];
    uint16_t *out[CURSORS];
    uint8_t window[CURSORS][16];
    EACH_CURSOR {
        position[k] = cursors[k].position;
        row_end[k] = cursors[k].row_end;
        out[k] = cursors[k].out;
    }
    for (; steps; steps--) {
        EACH_CURSOR {
            left[k] = *row_end[k] - position[k];
            const uint64_t *mask = window_masks[left[k] < window_size ? left[k] : window_size];
            first[k] = fp_load64(bytes + position[k]) & mask[0];
            fp_store64(window[k], first[k]);
            if (longest > 8) {
                second[k] = fp_load64(bytes + position[k] + 8) & mask[1];
                fp_store64(window[k] + 8, second[k]);
            }
        }
        if (longest > 4) {
            EACH_CURSOR slot_5[k] =
                fp_slot(&matcher->tables[1].slots, (first[k] & five_bytes) * factor);
        }
        if (longest > 8) {
            EACH_CURSOR {
                uint64_t hash = first[k] * factor;
                slot_9[k] = fp_slot(&matcher->tables[2].slots, hash + (second[k] & 0xff) * further);
                slot_13[k] =
                    fp_slot(&matcher->tables[3].slots, hash + (second[k] & five_bytes) * further);
            }
        }
        EACH_CURSOR {
            uint64_t stem = matcher->stems_1[first[k] & 0xff];
            if (longest > 4) {
                uint64_t difference = matcher->tables[1].entries[slot_5[k]] ^ first[k] << 24;
                take_if_below(difference, 1 << 24, &stem, difference);
            }
            if (longest > 8) {
                const uint64_t *entry = matcher->tables[2].entries + slot_9[k] * 2;
                uint64_t rest = entry[1] ^ (second[k] & 0xff) << 24;
                take_if_below((entry[0] ^ first[k]) | rest >> 24, 1, &stem, rest);
                entry = matcher->tables[3].entries + slot_13[k] * 2;
                rest = entry[1] ^ second[k] << 24;
                take_if_below((entry[0] ^ first[k]) | rest >> 24, 1, &stem, rest);
            }
            node[k] = stem >> 2;
            length[k] = (stem & 3) * 4 + 1;
        }
        if (longest > 2) {
            EACH_CURSOR {
                fork[k] = fp_fork_key(node[k], fp_load16(window[k] + length[k]));
                fork_slot[k] = fp_slot(&matcher->tables[0].slots, fork[k] * factor);
            }
            EACH_CURSOR {
                uint64_t difference = matcher->tables[0].entries[fork_slot[k]] ^ fork[k] << 24;
                uint64_t longer = length[k] + 2;
                take_if_below(difference, 1 << 24, &node[k], difference);
                take_if_below(difference, 1 << 24, &length[k], longer);
            }
        }
        EACH_CURSOR {
            uint64_t answer = matcher->answers[node[k]];
            uint64_t byte = window[k][length[k]];
            uint64_t difference = matcher->leaves[node[k] + byte] ^ byte << 16;
            take_if_below(difference, 1 << 16, &answer, difference + (length[k] << 16) + (1 << 16));
            uint64_t taken = answer >> 16;
            if (__builtin_expect(taken > left[k], 0)) {
                if (!left[k]) { /* an empty row */
                    row_end[k]++;
                    continue;
                }
                while (taken > left[k]) {
                    answer = matcher->prefix_of[answer & 0xffff];
                    taken = matcher->lengths[answer];
                }
            }
            *out[k]++ = (uint16_t)answer;
            position[k] += taken;
            row_end[k] += position[k] == *row_end[k];
        }
    }
    EACH_CURSOR {
        cursors[k].position = position[k];
        cursors[k].row_end = row_end[k];
        cursors[k].out = out[k];
    }
}

/* The two forms of the loop, compiled for each token length: all cursors in step, and one to its
 * end. */
typedef struct loops {
    uint64_t longest;
    void (*together)(const fp_matcher *matcher, const uint8_t *bytes, uint64_t steps,
                     cursor *cursors);
    void (*finish)(const fp_matcher *matcher, const uint8_t *bytes, cursor *one);
} loops;

#define LOOPS(longest)                                                                             \
    static void together_##longest(const fp_matcher *matcher, const uint8_t *bytes,                \
                                   uint64_t steps, cursor *cursors) {                              \
        advance(matcher, bytes, steps, cursors, CURSORS, longest);                                 \
    }                                                                                              \
    static void finish_##longest(const fp_matcher *matcher, const uint8_t *bytes, cursor *one) {   \
        while (one->position < one->end) {                                                         \
            uint64_t steps = (one->end - one->position) / longest;                                 \
            advance(matcher, bytes, steps ? steps : 1, one, 1, longest);                           \
        }                                                                                          \
    }
LOOPS(2)
LOOPS(4)
LOOPS(8)
LOOPS(16)

static loops loops_for(uint32_t longest) {
    if (longest <= 2) return (loops){2, together_2, finish_2};
    if (longest <= 4) return (loops){4, together_4, finish_4};
    if (longest <= 8) return (loops){8, together_8, finish_8};
    return (loops){16, together_16, finish_16};
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
    cursor cursors[CURSORS];
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
    parse->cursors[k] = (cursor){*row, row + 1, made->ids, end, number};
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
static const uint64_t *middle_row(const cursor *of, const uint64_t *last_row) {
    const uint64_t *row =
        row_at(of->row_end, last_row, of->position + (of->end - of->position) / 2);
    return *row >= of->end && row > of->row_end ? row - 1 : row;
}

/* Gives cursor `k`, which has nothing left, the second half of the rows of the cursor that has most
 * and can spare some. 0 if none can. */
static int take_half(parse_state *parse, int k, const uint64_t *last_row) {
    cursor *richest = NULL;
    uint64_t most = MIN_SPLIT_BYTES;
    for (int i = 0; i < parse->active; i++) {
        cursor *other = &parse->cursors[i];
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
    for (parse.active = 1; parse.active < CURSORS; parse.active++)
        if (!take_half(&parse, parse.active, last_row)) break;
    int in_step = parse.active == CURSORS; /* as long as all cursors have rows */
    while (in_step) {
        uint64_t steps = UINT64_MAX;
        int poorest = 0;
        for (int k = 0; k < CURSORS; k++) {
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
