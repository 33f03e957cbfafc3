/* test_kernel_columns.cc - real columns through emulated kernels: rows are compressed by the library, and
 * kernels must give the bytes and row offsets that the CPU gives, for many chunks and several columns in
 * one launch. */
#include "check.h"
#include "device_columns.h"
#include "gpu/kernels/work.h"
#include "kernel_case.h"
#include "tpch.h"

extern "C" {
#include "shapes.h"
}

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

/* ---------------------------------------------------------------- columns */

static fastpair_compress_options draw_options(uint32_t codec) {
    fastpair_compress_options options = {};
    options.struct_size = sizeof options;
    options.codec = codec == 3 ? FASTPAIR_CODEC_FSST12 : FASTPAIR_CODEC_ONPAIR;
    options.code_bits = codec == 0 ? 12 : codec == 1 ? 16 : codec == 2 ? 9 + draw(7) : 0;
    options.max_token = codec == 2 && draw(2) ? 8 : 0;
    options.chunk_bytes = 4000 + draw(20000);
    options.batch_codes = draw(2) ? 0 : 32 * (1 + draw(8));
    options.hot_codes = draw(2) ? 0 : 100;
    options.seed = draw(1000);
    return options;
}

static void make_tpch(device_column *d, fp_tpch_column which, uint64_t bytes,
                      const fastpair_compress_options *options) {
    uint8_t *text = (uint8_t *)malloc(bytes + FP_TPCH_MAX_ROW);
    uint64_t *offsets = (uint64_t *)malloc((bytes + 2) * sizeof *offsets), rows = 0;
    fp_tpch_gen gen;
    if (!text || !offsets || fp_tpch_init(&gen, check_random(&random_state), which)) abort();
    offsets[0] = 0;
    while (offsets[rows] < bytes) {
        offsets[rows + 1] = offsets[rows] + fp_tpch_next(&gen, (char *)text + offsets[rows]);
        rows++;
    }
    fp_tpch_destroy(&gen);
    fastpair_rows view = {};
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

/* Some columns laid out for one launch, as the library lays out a batch. */
typedef struct launch_image {
    device memory;
    emulated_parameters parameters;
    fp_gpu_chunk *chunks;
    uint32_t chunk_count;
    uint8_t *out, *offsets;
    uint32_t *status;
    uint64_t out_bytes, slots;
    uint32_t most_batches, most_row_blocks, most_slots;
    int regenerates;
} launch_image;

static void add_column(launch_image *image, const device_column *column, uint32_t batch_codes,
                       int regenerate, uint32_t first_dict) {
    for (uint32_t i = 0; i < column->chunk_count; i++) {
        fp_gpu_chunk *chunk = &image->chunks[image->chunk_count++];
        *chunk = column->chunks[i];
        chunk->out_offset += image->out_bytes;
        chunk->first_row_slot += image->slots;
        chunk->dict += first_dict;
        uint32_t batches = (uint32_t)((chunk->code_count + batch_codes - 1) / batch_codes);
        uint32_t row_blocks = (uint32_t)((chunk->row_count + 255) / 256);
        if (batches && (regenerate || batch_codes % chunk->batch_codes)) {
            chunk->positions = (uint64_t)(uintptr_t)device_block(&image->memory, 4ull * batches, 0,
                                                                 EMULATOR_WRITE, "positions");
            image->regenerates = 1;
        }
        if (batches > image->most_batches) image->most_batches = batches;
        if (row_blocks > image->most_row_blocks) image->most_row_blocks = row_blocks;
    }
    for (uint32_t i = 0; i < column->piece_count; i++)
        emulator_memory(column->pieces[i].at, column->pieces[i].bytes, EMULATOR_READ,
                        column->pieces[i].name);
    image->out_bytes += column->expected_bytes;
    image->slots += column->rows + 1;
}

/* Whether an assembled kernel can decode a column. Columns that are small have no use for those with a hot part: test_group_kernels.c
 * has dictionaries for them. */
static bool suits(const emulated_variant *variant, const device_column *column) {
    for (uint32_t i = 0; i < column->dict_count; i++) {
        const fp_gpu_dict *dict = &column->dicts[i];
        if (dict->code_bits != variant->code_bits || dict->max_length > variant->longest ||
            variant->home == FP_GPU_HOT)
            return false;
    }
    return column->dict_count > 0;
}

/* The group of a dictionary: its image. */
static fp_gpu_group make_group(launch_image *image, const emulated_variant *variant,
                               const fp_gpu_dict *dict) {
    uint8_t *lengths = (uint8_t *)malloc(dict->slots);
    const uint8_t *nibbles = (const uint8_t *)(uintptr_t)dict->nibbles;
    for (uint32_t k = 0; k < dict->slots; k++)
        lengths[k] = (uint8_t)((nibbles[k / 2] >> k % 2 * 4 & 15) + 1);
    fp_gpu_image near_shape = fp_gpu_image_shape(variant->home, dict->code_bits, variant->longest,
                                                 lengths, dict->slots, 0);
    uint8_t *bytes =
        device_block(&image->memory, near_shape.bytes, 0, EMULATOR_READ, "dictionary image");
    fp_gpu_image_write(&near_shape, (const uint8_t *)(uintptr_t)dict->rows16, 16, lengths,
                       dict->slots, bytes);
    free(lengths);
    fp_gpu_group group = {};
    group.image = (uint64_t)(uintptr_t)bytes;
    group.image_bytes = near_shape.bytes;
    group.cold = variant->longest == 16 ? dict->rows16 : dict->low8;
    group.slots = near_shape.slots;
    group.near = near_shape.near;
    group.split = near_shape.split;
    group.staging = FP_GPU_STAGING(32 * variant->codes_per_lane * variant->longest);
    return group;
}

/* All chunks in one launch, dictionary by dictionary: chunks of one follow each other, wherever they are in the
 * output. */
static const char *run_assembled(launch_image *image, const emulated_variant *variant,
                                 const fp_gpu_dict *dicts, uint32_t dict_count) {
    static emulated_parameters p;
    fp_gpu_span_launch *launch = &p.spans;
    uint32_t batch = 32 * variant->codes_per_lane, most_image = 0, staging = 0;
    device *d = &image->memory;
    fp_gpu_group *groups = (fp_gpu_group *)(void *)device_block(d, dict_count * sizeof *groups, 0,
                                                                EMULATOR_READ, "groups");
    memset(launch, 0, sizeof *launch);
    for (uint32_t g = dict_count; g-- > 0;) {
        groups[g] = make_group(image, variant, &dicts[g]);
        if (groups[g].image_bytes > most_image) most_image = groups[g].image_bytes;
        staging = groups[g].staging;
        uint32_t first = launch->span_count;
        for (uint32_t i = 0; i < image->chunk_count; i++) {
            const fp_gpu_chunk *chunk = &image->chunks[i];
            if (!chunk->code_count || chunk->dict != g) continue;
            if (launch->span_count == FP_GPU_SPANS) abort();
            fp_gpu_span *span = &launch->spans[launch->span_count++];
            *span = fp_gpu_span_make(chunk, image->parameters.launch.out, variant->codes_per_lane);
            span->first_batch = launch->batches;
            span->group = g;
            launch->batches += (uint32_t)((chunk->code_count + batch - 1) / batch);
        }
        for (uint32_t s = first; s < launch->span_count; s++)
            launch->spans[s].group_end = launch->batches;
    }
    launch->spans[launch->span_count].first_batch = launch->batches;
    launch->blocks = 1 + draw(5);
    launch->teams = 1 + draw(launch->blocks);
    launch->status = image->parameters.launch.status;
    launch->groups = (uint64_t)(uintptr_t)groups;
    uint32_t warp_bytes = FP_GPU_CODE_BUFFER(variant->codes_per_lane, variant->code_bits) + staging;
    return emulator_run(variant->kernel, &p, variant->threads, 6, 1,
                        FP_GPU_BLOCK_SHARED(most_image, variant->threads / 32, warp_bytes));
}

static const char *run_launch(launch_image *image, const emulated_variant *variant,
                              const fp_gpu_dict *dicts, uint32_t dict_count, uint32_t offset_bits) {
    uint32_t warps = variant->threads / 32, helper_warps = EMULATED_HELPER_THREADS / 32;
    emulated_parameters *p = &image->parameters;
    const char *error = NULL;
    p->second = variant->codes_per_lane;
    if (image->regenerates) {
        error = emulator_run(emulated_measure_batches, p, EMULATED_HELPER_THREADS,
                             (image->most_batches + helper_warps - 1) / helper_warps,
                             image->chunk_count, 0);
        if (!error)
            error = emulator_run(emulated_scan_batches, p, EMULATED_HELPER_THREADS, 1,
                                 image->chunk_count, 0);
    }
    if (!error && offset_bits)
        error = emulator_run(emulated_row_offsets, p, EMULATED_HELPER_THREADS,
                             (image->most_row_blocks + helper_warps - 1) / helper_warps,
                             image->chunk_count, 0);
    uint32_t blocks = (image->most_batches + warps - 1) / warps, dynamic = 0;
    if (variant->shared_dict) {
        p->second = image->most_slots;
        dynamic = FP_SHARED_DICT_BYTES(image->most_slots, variant->longest);
        blocks = (blocks + 3) / 4;
    }
    if (!error && variant->code_bits) return run_assembled(image, variant, dicts, dict_count);
    if (!error && blocks)
        error =
            emulator_run(variant->kernel, p, variant->threads, blocks, image->chunk_count, dynamic);
    return error;
}

/* Decodes columns in one launch and compares bytes and row offsets with the CPU's. */
static void check_launch(const device_column *columns, uint32_t count,
                         const emulated_variant *variant) {
    launch_image image = {};
    fp_gpu_dict *dicts;
    uint32_t chunks = 0, dict_count = 0, offset_bits = draw(2) ? 32 : 64, regenerate = draw(2);
    emulator_reset(check_random(&random_state));
    for (uint32_t i = 0; i < count; i++) {
        chunks += columns[i].chunk_count;
        dict_count += columns[i].dict_count;
    }
    image.chunks = (fp_gpu_chunk *)(void *)device_block(
        &image.memory, chunks * sizeof(fp_gpu_chunk), 0, EMULATOR_READ, "chunk table");
    dicts = (fp_gpu_dict *)(void *)device_block(&image.memory, dict_count * sizeof(fp_gpu_dict), 0,
                                                EMULATOR_READ, "dictionary table");
    dict_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        add_column(&image, &columns[i], 32 * variant->codes_per_lane, (int)regenerate, dict_count);
        for (uint32_t k = 0; k < columns[i].dict_count; k++) {
            dicts[dict_count++] = columns[i].dicts[k];
            if (columns[i].dicts[k].slots > image.most_slots)
                image.most_slots = columns[i].dicts[k].slots;
        }
    }
    image.out = device_block(&image.memory, image.out_bytes, 0, EMULATOR_WRITE_ONCE, "output");
    image.offsets = device_block(&image.memory, image.slots * offset_bits / 8, 0,
                                 EMULATOR_WRITE_ONCE, "row offsets");
    image.status = (uint32_t *)(void *)device_block(&image.memory, 4, 0, EMULATOR_WRITE, "status");
    *image.status = 0;
    fp_gpu_launch *launch = &image.parameters.launch;
    launch->chunks = (uint64_t)(uintptr_t)image.chunks;
    launch->dicts = (uint64_t)(uintptr_t)dicts;
    launch->out = (uint64_t)(uintptr_t)image.out;
    launch->out_bytes = image.out_bytes;
    launch->status = (uint64_t)(uintptr_t)image.status;
    launch->row_offsets = (uint64_t)(uintptr_t)image.offsets;
    launch->offset_bits = offset_bits;

    launch->has_work = image.chunk_count <= FP_GPU_WORK_CHUNKS && draw(2);
    for (uint32_t i = 0; i < image.chunk_count && launch->has_work; i++)
        launch->work[i] =
            fp_gpu_work_make(&image.chunks[i], &dicts[image.chunks[i].dict], launch->out,
                             variant->codes_per_lane, variant->low_bytes);
    const char *error = run_launch(&image, variant, dicts, dict_count, offset_bits);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s: %s\n", variant->name, error);
    CHECK_EQ(*image.status, 0);
    uint64_t byte = 0, slot = 0, wrong_offsets = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < columns[i].chunk_count; k++) {
            const fp_gpu_chunk *chunk = &columns[i].chunks[k];
            if (chunk->code_count) /* stored chunks are copied by the host */
                CHECK(!memcmp(image.out + byte + chunk->out_offset,
                              columns[i].expected + chunk->out_offset, chunk->decoded_bytes));
        }
        for (uint64_t r = 0; r <= columns[i].rows; r++, slot++) {
            uint64_t value = 0;
            memcpy(&value, image.offsets + slot * offset_bits / 8, offset_bits / 8);
            wrong_offsets += value != columns[i].expected_offsets[r];
        }
        byte += columns[i].expected_bytes;
    }
    CHECK_EQ(wrong_offsets, 0);
    device_free(&image.memory);
}

