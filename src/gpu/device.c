/* device.c - finding a GPU and loading the kernels. In: a device number. Out: a fastpair_gpu. The
 * primary context is retained, which the CUDA runtime and everything built on it use, so that
 * device memory and streams of the caller's just work. Refuses GPUs older than compute capability
 * 8.0. */
#include "device.h"

#include "options.h"

#include <string.h>

fastpair_status fp_gpu_push(const fastpair_gpu *gpu, fastpair_error *error) {
    unsigned long long id = gpu->context_id;
    fp_cu_result result = gpu->driver.context_push(gpu->context);
    if (!result && (result = gpu->driver.context_id(gpu->context, &id))) fp_gpu_pop(gpu);
    if (result) return fp_driver_fail(&gpu->driver, result, "entering the device's context", error);
    if (id == gpu->context_id) return FASTPAIR_OK;
    fp_gpu_pop(gpu);
    return fp_fail(
        error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
        "GPU: the device was reset (cudaDeviceReset) after it was opened here, and the kernels are "
        "gone; close the jobs, close the GPU and open it again");
}

void fp_gpu_pop(const fastpair_gpu *gpu) {
    fp_cu_context ignored;
    gpu->driver.context_pop(&ignored);
}

fp_cu_result fp_gpu_launch(const fastpair_gpu *gpu, const fp_launch *launch, fp_cu_stream stream) {
    enum { PARAMETERS_END, PARAMETERS_AT, PARAMETERS_SIZE }; /* the driver's CU_LAUNCH_PARAM_... */
    void *parameters = launch->parameters;
    size_t used = launch->used;
    void *filled[] = {(void *)PARAMETERS_AT, parameters, (void *)PARAMETERS_SIZE, &used,
                      (void *)PARAMETERS_END};
    fp_cu_result result =
        gpu->driver.launch(launch->function, launch->blocks_x, launch->blocks_y, 1, launch->threads,
                           1, 1, launch->shared, stream, NULL, filled);
    if (result != FP_CU_INVALID_VALUE) return result;
    memset((uint8_t *)parameters + used, 0, launch->size - used);
    return gpu->driver.launch(launch->function, launch->blocks_x, launch->blocks_y, 1,
                              launch->threads, 1, 1, launch->shared, stream, &parameters, NULL);
}

static fastpair_status read_info(fastpair_gpu *gpu, fastpair_error *error) {
    const fp_driver *driver = &gpu->driver;
    fastpair_gpu_info *info = &gpu->info;
    int threads = 0;
    size_t memory = 0;
    const struct {
        int attribute;
        void *value;
    } attributes[] = {
        {FP_CU_COMPUTE_MAJOR, &info->compute_major},
        {FP_CU_COMPUTE_MINOR, &info->compute_minor},
        {FP_CU_MULTIPROCESSORS, &info->multiprocessors},
        {FP_CU_MAX_THREADS_PER_MULTIPROCESSOR, &threads},
        {FP_CU_MAX_REGISTERS_PER_MULTIPROCESSOR, &info->registers_per_multiprocessor},
        {FP_CU_MAX_SHARED_PER_MULTIPROCESSOR, &info->shared_per_multiprocessor},
        {FP_CU_MAX_SHARED_PER_BLOCK_OPTIN, &info->shared_per_block},
        {FP_CU_RESERVED_SHARED_PER_BLOCK, &info->shared_reserved_per_block},
    };
    info->struct_size = sizeof *info;
    fp_cu_result result = driver->device_name(info->name, sizeof info->name, gpu->device);
    if (!result) result = driver->driver_version(&info->driver_version);
    if (!result) result = driver->device_memory(&memory, gpu->device);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes && !result; i++)
        result =
            driver->device_attribute(attributes[i].value, attributes[i].attribute, gpu->device);
    if (result) return fp_driver_fail(driver, result, "reading the device's properties", error);
    info->memory_bytes = memory;
    info->warps_per_multiprocessor = (uint32_t)threads / 32;
    return FASTPAIR_OK;
}

/* The encoder's. Some ask for as much shared memory as their tables need. */
static fp_cu_result load_encoder(fastpair_gpu *gpu) {
    static const struct {
        const char *symbol;
        int dynamic;
    } kernels[] = {
#define FP_ENCODE(name, threads, blocks, dynamic) {"fp_encode_" #name, dynamic},
#include "kernels/encode_kernels.def"
    };
    const fp_driver *driver = &gpu->driver;
    fp_cu_result result = 0;
    for (uint32_t i = 0; i < FP_ENCODE_KERNELS && !result; i++) {
        fp_cu_function *function = &gpu->encode[i];
        int declared = 0;
        result = driver->module_function(function, gpu->module, kernels[i].symbol);
        if (result || !kernels[i].dynamic) continue;
        result = driver->function_attribute(&declared, FP_CU_FUNCTION_SHARED, *function);
        if (!result)
            result = driver->function_set(*function, FP_CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                          (int)gpu->info.shared_per_block - declared);
    }
    return result;
}

