/* fake_device.h - the made-up GPU of tests/gpu/fake_cuda.h in this program, for the library's own
 * GPU calls: its kernels run in the emulator, in memory of exactly the sizes that the library
 * states. Launches that the hardware would refuse are refused, and all are counted. One thread
 * only. */
#ifndef FP_TESTS_FAKE_DEVICE_H
#define FP_TESTS_FAKE_DEVICE_H

#include "calls.h"
#include "emulated_launch.h"
#include "fake_cuda.h"
#include "gpu/kernels/encode_params.h"
#include "gpu/kernels/sample_params.h"
#include "gpu/kernels/scan_params.h"
#include "gpu/kernels/staged/params.h"
#include "gpu/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernels beside the decoders. */
enum { FAKE_MEASURE, FAKE_SCAN, FAKE_OFFSETS, FAKE_VALIDITY, FAKE_HELPERS };

/* What launches had at most, and how many there were. */
typedef struct fake_counts {
    uint32_t launches[FP_KERNELS], helper_launches[FAKE_HELPERS];
    uint32_t most_spans, most_dicts;     /* of assembled kernels */
    uint32_t most_works;                 /* of the paper's kernels */
    uint32_t most_entries[FAKE_HELPERS]; /* of the kernels beside them */
    uint64_t batches, most_batches;      /* of assembled kernels: in all launches, and in one */
} fake_counts;

typedef struct fake_device {
    fastpair_gpu gpu; /* as the library opened it; tests may alter what it says of the device */
    uint8_t *memory;
    uint64_t memory_bytes;
    fastpair_gpu_output *outputs; /* one per column */
    void **blocks;                /* where they are: four per column */
    uint64_t columns;
    fake_counts counts;
} fake_device;

static fake_device fake;

/* ---------------------------------------------------------------- launches */

static inline void fake_most(uint32_t *most, uint32_t value) {
    if (value > *most) *most = value;
}

/* Whether an address lies in the output of a column with this status word. */
static int fake_reports_to(uint64_t out, uint64_t status) {
    for (uint64_t c = 0; c < fake.columns; c++) {
        const fastpair_gpu_output *to = &fake.outputs[c];
        if (to->status == status && out - to->bytes < to->bytes_capacity) return 1;
    }
    return 0;
}

/* A launch of an assembled kernel: what is wrong with it, or NULL. */
static const char *fake_inspect_spans(const fake_launch *l) {
    const fp_gpu_span_launch *launch = l->first;
    uint32_t count = launch->span_count, dicts = 0;
    if (count < 1 || count > FP_GPU_SPANS ||
        l->first_bytes != FP_GPU_SPAN_LAUNCH_BYTES(l->extra ? count : FP_GPU_SPANS))
        return "more chunks than the parameters hold";
    if (launch->blocks != l->grid_x || launch->teams < 1 || launch->teams > l->grid_x)
        return "blocks without a team, or a team without blocks";
    for (uint32_t s = 0; s < count; s++) {
        const fp_gpu_span *span = &launch->spans[s];
        int is_last = s + 1 == count || span[1].dict != span->dict;
        dicts += is_last;
        if (span->first_batch >= span[1].first_batch) return "a span that nothing is in";
        if (is_last ? span->dict_end != span[1].first_batch : span->dict_end != span[1].dict_end)
            return "a dictionary whose chunks end elsewhere";
        if (!fake_reports_to(span->out, launch->status)) return "another column's status word";
    }
    if (launch->spans[count].first_batch != launch->batches) return "batches that are in no span";
    fake_most(&fake.counts.most_spans, count);
    fake_most(&fake.counts.most_dicts, dicts);
    fake.counts.batches += launch->batches;
    if (launch->batches > fake.counts.most_batches) fake.counts.most_batches = launch->batches;
    return NULL;
}

