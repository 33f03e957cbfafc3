/* device_chunk.cc - chunks laid out for kernels. In: tokens, codes in memory, a sidecar. Out:
 * memory blocks of exactly the right sizes, what launches say of them, and the launches. Written
 * from params.h and docs/format.md, apart from the library's own layout and launches. */
#include "device_chunk.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- layout */

/* The first slot with a token longer than `length`. */
static uint32_t first_above(const device_tokens *tokens, uint32_t length) {
    uint32_t slot = 0;
    while (slot < tokens->slots && tokens->lengths[slot] <= length) slot++;
    return slot;
}

static void lay_out_resident(const device_tokens *tokens, const emulated_variant *variant,
                             uint32_t largest, device *d, device_chunk *chunk) {
    uint32_t part = fp_resident_part(variant->longest), above[3];
    for (uint32_t i = 0; i < 3; i++) above[i] = first_above(tokens, (i + 1) * part);
    fp_resident shape = fp_resident_shape(variant->home, tokens->code_bits, variant->longest,
                                          tokens->slots, tokens->hot, above);
    const fp_resident_tokens all = {tokens->cells[0], sizeof tokens->cells[0], tokens->lengths,
                                    tokens->slots};
    chunk->resident = device_block(d, shape.bytes, 16, EMULATOR_READ, "resident dictionary");
    fp_resident_write(&shape, &all, chunk->resident);
    chunk->head =
        (fp_gpu_dict *)(void *)device_block(d, sizeof(fp_gpu_dict), 0, EMULATOR_READ, "head");
    *chunk->head = fp_gpu_dict{};
    chunk->head->resident = device_address(chunk->resident);
    chunk->head->cold = chunk->work.low;
    if (variant->longest == 64 && variant->home == FP_GPU_FAR) {
        uint64_t bytes = FP_GPU_FAR_TABLE(tokens->code_bits) +
                         (uint64_t)FP_GPU_PIECE * fp_resident_pieces(&all, NULL);
        chunk->cold = device_block(d, bytes, 16, EMULATOR_READ, "pieces");
        fp_resident_write_far(&all, tokens->code_bits, chunk->cold);
        chunk->head->cold = device_address(chunk->cold);
    }
    chunk->head->resident_bytes = shape.bytes;
    chunk->head->slots = shape.slots;
    chunk->head->near = shape.near;
    chunk->head->split = shape.split;
    chunk->head->further[0] = shape.further[0];
    chunk->head->further[1] = shape.further[1];
    if (variant->longest > 16 && largest < FP_GPU_LEAST_ROOM) largest = FP_GPU_LEAST_ROOM;
    chunk->head->staging = FP_GPU_STAGING(largest);
}

/* Bytes first .. first + width of each cell; all zero after the last slot. */
static uint64_t lay_out_plane(const device_tokens *tokens, uint32_t first, uint32_t width,
                              uint64_t cells, device *d) {
    uint8_t *plane = device_block(d, width * cells, 16, EMULATOR_READ, "plane");
    memset(plane, 0, width * cells);
    for (uint64_t i = 0; i < tokens->slots; i++)
        memcpy(plane + width * i, tokens->cells[i] + first, width);
    return device_address(plane);
}

/* What the paper's kernels read, and the shorter tokens of ours that lie in global memory. */
static void lay_out_planes(const device_tokens *tokens, const emulated_variant *variant, device *d,
                           device_chunk *chunk) {
    /* Kernels with a hot part also read cells of codes that are not in the dictionary. */
    uint64_t cells = tokens->hot ? 1ull << tokens->code_bits : tokens->slots;
    uint32_t width = variant->gathered_bytes;
    chunk->nibble_bytes = (tokens->slots + 1) / 2;
    chunk->nibbles = device_block(d, chunk->nibble_bytes, 16, EMULATOR_READ, "nibbles");
    memset(chunk->nibbles, 0, chunk->nibble_bytes);
    for (uint32_t i = 0; i < tokens->slots; i++)
        chunk->nibbles[i / 2] |= (uint8_t)((tokens->lengths[i] - 1) << i % 2 * 4);
    chunk->work.low = lay_out_plane(tokens, 0, width, cells, d);
    if (width < variant->longest)
        chunk->work.high = lay_out_plane(tokens, width, variant->longest - width, cells, d);
    chunk->work.nibbles = device_address(chunk->nibbles);
}

