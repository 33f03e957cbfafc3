/* search_oracle.c - predicates by definition: a row and a predicate go in, true, false or null comes
 * out. Every way to match is tried, with nothing clever but a note of what was tried before. */
#include "search_oracle.h"

#include "check.h"

static uint8_t folded(uint8_t byte, int ignore_case) {
    return ignore_case && byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte - 'A' + 'a') : byte;
}

static int same(const uint8_t *a, const uint8_t *b, uint64_t size, int ignore_case) {
    for (uint64_t i = 0; i < size; i++)
        if (folded(a[i], ignore_case) != folded(b[i], ignore_case)) return 0;
    return 1;
}

/* ---------------------------------------------------------------- LIKE */

/* Bytes of the character that begins with bytes[0]: by its number, which must have no shorter form. */
static uint64_t character_size(const uint8_t *bytes, uint64_t left) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t number = bytes[0];
    uint64_t size = number < 0x80       ? 1
                    : number >> 5 == 6  ? 2
                    : number >> 4 == 14 ? 3
                    : number >> 3 == 30 ? 4
                                        : 0;
    if (size < 2 || size > left) return 1;
    number &= 0xffu >> (size + 1);
    for (uint64_t i = 1; i < size; i++) {
        if (bytes[i] >> 6 != 2) return 1;
        number = number << 6 | (bytes[i] & 0x3f);
    }
    if (number < least[size] || number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
        return 1;
    return size;
}

/* An element of a pattern: %, _ or a byte that stands for itself, possibly after an escape. */
typedef struct element {
    int is_anything, is_character;
    uint8_t byte;
} element;

/* Whether rest p of the pattern matches rest r of the row is found from the end of both: now[r] for
 * this p, after[r] for p + 1. */
static int is_like(const fastpair_predicate *p, const fastpair_pattern *pattern, const uint8_t *row,
                   uint64_t size) {
    const uint8_t *bytes = pattern->bytes;
    uint64_t *next = calloc(size + 1, sizeof *next), count = 0;
    uint8_t *now = calloc(size + 1, 1), *after = calloc(size + 1, 1);
    element *elements = calloc(pattern->size + 1, sizeof *elements);
    for (uint64_t i = 0; i < pattern->size; i++) {
        int is_escaped = p->escape > 0 && bytes[i] == p->escape;
        if (is_escaped) i++;
        elements[count++] =
            (element){!is_escaped && bytes[i] == '%', !is_escaped && bytes[i] == '_', bytes[i]};
    }
    for (uint64_t r = 0; r < size; r = next[r]) next[r] = r + character_size(row + r, size - r);
    after[size] = 1;
    while (count--) {
        element e = elements[count];
        for (uint64_t r = size + 1; r-- > 0;) {
            if (e.is_anything)
                now[r] = after[r] || (r < size && now[r + 1]);
            else if (e.is_character)
                now[r] = r < size && next[r] && after[next[r]];
            else
                now[r] = r < size && same(&e.byte, &row[r], 1, p->ignore_case) && after[r + 1];
        }
        uint8_t *swap = now;
        now = after, after = swap;
    }
    int found = after[0];
    free(next), free(now), free(after), free(elements);
    return found;
}

/* ---------------------------------------------------------------- predicates */

static int passes(const fastpair_predicate *p, const fastpair_pattern *pattern, const uint8_t *row,
                  uint64_t size) {
    const uint8_t *bytes = pattern->bytes;
    uint64_t length = pattern->size;
    if (p->kind == FASTPAIR_LIKE) return is_like(p, pattern, row, size);
    if (length > size) return 0;
    if (p->kind == FASTPAIR_EQUALS) return length == size && same(bytes, row, size, p->ignore_case);
    if (p->kind == FASTPAIR_STARTS_WITH) return same(bytes, row, length, p->ignore_case);
    if (p->kind == FASTPAIR_ENDS_WITH)
        return same(bytes, row + (size - length), length, p->ignore_case);
    for (uint64_t at = 0; at + length <= size; at++)
        if (same(bytes, row + at, length, p->ignore_case)) return 1;
    return 0;
}

