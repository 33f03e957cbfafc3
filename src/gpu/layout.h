/* layout.h - a job: columns planned for one decode, and who lies where in device memory. */
#ifndef FP_GPU_LAYOUT_H
#define FP_GPU_LAYOUT_H

#include "cold.h"
#include "column.h"
#include "device.h"
#include "device_dict.h"

/* Bytes that nobody wants and that are rather copied than left out, as a copy costs as much. */
#define FP_SMALL_GAP (16u << 10)

/* What the upload copies of a chunk. Not to be looked at once the upload is done: the column may be
 * closed then. */
typedef struct fp_job_source {
    fp_shape_chunk host;
    /* Offset in the block of the first section that is needed, and bytes from there on. */
    uint64_t first, bytes;
    /* Where these bytes go, from the job's device memory on. */
    uint64_t to;
    /* 1: one copy brings this chunk and the one before it, which are as far apart as in the
     * image. */
    int joined;
    /* 1: the validity section is not among these bytes and has a copy of its own, as row lengths
     * that nobody wants lie before it. */
    int validity_apart;
} fp_job_source;

/* What launches need of a chunk. Places are bytes from the job's device memory on, or addresses if
 * the image is on the device. */
typedef struct fp_job_chunk {
    uint64_t sections[FP_SECTIONS];
    /* Of output positions that are computed at decode; 0: the sidecar serves. */
    uint64_t positions;
    uint64_t lengths_bytes;
    /* Within the column. */
    uint64_t first_row, first_byte;
    uint32_t column, dict;
    /* codes is 0 for a stored chunk. */
    uint32_t rows, codes, decoded_bytes;
    uint32_t batch_codes, group_batches;
    uint8_t has_validity, on_device, closes_column;
} fp_job_chunk;

/* A distinct dictionary and its chunks: coded_chunks[first_listed .. first_listed + listed). */
typedef struct fp_job_dict {
    /* Until the job is open; the column may be closed later. */
    const fp_column_dict *source;
    fp_plan plan;
    fp_device_dict at;
    uint32_t slots, code_bits;
    uint64_t first_listed, listed;
} fp_job_dict;

typedef struct fp_job_column {
    uint64_t first_chunk, chunks;
    uint64_t rows, nulls, decoded_bytes;
    /* What was known when the job was opened: whatever the codes are, the rows are ASCII; the
     * column was validated, and is decoded from the bytes that were; the file says that it is text.
     */
    int is_ascii, is_valid, is_text;
} fp_job_column;

/* Sizes of device memory, in order: dictionaries, computed positions, sections. */
typedef struct fp_job_sizes {
    uint64_t dictionaries, all;
} fp_job_sizes;

struct fastpair_gpu_job {
    fastpair_gpu *gpu;
    fp_job_column *columns;
    uint64_t column_count;
    fp_job_source *sources;
    fp_job_chunk *chunks;
    uint64_t chunk_count;
    /* Of each chunk; nothing in it if the chunk is warm in its image. NULL if all are for sure. */
    fp_warm *warmed;
    fp_job_dict *dicts;
    uint64_t dict_count;
    /* Numbers of coded chunks, dictionary by dictionary, ascending in each. */
    uint32_t *coded_chunks;
    /* The dictionaries as they go to the device. */
    uint8_t *dictionaries;
    fp_job_sizes sizes;
    /* FASTPAIR_GPU_ bits of what decodes may ask for. */
    uint32_t outputs;
    /* Some chunk's positions are computed at decode. */
    int regenerates;
    /* 0 until the dictionaries are uploaded. */
    uint64_t device_memory;
};

/* Opens the warm chunks of cold ones, as cold ones are of no use to a device, and copies chunks
 * from sources, but of columns whose images (NULL: none) are in device memory. All stay with the
 * job (job_warm.c). */
fastpair_status fp_job_warm(fastpair_gpu_job *job, const fastpair_column *const *columns,
                            const uint64_t *images, fastpair_error *error);

/* Gives everything in a job with columns, sources, chunks and planned dictionaries its place. */
void fp_layout_place(fastpair_gpu_job *job, int regenerate);

/* The chunks of a range: from *first up to *end; all of them if `range` is NULL. INVALID_ARGUMENT
 * if the job is NULL or does not have them. */
fastpair_status fp_job_range(const fastpair_gpu_job *job, const fastpair_gpu_range *range,
                             uint64_t *first, uint64_t *end, fastpair_error *error);

/* The device address of a chunk's section. */
static inline uint64_t fp_job_section(const fastpair_gpu_job *job, const fp_job_chunk *chunk,
                                      int section) {
    return chunk->sections[section] + (chunk->on_device ? 0 : job->device_memory);
}

static inline const fp_kernel *fp_job_kernel(const fp_job_dict *dict) {
    return &fp_kernel_table()[dict->plan.kernel];
}

/* The first entry of a dictionary's list of chunks, or the list's end, that is not below
 * `chunk`. */
static inline uint64_t fp_job_listed_from(const fastpair_gpu_job *job, const fp_job_dict *dict,
                                          uint64_t chunk) {
    uint64_t low = dict->first_listed, high = low + dict->listed;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (job->coded_chunks[middle] < chunk)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
