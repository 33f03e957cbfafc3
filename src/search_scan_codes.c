/* search_scan_codes.c - running an automaton over all codes of some rows. In: rows of a chunk, and an
 * automaton over codes. Out: a bit for each row that passes. The trick: each step waits for the look-up
 * before it, so eight parts of the rows take their steps by turns. Rows end without a branch: the
 * state is noted after every code, and made the first state before the first code of a row. Refuses
 * codes that the dictionary does not have, and rows that do not fit the codes. */
#include "search_many.h"

#include <string.h>

fastpair_status fp_scan_find_codes(const fp_piece *piece, fp_scan_room *room, uint64_t *from,
                                   uint64_t *to, fastpair_error *error) {
    uint64_t begin = 0, end = 0;
    fastpair_status status = fp_window_open(&room->window, piece->view, error);
    if (!status) status = fp_chunk_row_start(piece->view, piece->first, &begin, error);
    if (!status) status = fp_chunk_row_start(piece->view, piece->first + piece->rows, &end, error);
    if (!status) status = fp_window_find(&room->window, begin, from, error);
    if (!status) status = fp_window_find(&room->window, end, to, error);
    return status;
}

/* Rows that are run together: each begins where the one before it ends. */
#define MOST_RUNS 256u
#define LANES     8u

typedef struct runs {
    uint32_t count;
    uint16_t bounds[MOST_RUNS + 1]; /* codes of the window: where each begins, and the last ends */
    uint16_t parts[LANES + 1];      /* some of these: where each part begins, and the last ends */
    uint32_t state;                 /* before the first code */
} runs;

/* One step of one part. `keep` is 0 for the first code of a row, else all ones. (Macros: functions
 * would have to take all of this, and for two widths of states.) */
#define STEP(i)                                                                                    \
    do {                                                                                           \
        uint32_t before = (state[i] & keep[at[i]]) | (start & ~(uint32_t)keep[at[i]]);             \
        state[i] = next[(uint64_t)before << bits | codes[at[i]]];                                  \
        after[at[i]] = state[i];                                                                   \
        at[i]++;                                                                                   \
    } while (0)

/* All parts by turns, for as long as all have codes; then each for itself. Writes the state after each
 * code. */
#define RUN_PARTS(name, type)                                                                      \
    static inline __attribute__((always_inline)) void name(                                        \
        const fp_token_table *table, const uint16_t *codes, const runs *r, fp_states *room,        \
        const uint32_t bits, const uint32_t start) {                                               \
        const type *next = table->next, *keep = (const type *)room->keep;                          \
        type *after = (type *)room->after;                                                         \
        uint32_t state[LANES], at[LANES], least = UINT32_MAX;                                      \
        for (uint32_t i = 0; i < LANES; i++) {                                                     \
            uint32_t count = (uint32_t)r->parts[i + 1] - r->parts[i];                              \
            at[i] = r->parts[i];                                                                   \
            /* Fewer codes than parts leave the first parts empty. */                              \
            state[i] = at[i] == r->parts[0] ? r->state : start;                                    \
            if (count < least) least = count;                                                      \
        }                                                                                          \
        for (; least; least--)                                                                     \
            _Pragma("GCC unroll 8") for (uint32_t i = 0; i < LANES; i++) STEP(i);                  \
        for (uint32_t i = 0; i < LANES; i++)                                                       \
            while (at[i] < r->parts[i + 1]) STEP(i);                                               \
    }
RUN_PARTS(run_narrow, uint8_t)
RUN_PARTS(run_wide, uint16_t)

static void run_parts(const fp_token_table *table, const uint16_t *codes, const runs *r,
                      fp_states *room) {
    if (table->state_bytes == 2)
        run_wide(table, codes, r, room, table->code_bits, table->start);
    else if (table->start) /* it accepts */
        run_narrow(table, codes, r, room, table->code_bits, table->start);
    else if (table->code_bits == 12) /* a shift by a constant is faster */
        run_narrow(table, codes, r, room, 12, 0);
    else
        run_narrow(table, codes, r, room, table->code_bits, 0);
}

/* Cuts the rows into parts of about as many codes each. The first part has the first code, as it alone
 * begins with the state of a row that goes on from the window before. */
static void cut_parts(runs *r) {
    const uint32_t first = r->bounds[0], codes = r->bounds[r->count] - first;
    for (uint32_t i = 0; i <= LANES; i++) {
        uint32_t low = 0, high = r->count, want = first + (codes * i + LANES - 1) / LANES;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (r->bounds[middle] < want)
                low = middle + 1;
            else
                high = middle;
        }
        r->parts[i] = r->bounds[low];
    }
}

/* Whether the state after a code accepts. */
static int accepts(const fp_token_table *table, const fp_states *room, uint32_t code) {
    uint32_t state = table->state_bytes == 1 ? ((const uint8_t *)room->after)[code]
                                             : ((const uint16_t *)room->after)[code];
    return state >= table->first_accepting;
}

/* Sets `keep` to 0 for the first codes of rows, but for the first of them, and to all ones again. */
static void mark_rows(const fp_token_table *table, fp_states *room, const runs *r, int is_first) {
    for (uint32_t i = 1; i < r->count; i++) {
        if (table->state_bytes == 1)
            ((uint8_t *)room->keep)[r->bounds[i]] = (uint8_t)(is_first ? 0 : 0xff);
        else
            ((uint16_t *)room->keep)[r->bounds[i]] = (uint16_t)(is_first ? 0 : 0xffff);
    }
}

