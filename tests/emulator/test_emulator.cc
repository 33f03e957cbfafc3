/* test_emulator.cc - the emulator itself: what its words give, and that it finds each kind of
 * mistake that it is there to find. Every wrong kernel below is one synchronisation, one bound or
 * one branch away from a right one. */
#include "check.h"
#include "emulated_launch.h"
#include "emulator.h"
#include "emulator_asan.h"
#include "gpu/kernels/params.h"
#include "gpu/kernels/warp.cuh"

/* Global memory of the tests: an input and an output, known to the emulator. */
static uint32_t input[64];
/* Nothing that kernels may touch lies after the output, so that a write past its end is a write
 * outside. */
static struct { uint32_t words[64], gap[64]; } out;
static uint32_t (&output)[64] = out.words;

typedef struct parameters {
    int mistake; /* 0: none */
} parameters;

static int mistake_of(const void *p) { return ((const parameters *)p)->mistake; }
static uint64_t in_at(uint32_t i) { return (uint64_t)(uintptr_t)&input[i]; }
static uint64_t out_at(uint32_t i) { return (uint64_t)(uintptr_t)&output[i]; }

/* Lanes pass a word to their neighbour through shared memory, twice. Mistakes 1 and 2 leave a
 * synchronisation out. */
static void exchange(const void *p) {
    SHARED_BYTES(words, 4 * 64);
    uint8_t *mine = words + 128 * warp_in_block();
    uint32_t value = thread_in_block();
    for (uint32_t turn = 0; turn < 2; turn++) {
        shared_store4(mine + 4 * lane(), value + 1);
        if (mistake_of(p) != 1) warp_sync();
        value = shared_load4(mine + 4 * ((lane() + 1) % 32));
        if (mistake_of(p) != 2) warp_sync();
    }
    global_store4(out_at(thread_in_block()), value);
}

/* The same between two warps. Mistake 1 has a warp's synchronisation where it takes that of the
 * block. */
static void exchange_in_block(const void *p) {
    SHARED_BYTES(words, 4 * 64);
    shared_store4(words + 4 * thread_in_block(), thread_in_block());
    if (mistake_of(p) == 1)
        warp_sync();
    else
        block_sync();
    global_store4(out_at(thread_in_block()), shared_load4(words + 4 * (63 - thread_in_block())));
}

/* Every word's result. */
static void words(const void *p) {
    (void)p;
    uint32_t sum = warp_inclusive_sum(lane() + 1), odd = warp_ballot((int)(lane() & 1));
    uint32_t last = warp_shfl(sum, 31), up = warp_shfl_up(lane(), 3);
    global_store4(out_at(thread_in_block()),
                  sum + odd + last + up + rank_in(odd) + warp_in_block());
}

/* Mistakes in control flow. */
static void diverge(const void *p) {
    int mistake = mistake_of(p);
    if (mistake == 1 && lane() == 7) return;      /* one lane leaves before a word */
    if (mistake == 2 && lane() == 7) warp_sync(); /* one lane meets a word of its own */
    uint32_t ballot;
    if (mistake == 3 && lane() > 15) /* two places, the same word */
        ballot = warp_ballot(1);
    else
        ballot = warp_ballot(1);
    if (mistake == 4 && warp_in_block() == 1) return; /* a warp leaves before the block meets */
    block_sync();
    global_store4(out_at(thread_in_block()), ballot);
}

/* Mistakes with memory. */
static void touch(const void *p) {
    SHARED_BYTES(shared, 4 * 64);
    uint32_t thread = thread_in_block(), value = 0;
    shared_store4(shared + 4 * thread, thread);
    switch (mistake_of(p)) {
    case 1: value = global_load4(in_at(thread + 1)); break; /* the last lane reads outside */
    case 2: global_store4(in_at(thread), 1); break;         /* input is written */
    case 3:
        global_store4(out_at(thread == 63 ? 64 : thread), 1);
        break;                                         /* the last lane writes outside */
    case 4: value = global_load4(in_at(0) + 2); break; /* misaligned */
    case 5: global_store4(out_at(0), 1); break;        /* written twice */
    case 6: value = shared_load4(shared + 4 * thread + 4 * (thread == 63)); break; /* outside */
    case 7: value = global_load4(out_at(thread)); break;               /* output is read */
    case 8: shared_store1(shared + 4 * ((thread + 1) % 64), 1); break; /* two lanes, one byte */
    default: break;
    }
    if (mistake_of(p) != 3) global_store4(out_at(thread), value);
}

