/* highlight.c - where a row matches, for colours on a terminal.
 *
 * In: patterns, and a row that is known to match. Out: the parts of the row that do, one after the
 * other. This looks at bytes, row by row, since only rows that are shown are looked at. LIKE says
 * nothing about parts of a row: nothing is found for it.
 */
#include "patterns.h"

#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint8_t first_byte(const grep_highlight *highlight, const fastpair_pattern *pattern) {
    return highlight->fold[*(const uint8_t *)pattern->bytes];
}

/* By length, the longest first. */
static int compare(const void *a, const void *b) {
    const fastpair_pattern *x = *(const fastpair_pattern *const *)a,
                           *y = *(const fastpair_pattern *const *)b;
    return x->size < y->size ? 1 : x->size > y->size ? -1 : 0;
}

int grep_highlight_open(grep_highlight *highlight, const grep_patterns *patterns,
                        fastpair_predicate_kind kind, bool ignore_case) {
    *highlight = (grep_highlight){.patterns = patterns, .kind = kind};
    for (int i = 0; i < 256; i++)
        highlight->fold[i] = (uint8_t)(ignore_case && i >= 'A' && i <= 'Z' ? i + 'a' - 'A' : i);
    if (patterns->count == 0) return CLI_OK;
    highlight->sorted = malloc(patterns->count * sizeof(*highlight->sorted));
    if (!highlight->sorted) return cli_fail_errno(NULL, ENOMEM);
    /* Counting sort: how many have each byte, where each byte begins, the patterns. */
    for (uint64_t i = 0; i < patterns->count; i++)
        if (patterns->list[i].size > 0)
            highlight->first[first_byte(highlight, &patterns->list[i]) + 1]++;
    for (int i = 0; i < 256; i++) highlight->first[i + 1] += highlight->first[i];
    uint64_t next[256];
    memcpy(next, highlight->first, sizeof(next));
    for (uint64_t i = 0; i < patterns->count; i++)
        if (patterns->list[i].size > 0)
            highlight->sorted[next[first_byte(highlight, &patterns->list[i])]++] =
                &patterns->list[i];
    for (int i = 0; i < 256; i++)
        qsort(highlight->sorted + highlight->first[i],
              highlight->first[i + 1] - highlight->first[i], sizeof(*highlight->sorted), compare);
    return CLI_OK;
}

void grep_highlight_close(grep_highlight *highlight) {
    free(highlight->sorted);
    highlight->sorted = NULL;
}

static bool equal(const grep_highlight *highlight, const uint8_t *row,
                  const fastpair_pattern *pattern) {
    const uint8_t *bytes = pattern->bytes;
    for (uint64_t i = 0; i < pattern->size; i++)
        if (highlight->fold[row[i]] != highlight->fold[bytes[i]]) return false;
    return true;
}

/* The length of the longest pattern that the row has at a position; 0: none. */
static uint64_t match_at(const grep_highlight *highlight, const uint8_t *row, uint64_t size) {
    uint8_t byte = highlight->fold[row[0]];
    for (uint64_t i = highlight->first[byte]; i < highlight->first[byte + 1]; i++)
        if (highlight->sorted[i]->size <= size && equal(highlight, row, highlight->sorted[i]))
            return highlight->sorted[i]->size;
    return 0;
}

/* The length of the longest pattern that the row ends with. */
static uint64_t match_end(const grep_highlight *highlight, const uint8_t *row, uint64_t size) {
    uint64_t longest = 0;
    for (uint64_t i = 0; i < highlight->patterns->count; i++) {
        const fastpair_pattern *pattern = &highlight->patterns->list[i];
        if (pattern->size > longest && pattern->size <= size &&
            equal(highlight, row + (size - pattern->size), pattern))
            longest = pattern->size;
    }
    return longest;
}

bool grep_highlight_next(const grep_highlight *highlight, const uint8_t *row, uint64_t size,
                         uint64_t *start, uint64_t *length) {
    if (highlight->kind == FASTPAIR_CONTAINS) {
        for (; *start < size; ++*start)
            if ((*length = match_at(highlight, row + *start, size - *start)) > 0) return true;
        return false;
    }
    if (*start > 0 || size == 0) return false;
    if (highlight->kind == FASTPAIR_EQUALS)
        *length = size;
    else if (highlight->kind == FASTPAIR_STARTS_WITH)
        *length = match_at(highlight, row, size);
    else if (highlight->kind == FASTPAIR_ENDS_WITH)
        *length = match_end(highlight, row, size);
    else
        *length = 0;
    if (highlight->kind == FASTPAIR_ENDS_WITH) *start = size - *length;
    return *length > 0;
}
