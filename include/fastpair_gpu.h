/* fastpair_gpu.h - decoding compressed columns on an NVIDIA GPU, the result left in device memory.
 *
 * No CUDA header is needed: device addresses are 64-bit integers (a CUdeviceptr, or a cudaMalloc
 * pointer cast to uint64_t) and streams are void pointers (CUstream or cudaStream_t; NULL is the
 * default stream). The driver is opened at run time, so that a program linked with this library
 * starts on machines without a GPU; fastpair_gpu_open then says why there is none.
 *
 * The flow, for one column or for many at once:
 *   fastpair_gpu_open        find the device, load the kernels into its primary context (the one
 *                            that the CUDA runtime, PyTorch and CuPy use)
 *   fastpair_gpu_job_open    host only: plan and lay out some open columns; all sizes are known
 *                            from here on
 *   fastpair_gpu_job_upload  copy to device memory of the caller's, asynchronously
 *   fastpair_gpu_job_decode  launch: no allocation, no synchronisation, no read-back; the call may
 *                            be captured in a CUDA graph
 *
 * The conventions of fastpair.h hold: statuses, errors, structs that start with their size.
 *
 * Contexts. Every call enters the primary context by itself and leaves the calling thread's current
 * context as it was. Device memory and streams must belong to the primary context, as those of the
 * CUDA runtime do. A stream of another context makes a decode fail; an address of another context
 * is not noticed.
 *
 * cudaDeviceReset takes kernels and device memory away from everyone in the process. Uploads and
 * decodes with a GPU opened before the reset are UNSUPPORTED from then on and do nothing. Its jobs
 * can still be closed, and the GPU closed and opened again.
 *
 * Device memory. Only fastpair_gpu_open takes any: some hundred MB for the context, if there was
 * none, and the kernels. A driver may load a kernel as late as its first launch
 * (CUDA_MODULE_LOADING=EAGER: when the GPU is opened), so that a first decode can fail for lack of
 * memory, too. Such a failure is OUT_OF_MEMORY and leaves everything as it was: the same call
 * succeeds once there is memory.
 */
#ifndef FASTPAIR_GPU_H
#define FASTPAIR_GPU_H

#include "fastpair.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- the device */

/* A GPU with the library's kernels loaded. Threads may share it. */
typedef struct fastpair_gpu fastpair_gpu;

typedef struct fastpair_gpu_options {
    /* sizeof(fastpair_gpu_options) */
    size_t struct_size;
    /* The device's ordinal, as CUDA counts; 0 is the first. */
    int device;
    /* For host memory; all zero: malloc and free. */
    fastpair_allocator allocator;
} fastpair_gpu_options;

/* Opens the driver (libcuda.so.1), retains the device's primary context and loads the kernels.
 * `options` NULL: the first device. *gpu is closed with fastpair_gpu_close.
 * UNSUPPORTED, with a message that says what to do: the library was built without kernels; there is
 * no driver, no device, a driver too old, or a GPU older than compute capability 8.0.
 * OUT_OF_MEMORY: the host's or the device's memory does not suffice. */
FASTPAIR_API fastpair_status fastpair_gpu_open(const fastpair_gpu_options *options,
                                               fastpair_gpu **gpu, fastpair_error *error);

/* Unloads the kernels and releases the context. All work that uses them must have finished, and
 * all jobs must be closed. NULL is allowed. */
FASTPAIR_API void fastpair_gpu_close(fastpair_gpu *gpu);

typedef struct fastpair_gpu_info {
    /* Set it to sizeof(fastpair_gpu_info) before the call. */
    size_t struct_size;
    char name[128];
    int compute_major, compute_minor;
    /* For example 13000 for CUDA 13.0. */
    int driver_version;
    uint32_t multiprocessors;
    uint32_t warps_per_multiprocessor;
    uint32_t registers_per_multiprocessor;
    /* Bytes of shared memory: of a multiprocessor, the most that one block may ask for, and what
     * the system takes from each block. */
    uint32_t shared_per_multiprocessor;
    uint32_t shared_per_block;
    uint32_t shared_reserved_per_block;
    uint64_t memory_bytes;
} fastpair_gpu_info;

/* Describes the device. INVALID_ARGUMENT: a NULL, or struct_size is not set. */
FASTPAIR_API fastpair_status fastpair_gpu_get_info(const fastpair_gpu *gpu, fastpair_gpu_info *info,
                                                   fastpair_error *error);

/* ---------------------------------------------------------------- jobs */

