/* scan_params.h - what the host tells the kernel that searches the bytes of rows, for patterns that
 * tables by code cannot hold. */
#ifndef FP_GPU_SCAN_PARAMS_H
#define FP_GPU_SCAN_PARAMS_H

#include "select_params.h"

#define FP_GPU_SCAN_NO_STATE 0xffffffffu

/* A deterministic automaton over bytes, or a trie (src/search_automaton.h, src/search_trie.h). */
typedef struct fp_gpu_scan_automaton {
    /* A class per byte, a byte each; transitions, 2 bytes each: [state * class_count + class]. 0: the
     * trie is run. */
    uint64_t classes, next;
    /* The trie's nodes: first child, next sibling, and where it falls back to, 4 bytes each; the byte
     * that leads to the node, and whether a pattern ends there, a byte each. */
    uint64_t child, sibling, fallback, byte, ends;
    uint32_t class_count, start, first_accepting, absorbing, dead;
    /* Of the trie. */
    uint8_t anywhere, anything_after, ignore_case;
    /* 1: rows may be cut. A row matches as soon as a state accepts, and a state says no more than which
     * patterns the last bytes may be the beginning of. */
    uint8_t cuts;
} fp_gpu_scan_automaton;

/* A chunk whose rows are searched, its number in the table of chunks, and where its bits go: of all rows,
 * or, if rows are cut, of those with bytes. */
typedef struct fp_gpu_scan_chunk {
    uint64_t found;
    uint32_t chunk, rows;
    uint32_t found_words, reserved;
} fp_gpu_scan_chunk;

typedef struct fp_gpu_scan_launch {
    fp_gpu_selection of; /* the table of chunks alone */
    fp_gpu_scan_automaton automaton;
    fp_gpu_scan_chunk entry[FP_GPU_ENTRIES];
} fp_gpu_scan_launch;

FP_GPU_ASSERT(sizeof(fp_gpu_scan_automaton) == 80 && sizeof(fp_gpu_scan_chunk) == 24 &&
                  sizeof(fp_gpu_scan_launch) <= FP_GPU_MOST_PARAMETERS,
              "host and device must agree on these sizes");

#endif
