/* test_kernel_status.cc - several columns in one launch of every decode kernel, in the emulator:
 * outputs at unrelated addresses, and status words, which columns share or have each their own. A
 * bad batch must show in its column's word alone, and every other batch of the launch must be
 * right. */
#include "kernel_draw.h"

enum { MOST_CHUNKS = 9 };

/* Chunks of several columns, some with a dictionary in common. */
typedef struct crowd {
    device memory;
    kernel_case cases[MOST_CHUNKS];
    case_chunk made[MOST_CHUNKS];
    device_chunk *list[MOST_CHUNKS];
    uint32_t column[MOST_CHUNKS];  /* of each chunk */
    uint32_t *status[MOST_CHUNKS]; /* of each column */
    uint32_t count, columns;
} crowd;

/* The same tokens, other codes. */
static void draw_codes(kernel_case *c, const kernel_case *of, uint32_t count) {
    *c = *of;
    c->lengths = (uint8_t *)malloc(of->slots);
    c->tokens = (uint8_t(*)[CASE_CELL])malloc(CASE_CELL * (size_t)of->slots);
    c->codes = (uint32_t *)malloc(4 * (size_t)count);
    c->decoded = (uint8_t *)malloc(CASE_CELL * (size_t)count);
    if (!c->lengths || !c->tokens || !c->codes || !c->decoded) abort();
    memcpy(c->lengths, of->lengths, of->slots);
    memcpy(c->tokens, of->tokens, CASE_CELL * (size_t)of->slots);
    c->count = count;
    c->decoded_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = c->codes[i] = of->codes[draw(of->count)];
        memcpy(c->decoded + c->decoded_bytes, c->tokens[code], c->lengths[code]);
        c->decoded_bytes += c->lengths[code];
    }
}

static void lay_out(crowd *c, uint32_t i, const emulated_variant *variant, uint32_t shares) {
    uint32_t batch = 32 * variant->codes_per_lane, count = 1 + draw(3 * batch);
    if (shares)
        draw_codes(&c->cases[i], &c->cases[i - 1], count);
    else
        make_case(variant, &c->cases[i], 2 + draw(300), count, variant->longest,
                  (case_lengths)draw(CASE_LENGTHS));
    case_layout layout = draw_layout(variant);
    c->made[i] = case_lay_out(&c->cases[i], variant, &layout, &c->memory);
    device_chunk *chunk = c->list[i] = &c->made[i].chunk;
    if (shares) {
        uint32_t staging = chunk->head ? chunk->head->staging : 0;
        device_share_dict(chunk, c->list[i - 1]);
        if (staging > (chunk->head ? chunk->head->staging : 0)) chunk->head->staging = staging;
    }
    c->column[i] = draw(c->columns);
    chunk->work.status = device_address(c->status[c->column[i]]);
}

/* 2 to 9 chunks of up to 4 columns. */
static void make(crowd *c, const emulated_variant *variant, bool one_status) {
    memset(c, 0, sizeof *c);
    emulator_reset(check_random(&random_state));
    c->count = 2 + draw(MOST_CHUNKS - 1);
    c->columns = 2 + draw(3);
    for (uint32_t k = 0; k < c->columns; k++) {
        c->status[k] = k && one_status ? c->status[0]
                                       : (uint32_t *)(void *)device_block(
                                             &c->memory, 4, 4, EMULATOR_WRITE, "a column's status");
        *c->status[k] = 0;
    }
    for (uint32_t i = 0; i < c->count; i++) lay_out(c, i, variant, i && draw(2));
}

static void run(crowd *c, const emulated_variant *variant) {
    device_grid grid = draw_grid();
    const char *error = device_run(variant, c->list, c->count, &grid);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s: %s\n", variant->name, error);
}