void device_lay_out_dict(const device_tokens *tokens, const emulated_variant *variant,
                         uint32_t largest, device *d, device_chunk *chunk) {
    chunk->work.slots = chunk->regenerated.slots = tokens->slots;
    chunk->lengths = device_copy(d, tokens->lengths, tokens->slots, "lengths");
    chunk->regenerated.lengths = device_address(chunk->lengths);
    if (variant->longest <= 16) lay_out_planes(tokens, variant, d, chunk);
    if (variant->code_bits) lay_out_resident(tokens, variant, largest, d, chunk);
}

void device_share_dict(device_chunk *chunk, const device_chunk *of) {
    chunk->work.low = of->work.low;
    chunk->work.high = of->work.high;
    chunk->work.nibbles = of->work.nibbles;
    chunk->regenerated.lengths = of->regenerated.lengths;
    chunk->work.slots = chunk->regenerated.slots = of->work.slots;
    chunk->head = of->head;
    chunk->resident = of->resident;
    chunk->cold = of->cold;
    chunk->nibbles = of->nibbles;
    chunk->nibble_bytes = of->nibble_bytes;
    chunk->lengths = of->lengths;
}

device_chunk device_chunk_make(const device_codes *codes, const emulated_variant *variant) {
    device_chunk chunk = {};
    uint32_t batch = 32 * variant->codes_per_lane;
    chunk.batches = codes->count / batch + (codes->count % batch != 0);
    chunk.span.codes = chunk.work.codes = device_address(codes->codes);
    chunk.span.out = chunk.work.out = device_address(codes->out);
    chunk.work.status = device_address(codes->status);
    chunk.span.code_count = chunk.work.code_count = codes->count;
    chunk.span.decoded_bytes = chunk.work.decoded_bytes = codes->decoded_bytes;
    chunk.work.code_bits = (uint8_t)codes->bits;
    chunk.regenerated.code_count = codes->count;
    chunk.regenerated.code_bits = codes->bits;
    chunk.regenerated.codes_per_lane = variant->codes_per_lane;
    return chunk;
}

void device_use_sidecar(device_chunk *chunk, const device_sidecar *sidecar,
                        const emulated_variant *variant) {
    uint32_t shift = 0, batch_codes = sidecar->batch_codes;
    while (1u << shift < sidecar->group_batches) shift++;
    uint32_t entries = (chunk->span.code_count + batch_codes - 1) / batch_codes;
    uint32_t groups = (entries + (1u << shift) - 1) >> shift;
    chunk->span.positions = chunk->work.positions = device_address(sidecar->at);
    chunk->span.deltas_at = groups;
    chunk->work.deltas = chunk->work.positions + 4ull * groups;
    chunk->span.entries = chunk->work.entries = entries;
    chunk->span.position_shift = chunk->work.position_shift = (uint8_t)shift;
    chunk->span.position_step = chunk->work.position_step =
        (uint8_t)(32 * variant->codes_per_lane / batch_codes);
}

void device_use_positions(device_chunk *chunk, device *d) {
    chunk->positions =
        (uint32_t *)(void *)device_block(d, 4ull * chunk->batches, 16, EMULATOR_WRITE, "positions");
    chunk->span.positions = chunk->work.positions = device_address(chunk->positions);
    chunk->span.entries = chunk->work.entries = chunk->batches;
    chunk->span.position_step = chunk->work.position_step = 1;
    chunk->regenerated.codes = chunk->work.codes;
    chunk->regenerated.positions = chunk->work.positions;
}

/* ---------------------------------------------------------------- launches */

/* Room for `bytes` bytes of parameters and not one more. */
static void *parameters(size_t bytes) {
    void *made = calloc(1, bytes);
    if (!made) abort();
    return made;
}

const char *device_run_positions(device_chunk *const *chunks, uint32_t count,
                                 const device_grid *grid) {
    uint32_t warps = FP_GPU_HELPER_THREADS / 32, entries = 0, blocks = 0;
    fp_gpu_positions *launch = (fp_gpu_positions *)parameters(count * sizeof *launch);
    for (uint32_t i = 0; i < count; i++) {
        if (!chunks[i]->regenerated.codes) continue;
        launch[entries++] = chunks[i]->regenerated;
        if (chunks[i]->batches > blocks * warps) blocks = (chunks[i]->batches + warps - 1) / warps;
    }
    const char *error = NULL;
    if (entries)
        error = emulator_run(emulated_measure_batches, launch, FP_GPU_HELPER_THREADS,
                             blocks + grid->spare_blocks, entries, 0);
    if (entries && !error)
        error = emulator_run(emulated_scan_batches, launch, FP_GPU_HELPER_THREADS, 1, entries, 0);
    free(launch);
    return error;
}

