/* test_kernels.cc - every decode kernel on honest data: the text that runs on GPUs, in the
 * emulator, must give the right bytes, touch nothing else and synchronise enough. Also the kernels
 * that compute positions. */
#include "kernel_draw.h"

/* Decodes a case and compares everything. */
static void check_case(const emulated_variant *variant, const kernel_case *c,
                       const case_layout *layout) {
    device d = {};
    emulator_reset(check_random(&random_state));
    case_chunk made = case_lay_out(c, variant, layout, &d);
    const char *error = run_one(variant, &made.chunk);
    bool right = !error && memcmp(made.out, c->decoded, c->decoded_bytes) == 0 &&
                 *made.status == 0 && emulator_bytes_written() == c->decoded_bytes;
    CHECK(right);
    if (!right)
        fprintf(stderr,
                "  %s, %u codes of %u bits, %u slots, tokens up to %u, %u bytes; widened %u, "
                "positions %d, batches of %u codes, output at %u: %s, status %u\n",
                variant->name, c->count, c->bits, c->slots, c->longest, c->decoded_bytes,
                layout->widened, (int)layout->positions, layout->batch_codes, layout->out_shift,
                error ? error : "wrong bytes", *made.status);
    device_free(&d);
}

static void check_random_cases(const emulated_variant *variant, uint32_t cases) {
    uint32_t batch = 32 * variant->codes_per_lane, block = batch * variant->threads / 32;
    for (uint32_t i = 0; i < cases; i++) {
        const uint32_t counts[] = {1,
                                   31,
                                   33,
                                   batch - 1,
                                   batch,
                                   batch + 1,
                                   2 * batch,
                                   batch + 1 + draw(batch),
                                   block + 1 + draw(batch),
                                   3 * batch + 32};
        /* Every code width comes by, full dictionaries and others. */
        uint32_t bits = 1 + i % 16, most = 1u << bits,
                 slots = draw(2) ? most : most / 2 + 1 + draw(most / 2);
        uint32_t longest = variant->longest;
        while (longest > 8 && draw(4) == 0) longest /= 2;
        kernel_case c;
        make_case(variant, &c, slots, counts[i % 10], longest, (case_lengths)(i % CASE_LENGTHS));
        case_layout layout = draw_layout(variant);
        check_case(variant, &c, &layout);
        case_free(&c);
    }
}

/* Every distance from a 16-byte boundary, for batches of all sizes around it. */
static void check_alignments(const emulated_variant *variant) {
    for (uint32_t shift = 0; shift < 16; shift++) {
        uint32_t slots = 1 + draw(300),
                 count = 1 + draw(40) + (shift % 4 ? 0 : 32 * variant->codes_per_lane);
        kernel_case c;
        make_case(variant, &c, slots, count, variant->longest, shift % 3 ? CASE_SHORT : CASE_MIXED);
        case_layout layout = draw_layout(variant);
        layout.out_shift = shift + 16 * draw(16);
        check_case(variant, &c, &layout);
        case_free(&c);
    }
}

static void check_variant(const emulated_variant *variant, uint32_t cases) {
    check_random_cases(variant, cases);
    check_alignments(variant);
}

/* Positions of many batches, which take the scan several turns, for chunks of several sizes in a
 * launch. */
static void check_many_positions(uint32_t codes_per_lane, uint32_t count) {
    const emulated_variant variant = {"positions", codes_per_lane, 8, 16,          256,
                                      0,           NULL,           0, FP_GPU_SPLIT};
    const uint32_t counts[3] = {count, 1 + draw(100), count / 2};
    kernel_case cases[3];
    device_chunk chunks[3], *list[3];
    device d = {};
    emulator_reset(check_random(&random_state));
    for (uint32_t i = 0; i < 3; i++) {
        case_make(&cases[i], check_random(&random_state), 300, counts[i], 16, CASE_MIXED);
        case_layout layout = draw_layout(&variant);
        layout.positions = POSITIONS_REGENERATED;
        chunks[i] = case_lay_out(&cases[i], &variant, &layout, &d).chunk;
        list[i] = &chunks[i];
    }
    device_grid grid = draw_grid();
    const char *error = device_run_positions(list, 3, &grid);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s\n", error);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t wrong = 0, bytes = 0, batch = 32 * codes_per_lane;
        for (uint32_t k = 0; k < counts[i]; k++) {
            if (k % batch == 0) wrong += chunks[i].positions[k / batch] != bytes;
            bytes += cases[i].lengths[cases[i].codes[k]];
        }
        CHECK_EQ(wrong, 0);
        case_free(&cases[i]);
    }
    device_free(&d);
}

int main(void) {
    start_random(20240607);
    check_many_positions(1, 32 * 1500 + 5);
    check_many_positions(2, 64 * 2048);
    check_many_positions(16, 512 * 1100 + 3);
    check_variants(check_variant);
    return check_done();
}
