/* test_kernels_bad.cc - every decode kernel on bad data: codes outside the dictionary, lies about
 * positions, wrong dictionaries, garbage. What is wrong must be reported, and nothing else may be
 * touched. Runs in the emulator. */
#include "kernel_draw.h"

/* A case of some batches, to be spoilt, and where it is laid out. */
typedef struct victim {
    kernel_case c;
    case_layout layout;
    device memory;
    case_chunk made;
} victim;

static void make_tokens(const emulated_variant *variant, victim *v) {
    uint32_t batch = 32 * variant->codes_per_lane, slots = 100 + draw(200),
             count = 4 * batch + draw(batch);
    *v = victim{};
    make_case(variant, &v->c, slots, count, variant->longest, CASE_MIXED);
    v->layout = draw_layout(variant);
}

/* Batches that lie may overlap; then a byte is written twice. */
static void lay_out(const emulated_variant *variant, victim *v, emulator_access out_access) {
    v->layout.out_access = out_access;
    emulator_reset(check_random(&random_state));
    v->made = case_lay_out(&v->c, variant, &v->layout, &v->memory);
}

static void release(victim *v) {
    device_free(&v->memory);
    case_free(&v->c);
}

/* Runs a spoilt case: one of the bits must be reported, and nothing may go wrong beyond that. */
static void check_reported(const emulated_variant *variant, victim *v, uint32_t expected,
                           const char *what) {
    const char *error = run_one(variant, &v->made.chunk);
    CHECK(!error);
    CHECK((*v->made.status & expected) != 0);
    if (error || !(*v->made.status & expected))
        fprintf(stderr, "  %s, %s: %s, status %u\n", variant->name, what,
                error ? error : "no report", *v->made.status);
}

/* Codes outside the dictionary: their batches stay as they were, all other batches are right. */
static void check_bad_codes(const emulated_variant *variant) {
    victim v;
    make_tokens(variant, &v);
    const kernel_case *c = &v.c;
    if (v.layout.positions == POSITIONS_REGENERATED) v.layout.positions = POSITIONS_PREPARED;
    lay_out(variant, &v, EMULATOR_WRITE_ONCE);
    uint32_t batch = 32 * variant->codes_per_lane, bad = draw(c->count);
    uint32_t codes = 1u << v.made.chunk.work.code_bits,
             code = codes - 1 - draw(codes - c->slots + 1);
    replace_code(&v.made, bad, code);
    if (code >= refused_from(&v.made.chunk)) {
        check_reported(variant, &v, FP_GPU_BAD_CODE, "a code outside the dictionary");
        uint32_t at = 0, wrong = 0;
        for (uint32_t i = 0; i < c->count; i++)
            for (uint32_t k = 0; k < c->lengths[c->codes[i]]; k++, at++)
                wrong +=
                    v.made.out[at] != (i / batch == bad / batch ? 0xee : c->tokens[c->codes[i]][k]);
        CHECK_EQ(wrong, 0);
    }
    release(&v);
}

/* Any lie about where batches begin is found, and never makes a kernel leave the chunk. */
static void check_lying_positions(const emulated_variant *variant) {
    victim v;
    make_tokens(variant, &v);
    v.layout.positions = (case_positions)draw(2);
    v.layout.batch_codes = 32 * variant->codes_per_lane;
    lay_out(variant, &v, EMULATOR_WRITE);
    bool in_sidecar = v.layout.positions == POSITIONS_SIDECAR;
    uint8_t *lies = in_sidecar ? v.made.sidecar : (uint8_t *)v.made.chunk.positions;
    uint64_t bytes = in_sidecar ? v.made.sidecar_bytes : 4ull * v.made.chunk.batches;
    uint32_t *words = (uint32_t *)(void *)lies;
    switch (draw(6)) {
    case 0: lies[draw((uint32_t)bytes)] ^= (uint8_t)(1u << draw(8)); break;
    case 1:
        for (uint64_t i = 0; i < bytes; i++) lies[i] = (uint8_t)check_random(&random_state);
        break;
    case 2: memset(lies, 0xff, bytes); break;
    case 3: words[0] = 0u - (1 + draw(4000)); break; /* all of a group moved down, around zero */
    case 4: /* the same, and its deltas moved up by as much */
        words[0] -= 1;
        for (uint64_t i = bytes - 2ull * v.made.chunk.batches; i < bytes && in_sidecar; i += 2)
            *(uint16_t *)(void *)(lies + i) += 1;
        break;
    default: words[0] += 1 + draw(v.c.decoded_bytes); break;
    }
    check_reported(variant, &v, FP_GPU_BAD_SIDECAR, "a lie about positions");
    release(&v);
}

/* Positions that add up, but do not begin with 0. All other batches are where they should be, and
 * may be written. */
