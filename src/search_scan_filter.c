/* search_scan_filter.c - searching codes of which few can begin a match. In: rows of a chunk, and an
 * automaton over codes. Out: a bit for each row that passes.
 *
 * The trick: between matches the automaton is in its start state, whether or not a row ends there. So
 * codes that leave it there are passed over many at a time, without knowing which row they belong to.
 * From a code that does not, the automaton is run as if rows had no ends. Only where it accepts, or
 * does not come back for long, the row is looked for. An automaton that wants matches to begin with a
 * row is run from every code that could be the first of one, and then the row is looked for, too.
 * Refuses codes that the dictionary does not have, and rows that do not fit the codes. */
#include "search_many.h"
#include "search_scan_codes.h"

#include <string.h>

/* A run of so many codes that neither ends nor accepts is settled with its row. */
#define QUICK 32u

/* From one code in so many that begins a match on, all runs are looked at together: where the filter is
 * exact and vectors help, and elsewhere. */
#define MANY_BEGIN 64u
#define MANY_OTHER 16u

/* From one code in so many that accepts on, rows are found all together; and without vectors. */
#define MANY      128u
#define MANY_SLOW 40u

/* From one code in so many that begins a match on, masks look at two codes; how often that is tested. */
#define STRICT     24u
#define LOOK_AGAIN 16u

/* From one code in so many that is followed on, it is faster to run over all. */
#define FOLLOWED 2u

/* ...unless rows have more codes than this: most of them need not be looked at then. */
#define LONG_ROW 64u

#define NONE UINT32_MAX

typedef struct filter_scan {
    const fp_code_search *search;
    const fp_token_table *table;
    const fp_piece *piece;
    fp_code_window *window;
    fp_row_cursor *rows;
    uint64_t *bits;
    uint64_t end;      /* the code after the piece's last one */
    uint32_t limit;    /* codes of the window that belong to the piece */
    uint64_t resume;   /* the code to go on with after the window */
    uint64_t followed; /* codes from which the automaton was run */
    uint8_t *marks;    /* see fp_many */
    uint64_t masks[FP_WINDOW_WORDS];
    fp_spans spans;
} filter_scan;

static fastpair_status bad_code(const filter_scan *scan, fastpair_error *error) {
    return fp_chunk_fault(scan->window->view, FP_SECTION_CODES, 0,
                          "a code is not in the dictionary", error);
}

/* Sets the bit of the row that the cursor is at. */
static fastpair_status pass(const filter_scan *scan, fastpair_error *error) {
    uint64_t row = fp_row_cursor_row(scan->rows) - scan->piece->first;
    if (row >= scan->piece->rows)
        return fp_chunk_fault(scan->window->view, FP_SECTION_LENGTHS, 0,
                              "row lengths contradict the codes", error);
    fp_set_bit(scan->bits, row);
    return FASTPAIR_OK;
}

/* Runs the automaton from code `at` of the chunk, which begins at byte `place`, to the end of the row
 * that the cursor is at. *next gets the code after it. */
static fastpair_status walk(const filter_scan *scan, uint64_t at, uint64_t place, uint64_t *next,
                            fastpair_error *error) {
    const fp_code_window *window = scan->window;
    const uint64_t codes = window->view->chunk->codes, end = fp_row_cursor_end(scan->rows);
    uint32_t state = scan->table->start;
    while (place < end) {
        uint16_t some[64];
        uint64_t count = codes - at < 64 ? codes - at : 64;
        if (!count) break;
        fp_unpack(window->packed, window->packed_size, window->bits, at, count, some);
        for (uint64_t i = 0; i < count && place < end; i++, at++) {
            if (scan->search->flags[some[i]] & FP_CODE_BAD) return bad_code(scan, error);
            state = fp_token_table_next(scan->table, state, some[i]);
            place += window->lengths[some[i]];
        }
    }
    if (place != end)
        return fp_chunk_fault(window->view, FP_SECTION_LENGTHS, 0,
                              "a row ends in the middle of a token", error);
    *next = at;
    return state >= scan->table->first_accepting ? pass(scan, error) : FASTPAIR_OK;
}

