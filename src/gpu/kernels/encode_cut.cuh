/* encode_cut.cuh - rows → chunks. In: where rows begin. Out: the table of chunks, by the rule of
 * src/cut.c to the byte; and a bit for each byte that a row ends before.
 *
 * Where a chunk begins is known when the one before is cut, so this is a chain, and one block goes
 * along it while the others set the bits. For each chunk it looks for the first row that begins
 * `chunk_bytes` or more after the chunk's first row: among as many rows as the chunk before had, an
 * eighth less or more, by a sample per thread, twice; only if that is the wrong place among all rows
 * that a chunk may have, 2^20. A round takes a little longer than a load, so a chunk takes about 2 µs.
 * A GB of text has 128 chunks of the usual size; a million small ones take some seconds.
 *
 * Refuses more chunks or segments than there is room for. */
#ifndef FP_GPU_ENCODE_CUT_CUH
#define FP_GPU_ENCODE_CUT_CUH

#include "encode_input.cuh"

/* What the thread that found something tells the others: three numbers. Two of them take turns: when
 * all threads have passed the block_sync of one, nobody reads the other any more. */
#define ENCODE_CUT_SLOT 24u

/* A place among rows: the first one that begins at a byte or past it. */
typedef struct encode_found {
    uint64_t row;        /* past the last row that was looked at: there is none */
    uint64_t before, at; /* where the row before it begins, and where it does */
} encode_found;

/* As a row: the first row that was looked at begins at the byte already, or past it. */
#define ENCODE_CUT_EARLIER 0xffffffffffffffffull

/* The block's way along the rows. */
typedef struct encode_search {
    encode_view view;
    uint8_t *slots;
    uint32_t turn;
} encode_search;

DEVICE void encode_tell(encode_search *search, uint64_t row, uint64_t before, uint64_t at) {
    uint8_t *slot = search->slots + ENCODE_CUT_SLOT * search->turn;
    shared_store8(slot, row);
    shared_store8(slot + 8, before);
    shared_store8(slot + 16, at);
}

DEVICE encode_found encode_hear(encode_search *search) {
    const uint8_t *slot = search->slots + ENCODE_CUT_SLOT * search->turn;
    block_sync(); /* one thread has told */
    search->turn ^= 1;
    return encode_found{shared_load8(slot), shared_load8(slot + 8), shared_load8(slot + 16)};
}

/* The place among rows low + 1 .. high; row `low` begins before `byte`. Looks at rows from `first` to
 * `last` first, which are among these. Of the samples one thread has the last one before the byte, and
 * tells; if there is none the first thread does. */
DEVICE encode_found encode_narrow(encode_search *search, uint64_t low, uint64_t high,
                                  uint64_t first, uint64_t last, uint64_t byte) {
    for (;;) {
        uint64_t step = (last - first + FP_GPU_HELPER_THREADS - 1) / FP_GPU_HELPER_THREADS;
        uint64_t from = first + step * thread_in_block(),
                 to = from + step < last ? from + step : last;
        /* Both loads are under way before either is waited for. */
        uint64_t edge = encode_number(search->view.starts, to, search->view.is_wide);
        uint64_t start = encode_start(&search->view, from < last ? from : last);
        uint64_t next = warp_shfl8(start, (lane() + 1) % 32);
        if (lane() == 31 || to == last) next = edge - search->view.base;
        if (from < last && start < byte && next >= byte) encode_tell(search, to, start, next);
        if (from < last && to == last && next < byte) encode_tell(search, last + 1, next, 0);
        if (from == first && start >= byte) encode_tell(search, ENCODE_CUT_EARLIER, 0, 0);
        encode_found found = encode_hear(search);
        if (found.row == ENCODE_CUT_EARLIER) {
            last = first;
            first = low;
        } else if (found.row > last) {
            if (last == high) return found;
            first = last;
            last = high;
        } else {
            if (step == 1) return found;
            first += (found.row - 1 - first) / step * step; /* the thread's own row */
            last = found.row;
        }
    }
}

/* ---------------------------------------------------------------- chunks */

/* What is known of the column's chunks so far: the same in all threads. */
typedef struct encode_cutting {
    uint64_t row, byte;         /* where the next chunk begins */
    uint64_t segment, block;    /* of which it has the first */
    uint64_t rows;              /* of the chunk before */
    uint64_t unit_row;          /* the first row of the unit */
    uint64_t unit_bytes;        /* of the unit so far */
    uint64_t waiting;           /* rows that wait when the first list is made */
    uint32_t chunk;             /* its number */
    uint32_t first_chunks;      /* of the first list, so far */
    uint32_t is_first, is_full; /* the list goes on; more rows come after those that wait */
} encode_cutting;

