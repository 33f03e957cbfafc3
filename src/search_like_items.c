/* search_like_items.c - one step of LIKE. In: where a row can be in the patterns, and its next byte.
 * Out: where it can be then. The trick: whether bytes are one character or several that are part of
 * none shows at the last of them. So items guess, both ways at once, and that byte removes those that
 * guessed wrong. Items that a later % of their pattern makes needless are left out, so few remain.
 * Refuses nothing. */
#include "search_like_private.h"

#include <string.h>

/* What UTF-8 still wants, in the middle of a character: so many bytes 80..BF, of which the next one
 * may have to be in a narrower range. */
enum {
    BETWEEN,
    ONE_MORE,
    TWO_MORE,
    THREE_MORE,
    AFTER_E0, /* two more, the first of them A0..BF */
    AFTER_ED, /* two more, 80..9F */
    AFTER_F0, /* three more, 90..BF */
    AFTER_F4, /* three more, 80..8F */
    BROKEN
};

static fp_like_utf8 after_first_byte(uint8_t b) {
    if (b < 0xc2 || b > 0xf4) return BETWEEN;
    if (b < 0xe0) return ONE_MORE;
    if (b < 0xf0) return b == 0xe0 ? AFTER_E0 : b == 0xed ? AFTER_ED : TWO_MORE;
    return b == 0xf0 ? AFTER_F0 : b == 0xf4 ? AFTER_F4 : THREE_MORE;
}

static fp_like_utf8 after_next_byte(fp_like_utf8 before, uint8_t b) {
    if (b < 0x80 || b > 0xbf) return BROKEN;
    switch (before) {
    case ONE_MORE: return BETWEEN;
    case TWO_MORE: return ONE_MORE;
    case THREE_MORE: return TWO_MORE;
    case AFTER_E0: return b >= 0xa0 ? ONE_MORE : BROKEN;
    case AFTER_ED: return b < 0xa0 ? ONE_MORE : BROKEN;
    case AFTER_F0: return b >= 0x90 ? TWO_MORE : BROKEN;
    case AFTER_F4: return b < 0x90 ? TWO_MORE : BROKEN;
    default: return BROKEN;
    }
}

uint32_t fp_like_utf8_class(uint8_t b) {
    if (b < 0x80) return 0;
    if (b < 0xc0) return b < 0x90 ? 1 : b < 0xa0 ? 2 : 3;
    if (after_first_byte(b) != BETWEEN) return 3 + after_first_byte(b);
    return 11;
}

/* Adds an item, and the one after a %. Items come in ascending order, but for those that a % adds. */
static void add(const fp_like *like, fp_like_state *to, uint32_t position, uint32_t guess) {
    to->items[to->count++] = fp_like_item(position, guess);
    if (like->elements[position] == FP_LIKE_ANYTHING)
        to->items[to->count++] = fp_like_item(position + 1, guess);
}

/* Sorts, and removes doubles. Sets are small and nearly in order. */
static void put_in_order(fp_like_state *state) {
    uint32_t *items = state->items, kept = 0;
    for (uint32_t i = 1; i < state->count; i++) {
        uint32_t item = items[i], at = i;
        for (; at && items[at - 1] > item; at--) items[at] = items[at - 1];
        items[at] = item;
    }
    for (uint32_t i = 0; i < state->count; i++)
        if (!kept || items[kept - 1] != items[i]) items[kept++] = items[i];
    state->count = kept;
}

/* Removes items before a % of the same pattern that is reached under the same guess: whatever they
 * come to, the % comes to as well. */
static void remove_needless(const fp_like *like, fp_like_state *state) {
    uint32_t anything[2] = {UINT32_MAX, UINT32_MAX}; /* the last % that is reached, by guess */
    uint32_t kept = state->count;
    for (uint32_t i = state->count; i-- > 0;) {
        uint32_t position = state->items[i] / FP_LIKE_GUESSES,
                 guess = state->items[i] % FP_LIKE_GUESSES;
        uint32_t *last = &anything[guess == FP_LIKE_SPLIT];
        if (*last != UINT32_MAX && like->pattern_of[position] != like->pattern_of[*last])
            *last = UINT32_MAX;
        if (*last != UINT32_MAX && position < *last) continue;
        if (like->elements[position] == FP_LIKE_ANYTHING) *last = position;
        state->items[--kept] = state->items[i];
    }
    state->count -= kept;
    memmove(state->items, state->items + kept, state->count * sizeof *state->items);
}

