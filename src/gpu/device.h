/* device.h - an opened GPU: driver, context, kernels. */
#ifndef FP_GPU_DEVICE_H
#define FP_GPU_DEVICE_H

#include "driver.h"
#include "kernel_table.h"
#include "memory.h"

/* Kernels of the encoder, FP_ENCODE_begin and so on. */
enum {
#define FP_ENCODE(name, threads, blocks, dynamic) FP_ENCODE_##name,
#include "kernels/encode_kernels.def"
    FP_ENCODE_KERNELS
};

struct fastpair_gpu {
    fastpair_allocator allocator;
    fp_driver driver;
    fp_cu_device device;
    int ordinal; /* the device's, as CUDA counts */
    fp_cu_context context;
    unsigned long long
        context_id; /* a reset gives the context another one, and takes the kernels away */
    fp_cu_module module;
    fastpair_gpu_info info;
    /* Decode kernels, in the order of the kernel table. */
    fp_cu_function kernels[FP_KERNELS];
    /* Regenerating positions: lengths of each batch, and their running sum in each chunk. */
    fp_cu_function measure_batches, scan_batches;
    fp_cu_function row_offsets, validity;
    /* Searches (kernels/search_params.h); those over codes by their width, 1..16. */
    fp_cu_function row_starts, filled_rows, verdict, scan_rows, scan_codes;
    fp_cu_function search[17];
    /* Selections (kernels/select_params.h). */
    fp_cu_function select_count_bits, select_list_bits, select_measure, select_scan;
    fp_cu_function select_check, select_pieces, select_decode;
    /* The encoder's, in the order of the enumeration above. */
    fp_cu_function encode[FP_ENCODE_KERNELS];
    /* Samples of rows (kernels/sample_params.h). */
    fp_cu_function sample_plan, sample_count, sample_scan, sample_copy;
};

/* Makes the GPU's context current for the calls that follow; every push needs its pop. Fails if the
 * device was reset since it was opened: handles from before must not reach the driver, which need
 * not notice. */
fastpair_status fp_gpu_push(const fastpair_gpu *gpu, fastpair_error *error);
void fp_gpu_pop(const fastpair_gpu *gpu);

/* A kernel with its grid and its parameters: one struct of `size` bytes, of which the first `used`
 * are filled in. */
typedef struct fp_launch {
    fp_cu_function function;
    uint32_t blocks_x, blocks_y, threads;
    /* Bytes of dynamic shared memory. */
    uint32_t shared;
    void *parameters;
    size_t used, size;
} fp_launch;

/* Queues a kernel. Passes what is filled in of the parameters, as passing takes time; all of them,
 * the rest cleared, if the driver insists. */
fp_cu_result fp_gpu_launch(const fastpair_gpu *gpu, const fp_launch *launch, fp_cu_stream stream);

/* The kernels as one fat binary, or NULL if the library was built without nvcc
 * (kernel_binary.c). */
const void *fp_kernel_binary(void);

#endif