/* Some columns prepared for decoding in one call. One thread at a time may use a job. Its decodes
 * may run at once on different streams, into different outputs, unless info.regenerates_positions
 * is 1. Different jobs always may, also of the same columns. */
typedef struct fastpair_gpu_job fastpair_gpu_job;

/* What a job can produce besides the bytes of the rows, ORed together. Row lengths and validity are
 * uploaded only if asked for here, but for gaps of a few KiB that one copy passes over. */
#define FASTPAIR_GPU_OFFSETS  1u
#define FASTPAIR_GPU_VALIDITY 2u

typedef struct fastpair_gpu_job_options {
    /* sizeof(fastpair_gpu_job_options) */
    size_t struct_size;
    /* FASTPAIR_GPU_OFFSETS and FASTPAIR_GPU_VALIDITY; 0: decoded bytes alone. */
    uint32_t outputs;
    /* 1: compute output positions on the device at every decode instead of reading the file's
     * sidecar, which may then be wrong. */
    int regenerate_positions;
    /* NULL: upload copies what is needed. Else one device address per column: the whole `.fpc`
     * image, already in device memory, at a multiple of 64 (0: upload this column). Cold chunks
     * are uploaded all the same. */
    const uint64_t *device_images;
    /* NULL: chosen for the columns and the device. Else a name from fastpair_gpu_kernel_name, for
     * measurements. */
    const char *kernel;
} fastpair_gpu_job_options;

/* Plans and lays out a job. The columns must stay open until the upload has finished on its stream.
 * No device is touched. Only headers, dictionaries and, unless positions are regenerated, sidecars
 * are read; and cold chunks, which are unpacked by as many threads as their columns have, and stay
 * in the job's memory until it is closed. `columns` may be NULL when `count` is 0; `options` NULL: all defaults. *job is closed
 * with fastpair_gpu_job_close.
 * INVALID_ARGUMENT: a NULL, an image that is not aligned, or a kernel that is unknown or cannot
 * decode these columns. LIMIT: more than 2^32 - 1 chunks. CORRUPT, UNSUPPORTED. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_job_open(fastpair_gpu *gpu,
                                                   const fastpair_column *const *columns,
                                                   uint64_t count,
                                                   const fastpair_gpu_job_options *options,
                                                   fastpair_gpu_job **job, fastpair_error *error);

/* Frees the job's host memory. Uploads must have finished; decodes may still run. NULL is
 * allowed. */
FASTPAIR_API void fastpair_gpu_job_close(fastpair_gpu_job *job);

typedef struct fastpair_gpu_job_info {
    /* Set it to sizeof(fastpair_gpu_job_info) before the call. */
    size_t struct_size;
    /* Of all columns. The chunks of a job are numbered through, column after column. */
    uint64_t columns, chunks, rows, decoded_bytes;
    /* Device memory that upload needs: dictionaries, positions and sections. */
    uint64_t device_bytes;
    /* The part of device_bytes that dictionaries take. */
    uint64_t dictionary_bytes;
    /* 1: each decode computes output positions, in the job's device memory, because the sidecar is
     * not to be used or does not fit the kernel. Decodes of the same chunks must then be
     * ordered. */
    int regenerates_positions;
    /* The kernel that will run; where dictionaries need different kernels, the first one's. */
    char kernel[64];
} fastpair_gpu_job_info;

/* Describes a job. INVALID_ARGUMENT: a NULL, or struct_size is not set. */
FASTPAIR_API fastpair_status fastpair_gpu_job_get_info(const fastpair_gpu_job *job,
                                                       fastpair_gpu_job_info *info,
                                                       fastpair_error *error);

typedef struct fastpair_gpu_column_info {
    /* Set it to sizeof(fastpair_gpu_column_info) before the call. */
    size_t struct_size;
    /* The job's numbers of this column's chunks: first_chunk and `chunks` from there on. */
    uint64_t first_chunk, chunks;
    uint64_t rows, nulls;
    /* What the outputs take: bytes of the rows, and of a validity bitmap in whole 32-bit words. */
    uint64_t decoded_bytes, validity_bytes;
} fastpair_gpu_column_info;

/* Describes column i of a job: what its outputs need. INVALID_ARGUMENT: a NULL, no such column, or
 * struct_size is not set. */
FASTPAIR_API fastpair_status fastpair_gpu_job_get_column(const fastpair_gpu_job *job,
                                                         uint64_t column,
                                                         fastpair_gpu_column_info *info,
                                                         fastpair_error *error);

/* Some chunks of a job, by the job's numbers; there may be none. A NULL pointer to a range means
 * all chunks. */