/* Counts wrong bytes of a chunk. Batches whose bit is set in `bad` must be as they were. */
static uint32_t wrong_bytes(const crowd *c, uint32_t i, const emulated_variant *variant,
                            uint32_t bad) {
    const kernel_case *of = &c->cases[i];
    uint32_t at = 0, wrong = 0, batch = 32 * variant->codes_per_lane;
    for (uint32_t k = 0; k < of->count; k++)
        for (uint32_t b = 0; b < of->lengths[of->codes[k]]; b++, at++)
            wrong += c->made[i].out[at] != (bad >> k / batch & 1 ? 0xee : of->decoded[at]);
    return wrong;
}

static void release(crowd *c) {
    for (uint32_t i = 0; i < c->count; i++) case_free(&c->cases[i]);
    device_free(&c->memory);
}

static void check_good(const emulated_variant *variant) {
    crowd c;
    uint64_t bytes = 0;
    bool one_status = draw(2);
    make(&c, variant, one_status);
    run(&c, variant);
    for (uint32_t k = 0; k < c.columns; k++) CHECK_EQ(*c.status[k], 0);
    for (uint32_t i = 0; i < c.count; i++) {
        CHECK_EQ(wrong_bytes(&c, i, variant, 0), 0);
        bytes += c.cases[i].decoded_bytes;
    }
    /* An assembled kernel takes a launch per status word. */
    if (one_status || !variant->code_bits) CHECK_EQ(emulator_bytes_written(), bytes);
    release(&c);
}

/* What is wrong with a chunk: bits for the status word, and a bit per bad batch. */
typedef struct damage {
    uint32_t bits, batches;
} damage;

/* One batch begins a byte late. The batch before it does not end there, and is bad, too. */
static damage spoil_positions(case_chunk *made) {
    uint32_t batch = draw(made->chunk.batches);
    uint32_t entry = batch * made->chunk.span.position_step;
    if (made->chunk.positions)
        made->chunk.positions[batch]++;
    else
        ((uint16_t *)(void *)(made->sidecar + 4ull * made->chunk.span.deltas_at))[entry]++;
    return damage{FP_GPU_BAD_SIDECAR, 1u << batch | (batch ? 1u << (batch - 1) : 0)};
}

/* A code outside the dictionary, if there is such a code. */
static damage spoil_code(case_chunk *made, const emulated_variant *variant) {
    uint32_t codes = 1u << made->chunk.work.code_bits, refused = refused_from(&made->chunk);
    uint32_t at = draw(made->chunk.work.code_count);
    if (refused >= codes) return spoil_positions(made);
    replace_code(made, at, refused + draw(codes - refused));
    return damage{FP_GPU_BAD_CODE, 1u << at / (32 * variant->codes_per_lane)};
}

/* Some chunks are bad. A bad code may also change where its batch ends, and so set more bits. */
static void check_bad(const emulated_variant *variant, bool one_status) {
    crowd c;
    damage damaged[MOST_CHUNKS] = {};
    uint32_t expected[MOST_CHUNKS] = {0}, any = 0;
    make(&c, variant, one_status);
    device_grid grid = draw_grid();
    CHECK(!device_run_positions(c.list, c.count, &grid));
    for (uint32_t i = 0; i < c.count; i++) {
        c.list[i]->regenerated.codes = 0; /* positions are there */
        if (draw(3)) continue;
        damaged[i] = draw(2) ? spoil_positions(&c.made[i]) : spoil_code(&c.made[i], variant);
        expected[c.column[i]] |= damaged[i].bits;
        any |= damaged[i].bits;
    }
    run(&c, variant);
    for (uint32_t k = 0; k < c.columns; k++) {
        uint32_t status = *c.status[k], wanted = one_status ? any : expected[k];
        CHECK_EQ(status & wanted, wanted);
        CHECK_EQ(status != 0, wanted != 0);
    }
    for (uint32_t i = 0; i < c.count; i++)
        CHECK_EQ(wrong_bytes(&c, i, variant, damaged[i].batches), 0);
    release(&c);
}

static void check_variant(const emulated_variant *variant, uint32_t cases) {
    for (uint32_t i = 0; i < cases / 8; i++) {
        check_good(variant);
        check_bad(variant, false);
        check_bad(variant, true);
    }
}

int main(void) {
    start_random(1810);
    check_variants(check_variant);
    return check_done();
}
