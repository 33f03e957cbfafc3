/* test_encode_pack.cc - codes in segments to packed sections, in the emulator, against the CPU's writer:
 * all widths, batches and groups, takes that end anywhere, stored chunks, chunks without bytes, pieces of
 * a column, dictionaries that pay or do not, images that do not fit. Every byte of the image that is
 * to be written is written once, and no other one. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "check.h"
#include "gpu/kernels/encode_pack.cuh"
#include "pack_case.h"

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

static pack_case begin(void) {
    pack_case c = {};
    c.random = check_random(&random_state);
    return c;
}

static void run_count(const void *launch) { encode_count((const fp_gpu_encode_launch *)launch); }
static void run_layout(const void *launch) { encode_layout((const fp_gpu_encode_launch *)launch); }
static void run_pack(const void *launch) { encode_pack((const fp_gpu_encode_launch *)launch); }

/* ---------------------------------------------------------------- checks */

static void check_ran(const char *error, const char *kernel) {
    CHECK(!error);
    if (error) fprintf(stderr, "  %s: %s\n", kernel, error);
}

static void run(pack_case *c, uint32_t blocks, uint32_t threads) {
    const uint32_t helpers = FP_GPU_HELPER_THREADS;
    check_ran(emulator_run(run_count, &c->launch, helpers, 1 + draw(5), 1, 0), "count");
    check_ran(emulator_run(run_layout, &c->launch, helpers, 1, 1, 0), "layout");
    check_ran(emulator_run(run_pack, &c->launch, threads, blocks, 1,
                           fp_gpu_encode_pack_shared(c->rules.code_bits)),
              "pack");
}

static void check_header(const pack_case *c, uint32_t i) {
    const fp_gpu_encode_chunk *got = &c->table[i];
    const pack_result *expected = &c->chunks[i].result;
    CHECK_EQ(got->codes, c->chunks[i].codes.size());
    CHECK_EQ(got->coded, expected->coded);
    CHECK_EQ(got->block_bytes, expected->block_bytes);
    for (int s = 0; s < 4; s++) {
        CHECK_EQ(got->section[s], expected->section[s]);
        CHECK_EQ(got->section_bytes[s], expected->section_bytes[s]);
    }
    CHECK_EQ(got->largest_batch, expected->largest_batch);
    CHECK_EQ(got->largest_pair, expected->largest_pair);
    CHECK_EQ(got->largest_four, expected->largest_four);
    CHECK(!memcmp(got->by_length, expected->by_length, sizeof got->by_length));
}

/* Compares bytes of the image with what they are to be; NULL: zeros. */
static void check_bytes(const pack_case *c, uint64_t from, const uint8_t *expected,
                        uint64_t bytes) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < bytes; i++)
        wrong += c->output[from + i] != (expected ? expected[i] : 0);
    CHECK_EQ(wrong, 0);
}

/* A block: the first two sections as the CPU writes them, the others untouched, zeros between. Returns
 * the bytes of the other sections. */
static uint64_t check_block(const pack_case *c, uint64_t at, const pack_result *expected) {
    uint64_t end = 320, others = 0;
    check_bytes(c, at, NULL, end);
    for (int s = 0; s < 4; s++) {
        uint64_t section = expected->section[s], bytes = expected->section_bytes[s];
        if (!bytes) continue;
        check_bytes(c, at + end, NULL, section - end);
        if (s < 2) check_bytes(c, at + section, expected->block + section, bytes);
        for (uint64_t i = 0; s > 1 && i < bytes; i++, others++)
            if (c->output[at + section + i] != 0xee) CHECK(0);
        end = section + bytes;
    }
    check_bytes(c, at + end, NULL, expected->block_bytes - end);
    return others;
}

static void check_used(const pack_case *c) {
    std::vector<uint32_t> used = c->used_before;
    for (const chunk_case &chunk : c->chunks)
        for (uint16_t code : chunk.codes)
            if (chunk.result.coded) used[code / 32] |= 1u << code % 32;
    CHECK(!memcmp(used.data(), c->used, 4 * used.size()));
}

