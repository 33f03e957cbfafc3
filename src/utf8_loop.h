/* utf8_loop.h - judging UTF-8, a register at a time, written once and compiled for each CPU level that
 * gains by it.
 *
 * In: bytes of a text and the three before them. Out: whether a byte is wrong, and whether one is
 * above 127.
 *
 * The trick: a byte must continue a character if and only if one of the three before it has begun a
 * character that is long enough. A subtraction that stops at 0 leaves the highest bit of a byte where
 * it was large enough for that, and doubling a byte moves its second bit there. So the highest bits
 * of a few registers say it all, and no register waits for the one before it. Beginnings that have
 * rules of their own (C0, C1, E0, ED, F0, F4 and above) are looked up, and where there is one the
 * bytes after it are compared.
 *
 * The including file defines FP_JUDGE_TARGET (function attributes), FP_JUDGE_INLINE and the type
 * `vector`. In these functions only the highest bit of each byte counts, if nothing else is said:
 *   load(bytes), load_zeros()         a register of bytes
 *   any(vector)                       not 0 if a byte has the bit
 *   either(a, b)                      a or b
 *   misplaced(wrong, now, one, two, three)  `wrong`, and bytes that continue a character though none
 *                                     wants it, or the reverse; `one` are the bytes before `now`
 *   odd(so_far, now)                  `so_far`, and bytes that have rules of their own
 *   at_least(bytes, value)            all bits of bytes that are `value` or more, unsigned
 *   unless(a, b)                      all bits of a that are not in b */
#include "utf8.h"

#define WIDTH ((uint64_t)sizeof(vector))

/* Bytes that are looked at together. */
#define STRETCH 256u

/* Bytes that are judged without asking whether they are ASCII. */
#define FEW 1024u

/* What begins no character at all, and bytes that must not come after E0, ED, F0 and F4. */
FP_JUDGE_INLINE vector odd_faults(vector now, vector before) {
    vector below_90 = unless(at_least(now, 0), at_least(now, 0x90)), from_90 = at_least(now, 0x90);
    vector below_a0 = unless(at_least(now, 0), at_least(now, 0xa0)), from_a0 = at_least(now, 0xa0);
    vector c0 = unless(at_least(now, 0xc0), at_least(now, 0xc2)), f5 = at_least(now, 0xf5);
    vector e0 = unless(at_least(before, 0xe0), at_least(before, 0xe1));
    vector ed = unless(at_least(before, 0xed), at_least(before, 0xee));
    vector f0 = unless(at_least(before, 0xf0), at_least(before, 0xf1));
    vector f4 = unless(at_least(before, 0xf4), at_least(before, 0xf5));
    /* Whatever is in both a and b is in a unless it is not in b. */
    vector second = either(either(unless(e0, from_a0), unless(ed, below_a0)),
                           either(unless(f0, from_90), unless(f4, below_90)));
    return either(either(c0, f5), second);
}

/* `wrong`, and bytes of registers from .. to that are wrong. *all gets the bits of all bytes. */
FP_JUDGE_INLINE vector judge_registers(vector wrong, vector *all, const uint8_t *from,
                                       const uint8_t *to) {
    vector odd_ones = load_zeros();
    for (const uint8_t *at = from; at < to; at += WIDTH) {
        vector now = load(at), one = load(at - 1);
        wrong = misplaced(wrong, now, one, load(at - 2), load(at - 3));
        odd_ones = odd(odd_ones, now);
        *all = either(*all, now);
    }
    odd_ones = odd(odd_ones, load(from - 1)); /* the byte before them may have a rule */
    if (any(odd_ones))
        for (const uint8_t *at = from; at < to; at += WIDTH)
            wrong = either(wrong, odd_faults(load(at), load(at - 1)));
    return wrong;
}

/* The last bytes, fewer than a stretch. If there is a register of bytes, the last register begins
 * before its turn. */
FP_JUDGE_INLINE uint32_t judge_rest(const uint8_t *bytes, uint64_t done, uint64_t size) {
    uint32_t found = 0;
    if (size < WIDTH) {
        for (; done < size; done++) {
            const uint8_t *at = bytes + done;
            if (fp_utf8_is_fault(at[0], at[-1], at[-2], at[-3])) found |= FP_UTF8_WRONG;
            if (at[0] >= 0x80) found |= FP_UTF8_HIGH;
        }
        return found;
    }
    while (done < size) {
        if (size - done < WIDTH) done = size - WIDTH;
        vector now = load(bytes + done);
        if (any(now)) found |= FP_UTF8_HIGH;
        if (any(judge_registers(load_zeros(), &now, bytes + done, bytes + done + WIDTH)))
            found |= FP_UTF8_WRONG;
        done += WIDTH;
    }
    return found;
}

/* The same for a register of bytes or more, and not many: with few branches, none of which depends on
 * single bytes. */
FP_JUDGE_INLINE uint32_t judge_few(const uint8_t *bytes, uint64_t size) {
    vector wrong = load_zeros(), all = wrong, odd_ones = odd(wrong, load(bytes - 1));
    const uint64_t last = size - WIDTH;
    for (uint64_t i = 0; i < size; i += WIDTH) {
        const uint8_t *at = bytes + (i < last ? i : last);
        vector now = load(at);
        wrong = misplaced(wrong, now, load(at - 1), load(at - 2), load(at - 3));
        odd_ones = odd(odd_ones, now);
        all = either(all, now);
    }
    if (any(odd_ones))
        for (uint64_t i = 0; i < size; i += WIDTH) {
            const uint8_t *at = bytes + (i < last ? i : last);
            wrong = either(wrong, odd_faults(load(at), load(at - 1)));
        }
    return (any(wrong) ? FP_UTF8_WRONG : 0) | (any(all) ? FP_UTF8_HIGH : 0);
}

/* As fp_utf8_judge. */
FP_JUDGE_INLINE uint32_t judge(const uint8_t *bytes, uint64_t size) {
    if (size >= WIDTH && size <= FEW) return judge_few(bytes, size);
    uint64_t done = 0;
    uint32_t found = 0;
    uint32_t high_ones = 0; /* stretches with bytes above 127 before this one, without a gap */
    int is_first = 1;
    vector wrong = load_zeros();
    for (; size - done >= STRETCH; done += STRETCH) {
        const uint8_t *at = bytes + done;
        vector all = load(at);
        /* Where text is hardly ever ASCII this need not be asked. The stretch after one with such
         * bytes is judged, too, since a character may go on. */
        for (uint64_t i = WIDTH; i < STRETCH && high_ones < 2; i += WIDTH)
            all = either(all, load(at + i));
        if (high_ones || is_first || any(all)) {
            wrong = judge_registers(wrong, &all, at, at + STRETCH);
            high_ones = any(all) ? high_ones + 1 : 0;
            if (high_ones) found |= FP_UTF8_HIGH;
        }
        is_first = 0;
    }
    return found | judge_rest(bytes, done, size) | (any(wrong) ? FP_UTF8_WRONG : 0);
}
