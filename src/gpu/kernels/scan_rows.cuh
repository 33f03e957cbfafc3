/* scan_rows.cuh - which rows match, found byte by byte. In: rows of a chunk, an automaton over bytes or
 * a trie. Out: a bit per row.
 *
 * The way that always works, and the slow one: a lane takes a row, or 32 codes where rows may be cut, and
 * reads the bytes of its tokens where the dictionary has them, so that nothing is decoded to memory.
 * Rows that do not match a hostile column's lengths end where their codes do. */
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
    if (node == FP_GPU_SCAN_NO_STATE) return node;
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

/* What finding tokens needs of a chunk. */
typedef struct scan_chunk {
    uint64_t codes, lengths, cells;
    uint32_t bits, stride, slots;
} scan_chunk;

DEVICE scan_chunk scan_open(const fp_gpu_selection *of, uint32_t c) {
    uint32_t shape = SELECT_CHUNK4(of, c, stride);
    return scan_chunk{SELECT_CHUNK8(of, c, codes),
                      SELECT_CHUNK8(of, c, token_lengths),
                      SELECT_CHUNK8(of, c, cells),
                      shape >> 16 & 255,
                      shape & 0xffff,
                      SELECT_CHUNK4(of, c, slots)};
}

/* Where the bytes of a code are, and how many. */
typedef struct scan_token {
    uint64_t bytes;
    uint32_t length;
} scan_token;

DEVICE scan_token scan_take(const scan_chunk *chunk, uint32_t at) {
    uint64_t bit = (uint64_t)at * chunk->bits, word = chunk->codes + bit / 32 * 4;
    scan_token token = {chunk->codes + at, 1};
    if (chunk->lengths) {
        uint32_t shift = (uint32_t)bit % 32, low = global_load4(word);
        uint32_t high = shift + chunk->bits > 32 ? global_load4(word + 4) : 0;
        uint32_t code = funnel_right(low, high, shift) & ((1u << chunk->bits) - 1);
        code = least(code, chunk->slots - 1);
        token.bytes = chunk->cells + (uint64_t)code * chunk->stride;
        token.length = global_load1(chunk->lengths + code);
    }
    return token;
}

/* The state after the first bytes of a token. They are read eight at a time, as lanes read different
 * tokens. A token of one byte may be a stored byte, with others around it. */
DEVICE uint32_t scan_run(const fp_gpu_scan_automaton *in, uint32_t state, uint64_t token,
                         uint32_t length) {
    if (length == 1) return scan_step(in, state, global_load1(token));
    for (uint32_t i = 0; i < length; i += 8) {
        uint64_t bytes = global_load8(token + i);
        for (uint32_t left = least(length - i, 8); left; left--, bytes >>= 8)
            state = scan_step(in, state, (uint32_t)bytes & 255);
    }
    return state;
}

/* The state after a row's bytes. A state that is never left ends the walk. */
DEVICE uint32_t scan_row(const fp_gpu_scan_launch *launch, const select_row *row) {
    const fp_gpu_scan_automaton *in = &launch->automaton;
    select_codes codes = select_where(&launch->of, row);
    scan_chunk chunk = scan_open(&launch->of, row->chunk);
    uint32_t state = in->start, left = row->bytes;
    for (uint32_t at = codes.first; at < codes.end && left; at++) {
        scan_token token = scan_take(&chunk, at);
        state = scan_run(in, state, token.bytes, least(token.length, left));
        if (state == in->absorbing || state == in->dead) return state;
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

/* ---------------------------------------------------------------- cut rows */

/* Sets the bit of a row. */
DEVICE void scan_set(const fp_gpu_scan_chunk *to, uint32_t row) {
    if (row / 32 < to->found_words) global_or4(to->found + row / 32 * 4, 1u << row % 32);
}

/* Codes of a chunk from which a lane searches. */
typedef struct scan_segment {
    uint32_t first, count; /* up to 32 */
    uint32_t end;          /* of the chunk */
    uint32_t begins;       /* a bit per code that begins a row */
    uint32_t row;          /* of the code before, among those with bytes */
    uint64_t starts;       /* bits of all codes of the chunk that begin rows */
} scan_segment;

/* Sets the bits of rows with a match that begins in a segment. Further on, the lane looks until it knows
 * no more than one that began with the next segment. */
DEVICE void scan_from(const fp_gpu_scan_launch *launch, const fp_gpu_scan_chunk *to,
                      const scan_segment *segment) {
    const fp_gpu_scan_automaton *in = &launch->automaton;
    scan_chunk chunk = scan_open(&launch->of, to->chunk);
    uint32_t state = in->start, fresh = state, row = segment->row, is_met = 0;
    for (uint32_t i = 0; i < segment->count; i++) {
        if (segment->begins >> i & 1) state = in->start, is_met = 0, row++;
        if (is_met) continue;
        scan_token token = scan_take(&chunk, segment->first + i);
        state = scan_run(in, state, token.bytes, token.length);
        is_met = scan_accepts(in, state);
        if (is_met) scan_set(to, row);
    }
    for (uint32_t at = segment->first + 32; !is_met && state != fresh && at < segment->end; at++) {
        if (global_load4(segment->starts + at / 32 * 4) >> at % 32 & 1) break;
        scan_token token = scan_take(&chunk, at);
        if (!token.length) break; /* the column is corrupt, and might go on so for long */
        state = scan_run(in, state, token.bytes, token.length);
        fresh = scan_run(in, fresh, token.bytes, token.length);
        is_met = scan_accepts(in, state);
        if (is_met) scan_set(to, row);
    }
}

/* A kernel for leaves that are true as soon as a pattern is met, wherever it begins: a warp takes a batch
 * of codes, a lane 32 of them, so that long rows are many lanes' work. */
DEVICE void scan_codes(const fp_gpu_scan_launch *launch) {
    const fp_gpu_scan_chunk *to = &launch->entry[block_y()];
    uint32_t number = block_x() * FP_GPU_HELPER_THREADS + thread_in_block();
    uint32_t end = SELECT_CHUNK4(&launch->of, to->chunk, code_count);
    uint64_t first = (uint64_t)FP_GPU_SEGMENT * number;
    if (first - FP_GPU_SEGMENT * lane() >= end) return;
    uint64_t ranks = SELECT_CHUNK8(&launch->of, to->chunk, ranks);
    scan_segment segment = {
        (uint32_t)first, 0, end, 0, 0, SELECT_CHUNK8(&launch->of, to->chunk, starts)};
    if (first < end) {
        segment.count = least(end - (uint32_t)first, FP_GPU_SEGMENT);
        segment.begins = global_load4(segment.starts + 4 * (uint64_t)number);
        segment.begins &= 0xffffffffu >> (32 - segment.count);
    }
    uint32_t rows = popcount(segment.begins), before = warp_inclusive_sum(rows) - rows;
    segment.row = global_load4(ranks + 4 * (uint64_t)(number / 32)) + before - 1;
    scan_from(launch, to, &segment);
}

#endif