/* Fills the window with codes from `at` on, and finds the places of all of them. */
static fastpair_status open_window(const fp_code_search *search, fp_code_window *window,
                                   uint64_t at, fastpair_error *error) {
    uint32_t highest = 0, done = 0;
    fp_window_move(window, at);
#if defined(__x86_64__)
    if (search->level >= FASTPAIR_CPU_AVX512) done = 32 * fp_unpack_blocks_avx512(window, &highest);
#endif
    fp_unpack(window->packed, window->packed_size, window->bits, window->first + done,
              window->count - done, window->codes + done);
    for (uint32_t i = done; i < window->count; i++)
        if (window->codes[i] > highest) highest = window->codes[i];
    if (highest >= search->table->code_slots)
        return fp_chunk_fault(window->view, FP_SECTION_CODES, 0, "a code is not in the dictionary",
                              error);
    return fp_place_all(search, window, error);
}

/* A scan of rows in order. */
typedef struct codes_scan {
    const fp_code_search *search;
    const fp_chunk_view *view;
    fp_code_window *window;
    uint32_t at;    /* the next code of the window */
    uint32_t state; /* of a row that began in a window before */
    uint64_t *bits;
    fp_states *states;
} codes_scan;

/* The row that is at hand goes on after the window: runs the part that is here, and moves on. */
static fastpair_status next_window(codes_scan *scan, fastpair_error *error) {
    fp_code_window *window = scan->window;
    const fp_token_table *table = scan->search->table;
    for (; scan->at < window->count; scan->at++)
        scan->state = fp_token_table_next(table, scan->state, window->codes[scan->at]);
    scan->at = 0;
    if (window->first + window->count >= scan->view->chunk->codes)
        return fp_chunk_fault(scan->view, FP_SECTION_LENGTHS, 0, "rows go on after the codes",
                              error);
    return open_window(scan->search, window, window->first + window->count, error);
}

/* Rows that end in the window, at bytes ends[0 .. count). */
static fastpair_status run_rows(codes_scan *scan, const uint64_t *ends, uint32_t count,
                                uint32_t row, fastpair_error *error) {
    const fp_token_table *table = scan->search->table;
    const fp_code_window *window = scan->window;
    const int empty_passes = table->start >= table->first_accepting;
    runs r = {.count = count, .state = scan->state};
    uint64_t wrong = 0;
    r.bounds[0] = (uint16_t)scan->at;
    fp_find_codes(scan->search, window, scan->at, &(fp_place_list){ends, count, r.bounds + 1});
    for (uint32_t i = 0; i < count; i++) wrong |= window->places[r.bounds[i + 1]] ^ ends[i];
    if (wrong)
        return fp_chunk_fault(scan->view, FP_SECTION_LENGTHS, 0,
                              "a row ends in the middle of a token", error);
    cut_parts(&r);
    mark_rows(table, scan->states, &r, 1);
    run_parts(table, window->codes, &r, scan->states);
    mark_rows(table, scan->states, &r, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = r.bounds[i], to = r.bounds[i + 1];
        int is_first = i == 0 && scan->state != table->start; /* it has codes in windows before */
        int found = to > from  ? accepts(table, scan->states, to - 1)
                    : is_first ? scan->state >= table->first_accepting
                               : empty_passes;
        scan->bits[(row + i) / 64] |= (uint64_t)found << (row + i) % 64;
    }
    scan->state = table->start;
    scan->at = r.bounds[count];
    return FASTPAIR_OK;
}

/* Rows whose starts are known; `row` is the first of them in the piece. */
static fastpair_status scan_rows(codes_scan *scan, const uint64_t *starts, uint32_t count,
                                 uint32_t row, fastpair_error *error) {
    const fp_code_window *window = scan->window;
    fastpair_status status = FASTPAIR_OK;
    for (uint32_t i = 0; i < count && !status;) {
        uint64_t last = window->places[window->count];
        uint32_t take = 0, most = count - i < MOST_RUNS ? count - i : MOST_RUNS;
        while (take < most && starts[i + take + 1] <= last) take++;
        if (take)
            status = run_rows(scan, starts + i + 1, take, row + i, error);
        else
            status = next_window(scan, error);
        i += take;
    }
    return status;
}

fastpair_status fp_scan_codes(const fp_code_search *search, const fp_piece *piece,
                              fp_scan_room *room, uint64_t *bits, fastpair_error *error) {
    uint64_t from, to;
    codes_scan scan = {search, piece->view,  &room->window, 0, search->table->start,
                       bits,   &room->states};
    memset(room->states.keep, 0xff, sizeof room->states.keep);
    fastpair_status status = fp_scan_find_codes(piece, room, &from, &to, error);
    if (status) return status;
    if (from < to) { /* else all rows are empty */
        status = open_window(search, &room->window, from, error);
        scan.at = (uint32_t)(from - room->window.first);
    } else {
        room->window.count = room->window.placed_to = 0;
        status = fp_chunk_row_start(piece->view, piece->first, &from, error);
        room->window.places[0] = (uint32_t)from;
        fp_window_close_places(&room->window);
    }
    for (uint32_t done = 0; done < piece->rows && !status;) {
        uint32_t left = piece->rows - done, count = left < FP_SCAN_ROWS ? left : FP_SCAN_ROWS;
        status = fp_scan_row_starts(piece->view, piece->first + done, count, room->starts, error);
        if (!status) status = scan_rows(&scan, room->starts, count, done, error);
        done += count;
    }
    return status;
}