static void read_unwritten(const void *p) {
    SHARED_BYTES(shared, 4 * 64);
    if (!mistake_of(p) || thread_in_block() != 5) shared_store4(shared + 4 * thread_in_block(), 0);
    global_store4(out_at(thread_in_block()), shared_load4(shared + 4 * thread_in_block()));
}

/* Lanes that share input by copies to shared memory, twice; what is not there becomes zeros,
 * wherever it is. */
static void copy_in(const void *p) {
    SHARED_BYTES(shared, 2 * 128);
    uint8_t *mine = shared + 128 * warp_in_block();
    uint32_t sum = 0;
    for (uint32_t turn = 0; turn < 2; turn++) {
        if (lane() < 8)
            async_load16(mine + 16 * lane(), lane() == 7 ? 16 : in_at(4 * lane() + turn * 4),
                         lane() < 7);
        if (mistake_of(p) != 1) async_wait();
        if (mistake_of(p) != 2) warp_sync();
        sum += shared_load4(mine + 4 * (31 - lane()));
        if (mistake_of(p) != 3) warp_sync();
    }
    if (mistake_of(p) == 4 && lane() < 8) async_load16(mine + 16 * lane(), in_at(0), 1);
    global_store4(out_at(thread_in_block()), sum);
}

/* Words of all lanes, copied out together, twice. */
static void copy_out(const void *p) {
    SHARED_BYTES(shared, 2 * 128);
    int mistake = mistake_of(p);
    uint8_t *mine = shared + 128 * warp_in_block();
    for (uint32_t turn = 0; turn < 2; turn++) {
        if (mistake == 5) bulk_fence(); /* too early */
        if (lane() < 16) shared_store4(mine + 4 * lane(), 100 * turn + thread_in_block());
        if (mistake != 1 && mistake != 5) bulk_fence();
        if (mistake != 2) warp_sync();
        bulk_store(out_at(32 * warp_in_block() + 16 * turn), mine + 4 * (mistake == 6), 64);
        if (mistake != 3) bulk_wait_read();
        if (mistake != 4) warp_sync();
    }
    if (mistake == 7) bulk_store(out_at(0), mine, 16);
}

/* Threads take numbers in turn. */
static void count(const void *p) {
    SHARED_BYTES(counter, 4);
    int mistake = mistake_of(p);
    uint32_t number = 0;
    if (thread_in_block() == 0 && mistake != 1) shared_store4(counter, 100);
    if (mistake != 2) block_sync();
    number = shared_add4(counter, 1);
    if (mistake == 3 && thread_in_block() == 40) shared_store4(counter, 0);
    if (mistake != 4) block_sync();
    if (thread_in_block() == 63) number = shared_load4(counter);
    global_store4(out_at(thread_in_block()), number);
}

/* Bits of any lane, shifts by 0 to 64, and cells that lie in either memory. */
static void more_words(const void *p) {
    (void)p;
    SHARED_BYTES(halves, 2 * 64);
    uint32_t cell[4], bit = warp_or(lane() == 5 || lane() == 9 ? 1u << lane() : 0);
    if (thread_in_block() < 32) shared_store4(halves + 4 * lane(), 7 * lane());
    block_sync();
    uint64_t shifted = shift_right64(0x8000000000000001u, 2 * lane() + (lane() == 31) * 2);
    near_or_far<16>(halves, halves + 32, in_at(0), lane() % 8 * 8, 48, 24, cell);
    global_store4(out_at(thread_in_block()),
                  bit + (uint32_t)shifted + cell[0] + cell[1] + cell[2] + cell[3]);
}

/* Lanes of a warp share a word of the output, each with a bit of its own; the words after it are
 * stored. */
