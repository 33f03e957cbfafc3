/* search_like.c - LIKE as an automaton. In: patterns. Out: an automaton over bytes, whose states are
 * the sets of places in the patterns where a row can be. The trick: bytes that no pattern tells apart
 * are tried once. Refuses escapes before what needs none, and patterns with too many states: a %
 * followed by several _ and then by a byte can double them with every _. */
#include "search_like_private.h"

#include <inttypes.h>
#include <string.h>

/* Items of all states together: bounds memory and time where states are few and large. */
#define MOST_ITEMS (1u << 22)

/* ---------------------------------------------------------------- patterns */

/* The element at `*at`, and moves past it. FP_LIKE_END if an escape stands before anything else than
 * %, _ and itself. */
static uint32_t read_element(const fastpair_pattern *pattern, int escape, uint64_t *at) {
    const uint8_t *bytes = pattern->bytes;
    uint8_t byte = bytes[(*at)++];
    if (byte == escape) {
        if (*at == pattern->size) return FP_LIKE_END;
        byte = bytes[(*at)++];
        return byte == '%' || byte == '_' || byte == escape ? byte : FP_LIKE_END;
    }
    return byte == '%' ? FP_LIKE_ANYTHING : byte == '_' ? FP_LIKE_CHARACTER : byte;
}

int fp_like_prefix(const fastpair_pattern *pattern, int escape, uint8_t *bytes, uint64_t *size) {
    uint64_t at = 0;
    *size = 0;
    while (at < pattern->size) {
        uint32_t element = read_element(pattern, escape, &at);
        if (element > UINT8_MAX) return 0;
        bytes[(*size)++] = (uint8_t)element;
    }
    return 1;
}

static fastpair_status read_patterns(const fp_like_set *set, fp_like *like, fastpair_error *error) {
    for (uint64_t i = 0; i < set->count; i++) {
        const fastpair_pattern *pattern = &set->patterns[i];
        uint32_t element = 0, before = FP_LIKE_END;
        for (uint64_t at = 0; at < pattern->size; before = element) {
            element = read_element(pattern, set->escape, &at);
            if (element == FP_LIKE_END)
                return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, at,
                               "LIKE pattern %" PRIu64 ": the escape before its byte %" PRIu64
                               " is followed by neither %%, _ nor itself",
                               i, at);
            if (element == FP_LIKE_ANYTHING && before == FP_LIKE_ANYTHING) continue;
            if (element <= UINT8_MAX) element = fp_fold((uint8_t)element, set->ignore_case);
            like->has_character |= element == FP_LIKE_CHARACTER;
            like->pattern_of[like->count] = (uint32_t)i;
            like->elements[like->count++] = (uint16_t)element;
        }
        like->pattern_of[like->count] = (uint32_t)i;
        like->elements[like->count++] = FP_LIKE_END;
    }
    return FASTPAIR_OK;
}

/* Bytes that stand in no pattern are told apart by UTF-8 alone, and that only for an _. */
static void find_classes(const fp_like *like, int ignore_case, fp_automaton *automaton) {
    uint8_t occurs[256] = {0};
    uint32_t others[FP_LIKE_UTF8_CLASSES];
    for (uint32_t i = 0; i < FP_LIKE_UTF8_CLASSES; i++) others[i] = FP_NO_STATE;
    for (uint32_t i = 0; i < like->count; i++)
        if (like->elements[i] <= UINT8_MAX) occurs[like->elements[i]] = 1;
    automaton->classes = 0;
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t own = FP_NO_STATE,
                 *of_class = &others[like->has_character ? fp_like_utf8_class((uint8_t)b) : 0];
        if (fp_fold((uint8_t)b, ignore_case) != b) continue;
        if (occurs[b]) of_class = &own;
        if (*of_class == FP_NO_STATE) *of_class = automaton->classes++;
        automaton->class_of[b] = (uint8_t)*of_class;
    }
    for (uint32_t b = 'A'; b <= 'Z' && ignore_case; b++)
        automaton->class_of[b] = automaton->class_of[fp_fold((uint8_t)b, 1)];
}

/* ---------------------------------------------------------------- states */

