/* layout.c - who lies where in device memory. In: a job's chunks and planned dictionaries. Out: the
 * place of every dictionary, computed position and section. The trick: small chunks that are
 * neighbours in the image stay neighbours on the device, so that one copy brings them all. Refuses
 * nothing. */
#include "layout.h"

/* Chunks with fewer bytes do not get a copy of their own. */
#define SMALL_CHUNK (256u << 10)

/* How far a chunk's bytes are after those of the chunk before it in the image, if one copy is to
 * bring both; else 0. */
static uint64_t distance_if_joined(const fp_job_source *before, const fp_job_source *source) {
    uint64_t block_bytes = before->host.chunk->block_bytes;
    uint64_t distance = block_bytes - before->first + source->first;
    int is_next = before->host.block + block_bytes == source->host.block;
    int are_small = before->bytes < SMALL_CHUNK && source->bytes < SMALL_CHUNK;
    int are_close = distance - before->bytes < FP_SMALL_GAP;
    return is_next && are_small && are_close ? distance : 0;
}

static uint64_t place_dictionaries(fastpair_gpu_job *job) {
    uint64_t at = 0;
    for (uint64_t d = 0; d < job->dict_count; d++) {
        fp_job_dict *dict = &job->dicts[d];
        dict->at = fp_device_dict_place(&dict->source->dict, &dict->plan, at);
        at = dict->at.end;
    }
    return at;
}

/* Positions of chunks whose sidecar is not to be used, or does not fit the kernel's batches. */
static uint64_t place_positions(fastpair_gpu_job *job, int regenerate, uint64_t at) {
    for (uint64_t i = 0; i < job->chunk_count; i++) {
        fp_job_chunk *chunk = &job->chunks[i];
        if (!chunk->codes) continue;
        const fp_kernel *kernel = fp_job_kernel(&job->dicts[chunk->dict]);
        if (!regenerate && 32 * kernel->codes_per_lane % chunk->batch_codes == 0) continue;
        chunk->positions = at;
        at = fp_device_align(at + 4ull * fp_kernel_batches(kernel, chunk->codes));
        job->regenerates = 1;
    }
    return at;
}

static uint64_t place_sections(fastpair_gpu_job *job, uint64_t at) {
    const fp_job_source *before = NULL;
    for (uint64_t i = 0; i < job->chunk_count; i++) {
        fp_job_source *source = &job->sources[i];
        fp_job_chunk *chunk = &job->chunks[i];
        const fp_section *sections = source->host.chunk->sections;
        if (!chunk->on_device) {
            uint64_t distance = before ? distance_if_joined(before, source) : 0;
            source->joined = distance != 0;
            source->to = distance ? before->to + distance : fp_device_align(at);
            at = source->to + source->bytes;
            for (int s = 0; s < FP_SECTIONS; s++)
                chunk->sections[s] = source->to + sections[s].offset - source->first;
        }
        before = chunk->on_device ? NULL : source;
    }
    return fp_device_align(at);
}

/* Validity sections that have a copy of their own. */
static uint64_t place_validity(fastpair_gpu_job *job, uint64_t at) {
    for (uint64_t i = 0; i < job->chunk_count; i++) {
        const fp_job_source *source = &job->sources[i];
        if (job->chunks[i].on_device || !source->validity_apart) continue;
        job->chunks[i].sections[FP_SECTION_VALIDITY] = at;
        at = fp_device_align(at + source->host.chunk->sections[FP_SECTION_VALIDITY].size);
    }
    return at;
}

void fp_layout_place(fastpair_gpu_job *job, int regenerate) {
    job->sizes.dictionaries = place_dictionaries(job);
    uint64_t sections = place_positions(job, regenerate, job->sizes.dictionaries);
    job->sizes.all = place_validity(job, place_sections(job, sections));
}

fastpair_status fp_job_range(const fastpair_gpu_job *job, const fastpair_gpu_range *range,
                             uint64_t *first, uint64_t *end, fastpair_error *error) {
    if (!job)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "job must not be NULL");
    *first = range ? range->first_chunk : 0;
    uint64_t count = range ? range->chunks : job->chunk_count;
    if (*first > job->chunk_count || count > job->chunk_count - *first)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the job has only %llu chunks", (unsigned long long)job->chunk_count);
    *end = *first + count;
    return FASTPAIR_OK;
}
