/* launch.h - queueing kernels: where a chunk's output goes, and one function per kind of kernel. */
#ifndef FP_GPU_LAUNCH_H
#define FP_GPU_LAUNCH_H

#include "layout.h"

/* The outputs of a decode, one per column of the job, checked. They may lie further apart than a
 * struct of this version. */
typedef struct fp_outputs {
    const uint8_t *first;
    size_t stride;
} fp_outputs;

static inline const fastpair_gpu_output *fp_output(const fp_outputs *outputs, uint64_t column) {
    return (const fastpair_gpu_output *)(const void *)(outputs->first + column * outputs->stride);
}

/* A decode under way: chunks from `first` up to `end`, on a stream. */
typedef struct fp_decode {
    const fastpair_gpu_job *job;
    fp_outputs outputs;
    uint64_t first, end;
    fp_cu_stream stream;
} fp_decode;

/* Address of the chunk's first byte in the output. */
static inline uint64_t fp_decode_out(const fp_decode *decode, const fp_job_chunk *chunk) {
    return fp_output(&decode->outputs, chunk->column)->bytes + chunk->first_byte;
}

/* Where the batches of a chunk begin, for a kernel. */
typedef struct fp_batch_places {
    /* Positions, 4 bytes each, one per 2^shift entries; deltas_at words further on a 2-byte delta
     * per entry (0: none). `step` entries make up one of the kernel's batches. */
    uint64_t positions;
    uint32_t deltas_at, entries;
    uint8_t shift, step;
} fp_batch_places;

fp_batch_places fp_batch_places_of(const fastpair_gpu_job *job, const fp_job_chunk *chunk,
                                   const fp_kernel *kernel);

/* Each queues the kernels of one kind for the chunks of a decode that need them. */
fp_cu_result fp_launch_assembled(const fp_decode *decode);
fp_cu_result fp_launch_staged(const fp_decode *decode);
fp_cu_result fp_launch_positions(const fp_decode *decode);
fp_cu_result fp_launch_offsets(const fp_decode *decode);
fp_cu_result fp_launch_validity(const fp_decode *decode);

#endif
