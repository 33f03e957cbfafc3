/* access_text.c - whether rows that were just decoded are UTF-8, while their bytes are in the cache.
 * In: decoded bytes and row offsets. Out: yes or no; whoever wants to know which row looks again.
 *
 * The trick is that of utf8.c: all bytes taken together must be UTF-8, and no row may begin inside a
 * character. Where the decoder has found out from codes that bytes are UTF-8, only the bytes that rows
 * begin with are looked at. Elsewhere all bytes are judged, and row starts are looked at only where bytes
 * are above 127. Tasks see their own bytes alone, so the
 * first three of a window that begins inside a chunk are judged when all are there. Refuses nothing: it
 * answers. */
#include "access.h"

#include "utf8.h"

/* Bytes that are looked at together. */
#define PIECE (16u << 10)

/* What a call that finds more bytes judges is a multiple of this. */
#define WHOLE 256u

/* How many bytes before a window decide about its first one. */
#define CONTEXT 3u

static inline uint64_t load_offset(const fastpair_destination *destination, uint64_t row) {
    const uint8_t *offsets = destination->offsets;
    return destination->offset_bits == 32 ? fp_load32(offsets + row * 4)
                                          : fp_load64(offsets + row * 8);
}

/* The first row of low .. high that begins at `at` or later, or `high`. Looks near `low` first. */
static uint64_t find_start(const fp_text_rows *rows, uint64_t low, uint64_t at) {
    uint64_t high = rows->end, step = 1;
    if (low == high || load_offset(rows->destination, low) >= at) return low;
    while (step < high - low && load_offset(rows->destination, low + step) < at) {
        low += step;
        step *= 2;
    }
    if (step < high - low) high = low + step;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (load_offset(rows->destination, middle) < at)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Whether none of the rows from *row on that begin before `to` begins inside a character. Looks at eight
 * rows at a time and leaves fewer for later. *row becomes the first that is left. As signed numbers,
 * bytes that continue a character are below all others. Inlined for each width of offsets. */
static inline __attribute__((always_inline)) int
eights_are_good(const fp_text_rows *rows, uint64_t to, uint64_t *row, uint32_t offset_bits) {
    const fastpair_destination view = {.offsets = rows->destination->offsets,
                                       .offset_bits = offset_bits};
    const int8_t *bytes = (const int8_t *)rows->destination->bytes;
    int32_t seen = 0, seen_too = 0; /* two, so that none waits for the one before */
    uint64_t i = *row, end = rows->end;
    for (; i + 8 <= end && load_offset(&view, i + 7) < to; i += 8) {
#pragma GCC unroll 4
        for (uint64_t k = i; k < i + 8; k += 2) {
            seen |= bytes[load_offset(&view, k)] + 64;
            seen_too |= bytes[load_offset(&view, k + 1)] + 64;
        }
    }
    *row = i;
    return (seen | seen_too) >= 0;
}

static int look_at_eights(const fp_text_rows *rows, uint64_t to, uint64_t *row) {
    uint32_t wrong = 0;
#if defined(__x86_64__)
    const fastpair_destination *in = rows->destination;
    if (rows->level == FASTPAIR_CPU_AVX512 && in->offset_bits == 32 && *row < rows->end &&
        load_offset(in, *row) >= CONTEXT && to <= INT32_MAX)
        wrong = fp_utf8_starts_avx512(in->bytes, in->offsets, rows->end, (uint32_t)to, row);
#endif
    if (wrong) return 0;
    return rows->destination->offset_bits == 32 ? eights_are_good(rows, to, row, 32)
                                                : eights_are_good(rows, to, row, 64);
}

/* The same for all rows that begin in bytes from .. to. *row is where to look from, and then where to
 * go on. */
static int look_at_starts(const fp_text_rows *rows, uint64_t from, uint64_t to, uint64_t *row) {
    *row = find_start(rows, *row, from);
    int good = look_at_eights(rows, to, row);
    for (uint64_t at; *row < rows->end && (at = load_offset(rows->destination, *row)) < to; ++*row)
        good &= (rows->destination->bytes[at] & 0xc0) != 0x80;
    return good;
}

/* Judges bytes from .. to one by one; those before `first` are nobody's. */
static int few_are_good(const uint8_t *bytes, uint64_t first, uint64_t from, uint64_t to) {
    int wrong = 0;
    for (uint64_t i = from; i < to; i++)
        wrong |=
            fp_utf8_is_fault(bytes[i], i > first ? bytes[i - 1] : 0,
                             i > first + 1 ? bytes[i - 2] : 0, i > first + 2 ? bytes[i - 3] : 0);
    return !wrong;
}

/* Whether no character lacks a byte where bytes from .. to end. */
static int is_whole(const uint8_t *bytes, uint64_t from, uint64_t to) {
    fp_utf8 end = {{0}};
    for (uint64_t i = to - from < CONTEXT ? from : to - CONTEXT; i < to; i++)
        end.before[CONTEXT - (to - i)] = bytes[i];
    return fp_utf8_is_whole(&end);
}

/* Judges the next bytes, up to `to`. */
static void walk_on(fp_text_walk *walk, uint64_t to) {
    const fp_text_rows *rows = walk->rows;
    const uint8_t *bytes = rows->destination->bytes;
    while (walk->judged < to && !walk->is_wrong) {
        uint64_t from = walk->judged, end = to - from < PIECE ? to : from + PIECE;
        uint32_t found = fp_utf8_judge(rows->level, bytes + from, end - from);
        if (found & FP_UTF8_WRONG || (found & FP_UTF8_HIGH && !walk->every_start &&
                                      !look_at_starts(rows, from, end, &walk->row)))
            walk->is_wrong = 1;
        walk->judged = end;
    }
}

/* Bytes from .. to must be judged, and three bytes after them, since a character may lack them. What
 * came before and is due by now is there. */
static void expect(fp_text_walk *walk, uint64_t from, uint64_t to) {
    if (from > walk->due) {
        walk_on(walk, walk->due);
        if (walk->judged < from) walk->judged = from;
    }
    walk->due = to + CONTEXT;
}

/* Of bytes that were never shown nothing is known. */
static void expect_hidden(fp_text_walk *walk, uint64_t to) {
    if (walk->shown < to) expect(walk, walk->shown, to);
    walk->shown = to;
}

/* After a run of which nothing was found out, so many runs are judged without an attempt, and twice as
 * many each time. */
#define LEAST_WAIT 3u
#define MOST_WAIT  63u

/* Bytes between looks at rows. Each look costs branches that are guessed wrong. */
#define BETWEEN_LOOKS (48u << 10)

/* The decoder knows that bytes up to `known` are UTF-8. From now on each row is looked at, and rows before
 * once more, but not at once. */
static void look_at_known(fp_text_walk *walk, uint64_t known) {
    if (!walk->every_start) walk->row = find_start(walk->rows, walk->rows->first, walk->from);
    walk->every_start = 1;
    if (known - walk->looked < BETWEEN_LOOKS) return;
    walk->looked = known;
    walk->row = find_start(walk->rows, walk->row, walk->skip_to);
    walk->is_wrong |= !look_at_eights(walk->rows, known, &walk->row);
}

/* The decoder knows that bytes begin .. known are ASCII, so rows that begin there need no look. */
static void skip_starts(fp_text_walk *walk, uint64_t begin, uint64_t known) {
    if (!walk->every_start) return;
    if (walk->skip_to != begin)
        walk->is_wrong |= !look_at_starts(walk->rows, walk->skip_to, begin, &walk->row);
    walk->skip_to = known;
}

/* Where eight rows have at most so many bytes, the decoder looks at what they begin with. */
#define SHORT_EIGHT 1024u

/* Gives the decoder rows to look at, if the next ones are short and those before them are there. */
static void offer_starts(fp_text_walk *walk) {
    const fastpair_destination *in = walk->rows->destination;
    const uint64_t row = walk->row;
    walk->watch.starts = NULL;
    if (!walk->every_start || in->offset_bits != 32 || row < walk->rows->first + FP_START_STEP ||
        row >= walk->rows->end)
        return;
    const uint64_t before = load_offset(in, row - FP_START_STEP);
    if (before < walk->from || load_offset(in, row) - before > SHORT_EIGHT) return;
    walk->starts.next = row;
    walk->watch.starts = &walk->starts;
}

/* What the decoder found out about rows. */
static void take_starts(fp_text_walk *walk) {
    if (!walk->watch.starts) return;
    walk->row = walk->starts.next;
    walk->is_wrong |= walk->starts.is_wrong;
}

static void look(void *context, const fp_decode_seen *seen) {
    fp_text_walk *walk = context;
    const uint8_t *bytes = walk->rows->destination->bytes;
    uint64_t begin = (uint64_t)(seen->begin - bytes), end = (uint64_t)(seen->end - bytes),
             known = walk->is_whole ? end : (uint64_t)(seen->known - bytes);
    expect_hidden(walk, begin);
    take_starts(walk);
    if (known > begin) {
        walk->patience = 0;
        if (seen->is_ascii || walk->has_ends)
            skip_starts(walk, begin, known);
        else
            look_at_known(walk, begin);
    } else if (walk->watch.wants_text) {
        walk->wait = walk->patience = 2 * walk->patience + LEAST_WAIT;
        if (walk->wait > MOST_WAIT) walk->wait = walk->patience = MOST_WAIT;
    } else if (walk->wait) {
        walk->wait--;
    }
    if (known < end) expect(walk, known, end);
    walk->watch.wants_text = !walk->is_whole && !walk->wait && end - walk->from >= CONTEXT;
    walk->shown = end;
    offer_starts(walk);
    if (seen->is_ascii) walk->watch.starts = NULL;
    if (walk->due <= end)
        walk_on(walk, walk->due);
    else if (walk->judged < end) /* a little stays for the next time, so that pieces are whole */
        walk_on(walk, end - (end - walk->judged) % WHOLE);
}

void fp_text_begin(fp_text_walk *walk, const fp_text_rows *rows, uint64_t from, int is_whole) {
    *walk = (fp_text_walk){.rows = rows,
                           .from = from,
                           .shown = from,
                           .judged = from + CONTEXT,
                           .due = from,
                           .row = rows->first,
                           .skip_to = from,
                           .looked = from,
                           .is_whole = is_whole,
                           .starts = {.bytes = rows->destination->bytes,
                                      .offsets = rows->destination->offsets,
                                      .end = rows->end},
                           .watch = {look, walk, 0, NULL}};
}

int fp_text_end(fp_text_walk *walk, uint64_t to, fp_text_edges edges) {
    const fp_text_rows *rows = walk->rows;
    const uint8_t *bytes = rows->destination->bytes;
    uint64_t from = walk->from, few = to - from < CONTEXT ? to : from + CONTEXT, row = rows->first;
    if (from == to) return 1;
    expect_hidden(walk, to);
    walk_on(walk, walk->due < to ? walk->due : to);
    if (walk->every_start) walk->is_wrong |= !look_at_starts(rows, walk->skip_to, to, &walk->row);
    return !walk->is_wrong && (!edges.is_start || few_are_good(bytes, from, from, few)) &&
           (!edges.is_end || is_whole(bytes, from, to)) && look_at_starts(rows, from, few, &row);
}

int fp_text_is_good(const fp_text_rows *rows, uint64_t from, uint64_t to) {
    fp_text_walk walk;
    fp_text_begin(&walk, rows, from, 0);
    return fp_text_end(&walk, to, (fp_text_edges){1, 1});
}

int fp_text_seam_is_good(const fastpair_destination *destination, uint64_t at, uint64_t end) {
    return few_are_good(destination->bytes, 0, at, end - at < CONTEXT ? end : at + CONTEXT) &&
           (end - at >= CONTEXT || is_whole(destination->bytes, 0, end));
}
