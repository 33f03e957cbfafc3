/* search_automaton.h - what patterns become: a deterministic automaton over the bytes of a row.
 *
 * A row matches if the state at its end accepts. States that accept come last. A state that is never
 * left has a name: `absorbing` accepts, so whoever reaches it may stop; `dead` does not. */
#ifndef FP_SEARCH_AUTOMATON_H
#define FP_SEARCH_AUTOMATON_H

#include "memory.h"

/* No automaton has more states; what needs more is run as a trie, or refused. */
#define FP_MOST_STATES (1u << 16)
#define FP_NO_STATE    UINT32_MAX

typedef struct fp_automaton {
    uint32_t states;          /* 1..FP_MOST_STATES */
    uint32_t classes;         /* bytes of one class lead to the same states: 1..256 */
    uint32_t start;           /* 0, unless it accepts */
    uint32_t first_accepting; /* this state and all after it accept; `states` if none does */
    uint32_t absorbing;       /* the last state, or FP_NO_STATE */
    uint32_t dead;            /* or FP_NO_STATE */
    /* 1: a match may begin anywhere. Whatever a row is accepted with in its first state, it is accepted
     * with in any other state as well, but for states in the middle of a character. */
    int anywhere;
    /* 1: states know where characters of UTF-8 begin. A row that ends in the middle of one leaves a
     * state that reads the first bytes of the next row otherwise than the start state does. */
    int by_characters;
    uint8_t class_of[256];
    uint8_t leaves_start[256]; /* by byte: 0 if the start state leads to itself */
    uint16_t *next;            /* [state * classes + class]; NULL: there is none */
} fp_automaton;

static inline uint32_t fp_automaton_step(const fp_automaton *automaton, uint32_t state,
                                         uint8_t byte) {
    return automaton->next[state * automaton->classes + automaton->class_of[byte]];
}

/* The state after `size` bytes. */
uint32_t fp_automaton_run(const fp_automaton *automaton, uint32_t state, const uint8_t *bytes,
                          uint64_t size);

/* States as a builder has numbered them: the first is the start. */
typedef struct fp_raw_states {
    uint32_t count;   /* 1..FP_MOST_STATES */
    uint16_t *next;   /* [state * classes + class] */
    uint8_t *accepts; /* by state: 0 or 1 */
} fp_raw_states;

/* Numbers the states that can be reached as above. `automaton` has its classes already; it gets a
 * table of its own. */
fastpair_status fp_automaton_finish(const fp_raw_states *raw, const fastpair_allocator *allocator,
                                    fp_automaton *automaton, fastpair_error *error);
void fp_automaton_close(fp_automaton *automaton, const fastpair_allocator *allocator);

/* A byte as patterns are compared by it: with `ignore_case`, letters A..Z become a..z. */
static inline uint8_t fp_fold(uint8_t byte, int ignore_case) {
    return ignore_case && byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 32) : byte;
}

#endif