static void mark(const void *p) {
    uint32_t thread = thread_in_block(), word = warp_in_block();
    int mistake = mistake_of(p);
    if (mistake == 1 && thread == 5) global_store4(out_at(word), 1); /* a store among changes */
    global_and4(out_at(word), ~(1u << lane()));
    global_or4(out_at(word), (lane() % 3 == 0) * (1u << lane()));
    if (mistake == 2) global_or4(in_at(0), 0);                  /* input is changed */
    if (mistake == 3) global_or4(out_at(thread ? 0 : 64), 0);   /* outside */
    if (mistake == 4) global_and4(out_at(0) + 2, 0xffffffffu);  /* misaligned */
    if (mistake == 5 && thread == 6) global_and4(out_at(9), 0); /* what another lane stores */
    if (thread >= 2) global_store4(out_at(thread), thread);
}

static void same(const void *p) {
    uint32_t value = warp_same(mistake_of(p) && lane() == 9 ? 1 : 7);
    global_store4(out_at(thread_in_block()), value);
}

/* The launches of emulated_launch.h: kernels by name, parameters of which a part is passed. */
static void check_launches(void) {
    static uint8_t bitmap[8];
    static fp_gpu_validity_launch launch;
    fp_gpu_validity entry = {0, (uint64_t)(uintptr_t)bitmap, 0, 5, 0};
    launch.entry[0] = launch.entry[1] = entry;
    launch.entry[1].first_row = 40;
    emulated_grid grid = {};
    grid.kernel = emulated_find("fp_validity");
    CHECK(grid.kernel >= 0 && emulated_find("fp_nothing") < 0 && emulated_find("staged K99") < 0);
    CHECK(emulated_find("staged K6 W8 H1 T256 B4") >= 0);
    CHECK_EQ(emulated_parameter_bytes(grid.kernel), sizeof launch);
    grid.blocks_x = 1, grid.blocks_y = 2, grid.threads = FP_GPU_HELPER_THREADS;
    grid.parameters = &launch, grid.bytes = 2 * sizeof entry;
    emulated_forget(1);
    emulated_know(bitmap, sizeof bitmap, "bitmap");
    CHECK(!emulated_launch(&grid));
    CHECK(bitmap[0] == 31 && bitmap[5] == 31);
    grid.bytes = sizeof launch + 1;
    CHECK(emulated_launch(&grid) != NULL);
    grid.bytes = 0;
    CHECK(emulated_launch(&grid) != NULL);
#ifndef EMULATOR_ASAN /* which would end the program */
    grid.bytes = sizeof entry;
    CHECK(emulated_launch(&grid) != NULL);
#endif
}

static const char *run(emulator_kernel kernel, int mistake, uint64_t seed) {
    parameters p = {mistake};
    emulator_reset(seed);
    emulator_memory(input, sizeof input, EMULATOR_READ, "input");
    emulator_memory(output, sizeof output, EMULATOR_WRITE_ONCE, "output");
    memset(output, 0, sizeof output);
    return emulator_run(kernel, &p, 64, 1, 1, 0);
}

/* The kernel runs without a mistake, and each mistake is found, with this in the message. */
static void check_found(emulator_kernel kernel, int mistake, const char *message) {
    for (uint64_t seed = 0; seed < 8; seed++) {
        const char *error = run(kernel, 0, seed);
        CHECK(!error);
        if (error) fprintf(stderr, "  right, but: %s\n", error);
        error = run(kernel, mistake, seed);
        CHECK(error && strstr(error, message));
        if (!error || !strstr(error, message))
            fprintf(stderr, "  mistake %d: expected \"%s\", got %s\n", mistake, message,
                    error ? error : "nothing");
    }
}

