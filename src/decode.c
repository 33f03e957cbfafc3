/* decode.c - from packed codes to bytes. In: a dictionary, packed codes, a range of them. Out:
 * their tokens, in exactly the memory given.
 *
 * The trick: the loops (decode_loop.h) know nothing of bounds. A run of groups is given to them
 * only when its longest possible output fits; where little room is left, groups are decoded aside
 * and copied. Refuses codes that the dictionary does not have, and outputs that do not fit. */
#include "decode_private.h"
#include "format.h"
#include "pack.h"

#include <string.h>

typedef struct cursor {
    const uint8_t *packed;
    uint64_t packed_size;
    uint64_t code; /* the next one */
    uint64_t end;  /* after the last one */
    uint8_t *out;
    uint8_t *out_end;
} cursor;

/* Decodes codes up to `to` one by one. 0 if a code is bad or does not fit. */
static int decode_singly(const fp_decoder *decoder, cursor *at, uint64_t to) {
    while (at->code < to) {
        uint16_t codes[FP_DECODE_GROUP];
        uint64_t count = to - at->code < FP_DECODE_GROUP ? to - at->code : FP_DECODE_GROUP;
        fp_unpack(at->packed, at->packed_size, decoder->code_bits, at->code, count, codes);
        for (uint64_t i = 0; i < count; i++) {
            if (codes[i] >= decoder->code_slots) return 0;
            uint32_t length;
            const uint8_t *token = fp_token_of(decoder, codes[i], &length);
            if ((uint64_t)(at->out_end - at->out) < length) return 0;
            memcpy(at->out, token, length);
            at->out += length;
        }
        at->code += count;
    }
    return 1;
}

/* Groups that loops may read: after the last ones of a section there may be too few bytes. */
static uint64_t readable_groups(const fp_decoder *decoder, const cursor *at) {
    uint64_t group_bytes = fp_group_bytes(decoder->code_bits),
             reach = fp_group_reach(decoder->code_bits);
    uint64_t groups = (at->end - at->code) / FP_DECODE_GROUP;
    uint64_t left = at->packed_size - at->code / FP_DECODE_GROUP * group_bytes;
    if (!groups || left < reach) return 0;
    uint64_t readable = (left - reach) / group_bytes + 1;
    return groups < readable ? groups : readable;
}

/* The longest output of one call of a loop: long enough that the call costs nothing. Tokens of more
 * than 16 bytes count as 16, since few are as long as a cell. */
#define RUN_BYTES   (64u << 10)
#define ASIDE_BYTES (8u << 10)
#define PAGE        4096u
/* Where somebody watches, the first run is short: less is known of it than of the others. */
#define FIRST_GROUPS 16u
_Static_assert(RUN_BYTES / FP_SHORT_TOKEN <= FP_MOST_RUN, "runs are no longer than said");

/* How many bytes ahead of the stores lines are fetched. Nearer, and lines come too late; farther,
 * and they have left the cache again when they are written. */
#define AHEAD 3072u

/* The first fetch from a page waits until its address is translated, and so does what follows. From
 * this mean token length on, in half bytes, that is so often that it pays to look up all pages of
 * the next run at once. */
#define LONG_TOKEN      13u
#define LONG_TOKEN_BULK 8u

/* `size` is what the last `groups` groups decoded to, right before `out`. Always inlined: gcc 12
 * drops calls of functions that do nothing but fetch. */
static inline __attribute__((always_inline)) void look_up_pages(uint64_t long_token,
                                                                const uint8_t *out,
                                                                const uint8_t *out_end,
                                                                uint64_t size, uint64_t groups) {
    if (size * 2 < groups * FP_DECODE_GROUP * long_token) return;
    if ((uint64_t)(out_end - out) < AHEAD + size) return;
    const uint8_t *page = out + AHEAD, *end = page + size;
    for (page += -(uintptr_t)page % PAGE; page < end; page += PAGE) __builtin_prefetch(page, 0, 2);
}

static const fp_loops *loops_for(const fp_decoder *decoder, const fp_code_range *codes) {
    if (codes->bulk && decoder->bricks) return &decoder->bulk;
    if (decoder->rare.plain && codes->rarely_above &&
        codes->rarely_above <= decoder->cell_bytes / 2)
        return &decoder->rare;
    return codes->bulk ? &decoder->bulk : &decoder->few;
}

