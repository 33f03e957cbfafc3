/* fastpair_gpu.h - decoding compressed columns on an NVIDIA GPU, result left in device memory.
 *
 * No CUDA header is needed: device addresses are 64-bit integers (CUdeviceptr, or a cudaMalloc pointer cast to
 * uint64_t) and streams are void pointers (CUstream or cudaStream_t; NULL is the default stream). The driver is opened at run
 * time, so a program linked with this library starts on machines without one; fastpair_gpu_open then says why there is no GPU.
 *
 * The flow, for one column or many at once:
 *   fastpair_gpu_open          find the device, load the kernels into its primary context (the one the CUDA runtime, PyTorch
 *                              and CuPy use)
 *   fastpair_gpu_batch_create  host only: lay out tables for some open columns; all sizes are known from here on
 *   fastpair_gpu_batch_upload  copy to device memory of the caller's, asynchronously
 *   fastpair_gpu_batch_decode  launch: no allocation, no synchronisation, no read-back; may be captured in a CUDA graph
 *
 * The conventions of fastpair.h hold: statuses, errors, options that start with their size.
 *
 * Contexts. Every call enters the primary context by itself and leaves the calling thread's current context as it was: another
 * one, or none. Device memory and streams must belong to the primary context, as those of the CUDA runtime do; a stream of another
 * context is a failed decode, an address of another one is not noticed.
 *
 * cudaDeviceReset takes kernels and device memory away from everyone in the process. Uploads and decodes with a GPU opened before
 * are UNSUPPORTED from then on and do nothing; its batches can be freed and the GPU closed as ever, and opened again.
 *
 * Device memory. Only opening takes any: some hundred MB for the context, if there was none, and the kernels. Drivers may
 * load a kernel no earlier than at its first launch (CUDA_MODULE_LOADING=EAGER: when opening), so that the first decode can fail,
 * too. Such a failure is OUT_OF_MEMORY and leaves everything as it was: the same call succeeds once there is memory.
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
    size_t struct_size;           /* sizeof(fastpair_gpu_options) */
    int device;                   /* ordinal, as CUDA counts; 0: the first */
    fastpair_allocator allocator; /* host memory; all zero: malloc and free */
} fastpair_gpu_options;

/* Opens the driver (libcuda.so.1), retains the device's primary context and loads the kernels. UNSUPPORTED, with a message
 * that says what to do, when the library was built without kernels, when there is no driver, no device, a driver too old, or
 * a GPU older than compute capability 8.0. OUT_OF_MEMORY when the host's or the device's memory does not suffice. */
FASTPAIR_API fastpair_status fastpair_gpu_open(const fastpair_gpu_options *options,
                                               fastpair_gpu **gpu, fastpair_error *error);

/* Unloads the kernels and releases the context. All work that uses them must have finished. NULL is allowed. */
FASTPAIR_API void fastpair_gpu_close(fastpair_gpu *gpu);

typedef struct fastpair_gpu_info {
    size_t struct_size; /* set it to sizeof(fastpair_gpu_info) before the call */
    char name[128];
    int compute_major, compute_minor;
    int driver_version; /* for example 13000 for CUDA 13.0 */
    uint32_t multiprocessors;
    uint32_t warps_per_multiprocessor;
    uint32_t registers_per_multiprocessor;
    uint32_t shared_per_multiprocessor; /* bytes */
    uint32_t shared_per_block;          /* the most one block may ask for */
    uint32_t shared_reserved_per_block; /* taken by the system from each block */
    uint64_t memory_bytes;
} fastpair_gpu_info;

FASTPAIR_API fastpair_status fastpair_gpu_get_info(const fastpair_gpu *gpu, fastpair_gpu_info *info,
                                                   fastpair_error *error);

/* ---------------------------------------------------------------- batches of columns */

/* Some columns prepared for decoding in one launch. One thread at a time may use a batch. Its decodes may run at once on different
 * streams, into different outputs, unless info.makes_positions is 1; different batches, of the same columns too, always may. */
typedef struct fastpair_gpu_batch fastpair_gpu_batch;

typedef struct fastpair_gpu_batch_options {
    size_t struct_size; /* sizeof(fastpair_gpu_batch_options) */
    const uint64_t *
        device_images; /* NULL: upload copies what is needed. Else one device address for each column: its whole
                                    `.fpc` image already in device memory, at a multiple of 64 (0: upload this one) */
    const char *kernel; /* NULL: chosen for the columns and the device. Else a name from
                                    fastpair_gpu_kernel_name, for measurements */
    int regenerate_sidecar; /* 1: compute output positions on the device at every decode instead of reading the file's
                                    sidecar, which may then be wrong */
} fastpair_gpu_batch_options;

