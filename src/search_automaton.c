/* search_automaton.c - automata in their final form. In: states as a builder found them. Out: those
 * that can be reached, numbered so that one comparison tells whether a state accepts. The trick: all
 * states that are never left become one that accepts and one that does not, so that whoever runs the
 * automaton can stop there. Refuses nothing. */
#include "search_automaton.h"

#include <string.h>

/* The first byte from `i` on that leads out of the start state. */
static uint64_t skip(const uint8_t *leaves, const uint8_t *bytes, uint64_t i, uint64_t size) {
    while (i + 4 <= size &&
           !(leaves[bytes[i]] | leaves[bytes[i + 1]] | leaves[bytes[i + 2]] | leaves[bytes[i + 3]]))
        i += 4;
    while (i < size && !leaves[bytes[i]]) i++;
    return i;
}

uint32_t fp_automaton_run(const fp_automaton *automaton, uint32_t state, const uint8_t *bytes,
                          uint64_t size) {
    const uint32_t start = automaton->start, absorbing = automaton->absorbing,
                   dead = automaton->dead;
    if (state == absorbing || state == dead) return state;
    for (uint64_t i = 0; i < size; i++) {
        if (state == start && (i = skip(automaton->leaves_start, bytes, i, size)) == size) break;
        state = fp_automaton_step(automaton, state, bytes[i]);
        if (state == absorbing || state == dead) break;
    }
    return state;
}

/* What renumbering needs, by raw number. */
typedef struct renumbering {
    uint32_t *order;  /* raw numbers, in the order they are reached */
    uint32_t *number; /* the final number; FP_NO_STATE until the state is reached */
    uint32_t reached;
} renumbering;

static void reach(renumbering *r, uint32_t raw) {
    if (r->number[raw] != FP_NO_STATE) return;
    r->number[raw] = 0;
    r->order[r->reached++] = raw;
}

static int is_never_left(const fp_raw_states *raw, uint32_t classes, uint32_t state) {
    for (uint32_t c = 0; c < classes; c++)
        if (raw->next[state * classes + c] != state) return 0;
    return 1;
}

/* Gives numbers: states that do not accept, the dead one, those that accept, the absorbing one. */
static void number_states(const fp_raw_states *raw, renumbering *r, fp_automaton *automaton) {
    uint32_t next = 0;
    automaton->dead = automaton->absorbing = FP_NO_STATE;
    for (uint32_t pass = 0; pass < 4; pass++) {
        uint32_t shared = FP_NO_STATE; /* by all states of this pass that are never left */
        if (pass == 2) automaton->first_accepting = next;
        for (uint32_t i = 0; i < r->reached; i++) {
            uint32_t state = r->order[i];
            int never_left = is_never_left(raw, automaton->classes, state);
            if (pass != (uint32_t)(raw->accepts[state] * 2 + never_left)) continue;
            if (never_left && shared == FP_NO_STATE) shared = next++;
            r->number[state] = never_left ? shared : next++;
        }
        if (pass == 1) automaton->dead = shared;
        if (pass == 3) automaton->absorbing = shared;
    }
    automaton->states = next;
    automaton->start = r->number[0];
}

static fastpair_status finish(const fp_raw_states *raw, renumbering *r,
                              const fastpair_allocator *allocator, fp_automaton *automaton,
                              fastpair_error *error) {
    const uint32_t classes = automaton->classes;
    for (uint32_t i = 0; i < raw->count; i++) r->number[i] = FP_NO_STATE;
    reach(r, 0);
    for (uint32_t i = 0; i < r->reached; i++)
        for (uint32_t c = 0; c < classes; c++) reach(r, raw->next[r->order[i] * classes + c]);
    number_states(raw, r, automaton);
    automaton->next =
        fp_allocate(allocator, (uint64_t)automaton->states * classes, sizeof *automaton->next);
    if (!automaton->next)
        return fp_fail_memory(error, (uint64_t)automaton->states * classes * sizeof(uint16_t));
    for (uint32_t i = 0; i < r->reached; i++) {
        const uint16_t *from = raw->next + (uint64_t)r->order[i] * classes;
        uint16_t *to = automaton->next + (uint64_t)r->number[r->order[i]] * classes;
        for (uint32_t c = 0; c < classes; c++) to[c] = (uint16_t)r->number[from[c]];
    }
    for (uint32_t b = 0; b < 256; b++)
        automaton->leaves_start[b] =
            fp_automaton_step(automaton, automaton->start, (uint8_t)b) != automaton->start;
    return FASTPAIR_OK;
}

fastpair_status fp_automaton_finish(const fp_raw_states *raw, const fastpair_allocator *allocator,
                                    fp_automaton *automaton, fastpair_error *error) {
    renumbering r = {fp_allocate(allocator, raw->count, sizeof *r.order),
                     fp_allocate(allocator, raw->count, sizeof *r.number), 0};
    fastpair_status status = r.order && r.number
                                 ? finish(raw, &r, allocator, automaton, error)
                                 : fp_fail_memory(error, raw->count * sizeof *r.order);
    fp_release(allocator, r.order);
    fp_release(allocator, r.number);
    return status;
}

void fp_automaton_close(fp_automaton *automaton, const fastpair_allocator *allocator) {
    fp_release(allocator, automaton->next);
    automaton->next = NULL;
}