/* Decides the row of code `k` for good. The automaton is in its start state there. *resume gets where
 * to go on. */
static fastpair_status settle(filter_scan *scan, uint32_t k, uint32_t *resume,
                              fastpair_error *error) {
    uint64_t place, next = 0;
    fastpair_status status = fp_window_at(scan->window, k, &place, error);
    if (!status) status = fp_row_cursor_find(scan->rows, place, error);
    if (status) return status;
    *resume = k + 1;
    if (!scan->table->anywhere && place != fp_row_cursor_start(scan->rows)) return FASTPAIR_OK;
    status = walk(scan, scan->window->first + k, place, &next, error);
    if (status) return status;
    if (next - scan->window->first < scan->limit) {
        *resume = (uint32_t)(next - scan->window->first);
    } else {
        *resume = scan->limit;
        if (next > scan->resume) scan->resume = next;
    }
    return FASTPAIR_OK;
}

/* The window ends within a run that began with code `k`: the next one begins there. */
static fastpair_status cut(filter_scan *scan, uint32_t k, uint32_t *resume, fastpair_error *error) {
    if (scan->window->first + scan->limit == scan->end) { /* and so does the piece */
        *resume = scan->table->anywhere ? scan->limit : k + 1;
        return FASTPAIR_OK;
    }
    if (k < scan->window->batch_codes) return settle(scan, k, resume, error);
    scan->resume = scan->window->first + k;
    *resume = scan->limit;
    return FASTPAIR_OK;
}

/* Finds the places of codes k .. z + 1, and the row of code `k` or `z`. */
static fastpair_status find_row(filter_scan *scan, uint32_t k, uint32_t z, uint32_t of,
                                fastpair_error *error) {
    fp_code_window *window = scan->window;
    uint64_t place;
    fastpair_status status = fp_window_at(window, k, &place, error);
    while (!status && window->placed_to <= z)
        status = fp_window_place(window, window->placed_to, error);
    return status ? status : fp_row_cursor_find(scan->rows, window->places[of], error);
}

/* Where to go on after a row that passes, of which code `z` is a part: with its end, or a little
 * before it. */
static void skip_row(filter_scan *scan, uint32_t z, uint32_t *resume) {
    const fp_code_window *window = scan->window;
    const uint64_t end = fp_row_cursor_end(scan->rows);
    *resume = fp_window_skip(window, z + 1, end);
    if (end <= window->places[window->placed_to]) return;
    /* Whole batches of a long row need not be looked at. */
    uint64_t batch = (window->first + *resume) / window->batch_codes;
    uint64_t code = fp_window_batch_of(window, batch, end) * window->batch_codes;
    if (code < window->first + scan->limit) {
        if (code > window->first + *resume) *resume = (uint32_t)(code - window->first);
    } else {
        if (code > scan->resume) scan->resume = code;
        *resume = scan->limit;
    }
}

/* A run from code `k` to code `z` accepts, in `state`. *resume becomes NONE if the run goes on. */
static fastpair_status accept_anywhere(filter_scan *scan, uint32_t k, uint32_t z, uint32_t state,
                                       uint32_t *resume, fastpair_error *error) {
    const fp_code_window *window = scan->window;
    fastpair_status status = find_row(scan, k, z, z, error);
    if (status) return status;
    uint64_t start = fp_row_cursor_start(scan->rows), end = fp_row_cursor_end(scan->rows);
    if (start > window->places[k]) { /* a row ended meanwhile: the run begins again with the next */
        *resume = fp_window_skip(window, k, start);
        return FASTPAIR_OK;
    }
    if (state == scan->table->absorbing) {
        skip_row(scan, z, resume);
    } else if (window->places[z + 1] == end) {
        *resume = z + 1;
    } else {
        *resume = NONE;
        return FASTPAIR_OK;
    }
    return pass(scan, error);
}