/* A launch of a search's or a selection's kernel: 1 if it is one, and what is wrong with it in *error. */
static int fake_inspect_search(const fake_launch *l, const char **error) {
    static const struct {
        const char *symbol;
        size_t entry, before;
    } kernels[] = {
        {"fp_row_starts", sizeof(fp_gpu_row_starts), 0},
        {"fp_filled_rows", sizeof(fp_gpu_filled_rows), 0},
        {"fp_scan_rows", sizeof(fp_gpu_scan_chunk), offsetof(fp_gpu_scan_launch, entry)},
        {"fp_scan_codes", sizeof(fp_gpu_scan_chunk), offsetof(fp_gpu_scan_launch, entry)},
        {"fp_verdict", sizeof(fp_gpu_verdict), offsetof(fp_gpu_verdict_launch, entry)}};
    *error = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcmp(l->symbol, kernels[i].symbol) != 0) continue;
        if (l->extra && l->first_bytes != kernels[i].before + l->grid_y * kernels[i].entry)
            *error = "not one entry per row of blocks";
        if (l->threads != FP_GPU_HELPER_THREADS || (l->shared && !kernels[i].before))
            *error = "not the threads of a helper";
        return 1;
    }
    if (!strncmp(l->symbol, "fp_encode_", 10)) {
        if (l->first_bytes != sizeof(fp_gpu_encode_launch) || l->grid_y != 1 || l->threads % 32 ||
            l->shared > fake.gpu.info.shared_per_block)
            *error = "not an encoder's launch";
        return 1;
    }
    if (!strncmp(l->symbol, "fp_sample_", 10)) {
        if (l->first_bytes != sizeof(fp_gpu_sample_launch) || l->grid_y != 1 || l->threads % 32 ||
            l->shared)
            *error = "not a sample's launch";
        return 1;
    }
    if (!strncmp(l->symbol, "fp_select_", 10)) {
        size_t whole = strcmp(l->symbol, "fp_select_scan") ? sizeof(fp_gpu_select_launch)
                                                           : sizeof(fp_gpu_select_scan);
        if (l->threads != FP_GPU_HELPER_THREADS || l->shared || l->first_bytes != whole ||
            l->grid_y != 1)
            *error = "not a selection's launch";
        return 1;
    }
    if (strncmp(l->symbol, "fp_search_b", 11) != 0) return 0;
    const fp_gpu_search_launch *launch = l->first;
    if (l->threads > (uint32_t)FP_GPU_SEARCH_THREADS || l->threads % 32)
        *error = "more threads than the kernel was compiled for";
    if (l->shared > fake.gpu.info.shared_per_block) *error = "too much shared memory";
    if (l->extra && l->first_bytes != FP_GPU_SEARCH_LAUNCH_BYTES(launch->span_count))
        *error = "not one span per chunk";
    return 1;
}

static const char *fake_inspect_helper(const fake_launch *l) {
    static const struct {
        const char *symbol;
        size_t entry, whole;
    } helpers[FAKE_HELPERS] = {
        {"fp_measure_batches", sizeof(fp_gpu_positions), sizeof(fp_gpu_positions_launch)},
        {"fp_scan_batches", sizeof(fp_gpu_positions), sizeof(fp_gpu_positions_launch)},
        {"fp_row_offsets", sizeof(fp_gpu_offsets), sizeof(fp_gpu_offsets_launch)},
        {"fp_validity", sizeof(fp_gpu_validity), sizeof(fp_gpu_validity_launch)}};
    int h = 0;
    const char *error;
    if (fake_inspect_search(l, &error)) return error;
    while (h < FAKE_HELPERS && strcmp(l->symbol, helpers[h].symbol) != 0) h++;
    if (h == FAKE_HELPERS) return "a kernel that is not the library's";
    fake.counts.helper_launches[h]++;
    fake_most(&fake.counts.most_entries[h], l->grid_y);
    if (l->first_bytes != (l->extra ? l->grid_y * helpers[h].entry : helpers[h].whole))
        return "not one entry per row of blocks";
    return l->threads != FP_GPU_HELPER_THREADS || l->shared ? "not the threads of a helper" : NULL;
}

/* Counts a launch; what is wrong with it, or NULL. */
static const char *fake_inspect(const fake_launch *l) {
    uint32_t i = 0;
    while (i < FP_KERNELS && strcmp(l->symbol, fp_kernel_table()[i].symbol) != 0) i++;
    if (i == FP_KERNELS) return fake_inspect_helper(l);
    const fp_kernel *kernel = &fp_kernel_table()[i];
    fake.counts.launches[i]++;
    if (l->threads > kernel->threads || l->threads % 32)
        return "more threads than the kernel was compiled for";
    if (kernel->static_shared + l->shared > fake.gpu.info.shared_per_block)
        return "too much shared memory";
    if (!fp_kernel_is_staged(i)) return fake_inspect_spans(l);
    fake_most(&fake.counts.most_works, l->grid_y);
    return l->first_bytes !=
                   (l->extra ? FP_STAGED_LAUNCH_BYTES(l->grid_y) : sizeof(fp_staged_launch))
               ? "not one chunk per row of blocks"
               : NULL;
}

/* Opens the device once; each call gives a fresh copy of it, with nothing counted. */
static void fake_open(const fastpair_allocator *allocator) {
    static fastpair_gpu *opened;
    fastpair_error error = {0};
    if (!opened && fastpair_gpu_open(NULL, &opened, &error)) {
        fprintf(stderr, "fake_open: %s\n", error.message);
        abort();
    }
    fake = (fake_device){.gpu = *opened};
    fake.gpu.allocator = *allocator;
    fake_wish = (fake_wishes){.inspect = fake_inspect};
}

