/* launch.c - queueing the assembled decoder. In: a decode of an uploaded job. Out: kernels on the
 * caller's stream, in as few launches as hold all chunks. The trick: chunks with different
 * dictionaries go into one launch, where a block uses as many warps as its dictionary has room for, so
 * that small columns do not leave the device half empty. */
#include "launch.h"

#include <string.h>

/* Batches that make it worthwhile for one more block to copy a dictionary. */
#define BATCHES_PER_BLOCK 8u
/* Chunks of a launch that are not too many for one team of blocks. */
#define SPANS_PER_TEAM 48u
/* A launch with more batches takes no more chunks. One chunk has at most 2^27, so that batch
 * numbers stay below 2^32, also those past the last that warps look at. */
#define MANY_BATCHES (1u << 31)

/* A launch that is being put together. */
typedef struct span_launch {
    uint32_t kernel;
    uint32_t dicts; /* that have spans in it */
    fp_block block; /* which do for any of them */
    /* 32 KiB, of which only what is filled in counts. */
    fp_gpu_span_launch launched;
} span_launch;

static uint32_t greater(uint32_t a, uint32_t b) { return a > b ? a : b; }

fp_batch_places fp_batch_places_of(const fastpair_gpu_job *job, const fp_job_chunk *chunk,
                                   const fp_kernel *kernel) {
    if (chunk->positions)
        return (fp_batch_places){.positions = job->device_memory + chunk->positions,
                                 .entries = fp_kernel_batches(kernel, chunk->codes),
                                 .step = 1};
    uint32_t group = chunk->group_batches;
    fp_batch_places places = {.positions = fp_job_section(job, chunk, FP_SECTION_SIDECAR),
                              .entries = chunk->codes / chunk->batch_codes +
                                         (chunk->codes % chunk->batch_codes != 0),
                              .shift = (uint8_t)__builtin_ctz(group),
                              .step = (uint8_t)(32 * kernel->codes_per_lane / chunk->batch_codes)};
    places.deltas_at = (uint32_t)(((uint64_t)places.entries + group - 1) >> places.shift);
    return places;
}

/* Teams of blocks, which kernels divide further by dictionary. More than one if chunks are many, as each
 * block then goes through fewer of them, but not with HOT, which loses more by it; with FAR every
 * block is a team. Measured: docs/lab. */
static uint32_t count_teams(fp_gpu_home home, uint32_t spans) {
    if (home == FP_GPU_FAR) return UINT32_MAX;
    return home == FP_GPU_HOT ? 1 : greater(1, spans / SPANS_PER_TEAM);
}

static int is_full(const fp_gpu_span_launch *launched) {
    return launched->span_count == FP_GPU_SPANS || launched->batches > MANY_BATCHES;
}

static uint64_t status_of(const fp_decode *decode, uint64_t listed) {
    const fp_job_chunk *chunk = &decode->job->chunks[decode->job->coded_chunks[listed]];
    return fp_output(&decode->outputs, chunk->column)->status;
}

static fp_block block_of(const fastpair_gpu_job *job, const fp_job_dict *dict) {
    return fp_plan_block(fp_job_kernel(dict), &job->gpu->info, dict->plan.resident.bytes,
                         dict->plan.staging);
}

/* Blocks for what is in the launch and one more dictionary. */
static fp_block block_with(const fastpair_gpu_job *job, const fp_job_dict *dict,
                           const span_launch *making) {
    return fp_plan_both(fp_job_kernel(dict), &job->gpu->info, making->block, block_of(job, dict));
}

/* Whether nearly as many blocks run at once as would with either alone. */
static int goes_with(const fastpair_gpu_job *job, const fp_job_dict *dict,
                     const span_launch *making) {
    uint32_t most = greater(making->block.resident, block_of(job, dict).resident);
    return !making->dicts || 4 * block_with(job, dict, making).resident >= 3 * most;
}

static fp_gpu_span make_span(const fp_decode *decode, const fp_job_chunk *chunk,
                             const fp_job_dict *dict) {
    fp_batch_places places = fp_batch_places_of(decode->job, chunk, fp_job_kernel(dict));
    return (fp_gpu_span){.codes = fp_job_section(decode->job, chunk, FP_SECTION_CODES),
                         .out = fp_decode_out(decode, chunk),
                         .positions = places.positions,
                         .deltas_at = places.deltas_at,
                         .entries = places.entries,
                         .code_count = chunk->codes,
                         .decoded_bytes = chunk->decoded_bytes,
                         .dict = (uint32_t)(dict->at.head / FP_GPU_DICT_UNIT),
                         .position_shift = places.shift,
                         .position_step = places.step};
}

