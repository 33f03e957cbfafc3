/* scan_rows.cuh - which rows match, found byte by byte. In: rows of a chunk, an automaton over bytes or
 * a trie. Out: a bit per row.
 *
 * The way that always works, and the slow one: a lane takes a row, and reads the bytes of its tokens
 * where the dictionary has them, so that nothing is decoded to memory. Rows that do not match a
 * hostile column's lengths end where their codes do. */
#ifndef FP_GPU_SCAN_ROWS_CUH
#define FP_GPU_SCAN_ROWS_CUH

#include "scan_params.h"
#include "select_rows.cuh"

/* The child of a node by a byte, or 0. */
DEVICE uint32_t scan_child(const fp_gpu_scan_automaton *in, uint32_t node, uint32_t byte) {
    uint32_t child = global_reload4(in->child + 4 * (uint64_t)node);
    while (child && global_load1(in->byte + child) != byte)
        child = global_reload4(in->sibling + 4 * (uint64_t)child);
    return child;
}

DEVICE uint32_t scan_step_trie(const fp_gpu_scan_automaton *in, uint32_t node, uint32_t byte) {
    if (in->anything_after && global_load1(in->ends + node)) return node;
    if (in->ignore_case && byte >= 'A' && byte <= 'Z') byte += 32;
    uint32_t child = scan_child(in, node, byte);
    while (in->anywhere && !child && node) {
        node = global_reload4(in->fallback + 4 * (uint64_t)node);
        child = scan_child(in, node, byte);
    }
    return child || in->anywhere ? child : FP_GPU_SCAN_NO_STATE;
}

DEVICE uint32_t scan_step(const fp_gpu_scan_automaton *in, uint32_t state, uint32_t byte) {
    if (!in->classes) return scan_step_trie(in, state, byte);
    uint64_t at = (uint64_t)state * in->class_count + global_load1(in->classes + byte);
    return global_load2(in->next + 2 * at);
}

DEVICE uint32_t scan_accepts(const fp_gpu_scan_automaton *in, uint32_t state) {
    if (in->classes) return state >= in->first_accepting;
    return state != FP_GPU_SCAN_NO_STATE && global_load1(in->ends + state) != 0;
}

/* Where the bytes of a code are, and how many. */
typedef struct scan_token {
    uint64_t bytes;
    uint32_t length;
} scan_token;

DEVICE scan_token scan_take(const fp_gpu_selection *of, uint32_t c, uint32_t at) {
    uint64_t codes = SELECT_CHUNK8(of, c, codes), lengths = SELECT_CHUNK8(of, c, token_lengths);
    uint32_t shape = SELECT_CHUNK4(of, c, stride), bits = shape >> 16 & 255;
    uint64_t bit = (uint64_t)at * bits, word = codes + bit / 32 * 4;
    scan_token token = {codes + at, 1};
    if (lengths) {
        uint32_t shift = (uint32_t)bit % 32, low = global_load4(word);
        uint32_t high = shift + bits > 32 ? global_load4(word + 4) : 0;
        uint32_t code = funnel_right(low, high, shift) & ((1u << bits) - 1);
        code = least(code, SELECT_CHUNK4(of, c, slots) - 1);
        token.bytes = SELECT_CHUNK8(of, c, cells) + (uint64_t)code * (shape & 0xffff);
        token.length = global_load1(lengths + code);
    }
    return token;
}

/* The state after a row's bytes. A state that is never left ends the walk. */
DEVICE uint32_t scan_row(const fp_gpu_scan_launch *launch, const select_row *row) {
    const fp_gpu_scan_automaton *in = &launch->automaton;
    select_codes codes = select_where(&launch->of, row);
    uint32_t state = in->start, left = row->bytes;
    for (uint32_t at = codes.first; at < codes.end && left; at++) {
        scan_token token = scan_take(&launch->of, row->chunk, at);
        uint32_t length = least(token.length, left);
        for (uint32_t i = 0; i < length; i++) {
            state = scan_step(in, state, global_load1(token.bytes + i));
            if (state == in->absorbing || state == in->dead) left = length = 0;
        }
        /* A code without a token is in a corrupt column. */
        left -= least(left, greatest(token.length, 1));
    }
    return state;
}

/* A kernel: a warp takes 32 rows of a chunk. */
DEVICE void scan_rows(const fp_gpu_scan_launch *launch) {
    const fp_gpu_scan_chunk *chunk = &launch->entry[block_y()];
    uint32_t row = block_x() * FP_GPU_HELPER_THREADS + thread_in_block(), state, bad;
    if (row - lane() >= chunk->rows) return;
    state = launch->automaton.start;
    if (row < chunk->rows) {
        select_row taken = {chunk->chunk, row, select_length(&launch->of, chunk->chunk, row, &bad),
                            0};
        if (taken.bytes) state = scan_row(launch, &taken);
    }
    uint32_t bits = warp_ballot(row < chunk->rows && scan_accepts(&launch->automaton, state));
    if (lane() == 0) global_store4(chunk->found + row / 32 * 4, bits);
}

#endif
