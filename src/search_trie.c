/* search_trie.c - from patterns to an automaton. In: patterns, and where in a row they may lie. Out:
 * an automaton with one state per node of the patterns' trie. The trick: each node falls back to the
 * node of its longest proper suffix, so that the automaton never goes back in the text (Aho and
 * Corasick, 1975). Patterns that begin at the start of a row need no fallback: they die instead.
 * Refuses nothing: a trie with too many nodes is kept and run as it is. */
#include "search_trie.h"

#include <string.h>

/* Bytes that the table of an automaton may take. */
#define LARGEST_TABLE (32u << 20)

static uint32_t find_child(const fp_pattern_trie *trie, uint32_t node, uint8_t byte) {
    uint32_t child = trie->child[node];
    while (child && trie->byte[child] != byte) child = trie->sibling[child];
    return child;
}

static void insert(fp_pattern_trie *trie, const uint8_t *bytes, uint64_t size) {
    uint32_t node = 0;
    for (uint64_t i = 0; i < size; i++) {
        if (trie->anything_after && trie->ends[node]) return; /* what follows cannot matter */
        uint8_t byte = fp_fold(bytes[i], trie->ignore_case);
        uint32_t child = find_child(trie, node, byte);
        if (!child) {
            child = trie->nodes++;
            trie->byte[child] = byte;
            trie->ends[child] = 0;
            trie->child[child] = 0;
            trie->sibling[child] = trie->child[node];
            trie->child[node] = child;
        }
        node = child;
    }
    trie->ends[node] = 1;
}

/* The node after a byte, where every node has a way out. */
static uint32_t fall_back(const fp_pattern_trie *trie, uint32_t node, uint8_t byte) {
    for (;;) {
        uint32_t child = find_child(trie, node, byte);
        if (child || !node) return child;
        node = trie->fallback[node];
    }
}

/* Puts parents before children and finds the fallback of each node. */
static void link_nodes(fp_pattern_trie *trie) {
    uint32_t end = 0;
    trie->order[end++] = 0;
    if (trie->fallback) trie->fallback[0] = 0;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t node = trie->order[i];
        for (uint32_t child = trie->child[node]; child; child = trie->sibling[child]) {
            trie->order[end++] = child;
            if (!trie->fallback) continue;
            trie->fallback[child] =
                node ? fall_back(trie, trie->fallback[node], trie->byte[child]) : 0;
            trie->ends[child] |= trie->ends[trie->fallback[child]];
        }
    }
}

static fastpair_status open_trie(const fp_pattern_set *set, const fastpair_allocator *allocator,
                                 fp_pattern_trie *trie, fastpair_error *error) {
    uint64_t most = set->bytes + 1;
    *trie = (fp_pattern_trie){.anywhere = set->anywhere,
                              .anything_after = set->anything_after,
                              .ignore_case = set->ignore_case};
    trie->child = fp_allocate(allocator, most, sizeof *trie->child);
    trie->sibling = fp_allocate(allocator, most, sizeof *trie->sibling);
    trie->byte = fp_allocate(allocator, most, 1);
    trie->ends = fp_allocate(allocator, most, 1);
    trie->order = fp_allocate(allocator, most, sizeof *trie->order);
    if (set->anywhere) trie->fallback = fp_allocate(allocator, most, sizeof *trie->fallback);
    if (!trie->child || !trie->sibling || !trie->byte || !trie->ends || !trie->order ||
        (set->anywhere && !trie->fallback))
        return fp_fail_memory(error, most * sizeof *trie->child);
    trie->child[0] = trie->sibling[0] = 0;
    trie->byte[0] = trie->ends[0] = 0;
    trie->nodes = 1;
    for (uint64_t i = 0; i < set->count; i++)
        insert(trie, set->patterns[i].bytes, set->patterns[i].size);
    link_nodes(trie);
    return FASTPAIR_OK;
}

void fp_pattern_trie_close(fp_pattern_trie *trie, const fastpair_allocator *allocator) {
    fp_release(allocator, trie->child);
    fp_release(allocator, trie->sibling);
    fp_release(allocator, trie->fallback);
    fp_release(allocator, trie->byte);
    fp_release(allocator, trie->ends);
    fp_release(allocator, trie->order);
    *trie = (fp_pattern_trie){0};
}