/* One chunk, and what the table says of it. */
typedef struct encode_cut_chunk {
    uint64_t end, end_byte;
    uint32_t segments, ends_unit;
} encode_cut_chunk;

/* How many rows wait when src/cut.c lists the first chunks. In a piece that is not the first one
 * there is no such list. */
DEVICE void encode_wait(const fp_gpu_encode_launch *launch, encode_search *search,
                        encode_cutting *cutting) {
    const uint64_t rows = launch->input.rows, most = FP_GPU_ENCODE_WAITING_ROWS;
    cutting->is_first = global_reload8(ENCODE_STATE(launch, rows)) == 0;
    cutting->waiting = rows < most ? rows : most;
    cutting->is_full = rows >= most;
    if (!cutting->is_first) return;
    encode_found full =
        encode_narrow(search, 0, cutting->waiting, 0, cutting->waiting, launch->rules.first_bytes);
    if (full.row > cutting->waiting) return;
    cutting->waiting = full.row;
    cutting->is_full = 1;
}

/* Where the chunk ends: chunk_end of src/cut.c. It takes rows until the next one would take it past
 * chunk_bytes, but at least one; and none once it has chunk_bytes, so that empty rows go to the
 * chunk after it. */
DEVICE encode_cut_chunk encode_cut_one(const fp_gpu_encode_launch *launch, encode_search *search,
                                       const encode_cutting *cutting) {
    const uint64_t first = cutting->row, left = launch->input.rows - first;
    uint64_t high = first + (left < FP_GPU_ENCODE_CHUNK_ROWS ? left : FP_GPU_ENCODE_CHUNK_ROWS);
    uint64_t byte = cutting->byte + launch->rules.chunk_bytes;
    uint64_t reach = cutting->rows / 8 + FP_GPU_HELPER_THREADS / 2, guess = first + cutting->rows;
    uint64_t from = cutting->rows > reach ? guess - reach : first,
             to = guess + reach < high ? guess + reach : high;
    if (from >= to) from = first;
    encode_found found = encode_narrow(search, first, high, from, to, byte);
    encode_cut_chunk chunk = {found.row, found.at, 0, 0};
    if (found.row > high || (found.at != byte && found.row - 1 > first))
        chunk = encode_cut_chunk{found.row - 1, found.before, 0, 0};
    chunk.segments = (uint32_t)((chunk.end_byte - cutting->byte + FP_GPU_ENCODE_SEGMENT - 1) /
                                FP_GPU_ENCODE_SEGMENT);
    return chunk;
}

/* Counts the chunk into its unit, as fp_cut_next does, and finds whether that is of the first list.
 * The list has whole units of chunks that are complete: no row that comes later could join. */
DEVICE void encode_count_unit(const fp_gpu_encode_launch *launch, encode_cutting *cutting,
                              encode_cut_chunk *chunk) {
    const fp_gpu_encode_rules *rules = &launch->rules;
    uint64_t bytes = chunk->end_byte - cutting->byte, rows = chunk->end - cutting->row;
    cutting->unit_bytes += bytes;
    uint32_t is_unit = cutting->unit_bytes + rules->chunk_bytes / 2 >= rules->unit_bytes ||
                       chunk->end - cutting->unit_row >= FP_GPU_ENCODE_UNIT_ROWS;
    chunk->ends_unit = is_unit || chunk->end == launch->input.rows;
    if (cutting->is_full && (chunk->end > cutting->waiting ||
                             (chunk->end == cutting->waiting && rows < FP_GPU_ENCODE_CHUNK_ROWS &&
                              bytes < rules->chunk_bytes)))
        cutting->is_first = 0;
    if (!chunk->ends_unit) return;
    if (cutting->is_first && (is_unit || !cutting->is_full))
        cutting->first_chunks = cutting->chunk + 1;
    cutting->unit_bytes = 0;
    cutting->unit_row = chunk->end;
}

/* Word `word` of the chunk's entry; words that other stages fill in are 0. */
DEVICE uint64_t encode_chunk_word(const encode_cutting *cutting, const encode_cut_chunk *chunk,
                                  uint32_t word) {
    const uint64_t high = 1ull << 32;
    switch (8 * word) {
    case offsetof(fp_gpu_encode_chunk, first_row): return cutting->row;
    case offsetof(fp_gpu_encode_chunk, first_byte): return cutting->byte;
    /* Rounded up, the chunk after it may begin 15 places too near: it gets 16 more. */
    case offsetof(fp_gpu_encode_chunk, code_place):
        return (cutting->byte + 15) / 16 * 16 + 16ull * cutting->chunk;
    case offsetof(fp_gpu_encode_chunk, first_segment): return cutting->segment;
    case offsetof(fp_gpu_encode_chunk, rows): return chunk->end - cutting->row;
    case offsetof(fp_gpu_encode_chunk, bytes):
        return (chunk->end_byte - cutting->byte) | chunk->segments * high;
    case offsetof(fp_gpu_encode_chunk, first_block):
        /* in_first is set at the end; ends_unit, is_text. */
        return cutting->block | (uint64_t)chunk->ends_unit << 40 | 1ull << 48;
    default: return 0;
    }
}

