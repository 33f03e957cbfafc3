/* encode_rows.cuh - the encoder's input. In: rows of the caller's. Out: whether they can be encoded,
 * and, where null rows have bytes, the bytes of valid rows moved together and where rows begin there.
 *
 * The caller's memory is trusted for what the launch says of it, and offsets for nothing. Refuses
 * offsets that decrease or end past the bytes, and valid rows of 4 GiB or more. */
#ifndef FP_GPU_ENCODE_ROWS_CUH
#define FP_GPU_ENCODE_ROWS_CUH

#include "encode_input.cuh"

/* A kernel: one warp. What was said of the piece before is added up or forgotten. */
DEVICE void encode_begin(const fp_gpu_encode_launch *launch) {
    if (encode_failed(launch) || thread_in_block()) return;
    uint64_t rows = global_reload8(ENCODE_STATE(launch, rows)),
             bytes = global_reload8(ENCODE_STATE(launch, bytes));
    rows += global_reload8(ENCODE_STATE(launch, piece_rows));
    bytes += global_reload8(ENCODE_STATE(launch, text_bytes));
    global_store8(ENCODE_STATE(launch, rows), rows);
    global_store8(ENCODE_STATE(launch, bytes), bytes);
    global_store4(ENCODE_STATE(launch, moves_text), 0);
    global_store4(ENCODE_STATE(launch, chunks), 0);
    global_store8(ENCODE_STATE(launch, segments), 0);
    global_store8(ENCODE_STATE(launch, text_bytes), 0);
    global_store8(ENCODE_STATE(launch, piece_rows), 0);
    global_store4(ENCODE_STATE(launch, bad_seams), 0);
    global_store4(ENCODE_STATE(launch, hard_seams), 0);
}

DEVICE uint64_t encode_offset(const fp_gpu_encode_launch *launch, uint64_t i) {
    return encode_number(launch->input.offsets, i, launch->input.offset_bits == 64);
}

/* A kernel: a block takes FP_GPU_ENCODE_ROWS rows. A decrease is found whatever the row is; a null
 * row may be long. */
DEVICE void encode_check(const fp_gpu_encode_launch *launch) {
    if (encode_failed(launch)) return;
    const uint64_t rows = launch->input.rows;
    uint32_t found = 0; /* bit 0: something wrong; bit 1: a null row with bytes */
    UNROLL for (uint32_t i = 0; i < FP_GPU_ENCODE_ROWS; i += FP_GPU_HELPER_THREADS) {
        uint64_t row = (uint64_t)block_x() * FP_GPU_ENCODE_ROWS + i + thread_in_block();
        if (row >= rows) continue;
        uint64_t start = encode_offset(launch, row), end = encode_offset(launch, row + 1);
        uint32_t is_valid = encode_valid(launch, row, 1);
        if (end < start || (is_valid && end - start > 0xffffffffu)) found |= 1;
        if (row + 1 == rows && end > launch->input.bytes_size) found |= 1;
        if (!is_valid && end > start) found |= 2;
    }
    found = warp_or(found);
    if (lane() || !found) return;
    if (found & 1) report(ENCODE_STATE(launch, status), FP_GPU_ENCODE_BAD_OFFSETS);
    /* Thousands of warps may find this: only the first ones need to say so. */
    if (found & 2 && !global_reload4(ENCODE_STATE(launch, moves_text)))
        global_or4(ENCODE_STATE(launch, moves_text), 1);
}

/* ---------------------------------------------------------------- where rows begin */

#define ENCODE_ROWS_EACH (FP_GPU_ENCODE_ROWS / FP_GPU_HELPER_THREADS)

/* Bytes of the thread's rows, without those of null rows. */
DEVICE uint64_t encode_own_bytes(const fp_gpu_encode_launch *launch, uint64_t first,
                                 uint64_t each[ENCODE_ROWS_EACH]) {
    uint64_t sum = 0;
    uint32_t valid = 0;
    if (first < launch->input.rows) {
        uint64_t left = launch->input.rows - first;
        valid = encode_valid(launch, first,
                             left < ENCODE_ROWS_EACH ? (uint32_t)left : ENCODE_ROWS_EACH);
    }
    UNROLL for (uint32_t i = 0; i < ENCODE_ROWS_EACH; i++) {
        each[i] = 0;
        if (valid >> i & 1)
            each[i] = encode_offset(launch, first + i + 1) - encode_offset(launch, first + i);
        sum += each[i];
    }
    return sum;
}

DEVICE int encode_moves(const fp_gpu_encode_launch *launch) {
    return !encode_failed(launch) && global_reload4(ENCODE_STATE(launch, moves_text));
}