static const char *run_staged(const emulated_variant *variant, device_chunk *const *chunks,
                              uint32_t count, const device_grid *grid) {
    uint32_t warps = variant->threads / 32, blocks = 0, slots = 0;
    fp_staged_launch *launch = (fp_staged_launch *)parameters(FP_STAGED_LAUNCH_BYTES(count));
    for (uint32_t i = 0; i < count; i++) {
        launch->work[i] = chunks[i]->work;
        if (chunks[i]->batches > blocks * warps) blocks = (chunks[i]->batches + warps - 1) / warps;
        if (chunks[i]->work.slots > slots) slots = chunks[i]->work.slots;
    }
    if (variant->shared_dict) {
        launch->shared_slots = grid->shared_slots ? grid->shared_slots : slots;
        blocks = 1; /* warps take several batches in turn */
    }
    const char *error = emulator_run(
        variant->kernel, launch, variant->threads, blocks + grid->spare_blocks, count,
        variant->shared_dict ? FP_STAGED_DICT(launch->shared_slots, variant->longest) : 0);
    free(launch);
    return error;
}

/* Shared memory that a block needs with a dictionary, if so many of its warps work. */
static uint32_t shared_with(const emulated_variant *variant, const fp_gpu_dict *head) {
    uint32_t warp_bytes = FP_GPU_WARP_SHARED(variant->codes_per_lane, variant->code_bits,
                                             variant->longest, head->staging);
    return FP_GPU_BLOCK_SHARED(head->resident_bytes, head->warps, warp_bytes);
}

/* A launch of chunks with one status word. Each dictionary has work for fewer warps than the one before
 * it, down to one; then for all again. */
static const char *run_assembled(const emulated_variant *variant, device_chunk *const *chunks,
                                 uint32_t count, const device_grid *grid) {
    fp_gpu_span_launch *launch = (fp_gpu_span_launch *)parameters(FP_GPU_SPAN_LAUNCH_BYTES(count));
    uint32_t warps = variant->threads / 32, working = warps, shared = 0;
    launch->dicts = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (device_address(chunks[i]->head) < launch->dicts)
            launch->dicts = device_address(chunks[i]->head);
    for (uint32_t i = 0; i < count; i++) {
        fp_gpu_dict *head = chunks[i]->head;
        if (i && head != chunks[i - 1]->head) working = working > 1 ? working - 1 : warps;
        head->warps = working;
        launch->spans[i] = chunks[i]->span;
        launch->spans[i].first_batch = launch->batches;
        launch->spans[i].dict =
            (uint32_t)((device_address(head) - launch->dicts) / FP_GPU_DICT_UNIT);
        launch->batches += chunks[i]->batches;
        for (uint32_t s = i + 1; s-- > 0 && chunks[s]->head == head;)
            launch->spans[s].dict_end = launch->batches;
        if (shared_with(variant, head) > shared) shared = shared_with(variant, head);
    }
    launch->spans[count].first_batch = launch->batches;
    launch->span_count = count;
    launch->blocks = grid->blocks ? grid->blocks : 1;
    launch->teams = grid->teams ? grid->teams : 1;
    launch->status = chunks[0]->work.status;
    const char *error = emulator_run(variant->kernel, launch, variant->threads,
                                     launch->blocks + grid->spare_blocks, 1, shared);
    free(launch);
    return error;
}

static const char *run_by_status(const emulated_variant *variant, device_chunk *const *chunks,
                                 uint32_t count, const device_grid *grid) {
    device_chunk **left = (device_chunk **)parameters(2 * count * sizeof *left),
                 **now = left + count;
    const char *error = NULL;
    memcpy(left, chunks, count * sizeof *left);
    while (count && !error) {
        uint32_t others = 0, here = 0;
        uint64_t status = left[0]->work.status;
        for (uint32_t i = 0; i < count; i++) {
            if (left[i]->work.status == status)
                now[here++] = left[i];
            else
                left[others++] = left[i];
        }
        error = run_assembled(variant, now, here, grid);
        count = others;
    }
    free(left);
    return error;
}

const char *device_run(const emulated_variant *variant, device_chunk *const *chunks, uint32_t count,
                       const device_grid *grid) {
    const char *error = device_run_positions(chunks, count, grid);
    if (error) return error;
    return variant->code_bits ? run_by_status(variant, chunks, count, grid)
                              : run_staged(variant, chunks, count, grid);
}
