/* sample.cuh - which bytes of rows training looks at. In: rows in device memory, checked. Out: the very
 * sample that src/sample.c draws of them, pieces in the same order.
 *
 * The trick: which piece a stratum gives can be computed for each stratum alone, so no list of pieces is
 * kept. Warps have consecutive strata, and go through theirs twice: to count, and to copy. Refuses
 * nothing: offsets were checked before. */
#ifndef FP_GPU_SAMPLE_CUH
#define FP_GPU_SAMPLE_CUH

#include "encode_input.cuh"
#include "sample_params.h"

#define SAMPLE_HEAD(launch, field) ((launch)->head + offsetof(fp_gpu_sample_head, field))

/* ---------------------------------------------------------------- numbers */

/* times * part / whole, rounded down; part is below whole, and that below 2^62. */
DEVICE uint64_t sample_share(uint64_t times, uint64_t part, uint64_t whole) {
    uint64_t rest = 0, share = 0;
    ROLLED for (uint32_t bit = 64; bit-- > 0;) {
        rest = 2 * rest + (times >> bit & 1 ? part : 0);
        share *= 2;
        while (rest >= whole) {
            rest -= whole;
            share++;
        }
    }
    return share;
}

/* The upper half of a * b. */
DEVICE uint64_t sample_high(uint64_t a, uint64_t b) {
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

/* A random number, the same for the same seed and number. */
DEVICE uint64_t sample_mix(uint64_t seed, uint64_t number) {
    uint64_t x = seed + (number + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 29)) * 0xa0761d6478bd642fu;
    return x ^ (x >> 32);
}

/* ---------------------------------------------------------------- plan */

/* A kernel: one warp. */
DEVICE void sample_plan(const fp_gpu_sample_launch *launch) {
    if (thread_in_block()) return;
    const fp_gpu_encode_launch *rows = &launch->rows;
    uint32_t status = global_reload4(ENCODE_STATE(rows, status));
    uint64_t column = status ? 0 : global_reload8(ENCODE_STATE(rows, text_bytes));
    uint64_t numbers = 0, run = 1, strata = 0, width = 0, part = 0;
    if (column) {
        numbers = rows->input.rows + (column >> FP_GPU_SAMPLE_PIECE_SHIFT);
        uint64_t mean = column / numbers;
        run = 256 / (mean < 32 ? 32 : mean > 256 ? 256 : mean);
        uint64_t runs = (numbers + run - 1) / run;
        strata = runs;
        if (column > launch->cap) {
            uint64_t enough = sample_share(strata, launch->cap, column);
            enough += enough / 16 + 16;
            if (enough < strata) strata = enough;
        }
        width = runs / strata;
        part = sample_share(1ull << 32, runs % strata, strata);
    }
    global_store4(SAMPLE_HEAD(launch, status), status);
    global_store4(SAMPLE_HEAD(launch, reserved), 0);
    global_store8(SAMPLE_HEAD(launch, column_bytes), column);
    global_store8(SAMPLE_HEAD(launch, size), 0);
    global_store8(SAMPLE_HEAD(launch, pieces), 0);
    global_store8(SAMPLE_HEAD(launch, cap), launch->cap);
    global_store8(SAMPLE_HEAD(launch, seed), launch->seed);
    global_store8(SAMPLE_HEAD(launch, numbers), numbers);
    global_store8(SAMPLE_HEAD(launch, run), run);
    global_store8(SAMPLE_HEAD(launch, strata), strata);
    global_store8(SAMPLE_HEAD(launch, width), width);
    global_store8(SAMPLE_HEAD(launch, width_part), part);
    global_store8(SAMPLE_HEAD(launch, no_use), 0);
}

/* ---------------------------------------------------------------- pieces */

/* What a warp goes through. */
typedef struct sample_walk {
    encode_view view;
    uint64_t numbers, run, width, part;
    uint64_t next, end; /* strata */
} sample_walk;

/* A lane's piece; `bytes` 0: none. */
typedef struct sample_piece {
    uint64_t from; /* device address */
    uint32_t bytes, deck;
} sample_piece;

/* The warp's part of all strata. There are bytes. */
DEVICE sample_walk sample_begin(const fp_gpu_sample_launch *launch) {
    sample_walk walk;
    uint64_t strata = global_load8(SAMPLE_HEAD(launch, strata));
    uint64_t warps = (uint64_t)blocks_x() * (FP_GPU_HELPER_THREADS / 32);
    uint64_t warp = (uint64_t)block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    uint64_t each = (strata + warps - 1) / warps;
    walk.view = encode_open(&launch->rows);
    walk.numbers = global_load8(SAMPLE_HEAD(launch, numbers));
    walk.run = global_load8(SAMPLE_HEAD(launch, run));
    walk.width = global_load8(SAMPLE_HEAD(launch, width));
    walk.part = global_load8(SAMPLE_HEAD(launch, width_part));
    walk.next = warp * each < strata ? warp * each : strata;
    walk.end = walk.next + each < strata ? walk.next + each : strata;
    return walk;
}

