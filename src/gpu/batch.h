/* batch.h - columns laid out for one launch: the host's copy of all tables and where everything lies on the device. */
#ifndef FP_GPU_BATCH_H
#define FP_GPU_BATCH_H

#include "column.h"
#include "device.h"
#include "kernels/params.h"
#include "select.h"

/* Everything in device memory starts at a multiple of this. */
#define FP_DEVICE_ALIGNMENT 256u

/* A chunk's place: where its sections go, and where they come from. */
typedef struct fp_batch_chunk {
    const fp_chunk *chunk;  /* the column's: not to be looked at once the upload is done, nor... */
    const uint8_t *block;   /* ...this, in the column's image, host memory */
    uint64_t first_section; /* offset in the block of the first section that decoding needs... */
    uint64_t section_bytes; /* ...and how many bytes from there on */
    uint64_t device_offset; /* of these bytes in the batch's device memory; unused if on_device */
    uint64_t on_device;     /* device address of the block in an image already there; 0: uploaded */
    uint64_t positions;     /* device offset of its regenerated positions; 0: it uses the sidecar */
    uint32_t group;         /* the number of its dictionary; stored chunks: 0 */
    int joined; /* 1: one copy brings it and the chunk before it, which are as far apart as in the image */
} fp_batch_chunk;

/* Chunks that share a dictionary, which has the group's number. One kernel decodes them. Stored chunks belong to the first group. */
typedef struct fp_batch_group {
    uint32_t kernel;
    fp_assembled_plan plan;
    fp_gpu_image image;                  /* 0 bytes: the kernel reads none */
    uint32_t planes;                     /* FP_PLANE_ bits: those that kernels read */
    uint64_t image_offset, plane_offset; /* in device memory */
    uint64_t first_listed, listed;       /* its coded chunks, in the batch's list of them */
} fp_batch_group;

typedef struct fp_batch_column {
    const fastpair_column *column; /* may be closed once the upload is done */
    uint64_t output_offset;
    uint64_t output_bytes, chunks;
    uint64_t first_chunk;
    uint64_t first_row_slot; /* of its row offsets: rows + 1 entries for each column before it */
} fp_batch_column;

/* Device memory, in order: tables (chunks, dictionaries, groups, each group's image and planes), positions, sections. */
struct fastpair_gpu_batch {
    fastpair_gpu *gpu;
    fastpair_allocator allocator;
    fp_batch_column *columns;
    uint64_t column_count;
    fp_batch_chunk *chunks;
    uint64_t chunk_count;
    const fp_column_dict **dicts; /* distinct ones */
    uint64_t dict_count;
    fp_batch_group *groups; /* one for each dictionary, and one if there is none */
    uint64_t group_count;
    uint32_t *coded_chunks; /* numbers of coded chunks, group by group, ascending in each */
    uint64_t group_table;   /* device offset */
    uint8_t *tables;        /* table_bytes, as they go to the device */
    uint64_t dict_table;    /* device offset of the dictionary table; the chunk table is at 0 */
    uint64_t table_bytes;
    uint64_t device_bytes;
    uint64_t output_bytes;
    uint64_t row_slots;
    uint32_t most_slots;    /* of any dictionary */
    int regenerates;        /* some chunk's positions are computed at decode */
    uint64_t device_memory; /* 0 until the tables are uploaded */
};

static inline uint64_t fp_device_align(uint64_t value) {
    return fp_align(value, FP_DEVICE_ALIGNMENT);
}

static inline const fp_kernel *fp_group_kernel(const fp_batch_group *group) {
    return &fp_kernel_table()[group->kernel];
}

/* The kernel of chunk i. */
static inline const fp_kernel *fp_chunk_kernel(const fastpair_gpu_batch *batch, uint64_t i) {
    return fp_group_kernel(&batch->groups[batch->chunks[i].group]);
}

/* What the device is told of chunk i; filled in at the upload. Stored chunks have no codes. */
static inline fp_gpu_chunk *fp_chunk_on_device(const fastpair_gpu_batch *batch, uint64_t i) {
    return (fp_gpu_chunk *)(void *)batch->tables + i;
}

/* Batches of `codes_per_lane` * 32 codes among so many. */
static inline uint64_t fp_kernel_batches(uint64_t codes, uint32_t codes_per_lane) {
    return (codes + 32 * codes_per_lane - 1) / (32 * codes_per_lane);
}

/* Whether a chunk's positions are computed at decode: the sidecar is not to be used, or does not fit the kernel's batches. */
static inline int fp_makes_positions(const fp_chunk *chunk, const fp_kernel *kernel,
                                     int regenerate) {
    return chunk->coded && (regenerate || 32 * kernel->codes_per_lane % chunk->batch_codes != 0);
}

/* The planes of fp_gpu_dict, and which of them a kernel reads (planes.c). Making positions takes nibbles besides. */
enum { FP_PLANE_LOW8 = 1, FP_PLANE_HIGH8 = 2, FP_PLANE_ROWS16 = 4, FP_PLANE_NIBBLES = 8 };
uint32_t fp_planes_of(const fp_kernel *kernel);

/* Bytes of some planes of a dictionary on the device, and their contents. Each plane has an entry for each slot, and planes of tokens
 * for each code of the last class, or for all codes there may be if there is a hot part. */
uint64_t fp_planes_size(const fp_dict *dict, uint32_t planes);
fastpair_status fp_planes_write(const fp_column_dict *from, uint32_t planes, uint8_t *memory,
                                const fastpair_allocator *allocator, fastpair_error *error);

/* The dictionary's entry in the device's table, for planes at this device address; those that are not there have address 0. */
fp_gpu_dict fp_planes_describe(const fp_dict *dict, uint32_t planes, uint64_t address);

/* The image of a dictionary for an assembled kernel, described and, unless `image` is NULL, written (image.h): fp_device_align of its
 * bytes. */
fastpair_status fp_planes_image(const fp_column_dict *from, const fp_kernel *kernel,
                                fp_gpu_image *shape, uint8_t *image,
                                const fastpair_allocator *allocator, fastpair_error *error);

/* groups.c: chooses a kernel for the chunks of each dictionary, `kernel` if that is not FP_KERNELS; gives the table, images and planes
 * their device offsets, from `offset` on, and returns where they end; fills in images and planes, once there is memory for
 * them; fills in the tables of groups and dictionaries, once device addresses are known. */
fastpair_status fp_groups_make(fastpair_gpu_batch *batch, uint32_t kernel, int regenerate,
                               fastpair_error *error);
uint64_t fp_groups_place(fastpair_gpu_batch *batch, uint64_t offset);
fastpair_status fp_groups_write_dictionaries(fastpair_gpu_batch *batch, fastpair_error *error);
void fp_groups_write_tables(fastpair_gpu_batch *batch, uint64_t device_memory);

#endif
