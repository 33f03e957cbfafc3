/* device.h - an opened GPU: driver, context, kernels. */
#ifndef FP_GPU_DEVICE_H
#define FP_GPU_DEVICE_H

#include "driver.h"
#include "kernel_table.h"
#include "memory.h"

struct fastpair_gpu {
    fastpair_allocator allocator;
    fp_driver driver;
    fp_cu_device device;
    fp_cu_context context;
    unsigned long long
        context_id; /* a reset gives the context another one, and takes the kernels away */
    fp_cu_module module;
    fastpair_gpu_info info;
    fp_cu_function kernels[FP_KERNELS]; /* in the order of the kernel table */
    fp_cu_function row_offsets;
    fp_cu_function measure_batches; /* regenerating positions: lengths of each batch... */
    fp_cu_function scan_batches;    /* ...and their running sum in each chunk */
};

/* Makes the GPU's context current for the calls that follow; every push needs its pop. Fails if the device was reset since it was
 * opened: handles from before must not reach the driver, which need not notice. */
fastpair_status fp_gpu_push(const fastpair_gpu *gpu, fastpair_error *error);
void fp_gpu_pop(const fastpair_gpu *gpu);

/* The kernels as one fat binary, or NULL if the library was built without nvcc (kernel_image.c). */
const void *fp_kernel_image(void);

#endif
