/* search_marks.c - rows of a window by marks. In: codes of which many match. Out: the bits of their rows.
 * The trick: a bit is set for the byte after each row's last, and 64 codes at a time look up the bits
 * of their first bytes. That gives the codes that end rows as a mask, and matches and rows are then
 * brought together 64 codes at a time: a match before a row's end is a carry that runs up to it.
 * Refuses nothing: whoever gets no answer asks fp_pass_many. */
#include "search_many.h"

#include <string.h>

/* Marks the ends of all rows from the cursor's on that end in the window, whose bytes are begin .. end.
 * Returns how many; UINT32_MAX if rows are empty between blocks, or contradict each other. */
static uint32_t mark_rows(fp_row_cursor *cursor, uint64_t begin, uint64_t end, uint8_t *marks) {
    uint32_t marked = 0;
    for (;;) {
        const uint64_t *ends = cursor->starts + cursor->at + 1;
        uint32_t most = cursor->rows - cursor->at, count = most;
        if (ends[most - 1] > end) {
            count = 0;
            for (uint32_t step = 128; step; step /= 2)
                if (count + step <= most && ends[count + step - 1] <= end) count += step;
        }
        for (uint32_t i = 0; i < count; i++) {
            uint64_t byte = ends[i] - begin;
            marks[byte / 8] |= (uint8_t)(1u << byte % 8);
        }
        marked += count;
        if (count < most || ends[most - 1] == end) {
            cursor->at += count < most ? count : most - 1;
            return marked;
        }
        uint64_t block = cursor->block + 1;
        if (fp_row_cursor_seek(cursor, ends[most - 1], NULL) || cursor->block != block ||
            cursor->at)
            return UINT32_MAX;
    }
}

/* Whether codes begin where the sidecar says. */
static int places_are_right(const fp_code_window *window, uint64_t begin, const uint32_t *places) {
    const uint64_t first = window->first / window->batch_codes;
    const uint32_t each = window->batch_codes / 64, blocks = (window->count + 63) / 64;
    uint64_t wrong = 0, batch = first;
    for (uint32_t i = 0; i < blocks; i += each)
        wrong |= (fp_window_batch_place(window, batch++) - begin) ^ places[i];
    return !(wrong | ((fp_window_batch_place(window, batch) - begin) ^ places[blocks]));
}

#if defined(__x86_64__)
/* The lengths of the window's tokens. Eight at a time are stored together, as storing each costs more
 * than looking it up. */
static void list_lengths(const fp_code_window *window, uint8_t *to) {
    const uint8_t *lengths = window->lengths;
    uint32_t i = 0;
    for (; i + 8 <= window->count; i += 8) {
        const uint16_t *c = window->codes + i;
        uint64_t low = lengths[c[0]] | (uint32_t)lengths[c[1]] << 8 | (uint32_t)lengths[c[2]] << 16,
                 high =
                     lengths[c[4]] | (uint32_t)lengths[c[5]] << 8 | (uint32_t)lengths[c[6]] << 16;
        fp_store64(to + i, low | (uint64_t)lengths[c[3]] << 24 | high << 32 |
                               (uint64_t)lengths[c[7]] << 56);
    }
    for (; i < window->count; i++) to[i] = lengths[window->codes[i]];
}
#endif

/* One code after the other. */
static void find_marked_plain(const fp_code_window *window, const uint8_t *marks,
                              fp_marked *marked) {
    const uint16_t *codes = window->codes;
    const uint8_t *lengths = window->lengths;
    const uint32_t count = window->count, words = (count + 63) / 64;
    uint32_t place = 0;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t here = count - i * 64 < 64 ? count - i * 64 : 64;
        uint64_t starts = 0;
        marked->places[i] = place;
        for (uint32_t k = 0; k < here; k++) {
            /* Lengths that contradict the sidecar may add up to more than there are marks. */
            uint32_t at = place % (FP_WINDOW_CODES * FP_MAX_TOKEN);
            starts |= (uint64_t)(marks[at / 8] >> at % 8 & 1) << k;
            place += lengths[codes[i * 64 + k]];
        }
        marked->starts[i] = starts;
    }
    marked->places[words] = place;
}

