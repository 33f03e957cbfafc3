/* decode.c - decoding a job. In: an uploaded job, an output per column. Out: kernels and copies
 * queued on the caller's stream. Nothing is allocated, waited for or read back, so the call may be
 * captured in a graph. Refuses outputs that are too small, not aligned, or that the job was not
 * opened for. */
#include "launch.h"

#include "options.h"

_Static_assert(FP_GPU_BAD_CODE == FASTPAIR_GPU_BAD_CODE &&
                   FP_GPU_BAD_SIDECAR == FASTPAIR_GPU_BAD_SIDECAR &&
                   FP_GPU_BAD_LENGTHS == FASTPAIR_GPU_BAD_LENGTHS,
               "kernels report what the interface documents");

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

static fastpair_status check_output(const fastpair_gpu_job *job, uint64_t c,
                                    const fastpair_gpu_output *to, fastpair_error *error) {
    const fp_job_column *column = &job->columns[c];
    unsigned long long number = c;
    REFUSE((!to->bytes && column->decoded_bytes) || to->bytes % 16, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "column %llu: bytes must be a device address at a multiple of 16", number);
    REFUSE(to->bytes_capacity < column->decoded_bytes, FASTPAIR_ERROR_BUFFER_TOO_SMALL,
           "column %llu needs %llu bytes of output, %llu were given", number,
           (unsigned long long)column->decoded_bytes, (unsigned long long)to->bytes_capacity);
    REFUSE(to->status % 4 || to->validity % 4, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "column %llu: status and validity must be at multiples of 4", number);
    REFUSE(to->validity && !(job->outputs & FASTPAIR_GPU_VALIDITY), FASTPAIR_ERROR_INVALID_ARGUMENT,
           "column %llu: the job was not opened for validity; set FASTPAIR_GPU_VALIDITY in its "
           "options",
           number);
    if (!to->offsets) return FASTPAIR_OK;
    REFUSE(!(job->outputs & FASTPAIR_GPU_OFFSETS), FASTPAIR_ERROR_INVALID_ARGUMENT,
           "column %llu: the job was not opened for offsets; set FASTPAIR_GPU_OFFSETS in its "
           "options",
           number);
    REFUSE((to->offset_bits != 32 && to->offset_bits != 64) || to->offsets % (to->offset_bits / 8),
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "column %llu: offset_bits must be 32 or 64 and offsets aligned to it", number);
    REFUSE(to->offset_bits == 32 && column->decoded_bytes > INT32_MAX, FASTPAIR_ERROR_LIMIT,
           "column %llu decodes to more than INT32_MAX bytes; ask for 64-bit offsets", number);
    return FASTPAIR_OK;
}

static fastpair_status check_outputs(const fastpair_gpu_job *job,
                                     const fastpair_gpu_output *outputs, fp_outputs *checked,
                                     fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    if (!job->column_count) return status;
    REFUSE(!outputs, FASTPAIR_ERROR_INVALID_ARGUMENT, "outputs must not be NULL");
    *checked = (fp_outputs){(const uint8_t *)outputs, outputs->struct_size};
    REFUSE(checked->stride % _Alignof(fastpair_gpu_output), FASTPAIR_ERROR_INVALID_ARGUMENT,
           "output: struct_size is %zu, which is no multiple of %zu", checked->stride,
           _Alignof(fastpair_gpu_output));
    for (uint64_t c = 0; c < job->column_count && !status; c++) {
        const fastpair_gpu_output *to = fp_output(checked, c);
        status = fp_struct_check("output", to, sizeof *to, error);
        REFUSE(!status && to->struct_size != checked->stride, FASTPAIR_ERROR_INVALID_ARGUMENT,
               "outputs must all have the same struct_size");
        if (!status) status = check_output(job, c, to, error);
    }
    return status;
}

/* Stored chunks are copies. */
static fp_cu_result copy_stored(const fp_decode *decode) {
    const fastpair_gpu_job *job = decode->job;
    fp_cu_result result = 0;
    for (uint64_t i = decode->first; i < decode->end && !result; i++) {
        const fp_job_chunk *chunk = &job->chunks[i];
        if (!chunk->codes && chunk->decoded_bytes)
            result = job->gpu->driver.copy_on_device(fp_decode_out(decode, chunk),
                                                     fp_job_section(job, chunk, FP_SECTION_CODES),
                                                     chunk->decoded_bytes, decode->stream);
    }
    return result;
}

fastpair_status fastpair_gpu_job_decode(fastpair_gpu_job *job, const fastpair_gpu_output *outputs,
                                        const fastpair_gpu_range *range, void *stream,
                                        fastpair_error *error) {
    fp_decode decode = {.job = job, .stream = stream};
    fastpair_status status = fp_job_range(job, range, &decode.first, &decode.end, error);
    if (!status) status = check_outputs(job, outputs, &decode.outputs, error);
    if (status) return status;
    REFUSE(!job->device_memory && job->sizes.all, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the job has not been uploaded");
    if ((status = fp_gpu_push(job->gpu, error))) return status;
    fp_cu_result result = copy_stored(&decode);
    if (!result) result = fp_launch_positions(&decode);
    if (!result) result = fp_launch_offsets(&decode);
    if (!result) result = fp_launch_validity(&decode);
    if (!result) result = fp_launch_staged(&decode);
    if (!result) result = fp_launch_assembled(&decode);
    if (result) status = fp_driver_fail(&job->gpu->driver, result, "launching a decode", error);
    fp_gpu_pop(job->gpu);
    return status;
}