/* Lays out a batch. The columns must stay open until the upload has finished on its stream. No device is touched. Only headers,
 * dictionaries and, unless they are regenerated, sidecars are read. */
FASTPAIR_API fastpair_status fastpair_gpu_batch_create(
    fastpair_gpu *gpu, const fastpair_column *const *columns, uint64_t count,
    const fastpair_gpu_batch_options *options, fastpair_gpu_batch **batch, fastpair_error *error);
FASTPAIR_API void fastpair_gpu_batch_free(fastpair_gpu_batch *batch);

typedef struct fastpair_gpu_batch_info {
    size_t struct_size; /* set it to sizeof(fastpair_gpu_batch_info) before the call */
    uint64_t chunks;    /* of all columns; they are numbered through */
    uint64_t rows;
    uint64_t device_bytes; /* tables, dictionaries and uploaded sections */
    uint64_t
        table_bytes; /* the part of device_bytes that is not sections: tables and dictionaries */
    uint64_t
        output_bytes; /* decoded bytes of all columns, each column starting at a multiple of 256 */
    char kernel
        [64]; /* the kernel that will run; where dictionaries need different ones, that of the first dictionary */
    int makes_positions; /* 1: each decode computes output positions, in the batch's device memory, as the sidecar is not to be
                            used or does not fit the kernel. Decodes of the same chunks must then be ordered */
} fastpair_gpu_batch_info;

FASTPAIR_API fastpair_status fastpair_gpu_batch_get_info(const fastpair_gpu_batch *batch,
                                                         fastpair_gpu_batch_info *info,
                                                         fastpair_error *error);

/* Where column i goes: its first byte in the output, its size there, and the number of its first chunk. Any of the three
 * outputs may be NULL. */
FASTPAIR_API fastpair_status fastpair_gpu_batch_get_column(const fastpair_gpu_batch *batch,
                                                           uint64_t column, uint64_t *output_offset,
                                                           uint64_t *output_bytes,
                                                           uint64_t *first_chunk,
                                                           fastpair_error *error);

/* Copies tables, and the sections of chunks first .. first + count, to `device_memory` (device_bytes of it, at a multiple of
 * 256, the same at every call for this batch). The first call must come with the tables; later calls may bring more chunks,
 * so that uploading overlaps decoding. Asynchronous on `stream` as far as the source is pinned memory. */
FASTPAIR_API fastpair_status fastpair_gpu_batch_upload(fastpair_gpu_batch *batch,
                                                       uint64_t device_memory,
                                                       uint64_t device_bytes, uint64_t first,
                                                       uint64_t count, void *stream,
                                                       fastpair_error *error);

/* Bits of the status word. */
/* A code was not below the dictionary's size. Kernels that go by length classes take the codes behind the last one, up to the end
 * of its class, for tokens of zero bytes and do not report them; validation on the CPU finds them. */
#define FASTPAIR_GPU_BAD_CODE 1u
/* Tokens did not end where the sidecar says the next batch begins, or a batch is larger than sidecar or header say. */
#define FASTPAIR_GPU_BAD_SIDECAR 2u
#define FASTPAIR_GPU_BAD_LENGTHS 4u /* row lengths do not add up */

typedef struct fastpair_gpu_destination {
    size_t struct_size;    /* sizeof(fastpair_gpu_destination) */
    uint64_t output;       /* device address of output_bytes bytes, at a multiple of 16 */
    uint64_t output_bytes; /* the room there */
    uint64_t
        row_offsets; /* 0: not wanted. Device address for rows + 1 entries a column, one column after the other;
                                 each column's entries start at 0 and count within the column */
    uint32_t offset_bits; /* 32 or 64; 32 with more than INT32_MAX bytes in a column is LIMIT */
    uint64_t
        status; /* 0: not wanted. Device address of a 32-bit word that the caller has set to 0; bits above are
                                 ORed in when data is corrupt. Output of bad batches is left as it was, nothing is ever
                                 written outside */
} fastpair_gpu_destination;

/* Decodes chunks first .. first + count (0 and chunks: everything) to their places in the output. Launches kernels on
 * `stream` and returns; errors in the data show in the status word. The chunks must have been uploaded on this stream, or
 * the caller has ordered the streams. Row offsets are produced for these chunks. */
FASTPAIR_API fastpair_status fastpair_gpu_batch_decode(fastpair_gpu_batch *batch, uint64_t first,
                                                       uint64_t count,
                                                       const fastpair_gpu_destination *destination,
                                                       void *stream, fastpair_error *error);

/* ---------------------------------------------------------------- kernels, for measurements */

/* The name of kernel i of this library, NULL when there are no more: for example "staged K6 W8 H1 T256 B4". Static. */
FASTPAIR_API const char *fastpair_gpu_kernel_name(uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