FP_GPU_ASSERT(
    offsetof(fp_gpu_encode_chunk, ends_unit) == offsetof(fp_gpu_encode_chunk, first_block) + 5 &&
        offsetof(fp_gpu_encode_chunk, is_text) == offsetof(fp_gpu_encode_chunk, first_block) + 6 &&
        offsetof(fp_gpu_encode_chunk, segments) == offsetof(fp_gpu_encode_chunk, bytes) + 4 &&
        sizeof(fp_gpu_encode_chunk) % 8 == 0 &&
        sizeof(fp_gpu_encode_chunk) / 8 <= FP_GPU_HELPER_THREADS,
    "entries are written by words");

/* By one block. */
DEVICE void encode_cut_all(const fp_gpu_encode_launch *launch, uint8_t *slots) {
    const fp_gpu_encode_scratch *scratch = &launch->scratch;
    encode_search search = {encode_open(launch), slots, 0};
    encode_cutting cutting = {};
    encode_wait(launch, &search, &cutting);
    while (cutting.row < launch->input.rows) {
        encode_cut_chunk chunk = encode_cut_one(launch, &search, &cutting);
        if (cutting.chunk >= scratch->most_chunks ||
            cutting.segment + chunk.segments > scratch->most_segments) {
            if (thread_in_block() == 0)
                report(ENCODE_STATE(launch, status), FP_GPU_ENCODE_BAD_TABLES);
            return;
        }
        encode_count_unit(launch, &cutting, &chunk);
        if (thread_in_block() < sizeof(fp_gpu_encode_chunk) / 8)
            global_store8(ENCODE_CHUNK(launch, cutting.chunk, first_row) + 8 * thread_in_block(),
                          encode_chunk_word(&cutting, &chunk, thread_in_block()));
        cutting.rows = chunk.end - cutting.row;
        cutting.block += (cutting.rows + FP_GPU_ENCODE_LENGTHS - 1) / FP_GPU_ENCODE_LENGTHS;
        cutting.segment += (chunk.segments + 31) / 32 * 32;
        cutting.row = chunk.end;
        cutting.byte = chunk.end_byte;
        cutting.chunk++;
    }
    block_sync(); /* entries are there */
    for (uint32_t i = thread_in_block(); i < cutting.first_chunks; i += FP_GPU_HELPER_THREADS)
        global_store1(ENCODE_CHUNK(launch, i, in_first), 1);
    if (thread_in_block()) return;
    global_store4(ENCODE_STATE(launch, chunks), cutting.chunk);
    global_store8(ENCODE_STATE(launch, segments), cutting.segment);
    global_store8(ENCODE_STATE(launch, piece_rows), launch->input.rows);
}

/* ---------------------------------------------------------------- where rows end */

/* A block takes FP_GPU_ENCODE_ROWS rows. A row without bytes ends where the one before does. Bits are
 * cleared beforehand; rows share words, so they are set one by one. */
DEVICE void encode_mark_ends(const fp_gpu_encode_launch *launch, uint64_t first) {
    encode_view view = encode_open(launch);
    UNROLL for (uint32_t i = 0; i < FP_GPU_ENCODE_ROWS; i += FP_GPU_HELPER_THREADS) {
        uint64_t row = first + i + thread_in_block();
        if (row >= launch->input.rows) continue;
        uint64_t start = encode_start(&view, row), end = encode_start(&view, row + 1);
        if (end > start) global_or4(launch->scratch.ends + end / 32 * 4, 1u << end % 32);
    }
}

/* A kernel: the first block cuts; there is one for each FP_GPU_ENCODE_ROWS rows besides. */
DEVICE void encode_cut(const fp_gpu_encode_launch *launch) {
    SHARED_BYTES(slots, 2 * ENCODE_CUT_SLOT);
    if (encode_failed(launch) || !launch->input.rows) return;
    if (block_x() == 0)
        encode_cut_all(launch, slots);
    else
        encode_mark_ends(launch, (uint64_t)(block_x() - 1) * FP_GPU_ENCODE_ROWS);
}

#endif
