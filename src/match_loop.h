/* match_loop.h - the look-up of matcher_private.h for several cursors in step. parse.c and
 * parse_optimal.c include it.
 *
 * In: cursors in rows. Out: the id of the longest match at each step. The trick: a row alone waits
 * for one load after the other. All cursors do step 1 of their look-up before any does step 2, so
 * that there is something to do while loads arrive.
 *
 * A row's end is no branch either: bytes past it are zeroed in the window. Only a token with a zero
 * there can then be too long, and the tokens that fit are among its prefixes, which are chained. */
#ifndef FP_MATCH_LOOP_H
#define FP_MATCH_LOOP_H

#include "matcher_private.h"

#define FP_CURSORS 8

/* kept = value < limit ? candidate : kept, but never by a branch. Which way it goes is as good as
 * random, and a branch, which compilers make if left alone, halves the speed. */
static inline __attribute__((always_inline)) void
fp_take_if_below(uint64_t value, uint64_t limit, uint64_t *kept, uint64_t candidate) {
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

typedef struct fp_cursor {
    uint64_t position;       /* in the rows' bytes */
    const uint64_t *row_end; /* of the row it is in */
    uint16_t *out;
    uint64_t end;     /* where its rows end */
    uint32_t segment; /* of the output, for parse.c */
} fp_cursor;

/* By the bytes left of the row, up to 16: what is kept of a window. */
static const uint64_t fp_window_masks[17][2] = {
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

#define FP_EACH_CURSOR for (int k = 0; k < count; k++)

/* Takes `steps` tokens with each of `count` cursors. Every cursor has at least steps * longest
 * bytes left, or, for one step, at least one byte. `longest` (token length, rounded up to 2, 4, 8,
 * 16 or 64) and `count` are constants where this is inlined, and so is `by_one`: a step then goes on
 * by one byte instead of the token's. An empty row takes a step. Seven parameters, because constants
 * must be parameters to be folded. */
static inline __attribute__((always_inline)) void
fp_advance(const fp_matcher *matcher, const uint8_t *bytes, uint64_t steps, fp_cursor *cursors,
           const int count, const uint64_t longest, const int by_one) {
    const uint64_t window_size = longest > 8 ? 16 : 8, five_bytes = 0xffffffffff;
    const uint64_t factor = matcher->factors[0], further = matcher->factors[1];
    uint64_t position[FP_CURSORS], left[FP_CURSORS], first[FP_CURSORS], second[FP_CURSORS];
    uint64_t slot_5[FP_CURSORS], slot_9[FP_CURSORS], slot_13[FP_CURSORS];
    uint64_t node[FP_CURSORS], length[FP_CURSORS], fork[FP_CURSORS],
        fork_slot[FP_CURSORS]; /* length: of the node */
    const uint64_t *row_end[FP_CURSORS];
    uint16_t *out[FP_CURSORS];
    uint8_t window[FP_CURSORS][16];
    FP_EACH_CURSOR {
        position[k] = cursors[k].position;
        row_end[k] = cursors[k].row_end;
        out[k] = cursors[k].out;
    }
    for (; steps; steps--) {
        FP_EACH_CURSOR {
            left[k] = *row_end[k] - position[k];
            const uint64_t *mask = fp_window_masks[left[k] < window_size ? left[k] : window_size];
            first[k] = fp_load64(bytes + position[k]) & mask[0];
            fp_store64(window[k], first[k]);
            if (longest > 8) {
                second[k] = fp_load64(bytes + position[k] + 8) & mask[1];
                fp_store64(window[k] + 8, second[k]);
            }
        }
        if (longest > 4) {
            FP_EACH_CURSOR slot_5[k] =
                fp_slot(&matcher->tables[1].slots, (first[k] & five_bytes) * factor);
        }
        if (longest > 8) {
            FP_EACH_CURSOR {
                uint64_t hash = first[k] * factor;
                slot_9[k] = fp_slot(&matcher->tables[2].slots, hash + (second[k] & 0xff) * further);
                slot_13[k] =
                    fp_slot(&matcher->tables[3].slots, hash + (second[k] & five_bytes) * further);
            }
        }
        FP_EACH_CURSOR {
            uint64_t stem = matcher->stems_1[first[k] & 0xff];
            if (longest > 4) {
                uint64_t difference = matcher->tables[1].entries[slot_5[k]] ^ first[k] << 24;
                fp_take_if_below(difference, 1 << 24, &stem, difference);
            }
            if (longest > 8) {
                const uint64_t *entry = matcher->tables[2].entries + slot_9[k] * 2;
                uint64_t rest = entry[1] ^ (second[k] & 0xff) << 24;
                fp_take_if_below((entry[0] ^ first[k]) | rest >> 24, 1, &stem, rest);
                entry = matcher->tables[3].entries + slot_13[k] * 2;
                rest = entry[1] ^ second[k] << 24;
                fp_take_if_below((entry[0] ^ first[k]) | rest >> 24, 1, &stem, rest);
            }
            node[k] = stem >> 2;
            length[k] = (stem & 3) * 4 + 1;
        }
        if (longest > 2) {
            FP_EACH_CURSOR {
                fork[k] = fp_fork_key(node[k], fp_load16(window[k] + length[k]));
                fork_slot[k] = fp_slot(&matcher->tables[0].slots, fork[k] * factor);
            }
            FP_EACH_CURSOR {
                uint64_t difference = matcher->tables[0].entries[fork_slot[k]] ^ fork[k] << 24;
                uint64_t longer = length[k] + 2;
                fp_take_if_below(difference, 1 << 24, &node[k], difference);
                fp_take_if_below(difference, 1 << 24, &length[k], longer);
            }
        }
        FP_EACH_CURSOR {
            uint64_t answer = matcher->answers[node[k]];
            uint64_t byte = window[k][length[k]];
            uint64_t difference = matcher->leaves[node[k] + byte] ^ byte << 16;
            fp_take_if_below(difference, 1 << 16, &answer,
                             difference + (length[k] << 16) + (1 << 16));
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
            } else if (longest > 16 && taken == 16) {
                answer = fp_match_long(matcher, answer & 0xffff, bytes + position[k], left[k]);
                taken = matcher->lengths[answer];
            }
            *out[k]++ = (uint16_t)answer;
            position[k] += by_one ? 1 : taken;
            row_end[k] += position[k] == *row_end[k];
        }
    }
    FP_EACH_CURSOR {
        cursors[k].position = position[k];
        cursors[k].row_end = row_end[k];
        cursors[k].out = out[k];
    }
}

#endif
