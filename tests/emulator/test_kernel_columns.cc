/* test_kernel_columns.cc - real columns through emulated kernels: rows are compressed by the
 * library, and kernels must give the bytes, row offsets and validity that the CPU gives, for many
 * chunks and several columns in one launch. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "check.h"
#include "column_launch.h"
#include "tpch.h"

extern "C" {
#include "shapes.h"
}

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

/* ---------------------------------------------------------------- columns */

static fastpair_compress_options draw_options(uint32_t codec, fastpair_expert_options *expert) {
    fastpair_compress_options options = {};
    options.struct_size = sizeof options;
    options.codec = codec == 3 ? FASTPAIR_CODEC_FSST12 : FASTPAIR_CODEC_ONPAIR;
    options.code_bits = codec == 1 ? 16 : codec == 2 ? 9 + draw(7) : codec == 3 ? 0 : 12;
    options.max_token = codec == 4 ? 32 : codec == 5 ? 64 : codec == 2 && draw(2) ? 8 : 0;
    options.chunk_bytes = 4000 + draw(20000);
    *expert = fastpair_expert_options();
    expert->struct_size = sizeof *expert;
    expert->batch_codes = draw(2) ? 0 : 32 * (1 + draw(8));
    expert->hot_codes = draw(2) ? 0 : 100;
    expert->seed = draw(1000);
    options.expert = expert;
    return options;
}

static void make_tpch(device_column *d, fp_tpch_column which, uint64_t bytes,
                      const fastpair_compress_options *options) {
    uint8_t *text = (uint8_t *)malloc(bytes + FP_TPCH_MAX_ROW);
    uint64_t *offsets = (uint64_t *)malloc((bytes + 2) * sizeof *offsets), rows = 0;
    fp_tpch_gen gen;
    if (!text || !offsets || fp_tpch_open(&gen, check_random(&random_state), which)) abort();
    offsets[0] = 0;
    while (offsets[rows] < bytes) {
        offsets[rows + 1] = offsets[rows] + fp_tpch_next(&gen, (char *)text + offsets[rows]);
        rows++;
    }
    fp_tpch_close(&gen);
    fastpair_rows view = {};
    view.struct_size = sizeof view;
    view.rows = rows;
    view.bytes = text;
    view.offsets = offsets;
    device_column_make(d, &view, options);
    free(text);
    free(offsets);
}

static void make_shape(device_column *d, shape_kind kind, uint64_t bytes,
                       const fastpair_compress_options *options) {
    shape s;
    shape_options how = {};
    how.bytes = bytes;
    how.null_percent = draw(2) * 10;
    shape_make(&s, kind, check_random(&random_state), &how);
    device_column_make(d, &s.rows, options);
    shape_free(&s);
}

/* ---------------------------------------------------------------- launches */

/* Decodes columns in one launch and compares everything with the CPU's. */
static void check_launch(const device_column *columns, uint32_t count,
                         const emulated_variant *variant) {
    const device_column *list[2] = {&columns[0], &columns[1]};
    column_output outputs[2];
    device memory = {};
    column_launch_options options = {};
    options.seed = check_random(&random_state);
    options.regenerate = (int)draw(2);
    options.one_status = (int)draw(2);
    options.offset_bits = draw(2) ? 32 : 64;
    options.access = EMULATOR_WRITE_ONCE;
    const char *error = column_launch(list, count, variant, &options, outputs, &memory);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s: %s\n", variant->name, error);
    for (uint32_t c = 0; c < count; c++) {
        const char *differs = column_compare(&columns[c], &outputs[c], options.offset_bits);
        CHECK_EQ(*outputs[c].status, 0);
        CHECK(!differs);
        if (differs) fprintf(stderr, "  %s: %s\n", variant->name, differs);
    }
    device_free(&memory);
}

/* Whether one of the paper's kernels takes a column, if only for its rows. */
static bool takes(const emulated_variant *variant, const device_column *column) {
    return column->dict_count == 0 || column_suits(variant, column);
}

/* ---------------------------------------------------------------- main */

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 4711;
    printf("seed %llu\n", (unsigned long long)random_state);
    const emulated_variant *carried = emulated_staged(), *shared = emulated_grid_shared();
    uint32_t carried_count = 0, shared_count = 0, turn = 0, coded = 0, assembled = 0;
    while (carried[carried_count].name) carried_count++;
    while (shared[shared_count].name) shared_count++;
    const shape_kind kinds[] = {SHAPE_LOG_LINES,   SHAPE_UTF8,      SHAPE_TINY_ROWS,
                                SHAPE_FOUR_VALUES, SHAPE_URLS,      SHAPE_RANDOM_BYTES,
                                SHAPE_WORDS,       SHAPE_EMPTY_ROWS};
    for (uint32_t codec = 0; codec < 6; codec++) {
        for (uint32_t which = 0; which < FP_TPCH_COLUMN_COUNT + 4; which++) {
            device_column columns[2];
            fastpair_expert_options expert, other_expert;
            fastpair_compress_options options = draw_options(codec, &expert),
                                      other = draw_options(draw(6), &other_expert);
            if (which < FP_TPCH_COLUMN_COUNT)
                make_tpch(&columns[0], (fp_tpch_column)which, 30000, &options);
            else
                make_shape(&columns[0], kinds[draw(8)], 20000, &options);
            make_shape(&columns[1], kinds[(codec * 5 + which) % 8], 5000, &other);
            coded += columns[0].coded_chunks + columns[1].coded_chunks;
            /* Kernels take turns; each that can decode both columns does so in one launch. */
            for (uint32_t tried = 0, end = turn + 2 * carried_count; tried < 2 && turn < end;
                 turn++) {
                const emulated_variant *variant = &carried[turn % carried_count];
                if (draw(6) == 0) variant = &shared[draw(shared_count)];
                if (!takes(variant, &columns[0]) || !takes(variant, &columns[1])) continue;
                check_launch(columns, 2, variant);
                tried++;
            }
            for (const emulated_variant *variant = emulated_assembled(); variant->name; variant++) {
                if (!column_suits(variant, &columns[0])) continue;
                check_launch(columns, column_suits(variant, &columns[1]) ? 2 : 1, variant);
                assembled++;
            }
            device_column_close(&columns[0]);
            device_column_close(&columns[1]);
        }
    }
    printf("%u coded chunks, %u launches of assembled kernels\n", coded, assembled);
    CHECK(coded > 80 && assembled > 100);
    return check_done();
}