typedef struct fastpair_gpu_range {
    uint64_t first_chunk, chunks;
} fastpair_gpu_range;

/* Copies the dictionaries, and the sections of the chunks in `range`, to `device_memory`:
 * info.device_bytes bytes at a multiple of 256, the same address at every call for this job. The
 * first call also uploads the dictionaries; later calls add chunk ranges, so that uploading
 * overlaps decoding.
 * Asynchronous on `stream` as far as the columns' images lie in pinned memory.
 * BUFFER_TOO_SMALL: capacity is below device_bytes. INVALID_ARGUMENT: NULL, misaligned or changed
 * address, chunks that are not there. UNSUPPORTED or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_job_upload(fastpair_gpu_job *job, uint64_t device_memory,
                                                     uint64_t capacity,
                                                     const fastpair_gpu_range *range, void *stream,
                                                     fastpair_error *error);

/* Bits of a column's status word.
 * BAD_CODE: a code was not below the dictionary's size. Kernels that go by length classes take the
 * codes after the last token, up to the end of its class, for tokens of zero bytes and do not
 * report them; validation on the CPU finds such codes.
 * BAD_SIDECAR: tokens did not end where the sidecar says that the next batch begins, or a batch is
 * larger than the sidecar or the header say.
 * BAD_LENGTHS: row lengths do not add up. */
#define FASTPAIR_GPU_BAD_CODE    1u
#define FASTPAIR_GPU_BAD_SIDECAR 2u
#define FASTPAIR_GPU_BAD_LENGTHS 4u

/* Where one column goes. Every field that names memory is a device address of the caller's; 0 means
 * that this output is not wanted. What a bad batch or block of rows would have written is left as
 * it was; nothing is ever written outside. */
typedef struct fastpair_gpu_output {
    /* sizeof(fastpair_gpu_output) */
    size_t struct_size;
    /* Room for decoded_bytes bytes at a multiple of 16. 0 only if the column has none. */
    uint64_t bytes;
    uint64_t bytes_capacity;
    /* rows + 1 offsets that start at 0, each offset_bits wide (32 or 64) and aligned to that. 32
     * with more than INT32_MAX bytes in the column is LIMIT, as Arrow's offsets are signed. */
    uint64_t offsets;
    uint32_t offset_bits;
    /* validity_bytes bytes at a multiple of 4: an Arrow bitmap, 1 = valid, spare bits 0. */
    uint64_t validity;
    /* A 32-bit word that the caller has set to 0; bits above are ORed in when data is corrupt.
     * Columns may share one: chunks of columns with different words take different launches. */
    uint64_t status;
} fastpair_gpu_output;

/* Decodes the chunks in `range` to their places in the outputs, one output per column of the job,
 * in order. Launches kernels on `stream` and returns; corrupt data shows in the status words. The
 * chunks must have been uploaded on this stream, or the caller has ordered the streams. `outputs`
 * may go when the call returns.
 * BUFFER_TOO_SMALL, LIMIT: as above. INVALID_ARGUMENT: a NULL, a misaligned address, an output that
 * the job was not opened for, chunks that are not there, a job that was not uploaded. UNSUPPORTED
 * or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_job_decode(fastpair_gpu_job *job,
                                                     const fastpair_gpu_output *outputs,
                                                     const fastpair_gpu_range *range, void *stream,
                                                     fastpair_error *error);

/* ---------------------------------------------------------------- kernels, for measurements */

/* The name of kernel i of this library, for example "staged K6 W8 H1 T256 B4"; NULL when there are
 * no more. The text is static. */
FASTPAIR_API const char *fastpair_gpu_kernel_name(uint32_t i);

typedef struct fastpair_gpu_kernel_info {
    /* Set it to sizeof(fastpair_gpu_kernel_info) before the call. */
    size_t struct_size;
    /* The most threads of a block, registers per thread and what its launch bounds allow, bytes of
     * spilled registers, and bytes of shared memory: declared, and with a dictionary of 4096
     * tokens. */
    uint32_t threads, registers, register_limit, spill_bytes, static_shared, shared_bytes;
    /* Blocks that a multiprocessor holds: by the library's model, and by the driver. */
    uint32_t model_blocks, driver_blocks;
} fastpair_gpu_kernel_info;

/* What kernel i needs on this device. INVALID_ARGUMENT: a NULL, or no such kernel. UNSUPPORTED: the
 * driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_get_kernel(const fastpair_gpu *gpu, uint32_t i,
                                                     fastpair_gpu_kernel_info *info,
                                                     fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
