/* upload.c - bringing a job to the device. In: an open job, device memory of the caller's. Out:
 * copies queued on the caller's stream. After the last upload nothing of the columns is needed any
 * more. */
#include "layout.h"

static fp_cu_result copy_dictionaries(const fastpair_gpu_job *job, uint64_t device_memory,
                                      fp_cu_stream stream) {
    for (uint64_t d = 0; d < job->dict_count; d++)
        fp_device_dict_write_head(&job->dicts[d].plan, &job->dicts[d].at, device_memory,
                                  job->dictionaries);
    if (!job->sizes.dictionaries) return 0;
    return job->gpu->driver.copy_to_device(device_memory, job->dictionaries,
                                           (size_t)job->sizes.dictionaries, stream);
}

/* Neighbours that lie as in the image take one copy together. */
static fp_cu_result copy_sections(const fastpair_gpu_job *job, uint64_t first, uint64_t end,
                                  fp_cu_stream stream) {
    fp_cu_result result = 0;
    for (uint64_t i = first, next; i < end && !result; i = next) {
        const fp_job_source *source = &job->sources[i], *last = source;
        for (next = i + 1; next < end && job->sources[next].joined; next++)
            last = &job->sources[next];
        uint64_t bytes = last->to + last->bytes - source->to;
        if (!job->chunks[i].on_device && bytes)
            result = job->gpu->driver.copy_to_device(job->device_memory + source->to,
                                                     source->host.block + source->first,
                                                     (size_t)bytes, stream);
    }
    return result;
}

/* Validity sections after row lengths that nobody wants. */
static fp_cu_result copy_validity(const fastpair_gpu_job *job, uint64_t first, uint64_t end,
                                  fp_cu_stream stream) {
    fp_cu_result result = 0;
    for (uint64_t i = first; i < end && !result; i++) {
        const fp_shape_chunk *host = &job->sources[i].host;
        if (job->chunks[i].on_device || !job->sources[i].validity_apart) continue;
        result = job->gpu->driver.copy_to_device(
            fp_job_section(job, &job->chunks[i], FP_SECTION_VALIDITY),
            fp_chunk_section(host->chunk, host->block, FP_SECTION_VALIDITY),
            (size_t)host->chunk->sections[FP_SECTION_VALIDITY].size, stream);
    }
    return result;
}

static fastpair_status check_memory(const fastpair_gpu_job *job, uint64_t device_memory,
                                    uint64_t capacity, fastpair_error *error) {
    if (device_memory % FP_DEVICE_ALIGNMENT || (!device_memory && job->sizes.all))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "device_memory must be a device address at a multiple of %u",
                       FP_DEVICE_ALIGNMENT);
    if (job->device_memory && job->device_memory != device_memory)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the job is on the device already, at another address");
    if (capacity < job->sizes.all)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "the job needs %llu bytes of device memory, %llu were given",
                       (unsigned long long)job->sizes.all, (unsigned long long)capacity);
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_job_upload(fastpair_gpu_job *job, uint64_t device_memory,
                                        uint64_t capacity, const fastpair_gpu_range *range,
                                        void *stream, fastpair_error *error) {
    uint64_t first, end;
    fastpair_status status = fp_job_range(job, range, &first, &end, error);
    if (!status) status = check_memory(job, device_memory, capacity, error);
    if (!status) status = fp_gpu_push(job->gpu, error);
    if (status) return status;
    const fp_driver *driver = &job->gpu->driver;
    fp_cu_result result = job->device_memory ? 0 : copy_dictionaries(job, device_memory, stream);
    if (!result) {
        job->device_memory = device_memory;
        result = copy_sections(job, first, end, stream);
    }
    if (!result) result = copy_validity(job, first, end, stream);
    if (result) status = fp_driver_fail(driver, result, "copying a job to the device", error);
    fp_gpu_pop(job->gpu);
    return status;
}