/* The first run of a stratum. */
DEVICE uint64_t sample_edge(const sample_walk *walk, uint64_t stratum) {
    uint64_t low = (uint32_t)stratum, high = stratum >> 32;
    return walk->width * stratum + walk->part * high + (walk->part * low >> 32);
}

/* The number of the row's first piece, as in src/sample.c. */
DEVICE uint64_t sample_number(const sample_walk *walk, uint64_t row) {
    return row + (encode_start(&walk->view, row) >> FP_GPU_SAMPLE_PIECE_SHIFT);
}

/* The piece of this number, but for its deck. */
DEVICE sample_piece sample_find(const fp_gpu_sample_launch *launch, const sample_walk *walk,
                                uint64_t number) {
    sample_piece piece = {0, 0, 0};
    uint64_t low = 0, high = launch->rows.input.rows;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (sample_number(walk, middle) <= number)
            low = middle;
        else
            high = middle;
    }
    uint64_t skipped = (number - sample_number(walk, low)) << FP_GPU_SAMPLE_PIECE_SHIFT;
    uint64_t size = encode_start(&walk->view, low + 1) - encode_start(&walk->view, low);
    if (skipped >= size) return piece;
    size -= skipped;
    piece.bytes = size < FP_GPU_SAMPLE_PIECE ? (uint32_t)size : FP_GPU_SAMPLE_PIECE;
    piece.from =
        launch->rows.input.bytes + skipped +
        encode_number(launch->rows.input.offsets, low, launch->rows.input.offset_bits == 64);
    return piece;
}

/* The lanes' next pieces, in the order of the column. A stratum's run lies in neighbouring lanes. */
DEVICE sample_piece sample_next(const fp_gpu_sample_launch *launch, sample_walk *walk) {
    uint32_t run = (uint32_t)walk->run, groups = 32 / run, group = lane() / run;
    uint64_t stratum = walk->next + group;
    uint64_t random = sample_mix(launch->seed, stratum);
    sample_piece piece = {0, 0, 0};
    if (group < groups && stratum < walk->end) {
        uint64_t first = sample_edge(walk, stratum), runs = sample_edge(walk, stratum + 1) - first;
        uint64_t number = (first + sample_high(random, runs)) * run + lane() % run;
        if (number < walk->numbers) piece = sample_find(launch, walk, number);
    }
    /* Neighbours go to different decks; pieces that are empty use none up. */
    uint32_t before = warp_ballot(piece.bytes != 0) >> group * run;
    uint32_t used = popcount(before & ((1u << lane() % run) - 1));
    piece.deck = (uint32_t)(random >> used * FP_GPU_SAMPLE_DECK_BITS) & (FP_GPU_SAMPLE_DECKS - 1);
    walk->next += groups;
    return piece;
}

/* ---------------------------------------------------------------- decks */

/* A place in the sample, or how much there is: in a warp's table of decks, 16 bytes each. */
typedef struct sample_place {
    uint64_t bytes, pieces;
} sample_place;

/* Puts each lane's piece on its deck: where it goes. A lane without a piece gets some place. */
DEVICE sample_place sample_deal(uint8_t *decks, const sample_piece *piece) {
    uint32_t size_bits = FP_GPU_SAMPLE_PIECE_SHIFT + 1, last = lane(), size = 0, pieces = 0;
    uint32_t mine = piece->deck << size_bits | piece->bytes;
    ROLLED for (uint32_t i = 0; i < 32; i++) {
        uint32_t other = warp_shfl(mine, i), bytes = other & ((1u << size_bits) - 1);
        if (!bytes || other >> size_bits != piece->deck) continue;
        if (i < lane()) size += bytes, pieces++;
        if (i > last) last = i;
    }
    uint8_t *deck = decks + 16 * piece->deck;
    sample_place place = {shared_load8(deck) + size, shared_load8(deck + 8) + pieces};
    warp_sync(); /* all have seen the decks as they were */
    if (piece->bytes && last == lane()) {
        shared_store8(deck, place.bytes + piece->bytes);
        shared_store8(deck + 8, place.pieces + 1);
    }
    warp_sync(); /* decks are as they will be */
    return place;
}

/* Where a deck of this warp stands in `counts`. */
DEVICE uint64_t sample_count_at(const fp_gpu_sample_launch *launch, uint32_t deck) {
    uint64_t warps = (uint64_t)blocks_x() * (FP_GPU_HELPER_THREADS / 32);
    uint64_t warp = (uint64_t)block_x() * (FP_GPU_HELPER_THREADS / 32) + warp_in_block();
    return launch->counts + 16 * (deck * warps + warp);
}

