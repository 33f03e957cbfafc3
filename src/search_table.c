/* search_table.c - from an automaton over bytes to one over codes. In: an automaton and a dictionary.
 * Out: for every state and code, the state after the code's token. The trick: the row of the start
 * state is made first, passing over bytes that it stays at, and copied to all other states. A run
 * from another state ends as soon as it meets the run from the start, which is mostly after a byte or
 * two, and then the copy is right. Refuses nothing. */
#include "search_table.h"

#include <string.h>

static void put(fp_token_table *table, uint32_t state, uint32_t code, uint32_t next) {
    uint64_t at = (uint64_t)state << table->code_bits | code;
    if (table->state_bytes == 1)
        ((uint8_t *)table->next)[at] = (uint8_t)next;
    else
        ((uint16_t *)table->next)[at] = (uint16_t)next;
}

/* What filling a table keeps at hand. */
typedef struct filling {
    const fp_automaton *automaton;
    fp_token_table *table;
    /* By class: 1 if a state that can be left leads elsewhere than the start state. */
    uint8_t differs[256];
} filling;

static int is_final(const fp_automaton *automaton, uint32_t state) {
    return state == automaton->absorbing || state == automaton->dead;
}

/* One code of a dictionary. */
typedef void fill_code(const filling *f, uint32_t code, const uint8_t *token, uint32_t length);

/* From the start state. */
static void fill_start(const filling *f, uint32_t code, const uint8_t *token, uint32_t length) {
    uint32_t start = f->automaton->start;
    put(f->table, start, code, fp_automaton_run(f->automaton, start, token, length));
}

/* From the states that do not meet the run from the start. */
static void fill_others(const filling *f, uint32_t code, const uint8_t *token, uint32_t length) {
    const fp_automaton *automaton = f->automaton;
    const uint16_t *next = automaton->next;
    const uint32_t classes = automaton->classes, first = automaton->class_of[token[0]];
    if (!f->differs[first]) return;
    /* The run from the start, as far as it was needed. */
    uint32_t path[FP_MAX_TOKEN + 1], known = 1;
    path[1] = next[automaton->start * classes + first];
    for (uint32_t state = 0; state < automaton->states; state++) {
        uint32_t at = next[state * classes + first], i = 1;
        if (is_final(automaton, state)) continue;
        while (i < length && at != path[i] && !is_final(automaton, at)) {
            uint32_t class = automaton->class_of[token[i]];
            if (known == i) path[++known] = next[path[i] * classes + class];
            at = next[at * classes + class];
            i++;
        }
        if (at != path[i]) put(f->table, state, code, at);
    }
}

static void each_code(const filling *f, const fp_dict *dict, fill_code *fill) {
    static const uint8_t zeros[FP_MAX_TOKEN];
    const uint8_t *token = dict->bytes;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint32_t code = run->first_code, end = code + run->count;
        uint32_t next = r + 1 < dict->run_count ? run[1].first_code : dict->code_slots;
        for (; code < end; code++, token += run->length) fill(f, code, token, run->length);
        for (; code < next; code++) fill(f, code, zeros, run->length);
    }
}

static void fill_table(const fp_automaton *automaton, const fp_dict *dict, fp_token_table *table) {
    filling f = {.automaton = automaton, .table = table};
    const uint32_t classes = automaton->classes, start = automaton->start;
    const uint64_t row_bytes = (uint64_t)table->state_bytes << dict->code_bits;
    uint8_t *rows = table->next;
    const uint32_t patterns = 1u << dict->code_bits;
    for (uint32_t state = 0; state < automaton->states; state++)
        for (uint32_t class = 0; class < classes && !is_final(automaton, state); class ++)
            f.differs[class] |= automaton->next[state * classes + class] !=
                                automaton->next[start * classes + class];
    each_code(&f, dict, fill_start);
    for (uint32_t state = 0; state < automaton->states; state++)
        if (state != start) memcpy(rows + state * row_bytes, rows + start * row_bytes, row_bytes);
    each_code(&f, dict, fill_others);
    for (uint32_t state = 0; state < automaton->states; state++)
        for (uint32_t code = is_final(automaton, state) ? 0 : dict->code_slots; code < patterns;
             code++)
            put(table, state, code, state);
}

fastpair_status fp_token_table_open(const fp_automaton *automaton, const fp_dict *dict,
                                    const fastpair_allocator *allocator, fp_token_table **table,
                                    fastpair_error *error) {
    uint64_t bytes = fp_token_table_bytes(automaton->states, dict->code_bits);
    fp_token_table *made = fp_allocate(allocator, sizeof *made + bytes, 1);
    *table = made;
    if (!made) return fp_fail_memory(error, sizeof *made + bytes);
    *made = (fp_token_table){.states = automaton->states,
                             .code_bits = dict->code_bits,
                             .code_slots = dict->code_slots,
                             .state_bytes = automaton->states <= 256 ? 1 : 2,
                             .start = automaton->start,
                             .first_accepting = automaton->first_accepting,
                             .absorbing = automaton->absorbing,
                             .dead = automaton->dead,
                             .anywhere = automaton->anywhere,
                             .next = made + 1};
    fill_table(automaton, dict, made);
    return FASTPAIR_OK;
}

void fp_token_table_close(fp_token_table *table, const fastpair_allocator *allocator) {
    fp_release(allocator, table);
}
