/* test_kernels_bad.cc - bad data for every decode kernel, in the emulator: codes outside the dictionary, positions that lie, wrong
 * dictionaries, garbage. Each must give a status, and nothing outside the chunk may be touched. kernel_draw.h says which kernels
 * run. */
#include "kernel_draw.h"

/* A case of some batches, to be spoilt. */
static void make_victim(const emulated_variant *variant, kernel_case *c) {
    uint32_t batch = 32 * variant->codes_per_lane, slots = 100 + draw(200),
             count = 4 * batch + draw(batch);
    make_case(variant, c, slots, count, variant->longest, CASE_MIXED);
}

/* The first code that a kernel must refuse. */
static uint32_t refused_from(const emulated_variant *variant, const case_image *image) {
    return variant->code_bits ? image->group->slots : image->dict->slots;
}

/* Runs a spoilt case: it must report, and nothing may go wrong beyond that. */
static void check_reported(const emulated_variant *variant, const case_layout *layout,
                           case_image *image, uint32_t expected, const char *what) {
    const char *error = case_run(variant, layout, image);
    CHECK(!error);
    CHECK((*image->status & expected) != 0);
    if (error || !(*image->status & expected))
        fprintf(stderr, "  %s, %s: %s, status %u\n", variant->name, what,
                error ? error : "no report", *image->status);
}

/* Codes outside the dictionary: their batches stay as they were, all others are right. */
static void check_bad_codes(const emulated_variant *variant) {
    kernel_case c;
    case_image image;
    make_victim(variant, &c);
    case_layout layout = draw_layout(variant);
    if (layout.positions == POSITIONS_REGENERATED) layout.positions = POSITIONS_PREPARED;
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE_ONCE, &image);
    uint32_t batch = 32 * variant->codes_per_lane, bad = draw(c.count);
    uint32_t codes = layout.widened ? 65536 : 1u << c.bits,
             code = codes - 1 - draw(codes - c.slots + 1);
    bool is_bad = code >= refused_from(variant, &image);
    uint16_t half = (uint16_t)code;
    if (layout.widened) memcpy(image.codes + 2 * (size_t)bad, &half, 2);
    for (uint32_t b = 0; b < c.bits && !layout.widened; b++) {
        uint64_t bit = (uint64_t)bad * c.bits + b;
        image.codes[bit / 8] =
            (uint8_t)((image.codes[bit / 8] & ~(1 << bit % 8)) | (code >> b & 1) << bit % 8);
    }
    if (is_bad) {
        check_reported(variant, &layout, &image, FP_GPU_BAD_CODE, "a code outside the dictionary");
        uint32_t at = 0;
        for (uint32_t i = 0; i < c.count; i++) {
            const uint8_t *token = c.tokens[c.codes[i]];
            for (uint32_t k = 0; k < c.lengths[c.codes[i]]; k++, at++)
                if (image.out[at] != (i / batch == bad / batch ? 0xee : token[k])) {
                    CHECK(!"bytes of other batches are right, and of the bad one untouched");
                    i = c.count;
                    break;
                }
        }
    }
    case_image_free(&image);
    case_free(&c);
}

/* Any lie about where batches begin is found, and never makes a kernel leave the chunk. */
static void check_lying_positions(const emulated_variant *variant) {
    kernel_case c;
    case_image image;
    make_victim(variant, &c);
    case_layout layout = draw_layout(variant);
    layout.positions = (case_positions)draw(2);
    layout.batch_codes = 32 * variant->codes_per_lane;
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE, &image);
    uint8_t *lies =
        layout.positions == POSITIONS_SIDECAR ? image.sidecar : (uint8_t *)image.positions;
    uint64_t bytes =
        layout.positions == POSITIONS_SIDECAR ? image.sidecar_bytes : 4ull * image.batches;
    uint32_t change, *words = (uint32_t *)(void *)lies;
    switch (draw(6)) {
    case 0: lies[draw((uint32_t)bytes)] ^= (uint8_t)(1u << draw(8)); break;
    case 1:
        for (uint64_t i = 0; i < bytes; i++) lies[i] = (uint8_t)check_random(&random_state);
        break;
    case 2: memset(lies, 0xff, bytes); break;
    case 3: words[0] = 0u - (1 + draw(4000)); break; /* all of a group shifted down, around zero */
    case 4: /* the same, and its numbers shifted up by as much */
        words[0] -= 1;
        for (uint64_t i = bytes - 2ull * image.batches;
             i < bytes && layout.positions == POSITIONS_SIDECAR; i += 2)
            *(uint16_t *)(void *)(lies + i) += 1;
        break;
    default:
        change = 1 + draw(c.decoded_bytes);
        words[0] += change;
        break;
    }
    check_reported(variant, &layout, &image, FP_GPU_BAD_SIDECAR, "a lie about positions");
    case_image_free(&image);
    case_free(&c);
}

/* Positions that add up, but do not begin with 0. All other batches are where they should be, and may be
 * written. */
static void check_late_begin(const emulated_variant *variant) {
    kernel_case c;
    case_image image;
    make_victim(variant, &c);
    case_layout layout = draw_layout(variant);
    layout.positions = POSITIONS_PREPARED;
    layout.out_shift = 7;
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE_ONCE, &image);
    image.chunk->out_offset -= 7;
    image.chunk->decoded_bytes += 7;
    for (uint32_t i = 0; i < image.batches; i++) image.positions[i] += 7;
    check_reported(variant, &layout, &image, FP_GPU_BAD_SIDECAR, "a chunk that begins late");
    CHECK_EQ(image.out[0], 0xee);
    case_image_free(&image);
    case_free(&c);
}