/* The same where matches begin with a row. */
static fastpair_status accept_anchored(filter_scan *scan, uint32_t k, uint32_t z, uint32_t state,
                                       uint32_t *resume, fastpair_error *error) {
    const fp_code_window *window = scan->window;
    fastpair_status status = find_row(scan, k, z, k, error);
    if (status) return status;
    uint64_t end = fp_row_cursor_end(scan->rows), after = window->places[z + 1];
    *resume = k + 1;
    if (fp_row_cursor_start(scan->rows) != window->places[k] || after > end) return FASTPAIR_OK;
    if (state == scan->table->absorbing) {
        skip_row(scan, z, resume);
    } else if (after == end) {
        *resume = z + 1;
    } else {
        *resume = NONE;
        return FASTPAIR_OK;
    }
    return pass(scan, error);
}

/* Runs the automaton from code `k` of the window on, which leads out of the start state. */
static fastpair_status follow(filter_scan *scan, uint32_t k, uint32_t *resume,
                              fastpair_error *error) {
    const fp_token_table *table = scan->table;
    const uint16_t *codes = scan->window->codes;
    const int anywhere = table->anywhere;
    uint32_t state = fp_token_table_next(table, table->start, codes[k]);
    for (uint32_t z = k;;) {
        if (state >= table->first_accepting) {
            fastpair_status status =
                (anywhere ? accept_anywhere : accept_anchored)(scan, k, z, state, resume, error);
            if (status || *resume != NONE) return status;
        }
        if (++z == scan->limit) return cut(scan, k, resume, error);
        if (z - k > QUICK) return settle(scan, k, resume, error);
        state = fp_token_table_next(table, state, codes[z]);
        uint32_t nowhere =
            anywhere ? fp_token_table_next(table, table->start, codes[z]) : table->dead;
        if (state == nowhere) { /* what came before code `z` is forgotten */
            *resume = anywhere ? z : k + 1;
            return FASTPAIR_OK;
        }
    }
}

/* Whether nothing comes of code `k`, by a look at the next one. */
static inline int is_idle(const filter_scan *scan, uint32_t k) {
    const fp_token_table *table = scan->table;
    const uint16_t *codes = scan->window->codes;
    uint8_t flags = scan->search->flags[codes[k]];
    if (!(flags & FP_CODE_BEGINS)) return 1;
    if ((flags & (FP_CODE_ACCEPTS | FP_CODE_BAD)) || k + 1 >= scan->limit) return 0;
    if (!(scan->search->flags[codes[k + 1]] & FP_CODE_GOES_ON)) return 1;
    uint32_t first = fp_token_table_next(table, table->start, codes[k]),
             next = fp_token_table_next(table, first, codes[k + 1]);
    return next ==
           (table->anywhere ? fp_token_table_next(table, table->start, codes[k + 1]) : table->dead);
}

/* Follows all codes of the window whose bit is set, from code `from` on. */
static fastpair_status scan_window(filter_scan *scan, uint32_t from, fastpair_error *error) {
    uint32_t words = (scan->limit + 63) / 64;
    if (scan->limit % 64) scan->masks[words - 1] &= (1ull << scan->limit % 64) - 1;
    for (uint32_t word = from / 64; word < words; word++) {
        uint64_t mask = scan->masks[word];
        if (from > word * 64) mask = from - word * 64 < 64 ? mask >> from % 64 << from % 64 : 0;
        while (mask) {
            uint32_t k = word * 64 + (uint32_t)__builtin_ctzll(mask), resume = k + 1;
            mask &= mask - 1;
            if (is_idle(scan, k)) continue;
            if (scan->search->flags[scan->window->codes[k]] & FP_CODE_BAD)
                return bad_code(scan, error);
            scan->followed++;
            fastpair_status status = follow(scan, k, &resume, error);
            if (status) return status;
            if (resume == k + 1) continue;
            from = resume;
            mask = from - word * 64 < 64 ? scan->masks[word] >> from % 64 << from % 64 : 0;
        }
    }
    return FASTPAIR_OK;
}

/* Where many codes begin a match, takes those out of the masks that accept, and finds their rows all
 * together. Where matches begin with rows, takes out all but the first codes of rows. `strict` is how
 * the masks were made. */
