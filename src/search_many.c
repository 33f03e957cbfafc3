/* search_many.c - many matches at a time. In: codes of which many match. Out: the bits of their rows. The
 * trick: where a look for the row of every match would wait for the one before it, all rows of a
 * window are brought together with their codes first, without a branch that depends on the data.
 * Refuses rows that do not fit the codes. */
#include "search_many.h"

fastpair_status fp_place_all(const fp_code_search *search, fp_code_window *window,
                             fastpair_error *error) {
    window->placed_from = window->placed_to = 0;
    fastpair_status status = FASTPAIR_OK;
#if defined(__x86_64__)
    /* All batches at once; whether each begins where the sidecar says is compared afterwards. */
    if (search->level >= FASTPAIR_CPU_AVX512 && search->has_classes && window->count >= 32) {
        uint32_t whole = window->count / 32 * 32;
        uint64_t batch = window->first / window->batch_codes, wrong = 0;
        uint32_t at = fp_place_codes_avx512(search, window, 0, whole,
                                            (uint32_t)fp_window_batch_place(window, batch));
        for (uint32_t k = whole; k < window->count; k++) {
            window->places[k] = at;
            at += window->lengths[window->codes[k]];
        }
        window->places[window->count] = at;
        for (uint32_t k = 0; k < window->count; k += window->batch_codes)
            wrong |= window->places[k] ^ fp_window_batch_place(window, batch++);
        wrong |= at ^ fp_window_batch_place(window, batch);
        if (wrong)
            return fp_chunk_fault(
                window->view, FP_SECTION_CODES, 0,
                "codes are not in the dictionary or do not decode to the size the sidecar gives",
                error);
        window->placed_to = window->count;
    }
#endif
    (void)search;
    while (!status && window->placed_to < window->count)
        status = fp_window_place(window, window->placed_to, error);
    fp_window_close_places(window);
    return status;
}

void fp_find_codes(const fp_code_search *search, const fp_code_window *window, uint32_t from,
                   const fp_place_list *list) {
#if defined(__x86_64__)
    if (search->level >= FASTPAIR_CPU_AVX512) {
        fp_find_codes_avx512(window, from, list);
        return;
    }
#endif
    (void)search;
    for (uint32_t i = 0; i < list->count; i++)
        list->codes[i] = (uint16_t)(from = fp_window_skip(window, from, list->places[i]));
}

/* Rows of one block of row starts that end in the window: how many, and the codes after each. */
static fastpair_status find_ends(const fp_many *many, uint32_t from, uint32_t *rows, uint16_t *ends,
                                 fastpair_error *error) {
    const fp_row_cursor *cursor = many->rows;
    const fp_code_window *window = many->window;
    const uint64_t *starts = cursor->starts + cursor->at + 1;
    uint32_t count = 0, most = cursor->rows - cursor->at;
    uint64_t last = window->places[many->limit], wrong = 0;
    if (starts[most - 1] > last) { /* the window ends first */
        for (uint32_t step = 128; step; step /= 2)
            if (count + step <= most && starts[count + step - 1] <= last) count += step;
    } else {
        count = most;
    }
    fp_find_codes(many->search, window, from, &(fp_place_list){starts, count, ends});
    for (uint32_t i = 0; i < count; i++) wrong |= window->places[ends[i]] ^ starts[i];
    *rows = count;
    if (!wrong) return FASTPAIR_OK;
    return fp_chunk_fault(window->view, FP_SECTION_LENGTHS, 0,
                          "a row ends in the middle of a token", error);
}

/* Whether any bit from .. to is set. */
static int any_is_set(const uint64_t *masks, uint32_t from, uint32_t to) {
    if (from >= to) return 0;
    uint32_t word = from / 64, last = (to - 1) / 64;
    uint64_t mask = masks[word] >> from % 64 << from % 64;
    for (; word < last && !mask; mask = masks[++word])
        ;
    if (word == last && to % 64) mask &= (1ull << to % 64) - 1;
    return mask != 0;
}

static void set_rows(const fp_code_search *search, const fp_row_ends *rows, const uint64_t *masks,
                     uint32_t words, uint64_t *bits) {
#if defined(__x86_64__)
    if (search->level >= FASTPAIR_CPU_AVX512) {
        fp_set_rows_avx512(rows, masks, words, bits);
        return;
    }
#endif
    (void)search, (void)words;
    for (uint32_t i = 0, from = rows->from; i < rows->count; from = rows->ends[i++])
        if (any_is_set(masks, from, rows->ends[i])) fp_set_bit(bits, rows->row + i);
}

/* The rows of one block of row starts that begin or end in the window, from code `from` on. *count
 * gets how many end there, with codes ends[0 .. *count). */
