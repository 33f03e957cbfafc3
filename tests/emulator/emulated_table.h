/* emulated_table.h - the kernels of the library and of the benchmark's grid, as the emulator
 * runs them. */
#ifndef FP_TESTS_EMULATED_TABLE_H
#define FP_TESTS_EMULATED_TABLE_H

#include "emulator.h"
#include "gpu/kernels/encode_params.h"
#include "gpu/kernels/resident.h"
#include "gpu/kernels/sample_params.h"
#include "gpu/kernels/scan_params.h"
#include "gpu/kernels/staged/params.h"

/* A decode kernel. Kernels that differ only in B are the same here. */
typedef struct emulated_variant {
    /* As in the library's table, without B, and for assembled kernels without T. */
    const char *name;
    /* K, W, L and T of the two tables of variants. */
    uint32_t codes_per_lane, gathered_bytes, longest, threads;
    /* 1: the paper's decoder with its dictionary in dynamic shared memory. */
    int shared_dict;
    /* Takes an fp_staged_launch, or an fp_gpu_span_launch if code_bits is not 0. */
    emulator_kernel kernel;
    /* Assembled kernels only: the width of the codes, and where tokens are. */
    uint32_t code_bits;
    fp_gpu_home home;
} emulated_variant;

/* Parts of the tables, each ended by an entry without a name. Each is in a file of its own, as it
 * takes long to compile. */
const emulated_variant *emulated_staged(void);    /* the paper's, as the library carries them */
const emulated_variant *emulated_assembled(void); /* our decoder's */
const emulated_variant *emulated_grid_split_low(void);  /* the grid: W 8, K 1..5 */
const emulated_variant *emulated_grid_split_high(void); /* W 8, K 6..8 */
const emulated_variant *emulated_grid_whole(void);      /* W 16, and tokens of at most 8 bytes */
const emulated_variant *emulated_grid_shared(void);     /* dictionary in shared memory */

/* The kernels beside the decoders, for blocks of FP_GPU_HELPER_THREADS. Each takes its struct of
 * params.h. */
void emulated_measure_batches(const void *launch);
void emulated_scan_batches(const void *launch);
void emulated_row_offsets(const void *launch);
void emulated_validity(const void *launch);
void emulated_row_starts(const void *launch);
void emulated_filled_rows(const void *launch);
void emulated_verdict(const void *launch);
void emulated_scan_rows(const void *launch);
void emulated_scan_codes(const void *launch);
void emulated_select_count_bits(const void *launch);
void emulated_select_list_bits(const void *launch);
void emulated_select_measure(const void *launch);
void emulated_select_scan(const void *launch);
void emulated_select_check(const void *launch);
void emulated_select_pieces(const void *launch);
void emulated_select_decode(const void *launch);

/* The encoder's kernels, each of which takes an fp_gpu_encode_launch. */
#define FP_ENCODE(name, threads, blocks, dynamic) void emulated_encode_##name(const void *launch);
#include "gpu/kernels/encode_kernels.def"

/* The kernels that draw a sample, each of which takes an fp_gpu_sample_launch. */
void emulated_sample_plan(const void *launch);
void emulated_sample_count(const void *launch);
void emulated_sample_scan(const void *launch);
void emulated_sample_copy(const void *launch);

/* The kernel that searches codes of so many bits. */
emulator_kernel emulated_search(uint32_t bits);

#endif
