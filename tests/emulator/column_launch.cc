/* column_launch.cc - real columns through emulated kernels. In: compressed columns, a kernel. Out:
 * what the kernels write. Grids, entries and sizes are worked out here, apart from the library's
 * own launches. */
#include "column_launch.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHUNKS = 256 };

/* Everything for one launch of each kernel. */
typedef struct launches {
    const emulated_variant *variant;
    const column_launch_options *options;
    device *memory;
    device_chunk chunks[MOST_CHUNKS];
    device_chunk *coded[MOST_CHUNKS];
    uint32_t coded_count;
    fp_gpu_offsets offsets[MOST_CHUNKS];
    fp_gpu_validity validity[MOST_CHUNKS];
    uint32_t chunk_count, offset_blocks, validity_blocks;
} launches;

bool column_suits(const emulated_variant *variant, const device_column *column) {
    for (uint32_t i = 0; i < column->dict_count; i++) {
        const device_dict *dict = &column->dicts[i];
        if (dict->longest_is > variant->longest || (variant->shared_dict && dict->slots > 12000))
            return false;
        if (!variant->code_bits) continue;
        bool suits = variant->longest <= 16   ? dict->in_classes
                     : variant->longest == 32 ? dict->in_long_classes
                                              : dict->ascends || variant->home == FP_GPU_FAR;
        if (dict->code_bits != variant->code_bits || !suits ||
            (variant->home == FP_GPU_HOT && !dict->hot))
            return false;
    }
    return column->dict_count > 0;
}

static void know(const device_section *section, const char *name) {
    if (section->bytes) emulator_memory(section->at, section->bytes, EMULATOR_READ, name);
}

static column_output lay_out_output(const device_column *column,
                                    const column_launch_options *options, uint64_t *random,
                                    device *d) {
    column_output output;
    uint64_t words = (column->rows + 31) / 32;
    output.bytes = device_block(d, column->bytes, 16 * (uint32_t)(check_random(random) % 16),
                                options->access, "output");
    output.offsets = device_block(d, (column->rows + 1) * options->offset_bits / 8,
                                  options->offset_bits / 8, options->access, "row offsets");
    output.validity = device_block(d, 4 * words, 4, options->access, "validity");
    output.status = (uint32_t *)(void *)device_block(d, 4, 4, EMULATOR_WRITE, "status");
    *output.status = 0;
    return output;
}

/* The dictionary is that of an earlier chunk of the column, or laid out now. (Seven parameters: what
 * is launched, how, and where to.) */
static void add_coded(launches *l, const device_column *column, uint32_t number,
                      const column_output *output) {
    const emulated_variant *variant = l->variant;
    const device_column_chunk *chunk = &column->chunks[number];
    const device_dict *dict = &column->dicts[chunk->dict];
    device_codes codes = {chunk->codes.at,      chunk->code_count,
                          dict->code_bits,      output->bytes + chunk->first_byte,
                          chunk->decoded_bytes, output->status};
    const device_sidecar sidecar = {chunk->sidecar.at, chunk->batch_codes, chunk->group_batches};
    device_chunk *made = &l->chunks[l->coded_count];
    *made = device_chunk_make(&codes, variant);
    if (l->options->regenerate || 32 * variant->codes_per_lane % chunk->batch_codes)
        device_use_positions(made, l->memory);
    else
        device_use_sidecar(made, &sidecar, variant);
    l->coded[l->coded_count++] = made;
    for (uint32_t before = l->coded_count - 1, k = number; k-- > 0;) {
        if (!column->chunks[k].code_count) continue;
        before--;
        if (column->chunks[k].dict != chunk->dict) continue;
        device_share_dict(made, l->coded[before]);
        return;
    }
    const device_tokens tokens = {dict->code_bits, dict->slots, dict->hot, dict->cells,
                                  dict->lengths};
    device_lay_out_dict(&tokens, variant, 32 * variant->codes_per_lane * variant->longest,
                        l->memory, made);
}