/* Whether the emulator has all kernels of a job. */
static inline int fake_has_kernels(const fastpair_gpu_job *job) {
    for (uint64_t d = 0; d < job->dict_count; d++)
        if (emulated_find(fp_job_kernel(&job->dicts[d])->name) < 0) return 0;
    return 1;
}

/* ---------------------------------------------------------------- memory */

/* A block of garbage. Kernels may touch only the `size` bytes after the first `skip`. */
static uint64_t fake_block(void **block, size_t skip, size_t size) {
    if (posix_memalign(block, 256, skip + size + !size)) abort();
    memset(*block, 0xee, skip + size);
    if (size) fake_know_memory((uint8_t *)*block + skip, size);
    return (uint64_t)(uintptr_t)*block + skip;
}

/* Memory for a job, and outputs of all kinds that it was opened for, each in a block of its own.
 * Offsets of every third column are 32-bit. With `one_status` all columns have the first one's
 * status word. */
static void fake_allocate(const fastpair_gpu_job *job, int one_status) {
    void *memory;
    fake.memory_bytes = job->sizes.all;
    if (fake_make(FAKE_MEMORY, fake.memory_bytes, &memory)) abort();
    fake.memory = memset(memory, 0xee, fake.memory_bytes);
    fake.columns = job->column_count;
    fake.outputs = calloc(fake.columns + 1, sizeof *fake.outputs);
    fake.blocks = calloc(4 * fake.columns + 1, sizeof *fake.blocks);
    if (!fake.outputs || !fake.blocks) abort();
    fake_forget_memory();
    for (uint64_t c = 0; c < fake.columns; c++) {
        fastpair_gpu_column_info info = {.struct_size = sizeof info};
        if (fastpair_gpu_job_get_column(job, c, &info, NULL)) abort();
        fastpair_gpu_output *to = &fake.outputs[c];
        void **blocks = fake.blocks + 4 * c;
        size_t skip = 16 * (c * 7 % 16);
        to->struct_size = sizeof *to;
        to->bytes = fake_block(&blocks[0], skip, info.decoded_bytes);
        to->bytes_capacity = info.decoded_bytes;
        to->offset_bits = c % 3 == 1 ? 32 : 64;
        if (job->outputs & FASTPAIR_GPU_OFFSETS)
            to->offsets = fake_block(&blocks[1], 8, (info.rows + 1) * (to->offset_bits / 8));
        if (job->outputs & FASTPAIR_GPU_VALIDITY)
            to->validity = fake_block(&blocks[2], 4, info.validity_bytes);
        to->status = one_status && c ? fake.outputs[0].status : fake_block(&blocks[3], 4, 4);
        *(uint32_t *)(uintptr_t)to->status = 0;
    }
}

static void fake_release(void) {
    if (fake_drop(FAKE_MEMORY, fake.memory)) abort();
    for (uint64_t i = 0; i < 4 * fake.columns; i++) free(fake.blocks[i]);
    free(fake.blocks), free(fake.outputs);
    fake_forget_memory();
}

static inline uint32_t fake_status(uint64_t column) {
    return *(const uint32_t *)(uintptr_t)fake.outputs[column].status;
}

static inline const uint8_t *fake_at(uint64_t address) {
    return (const uint8_t *)(uintptr_t)address;
}

/* Column c of the job against what the CPU decodes. NULL, or what differs. A column that does not
 * decode on the CPU differs if it must. */
static inline const char *fake_compare(const fastpair_column *column, uint64_t c, int must_decode) {
    const fastpair_gpu_output *gpu = &fake.outputs[c];
    uint64_t rows = column->totals.rows, size = column->totals.decoded_bytes, wrong = 0;
    uint64_t words = (rows + 31) / 32;
    uint8_t *bytes = malloc(size + 1), *validity = calloc(4 * words + 1, 1);
    uint64_t *offsets = malloc((rows + 1) * sizeof *offsets);
    if (!bytes || !validity || !offsets) abort();
    fastpair_destination to = to_memory(bytes, size, offsets, 64, validity);
    const char *differs = NULL;
    if (fastpair_column_decode(column, 0, rows, &to, NULL)) {
        differs = must_decode ? "the CPU does not decode it" : NULL;
    } else {
        if (memcmp(fake_at(gpu->bytes), bytes, size) != 0) differs = "bytes";
        for (uint64_t i = 0; gpu->offsets && i <= rows; i++) {
            uint64_t value = 0;
            memcpy(&value, fake_at(gpu->offsets) + i * (gpu->offset_bits / 8),
                   gpu->offset_bits / 8);
            wrong += value != offsets[i];
        }
        if (wrong) differs = "offsets";
        if (gpu->validity && memcmp(fake_at(gpu->validity), validity, 4 * words) != 0)
            differs = "validity";
    }
    free(bytes), free(validity), free(offsets);
    return differs;
}

#endif
