/* search_tables.c - an automaton for the tokens of a dictionary. In: an automaton over bytes, tokens.
 * Out: a transition per state and code, and a class per code that says where walks must begin. The trick:
 * whether a walk may begin anywhere in a row is not told but found out, by looking at all pairs of
 * states that a walk from the start of the row and one from further on can be in. */
#include "device_search.h"

#include <string.h>

/* ---------------------------------------------------------------- where a walk may begin */

/* Automata with more states are walked from the start of every row: pairs would be too many. */
#define MOST_PAIRED 2048u

/* Pairs of states: seen, and still to be looked at. */
typedef struct pairs {
    uint64_t *seen; /* a bit per pair */
    uint32_t *list;
    uint64_t count;
} pairs;

static void add_pair(pairs *of, uint32_t states, uint32_t one, uint32_t other) {
    uint64_t pair = (uint64_t)one * states + other;
    if (one == other || of->seen[pair / 64] >> pair % 64 & 1) return;
    of->seen[pair / 64] |= 1ull << pair % 64;
    of->list[of->count++] = (uint32_t)pair;
}

/* Whether every row that matches also matches with anything put before it. Then a walk that begins in
 * the start state anywhere in a row finds nothing that is not there. */
static int may_begin_anywhere(const fp_automaton *a, pairs *of) {
    for (uint32_t state = 0; state < a->states; state++) add_pair(of, a->states, a->start, state);
    while (of->count) {
        uint32_t pair = of->list[--of->count];
        uint32_t late = pair / a->states, early = pair % a->states;
        if (late >= a->first_accepting && early < a->first_accepting) return 0;
        for (uint32_t class = 0; class < a->classes; class ++)
            add_pair(of, a->states, a->next[late * a->classes + class],
                     a->next[early * a->classes + class]);
    }
    return 1;
}

fastpair_status fp_gpu_leaf_plan(const fp_automaton *automaton, const fastpair_allocator *allocator,
                                 fp_gpu_leaf *leaf, fastpair_error *error) {
    leaf->start = automaton->start;
    leaf->takes_empty = automaton->start >= automaton->first_accepting;
    leaf->by_rows = 1;
    leaf->at_once = automaton->first_accepting == automaton->absorbing;
    leaf->rest = automaton->dead == FP_NO_STATE ? FP_GPU_NO_REST : automaton->dead;
    /* With a dead state, how the row begins decides; a start that accepts must see the row's end. */
    if (automaton->dead != FP_NO_STATE || leaf->takes_empty || automaton->states > MOST_PAIRED)
        return FASTPAIR_OK;
    uint64_t all = (uint64_t)automaton->states * automaton->states;
    pairs of = {.seen = fp_allocate_zero(allocator, all / 64 + 1, sizeof *of.seen),
                .list = fp_allocate(allocator, all, sizeof *of.list)};
    fastpair_status status = FASTPAIR_OK;
    if (!of.seen || !of.list) {
        status = fp_fail_memory(error, all * sizeof *of.list);
    } else if (may_begin_anywhere(automaton, &of)) {
        leaf->by_rows = 0;
        leaf->rest = automaton->start;
    }
    fp_release(allocator, of.seen);
    fp_release(allocator, of.list);
    return status;
}

/* ---------------------------------------------------------------- tables */

uint64_t fp_gpu_filter_bytes(const fp_rows_table *table) {
    return fp_device_align(4 * (uint64_t)FP_GPU_FILTER_WORDS(table->code_bits));
}

uint64_t fp_gpu_transition_bytes(const fp_automaton *automaton, const fp_rows_table *table) {
    return fp_device_align(2 * (uint64_t)automaton->states * table->slots);
}

static uint16_t entry_of(const fp_automaton *automaton, uint32_t state) {
    uint32_t entry = state;
    if (state >= automaton->first_accepting) entry |= FP_GPU_AT_END;
    if (state == automaton->absorbing) entry |= FP_GPU_MATCHES;
    return (uint16_t)entry;
}

/* Where each code leads from a state. A code without a token leads nowhere. */
static void write_state(const fp_automaton *automaton, const fp_rows_table *table, uint32_t state,
                        uint16_t *entries) {
    const fp_dict *dict = table->dict;
    int stays = state == automaton->absorbing || state == automaton->dead;
    for (uint32_t code = 0; code < table->slots; code++) entries[code] = entry_of(automaton, state);
    for (uint32_t byte = 0; !dict && !stays && byte < 256; byte++)
        entries[byte] = entry_of(automaton, fp_automaton_step(automaton, state, (uint8_t)byte));
    const uint8_t *token = dict ? dict->bytes : NULL;
    for (uint32_t r = 0; dict && !stays && r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        for (uint32_t i = 0; i < run->count; i++, token += run->length)
            entries[run->first_code + i] =
                entry_of(automaton, fp_automaton_run(automaton, state, token, run->length));
    }
}