/* States found so far, and a hash table of them. */
typedef struct states {
    const fastpair_allocator *allocator;
    const fp_like *like;
    fp_buffer items;  /* uint32_t, of all states back to back */
    fp_buffer places; /* struct place, by state */
    fp_buffer next;   /* uint16_t[classes], by state */
    uint32_t count;
    uint32_t absorbing; /* FP_NO_STATE until it is found */
    uint32_t slots;     /* a power of two, or 0 */
    uint32_t *table;    /* 1 + a state, or 0 */
    uint32_t *room;     /* for the items of one step */
    uint64_t room_items;
    uint8_t example[256]; /* of each class a byte, as the patterns have it */
} states;

typedef struct place {
    uint64_t first; /* item */
    uint32_t count;
    fp_like_utf8 utf8;
    uint32_t hash;
} place;

static place *place_of(const states *s, uint32_t i) { return (place *)(void *)s->places.data + i; }

static uint32_t *items_of(const states *s, const place *p) {
    return (uint32_t *)(void *)s->items.data + p->first;
}

static uint32_t hash_of(const fp_like_state *state) {
    uint64_t hash = state->utf8 + 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < state->count; i++) {
        hash = (hash ^ state->items[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return (uint32_t)(hash ^ hash >> 29);
}

static fastpair_status grow_table(states *s, fastpair_error *error) {
    uint32_t slots = s->slots ? s->slots * 2 : 64;
    uint32_t *table = fp_allocate_zero(s->allocator, slots, sizeof *table);
    if (!table) return fp_fail_memory(error, slots * sizeof *table);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = place_of(s, i)->hash & (slots - 1);
        while (table[at]) at = (at + 1) & (slots - 1);
        table[at] = i + 1;
    }
    fp_release(s->allocator, s->table);
    s->table = table;
    s->slots = slots;
    return FASTPAIR_OK;
}

static fastpair_status append(states *s, const fp_like_state *state, uint32_t hash,
                              fastpair_error *error) {
    place made = {s->items.size / sizeof(uint32_t), state->count, state->utf8, hash};
    if (s->count == FP_MOST_STATES || made.first + state->count > MOST_ITEMS)
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "LIKE: the patterns need an automaton of more than %u states, or too large "
                       "ones; use fewer patterns, or fewer _ after a %%",
                       FP_MOST_STATES);
    uint64_t bytes = state->count * sizeof *state->items;
    fastpair_status status = fp_buffer_reserve(&s->items, s->allocator, bytes, error);
    if (!status) status = fp_buffer_reserve(&s->places, s->allocator, sizeof made, error);
    if (status) return status;
    if (bytes) memcpy(s->items.data + s->items.size, state->items, bytes);
    memcpy(s->places.data + s->places.size, &made, sizeof made);
    s->items.size += bytes;
    s->places.size += sizeof made;
    s->count++;
    return FASTPAIR_OK;
}

/* The number of a state, which becomes a new one if it was not seen before. */
static fastpair_status number_of(states *s, fp_like_state *state, uint32_t *number,
                                 fastpair_error *error) {
    int accepts_all = fp_like_accepts_all(s->like, state);
    if (accepts_all && s->absorbing != FP_NO_STATE) {
        *number = s->absorbing;
        return FASTPAIR_OK;
    }
    fastpair_status status = FASTPAIR_OK;
    if (s->count * 2 >= s->slots) status = grow_table(s, error);
    if (status) return status;
    uint32_t hash = hash_of(state), at = hash & (s->slots - 1);
    for (; s->table[at]; at = (at + 1) & (s->slots - 1)) {
        const place *p = place_of(s, s->table[at] - 1);
        if (p->hash == hash && p->utf8 == state->utf8 && p->count == state->count &&
            !memcmp(items_of(s, p), state->items, p->count * sizeof *state->items))
            break;
    }
    if (!s->table[at]) {
        status = append(s, state, hash, error);
        if (status) return status;
        s->table[at] = s->count;
        if (accepts_all) s->absorbing = s->count - 1;
    }
    *number = s->table[at] - 1;
    return FASTPAIR_OK;
}