static bool has_lengths(const kernel_case *c) {
    for (uint32_t i = 1; i < c->count; i++)
        if (c->lengths[c->codes[i]] != c->lengths[c->codes[0]]) return true;
    return false;
}

/* A dictionary that is not the one the column was made with, or that promises shorter tokens than it has. */
static void check_wrong_dictionary(const emulated_variant *variant) {
    kernel_case c;
    case_image image;
    make_victim(variant, &c);
    while (!has_lengths(&c)) { /* two tokens may well be of one length */
        case_free(&c);
        make_victim(variant, &c);
    }
    case_layout layout = draw_layout(variant);
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE, &image);
    uint32_t expected = FP_GPU_BAD_SIDECAR, fewer = c.slots;
    uint64_t length_bytes =
        variant->code_bits ? FP_GPU_CLASS_TABLE(variant->code_bits) : image.nibble_bytes;
    /* Positions made on the device come from the nibbles, and go together with them. */
    if (variant->code_bits && layout.positions == POSITIONS_REGENERATED)
        layout.positions = POSITIONS_PREPARED;
    case_image_free(&image);
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE, &image);
    uint8_t *lengths = variant->code_bits ? image.group_image : image.nibbles;
    switch (draw(3)) {
    case 0:
        /* 16 bytes each, also where 8 is the limit; or a mark for codes that are not there */
        memset(lengths, 0xff, length_bytes);
        if (variant->code_bits && variant->longest == 8) expected = FP_GPU_BAD_CODE, fewer = 0;
        break;
    case 1: memset(lengths, 0, length_bytes); break;
    default:
        fewer = 1 + draw(20);
        image.dict->slots = fewer;
        if (variant->code_bits) {
            fewer = 1u << FP_GPU_CLASS_SHIFT(variant->code_bits);
            image.group->slots = image.group->near = image.group->split = fewer;
            lengths[0] |= 0xf0; /* all classes but the first */
            memset(lengths + 1, 0xff, length_bytes - 1);
        }
        expected = FP_GPU_BAD_CODE;
        break;
    }
    /* A kernel for short tokens cuts lengths down to 8, which may be what they are. */
    bool all_longest = true, all_ones = true, code_outside = false;
    for (uint32_t i = 0; i < c.count; i++) {
        all_longest &= c.lengths[c.codes[i]] == variant->longest;
        all_ones &= c.lengths[c.codes[i]] == 1;
        code_outside |= c.codes[i] >= fewer;
    }
    CHECK(!all_longest && !all_ones && (expected != FP_GPU_BAD_CODE || code_outside));
    check_reported(variant, &layout, &image, expected, "a wrong dictionary");
    case_image_free(&image);
    case_free(&c);
}

/* Random codes, positions and lengths together. Nothing is known about the outcome but that it stays
 * inside. */
static void check_garbage(const emulated_variant *variant) {
    kernel_case c;
    case_image image;
    make_victim(variant, &c);
    case_layout layout = draw_layout(variant);
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE, &image);
    for (uint64_t i = 0; i < image.codes_bytes; i++)
        image.codes[i] = (uint8_t)check_random(&random_state);
    for (uint64_t i = 0; i < image.nibble_bytes; i++)
        image.nibbles[i] = (uint8_t)check_random(&random_state);
    for (uint64_t i = 0; i < image.sidecar_bytes && draw(2); i++)
        image.sidecar[i] = (uint8_t)check_random(&random_state);
    for (uint32_t i = 0; variant->code_bits && i < (uint32_t)FP_GPU_CLASS_TABLE(variant->code_bits);
         i++)
        image.group_image[i] = (uint8_t)check_random(&random_state);
    image.dict->slots -= draw(c.slots);
    image.parameters.second = variant->shared_dict ? 1 + draw(image.dict->slots) : 0;
    check_reported(variant, &layout, &image, FP_GPU_BAD_CODE | FP_GPU_BAD_SIDECAR, "garbage");
    case_image_free(&image);
    case_free(&c);
}

/* The status word is optional. */
static void check_no_status(const emulated_variant *variant) {
    kernel_case c;
    case_image image;
    make_victim(variant, &c);
    case_layout layout = draw_layout(variant);
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE, &image);
    image.dict->slots = 1;
    if (variant->code_bits) memset(image.group_image, 0xff, FP_GPU_CLASS_TABLE(variant->code_bits));
    image.parameters.launch.status = 0;
    CHECK(!case_run(variant, &layout, &image));
    CHECK_EQ(*image.status, 0);
    case_image_free(&image);
    case_free(&c);
}

/* A header that says batches are smaller than they are. */
static void check_small_staging(const emulated_variant *variant) {
    kernel_case c;
    case_image image;
    make_victim(variant, &c);
    case_layout layout = draw_layout(variant);
    case_lay_out(&c, variant, &layout, EMULATOR_WRITE, &image);
    image.group->staging = 16 * draw(image.group->staging / 32);
    check_reported(variant, &layout, &image, FP_GPU_BAD_SIDECAR, "a lie about the largest batch");
    case_image_free(&image);
    case_free(&c);
}

static void check_variant(const emulated_variant *variant, uint32_t cases) {
    (void)cases;
    for (uint32_t i = 0; i < 3; i++) {
        check_bad_codes(variant);
        check_lying_positions(variant);
        check_wrong_dictionary(variant);
        check_garbage(variant);
    }
    check_late_begin(variant);
    check_no_status(variant);
    if (variant->code_bits) check_small_staging(variant);
}

int main(void) {
    draw_start();
    draw_kernels(check_variant);
    return check_done();
}
