/* fuzz_gpu.cc - any column that opens, decoded by the GPU's kernels in the emulator, without
 * validation.
 *
 * Memory that kernels see has exactly the sizes that the host computes, and each block is watched
 * by the emulator and by the sanitizer. Demanded: no access beside it and no race, whatever codes,
 * positions, lengths and validity say. A column that validates gives the CPU's bytes, row offsets
 * and validity, and status 0. Where the status is 0 although the column is not valid, the outputs
 * are those of the CPU. The mutator is that of fuzz_sections. */
#include "column_launch.h"

extern "C" {
#include "fuzz.h"
}

enum { LARGEST_INPUT = 1 << 16, LARGEST_COLUMN = 1 << 15, MOST_CHUNKS = 8 };

static void run_kernel(const device_column *c, const emulated_variant *variant, uint32_t choice,
                       int valid) {
    device memory = {};
    column_output output;
    column_launch_options options = {};
    options.seed = choice;
    options.regenerate = choice & 1;
    options.one_status = choice >> 1 & 1;
    options.offset_bits = choice & 4 ? 32 : 64;
    /* A column that lies may have batches that overlap; then a byte is written twice. */
    options.access = valid ? EMULATOR_WRITE_ONCE : EMULATOR_WRITE;
    const char *error = column_launch(&c, 1, variant, &options, &output, &memory);
    if (error) fprintf(stderr, "%s: %s\n", variant->name, error);
    DEMAND(!error);
    if (valid) DEMAND(*output.status == 0);
    if (*output.status == 0 && c->decoded == FASTPAIR_OK) {
        const char *differs = column_compare(c, &output, options.offset_bits);
        if (differs) fprintf(stderr, "%s: other %s than the CPU's\n", variant->name, differs);
        DEMAND(!differs);
    }
    device_free(&memory);
}

/* Runs `most` kernels of a table that can decode the column, from one that the input chooses on:
 * the same input always meets the same kernels, so that a finding can be repeated. */
static void run_kernels(const device_column *c, const emulated_variant *table, uint32_t most,
                        uint32_t turn, int valid) {
    uint32_t kernels = 0;
    while (table[kernels].name) kernels++;
    for (uint32_t i = 0, tried = 0; i < kernels && tried < most; i++) {
        const emulated_variant *variant = &table[(turn + i) % kernels];
        if (!column_suits(variant, c)) continue;
        run_kernel(c, variant, turn + i, valid);
        tried++;
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    device_column c;
    fastpair_error error;
    if (size > LARGEST_INPUT ||
        device_column_open(&c, data, size, LARGEST_COLUMN, &error) != FASTPAIR_OK)
        return 0;
    if (c.coded_chunks && c.chunk_count <= MOST_CHUNKS && c.dict_count <= MOST_CHUNKS) {
        int valid = fastpair_column_validate(c.column, &error) == FASTPAIR_OK;
        uint32_t turn = (uint32_t)(data[size / 2] + 7 * data[size / 3] + size);
        run_kernels(&c, emulated_staged(), 2, turn, valid);
        run_kernels(&c, emulated_assembled(), 1, turn, valid);
    }
    device_column_close(&c);
    return 0;
}