/* ---------------------------------------------------------------- main */

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 4711;
    printf("seed %llu\n", (unsigned long long)random_state);
    const emulated_variant *carried = emulated_carried(), *shared = emulated_grid_shared();
    uint32_t carried_count = 0, shared_count = 0, turn = 0, coded = 0, assembled = 0;
    while (carried[carried_count].name) carried_count++;
    while (shared[shared_count].name) shared_count++;
    const shape_kind kinds[] = {SHAPE_LOG_LINES,   SHAPE_UTF8,      SHAPE_TINY_ROWS,
                                SHAPE_FOUR_VALUES, SHAPE_URLS,      SHAPE_RANDOM_BYTES,
                                SHAPE_WORDS,       SHAPE_EMPTY_ROWS};
    for (uint32_t codec = 0; codec < 4; codec++) {
        for (uint32_t which = 0; which < FP_TPCH_COLUMN_COUNT + 4; which++) {
            device_column columns[2];
            fastpair_compress_options options = draw_options(codec), other = draw_options(draw(4));
            if (which < FP_TPCH_COLUMN_COUNT)
                make_tpch(&columns[0], (fp_tpch_column)which, 30000, &options);
            else
                make_shape(&columns[0], kinds[draw(8)], 20000, &options);
            make_shape(&columns[1], kinds[(codec * 5 + which) % 8], 5000, &other);
            coded += columns[0].coded_chunks + columns[1].coded_chunks;
            uint32_t longest =
                columns[0].longest > columns[1].longest ? columns[0].longest : columns[1].longest;
            /* Kernels take turns; each that can decode both columns does so in one launch. */
            for (uint32_t tried = 0; tried < 2; turn++) {
                const emulated_variant *variant = &carried[turn % carried_count];
                if (draw(6) == 0) variant = &shared[draw(shared_count)];
                if (variant->longest < longest ||
                    (variant->shared_dict && columns[0].dicts[0].slots > 12000))
                    continue;
                check_launch(columns, 2, variant);
                tried++;
            }
            for (const emulated_variant *variant = emulated_assembled(); variant->name; variant++) {
                if (!suits(variant, &columns[0])) continue;
                check_launch(columns, suits(variant, &columns[1]) ? 2 : 1, variant);
                assembled++;
            }
            device_column_free(&columns[0]);
            device_column_free(&columns[1]);
        }
    }
    printf("%u coded chunks, %u launches of assembled kernels\n", coded, assembled);
    CHECK(coded > 50 && assembled > 15);
    return check_done();
}