int main(void) {
    for (uint32_t i = 0; i < 64; i++) input[i] = 1000 + i * i;
    for (uint64_t seed = 0; seed < 20; seed++) {
        CHECK(!run(exchange, 0, seed));
        for (uint32_t i = 0; i < 64; i++) CHECK_EQ(output[i], i / 32 * 32 + (i + 2) % 32 + 2);
        CHECK(!run(exchange_in_block, 0, seed));
        for (uint32_t i = 0; i < 64; i++) CHECK_EQ(output[i], 63 - i);
        CHECK(!run(words, 0, seed));
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t l = i % 32, up = l < 3 ? l : l - 3;
            CHECK_EQ(output[i], (l + 1) * (l + 2) / 2 + 0xaaaaaaaau + 528 + up + l / 2 + i / 32);
        }
        CHECK_EQ(emulator_bytes_written(), sizeof output);
        CHECK(!run(same, 0, seed));
        for (uint32_t i = 0; i < 64; i++) CHECK_EQ(output[i], 7);
        CHECK(!run(mark, 0, seed));
        CHECK_EQ(emulator_bytes_written(), sizeof output);
        for (uint32_t i = 0; i < 64; i++) CHECK_EQ(output[i], i < 2 ? 0x49249249u : i);
        CHECK(!run(copy_in, 0, seed));
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t from = 31 - i % 32;
            CHECK_EQ(output[i], from < 28 ? input[from] + input[from + 4] : 0);
        }
        uint64_t sum = 0;
        CHECK(!run(count, 0, seed));
        for (uint32_t i = 0; i < 63; i++) sum += output[i];
        /* 100 to 163 once each, but for what the last thread had, which then read the end. */
        CHECK_EQ(output[63], 164);
        CHECK(sum >= 64 * 100 + 63 * 64 / 2 - 163 && sum <= 64 * 100 + 63 * 64 / 2 - 100);
        CHECK(!run(more_words, 0, seed));
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t l = i % 32, at = l % 8 * 8, expected = 1u << 5 | 1u << 9,
                     shift = l == 31 ? 64 : 2 * l;
            expected += (uint32_t)(shift == 64 ? 0 : 0x8000000000000001u >> shift);
            if (at >= 48)
                for (uint32_t k = 0; k < 4; k++) expected += input[at / 2 + k];
            else
                expected += 7 * (at / 4) + 7 * (at / 4 + 1);
            if (at >= 24 && at < 48) expected += 7 * (at / 4 + 8) + 7 * (at / 4 + 9);
            CHECK_EQ(output[i], expected);
        }
        CHECK(!run(copy_out, 0, seed));
        for (uint32_t i = 0; i < 64; i++)
            CHECK_EQ(output[i], i / 16 % 2 * 100 + i / 32 * 32 + i % 16);
    }
    check_found(exchange, 1, "reads shared memory that");
    check_found(exchange, 2, "synchronisation between");
    check_found(exchange_in_block, 1, "reads shared memory that");
    check_found(diverge, 1, "lane 7 has returned");
    check_found(diverge, 2, "lanes went different ways");
    check_found(diverge, 2, "warp_sync");
    check_found(diverge, 3, "lanes went different ways");
    check_found(diverge, 4, "block_sync that some warps never reach");
    check_found(touch, 1, "outside input");
    check_found(touch, 2, "writes to input");
    check_found(touch, 3, "outside output");
    check_found(touch, 4, "misaligned");
    check_found(touch, 5, "second time");
    check_found(touch, 6, "outside the block's shared memory");
    check_found(touch, 7, "reads output");
    check_found(touch, 8, "that another lane wrote");
    check_found(read_unwritten, 1, "nobody wrote");
    check_found(copy_in, 1, "reads shared memory that");
    check_found(copy_in, 2, "reads shared memory that");
    check_found(copy_in, 3, "shared memory that");
    check_found(copy_in, 4, "returns with copies under way");
    check_found(copy_out, 1, "did not fence them");
    check_found(copy_out, 2, "shared memory that");
    check_found(copy_out, 3, "writes shared memory that a copy is still using");
    check_found(copy_out, 4, "shared memory that");
    check_found(copy_out, 5, "did not fence them");
    check_found(copy_out, 6, "misaligned");
    check_found(copy_out, 7, "returns with copies under way");
    check_found(count, 1, "adds to shared memory that nobody wrote");
    check_found(count, 2, "shared memory that");
    check_found(count, 3, "synchronisation between");
    check_found(count, 4, "synchronisation between");
    check_found(mark, 1, " a byte");
    check_found(mark, 2, "changes input");
    check_found(mark, 3, "outside output");
    check_found(mark, 4, "misaligned");
    check_found(mark, 5, " a byte");
    check_found(same, 1, "warp_same of different values");
    check_launches();
    return check_done();
}
