/* emulated_launch.cc - the emulator for C. In: a kernel's number, its grid, as much of its
 * parameters as is passed. Out: what it writes, or an error. */
#include "emulated_launch.h"

#include "emulated_table.h"
#include "emulator_asan.h"

#include <string.h>

namespace {

/* Kernels beside the decoders come first, then the paper's, then ours. */
struct helper {
    const char *symbol;
    emulator_kernel kernel;
    size_t bytes;
};
const helper helpers[] = {
    {"fp_measure_batches", emulated_measure_batches, sizeof(fp_gpu_positions_launch)},
    {"fp_scan_batches", emulated_scan_batches, sizeof(fp_gpu_positions_launch)},
    {"fp_row_offsets", emulated_row_offsets, sizeof(fp_gpu_offsets_launch)},
    {"fp_validity", emulated_validity, sizeof(fp_gpu_validity_launch)},
    {"fp_row_starts", emulated_row_starts, sizeof(fp_gpu_row_starts_launch)},
    {"fp_filled_rows", emulated_filled_rows, sizeof(fp_gpu_filled_rows_launch)},
    {"fp_verdict", emulated_verdict, sizeof(fp_gpu_verdict_launch)},
    {"fp_scan_rows", emulated_scan_rows, sizeof(fp_gpu_scan_launch)},
    {"fp_scan_codes", emulated_scan_codes, sizeof(fp_gpu_scan_launch)},
    {"fp_select_count_bits", emulated_select_count_bits, sizeof(fp_gpu_select_launch)},
    {"fp_select_list_bits", emulated_select_list_bits, sizeof(fp_gpu_select_launch)},
    {"fp_select_measure", emulated_select_measure, sizeof(fp_gpu_select_launch)},
    {"fp_select_scan", emulated_select_scan, sizeof(fp_gpu_select_scan)},
    {"fp_select_check", emulated_select_check, sizeof(fp_gpu_select_launch)},
    {"fp_select_pieces", emulated_select_pieces, sizeof(fp_gpu_select_launch)},
    {"fp_select_decode", emulated_select_decode, sizeof(fp_gpu_select_launch)},
    {"fp_sample_plan", emulated_sample_plan, sizeof(fp_gpu_sample_launch)},
    {"fp_sample_count", emulated_sample_count, sizeof(fp_gpu_sample_launch)},
    {"fp_sample_scan", emulated_sample_scan, sizeof(fp_gpu_sample_launch)},
    {"fp_sample_copy", emulated_sample_copy, sizeof(fp_gpu_sample_launch)},
#define FP_ENCODE(name, threads, blocks, dynamic)                                                  \
    {"fp_encode_" #name, emulated_encode_##name, sizeof(fp_gpu_encode_launch)},
#include "gpu/kernels/encode_kernels.def"
};
enum {
    HELPERS = sizeof helpers / sizeof *helpers,
    FIRST_SEARCH = 64, /* of codes of one bit */
    FIRST_STAGED = 100,
    FIRST_ASSEMBLED = 1000
};

int find(const emulated_variant *table, const char *name) {
    /* Here a name ends before the register budget, which means nothing to the emulator. */
    for (int i = 0; table[i].name; i++) {
        size_t length = strlen(table[i].name);
        if (!strncmp(name, table[i].name, length) && (name[length] == ' ' || !name[length]))
            return i;
    }
    return -1;
}

emulator_kernel kernel_at(int number) {
    if (number >= FIRST_ASSEMBLED) return emulated_assembled()[number - FIRST_ASSEMBLED].kernel;
    if (number >= FIRST_STAGED) return emulated_staged()[number - FIRST_STAGED].kernel;
    if (number >= FIRST_SEARCH) return emulated_search((uint32_t)(number - FIRST_SEARCH) + 1);
    return helpers[number].kernel;
}

/* The parameters of the launch that runs. The address sanitizer, if there is one, forbids
 * parameters that were not passed. */
alignas(16) uint8_t passed[FP_GPU_MOST_PARAMETERS + 4];

} // namespace

int emulated_find(const char *name) {
    for (int i = 0; i < HELPERS; i++)
        if (strcmp(helpers[i].symbol, name) == 0) return i;
    const char *const searches[] = {
#define FP_SEARCH(BITS) "fp_search_b" #BITS,
#include "gpu/kernels/search_variants.def"
    };
    for (int i = 0; i < 16; i++)
        if (strcmp(searches[i], name) == 0) return FIRST_SEARCH + i;
    int staged = find(emulated_staged(), name), assembled = find(emulated_assembled(), name);
    return staged >= 0 ? FIRST_STAGED + staged : assembled >= 0 ? FIRST_ASSEMBLED + assembled : -1;
}

size_t emulated_parameter_bytes(int kernel) {
    if (kernel >= FIRST_ASSEMBLED) return sizeof(fp_gpu_span_launch);
    if (kernel >= FIRST_STAGED) return sizeof(fp_staged_launch);
    return kernel >= FIRST_SEARCH ? sizeof(fp_gpu_search_launch) : helpers[kernel].bytes;
}

void emulated_forget(uint64_t seed) { emulator_reset(seed); }

void emulated_know(const void *memory, uint64_t bytes, const char *name) {
    emulator_memory(memory, bytes, EMULATOR_WRITE, name);
}

const char *emulated_launch(const emulated_grid *grid) {
    if (!grid->bytes || grid->bytes > emulated_parameter_bytes(grid->kernel))
        return "not as many parameters as the kernel takes";
    memset(passed, 0xdb, sizeof passed);
    memcpy(passed, grid->parameters, grid->bytes);
#ifdef EMULATOR_ASAN
    ASAN_POISON_MEMORY_REGION(passed + grid->bytes, sizeof passed - grid->bytes);
#endif
    const char *error = emulator_run(kernel_at(grid->kernel), passed, grid->threads, grid->blocks_x,
                                     grid->blocks_y, grid->shared);
#ifdef EMULATOR_ASAN
    ASAN_UNPOISON_MEMORY_REGION(passed, sizeof passed);
#endif
    return error;
}