static fastpair_status make_room(states *s, uint64_t items, fastpair_error *error) {
    if (items <= s->room_items) return FASTPAIR_OK;
    fp_release(s->allocator, s->room);
    s->room_items = 0;
    s->room = fp_allocate(s->allocator, items, sizeof *s->room);
    if (!s->room) return fp_fail_memory(error, items * sizeof *s->room);
    s->room_items = items;
    return FASTPAIR_OK;
}

/* Fills the row of state `from` in. */
static fastpair_status expand(states *s, uint32_t from, const fp_automaton *automaton,
                              fastpair_error *error) {
    uint16_t row[256];
    uint32_t to = from;
    place p = *place_of(s, from);
    fastpair_status status = make_room(s, fp_like_room(p.count), error);
    for (uint32_t c = 0; c < automaton->classes && !status; c++) {
        if (from != s->absorbing) {
            /* The items may move when states are added. */
            fp_like_state before = {p.utf8, p.count, items_of(s, &p)}, after = {.items = s->room};
            fp_like_step(s->like, &before, s->example[c], &after);
            status = number_of(s, &after, &to, error);
        }
        row[c] = (uint16_t)to;
    }
    uint64_t bytes = automaton->classes * sizeof *row;
    if (!status) status = fp_buffer_reserve(&s->next, s->allocator, bytes, error);
    if (status) return status;
    memcpy(s->next.data + s->next.size, row, bytes);
    s->next.size += bytes;
    return FASTPAIR_OK;
}

static fastpair_status build(states *s, const fp_like_set *set, fp_automaton *automaton,
                             fastpair_error *error) {
    uint32_t number = 0;
    fastpair_status status = make_room(s, 2 * set->count, error);
    if (status) return status;
    fp_like_state first = {.items = s->room};
    fp_like_begin(s->like, &first);
    status = number_of(s, &first, &number, error);
    for (uint32_t i = 0; i < s->count && !status; i++) status = expand(s, i, automaton, error);
    if (status) return status;
    fp_raw_states raw = {s->count, (uint16_t *)(void *)s->next.data,
                         fp_allocate(s->allocator, s->count, 1)};
    if (!raw.accepts) return fp_fail_memory(error, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        const place *p = place_of(s, i);
        fp_like_state state = {p->utf8, p->count, items_of(s, p)};
        raw.accepts[i] = (uint8_t)(i == s->absorbing || fp_like_accepts(s->like, &state));
    }
    status = fp_automaton_finish(&raw, s->allocator, automaton, error);
    fp_release(s->allocator, raw.accepts);
    return status;
}

fastpair_status fp_like_build(const fp_like_set *set, const fastpair_allocator *allocator,
                              fp_automaton *automaton, fastpair_error *error) {
    uint64_t most = set->bytes + set->count;
    fp_like like = {fp_allocate(allocator, most, sizeof *like.elements),
                    fp_allocate(allocator, most, sizeof *like.pattern_of), 0, 0};
    states s = {.allocator = allocator, .like = &like, .absorbing = FP_NO_STATE};
    fastpair_status status = like.elements && like.pattern_of
                                 ? read_patterns(set, &like, error)
                                 : fp_fail_memory(error, most * sizeof *like.pattern_of);
    if (!status) find_classes(&like, set->ignore_case, automaton);
    automaton->anywhere = 1;
    automaton->by_characters = like.has_character;
    for (uint32_t i = 0; i < like.count && !status; i++)
        if ((!i || like.elements[i - 1] == FP_LIKE_END) && like.elements[i] != FP_LIKE_ANYTHING)
            automaton->anywhere = 0;
    for (uint32_t b = 0; b < 256 && !status; b++)
        s.example[automaton->class_of[b]] = fp_fold((uint8_t)b, set->ignore_case);
    if (!status) status = build(&s, set, automaton, error);
    fp_buffer_close(&s.items, allocator);
    fp_buffer_close(&s.places, allocator);
    fp_buffer_close(&s.next, allocator);
    fp_release(allocator, s.table);
    fp_release(allocator, s.room);
    fp_release(allocator, like.elements);
    fp_release(allocator, like.pattern_of);
    return status;
}