static void add_rows(launches *l, const device_column *column, uint32_t number,
                     const column_output *output) {
    uint32_t offset_bits = l->options->offset_bits;
    const device_column_chunk *chunk = &column->chunks[number];
    uint32_t closes = number + 1 == column->chunk_count;
    fp_gpu_offsets *offsets = &l->offsets[l->chunk_count];
    *offsets = fp_gpu_offsets{};
    offsets->lengths = device_address(chunk->lengths.at);
    offsets->lengths_bytes = chunk->lengths.bytes;
    offsets->out = device_address(output->offsets) + chunk->first_row * offset_bits / 8;
    offsets->first_byte = chunk->first_byte;
    offsets->status = device_address(output->status);
    offsets->rows = chunk->rows;
    offsets->decoded_bytes = chunk->decoded_bytes;
    offsets->offset_bits = offset_bits;
    offsets->closes_column = closes;
    l->validity[l->chunk_count++] =
        fp_gpu_validity{device_address(chunk->validity.at), device_address(output->validity),
                        chunk->first_row, chunk->rows, closes};
    uint32_t rows = FP_GPU_HELPER_THREADS / 32 * FP_GPU_LENGTH_BLOCKS * 256; /* per block */
    uint32_t blocks = (chunk->rows + rows - 1) / rows;
    uint64_t words = (chunk->first_row % 32 + chunk->rows + 31) / 32;
    if (blocks > l->offset_blocks) l->offset_blocks = blocks;
    if (words > (uint64_t)l->validity_blocks * FP_GPU_HELPER_THREADS)
        l->validity_blocks =
            (uint32_t)((words + FP_GPU_HELPER_THREADS - 1) / FP_GPU_HELPER_THREADS);
}

/* Chunks with one dictionary are to follow each other; columns and dictionaries in any order. */
static void sort_by_dict(launches *l) {
    for (uint32_t i = 0; i < l->coded_count; i++) {
        uint32_t next = i + 1;
        for (uint32_t k = i + 1; k < l->coded_count; k++) {
            if (l->coded[k]->head != l->coded[i]->head) continue;
            device_chunk *moved = l->coded[k];
            for (uint32_t m = k; m > next; m--) l->coded[m] = l->coded[m - 1];
            l->coded[next++] = moved;
        }
        i = next - 1;
    }
}

static const char *run(launches *l, uint64_t *random) {
    device_grid grid = {};
    grid.blocks = 1 + (uint32_t)(check_random(random) % 5);
    grid.teams = 1 + (uint32_t)(check_random(random) % grid.blocks);
    grid.spare_blocks = (uint32_t)(check_random(random) % 2);
    if (l->variant->code_bits) sort_by_dict(l);
    const char *error = NULL;
    if (l->chunk_count)
        error = emulator_run(emulated_row_offsets, l->offsets, FP_GPU_HELPER_THREADS,
                             l->offset_blocks + grid.spare_blocks, l->chunk_count, 0);
    if (!error && l->chunk_count)
        error = emulator_run(emulated_validity, l->validity, FP_GPU_HELPER_THREADS,
                             l->validity_blocks + grid.spare_blocks, l->chunk_count, 0);
    if (!error && l->coded_count) error = device_run(l->variant, l->coded, l->coded_count, &grid);
    return error;
}

const char *column_launch(const device_column *const *columns, uint32_t count,
                          const emulated_variant *variant, const column_launch_options *options,
                          column_output *outputs, device *memory) {
    uint64_t random = options->seed;
    launches *l = (launches *)calloc(1, sizeof *l);
    if (!l) abort();
    l->variant = variant;
    l->options = options;
    l->memory = memory;
    emulator_reset(options->seed);
    for (uint32_t c = 0; c < count; c++) {
        outputs[c] = lay_out_output(columns[c], options, &random, memory);
        if (options->one_status) outputs[c].status = outputs[0].status;
        if (l->chunk_count + columns[c]->chunk_count > MOST_CHUNKS) abort();
        for (uint32_t i = 0; i < columns[c]->chunk_count; i++) {
            const device_column_chunk *chunk = &columns[c]->chunks[i];
            know(&chunk->lengths, "row lengths");
            know(&chunk->validity, "a validity section");
            if (chunk->code_count) {
                know(&chunk->codes, "codes");
                know(&chunk->sidecar, "sidecar");
                add_coded(l, columns[c], i, &outputs[c]);
            }
            add_rows(l, columns[c], i, &outputs[c]);
        }
    }
    const char *error = run(l, &random);
    free(l);
    return error;
}

const char *column_compare(const device_column *column, const column_output *output,
                           uint32_t offset_bits) {
    for (uint32_t i = 0; i < column->chunk_count; i++) {
        const device_column_chunk *chunk = &column->chunks[i];
        if (chunk->code_count && memcmp(output->bytes + chunk->first_byte,
                                        column->expected + chunk->first_byte, chunk->decoded_bytes))
            return "bytes";
    }
    for (uint64_t row = 0; row <= column->rows && column->chunk_count; row++) {
        uint64_t value = 0;
        memcpy(&value, output->offsets + row * offset_bits / 8, offset_bits / 8);
        if (value != column->expected_offsets[row]) return "row offsets";
    }
    if (memcmp(output->validity, column->expected_validity, (column->rows + 31) / 32 * 4) != 0)
        return "validity";
    return NULL;
}
