/* test_kernels.cc - every decode kernel on the CPU: the text that runs on GPUs, in the emulator, must give the right bytes, touch
 * nothing else and synchronise enough. kernel_draw.h says which kernels run. */
#include "kernel_draw.h"

/* Decodes a case and compares everything. */
static void check_case(const emulated_variant *variant, const kernel_case *c,
                       const case_layout *layout) {
    case_image image;
    case_lay_out(c, variant, layout, EMULATOR_WRITE_ONCE, &image);
    const char *error = case_run(variant, layout, &image);
    bool right = !error && memcmp(image.out, c->decoded, c->decoded_bytes) == 0 &&
                 *image.status == 0 && emulator_bytes_written() == c->decoded_bytes;
    CHECK(right);
    if (!right)
        fprintf(stderr,
                "  %s, %u codes of %u bits, %u slots, tokens up to %u, %u bytes; widened %u, "
                "positions %d, "
                "batch %u, "
                "shift %u, work %u: %s, status %u\n",
                variant->name, c->count, c->bits, c->slots, c->longest, c->decoded_bytes,
                layout->widened, (int)layout->positions, layout->batch_codes, layout->out_shift,
                layout->has_work, error ? error : "wrong bytes", *image.status);
    case_image_free(&image);
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
        uint32_t longest = variant->longest == 8 || draw(4) == 0 ? 8 : 16;
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
        layout.out_shift = shift;
        check_case(variant, &c, &layout);
        case_free(&c);
    }
}

/* Positions of many batches, which take the scan several turns. */
static void check_many_positions(uint32_t codes_per_lane, uint32_t count) {
    emulated_variant variant = {"positions", codes_per_lane, 8, 16,          256, 0,
                                1,           NULL,           0, FP_GPU_SPLIT};
    kernel_case c;
    case_image image;
    case_make(&c, check_random(&random_state), 300, count, 16, CASE_MIXED);
    case_layout layout = draw_layout(&variant);
    layout.positions = POSITIONS_REGENERATED;
    case_lay_out(&c, &variant, &layout, EMULATOR_WRITE_ONCE, &image);
    const char *error = case_make_positions(&variant, &layout, &image);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s\n", error);
    uint32_t wrong = 0, bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i % (32 * codes_per_lane) == 0)
            wrong += image.positions[i / (32 * codes_per_lane)] != bytes;
        bytes += c.lengths[c.codes[i]];
    }
    CHECK_EQ(wrong, 0);
    case_image_free(&image);
    case_free(&c);
}

static void check_variant(const emulated_variant *variant, uint32_t cases) {
    check_random_cases(variant, cases);
    check_alignments(variant);
}

int main(void) {
    draw_start();
    check_many_positions(1, 32 * 1500 + 5);
    check_many_positions(2, 64 * 2048);
    check_many_positions(16, 512 * 1100 + 3);
    draw_kernels(check_variant);
    return check_done();
}