static fastpair_status load_kernels(fastpair_gpu *gpu, fastpair_error *error) {
    const fp_driver *driver = &gpu->driver;
    const struct {
        const char *symbol;
        fp_cu_function *function;
    } helpers[] = {{"fp_measure_batches", &gpu->measure_batches},
                   {"fp_scan_batches", &gpu->scan_batches},
                   {"fp_row_offsets", &gpu->row_offsets},
                   {"fp_validity", &gpu->validity},
                   {"fp_row_starts", &gpu->row_starts},
                   {"fp_filled_rows", &gpu->filled_rows},
                   {"fp_verdict", &gpu->verdict},
                   {"fp_scan_rows", &gpu->scan_rows},
                   {"fp_scan_codes", &gpu->scan_codes},
                   {"fp_select_count_bits", &gpu->select_count_bits},
                   {"fp_select_list_bits", &gpu->select_list_bits},
                   {"fp_select_measure", &gpu->select_measure},
                   {"fp_select_scan", &gpu->select_scan},
                   {"fp_select_check", &gpu->select_check},
                   {"fp_select_pieces", &gpu->select_pieces},
                   {"fp_select_decode", &gpu->select_decode},
                   {"fp_sample_plan", &gpu->sample_plan},
                   {"fp_sample_count", &gpu->sample_count},
                   {"fp_sample_scan", &gpu->sample_scan},
                   {"fp_sample_copy", &gpu->sample_copy}};
    static const char *const searches[] = {
#define FP_SEARCH(BITS) "fp_search_b" #BITS,
#include "kernels/search_variants.def"
    };
    fp_cu_result result = driver->module_load(&gpu->module, fp_kernel_binary());
    if (result) return fp_driver_fail(driver, result, "loading the kernels", error);
    for (uint32_t i = 0; i < FP_KERNELS && !result; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        result = driver->module_function(&gpu->kernels[i], gpu->module, kernel->symbol);
        if (!result && kernel->dynamic_shared)
            result =
                driver->function_set(gpu->kernels[i], FP_CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                     (int)(gpu->info.shared_per_block - kernel->static_shared));
    }
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers && !result; i++)
        result = driver->module_function(helpers[i].function, gpu->module, helpers[i].symbol);
    for (size_t i = 0; i < sizeof searches / sizeof *searches && !result; i++) {
        fp_cu_function *search = &gpu->search[i + 1];
        result = driver->module_function(search, gpu->module, searches[i]);
        if (!result)
            result = driver->function_set(*search, FP_CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                          (int)gpu->info.shared_per_block);
    }
    if (!result) result = load_encoder(gpu);
    return result ? fp_driver_fail(driver, result, "finding a kernel", error) : FASTPAIR_OK;
}

/* From an opened driver to loaded kernels. */
static fastpair_status start_device(fastpair_gpu *gpu, int ordinal, fastpair_error *error) {
    const fp_driver *driver = &gpu->driver;
    int count = 0;
    fp_cu_result result = driver->init(0);
    if (!result) result = driver->device_count(&count);
    if (result) return fp_driver_fail(driver, result, "starting the driver", error);
    if (ordinal < 0 || ordinal >= count)
        return fp_fail(
            error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
            "no GPU %d: the driver sees %d of them, numbered from 0; check nvidia-smi and "
            "CUDA_VISIBLE_DEVICES",
            ordinal, count);
    gpu->ordinal = ordinal;
    if ((result = driver->device_get(&gpu->device, ordinal)))
        return fp_driver_fail(driver, result, "opening the device", error);
    fastpair_status status = read_info(gpu, error);
    if (status) return status;
    if (gpu->info.compute_major < 8)
        return fp_fail(
            error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
            "GPU %d (%s) has compute capability %d.%d; the kernels need 8.0 or later: choose "
            "another GPU, or decode on the CPU",
            ordinal, gpu->info.name, gpu->info.compute_major, gpu->info.compute_minor);
    if ((result = driver->context_retain(&gpu->context, gpu->device)))
        return fp_driver_fail(driver, result, "retaining the device's primary context", error);
    if ((result = driver->context_id(gpu->context, &gpu->context_id)))
        return fp_driver_fail(driver, result, "identifying the device's primary context", error);
    if ((status = fp_gpu_push(gpu, error))) return status;
    status = load_kernels(gpu, error);
    fp_gpu_pop(gpu);
    return status;
}

fastpair_status fastpair_gpu_open(const fastpair_gpu_options *options, fastpair_gpu **result,
                                  fastpair_error *error) {
    if (!result)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "gpu must not be NULL");
    *result = NULL;
    fastpair_gpu_options given;
    fastpair_allocator allocator;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fp_allocator_resolve(&given.allocator, &allocator, error);
    if (status) return status;
    if (!fp_kernel_binary())
        return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                       "no GPU: this library was built without kernels; build it where nvcc is "
                       "installed, or decode on "
                       "the CPU");
    fastpair_gpu *gpu = fp_allocate_zero(&allocator, 1, sizeof *gpu);
    if (!gpu) return fp_fail_memory(error, sizeof *gpu);
    gpu->allocator = allocator;
    status = fp_driver_open(&gpu->driver, error);
    if (!status) status = start_device(gpu, given.device, error);
    if (status)
        fastpair_gpu_close(gpu);
    else
        *result = gpu;
    return status;
}

void fastpair_gpu_close(fastpair_gpu *gpu) {
    if (!gpu) return;
    fastpair_allocator allocator = gpu->allocator;
    if (gpu->context) {
        if (gpu->module && fp_gpu_push(gpu, NULL) == FASTPAIR_OK) {
            gpu->driver.module_unload(gpu->module);
            fp_gpu_pop(gpu);
        }
        gpu->driver.context_release(gpu->device);
    }
    fp_driver_close(&gpu->driver);
    fp_release(&allocator, gpu);
}

fastpair_status fastpair_gpu_get_info(const fastpair_gpu *gpu, fastpair_gpu_info *info,
                                      fastpair_error *error) {
    if (!gpu || !info)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "gpu and info must not be NULL");
    return fp_info_copy("info", &gpu->info, sizeof gpu->info, info, error);
}