oracle_truth oracle_evaluate(const fastpair_predicate *p, const uint8_t *row, uint64_t size) {
    oracle_truth truth = ORACLE_FALSE;
    if (p->kind == FASTPAIR_IS_NULL) {
        truth = row ? ORACLE_FALSE : ORACLE_TRUE;
    } else if (p->kind == FASTPAIR_ALL_OF || p->kind == FASTPAIR_ANY_OF) {
        int seen[3] = {0};
        for (uint64_t i = 0; i < p->child_count; i++)
            seen[oracle_evaluate(&p->children[i], row, size)] = 1;
        if (p->kind == FASTPAIR_ALL_OF)
            truth = seen[ORACLE_FALSE]  ? ORACLE_FALSE
                    : seen[ORACLE_NULL] ? ORACLE_NULL
                                        : ORACLE_TRUE;
        else
            truth = seen[ORACLE_TRUE]   ? ORACLE_TRUE
                    : seen[ORACLE_NULL] ? ORACLE_NULL
                                        : ORACLE_FALSE;
    } else if (!row) {
        return ORACLE_NULL;
    } else {
        for (uint64_t i = 0; i < p->pattern_count && !truth; i++)
            if (passes(p, &p->patterns[i], row, size)) truth = ORACLE_TRUE;
    }
    if (truth == ORACLE_NULL) return truth;
    return p->negate ? (truth == ORACLE_TRUE ? ORACLE_FALSE : ORACLE_TRUE) : truth;
}

/* ---------------------------------------------------------------- trials */

static void append(uint8_t *bytes, uint64_t *size, const uint8_t *from, uint64_t count) {
    memcpy(bytes + *size, from, count);
    *size += count;
}

/* Patterns have at most 4 * MOST bytes. */
enum { MOST = 300 };

/* Bytes of a row, or of two that follow each other. */
static uint64_t cut(const trial_rows *rows, uint8_t *bytes, uint64_t *random) {
    if (!rows->rows) return 0;
    uint64_t row = check_random(random) % rows->rows, from = rows->offsets[row],
             to = rows->offsets[row + 1];
    uint64_t size = to - from, at = 0, take = size;
    switch (check_random(random) % 8) {
    case 0: break; /* the whole row */
    case 1: at = size ? check_random(random) % size : 0, take = size - at; break;
    case 2: take = size ? check_random(random) % size : 0; break;
    case 3: take += rows->offsets[rows->rows] - to ? 1 : 0; break; /* and a byte of the next */
    default:
        at = size ? check_random(random) % size : 0;
        take = 1 + check_random(random) % 12;
        if (take > size - at) take = size - at;
    }
    if (take > MOST) take = MOST;
    if (take) memcpy(bytes, rows->bytes + from + at, take);
    return take;
}

static uint64_t make_pattern(const trial_rows *rows, uint8_t *bytes, uint64_t *random) {
    uint64_t size = cut(rows, bytes, random), kind = check_random(random) % 12;
    uint8_t extra[4];
    for (int i = 0; i < 4; i++) extra[i] = (uint8_t)check_random(random);
    if (kind == 0 && size) bytes[check_random(random) % size] ^= 1; /* almost */
    if (kind == 1) append(bytes, &size, extra, 1 + extra[0] % 3);   /* longer than rows */
    if (kind == 2) {                                                /* periodic */
        uint64_t period = 1 + extra[0] % 3, length = 1 + extra[1] % 40;
        if (size < period) memset(bytes, 'a', period);
        for (size = period; size < length; size++) bytes[size] = bytes[size - period];
    }
    if (kind == 3) size = 0;
    if (kind == 4) memset(bytes, 0, size = 1 + extra[0] % 5);
    if (kind == 5) { /* the last byte of a run is another */
        for (uint64_t i = 0; i + 1 < size; i++) bytes[i] = bytes[0];
    }
    return size;
}

