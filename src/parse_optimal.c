/* parse_optimal.c - the parse into the fewest codes, for high levels. In: rows. Out: token ids.
 *
 * From the end to the start, the codes that are needed from a position on are one more than the
 * least that are needed after one of the tokens that match there. The trick: the longest match at a
 * position and the chain of its prefixes are all the tokens that match there, and longest matches
 * do not depend on each other. So the greedy parse's loop finds them, a byte per step. They end
 * with their row, so nothing else needs to know of rows. Refuses nothing. */
#include "parse_optimal.h"

#include "match_loop.h"

#define MATCH(longest)                                                                             \
    static void match_##longest(const fp_matcher *matcher, const uint8_t *bytes,                   \
                                fp_cursor *cursors) {                                              \
        for (uint64_t steps = FP_OPTIMAL_BLOCK; steps;) {                                          \
            for (int k = 0; k < FP_CURSORS; k++)                                                   \
                if (cursors[k].end - cursors[k].position < steps)                                  \
                    steps = cursors[k].end - cursors[k].position;                                  \
            fp_advance(matcher, bytes, steps, cursors, FP_CURSORS, longest, 1);                    \
        }                                                                                          \
        for (fp_cursor *one = cursors; one < cursors + FP_CURSORS; one++)                          \
            while (one->position < one->end)                                                       \
                fp_advance(matcher, bytes, one->end - one->position, one, 1, longest, 1);          \
    }
MATCH(8)
MATCH(16)
MATCH(64)

/* The row end of the row that a byte is in. */
static const uint64_t *row_end_of(const uint64_t *offsets, uint64_t rows, uint64_t byte) {
    const uint64_t *first = offsets + 1, *last = offsets + rows;
    while (first < last) {
        const uint64_t *middle = first + (last - first) / 2;
        if (*middle <= byte)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

/* Fills scratch->ids with the longest match at every position of at most FP_OPTIMAL_BLOCK bytes. */
static void match_all(const fp_matcher *matcher, const uint8_t *bytes, const uint64_t *offsets,
                      uint64_t rows, fp_optimal_scratch *scratch) {
    fp_cursor cursors[FP_CURSORS];
    const uint64_t start = offsets[0], size = offsets[rows] - start;
    for (uint64_t k = 0; k < FP_CURSORS; k++) {
        uint64_t from = size * k / FP_CURSORS, to = size * (k + 1) / FP_CURSORS;
        cursors[k] = (fp_cursor){.position = start + from,
                                 .row_end = row_end_of(offsets, rows, start + from),
                                 .out = scratch->ids + from,
                                 .end = start + to};
    }
    if (matcher->longest <= 8)
        match_8(matcher, bytes, cursors);
    else if (matcher->longest <= 16)
        match_16(matcher, bytes, cursors);
    else
        match_64(matcher, bytes, cursors);
}

/* Parses rows that have at most FP_OPTIMAL_BLOCK bytes together. */
static uint64_t parse_block(const fp_matcher *matcher, const uint8_t *bytes,
                            const uint64_t *offsets, uint64_t rows, fp_optimal_scratch *scratch,
                            uint16_t *ids) {
    const uint64_t size = offsets[rows] - offsets[0];
    const uint8_t *lengths = matcher->lengths;
    const uint16_t *prefix_of = matcher->prefix_of;
    uint16_t *costs = scratch->costs;
    match_all(matcher, bytes, offsets, rows, scratch);
    costs[size] = 0;
    for (uint64_t i = size; i-- > 0;) {
        uint32_t id = scratch->ids[i], best = id, length = lengths[id];
        uint32_t least = costs[i + length];
        while (length > 1) {
            id = prefix_of[id];
            length = lengths[id];
            uint32_t cost = costs[i + length];
            best = cost < least ? id : best;
            least = cost < least ? cost : least;
        }
        scratch->ids[i] = (uint16_t)best;
        costs[i] = (uint16_t)(least + 1);
    }
    uint64_t count = 0;
    for (uint64_t i = 0; i < size; i += lengths[ids[count++]]) ids[count] = scratch->ids[i];
    return count;
}

uint64_t fp_parse_rows_optimal(const fp_matcher *matcher, const uint8_t *bytes,
                               const uint64_t *offsets, uint64_t rows, fp_optimal_scratch *scratch,
                               uint16_t *ids) {
    uint64_t count = 0;
    for (uint64_t row = 0, next; row < rows; row = next) {
        next = row;
        while (next < rows && offsets[next + 1] - offsets[row] <= FP_OPTIMAL_BLOCK) next++;
        if (next > row) {
            count += parse_block(matcher, bytes, offsets + row, next - row, scratch, ids + count);
            continue;
        }
        next = row + 1; /* a row that is too long for one block */
        for (uint64_t from = offsets[row]; from < offsets[next];) {
            uint64_t left = offsets[next] - from;
            uint64_t part[2] = {from, from + (left < FP_OPTIMAL_BLOCK ? left : FP_OPTIMAL_BLOCK)};
            count += parse_block(matcher, bytes, part, 1, scratch, ids + count);
            from = part[1];
        }
    }
    return count;
}
