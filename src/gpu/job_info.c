/* job_info.c - describing a job and the kernels. In: a job. Out: sizes that its caller must
 * provide, and what the kernels need. */
#include "layout.h"
#include "staged.h"

#include "options.h"

#include <string.h>

/* Slots of the dictionary that kernels with a dictionary in shared memory are asked about. */
#define USUAL_SLOTS 4096u

fastpair_status fastpair_gpu_job_get_info(const fastpair_gpu_job *job, fastpair_gpu_job_info *info,
                                          fastpair_error *error) {
    if (!job || !info)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "job and info must not be NULL");
    fastpair_gpu_job_info full = {.struct_size = sizeof full,
                                  .columns = job->column_count,
                                  .chunks = job->chunk_count,
                                  .device_bytes = job->sizes.all,
                                  .dictionary_bytes = job->sizes.dictionaries,
                                  .regenerates_positions = job->regenerates};
    for (uint64_t c = 0; c < job->column_count; c++) {
        full.rows += job->columns[c].rows;
        full.decoded_bytes += job->columns[c].decoded_bytes;
    }
    if (job->dict_count)
        strncpy(full.kernel, fp_job_kernel(&job->dicts[0])->name, sizeof full.kernel - 1);
    return fp_info_copy("info", &full, sizeof full, info, error);
}

fastpair_status fastpair_gpu_job_get_column(const fastpair_gpu_job *job, uint64_t column,
                                            fastpair_gpu_column_info *info, fastpair_error *error) {
    if (!job || !info)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "job and info must not be NULL");
    if (column >= job->column_count)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "column %llu is not in a job of %llu", (unsigned long long)column,
                       (unsigned long long)job->column_count);
    const fp_job_column *from = &job->columns[column];
    fastpair_gpu_column_info full = {.struct_size = sizeof full,
                                     .first_chunk = from->first_chunk,
                                     .chunks = from->chunks,
                                     .rows = from->rows,
                                     .nulls = from->nulls,
                                     .decoded_bytes = from->decoded_bytes,
                                     .validity_bytes = (from->rows + 31) / 32 * 4};
    return fp_info_copy("info", &full, sizeof full, info, error);
}

const char *fastpair_gpu_kernel_name(uint32_t i) {
    return i < FP_KERNELS ? fp_kernel_table()[i].name : NULL;
}

fastpair_status fastpair_gpu_get_kernel(const fastpair_gpu *gpu, uint32_t i,
                                        fastpair_gpu_kernel_info *info, fastpair_error *error) {
    if (!gpu || !info || i >= FP_KERNELS)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "gpu and info must not be NULL, and there must be a kernel %u", i);
    const fp_kernel *kernel = &fp_kernel_table()[i];
    const fp_driver *driver = &gpu->driver;
    fp_cu_function function = gpu->kernels[i];
    int registers = 0, local = 0, declared = 0, blocks = 0;
    fastpair_status status = fp_gpu_push(gpu, error);
    if (status) return status;
    fp_cu_result result =
        driver->function_attribute(&registers, FP_CU_FUNCTION_REGISTERS, function);
    if (!result) result = driver->function_attribute(&local, FP_CU_FUNCTION_LOCAL, function);
    if (!result) result = driver->function_attribute(&declared, FP_CU_FUNCTION_SHARED, function);
    uint32_t shared = fp_kernel_is_staged(i) ? fp_staged_shared(i, USUAL_SLOTS) : 0;
    uint32_t dynamic = shared > (uint32_t)declared ? shared - (uint32_t)declared : 0;
    if (!result) result = driver->occupancy(&blocks, function, (int)kernel->threads, dynamic);
    if (result) status = fp_driver_fail(driver, result, "asking about a kernel", error);
    fp_gpu_pop(gpu);
    if (status) return status;
    fp_block_needs needs = {kernel->threads, (uint32_t)registers, (uint32_t)declared + dynamic};
    fastpair_gpu_kernel_info full = {.struct_size = sizeof full,
                                     .threads = kernel->threads,
                                     .registers = (uint32_t)registers,
                                     .register_limit =
                                         fp_register_limit(kernel->threads, kernel->blocks),
                                     .spill_bytes = (uint32_t)local,
                                     .static_shared = (uint32_t)declared,
                                     .shared_bytes = (uint32_t)declared + dynamic,
                                     .model_blocks = fp_resident_blocks(&gpu->info, &needs),
                                     .driver_blocks = (uint32_t)blocks};
    return fp_info_copy("info", &full, sizeof full, info, error);
}