static void check_late_begin(const emulated_variant *variant) {
    victim v;
    make_tokens(variant, &v);
    v.layout.positions = POSITIONS_PREPARED;
    v.layout.out_shift = 7;
    lay_out(variant, &v, EMULATOR_WRITE_ONCE);
    v.made.chunk.span.out -= 7;
    v.made.chunk.work.out -= 7;
    v.made.chunk.span.decoded_bytes += 7;
    v.made.chunk.work.decoded_bytes += 7;
    for (uint32_t i = 0; i < v.made.chunk.batches; i++) v.made.chunk.positions[i] += 7;
    check_reported(variant, &v, FP_GPU_BAD_SIDECAR, "a chunk that begins late");
    CHECK_EQ(v.made.out[0], 0xee);
    release(&v);
}

/* Where an assembled kernel looks up lengths. */
static uint8_t *length_table(const emulated_variant *variant, const device_chunk *chunk,
                             uint64_t *bytes) {
    bool far = variant->longest == 64 && variant->home == FP_GPU_FAR;
    *bytes = far ? FP_GPU_FAR_TABLE(variant->code_bits)
             : variant->longest <= 16
                 ? (uint64_t)FP_GPU_CLASS_TABLE(variant->code_bits)
                 : (uint64_t)FP_GPU_LENGTH_TABLE(variant->code_bits, variant->longest);
    return far ? chunk->cold : chunk->resident;
}

/* Another dictionary for a kernel with longer tokens. Its tables agree with each other, as the
 * host's do, but not with the column. */
static void lay_out_other(const emulated_variant *variant, victim *v, const uint8_t *lengths,
                          uint32_t slots) {
    uint32_t batch = 32 * variant->codes_per_lane;
    const device_tokens tokens = {v->c.bits, slots, 0, v->c.tokens, lengths};
    device_lay_out_dict(&tokens, variant,
                        v->layout.little_room ? FP_GPU_LEAST_ROOM : batch * variant->longest,
                        &v->memory, &v->made.chunk);
}

/* A dictionary whose tokens all have one length, or that has one token. */
static void check_other_dictionary(const emulated_variant *variant, victim *v) {
    uint32_t which = draw(3), slots = which == 2 ? 1 : v->c.slots;
    uint8_t *lengths = (uint8_t *)malloc(slots);
    if (!lengths) abort();
    memset(lengths, which == 1 ? 1 : (int)variant->longest, slots);
    if (which == 2) lengths[0] = v->c.lengths[0];
    lay_out_other(variant, v, lengths, slots);
    free(lengths);
    check_reported(variant, v, which == 2 ? FP_GPU_BAD_CODE : FP_GPU_BAD_SIDECAR,
                   "another dictionary");
}

static bool has_several_lengths(const kernel_case *c) {
    for (uint32_t i = 1; i < c->count; i++)
        if (c->lengths[c->codes[i]] != c->lengths[c->codes[0]]) return true;
    return false;
}

/* A dictionary that is not the one the column was made with, or that has fewer slots. */
static void check_wrong_dictionary(const emulated_variant *variant) {
    victim v;
    make_tokens(variant, &v);
    while (!has_several_lengths(&v.c)) { /* two tokens may well be of one length */
        case_free(&v.c);
        make_tokens(variant, &v);
    }
    /* Computed positions come from a table of their own, which assembled kernels do not read. */
    if (variant->code_bits && v.layout.positions == POSITIONS_REGENERATED)
        v.layout.positions = POSITIONS_PREPARED;
    lay_out(variant, &v, EMULATOR_WRITE);
    if (variant->longest > 16) {
        check_other_dictionary(variant, &v);
        release(&v);
        return;
    }
    uint32_t expected = FP_GPU_BAD_SIDECAR, fewer = v.c.slots;
    uint64_t length_bytes = v.made.chunk.nibble_bytes;
    uint8_t *lengths = v.made.chunk.nibbles;
    if (variant->code_bits) lengths = length_table(variant, &v.made.chunk, &length_bytes);
    switch (draw(3)) {
    case 0:
        /* 16 bytes each, also where 8 is the limit; or a mark for codes that are not there */
        memset(lengths, 0xff, length_bytes);
        memset(v.made.chunk.lengths, 16, v.c.slots);
        if (variant->code_bits && variant->longest == 8) expected = FP_GPU_BAD_CODE, fewer = 0;
        break;
    case 1:
        memset(lengths, 0, length_bytes);
        memset(v.made.chunk.lengths, 1, v.c.slots);
        break;
    default:
        fewer = 1 + draw(20);
        v.made.chunk.work.slots = v.made.chunk.regenerated.slots = fewer;
        if (variant->code_bits) {
            fewer = 1u << FP_GPU_CLASS_SHIFT(variant->code_bits);
            v.made.chunk.head->slots = v.made.chunk.head->near = v.made.chunk.head->split = fewer;
            lengths[0] |= 0xf0; /* all classes but the first */
            memset(lengths + 1, 0xff, length_bytes - 1);
        }
        expected = FP_GPU_BAD_CODE;
        break;
    }
    /* A kernel for short tokens cuts lengths down to 8, which may be what they are. */
    bool all_longest = true, all_ones = true, code_outside = false;
    for (uint32_t i = 0; i < v.c.count; i++) {
        all_longest &= v.c.lengths[v.c.codes[i]] == variant->longest;
        all_ones &= v.c.lengths[v.c.codes[i]] == 1;
        code_outside |= v.c.codes[i] >= fewer;
    }
    CHECK(!all_longest && !all_ones && (expected != FP_GPU_BAD_CODE || code_outside));
    check_reported(variant, &v, expected, "a wrong dictionary");
    release(&v);
}