/* Adds chunks of a dictionary to a launch that is not full, from entry `at` of the list on, as long
 * as there is room and they have the same status word. Returns the entry to go on with. */
static uint64_t add_chunks(const fp_decode *decode, const fp_job_dict *dict, uint64_t at,
                           uint64_t end, span_launch *making) {
    fp_gpu_span_launch *launched = &making->launched;
    uint32_t first = launched->span_count;
    launched->status = status_of(decode, at);
    for (; at < end && !is_full(launched) && status_of(decode, at) == launched->status; at++) {
        const fp_job_chunk *chunk = &decode->job->chunks[decode->job->coded_chunks[at]];
        fp_gpu_span *span = &launched->spans[launched->span_count++];
        *span = make_span(decode, chunk, dict);
        span->first_batch = launched->batches;
        launched->batches += fp_kernel_batches(fp_job_kernel(dict), chunk->codes);
    }
    for (uint32_t s = first; s < launched->span_count; s++)
        launched->spans[s].dict_end = launched->batches;
    launched->spans[launched->span_count] = (fp_gpu_span){.first_batch = launched->batches};
    making->dicts += 1;
    making->block = block_with(decode->job, dict, making);
    return at;
}

static void start_anew(span_launch *making) {
    making->dicts = 0;
    making->block = (fp_block){0};
    making->launched.span_count = making->launched.batches = 0;
}

/* Launches what has been put together, and starts anew. No more blocks than run at once, nor than
 * are worth copying a dictionary for. */
static fp_cu_result flush(const fp_decode *decode, span_launch *making) {
    const fastpair_gpu *gpu = decode->job->gpu;
    const fp_kernel *kernel = &fp_kernel_table()[making->kernel];
    fp_gpu_span_launch *launched = &making->launched;
    if (!making->dicts) return 0;
    const fp_block block = making->block;
    uint32_t blocks = (launched->batches + BATCHES_PER_BLOCK - 1) / BATCHES_PER_BLOCK;
    uint32_t teams = count_teams(kernel->home, launched->span_count);
    launched->blocks = blocks < block.resident ? blocks : block.resident;
    launched->teams = teams < launched->blocks ? teams : launched->blocks;
    fp_launch launch = {.function = gpu->kernels[making->kernel],
                        .blocks_x = launched->blocks,
                        .blocks_y = 1,
                        .threads = 32 * block.warps,
                        .shared = block.shared,
                        .parameters = launched,
                        .used = FP_GPU_SPAN_LAUNCH_BYTES(launched->span_count),
                        .size = sizeof *launched};
    fp_cu_result result = fp_gpu_launch(gpu, &launch, decode->stream);
    start_anew(making);
    return result;
}

/* All chunks of the decode whose dictionaries have the kernel of dictionary `of`, which is the
 * first one with that kernel. */
static fp_cu_result launch_kernel(const fp_decode *decode, uint64_t of) {
    const fastpair_gpu_job *job = decode->job;
    fp_cu_result result = 0;
    span_launch making;
    making.kernel = job->dicts[of].plan.kernel;
    making.launched.dicts = job->device_memory;
    start_anew(&making);
    for (uint64_t d = of; d < job->dict_count && !result; d++) {
        const fp_job_dict *dict = &job->dicts[d];
        if (dict->plan.kernel != making.kernel) continue;
        uint64_t at = fp_job_listed_from(job, dict, decode->first);
        uint64_t stop = fp_job_listed_from(job, dict, decode->end);
        while (at < stop && !result) {
            if (is_full(&making.launched) || !goes_with(job, dict, &making) ||
                (making.dicts && status_of(decode, at) != making.launched.status))
                result = flush(decode, &making);
            at = add_chunks(decode, dict, at, stop, &making);
        }
    }
    return result ? result : flush(decode, &making);
}

fp_cu_result fp_launch_assembled(const fp_decode *decode) {
    const fastpair_gpu_job *job = decode->job;
    fp_cu_result result = 0;
    for (uint64_t d = 0; d < job->dict_count && !result; d++) {
        uint64_t first = 0; /* the first dictionary with the same kernel */
        while (job->dicts[first].plan.kernel != job->dicts[d].plan.kernel) first++;
        if (first == d && !fp_kernel_is_staged(job->dicts[d].plan.kernel))
            result = launch_kernel(decode, d);
    }
    return result;
}