uint32_t fp_pattern_trie_step(const fp_pattern_trie *trie, uint32_t node, uint8_t byte) {
    if (node == FP_NO_STATE || (trie->anything_after && trie->ends[node])) return node;
    byte = fp_fold(byte, trie->ignore_case);
    if (trie->anywhere) return fall_back(trie, node, byte);
    uint32_t child = find_child(trie, node, byte);
    return child ? child : FP_NO_STATE;
}

/* ---------------------------------------------------------------- automata */

/* Bytes that no pattern has are one class. */
static void find_classes(const fp_pattern_trie *trie, fp_automaton *automaton) {
    uint32_t class_of_letter[256];
    uint32_t others = FP_NO_STATE;
    for (uint32_t b = 0; b < 256; b++) class_of_letter[b] = FP_NO_STATE;
    for (uint32_t i = 1; i < trie->nodes; i++) class_of_letter[trie->byte[i]] = 0;
    automaton->classes = 0;
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t *of_class = &class_of_letter[b];
        if (fp_fold((uint8_t)b, trie->ignore_case) != b) continue;
        if (*of_class == FP_NO_STATE) of_class = &others;
        if (of_class != &others || others == FP_NO_STATE) *of_class = automaton->classes++;
        automaton->class_of[b] = (uint8_t)*of_class;
    }
    for (uint32_t b = 'A'; b <= 'Z' && trie->ignore_case; b++)
        automaton->class_of[b] = automaton->class_of[fp_fold((uint8_t)b, 1)];
}

/* A state per node, and a dead one after them where patterns begin with the row. */
static void fill_states(const fp_pattern_trie *trie, const fp_automaton *automaton,
                        fp_raw_states *raw) {
    const uint32_t classes = automaton->classes, dead = trie->nodes;
    for (uint32_t i = 0; i < trie->nodes; i++) {
        uint32_t node = trie->order[i];
        uint16_t *row = raw->next + (uint64_t)node * classes;
        raw->accepts[node] = trie->ends[node];
        int is_done = trie->anything_after && trie->ends[node];
        if (!is_done && trie->anywhere && node) /* the fallback comes before in the order */
            memcpy(row, raw->next + (uint64_t)trie->fallback[node] * classes,
                   classes * sizeof *row);
        else
            for (uint32_t c = 0; c < classes; c++)
                row[c] = (uint16_t)(is_done ? node : trie->anywhere ? 0 : dead);
        for (uint32_t child = trie->child[node]; child && !is_done; child = trie->sibling[child])
            row[automaton->class_of[trie->byte[child]]] = (uint16_t)child;
    }
    if (raw->count == trie->nodes) return;
    raw->accepts[dead] = 0;
    for (uint32_t c = 0; c < classes; c++) raw->next[(uint64_t)dead * classes + c] = (uint16_t)dead;
}

static fastpair_status make_automaton(const fp_pattern_trie *trie,
                                      const fastpair_allocator *allocator, fp_automaton *automaton,
                                      fastpair_error *error) {
    fp_raw_states raw = {.count = trie->nodes + (trie->anywhere ? 0 : 1)};
    if (raw.count > FP_MOST_STATES) return FASTPAIR_OK;
    find_classes(trie, automaton);
    automaton->anywhere = trie->anywhere;
    uint64_t cells = (uint64_t)raw.count * automaton->classes;
    if (cells * sizeof *raw.next > LARGEST_TABLE) return FASTPAIR_OK;
    raw.next = fp_allocate(allocator, cells, sizeof *raw.next);
    raw.accepts = fp_allocate(allocator, raw.count, 1);
    fastpair_status status = FASTPAIR_OK;
    if (raw.next && raw.accepts) {
        fill_states(trie, automaton, &raw);
        status = fp_automaton_finish(&raw, allocator, automaton, error);
    } else {
        status = fp_fail_memory(error, cells * sizeof *raw.next);
    }
    fp_release(allocator, raw.next);
    fp_release(allocator, raw.accepts);
    return status;
}

fastpair_status fp_pattern_trie_build(const fp_pattern_set *set,
                                      const fastpair_allocator *allocator, fp_pattern_trie *trie,
                                      fp_automaton *automaton, fastpair_error *error) {
    fastpair_status status = open_trie(set, allocator, trie, error);
    if (!status) status = make_automaton(trie, allocator, automaton, error);
    if (status || automaton->next) fp_pattern_trie_close(trie, allocator);
    return status;
}