/* Codes of the window that begin with a mark. Returns 0 if codes contradict the sidecar. */
static int find_marked(const fp_many *many, uint64_t begin, fp_marked *marked) {
    fp_code_window *window = many->window;
#if defined(__x86_64__)
    if (many->search->level >= FASTPAIR_CPU_AVX512) {
        uint8_t lengths[FP_WINDOW_CODES];
        const int by_class = many->search->has_classes;
        if (!by_class) list_lengths(window, lengths);
        fp_find_marked_avx512(many->search, window, by_class ? NULL : lengths, many->marks, marked);
        return places_are_right(window, begin, marked->places);
    }
#endif
    find_marked_plain(window, many->marks, marked);
    return places_are_right(window, begin, marked->places);
}

/* Sets bits of rows from bit rows->row on: those of codes rows->from .. to. ends[] has the bits of rows'
 * last codes. Returns whether the codes after the last of these match. */
static int join_rows(const fp_many *many, const fp_spans *spans, const uint64_t *ends,
                     const fp_row_range *rows) {
#if defined(__x86_64__)
    if (many->search->level >= FASTPAIR_CPU_AVX512)
        return fp_join_rows_avx512(spans, ends, rows, many->bits);
#endif
    uint64_t row = rows->row, carry = 0;
    for (uint32_t i = rows->from / 64; i * 64 < rows->to; i++) {
        uint64_t here = fp_range_in_word(rows, i), found = fp_whole_matches(spans, ends, i) & here;
        /* All codes but the last of a row are ones. A match added to them carries to the last one. */
        uint64_t end = ends[i] & here, some = found & ~end, sum = some + ~end, all = sum + carry;
        carry = (sum < some) | (all < sum);
        for (uint64_t passed = all | found; end; end &= end - 1, row++)
            many->bits[row / 64] |= (uint64_t)((passed & end & -end) != 0) << row % 64;
    }
    return (int)carry;
}

int fp_pass_marked(const fp_many *many, uint32_t from, const fp_spans *spans) {
    fp_code_window *window = many->window;
    const uint64_t batch = window->first / window->batch_codes,
                   batches = (window->count + window->batch_codes - 1) / window->batch_codes,
                   begin = fp_window_batch_place(window, batch),
                   end = fp_window_batch_place(window, batch + batches);
    const uint32_t words = (window->count + 63) / 64;
    fp_marked marked;
    uint64_t *ends = marked.starts;
    if (!many->marks || window->batch_codes % 64) return 0;
    if (end <= begin || end - begin > FP_WINDOW_CODES * FP_MAX_TOKEN) return 0;
    if (fp_row_cursor_find(many->rows, begin, NULL)) return 0;
    const uint64_t first = fp_row_cursor_row(many->rows);
    memset(many->marks, 0, (end - begin) / 8 + 256);
    uint32_t rows = mark_rows(many->rows, begin, end, many->marks);
    if (rows == UINT32_MAX || !find_marked(many, begin, &marked)) return 0;
    /* A code ends a row if the next one begins another. */
    const uint64_t last = many->marks[(end - begin) / 8] >> (end - begin) % 8 & 1;
    ends[words] = ends[words + 1] = 0;
    for (uint32_t i = 0; i < words; i++) ends[i] = ends[i] >> 1 | ends[i + 1] << 63;
    ends[(window->count - 1) / 64] |= last << (window->count - 1) % 64;
    /* Rows that end with the same code, or within one, are fewer bits than rows. */
    if (fp_count_range(many->search, ends, 0, window->count) != rows) return 0;
    uint32_t before = from ? fp_count_range(many->search, ends, 0, from) : 0;
    if (many->limit < window->count) rows = fp_count_range(many->search, ends, 0, many->limit);
    const uint64_t row = first + before - many->piece->first, after = row + rows - before;
    fp_row_range range = {from, many->limit, row};
    if (row > many->piece->rows || after > many->piece->rows) return 0;
    if (join_rows(many, spans, ends, &range) && after < many->piece->rows)
        fp_set_bit(many->bits, after);
    return 1;
}