/* Shows somebody `size` bytes up to `end`. `marks` NULL: nothing is known of them. */
static void show(const fp_decode_watch *watch, const uint8_t *end, uint64_t size,
                 const fp_decode_run *run, const fp_marks *marks) {
    const fp_decode_seen seen = {.begin = end - size,
                                 .end = end,
                                 .known = marks ? marks->known : end - size,
                                 .is_ascii = marks ? marks->is_ascii : 0,
                                 .codes = run->groups * FP_DECODE_GROUP,
                                 .blocks = run->blocks};
    watch->look(watch->context, &seen);
}

/* Decodes `groups` groups from a multiple of 16 codes on. 0 if a code is bad or does not fit. */
static int decode_groups(const fp_decoder *decoder, const fp_code_range *codes, cursor *at,
                         uint64_t groups) {
    const uint64_t cell_bytes = decoder->cell_bytes,
                   group_bytes = fp_group_bytes(decoder->code_bits);
    const uint64_t most_groups =
        RUN_BYTES / (FP_DECODE_GROUP * (cell_bytes < FP_SHORT_TOKEN ? cell_bytes : FP_SHORT_TOKEN));
    const uint64_t aside_groups =
        (ASIDE_BYTES - FP_DECODE_OVERRUN(cell_bytes)) / (FP_DECODE_GROUP * cell_bytes);
    fp_marks marks;
    fp_decode_blocks blocks;
    fp_decode_run run = {
        .packed_end = at->packed + at->packed_size, .marks = &marks, .blocks = &blocks};
    const fp_loops *const loops = loops_for(decoder, codes);
    const uint64_t long_token = loops->plain == decoder->few.plain ? LONG_TOKEN : LONG_TOKEN_BULK;
    int is_first = codes->watch != NULL;
    for (; groups; is_first = 0) {
        /* Whoever watches may change what is wanted. */
        int is_marked = loops->marking && codes->watch && codes->watch->wants_text;
        blocks.count = 0;
        uint64_t room = (uint64_t)(at->out_end - at->out), size;
        run.packed = at->packed + at->code / FP_DECODE_GROUP * group_bytes;
        run.groups = room < FP_DECODE_OVERRUN(cell_bytes)
                         ? 0
                         : (room - FP_DECODE_OVERRUN(cell_bytes)) / (FP_DECODE_GROUP * cell_bytes);
        if (run.groups) { /* in place */
            if (run.groups > most_groups) run.groups = most_groups;
            if (is_first && run.groups > FIRST_GROUPS) run.groups = FIRST_GROUPS;
            if (run.groups > groups) run.groups = groups;
            run.ahead = room < AHEAD ? room : AHEAD;
            run.out = at->out;
            run.starts = is_marked ? codes->watch->starts : NULL;
            const uint8_t *end = (is_marked ? loops->marking : loops->plain)(decoder, &run);
            if (!end) return 0;
            size = (uint64_t)(end - at->out);
            look_up_pages(long_token, end, at->out_end, size, run.groups);
        } else { /* aside */
            is_marked = 0;
            uint8_t bytes[ASIDE_BYTES];
            run.groups = groups < aside_groups ? groups : aside_groups;
            run.ahead = 0;
            run.out = bytes;
            const uint8_t *end = decoder->few.plain(decoder, &run);
            if (!end || (uint64_t)(end - run.out) > room) return 0;
            size = (uint64_t)(end - run.out);
            memcpy(at->out, bytes, (size_t)size);
        }
        at->out += size;
        at->code += run.groups * FP_DECODE_GROUP;
        groups -= run.groups;
        if (codes->watch) show(codes->watch, at->out, size, &run, is_marked ? &marks : NULL);
    }
    return 1;
}

uint64_t fp_decode_codes(const fp_decoder *decoder, const fp_code_range *codes, uint8_t *out,
                         uint64_t capacity) {
    if (!codes->count) return 0;
    uint64_t first = codes->first;
    cursor at = {codes->packed, codes->packed_size, first, first + codes->count,
                 out,           out + capacity};
    uint64_t aligned = first + (-first & (FP_DECODE_GROUP - 1));
    if (!decode_singly(decoder, &at, aligned < at.end ? aligned : at.end)) return FP_DECODE_BAD;
    if (!decode_groups(decoder, codes, &at, readable_groups(decoder, &at))) return FP_DECODE_BAD;
    if (!decode_singly(decoder, &at, at.end)) return FP_DECODE_BAD;
    return (uint64_t)(at.out - out);
}