/* Puts % and _ into a pattern, and escapes before those that were there. */
static uint64_t make_like(uint8_t *to, const uint8_t *from, uint64_t size, int escape,
                          uint64_t *random) {
    uint64_t made = 0;
    for (uint64_t i = 0; i < size; i++) {
        uint64_t kind = check_random(random) % 24;
        if (kind == 0) to[made++] = '_';
        if (kind == 1 || (kind == 2 && i == 0)) to[made++] = '%';
        if (kind == 3) {
            to[made++] = '_';
            i += check_random(random) % 3;
            continue;
        }
        if (kind == 4) {
            to[made++] = '%';
            i += check_random(random) % 9;
            continue;
        }
        if (escape > 0 && (from[i] == '%' || from[i] == '_' || from[i] == escape))
            to[made++] = (uint8_t)escape;
        to[made++] = from[i];
    }
    if (check_random(random) % 2) to[made++] = '%';
    return made;
}

static void make_leaf(fastpair_predicate *p, const trial_rows *rows, uint64_t *random) {
    static const int escapes[4] = {-1, 0, '\\', 'a'};
    uint64_t most = p->kind == FASTPAIR_LIKE ? 2 : 5; /* automata of many such patterns are large */
    uint64_t count = check_random(random) % 3 ? 1 : 1 + check_random(random) % most;
    fastpair_pattern *patterns = calloc(count, sizeof *patterns);
    p->patterns = patterns;
    p->pattern_count = count;
    p->ignore_case = check_random(random) % 4 == 0;
    p->escape = p->kind == FASTPAIR_LIKE ? escapes[check_random(random) % 4] : 0;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t bytes[2 * MOST], like_bytes[8 * MOST], *from = bytes;
        uint64_t size = make_pattern(rows, bytes, random);
        if (p->ignore_case)
            for (uint64_t k = 0; k < size; k++)
                if (bytes[k] >= 'a' && bytes[k] <= 'z' && check_random(random) % 2) bytes[k] -= 32;
        if (p->kind == FASTPAIR_LIKE)
            from = like_bytes,
            size = make_like(like_bytes, bytes, size > 40 ? 40 : size, p->escape, random);
        uint8_t *exact = malloc(size + !size);
        memcpy(exact, from, size);
        patterns[i] = (fastpair_pattern){exact, size};
    }
}

static void make(fastpair_predicate *p, const trial_rows *rows, uint32_t depth, uint64_t *random) {
    memset(p, 0, sizeof *p);
    p->struct_size = sizeof *p;
    p->negate = check_random(random) % 4 == 0;
    uint64_t kind = check_random(random) % 8;
    if (depth > 1 && kind < 4) {
        p->kind = kind % 2 ? FASTPAIR_ALL_OF : FASTPAIR_ANY_OF;
        p->child_count = 1 + check_random(random) % 3;
        fastpair_predicate *children = calloc(p->child_count, sizeof *children);
        for (uint64_t i = 0; i < p->child_count; i++) make(&children[i], rows, depth - 1, random);
        p->children = children;
    } else if (depth > 1 && kind == 4) {
        p->kind = FASTPAIR_IS_NULL;
    } else {
        p->kind = (fastpair_predicate_kind)(1 + check_random(random) % 5);
        make_leaf(p, rows, random);
    }
}

static void drop(fastpair_predicate *p) {
    for (uint64_t i = 0; i < p->pattern_count; i++) free((void *)(uintptr_t)p->patterns[i].bytes);
    for (uint64_t i = 0; i < p->child_count; i++)
        drop((fastpair_predicate *)(uintptr_t)&p->children[i]);
    free((void *)(uintptr_t)p->patterns), free((void *)(uintptr_t)p->children);
}

void trial_make(trial *t, const trial_rows *rows, uint32_t depth, uint64_t *random) {
    make(&t->predicate, rows, depth, random);
    const fastpair_predicate *p = &t->predicate;
    int at =
        snprintf(t->name, sizeof t->name, "kind %d%s%s, %llu patterns, escape %d: ", (int)p->kind,
                 p->negate ? " negated" : "", p->ignore_case ? " any case" : "",
                 (unsigned long long)p->pattern_count, p->escape);
    for (uint64_t i = 0; p->pattern_count && i < p->patterns[0].size && i < 30; i++) {
        uint8_t b = ((const uint8_t *)p->patterns[0].bytes)[i];
        at += snprintf(t->name + at, sizeof t->name - (size_t)at,
                       b >= 32 && b < 127 ? "%c" : "\\%02x", b);
    }
}

void trial_free(trial *t) { drop(&t->predicate); }
