/* staged_launch.c - queueing the paper's decoder. In: a decode of an uploaded job. Out: kernels on
 * the caller's stream for the chunks whose dictionaries have one of the paper's kernels. Blocks of
 * the grid's row c work on chunk c of the launch. */
#include "launch.h"
#include "staged.h"

#include "kernels/staged/params.h"

/* A launch that is being put together. */
typedef struct work_launch {
    uint32_t kernel, count;
    /* The most blocks that a chunk needs. */
    uint32_t blocks;
    fp_staged_launch launched;
} work_launch;

static fp_staged_work make_work(const fp_decode *decode, const fp_job_chunk *chunk,
                                const fp_job_dict *dict) {
    const fp_staged_kernel *kernel = fp_staged_kernel_at(dict->plan.kernel);
    fp_batch_places places = fp_batch_places_of(decode->job, chunk, fp_job_kernel(dict));
    uint64_t dicts = decode->job->device_memory;
    return (fp_staged_work){
        .codes = fp_job_section(decode->job, chunk, FP_SECTION_CODES),
        .out = fp_decode_out(decode, chunk),
        .positions = places.positions,
        .deltas = places.deltas_at ? places.positions + 4ull * places.deltas_at : 0,
        .low = dicts + (kernel->gathered_bytes == 8 ? dict->at.low8 : dict->at.cells16),
        .high = dicts + dict->at.high8,
        .nibbles = dicts + dict->at.nibbles,
        .status = fp_output(&decode->outputs, chunk->column)->status,
        .code_count = chunk->codes,
        .decoded_bytes = chunk->decoded_bytes,
        .entries = places.entries,
        .slots = dict->slots,
        .code_bits = (uint8_t)dict->code_bits,
        .position_shift = places.shift,
        .position_step = places.step};
}

static fp_cu_result flush(const fp_decode *decode, work_launch *making) {
    const fastpair_gpu *gpu = decode->job->gpu;
    const fp_kernel *kernel = &fp_kernel_table()[making->kernel];
    uint32_t count = making->count, blocks = making->blocks;
    uint32_t shared = fp_staged_shared(making->kernel, making->launched.shared_slots);
    if (!count) return 0;
    /* Blocks that copy a dictionary first go through many batches each: no more than are
     * resident. */
    fp_block_needs needs = {kernel->threads, fp_register_limit(kernel->threads, kernel->blocks),
                            shared};
    uint32_t resident = gpu->info.multiprocessors * fp_resident_blocks(&gpu->info, &needs);
    if (kernel->dynamic_shared && blocks > resident) blocks = resident;
    fp_launch launch = {.function = gpu->kernels[making->kernel],
                        .blocks_x = blocks,
                        .blocks_y = count,
                        .threads = kernel->threads,
                        .shared = shared - kernel->static_shared,
                        .parameters = &making->launched,
                        .used = FP_STAGED_LAUNCH_BYTES(count),
                        .size = sizeof making->launched};
    fp_cu_result result = fp_gpu_launch(gpu, &launch, decode->stream);
    making->count = making->blocks = making->launched.shared_slots = 0;
    return result;
}

static void add_chunk(const fp_decode *decode, const fp_job_chunk *chunk, const fp_job_dict *dict,
                      work_launch *making) {
    const fp_kernel *kernel = fp_job_kernel(dict);
    uint32_t warps = kernel->threads / 32, batches = fp_kernel_batches(kernel, chunk->codes);
    uint32_t blocks = (batches + warps - 1) / warps;
    making->launched.work[making->count++] = make_work(decode, chunk, dict);
    if (blocks > making->blocks) making->blocks = blocks;
    if (dict->slots > making->launched.shared_slots) making->launched.shared_slots = dict->slots;
}

fp_cu_result fp_launch_staged(const fp_decode *decode) {
    const fastpair_gpu_job *job = decode->job;
    fp_cu_result result = 0;
    work_launch making;
    making.kernel = making.count = making.blocks = 0;
    making.launched.shared_slots = making.launched.reserved = 0;
    for (uint64_t d = 0; d < job->dict_count && !result; d++) {
        const fp_job_dict *dict = &job->dicts[d];
        if (!fp_kernel_is_staged(dict->plan.kernel)) continue;
        uint64_t at = fp_job_listed_from(job, dict, decode->first);
        uint64_t stop = fp_job_listed_from(job, dict, decode->end);
        for (; at < stop && !result; at++) {
            if (making.count == FP_STAGED_CHUNKS || making.kernel != dict->plan.kernel)
                result = flush(decode, &making);
            making.kernel = dict->plan.kernel;
            add_chunk(decode, &job->chunks[job->coded_chunks[at]], dict, &making);
        }
    }
    return result ? result : flush(decode, &making);
}