static fastpair_status thin_out(filter_scan *scan, uint32_t from, int strict,
                                fastpair_error *error) {
    const fp_token_table *table = scan->table;
    const fp_code_search *search = scan->search;
    fp_code_window *window = scan->window;
    const fp_chunk *chunk = window->view->chunk;
    const int all_absorb = table->first_accepting == table->absorbing;
    const uint32_t words = (window->count + 63) / 64;
    fp_many many = {search, scan->piece, window, scan->rows, scan->limit, scan->bits, scan->marks};
    const uint32_t many_accept = search->level < FASTPAIR_CPU_AVX512 ? MANY_SLOW : MANY;
    uint64_t *singles = scan->spans.begin[0];
    if (chunk->codes / chunk->rows > LONG_ROW) return FASTPAIR_OK;
    int is_known = strict && all_absorb && fp_filter_tells_accepting(search);
    if (!is_known) memset(singles, 0, words * sizeof *singles);
    if (!table->anywhere) {
        if (all_absorb && search->has_accepts && !is_known)
            fp_filter_accepts(search, window, singles);
        return fp_begin_many(&many, from, singles, scan->masks, error);
    }
    if (!all_absorb) return FASTPAIR_OK;
    /* Of coarse masks it is faster to look at the codes one by one. */
    if (search->has_accepts && !is_known &&
        (fp_filter_tells_accepting(search) || search->level < FASTPAIR_CPU_AVX512))
        fp_filter_accepts(search, window, singles);
    fp_keep_range(singles, words, from, scan->limit);
    fp_keep_range(scan->masks, words, from, scan->limit);
    for (uint32_t i = 0; i < words; i++) scan->masks[i] &= ~singles[i];
    uint32_t found = fp_count_range(search, singles, from, scan->limit);
    if (!fp_find_spans(search, window, fp_window_look_ahead(window), scan->masks, &scan->spans))
        return bad_code(scan, error);
    if ((found + scan->spans.found) * many_accept < scan->limit) { /* too few */
        for (uint32_t n = 0; n < scan->spans.longest; n++)
            for (uint32_t i = 0; i < words; i++) scan->masks[i] |= scan->spans.begin[n][i];
        return FASTPAIR_OK;
    }
    if (fp_pass_marked(&many, from, &scan->spans)) return FASTPAIR_OK;
    scan->marks = NULL;
    return fp_pass_many(&many, from, &scan->spans, error);
}

/* Whether the next window's masks look at two codes each. That pays where many codes begin a match,
 * and so many are seen only without it: one window in some is looked at so. */
static int next_is_strict(uint32_t window, uint32_t found, uint32_t count, int is_strict) {
    if (window % LOOK_AGAIN == LOOK_AGAIN - 1) return 0;
    return is_strict || found * STRICT > count;
}

fastpair_status fp_scan_filtered(const fp_code_search *search, const fp_piece *piece,
                                 fp_scan_room *room, int *gave_up, uint64_t *bits,
                                 fastpair_error *error) {
    fp_code_window *window = &room->window;
    filter_scan scan;
    scan.search = search, scan.table = search->table, scan.piece = piece, scan.window = window;
    scan.rows = &room->rows, scan.bits = bits, scan.marks = room->marks, scan.followed = 0;
    const uint32_t many = fp_filter_tells_accepting(search) ? MANY_BEGIN : MANY_OTHER;
    uint64_t at = 0, scanned = FP_WINDOW_CODES;
    int strict = 0;
    fastpair_status status = fp_scan_find_codes(piece, room, &at, &scan.end, error);
    fp_row_cursor_open(&room->rows, piece->view);
    for (uint32_t number = 0; at < scan.end && !status; number++) {
        fp_window_move(window, at);
        uint32_t found = fp_filter_window(search, window, strict, scan.masks, scan.spans.begin[0]);
        uint64_t left = scan.end - window->first;
        scan.limit = left < window->count ? (uint32_t)left : window->count;
        scan.resume = window->first + scan.limit;
        if (found * many >= scan.limit)
            status = thin_out(&scan, (uint32_t)(at - window->first), strict, error);
        if (!status) status = scan_window(&scan, (uint32_t)(at - window->first), error);
        strict = next_is_strict(number, found, window->count, strict);
        scanned += scan.resume - at;
        at = scan.resume;
        if (gave_up && scan.followed * FOLLOWED > scanned) {
            *gave_up = 1;
            break;
        }
    }
    return status;
}