DEVICE uint64_t encode_own_first(void) {
    return (uint64_t)block_x() * FP_GPU_ENCODE_ROWS + ENCODE_ROWS_EACH * thread_in_block();
}

/* A kernel: a block adds up the bytes of FP_GPU_ENCODE_ROWS rows. */
DEVICE void encode_sums(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_HELPER_THREADS / 32 * 8);
    if (!encode_moves(launch)) return;
    uint64_t each[ENCODE_ROWS_EACH], all;
    uint64_t sum = encode_own_bytes(launch, encode_own_first(), each);
    encode_warp_sums(warp_inclusive_sum8(sum), sums, &all);
    if (thread_in_block() == 0) global_store8(launch->scratch.sums + 8 * (uint64_t)block_x(), all);
}

/* A kernel: one block of FP_GPU_ENCODE_THREADS. Sums → the sums before; and how many bytes there
 * are. */
DEVICE void encode_scan(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_ENCODE_THREADS / 32 * 8);
    const uint64_t rows = launch->input.rows;
    if (encode_failed(launch) || !rows) return;
    uint64_t before = 0, all, count = (rows + FP_GPU_ENCODE_ROWS - 1) / FP_GPU_ENCODE_ROWS;
    if (!encode_moves(launch)) {
        before = encode_offset(launch, rows) - encode_offset(launch, 0);
    } else {
        for (uint64_t base = 0; base < count; base += FP_GPU_ENCODE_THREADS) {
            uint64_t at = base + thread_in_block(), address = launch->scratch.sums + 8 * at;
            uint64_t own = at < count ? global_reload8(address) : 0, sum = warp_inclusive_sum8(own);
            uint64_t place = before + encode_warp_sums(sum, sums, &all) + sum - own;
            if (at < count) global_store8(address, place);
            before += all;
        }
        if (thread_in_block() == 0) global_store8(launch->scratch.starts + 8 * rows, before);
    }
    if (thread_in_block() == 0) global_store8(ENCODE_STATE(launch, text_bytes), before);
}

/* A kernel: where each row begins. */
DEVICE void encode_starts(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_HELPER_THREADS / 32 * 8);
    if (!encode_moves(launch)) return;
    uint64_t each[ENCODE_ROWS_EACH], all, first = encode_own_first();
    uint64_t own = encode_own_bytes(launch, first, each), sum = warp_inclusive_sum8(own);
    uint64_t at = encode_warp_sums(sum, sums, &all) + sum - own;
    at += global_load8(launch->scratch.sums + 8 * (uint64_t)block_x());
    UNROLL for (uint32_t i = 0; i < ENCODE_ROWS_EACH; i++) {
        if (first + i < launch->input.rows)
            global_store8(launch->scratch.starts + 8 * (first + i), at);
        at += each[i];
    }
}

/* ---------------------------------------------------------------- the text */

/* The next row after `row` that has bytes, all of which begin at `byte`. Often it is near. */
DEVICE uint64_t encode_next_row(const fp_gpu_encode_launch *launch, const encode_view *view,
                                uint64_t row, uint64_t byte) {
    uint64_t mine = row + 1 + lane();
    uint32_t have = warp_ballot(mine < launch->input.rows && encode_start(view, mine + 1) > byte);
    return have ? row + 1 + first_bit(have) : encode_row_of(launch, view, byte);
}

/* A kernel: a block makes FP_GPU_ENCODE_MOVED bytes of the text, so that a row of any length is
 * moved by many. */
DEVICE void encode_move(const fp_gpu_encode_launch *launch) {
    const uint32_t each = FP_GPU_ENCODE_MOVED / (FP_GPU_HELPER_THREADS / 32);
    if (!encode_moves(launch)) return;
    encode_view view = encode_open(launch);
    uint64_t at = (uint64_t)block_x() * FP_GPU_ENCODE_MOVED + each * warp_in_block();
    if (at >= view.bytes) return;
    uint64_t end = at + each < view.bytes ? at + each : view.bytes;
    uint64_t row = encode_row_of(launch, &view, at);
    while (at < end) {
        uint64_t row_end = encode_start(&view, row + 1), to = row_end < end ? row_end : end;
        uint64_t from = launch->input.bytes + encode_offset(launch, row) - encode_start(&view, row);
        for (uint64_t i = at + lane(); i < to; i += 32)
            global_store1(view.text + i, global_load1(from + i));
        at = to;
        if (at < end) row = encode_next_row(launch, &view, row, at);
    }
}

#endif