static fastpair_status next_rows(const fp_many *many, uint32_t from, uint16_t *ends,
                                 uint32_t *count, fp_row_ends *rows, fastpair_error *error) {
    fastpair_status status = fp_row_cursor_find(many->rows, many->window->places[from], error);
    if (!status) status = find_ends(many, from, count, ends, error);
    if (status) return status;
    *rows = (fp_row_ends){ends, *count, from, fp_row_cursor_row(many->rows) - many->piece->first};
    if (rows->row >= many->piece->rows)
        return fp_chunk_fault(many->window->view, FP_SECTION_LENGTHS, 0,
                              "row lengths contradict the codes", error);
    /* Empty rows of the next piece begin where this one ends. */
    if (rows->count > many->piece->rows - rows->row)
        rows->count = (uint32_t)(many->piece->rows - rows->row);
    return FASTPAIR_OK;
}

/* Whether these were all rows of the block, so that another one follows. */
static int block_is_done(const fp_many *many, uint32_t count) {
    return count == many->rows->rows - many->rows->at;
}

uint32_t fp_count_range(const fp_code_search *search, const uint64_t *masks, uint32_t from,
                        uint32_t to) {
#if defined(__x86_64__)
    if (search->level >= FASTPAIR_CPU_AVX512) return fp_count_range_avx512(masks, from, to);
#endif
    (void)search;
    uint32_t count = 0;
    for (uint32_t i = from / 64; i * 64 < to; i++) {
        uint64_t mask = masks[i];
        if (to - i * 64 < 64) mask &= (1ull << to % 64) - 1;
        if (i * 64 < from) mask = mask >> from % 64 << from % 64;
        count += (uint32_t)__builtin_popcountll(mask);
    }
    return count;
}

/* Adds the matches of several codes from .. to to those of one code, but for those within which a row
 * ends. */
static void add_spans(const fp_row_ends *rows, uint32_t to, fp_spans *spans) {
    for (uint32_t n = 1; n < spans->longest; n++) {
        uint64_t *begin = spans->begin[n], *singles = spans->begin[0];
        for (uint32_t i = 0; i < rows->count; i++)
            for (uint32_t k = rows->ends[i], left = n; k && left; left--) {
                k--;
                begin[k / 64] &= ~(1ull << k % 64);
            }
        for (uint32_t word = rows->from / 64; word < to / 64; word++) singles[word] |= begin[word];
        singles[to / 64] |= begin[to / 64] & ((1ull << to % 64) - 1);
    }
}

fastpair_status fp_pass_many(const fp_many *many, uint32_t from, fp_spans *spans,
                             fastpair_error *error) {
    const uint32_t words = (many->window->count + 63) / 64;
    uint64_t *singles = spans->begin[0];
    for (uint32_t n = 0; n < spans->longest; n++) spans->begin[n][words] = 0;
    fastpair_status status = fp_place_all(many->search, many->window, error);
    while (from < many->limit && !status) {
        uint16_t ends[FP_LENGTH_BLOCK];
        uint32_t count = 0;
        fp_row_ends rows;
        status = next_rows(many, from, ends, &count, &rows, error);
        if (status) break;
        /* Where the rows after these end is not known yet. */
        int is_done = block_is_done(many, count);
        add_spans(&rows, is_done ? ends[count - 1] : many->limit, spans);
        set_rows(many->search, &rows, singles, words, many->bits);
        if (count) from = ends[count - 1];
        if (is_done) continue;
        /* The last row goes on after the window. */
        if (rows.row + count < many->piece->rows && any_is_set(singles, from, many->limit))
            fp_set_bit(many->bits, rows.row + count);
        break;
    }
    return status;
}

fastpair_status fp_begin_many(const fp_many *many, uint32_t from, const uint64_t *accepting,
                              uint64_t *masks, fastpair_error *error) {
    const uint32_t words = (many->window->count + 63) / 64;
    uint64_t firsts[FP_WINDOW_WORDS + 1] = {0};
    fastpair_status status = fp_place_all(many->search, many->window, error);
    while (from < many->limit && !status) {
        uint16_t ends[FP_LENGTH_BLOCK];
        uint32_t count = 0;
        fp_row_ends rows;
        status = next_rows(many, from, ends, &count, &rows, error);
        if (status) break;
        int is_cut = many->window->places[from] != fp_row_cursor_start(many->rows);
        /* If the block has another row, it begins in the window, or at its end. */
        uint32_t begun = rows.count + !block_is_done(many, count);
        for (uint32_t i = 0; i < begun; i++) {
            uint32_t first = i ? ends[i - 1] : from, end = i < rows.count ? ends[i] : many->limit;
            uint64_t bit = (uint64_t)(first < end && (i || !is_cut)) << first % 64,
                     row = rows.row + i;
            if (row >= many->piece->rows) break;
            firsts[first / 64] |= bit;
            many->bits[row / 64] |= (uint64_t)((accepting[first / 64] & bit) != 0) << row % 64;
        }
        if (count) from = ends[count - 1];
        if (!block_is_done(many, count)) break;
    }
    for (uint32_t i = 0; i < words; i++) masks[i] &= firsts[i] & ~accepting[i];
    return status;
}