/* Whether a code goes on with a match: in some state that one token leads to from the start, it leads
 * elsewhere than it leads a walk that has seen nothing. `reached` has such states. */
static int goes_on(const uint16_t *entries, const fp_rows_table *table, const fp_gpu_leaf *leaf,
                   const uint32_t *reached, uint32_t count, uint32_t code) {
    uint32_t fresh = leaf->rest;
    if (!leaf->by_rows) fresh = entries[(uint64_t)leaf->rest * table->slots + code] & FP_GPU_STATE;
    for (uint32_t i = 0; i < count; i++)
        if ((entries[(uint64_t)reached[i] * table->slots + code] & FP_GPU_STATE) != fresh) return 1;
    return 0;
}

/* States that are looked at so; with more of them, all codes go on. */
#define MOST_REACHED 64u

static void write_filter(const fp_rows_table *table, const fp_gpu_leaf *leaf, int at_once,
                         const uint16_t *entries, uint32_t *words) {
    const uint16_t *start = entries + (uint64_t)leaf->start * table->slots;
    uint32_t reached[MOST_REACHED], count = 0;
    for (uint32_t code = 0; code < table->slots && count <= MOST_REACHED; code++) {
        uint32_t state = start[code] & FP_GPU_STATE, i = 0;
        if (state == leaf->rest || start[code] & FP_GPU_MATCHES) continue;
        while (i < count && reached[i] != state) i++;
        if (i == count && count < MOST_REACHED) reached[count] = state;
        count += i == count;
    }
    memset(words, 0, 4 * (size_t)FP_GPU_FILTER_WORDS(table->code_bits));
    for (uint32_t code = 0; code < table->slots; code++) {
        int matches = (start[code] & (FP_GPU_MATCHES | FP_GPU_AT_END)) != 0;
        int begins = (start[code] & FP_GPU_STATE) != leaf->rest;
        int leads_on = count > MOST_REACHED || goes_on(entries, table, leaf, reached, count, code);
        uint32_t class = FP_GPU_CLASS_NONE;
        if (matches || (begins && leads_on && !at_once))
            class = FP_GPU_CLASS_SURE;
        else if (begins)
            class = FP_GPU_CLASS_BEGINS;
        else if (leads_on)
            class = FP_GPU_CLASS_GOES_ON;
        words[code / 16] |= class << (30 - 2 * (code % 16));
    }
}

/* A walk may end with a code that leads where a walk from that very code leads: whatever follows, the
 * other finds. Such entries become the resting state, so that a walk need not look for it. */
static void write_ends(const fp_automaton *automaton, const fp_rows_table *table,
                       const fp_gpu_leaf *leaf, uint16_t *entries) {
    const uint16_t *fresh = entries + (uint64_t)leaf->rest * table->slots;
    for (uint32_t state = 0; state < automaton->states; state++) {
        uint16_t *from = entries + (uint64_t)state * table->slots;
        for (uint32_t code = 0; state != leaf->rest && code < table->slots; code++)
            if (from[code] == fresh[code]) from[code] = (uint16_t)leaf->rest;
    }
}

/* Of 100 codes so many that match at once make it worthwhile to tell them apart. */
#define MANY_MATCHES 2u

int fp_gpu_leaf_write(const fp_automaton *automaton, const fp_rows_table *table,
                      const fp_gpu_leaf *leaf, uint8_t *filter, uint8_t *transitions) {
    uint16_t *entries = (uint16_t *)(void *)transitions;
    for (uint32_t state = 0; state < automaton->states; state++)
        write_state(automaton, table, state, entries + (uint64_t)state * table->slots);
    uint32_t matches = 0;
    const uint16_t *start = entries + (uint64_t)leaf->start * table->slots;
    for (uint32_t i = 0; i < table->sampled; i++)
        matches += (start[table->sample[i]] & FP_GPU_MATCHES) != 0;
    int at_once = leaf->at_once && 100 * matches > MANY_MATCHES * table->sampled;
    write_filter(table, leaf, at_once, entries, (uint32_t *)(void *)filter);
    if (!leaf->by_rows) write_ends(automaton, table, leaf, entries);
    return at_once;
}