/* Random codes, positions and lengths together. Nothing is known about the outcome but that it
 * stays inside and is reported. */
static void check_garbage(const emulated_variant *variant) {
    victim v;
    make_tokens(variant, &v);
    lay_out(variant, &v, EMULATOR_WRITE);
    for (uint64_t i = 0; i < v.made.codes_bytes; i++)
        v.made.codes[i] = (uint8_t)check_random(&random_state);
    for (uint64_t i = 0; i < v.made.chunk.nibble_bytes; i++)
        v.made.chunk.nibbles[i] = (uint8_t)check_random(&random_state);
    for (uint64_t i = 0; i < v.made.sidecar_bytes && draw(2); i++)
        v.made.sidecar[i] = (uint8_t)check_random(&random_state);
    /* Where all tokens have one length, any codes fit true positions. */
    bool one_length = true;
    for (uint32_t i = 1; i < v.c.slots; i++) one_length &= v.c.lengths[i] == v.c.lengths[0];
    if (one_length && v.made.sidecar_bytes) v.made.sidecar[0] ^= 1;
    for (uint32_t i = 0; i < v.c.slots; i++)
        v.made.chunk.lengths[i] = (uint8_t)check_random(&random_state);
    for (int i = 0; variant->code_bits && i < FP_GPU_CLASS_TABLE(variant->code_bits); i++)
        if (variant->longest <= 16) v.made.chunk.resident[i] = (uint8_t)check_random(&random_state);
    v.made.chunk.work.slots -= draw(v.c.slots);
    v.made.chunk.regenerated.slots = v.made.chunk.work.slots;
    device_grid grid = draw_grid();
    if (variant->shared_dict) grid.shared_slots = 1 + draw(v.made.chunk.work.slots);
    device_chunk *chunk = &v.made.chunk;
    const char *error = device_run(variant, &chunk, 1, &grid);
    bool must_be_found = !one_length || v.made.sidecar_bytes;
    CHECK(!error &&
          (!must_be_found || (*v.made.status & (FP_GPU_BAD_CODE | FP_GPU_BAD_SIDECAR)) != 0));
    if (error) fprintf(stderr, "  %s, garbage: %s\n", variant->name, error);
    release(&v);
}

/* The status word is optional. */
static void check_no_status(const emulated_variant *variant) {
    victim v;
    make_tokens(variant, &v);
    lay_out(variant, &v, EMULATOR_WRITE);
    v.made.chunk.work.slots = v.made.chunk.regenerated.slots = 1;
    if (variant->code_bits) {
        uint64_t bytes;
        uint8_t *lengths = length_table(variant, &v.made.chunk, &bytes);
        memset(lengths, 0xff, bytes);
    }
    v.made.chunk.work.status = 0;
    CHECK(!run_one(variant, &v.made.chunk));
    CHECK_EQ(*v.made.status, 0);
    release(&v);
}

/* A header that says batches are smaller than they are. Batches that may go in rounds have room
 * whatever the header says. */
static void check_small_staging(const emulated_variant *variant) {
    victim v;
    make_tokens(variant, &v);
    lay_out(variant, &v, EMULATOR_WRITE);
    v.made.chunk.head->staging = 16 * draw(v.made.chunk.head->staging / 32);
    check_reported(variant, &v, FP_GPU_BAD_SIDECAR, "a lie about the largest batch");
    release(&v);
}

static void check_variant(const emulated_variant *variant, uint32_t cases) {
    for (uint32_t i = 0; i < (cases + 9) / 10; i++) {
        check_bad_codes(variant);
        check_lying_positions(variant);
        check_wrong_dictionary(variant);
        check_garbage(variant);
    }
    check_late_begin(variant);
    check_no_status(variant);
    if (variant->code_bits && variant->longest <= 16) check_small_staging(variant);
}

int main(void) {
    start_random(20240608);
    check_variants(check_variant);
    return check_done();
}
