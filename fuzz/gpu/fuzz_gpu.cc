/* fuzz_gpu.cc - any column that opens, decoded by the GPU's kernels in the emulator, without validation.
 *
 * Memory that kernels see is of exactly the sizes the host computes, each block watched by the emulator and by the
 * sanitizer. What is demanded: no access beside it and no race, whatever codes, positions and lengths say; a column that
 * validates gives the CPU's bytes and row offsets and status 0; and where the status is 0 although the column is not
 * valid, the bytes are those the CPU gives. The mutator is that of fuzz_sections. */
#include "device_columns.h"
#include "gpu/kernels/work.h"
#include "kernel_case.h"

extern "C" {
#include "fuzz.h"
}

enum { LARGEST_INPUT = 1 << 16, LARGEST_COLUMN = 1 << 15, MOST_CHUNKS = 8, MOST_SLOTS = 12000 };

typedef struct grid {
    device memory;
    emulated_parameters parameters;
    fp_gpu_chunk *chunks;
    uint8_t *out, *offsets;
    uint32_t *status;
    uint32_t most_batches, most_row_blocks, most_slots, regenerates;
} grid;

static void lay_out(grid *g, const device_column *c, const emulated_variant *variant,
                    uint32_t choice, uint32_t offset_bits, int valid) {
    uint32_t batch_codes = 32 * variant->codes_per_lane;
    /* A column that lies may have batches that overlap; then a byte is written twice. */
    emulator_access once = valid ? EMULATOR_WRITE_ONCE : EMULATOR_WRITE;
    emulator_reset(choice);
    for (uint32_t i = 0; i < c->piece_count; i++)
        if (c->pieces[i].at != c->chunks)
            emulator_memory(c->pieces[i].at, c->pieces[i].bytes, EMULATOR_READ, c->pieces[i].name);
    g->chunks = (fp_gpu_chunk *)(void *)device_block(
        &g->memory, c->chunk_count * sizeof(fp_gpu_chunk), 0, EMULATOR_READ, "chunk table");
    for (uint32_t i = 0; i < c->chunk_count; i++) {
        fp_gpu_chunk *chunk = &g->chunks[i];
        *chunk = c->chunks[i];
        uint32_t batches = (uint32_t)((chunk->code_count + batch_codes - 1) / batch_codes);
        uint32_t row_blocks = (uint32_t)((chunk->row_count + 255) / 256);
        if (batches && (choice & 1 || batch_codes % chunk->batch_codes)) {
            chunk->positions = (uint64_t)(uintptr_t)device_block(&g->memory, 4ull * batches, 0,
                                                                 EMULATOR_WRITE, "positions");
            g->regenerates = 1;
        }
        if (batches > g->most_batches) g->most_batches = batches;
        if (row_blocks > g->most_row_blocks) g->most_row_blocks = row_blocks;
    }
    for (uint32_t i = 0; i < c->dict_count; i++)
        if (c->dicts[i].slots > g->most_slots) g->most_slots = c->dicts[i].slots;
    g->out = device_block(&g->memory, c->expected_bytes, 0, once, "output");
    g->offsets = device_block(&g->memory, (c->rows + 1) * offset_bits / 8, 0, once, "row offsets");
    g->status = (uint32_t *)(void *)device_block(&g->memory, 4, 0, EMULATOR_WRITE, "status");
    *g->status = 0;
    fp_gpu_launch *launch = &g->parameters.launch;
    launch->chunks = (uint64_t)(uintptr_t)g->chunks;
    launch->dicts = (uint64_t)(uintptr_t)c->dicts;
    launch->out = (uint64_t)(uintptr_t)g->out;
    launch->out_bytes = c->expected_bytes;
    launch->status = (uint64_t)(uintptr_t)g->status;
    launch->row_offsets = (uint64_t)(uintptr_t)g->offsets;
    launch->offset_bits = offset_bits;
    launch->has_work = choice >> 1 & 1;
    for (uint32_t i = 0; i < c->chunk_count && launch->has_work; i++)
        launch->work[i] = fp_gpu_work_make(&g->chunks[i], &c->dicts[g->chunks[i].dict], launch->out,
                                           variant->codes_per_lane, variant->low_bytes);
}