/* All that the three kernels leave is as the CPU has it. */
static void check_right(const pack_case *c) {
    const uint64_t begin = c->before.image_end, count = c->chunks.size();
    uint64_t at = begin ? 0 : c->rules.alignment, others = 0;
    int adopted = c->dict_before < count;
    CHECK_EQ(c->state->status, 0);
    CHECK_EQ(c->state->image_begin, begin);
    CHECK_EQ(c->state->image_end, begin + c->image_bytes);
    CHECK_EQ(c->state->has_dict, c->before.has_dict || adopted);
    check_bytes(c, 0, NULL, at);
    for (uint32_t i = 0; i < count; i++) {
        if (i == c->dict_before) {
            CHECK_EQ(c->state->dict_place, begin + at);
            check_bytes(c, at, NULL, c->rules.dict_bytes);
            at += c->rules.dict_bytes;
        }
        CHECK_EQ(c->table[i].block, begin + at);
        check_header(c, i);
        others += check_block(c, at, &c->chunks[i].result);
        at += c->chunks[i].result.block_bytes;
    }
    if (!adopted) CHECK_EQ(c->state->dict_place, c->before.dict_place);
    CHECK_EQ(at, c->image_bytes);
    CHECK_EQ(emulator_bytes_written(), c->image_bytes - others);
    check_used(c);
}

static void check_columns(void) {
    const uint32_t threads[] = {128, 256, 512, 1024};
    uint32_t exactly = 0, adopted = 0, coded = 0, stored = 0, cases = check_scaled(216);
    for (uint32_t i = 0; i < cases; i++) {
        pack_case c = begin();
        exactly += (uint32_t)pack_case_make(&c, pack_wanted{8 + i % 9, draw(9), PACK_ANY});
        run(&c, 1 + draw(9), i % 3 ? FP_GPU_ENCODE_PACK_THREADS : threads[draw(4)]);
        check_right(&c);
        adopted += c.dict_before < c.chunks.size();
        for (const chunk_case &chunk : c.chunks) chunk.result.coded ? coded++ : stored++;
        pack_case_free(&c);
    }
    printf("%u coded, %u stored; %u dictionaries, %u that just do not pay\n", coded, stored,
           adopted, exactly);
    CHECK(coded > cases && stored > cases && adopted > cases / 6);
    if (cases >= 216) CHECK(exactly > 0);
}

/* Chunks of many takes, which one block goes through, so that it counts to more than 255. */
static void check_long_chunks(void) {
    for (uint32_t i = 0; i < check_scaled(6); i++) {
        pack_case c = begin();
        pack_case_make(&c, pack_wanted{9 + draw(5), 2, PACK_LONG});
        run(&c, 1 + i % 2, i % 3 ? 256 : 128);
        check_right(&c);
        pack_case_free(&c);
    }
}

/* More chunks than the layout looks at together, and lists that go on from some to the next. */
static void check_many_chunks(void) {
    uint32_t late = 0, cases = check_scaled(24);
    for (uint32_t i = 0; i < cases; i++) {
        pack_case c = begin();
        pack_case_make(&c, pack_wanted{8 + draw(9), 240 + draw(600), PACK_TINY});
        run(&c, 1 + draw(40), 128);
        check_right(&c);
        late += c.dict_before > 256 && c.dict_before < c.chunks.size();
        pack_case_free(&c);
    }
    if (cases >= 24) CHECK(late > 0);
}

/* A byte too few: the status says so, and nothing else happens. A status that is set is left. */
static void check_refused(void) {
    for (uint32_t i = 0; i < check_scaled(30); i++) {
        pack_case c = begin();
        pack_case_make(&c, pack_wanted{8 + draw(9), 1 + draw(5), PACK_ANY});
        uint32_t expected = FP_GPU_ENCODE_TOO_SMALL;
        if (i % 2) {
            expected = c.before.status = c.state->status = FP_GPU_ENCODE_BAD_OFFSETS;
        } else {
            c.launch.output_capacity -= draw(2) ? 1 : c.image_bytes;
        }
        run(&c, 1 + draw(4), FP_GPU_ENCODE_PACK_THREADS);
        CHECK_EQ(emulator_bytes_written(), 0);
        CHECK_EQ(c.state->status, expected);
        CHECK_EQ(c.state->image_end, c.before.image_end);
        CHECK_EQ(c.state->has_dict, c.before.has_dict);
        CHECK(!memcmp(c.used, c.used_before.data(), 4 * c.used_before.size()));
        pack_case_free(&c);
    }
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 77;
    printf("seed %llu\n", (unsigned long long)random_state);
    check_columns();
    check_long_chunks();
    check_many_chunks();
    check_refused();
    return check_done();
}