static void put_in_shape(const fp_like *like, fp_like_state *state) {
    put_in_order(state);
    remove_needless(like, state);
}

void fp_like_begin(const fp_like *like, fp_like_state *to) {
    to->utf8 = BETWEEN;
    to->count = 0;
    for (uint32_t i = 0; i < like->count; i++)
        if (i == 0 || like->elements[i - 1] == FP_LIKE_END) add(like, to, i, FP_LIKE_WHOLE);
    put_in_shape(like, to);
}

/* A byte in the middle of a character, which it does not break. */
static void step_inside(const fp_like *like, const fp_like_state *from, uint8_t byte,
                        fp_like_state *to) {
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t position = from->items[i] / FP_LIKE_GUESSES,
                 guess = from->items[i] % FP_LIKE_GUESSES, element = like->elements[position];
        if (guess == FP_LIKE_SPLIT && to->utf8 == BETWEEN) continue; /* it was a character */
        if (guess == FP_LIKE_INSIDE && to->utf8 == BETWEEN)
            add(like, to, position + 1, FP_LIKE_WHOLE);
        else if (guess == FP_LIKE_INSIDE || element == FP_LIKE_ANYTHING)
            add(like, to, position, guess);
        else if (element == byte || (element == FP_LIKE_CHARACTER && guess == FP_LIKE_SPLIT))
            add(like, to, position + 1, guess);
    }
}

/* A byte with which a character begins. `first` is the only guess that items had which are left. */
static void step_between(const fp_like *like, const fp_like_state *from, uint32_t left,
                         uint8_t byte, fp_like_state *to) {
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t position = from->items[i] / FP_LIKE_GUESSES, element = like->elements[position];
        if (from->items[i] % FP_LIKE_GUESSES != left) continue;
        uint32_t next = position + (element != FP_LIKE_ANYTHING);
        int goes_on = element == byte || element == FP_LIKE_ANYTHING;
        if (goes_on || (element == FP_LIKE_CHARACTER && to->utf8 == BETWEEN))
            add(like, to, next, FP_LIKE_WHOLE);
        else if (element == FP_LIKE_CHARACTER)
            add(like, to, position, FP_LIKE_INSIDE);
        if (to->utf8 != BETWEEN && (goes_on || element == FP_LIKE_CHARACTER))
            add(like, to, next, FP_LIKE_SPLIT);
    }
}

void fp_like_step(const fp_like *like, const fp_like_state *from, uint8_t byte, fp_like_state *to) {
    fp_like_utf8 next = from->utf8 == BETWEEN ? BROKEN : after_next_byte(from->utf8, byte);
    to->count = 0;
    to->utf8 = next;
    if (next != BROKEN) {
        step_inside(like, from, byte, to);
    } else {
        to->utf8 = like->has_character ? after_first_byte(byte) : BETWEEN;
        step_between(like, from, from->utf8 == BETWEEN ? FP_LIKE_WHOLE : FP_LIKE_SPLIT, byte, to);
    }
    put_in_shape(like, to);
    if (!to->count) to->utf8 = BETWEEN; /* one dead state, not several */
}

int fp_like_accepts(const fp_like *like, const fp_like_state *state) {
    /* A character that the row's end breaks is none. */
    uint32_t guess = state->utf8 == BETWEEN ? FP_LIKE_WHOLE : FP_LIKE_SPLIT;
    for (uint32_t i = 0; i < state->count; i++)
        if (state->items[i] % FP_LIKE_GUESSES == guess &&
            like->elements[state->items[i] / FP_LIKE_GUESSES] == FP_LIKE_END)
            return 1;
    return 0;
}

int fp_like_accepts_all(const fp_like *like, const fp_like_state *state) {
    int found[2] = {0, state->utf8 == BETWEEN};
    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t position = state->items[i] / FP_LIKE_GUESSES,
                 guess = state->items[i] % FP_LIKE_GUESSES;
        if (like->elements[position] == FP_LIKE_ANYTHING &&
            like->elements[position + 1] == FP_LIKE_END)
            found[guess == FP_LIKE_SPLIT] = 1;
    }
    return found[0] && found[1];
}