static void launch(grid *g, const device_column *c, const emulated_variant *variant) {
    uint32_t warps = variant->threads / 32, helper_warps = EMULATED_HELPER_THREADS / 32;
    uint32_t blocks = (g->most_batches + warps - 1) / warps, dynamic = 0;
    emulated_parameters *p = &g->parameters;
    const char *error = NULL;
    p->second = variant->codes_per_lane;
    if (g->regenerates) {
        error =
            emulator_run(emulated_measure_batches, p, EMULATED_HELPER_THREADS,
                         (g->most_batches + helper_warps - 1) / helper_warps, c->chunk_count, 0);
        if (!error)
            error = emulator_run(emulated_scan_batches, p, EMULATED_HELPER_THREADS, 1,
                                 c->chunk_count, 0);
    }
    if (!error)
        error =
            emulator_run(emulated_row_offsets, p, EMULATED_HELPER_THREADS,
                         (g->most_row_blocks + helper_warps - 1) / helper_warps, c->chunk_count, 0);
    if (variant->shared_dict) {
        p->second = g->most_slots;
        dynamic = FP_SHARED_DICT_BYTES(g->most_slots, variant->longest);
    }
    if (!error && blocks)
        error = emulator_run(variant->kernel, p, variant->threads, blocks, c->chunk_count, dynamic);
    if (error) fprintf(stderr, "%s: %s\n", variant->name, error);
    DEMAND(!error);
}

/* Bytes and row offsets as the CPU's; stored chunks are copied by the host and not looked at. */
static void demand_same(const grid *g, const device_column *c, uint32_t offset_bits) {
    for (uint32_t i = 0; i < c->chunk_count; i++) {
        const fp_gpu_chunk *chunk = &c->chunks[i];
        if (chunk->code_count)
            DEMAND(!memcmp(g->out + chunk->out_offset, c->expected + chunk->out_offset,
                           chunk->decoded_bytes));
    }
    for (uint64_t row = 0; row <= c->rows; row++) {
        uint64_t value = 0;
        memcpy(&value, g->offsets + row * offset_bits / 8, offset_bits / 8);
        DEMAND(value == c->expected_offsets[row]);
    }
}

static void run_kernel(const device_column *c, const emulated_variant *variant, uint32_t choice,
                       int valid) {
    grid g = {};
    uint32_t offset_bits = choice & 4 ? 32 : 64;
    lay_out(&g, c, variant, choice, offset_bits, valid);
    launch(&g, c, variant);
    if (valid) DEMAND(*g.status == 0);
    if (*g.status == 0 && c->decoded == FASTPAIR_OK) demand_same(&g, c, offset_bits);
    device_free(&g.memory);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    device_column c;
    fastpair_error error;
    if (size > LARGEST_INPUT ||
        device_column_open(&c, data, size, LARGEST_COLUMN, &error) != FASTPAIR_OK)
        return 0;
    uint32_t most_slots = 0, kernels = 0;
    for (uint32_t i = 0; i < c.dict_count; i++)
        if (c.dicts[i].slots > most_slots) most_slots = c.dicts[i].slots;
    if (c.coded_chunks && c.chunk_count <= MOST_CHUNKS && c.dict_count <= MOST_CHUNKS) {
        int valid = fastpair_column_validate(c.column, 1, &error) == FASTPAIR_OK;
        const emulated_variant *carried = emulated_carried();
        /* The same input always meets the same kernels, so that a finding can be repeated. */
        uint32_t turn = (uint32_t)(data[size / 2] + 7 * data[size / 3] + size);
        while (carried[kernels].name) kernels++;
        for (uint32_t i = 0, tried = 0; i < kernels && tried < 2; i++) {
            const emulated_variant *variant = &carried[(turn + i) % kernels];
            if (variant->longest < c.longest || (variant->shared_dict && most_slots > MOST_SLOTS))
                continue;
            run_kernel(&c, variant, turn + i, valid);
            tried++;
        }
    }
    device_column_free(&c);
    return 0;
}