/* A kernel: what each warp has for each deck. */
DEVICE void sample_count(const fp_gpu_sample_launch *launch) {
    SHARED_BYTES(tables, FP_GPU_HELPER_THREADS / 32 * FP_GPU_SAMPLE_DECKS * 16);
    if (!global_load8(SAMPLE_HEAD(launch, strata))) return;
    uint8_t *decks = tables + warp_in_block() * FP_GPU_SAMPLE_DECKS * 16;
    for (uint32_t i = lane(); i < 2 * FP_GPU_SAMPLE_DECKS; i += 32) shared_store8(decks + 8 * i, 0);
    warp_sync(); /* decks are empty */
    sample_walk walk = sample_begin(launch);
    while (walk.next < walk.end) {
        sample_piece piece = sample_next(launch, &walk);
        sample_deal(decks, &piece);
    }
    for (uint32_t deck = lane(); deck < FP_GPU_SAMPLE_DECKS; deck += 32) {
        uint64_t to = sample_count_at(launch, deck);
        global_store8(to, shared_load8(decks + 16 * deck));
        global_store8(to + 8, shared_load8(decks + 16 * deck + 8));
    }
}

/* A kernel: one block of FP_GPU_ENCODE_THREADS. Counts → the counts before; `round` of the rows' launch
 * says how many there are. */
DEVICE void sample_scan(const fp_gpu_sample_launch *launch) {
    SHARED_BYTES(sums, FP_GPU_ENCODE_THREADS / 32 * 8);
    if (!global_load8(SAMPLE_HEAD(launch, strata))) return;
    const uint64_t count = launch->rows.round;
    uint64_t bytes = 0, pieces = 0;
    for (uint64_t base = 0; base < count; base += FP_GPU_ENCODE_THREADS) {
        uint64_t at = base + thread_in_block(), address = launch->counts + 16 * at, all;
        uint64_t own = at < count ? global_reload8(address) : 0, sum = warp_inclusive_sum8(own);
        uint64_t before = bytes + encode_warp_sums(sum, sums, &all) + sum - own;
        if (at < count) global_store8(address, before);
        bytes += all;
        own = at < count ? global_reload8(address + 8) : 0, sum = warp_inclusive_sum8(own);
        before = pieces + encode_warp_sums(sum, sums, &all) + sum - own;
        if (at < count) global_store8(address + 8, before);
        pieces += all;
    }
    if (thread_in_block()) return;
    global_store8(SAMPLE_HEAD(launch, size), bytes < launch->cap ? bytes : launch->cap);
    /* What lies beyond the cap is left out, and the piece that reaches it says how many there are. */
    if (bytes < launch->cap) global_store8(SAMPLE_HEAD(launch, pieces), pieces);
}

/* ---------------------------------------------------------------- copy */

/* Copies the pieces of all lanes, one after the other, all lanes together. `to` is in the sample. */
DEVICE void sample_move(const fp_gpu_sample_launch *launch, const sample_piece *piece,
                        uint32_t to) {
    uint32_t left = warp_ballot(piece->bytes != 0);
    while (left) {
        uint32_t from = first_bit(left), bytes = warp_shfl(piece->bytes, from);
        uint64_t source = warp_shfl8(piece->from, from);
        uint64_t target = launch->bytes + warp_shfl(to, from);
        for (uint32_t i = lane(); i < bytes; i += 32)
            global_store1(target + i, global_load1(source + i));
        left &= left - 1;
    }
}

/* A kernel: pieces and their lengths. */
DEVICE void sample_copy(const fp_gpu_sample_launch *launch) {
    SHARED_BYTES(tables, FP_GPU_HELPER_THREADS / 32 * FP_GPU_SAMPLE_DECKS * 16);
    if (!global_load8(SAMPLE_HEAD(launch, strata))) return;
    uint8_t *decks = tables + warp_in_block() * FP_GPU_SAMPLE_DECKS * 16;
    for (uint32_t deck = lane(); deck < FP_GPU_SAMPLE_DECKS; deck += 32) {
        uint64_t from = sample_count_at(launch, deck);
        shared_store8(decks + 16 * deck, global_load8(from));
        shared_store8(decks + 16 * deck + 8, global_load8(from + 8));
    }
    warp_sync(); /* decks are where this warp begins */
    sample_walk walk = sample_begin(launch);
    while (walk.next < walk.end) {
        sample_piece piece = sample_next(launch, &walk);
        sample_place place = sample_deal(decks, &piece);
        if (place.bytes >= launch->cap) piece.bytes = 0;
        if (piece.bytes && place.bytes + piece.bytes >= launch->cap) {
            piece.bytes = (uint32_t)(launch->cap - place.bytes);
            global_store8(SAMPLE_HEAD(launch, pieces), place.pieces + 1);
        }
        if (piece.bytes) {
            uint64_t length = launch->lengths + 2 * place.pieces;
            global_store1(length, piece.bytes & 255);
            global_store1(length + 1, piece.bytes >> 8);
        }
        sample_move(launch, &piece, (uint32_t)place.bytes);
    }
}

#endif
